"""Sizes of open axes at which a model begins to do something else: just below and above every number that cuts one.

Sizes are followed through the whole model at a few sizes of an axis. Where a distance that a node compares
(`compared_sizes.py`) changes its sign between two of them, the sizes at which it does are looked for in between.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

from onnx import NodeProto

from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.scope_path import ScopePath
from resizefix.shapes.compared_sizes import DISTANCES, Operands
from resizefix.shapes.model_view import ModelView
from resizefix.shapes.number_reading import Dims
from resizefix.shapes.walk import OLD, Moved, OldSizesError, SizeFlow

Place = tuple[ScopePath, int, int]  # a scope, a node in it, and which of its distances
_PROBES = (1, 2, 3, 5, 9, 17, 33, 65, 129, 257, 513, 1025, 2049, 4097, 8193, 16385, 32769, 65537, 131073, 262145)
_MOST_PASSES = 160  # through the model, for one axis


class OpenAxis(NamedTuple):
    """Axes of inputs that the file leaves open and that have one size: each by its input and position."""

    places: tuple[tuple[str, int], ...]

    def at(self, shapes: Mapping[str, Dims], size: int) -> dict[str, Dims]:
        """The shapes with another size of it."""
        moved = dict(shapes)
        for name, axis in self.places:
            moved[name] = (*moved[name][:axis], size, *moved[name][axis + 1 :])
        return moved


def critical_sizes(
    view: ModelView, shapes: Mapping[str, Dims], axis: OpenAxis, most_elements: int
) -> Iterator[tuple[int, int]]:
    """Pairs of sizes of an open axis, one apart, between which the model begins to do something else; as large as
    inputs of so many elements allow. Other axes have the sizes of `shapes`."""
    one = max(math.prod(shapes[name]) // max(shapes[name][at], 1) for name, at in axis.places)
    largest = most_elements // max(one, 1)
    probes = _Probes(view, shapes, axis)
    sizes = [size for size in _PROBES if size <= largest]
    if sizes and largest not in sizes:
        sizes.append(largest)
    places = sorted({place for size in sizes for place in probes.distances(size)}, key=repr)
    seen: set[tuple[int, int]] = set()
    for place in places:
        for beyond in (_is_over, _is_there):
            told = [(size, beyond(probes.distances(size)[place])) for size in sizes if place in probes.distances(size)]
            for (low, before), (high, after) in pairwise(told):
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

    def __init__(self, view: ModelView, shapes: Mapping[str, Dims], axis: OpenAxis) -> None:
        self._view, self._shapes, self._axis = view, shapes, axis
        self._known: dict[int, dict[Place, float]] = {}

    def distances(self, size: int) -> dict[Place, float]:
        """What is compared at a size; nothing more after so many sizes."""
        if size not in self._known and len(self._known) < _MOST_PASSES:
            found: dict[Place, float] = {}
            with suppress(OldSizesError, ArithmeticError, ValueError, IndexError):  # else it does not run at it
                _Measuring(self._view, self._axis.at(self._shapes, size), found).work_out_all()
            self._known[size] = found
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

    def __init__(self, view: ModelView, inputs: Mapping[str, Dims], found: dict[Place, float]) -> None:
        super().__init__(view, inputs)
        self._found = found

    def work_out_all(self) -> None:
        """Follow every node."""
        self._walk(None)

    def _new(self) -> "SizeFlow":
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

    def _operands(self, node: NodeProto) -> Operands:
        names: Sequence[str] = node.input

        def value(position: int) -> object:
            return self.value(names[position], OLD) if 0 <= position < len(names) and names[position] else None

        return Operands(node, [self.old(name) if name else None for name in names], value)  # type: ignore[arg-type]

    def _passed_on(self, node: NodeProto, read: Sequence[str]) -> bool:
        return node.op_type not in DISTANCES and super()._passed_on(node, read)
