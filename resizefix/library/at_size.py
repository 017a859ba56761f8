"""`size` of calls that need sizes known on export day: the model's open input size is fixed first, then the call goes
on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.document.document import Document
from resizefix.document.text import listed
from resizefix.input_sizes.refusal import SizeRefusedError
from resizefix.input_sizes.writing.fixed import closed
from resizefix.library import seam
from resizefix.library.result import Resolution, Result, failed
from resizefix.shapes.image_axes import asked_shapes, image_inputs, open_images
from resizefix.verification.plan import Plan
from resizefix.verification.verification import DEFAULTS, Verification, VerificationStatus, conditions

_AXES = ("height", "width")


def at_size(
    function: Callable[..., Result], document: Document, size: tuple[int, int], options: dict[str, Any]
) -> Result[Document]:
    """What the call `function` makes of the document whose open image inputs have this height and width.

    The model of that size is proven to compute what the original does there, and the call proves its own part.
    """
    fixed = fixed_at(document, size)
    result = _joined(function, document, fixed, options)
    if not result.is_writable:
        return replace(result, model=document)
    return replace(result, resolution=None if fixed is document else Resolution(size))


def fixed_at(document: Document, size: tuple[int, int]) -> Document:
    """A copy whose image inputs have this height and width; the document where they have it already.

    Raises UsageError where the file fixes another size, RefusedError where no input is an image.
    """
    left_open = open_images(document.proto)
    images = left_open or image_inputs(document.proto, ())
    wanted = dict(zip(_AXES, size, strict=True))
    for image in images:
        held = {name: image.old(name) for name in _AXES}
        if any(length not in (None, wanted[name]) for name, length in held.items()):
            has = "x".join("?" if length is None else str(length) for length in held.values())
            raise UsageError("library.size-is-fixed", name=image.name, has=has, wanted=f"{size[0]}x{size[1]}")
    if not left_open:
        return document
    closed_document = closed(document, left_open, wanted)
    return seam.submitted(document, closed_document, Plan(input_shapes=asked_shapes(document.proto, left_open, wanted)))


def _joined(function: Callable[..., Result], document: Document, fixed: Document, options: dict[str, Any]) -> Result:
    """What the call makes of the model of that size, with the runs that compare this one with the original."""
    result = function(fixed, **options)
    if fixed is document or not options.get("verify", True) or not result.is_writable:
        return result
    from resizefix.input_sizes.experiments.proof import prove_same  # onnxruntime is imported where something is run

    rules = conditions(**{name: value for name, value in options.items() if name in DEFAULTS})
    try:
        same = prove_same(document, rules, fixed)
    except SizeRefusedError as error:
        same = Verification(VerificationStatus.FAILED, _of_one_size(document, error))
    if not same.passed:
        raise failed(replace(result, model=document, verification=same))
    proof = result.verification
    if proof.passed:
        return replace(result, verification=replace(proof, runs=(*same.runs, *proof.runs)))
    return replace(result, verification=replace(same, reason=Diagnostic("library.size-was-compared")))


def _of_one_size(document: Document, error: SizeRefusedError) -> str | None:
    """The reason; where several inputs were given one size, which the model may not take, it says which."""
    names = [image.name for image in open_images(document.proto)]
    if len(names) < 2:
        return error.reason
    return Diagnostic("library.input-size-of-one-size", why=error.reason, names=listed(names))
