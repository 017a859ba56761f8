"""What scales or shifts positions, and is no number that positions have at any size: it is asked for.

A position on a map becomes a pixel by the map's stride, a cell's centre by half of it, an angle by a multiple of π. All
other numbers that meet positions, or the grid that a map is sampled at, may have been computed of this size: shares of
another screen, the bars of a letterbox, the last pixel less half a stride.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from fractions import Fraction

import numpy as np
from onnx import NodeProto

from resizefix.document.values import Array
from resizefix.input_sizes.conventions import against
from resizefix.input_sizes.flow import Flow
from resizefix.input_sizes.operands import Place
from resizefix.input_sizes.own_numbers import is_own
from resizefix.input_sizes.refusal import KEEP, asked
from resizefix.input_sizes.scalar_use import USUAL, is_written
from resizefix.input_sizes.taints import Taint, merged

TaintOf = Callable[[int, int, str], Taint | None]
"""What the operand of a node, by its index, at a position and of a name, is made of."""
_SCALING, _SHIFTING = frozenset({"Mul", "Div"}), frozenset({"Add", "Sub", "Sum"})
_BOUNDING = frozenset({"Clip", "Min", "Max"})
_COMPARING = frozenset({"Less", "LessOrEqual", "Greater", "GreaterOrEqual"})
_ENDLESS = 1e4  # a bound that no position reaches
_LONGEST = 8  # numbers in a list of coordinates
_SIMPLE = (0.0, 0.5, 1.0, 2.0)
_FACTORS = (1.0, 2.0, 0.5)
_TINY = 1e-3  # what keeps a number from 0
_SMALL = 4
_OF_A_BOX = 4  # coordinates: the corners of boxes are whole pixels from a centre
_LAYERS = frozenset({"MatMul", "Gemm", "Conv", "Einsum"})  # what a bias is added to
_MADE_OF = (
    _SCALING
    | _SHIFTING
    | {"Concat", "Transpose", "Reshape", "Split", "Slice", "Unsqueeze", "Squeeze", "Cast", "Gather", "Expand"}
)


def refuse_position_numbers(flow: Flow, taint_of: TaintOf, decided: Container[Place], steps: Container[Place]) -> None:
    """Raises SizeRefusedError for the first node with such numbers. `taint_of` says of an operand what its values are
    made of; numbers of `decided` follow or were asked for, those of `steps` are pixels."""
    sampling = _before_grids(flow)
    for index, node in enumerate(flow.nodes):
        label = flow.labels[index]
        if node.op_type not in _SCALING | _SHIFTING | _BOUNDING | _COMPARING or label in flow.conventional:
            continue
        if flow.choices.of(label) is not None or not any(map(flow.is_read, node.output)):
            continue
        taint = merged(taint_of(index, at, name) for at, name in enumerate(node.input))
        for position, name in enumerate(node.input):
            place = Place(index, position)
            also_whole = node.op_type in _SCALING or taint.is_index
            array = None if place in decided or place in steps else _numbers(flow, name, also_whole)
            if array is None or place in flow.operands.lists or _is_bias(flow, node, position):
                continue
            table = flow.operands.tables.get(place)
            if table is not None and any(map(flow.sizes.varies, table.dims)):
                continue  # the positions themselves
            if is_own(flow, node, node, array, decided):
                continue
            is_compared = node.op_type in _COMPARING
            on_positions = ((bool(taint.along) and not taint.is_mixed) or index in sampling) and not is_compared
            unusual = on_positions and not _are_usual(flow, node, array, taint)
            if unusual or (taint.summed and _is_count(node, array)):
                value = array.item() if array.size == 1 else array.ravel().tolist()
                code = "origins.input-size-divides-positions"
                raise asked(label, value, code, {KEEP: against(KEEP)}, value=value)


def _numbers(flow: Flow, name: str, also_whole: bool) -> Array | None:
    """A few numbers of the file; those of a type of whole numbers only if `also_whole`."""
    operands = flow.operands
    if not name or not operands.is_constant(name) or math.prod(operands.shape_of(name)) > _LONGEST:
        return None
    array = operands.array(name)
    kinds = "fiu" if also_whole else "f"
    return array if array is not None and array.dtype.kind in kinds and array.size else None


def _is_count(node: NodeProto, array: Array) -> bool:
    """Whether a sum is divided by a number as by how many values it has, or compared with one."""
    number = abs(float(array.flat[0])) if array.size == 1 else 0.0
    if node.op_type in _COMPARING:
        return number > USUAL
    if node.op_type == "Mul":
        number = 1 / number if number else 0.0
    return node.op_type in _SCALING and number > 1


def _is_bias(flow: Flow, node: NodeProto, position: int) -> bool:
    """Whether a layer, and not positions, made what the numbers are added to."""
    makers = [flow.operands.maker(name) for at, name in enumerate(node.input) if at != position]
    return node.op_type in _SHIFTING and all(maker is not None and maker.op_type in _LAYERS for maker in makers)


def _before_grids(flow: Flow) -> frozenset[int]:
    """The nodes that make the grids at which maps are sampled that follow the input, as far as numbers alone move and
    scale them."""
    producers, made = flow.operands.scope.producers, set[int]()
    for node in flow.nodes:
        dims = flow.dims.get(node.input[0]) if node.op_type == "GridSample" else None
        pending = [node.input[1]] if any(map(flow.sizes.varies, dims or ())) else []
        while pending:
            index = producers.get(pending.pop())
            if index is not None and index not in made and flow.nodes[index].op_type in _MADE_OF:
                made.add(index)
                pending += flow.nodes[index].input
    return frozenset(made)


def _are_usual(flow: Flow, node: NodeProto, array: Array, taint: Taint) -> bool:
    """Whether positions meet such numbers at any size of the input."""
    strides = {stride for dim in taint.along if (stride := flow.sizes.stride(dim)) is not None}
    numbers = [abs(float(number)) for number in array.flat]
    apart = len(set(numbers)) > 1 and not set(numbers) <= {0.0, 1.0}
    if node.op_type not in _SCALING:
        centres = {*_SIMPLE, *(part for stride in strides for part in (stride, stride / 2, (stride - 1) / 2))}
        most = math.inf if array.size >= _OF_A_BOX else 0 if apart else max(_SMALL, *strides, 0)
        others = [number for number in numbers if number not in centres and _TINY <= number < _ENDLESS]
        return all(number <= most and number == int(number) for number in others)
    if taint.is_index and node.op_type == "Mul":
        return all(number in (0, 1) or number in strides for number in numbers)
    sizes, waves = _moving(flow) - strides, array.size > 1 and _becomes_waves(flow, node)
    return (waves or not apart) and all(
        _is_usual_factor(number, array.dtype, strides, sizes, taint.is_share or waves) for number in set(numbers)
    )


def _becomes_waves(flow: Flow, node: NodeProto) -> bool:
    """Whether sines or cosines are taken of the products: several factors are frequencies."""
    readers = flow.operands.readers(node.output[0])
    return bool(readers) and all(reader.op_type in ("Sin", "Cos") for reader in readers)


def _moving(flow: Flow) -> set[float]:
    """The sizes that follow the input, of any tensor."""
    return {float(dim.old) for dim in flow.moving_sizes() if (dim.old or 0) > _SMALL and dim.old}


def _is_usual_factor(
    number: float, dtype: np.dtype[np.generic], strides: Container[float], sizes: Container[float], of_shares: bool
) -> bool:
    if number == 0 or number in strides:
        return True
    if number in sizes:
        return False
    if not of_shares:
        return number in _FACTORS or 1 / number in strides
    large = max(number, 1 / number)
    turns = Fraction(number / np.pi).limit_denominator(USUAL)
    is_angle = bool(np.isclose(float(turns) * np.pi, number, rtol=1e-6))
    is_power = any(float(power).is_integer() for power in (np.log2(number), np.log10(number)))
    return is_angle or is_power or (large <= USUAL and is_written(np.array([number], dtype)))
