"""What nodes compare with a size: a table of distances by operator, 0 where a node begins to do something else.

`Slice(x, 0, 64)` compares the length of an axis with 64, `Less(Gather(Shape(x), 0), 64)` what it reads. Both are the
same question at concrete sizes: how far the one is beyond the other.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

import numpy as np
from onnx import NodeProto

from resizefix.document.values import Array
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.output_lengths import BROADCASTING

_MOST = 16  # numbers of one operand
_ENDLESS = 2**31 - 2  # stands for the end of an axis


class Operands:
    """A node with the sizes and the values of its operands, as far as sizes decide them."""

    def __init__(
        self, node: NodeProto, dims: Sequence[Sequence[int] | None], values: Callable[[int], Array | None]
    ) -> None:
        self.node, self._dims, self._values = node, dims, values

    def dims(self, position: int) -> Sequence[int]:
        """The sizes of an operand; none where they are not known."""
        return (self._dims[position] if position < len(self._dims) else None) or ()

    def numbers(self, position: int, attribute: str | None = None) -> list[float]:
        """The numbers of an operand, or of an attribute in its place; of many some. None where they are not known."""
        given = None if attribute is None else attribute_of(self.node, attribute, None)
        value = np.asarray(given) if given is not None else self._values(position)
        if value is None or value.dtype.kind not in "iufb" or not value.size:
            return []
        numbers = value.reshape(-1).astype(np.float64)
        return [float(one) for one in (numbers if numbers.size <= _MOST else (*numbers[: _MOST - 1], numbers[-1]))]

    def axes(self, position: int, attribute: str, count: int) -> list[int]:
        """Axes of the first operand, by default the first ones."""
        rank = len(self.dims(0))
        named = [int(axis) for axis in self.numbers(position, attribute)] or list(range(count))
        return [axis % rank for axis in named] if rank else []

    def length(self, axis: int) -> float | None:
        """The size of the first operand on an axis."""
        dims = self.dims(0)
        return float(dims[axis]) if -len(dims) <= axis < len(dims) else None


Distances = Iterator[float | None]


def _axis_attribute(o: Operands, default: int) -> int:
    return int(attribute_of(o.node, "axis", default))


def _slice(o: Operands) -> Distances:
    starts, ends, steps = o.numbers(1, "starts"), o.numbers(2, "ends"), o.numbers(4)
    axes = o.axes(3, "axes", max(len(starts), len(ends)))
    for numbers in (ends, starts, steps):
        for axis, number in zip(axes, numbers, strict=False):
            yield _from(o.length(axis), abs(number) if abs(number) < _ENDLESS else None)


def _from(length: float | None, number: float | None) -> float | None:
    return None if length is None or number is None else length - number


def _taken(position: int, axis: int) -> Callable[[Operands], Distances]:
    """Elements by their positions on an axis: the first length that has them all."""

    def row(o: Operands) -> Distances:
        reach = [at + 1 if at >= 0 else -at for at in o.numbers(position)]
        yield _from(o.length(_axis_attribute(o, axis)), max(reach, default=None))

    return row


def _counted(position: int, attribute: str | None, axis: int) -> Callable[[Operands], Distances]:
    """So many elements of an axis."""

    def row(o: Operands) -> Distances:
        for number in o.numbers(position, attribute)[:1]:
            yield _from(o.length(_axis_attribute(o, axis)), number)

    return row


def _listed(position: int, attribute: str | None = None) -> Callable[[Operands], Distances]:
    """A number for each of the last axes."""

    def row(o: Operands) -> Distances:
        for length, number in zip(reversed(o.dims(0)), reversed(o.numbers(position, attribute)), strict=False):
            yield length - number

    return row


def _pad(o: Operands) -> Distances:
    pads = o.numbers(1, "pads")
    axes = o.axes(3, "", len(pads) // 2)
    for axis, number in zip([*axes, *axes], pads, strict=False):
        yield _from(o.length(axis), abs(number) or None)


def _windows(o: Operands) -> Distances:
    kernel = o.numbers(-1, "kernel_shape") or o.dims(1)[2:]
    dilations = o.numbers(-1, "dilations")
    for length, size, dilation in zip_longest(o.dims(0)[2:], kernel, dilations[: len(kernel)], fillvalue=None):
        yield None if length is None or size is None else length - ((size - 1) * (dilation or 1) + 1)


def _diagonal(o: Operands) -> Distances:
    for number in o.numbers(1, "k")[:1]:
        yield from (length - abs(number) for length in o.dims(0)[-2:])


def _split(o: Operands) -> Distances:
    parts = o.numbers(1, "split")
    yield _from(o.length(_axis_attribute(o, 0)), sum(parts) if parts else None)


def _elements(o: Operands) -> Distances:
    listed = o.numbers(1)
    yield float(np.prod(o.dims(0)) - np.prod(listed)) if listed and min(listed) > 0 else None


def _met(o: Operands) -> Distances:
    """Operands that are broadcast to each other."""
    for one, other in zip(reversed(o.dims(0)), reversed(o.dims(1)), strict=False):
        yield float(one - other)


def _values(o: Operands) -> Distances:
    """Numbers that are compared with each other."""
    one, *others = [o.numbers(position) for position in range(len(o.node.input))]
    for other in (*others, *(o.numbers(-1, name) for name in ("min", "max"))):
        if one and other:
            for at in range(max(len(one), len(other))):
                yield one[at % len(one)] - other[at % len(other)]


def _alone(o: Operands) -> Distances:
    """Numbers whose sign matters."""
    yield from o.numbers(0)


def _both(*rows: Callable[[Operands], Distances]) -> Callable[[Operands], Distances]:
    return lambda o: (distance for row in rows for distance in row(o))


_MEETING = _both(_met, _values)
DISTANCES: dict[str, Callable[[Operands], Distances]] = {
    **dict.fromkeys(BROADCASTING, _met),
    **dict.fromkeys(("Clip", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max"), _MEETING),
    **dict.fromkeys(("Min", "Mod", "Range", "Sub"), _MEETING),
    **dict.fromkeys(("Abs", "If", "Loop", "Relu", "Sign"), _alone),
    **dict.fromkeys(("AveragePool", "Conv", "LpPool", "MaxPool"), _windows),
    "CenterCropPad": _listed(1),
    "Compress": lambda o: iter([_from(o.length(_axis_attribute(o, 0)), (*o.dims(1), None)[0])]),
    "Expand": _listed(1),
    "EyeLike": _diagonal,
    "Gather": _taken(1, 0),
    "GatherElements": _taken(1, 0),
    "Pad": _pad,
    "Reshape": _elements,
    "Resize": _listed(3),
    "ScatterElements": _taken(1, 0),
    "Slice": _slice,
    "Split": _split,
    "TopK": _counted(1, "k", -1),
    "Trilu": _diagonal,
}
