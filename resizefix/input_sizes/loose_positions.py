"""Constant positions on an axis that follows the input: boxes, and indices that choose or write samples.

The first and the last few samples stay where they are. Any other position may be one of the map's size, so it is asked
for; a box can follow, where each of its sides is a size of the map or of the image.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from resizefix.document.values import Array
from resizefix.input_sizes.conventions import against
from resizefix.input_sizes.flow import Flow
from resizefix.input_sizes.operands import Place
from resizefix.input_sizes.refusal import FOLLOW, KEEP, asked
from resizefix.input_sizes.scalar_use import MixedUse, ScalarUse, reading
from resizefix.shapes.expression import Dim
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.reading import axis_of

_FEW = 3  # samples at either end, as tokens are
_SHOWN = 8
_BOXES = {"RoiAlign": 1, "MaxRoiPool": 1}
_ALONG_AXIS = ("Gather", "GatherElements", "ScatterElements", "Scatter")
_OF_POINTS = ("GatherND", "ScatterND")
_FORMS = ("whole", "half", "quarter")
_MOVING = frozenset({"Transpose", "Cast", "Squeeze", "Unsqueeze", "Reshape", "Identity", "Slice", "Gather", "Split"})
_RECURRENT = frozenset({"RNN", "GRU", "LSTM"})
_LENGTHS = 4  # the operand of these that holds how long each sequence is


def loose_positions(flow: Flow) -> dict[Place, MixedUse | ScalarUse]:
    """Boxes and lengths of sequences that the user lets follow. Raises SizeRefusedError where nobody has decided."""
    found: dict[Place, MixedUse | ScalarUse] = {}
    for index, node in enumerate(flow.nodes):
        if not any(map(flow.is_read, node.output)):
            continue
        if node.op_type in _BOXES and len(node.input) > 1:
            found |= _boxes(flow, Place(index, _BOXES[node.op_type]))
        elif node.op_type in _RECURRENT and len(node.input) > _LENGTHS:
            found |= _lengths(flow, Place(index, _LENGTHS))
        elif node.op_type in (*_ALONG_AXIS, *_OF_POINTS):
            _indices(flow, Place(index, 1))
    return found


def _data_dims(flow: Flow, place: Place) -> list[Dim]:
    dims = flow.dims_of(Place(place.node, 0), flow.nodes[place.node].input[0])
    return [flow.sizes.resolve(dim) for dim in dims or ()]


def _indices(flow: Flow, place: Place) -> None:
    node, label = flow.nodes[place.node], flow.labels[place.node]
    dims = _data_dims(flow, place)
    name = node.input[place.position]
    if flow.keeps(label) or not any(map(flow.sizes.varies, dims)) or _follows(flow, place):
        return
    if _are_of_a_mask(flow, name):
        raise asked(
            label, None, "origins.input-size-indices", {KEEP: against(KEEP)}, old=max(dim.old or 0 for dim in dims)
        )
    array = flow.operands.numbers(place, name)
    if array is None or array.dtype.kind not in "iu" or not array.size:
        return
    if node.op_type in _OF_POINTS:
        batch = attribute_of(node, "batch_dims", 0)
        columns = [(dims[batch + at], array[..., at]) for at in range(array.shape[-1] if array.ndim else 0)]
    else:
        axis = axis_of(attribute_of(node, "axis", 0), len(dims))
        columns = [(dims[axis], array)]
        beside = zip(dims, array.shape, strict=False) if node.op_type != "Gather" else ()
        short = [dim for at, (dim, count) in enumerate(beside) if at != axis and count > 1 and flow.sizes.varies(dim)]
        if short:
            raise asked(label, list(array.shape), "origins.input-size-indices", {KEEP: against(KEEP)}, old=short[0].old)
    for dim, positions in columns:
        if flow.sizes.varies(dim) and not _are_few(positions):
            shown = positions.ravel()[:_SHOWN].tolist()
            raise asked(label, shown, "origins.input-size-indices", {KEEP: against(KEEP)}, old=dim.old)


def _are_of_a_mask(flow: Flow, name: str) -> bool:
    """Whether indices are where a mask of the file is not 0: one that does not follow the input."""
    node = flow.operands.maker(name)
    while node is not None and node.op_type in _MOVING and node.input:
        node = flow.operands.maker(node.input[0])
    if node is None or node.op_type != "NonZero" or flow.is_moving(node.input[0]):
        return False
    dims = flow.dims.get(node.input[0]) or ()
    return not any(flow.sizes.varies(dim) or flow.sizes.is_opaque(dim) for dim in dims)


def _are_few(positions: Array) -> bool:
    return bool(np.all((positions >= -_FEW) & (positions < _FEW)))


def _follows(flow: Flow, place: Place) -> bool:
    """Whether the positions are a table that follows the input, and so has positions for the whole map."""
    table = flow.operands.tables.get(place)
    listed = flow.operands.lists.get(place)
    moving = [*(table.dims if table is not None else ()), *(listed.dims if listed is not None else ())]
    return any(dim is not None and flow.sizes.varies(dim) for dim in moving)


def _lengths(flow: Flow, place: Place) -> dict[Place, ScalarUse]:
    """Sequences that are all as long as the axis: so long at any size, or always of this length."""
    node, label, dims = flow.nodes[place.node], flow.labels[place.node], _data_dims(flow, place)
    name = node.input[place.position]
    array = flow.operands.array(name) if name and flow.operands.is_constant(name) else None
    axis = attribute_of(node, "layout", 0)
    if array is None or len(dims) <= axis or not flow.sizes.varies(dims[axis]) or flow.keeps(label):
        return {}
    use = reading(dims[axis], 0, "whole", array)
    if use is None or flow.choices.of(label) == FOLLOW:
        return {} if use is None else {place: use}
    numbers = array.ravel()[:_SHOWN].tolist()
    meanings = {name: against(name) for name in (KEEP, FOLLOW)}
    raise asked(label, numbers, "origins.input-size-all-of-axis", meanings, old=dims[axis].old)


def _boxes(flow: Flow, place: Place) -> dict[Place, MixedUse]:
    node, label = flow.nodes[place.node], flow.labels[place.node]
    dims, name = _data_dims(flow, place), node.input[place.position]
    array = flow.operands.array(name) if flow.operands.is_constant(name) else None
    if array is None or flow.keeps(label) or not any(map(flow.sizes.varies, dims[2:])):
        return {}
    named = dict(_box_readings(flow, dims, array))
    chosen = named.get(flow.choices.of(label) or "")
    if chosen is not None:
        return {place: chosen}
    meanings = {KEEP: against(KEEP), **{name: against(name) for name in named}}
    raise asked(label, array.ravel()[:_SHOWN].tolist(), "origins.input-size-boxes", meanings, name=name)


def _box_readings(flow: Flow, dims: Sequence[Dim], array: Array) -> Iterator[tuple[str, MixedUse]]:
    """The boxes as sizes of the map, and of the image."""
    sides = flow.sizes.sides
    for name, (height, width) in (("of-map", dims[2:4]), ("of-image", sides if len(sides) == 2 else dims[2:4])):
        lines = [width, height] * 2
        uses = [_side(lines[place % 4], array.reshape(-1)[place : place + 1]) for place in range(array.size)]
        if array.shape[-1] == 4 and all(
            use is not None or number == 0 for use, number in zip(uses, array.flat, strict=True)
        ):
            yield name, MixedUse(tuple(uses), array)


def _side(dim: Dim, number: Array) -> ScalarUse | None:
    ways = (reading(dim, less, form, number) for form in _FORMS for less in (0, 1))
    return next((use for use in ways if use is not None), None)
