"""`size` of calls that need sizes known on export day: the model's open input size is fixed first, then the call goes
on."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.text import listed
from resizefix.errors import ResizefixError, UsageError
from resizefix.library import seam
from resizefix.library.result import Resolution, Result, failed
from resizefix.operations.input_size.fixed import closed
from resizefix.origins.input_sizes.input_axes import asked_shapes, image_inputs, open_images
from resizefix.origins.input_sizes.refusal import SizeRefusedError
from resizefix.outcome import Status
from resizefix.verification.conditions import DEFAULTS, conditions
from resizefix.verification.plan import Plan
from resizefix.verification.verification import Status as Proven
from resizefix.verification.verification import Verification

F = TypeVar("F", bound=Callable[..., Result])

_TRIED = 224  # a multiple of 32, 28 and 14, which the strides and patches of most networks are
_AXES = ("height", "width")


def at_size(function: F) -> F:
    """Makes a call take `size`, the height and width that the open axes of the image inputs get before it begins.

    The model of that size is proven to compute what the original does there, and the call proves its own part. Without
    `size`, a call that refuses a site tries one, and the outcome's `retry_args` say so where it helps.
    """

    @functools.wraps(function)
    def call(document: Document, *, size: tuple[int, int] | None = None, **options: Any) -> Result[Document]:
        if size is None:
            return _advised(function, document, function(document, **options), options)
        fixed = fixed_at(document, size)
        result = _joined(function, document, fixed, options)
        if not _writes(result):
            return replace(result, model=document)
        return replace(result, resolution=None if fixed is document else Resolution(size))

    return call  # type: ignore[return-value]


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
    made = closed(document, left_open, wanted)
    return seam.submitted(document, made, Plan(input_shapes=asked_shapes(document.proto, left_open, wanted)))


def _joined(function: Callable[..., Result], document: Document, fixed: Document, options: dict[str, Any]) -> Result:
    """What the call makes of the model of that size, with the runs that compare this one with the original."""
    result = function(fixed, **options)
    if fixed is document or not options.get("verify", True) or not _writes(result):
        return result
    from resizefix.verification.input_size import prove_same  # onnxruntime is imported where something is run

    rules = conditions(**{name: value for name, value in options.items() if name in DEFAULTS})
    try:
        same = prove_same(document, rules, fixed)
    except SizeRefusedError as error:
        same = Verification(Proven.FAILED, _of_one_size(document, error))
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


def _advised(function: Callable[..., Result], document: Document, result: Result, options: dict[str, Any]) -> Result:
    """The result; refused outcomes with `--size`, where the same call changes them at that size."""
    refused = [one for one in result.outcomes if one.status is Status.REFUSED and not one.retry_args]
    left_open = open_images(document.proto) if refused else []
    if not left_open:
        return result
    height, width = (left_open[0].old(name) or _TRIED for name in _AXES)
    try:
        tried = _joined(function, document, fixed_at(document, (height, width)), options)
    except ResizefixError:
        return result
    if not _writes(tried):
        return result
    enough = (Status.CHANGED,) if options.get("node") else (Status.CHANGED, Status.UNCHANGED)
    advised = {one.index for one in refused} & {one.index for one in tried.outcomes if one.status in enough}
    advice = ("--size", f"{height}x{width}")
    outcomes = (replace(one, retry_args=advice) if one.index in advised else one for one in result.outcomes)
    return replace(result, outcomes=tuple(outcomes))


def _writes(result: Result) -> bool:
    """Whether the result is a model to write: a site was changed, or none had to be."""
    refused = any(outcome.status is Status.REFUSED for outcome in result.outcomes)
    return result.changed or not (refused or result.blockers)
