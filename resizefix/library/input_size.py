"""`resizefix.input_size`: another size of the input, or any; the constants that follow it are found and rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.document.text import node_text
from resizefix.errors import VerificationFailedError
from resizefix.interop import Model, opened, returned
from resizefix.library.bounded import bounded
from resizefix.library.result import Resolution, Result
from resizefix.operations.input_size.fixed import Resized, closed, resized
from resizefix.origins.input_sizes.decide import Choices
from resizefix.origins.input_sizes.following import Following, follow
from resizefix.origins.input_sizes.input_axes import ImageInput, image_inputs
from resizefix.origins.input_sizes.refusal import SizeRefusedError
from resizefix.outcome import Outcome
from resizefix.outcome import Status as Happened
from resizefix.verification.conditions import RunOptions, conditions
from resizefix.verification.verification import Status, Verification

if TYPE_CHECKING:
    from typing_extensions import Unpack


@bounded
def input_size(
    model: Model,
    *,
    size: tuple[int, int],
    batch: int | None = None,
    input: Sequence[str] = (),
    keep: Sequence[str] = (),
    follow_input: Sequence[str] = (),
    verify: bool = True,
    **run: Unpack[RunOptions],
) -> Result:
    """Give the model's image inputs another height and width, and another batch if one is given.

    Every constant that follows the input's size is found (shapes of Reshape, sizes of Resize, kernels of global pools,
    grids of positions) and written anew. Where weights depend on the size, or the file admits two readings, nothing is
    changed and the outcome names the node and the reason; `keep` and `follow_input` (patterns on names of nodes) choose
    a reading. `input` names the inputs, where not all images of one size are meant. Raises UsageError for options that
    do not fit, VerificationFailedError where the verification fails.
    """
    document = opened(model)
    wanted = {"height": size[0], "width": size[1], **({} if batch is None else {"batch": batch})}
    images = image_inputs(document.proto, input)
    base = document
    if any(image.old(name) is None for image in images for name in wanted if name in image.axes):
        base = closed(document, images, wanted)
        images = image_inputs(base.proto, [image.name for image in images])
    view = ModelView(base)
    symbols = {name: length for name in wanted if (length := images[0].old(name)) is not None}
    moving = {name: length for name, length in symbols.items() if wanted[name] != length}
    resolution = Resolution(size)
    if not moving and base is document:
        nothing = Verification(Status.SKIPPED, Diagnostic("library.input-size-same"))
        return Result(returned(document, model), (), (), nothing, resolution=resolution)
    choices = Choices(keep, follow_input)
    try:
        found, made = _made(base, view, images, (symbols, moving), wanted, choices)
    except SizeRefusedError as error:
        skipped = Verification(Status.SKIPPED, Diagnostic("library.input-size-nothing"))
        return Result(returned(document, model), (_refused(view, error),), (), skipped, resolution=resolution)
    resolution = replace(resolution, inferred=() if found is None else found.inferred)
    if not verify:
        skipped = Verification(Status.SKIPPED, Diagnostic("library.switched-off-no-verify"))
        return Result(returned(made.document, model), made.outcomes, (), skipped, resolution=resolution)

    from resizefix.verification.input_size import prove_size  # onnxruntime is imported where it runs

    verification = prove_size(document, made.document, found, wanted, conditions(**run))
    if not verification.passed:
        result = Result(document, made.outcomes, (), verification, resolution=resolution)
        raise VerificationFailedError("library.verification-failed", why=verification.reason, result=result)
    return Result(returned(made.document, model), made.outcomes, (), verification, resolution=resolution)


def _made(
    document: Document,
    view: ModelView,
    images: list[ImageInput],
    symbols: tuple[dict[str, int], dict[str, int]],
    wanted: dict[str, int],
    choices: Choices,
) -> tuple[Following | None, Resized]:
    """The model of the wanted size. What the model says of both axes together is more than of one; but where one stays
    as it is, it need not be free."""
    both, moving = symbols
    if not moving:  # the file left every size open
        return None, Resized(document, (), frozenset())
    try:
        found = follow(view, images, both, choices)
        return found, resized(document, found, {name: wanted[name] for name in both})
    except SizeRefusedError:
        if moving == both:
            raise
    found = follow(view, images, moving, choices)
    return found, resized(document, found, {name: wanted[name] for name in moving})


def _refused(view: ModelView, error: SizeRefusedError) -> Outcome:
    from resizefix.document.scopes import node_label

    for index, node in enumerate(view.model.graph.node):
        if node_label(node, index) == error.node:
            return Outcome(
                index, error.node, Happened.REFUSED, error.reason, node_text(node), retry_args=error.retry_args
            )
    return Outcome(0, error.node, Happened.REFUSED, error.reason, retry_args=error.retry_args)
