"""Which axes of which inputs are height, width and batch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from onnx import ModelProto, ValueInfoProto

from resizefix.diagnostics import RefusedError, UsageError
from resizefix.document.values import dims_of
from resizefix.shapes.operand import attribute_of

_MOST_CHANNELS = 4  # grey, with alpha, RGB, RGBD: an axis of so few is no height
_SHORTEST_LINE = 1024  # samples of a line, as of sound; shorter vectors are features
_MOST_VOICES = 2  # channels of a line of which they are the last axis, as TensorFlow has sound: mono and stereo
_SLIDING = ("Conv", "ConvTranspose", "MaxPool", "AveragePool", "InstanceNormalization")
_UNARY = ("Cast", "Identity")  # two operands may be broadcast to another rank
_MOST_ELEMENTS = 1 << 40


Size = int | str | None


class ImageInput(NamedTuple):
    """An input of the graph, its sizes (None: not fixed), and which of its axes is called what.

    `shares`: how long its sides are, over those of the first input that changes; equal ones are left out.
    """

    name: str
    dims: tuple[int | None, ...]
    axes: Mapping[str, int]
    shares: tuple[tuple[str, Fraction], ...] = ()

    def old(self, symbol: str) -> int | None:
        """The size in the file."""
        return self.dims[self.axes[symbol]] if symbol in self.axes else None

    def share(self, symbol: str) -> Fraction:
        """How long this axis is, over that of the first input that changes."""
        return dict(self.shares).get(symbol, Fraction(1))

    def length(self, symbol: str, first: Size) -> Size:
        """The length of an axis where the first input's is `first`, which a rule keeps whole; of a name, a name."""
        share = self.share(symbol)
        if first is None or share == 1:
            return first
        if isinstance(first, str):
            return f"{first}_of_{self.name}"
        return first * share.numerator // share.denominator

    def beside(self, first: ImageInput) -> ImageInput:
        """This image, its sides in proportion to the first one's."""
        sides = [(name, self.old(name), first.old(name)) for name in self.axes if name != "batch"]
        shares = ((name, Fraction(own, other)) for name, own, other in sides if own and other and own != other)
        return self._replace(shares=tuple(shares))


def asked_shapes(
    model: ModelProto, images: Sequence[ImageInput], asked: Mapping[str, int | None]
) -> dict[str, tuple[int | str | None, ...]]:
    """The shapes that the images must have when their axes are as `asked`: a size, or None to be left open."""
    stored = {value.name: dims_of(value.type) for value in model.graph.input}
    shapes = {}
    for image in images:
        dims = list(stored[image.name])
        for name, axis in image.axes.items():
            if name in asked:
                dims[axis] = image.length(name, asked[name])
        shapes[image.name] = tuple(dims)
    return shapes


def image_inputs(model: ModelProto, names: Sequence[str]) -> list[ImageInput]:
    """The inputs whose height and width change together: those named, in proportion to the first of them, else the
    first image and all as large as it. Of open ones those are that have as many channels as a picture, where there are
    any: one name of their sizes says nothing, and a state that a video network hands on from image to image has a size
    of its own.

    Raises UsageError for a name that is no input, or no image.
    """
    inputs = {value.name: value for value in _fed(model)}
    for name in names:
        if name not in inputs:
            raise UsageError("origins.input-size-no-such-input", name=name, known=", ".join(inputs))
    images = {image.name: image for image in _images(model)}
    for name in names:
        if name not in images:
            raise UsageError("origins.input-size-no-image", name=name, shape=_shape(inputs[name]))
    if names:
        _require_possible(images[name] for name in names)
        return [images[name].beside(images[names[0]]) for name in names]
    if not images:
        raise RefusedError(
            "origins.input-size-no-images", known=", ".join(f"{n} {_shape(v)}" for n, v in inputs.items())
        )
    _require_possible(images.values())
    first = max(images.values(), key=lambda image: (image.old("height") or 0) * (image.old("width") or 0))
    alike = [
        image
        for image in images.values()
        if image.old("height") == first.old("height") and image.old("width") == first.old("width")
    ]
    return _pictures(alike) if _is_open(first) else alike


def of_proportions(model: ModelProto, shapes: Mapping[str, Sequence[int]]) -> list[tuple[list[str], dict[str, int]]]:
    """The inputs that get shapes of their own, together those whose sides grow by the same factors, with the sizes that
    the first of them gets. Raises UsageError for a shape of another rank or with other channels."""
    groups: dict[tuple[object, ...], tuple[list[str], dict[str, int]]] = {}
    for image in image_inputs(model, list(shapes)):
        shape, sides = shapes[image.name], set(image.axes.values())
        stay = [axis for axis in range(len(image.dims)) if axis not in sides]
        if len(shape) != len(image.dims) or any(image.dims[axis] not in (None, shape[axis]) for axis in stay):
            raise UsageError("origins.input-size-no-shape", name=image.name, shape=list(shape), has=list(image.dims))
        wanted = {name: shape[axis] for name, axis in image.axes.items()}
        old = {name: image.old(name) for name in wanted}
        key = tuple((name, old[name] is None, Fraction(wanted[name], old[name] or 1)) for name in sorted(wanted))
        groups.setdefault(key, ([], wanted))[0].append(image.name)
    return list(groups.values())


def _require_possible(images: Iterable[ImageInput]) -> None:
    """Raises RefusedError for an image that no memory holds: arithmetic on such sizes says nothing."""
    for image in images:
        if math.prod(size or 1 for size in image.dims) > _MOST_ELEMENTS:
            raise RefusedError("origins.input-size-too-large", name=image.name, shape=list(image.dims))


def open_images(model: ModelProto) -> list[ImageInput]:
    """The image inputs whose height or width the file leaves open."""
    return _pictures([image for image in _images(model) if _is_open(image)])


def open_beside(model: ModelProto, chosen: Sequence[ImageInput]) -> list[ImageInput]:
    """The open images that are not among the chosen ones: they stay open."""
    names = {image.name for image in chosen}
    return [image for image in _images(model) if _is_open(image) and image.name not in names]


def _is_open(image: ImageInput) -> bool:
    return any(image.old(side) is None for side in ("height", "width") if side in image.axes)


def _pictures(images: Sequence[ImageInput]) -> list[ImageInput]:
    """Those with as many channels as a picture has; all, where none has."""
    return [image for image in images if 1 <= (_channels(image) or 0) <= _MOST_CHANNELS] or list(images)


def _channels(image: ImageInput) -> int | None:
    left = [size for axis, size in enumerate(image.dims) if axis not in image.axes.values()]
    return left[0] if len(left) == 1 else None


def images_beside(model: ModelProto, chosen: Sequence[ImageInput]) -> list[ImageInput]:
    """The images of another size than the chosen ones: they stay as they are."""
    names = {image.name for image in chosen}
    others = (image for image in _images(model) if image.name not in names)
    return [image for image in others if min(image.old("height") or 0, image.old("width") or 0) > 1]


def batches_beside(model: ModelProto, chosen: Sequence[ImageInput]) -> list[str]:
    """The other inputs of several axes, of which the first is as long as the batch of the chosen ones."""
    names, batches = {image.name for image in chosen}, {image.old("batch") for image in chosen} - {None}
    shapes = {value.name: dims_of(value.type) for value in _fed(model) if value.name not in names}
    return [name for name, dims in shapes.items() if len(dims or ()) > 1 and dims[0] in batches]


def _fed(model: ModelProto) -> list[ValueInfoProto]:
    constants = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in constants]


def _images(model: ModelProto) -> list[ImageInput]:
    found = (_image(model, value) for value in _fed(model) if not _is_weight(model, value.name))
    return [image for image in found if image is not None]


def _shape(value: ValueInfoProto) -> list[int | str | None]:
    return list(dims_of(value.type))


def _image(model: ModelProto, value: ValueInfoProto) -> ImageInput | None:
    dims = tuple(size if isinstance(size, int) and size > 0 else None for size in dims_of(value.type))
    if len(dims) == 3:
        line = min(dims[0] or 1, dims[1] or 1) == 1 and (dims[2] or 0) > _SHORTEST_LINE
        if line or _slides_along_last(model, value.name):
            return ImageInput(value.name, dims, {"batch": 0, "width": 2})
        if (dims[0] or 1) == 1 and (dims[1] or 0) > _SHORTEST_LINE and (dims[2] or 99) <= _MOST_VOICES:
            return ImageInput(value.name, dims, {"batch": 0, "width": 1})
        last = (dims[2] or 99) <= _MOST_CHANNELS < (dims[0] or 99)
        first = (dims[0] or 99) <= _MOST_CHANNELS
        if not (last or first) or 1 in (dims[:2] if last else dims[1:]):  # a recurrent state
            return None
        return ImageInput(value.name, dims, {"height": 0, "width": 1} if last else {"height": 1, "width": 2})
    if len(dims) == 5:
        start = 1 if (dims[4] or 99) <= _MOST_CHANNELS < (dims[1] or 99) else 2
        return ImageInput(value.name, dims, {"batch": 0, "depth": start, "height": start + 1, "width": start + 2})
    if len(dims) == 2 and (dims[1] or 0) > _SHORTEST_LINE:
        return ImageInput(value.name, dims, {"batch": 0, "width": 1})
    if len(dims) != 4:
        return None
    last = _channels_last(model, value.name, dims)
    return ImageInput(value.name, dims, {"batch": 0, "height": 1 if last else 2, "width": 2 if last else 3})


def _slides_along_last(model: ModelProto, name: str) -> bool:
    """Whether an operator whose data are batch, channels and space reads an input of three axes, as it is or cast."""
    pending, seen = [name], {name}
    while pending:
        current = pending.pop()
        for node in model.graph.node:
            if node.op_type in _SLIDING and current in list(node.input)[:1]:
                return True
            if node.op_type in _UNARY and current in node.input:
                pending += [output for output in node.output if output not in seen]
                seen.update(node.output)
    return False


def _is_weight(model: ModelProto, name: str) -> bool:
    """Whether an input is the kernel of a convolution."""
    pending, seen = [name], {name}
    while pending:
        current = pending.pop()
        for node in model.graph.node:
            if node.op_type in ("Conv", "ConvTranspose") and current in list(node.input)[1:]:
                return True
            if node.op_type in ("Transpose", "Cast", "Reshape", "Identity") and current in list(node.input)[:1]:
                pending += [output for output in node.output if output not in seen]
                seen.update(node.output)
    return False


def _channels_last(model: ModelProto, name: str, dims: tuple[int | None, ...]) -> bool:
    few_first, few_last = ((size or 99) <= _MOST_CHANNELS for size in (dims[1], dims[3]))
    if few_first != few_last:
        return few_last
    # Both or neither look like channels: a convolution wants them first, a Transpose before it says they were last.
    readers: dict[str, list[int]] = {}
    for index, node in enumerate(model.graph.node):
        for read in node.input:
            readers.setdefault(read, []).append(index)
    pending, seen = [name], {name}
    while pending:
        for index in readers.get(pending.pop(0), ()):
            node = model.graph.node[index]
            if node.op_type == "Transpose":
                return bool(attribute_of(node, "perm") == [0, 3, 1, 2])
            if node.op_type in ("Conv", "QLinearConv", "FusedConv"):
                return False
            for output in node.output:
                if output not in seen:
                    seen.add(output)
                    pending.append(output)
    return few_last and not few_first
