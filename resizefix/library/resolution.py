"""Whether a file's resolution is free, frozen and by which nodes, or cannot change: what `inspect` says in a line."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from resizefix.diagnostics import RefusedError, ResizefixError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from resizefix.shapes.image_axes import ImageInput
    from resizefix.shapes.stored_shapes import ModelView

_MOST_NODES = 600  # following sizes through more takes longer than the rest of `inspect`
# What `inspect` must survive: operands that are missing, of another type, or too large for their operator.
_NOT_FOLLOWED = (ResizefixError, ArithmeticError, LookupError, TypeError, ValueError, AssertionError)


class SizeFreedom(str, Enum):
    """`free`: the input's height and width are open; `frozen`: `input-size` changes them; `impossible`: it refuses;
    `asked`: it asks what a number follows; `declared`: they are open, and the constants are of one size; `fixed`: they
    are numbers, and the model is too large to be followed here; `no image`: no input has a height."""

    FREE = "free"
    FROZEN = "frozen"
    IMPOSSIBLE = "impossible"
    ASKED = "asked"
    DECLARED = "declared"
    FIXED = "fixed"
    NO_IMAGE = "no image"


class InputResolution(NamedTuple):
    """The resolution of the image input. `nodes`: those that hold it as constants, where it is frozen, or the one at
    which another size fails, and `reason` why."""

    freedom: SizeFreedom
    input: str | None = None
    size: tuple[int | None, int | None] | None = None
    nodes: tuple[str, ...] = ()
    reason: str | None = None


def resolution_of(view: ModelView) -> InputResolution:
    """Look at the image input and at the constants that follow it, without running the model."""
    from resizefix.shapes.image_axes import image_inputs

    try:
        images = image_inputs(view.model, ())
    except RefusedError:
        return InputResolution(SizeFreedom.NO_IMAGE)
    name, size = images[0].name, (images[0].old("height"), images[0].old("width"))
    old = {symbol: length for symbol, length in zip(("height", "width"), size, strict=True) if length is not None}
    if not old:
        return _behind_open_axes(view, images) or InputResolution(SizeFreedom.FREE, name, size)
    if len(view.model.graph.node) > _MOST_NODES:
        return InputResolution(SizeFreedom.FIXED, name, size)
    from resizefix.shapes.maps_alone import is_maps_alone

    if len(old) == 2 and is_maps_alone(view, images[0]):
        return InputResolution(SizeFreedom.FROZEN, name, size)
    from resizefix.input_sizes.following import follow
    from resizefix.input_sizes.refusal import Choices, SizeRefusedError

    try:
        followed = follow(view, images, old, Choices())
        numbers = followed.numbers({symbol: 2 * length for symbol, length in old.items()})
    except SizeRefusedError as error:
        freedom = SizeFreedom.ASKED if error.readings else SizeFreedom.IMPOSSIBLE
        return InputResolution(freedom, name, size, (error.node,), error.reason)
    except _NOT_FOLLOWED:
        return InputResolution(SizeFreedom.FIXED, name, size)
    holding = {place.node for place in numbers.constants} | {index for index, _ in numbers.attributes}
    return InputResolution(
        SizeFreedom.FROZEN, name, size, tuple(followed.flow.labels[index] for index in sorted(holding))
    )


def _behind_open_axes(view: ModelView, images: Sequence[ImageInput]) -> InputResolution | None:
    """The size that the constants of a file with open axes are made for."""
    if len(view.model.graph.node) > _MOST_NODES:
        return None
    from resizefix.input_sizes.declared import declared_size

    try:
        declared = declared_size(view, images, ("height", "width"), {})
    except _NOT_FOLLOWED:
        return None
    if declared is None:
        return None
    size = declared.sizes.get("height"), declared.sizes.get("width")
    return InputResolution(SizeFreedom.DECLARED, images[0].name, size, (declared.node,))
