"""Numbers of the file that no rule looks at: in lists, uniform tables and ramps of fixed length, and in attributes.

One stays as it is where its operand is of a kind that never holds a size: weights, normalisation, quantisation, slopes
of activations. Any other that a formula makes of a size is asked for.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import islice, product

import numpy as np
from onnx import NodeProto, TensorProto, numpy_helper

from resizefix.document.values import Array
from resizefix.input_sizes.conventions import against
from resizefix.input_sizes.flow import Flow
from resizefix.input_sizes.loose_numbers import MEETING
from resizefix.input_sizes.operands import Place
from resizefix.input_sizes.refusal import KEEP, asked
from resizefix.input_sizes.scalar_use import MixedUse, ScalarUse, formula
from resizefix.input_sizes.size_index import SizeIndex, is_plain
from resizefix.input_sizes.tables import Grid, Joined, Table
from resizefix.shapes.operand import attribute_of

_OF_LAYERS = frozenset(
    {"Conv", "ConvTranspose", "ConvInteger", "MatMulInteger", "BatchNormalization", "InstanceNormalization"}
    | {"LayerNormalization", "GroupNormalization", "RMSNormalization", "PRelu", "LSTM", "GRU", "RNN", "Dropout"}
    | {"QuantizeLinear", "DequantizeLinear", "Resize", "Upsample", "NonMaxSuppression", "RoiAlign", "MaxRoiPool"}
)
"""Their constants are weights, norms and thresholds, or are read by rules of their own."""
_ARITHMETIC = frozenset(
    {"Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Clip", "Where", "Less", "LessOrEqual", "Greater"}
    | {"GreaterOrEqual", "Equal", "Range", "Sum", "Mean"}
)
"""What reads whole numbers as data; elsewhere they are shapes, axes and indices."""
_ATTRIBUTES = {
    "Clip": ("min", "max"),
    "ConstantOfShape": ("value",),
    "Gemm": ("alpha", "beta"),
    "Pad": ("value",),
    "ThresholdedRelu": ("alpha",),
    "Shrink": ("lambd", "bias"),
}
_RELU6 = 6
_LONGEST_LIST = 8
_MOST_NUMBERS = 1 << 16
_MOST_ORDERS = 8
_STRAIGHT = 1e-5


def numbers_elsewhere(
    flow: Flow, index: SizeIndex, decided: Container[Place], tables: Mapping[Place, Table]
) -> dict[Place, ScalarUse | MixedUse]:
    """Those that the user lets follow. Raises SizeRefusedError for the others that a size may be."""
    made: dict[Place, ScalarUse | MixedUse] = {}
    for at, node in enumerate(flow.nodes):
        label = flow.labels[at]
        if flow.keeps(label) or not any(map(flow.is_read, node.output)):
            continue
        _ask_for_attributes(flow, index, label, node)
        for place, array in _constants(flow, at, node):
            if place in tables:
                _ask_for_table(flow, index, label, tables[place])
            elif place not in decided:
                use = _use(flow, index, place, array)
                made |= {} if use is None else {place: use}
    return made


def _constants(flow: Flow, at: int, node: NodeProto) -> Iterator[tuple[Place, Array]]:
    """The constants that a node reads as data, and that hold no sizes for a rule of its own."""
    if node.op_type in _OF_LAYERS or node.op_type.startswith("QLinear"):
        return
    for position, name in enumerate(node.input):
        place = Place(at, position)
        if not name or not flow.operands.is_constant(name) or (node.op_type == "Pow" and position):
            continue
        listed = flow.operands.lists.get(place)
        if listed is not None and node.op_type not in _ARITHMETIC:
            continue
        count = int(np.prod(flow.operands.shape_of(name), dtype=object))
        if count > _MOST_NUMBERS or (
            listed is not None and any(d is not None and flow.sizes.varies(d) for d in listed.dims)
        ):
            continue
        array = flow.operands.array(name)
        if array is None or not array.size:
            continue
        if array.dtype.kind == "f" or (array.dtype.kind in "iu" and node.op_type in _ARITHMETIC):
            yield place, array


def _use(flow: Flow, index: SizeIndex, place: Place, array: Array) -> ScalarUse | MixedUse | None:
    if np.all(array == array.flat[0]):
        if array.size == 1 and flow.nodes[place.node].op_type in MEETING:
            return None  # `loose_numbers` has looked at it
        named = {formula(flow.sizes, use): use for use in index.uses(array)}
        return _asked_use(flow, place, array, named, must=index.is_of_several(array))
    if array.size <= _LONGEST_LIST:
        several = any(map(index.is_of_several, np.split(array.ravel(), array.size)))
        return _asked_use(flow, place, array, dict(_list_uses(flow, index, array)), must=several)
    if any(index.uses(number) or index.is_of_several(number) for number in _of_ramp(array)):
        return _asked_use(flow, place, array, {}, must=True)
    return None


def _list_uses(flow: Flow, index: SizeIndex, array: Array) -> Iterator[tuple[str, MixedUse]]:
    """What the numbers of a list may be together, those first of which all have one form."""
    parts = [index.uses(array.reshape(-1)[place : place + 1]) for place in range(array.size)]
    if not any(parts):
        return
    ways = {(use.less, use.form): None for uses in parts for use in uses}
    for less, form in ways:
        alike: list[list[ScalarUse]] = [[use for use in uses if (use.less, use.form) == (less, form)] for uses in parts]
        if all(bool(one) == bool(uses) for one, uses in zip(alike, parts, strict=True)):
            either: list[list[ScalarUse | None]] = [[*one] or [None] for one in alike]
            for uses in islice(product(*either), _MOST_ORDERS):
                yield _shown(flow, uses, array), MixedUse(tuple(uses), array)
    first = tuple(uses[0] if uses else None for uses in parts)
    yield _shown(flow, first, array), MixedUse(first, array)


def _shown(flow: Flow, uses: tuple[ScalarUse | None, ...], array: Array) -> str:
    return ",".join(
        str(number) if use is None else formula(flow.sizes, use) for use, number in zip(uses, array.flat, strict=True)
    )


def _asked_use(
    flow: Flow, place: Place, array: Array, named: Mapping[str, ScalarUse | MixedUse], *, must: bool = False
) -> ScalarUse | MixedUse | None:
    label = flow.labels[place.node]
    if not named and not must:
        return None
    chosen = named.get(flow.choices.of(label) or "")
    if chosen is not None:
        return chosen
    raise _question(label, array.ravel()[:_LONGEST_LIST].tolist(), tuple(named))


def _question(label: str, numbers: list[float], names: tuple[str, ...] = ()) -> Exception:
    meanings = {name: against(name) for name in (KEEP, *names)}
    return asked(label, numbers, "origins.input-size-numbers", meanings, numbers=numbers)


def _of_ramp(array: Array) -> Iterator[Array]:
    """Of a table that counts evenly along an axis: its step and where it begins and ends. One that counts the samples
    of its own axis from 0 on is no more than that."""
    for axis, length in enumerate(array.shape):
        row = np.moveaxis(array, axis, -1).reshape(-1, length)[0]
        if length < 3:
            continue
        line = row.astype(np.float64)
        step = line[1] - line[0]
        if step == 0 or np.abs(np.diff(line, 2)).max() > _STRAIGHT * np.abs(line).max():
            continue
        counts = abs(step) == 1 and 0 in (line[0], line[-1])
        ends = () if counts else (row[1] - row[0], row[0], row[-1], row[-1] + (row[1] - row[0]))
        yield from (np.array([number], array.dtype) for number in ends)


def _ask_for_attributes(flow: Flow, index: SizeIndex, label: str, node: NodeProto) -> None:
    for name in _ATTRIBUTES.get(node.op_type, ()):
        value = attribute_of(node, name)
        if value is None:
            continue
        array = numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.array([value], np.float32)
        if node.op_type == "Clip" and float(array.flat[0]) == _RELU6:
            continue
        if array.size == 1 and (index.uses(array.reshape(-1)) or index.is_of_several(array)):
            raise _question(label, array.ravel().tolist())


def _ask_for_table(flow: Flow, index: SizeIndex, label: str, table: Table) -> None:
    """A number that stands everywhere in a table, or by which it counts, and that is no stride of its map."""
    if isinstance(table, Joined):
        for part in table.parts:
            _ask_for_table(flow, index, label, part)
    elif isinstance(table, Grid) and flow.choices.of(label) is None:
        for one in table.channels:
            if one.sequence is None:
                number = np.array([one.value])
            elif one.sequence.is_absolute and not table.merged:
                number = np.array([one.sequence.factor], table.dtype)
            else:
                continue
            if not is_plain(number) and abs(float(number[0])) not in index.strides and index.uses(number):
                raise _question(label, number.tolist())
