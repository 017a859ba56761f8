"""Files that declare axes open though their constants are of one size: the size that the constants are made for.

A script or an exporter names the axes of an input, and the numbers of the export stay in Reshape and Resize. Such a
file runs at one size alone. Which one is seen by trying sizes that those numbers lead to: sizes are followed, nothing
is run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from onnx import NodeProto

from resizefix.shapes.image_axes import ImageInput
from resizefix.shapes.stored_shapes import ModelView

_LISTING = {
    "Reshape": 1, "Resize": 3, "Expand": 1, "Tile": 1, "ConstantOfShape": 0, "Slice": 2, "Upsample": 1,
}  # fmt: skip
_STRIDES = (1, 2, 4, 8, 16, 32)
_MOST_TRIES = 400
_LONGEST = 1 << 14
_ELSEWHERE = ({"height": 64, "width": 96}, {"height": 160, "width": 224}, {"height": 448, "width": 672})
"""Sizes that a model takes that takes any: multiples of 32, and no two of one ratio to their constants."""


class DeclaredSize(NamedTuple):
    """The size of open axes that the constants are made for, and the node that fails at another one; "" where none does
    and the user gave the size."""

    sizes: Mapping[str, int]
    node: str


def declared_size(
    view: ModelView,
    images: Sequence[ImageInput],
    names: Collection[str],
    was: Mapping[str, int],
    *,
    mixes: str | None = None,
) -> DeclaredSize | None:
    """The size behind those of the named axes that the file leaves open; None where it takes others, or none is found.

    `was`: what the user says of them. `mixes`: a node that answers for fewer images than it is given, though sizes fit.
    """
    left_open = {name for name in names if name in images[0].axes and images[0].old(name) is None}
    if not left_open:
        return None
    tried = _Tried(view, images)
    elsewhere = [{name: size.get(name, 2 + place) for name in left_open} for place, size in enumerate(_ELSEWHERE)]
    failing = [tried.fails(size) for size in elsewhere]
    given = {name: was[name] for name in left_open if name in was}
    if None in failing and mixes is None and not given:
        return None
    for sizes in _candidates(view, left_open, given):
        if tried.fails(sizes) is None:
            return DeclaredSize(sizes, next((node for node in failing if node is not None), mixes or ""))
    return None


class _Tried:
    """Whether sizes of the open axes fit together."""

    def __init__(self, view: ModelView, images: Sequence[ImageInput]) -> None:
        self._view, self._images = view, images
        self._outputs = [name for node in view.model.graph.node for name in node.output if name]

    def fails(self, sizes: Mapping[str, int]) -> str | None:
        """The node at which sizes do not fit together; None where they do."""
        from resizefix.shapes.walk import OldSizesError, SizeFlow  # most files declare what they are

        inputs = {}
        for image in self._images:
            named = {axis: name for name, axis in image.axes.items()}
            dims = [sizes.get(named.get(axis, ""), 1) if size is None else size for axis, size in enumerate(image.dims)]
            inputs[image.name] = tuple(dims)
        try:
            SizeFlow(self._view, inputs).work_out(self._outputs)
        except OldSizesError as error:
            return str(error) or "the model"
        return None


def _candidates(view: ModelView, names: Collection[str], given: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Sizes that the numbers of the file lead to, small ones first."""
    open_sides = [name for name in ("height", "width") if name in names and name not in given]
    batches = [1, *_first_numbers(view)] if "batch" in names else [None]
    sides: list[dict[str, int]] = [{}]
    if open_sides:
        pairs = dict.fromkeys(
            tuple(int(number * stride) for number in pair) for stride in _strides() for pair in _pairs(view)
        )
        sides = [
            dict(zip(("height", "width"), pair, strict=True)) for pair in pairs if all(1 < n < _LONGEST for n in pair)
        ]
        sides.sort(key=lambda size: size["height"] * size["width"])  # of equal ones, those of the file itself first
    count = 0
    for batch in dict.fromkeys(batches):
        for side in sides:
            made = {name: length for name, length in side.items() if name in open_sides} | dict(given)
            yield made if batch is None else {**made, "batch": batch}
            count += 1
            if count == _MOST_TRIES:
                return


def _strides() -> list[float]:
    return [*_STRIDES, 1 / 2, 1 / 3, 1 / 4]


def _lists(view: ModelView) -> Iterator[tuple[NodeProto, list[int]]]:
    """The numbers of nodes that list sizes."""
    scope = view.scopes.main
    for node in view.model.graph.node:
        place = _LISTING.get(node.op_type)
        if place is None or place >= len(node.input) or not node.input[place]:
            continue
        value = view.constants.array(scope, node.input[place])
        if value is not None and value.dtype.kind in "iu" and value.size <= 8:
            yield node, np.ravel(value).astype(int).tolist()


def _pairs(view: ModelView) -> Iterator[tuple[int, int]]:
    for _, numbers in _lists(view):
        yield from pairwise(numbers)


def _first_numbers(view: ModelView) -> list[int]:
    """The first numbers of lists, the most frequent first: the batch is there."""
    first = Counter(numbers[0] for _, numbers in _lists(view) if len(numbers) > 1 and numbers[0] > 0)
    return [number for number, _ in first.most_common()]
