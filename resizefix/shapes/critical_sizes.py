"""Sizes of open axes at which a model begins to do something else: just below and above every number that cuts one.

Sizes are followed through the whole model at a few sizes of an axis. Where a distance that a node compares
(`compared_sizes.py`) changes its sign between two of them, the sizes at which it does are looked for in between.

What nodes compare with a size: a table of distances by operator, 0 where a node begins to do something else.

`Slice(x, 0, 64)` compares the length of an axis with 64, `Less(Gather(Shape(x), 0), 64)` what it reads. Both are the
same question at concrete sizes: how far the one is beyond the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise, zip_longest

import numpy as np
from onnx import NodeProto

from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.document.values import Array
from resizefix.scope_path import ScopePath
from resizefix.shapes.inference import FixedDims
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.output_size import BROADCASTING
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.walk import OLD, Moved, OldSizesError, SizeFlow

Place = tuple[ScopePath, int, int]  # a scope, a node in it, and which of its distances
_PROBES = (0, 1, 2, 3, 5, 9, 17, 33, 65, 129, 257, 513, 1025, 2049, 4097, 8193, 16385, 32769, 65537, 131073, 262145)
_MOST_PASSES = 160  # through the model, for one axis


OpenAxis = tuple[tuple[str, int], ...]
"""Axes of inputs that the file leaves open and that have one size: each by its input and position."""


def with_size(shapes: Mapping[str, FixedDims], axis: OpenAxis, size: int) -> dict[str, FixedDims]:
    """The shapes with another size of the axis."""
    moved = dict(shapes)
    for name, position in axis:
        moved[name] = (*moved[name][:position], size, *moved[name][position + 1 :])
    return moved


def critical_sizes(
    view: ModelView, shapes: Mapping[str, FixedDims], axis: OpenAxis, most_elements: int
) -> Iterator[tuple[int, int]]:
    """Pairs of sizes of an open axis, one apart, between which the model begins to do something else; as large as
    inputs of so many elements allow. Other axes have the sizes of `shapes`."""
    one = max(math.prod(shapes[name]) // max(shapes[name][at], 1) for name, at in axis)
    largest = most_elements // max(one, 1)
    probes = _Probes(view, shapes, axis)
    sizes = [size for size in _PROBES if size <= largest]
    if sizes and largest not in sizes:
        sizes.append(largest)
    places = sorted({place for size in sizes for place in probes.distances(size)}, key=repr)
    seen: set[tuple[int, int]] = set()
    for place in places:
        for beyond in (_is_over, _is_there):
            distances = [
                (size, beyond(probes.distances(size)[place])) for size in sizes if place in probes.distances(size)
            ]
            for (low, before), (high, after) in pairwise(distances):
                pair = probes.between(place, beyond, low, high) if before != after else None
                if pair is not None and pair not in seen:
                    seen.add(pair)
                    yield pair


def _is_over(distance: float) -> bool:
    return distance > 0


def _is_there(distance: float) -> bool:
    return distance >= 0


class _Probes:
    """The distances of a whole model at sizes of one axis; each size is followed once."""

    def __init__(self, view: ModelView, shapes: Mapping[str, FixedDims], axis: OpenAxis) -> None:
        self._view, self._shapes, self._axis = view, shapes, axis
        self._known: dict[int, dict[Place, float]] = {}

    def distances(self, size: int) -> dict[Place, float]:
        """What is compared at a size; nothing more after so many sizes."""
        if size not in self._known and len(self._known) < _MOST_PASSES:
            distances: dict[Place, float] = {}
            with suppress(OldSizesError, ArithmeticError, ValueError, IndexError):  # else it does not run at it
                _Measuring(self._view, with_size(self._shapes, self._axis, size), distances).work_out_all()
            self._known[size] = distances
        return self._known.get(size, {})

    def between(self, place: Place, beyond: Callable[[float], bool], low: int, high: int) -> tuple[int, int] | None:
        """Where it changes between two sizes; None where that is not found."""
        ends = self.distances(low)[place], self.distances(high)[place]
        before = beyond(ends[0])
        # Most distances grow with the size as a line does.
        guess = low + math.floor((high - low) * -ends[0] / (ends[1] - ends[0])) if ends[0] != ends[1] else low
        for middle in (guess, guess + 1):
            low, high = self._narrowed(place, beyond, before, low, high, middle)
        while high - low > 1:
            middle = (low + high) // 2
            narrowed = self._narrowed(place, beyond, before, low, high, middle)
            if narrowed == (low, high):
                return None
            low, high = narrowed
        return low, high

    def _narrowed(
        self, place: Place, beyond: Callable[[float], bool], before: bool, low: int, high: int, middle: int
    ) -> tuple[int, int]:
        distance = self.distances(middle).get(place) if low < middle < high else None
        if distance is None:
            return low, high
        return (middle, high) if beyond(distance) == before else (low, middle)


class _Measuring(SizeFlow):
    """Follows sizes, and notes what nodes compare on the way."""

    def __init__(self, view: ModelView, inputs: Mapping[str, FixedDims], distances: dict[Place, float]) -> None:
        super().__init__(view, inputs)
        self._found = distances

    def work_out_all(self) -> None:
        """Follow every node."""
        self._walk(None)

    def _new(self) -> SizeFlow:
        return _Measuring(self._view, {}, self._found)

    def _follow(self, index: int, node: NodeProto, moved: Moved | None) -> None:
        row = DISTANCES.get(node.op_type) if node.domain in DEFAULT_DOMAINS else None
        with suppress(OldSizesError):  # what does not fit is compared all the same
            super()._follow(index, node, moved)
        if row is None or any(attribute.ref_attr_name for attribute in node.attribute):
            return
        for position, distance in enumerate(row(self._operands(node))):
            if distance is not None:
                self._found[self._scope.path, index, position] = distance

    def _operands(self, node: NodeProto) -> ComparedOperands:
        names: Sequence[str] = node.input

        def value(position: int) -> object:
            return self.value(names[position], OLD) if 0 <= position < len(names) and names[position] else None

        return ComparedOperands(node, [self.old(name) if name else None for name in names], value)  # type: ignore[arg-type]

    def _passed_on(self, node: NodeProto, read: Sequence[str]) -> bool:
        return node.op_type not in DISTANCES and super()._passed_on(node, read)


_MOST = 16  # numbers of one operand
_ENDLESS = 2**31 - 2  # stands for the end of an axis


class ComparedOperands:
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


def _axis_attribute(o: ComparedOperands, default: int) -> int:
    return int(attribute_of(o.node, "axis", default))


def _slice(o: ComparedOperands) -> Distances:
    starts, ends, steps = o.numbers(1, "starts"), o.numbers(2, "ends"), o.numbers(4)
    axes = o.axes(3, "axes", max(len(starts), len(ends)))
    for numbers in (ends, starts, steps):
        for axis, number in zip(axes, numbers, strict=False):
            yield _from(o.length(axis), abs(number) if abs(number) < _ENDLESS else None)


def _from(length: float | None, number: float | None) -> float | None:
    return None if length is None or number is None else length - number


def _taken(position: int, axis: int) -> Callable[[ComparedOperands], Distances]:
    """Elements by their positions on an axis: the first length that has them all."""

    def row(o: ComparedOperands) -> Distances:
        reach = [at + 1 if at >= 0 else -at for at in o.numbers(position)]
        yield _from(o.length(_axis_attribute(o, axis)), max(reach, default=None))

    return row


def _counted(position: int, attribute: str | None, axis: int) -> Callable[[ComparedOperands], Distances]:
    """So many elements of an axis."""

    def row(o: ComparedOperands) -> Distances:
        for number in o.numbers(position, attribute)[:1]:
            yield _from(o.length(_axis_attribute(o, axis)), number)

    return row


def _listed(position: int, attribute: str | None = None) -> Callable[[ComparedOperands], Distances]:
    """A number for each of the last axes."""

    def row(o: ComparedOperands) -> Distances:
        for length, number in zip(reversed(o.dims(0)), reversed(o.numbers(position, attribute)), strict=False):
            yield length - number

    return row


def _pad(o: ComparedOperands) -> Distances:
    pads = o.numbers(1, "pads")
    axes = o.axes(3, "", len(pads) // 2)
    for axis, number in zip([*axes, *axes], pads, strict=False):
        yield _from(o.length(axis), abs(number) or None)


def _windows(o: ComparedOperands) -> Distances:
    kernel = o.numbers(-1, "kernel_shape") or o.dims(1)[2:]
    dilations = o.numbers(-1, "dilations")
    for length, size, dilation in zip_longest(o.dims(0)[2:], kernel, dilations[: len(kernel)], fillvalue=None):
        yield None if length is None or size is None else length - ((size - 1) * (dilation or 1) + 1)


def _diagonal(o: ComparedOperands) -> Distances:
    for number in o.numbers(1, "k")[:1]:
        yield from (length - abs(number) for length in o.dims(0)[-2:])


def _split(o: ComparedOperands) -> Distances:
    parts = o.numbers(1, "split")
    yield _from(o.length(_axis_attribute(o, 0)), sum(parts) if parts else None)


def _elements(o: ComparedOperands) -> Distances:
    listed = o.numbers(1)
    yield float(np.prod(o.dims(0)) - np.prod(listed)) if listed and min(listed) > 0 else None


def _met(o: ComparedOperands) -> Distances:
    """Operands that are broadcast to each other."""
    for one, other in zip(reversed(o.dims(0)), reversed(o.dims(1)), strict=False):
        yield float(one - other)


def _values(o: ComparedOperands) -> Distances:
    """Numbers that are compared with each other: the largest and the least, as one that a size adds to a few changes no
    sign of its own; and one by one."""
    one, *others = [o.numbers(position) for position in range(len(o.node.input))]
    for other in (*others, *(o.numbers(-1, name) for name in ("min", "max"))):
        if one and other:
            yield max(one) - max(other)
            yield min(one) - min(other)
            for at in range(max(len(one), len(other))):
                yield one[at % len(one)] - other[at % len(other)]


def _alone(o: ComparedOperands) -> Distances:
    """Numbers whose sign matters."""
    yield from o.numbers(0)


def _both(*rows: Callable[[ComparedOperands], Distances]) -> Callable[[ComparedOperands], Distances]:
    return lambda o: (distance for row in rows for distance in row(o))


_MEETING = _both(_met, _values)
DISTANCES: dict[str, Callable[[ComparedOperands], Distances]] = {
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
