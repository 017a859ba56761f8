"""Numbers of which no formula of one size is known, and that sizes made all the same: they are asked for.

Quotients of two sizes of a side, as of two levels of a pyramid or of a map and a resize to a size of its own; and
matrices that move points, as those of a camera.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from itertools import product

import numpy as np
from onnx import NodeProto

from resizefix.document.values import Array
from resizefix.input_sizes.conventions import against
from resizefix.input_sizes.flow import MOST_IN_A_TABLE, Flow
from resizefix.input_sizes.operands import Place
from resizefix.input_sizes.refusal import FOLLOW, KEEP, asked
from resizefix.input_sizes.scalar_use import EVERY_FORM, MixedUse, ScalarUse, is_written, reading
from resizefix.shapes.expression import Dim
from resizefix.shapes.operand import attribute_of

_SCALING, _SHIFTING = frozenset({"Mul", "Div"}), frozenset({"Add", "Sub", "Sum"})
_MATRICES = frozenset({"MatMul", "Gemm", "Einsum"})
_AXES = 3  # of a volume
_OF_TABLES = ("whole", "half", "reciprocal", "two over")
_BESIDE = {"Gemm": ("alpha", "beta"), "Pad": ("value",)}
"""Numbers of a node that it would read as an operand, were it a Mul or Add."""
_OF_THEIR_OWN = (0.0, 0.5, 1.0, -1.0, 255.0, 114.0)  # the last: the grey that detectors are padded with
_LONGEST = 8
_WRITTEN_PARTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)  # 23/11 is a quotient of sizes
_LARGEST = 4  # rows and columns of a matrix of points
_SMALLEST = 4


def unread_numbers(flow: Flow, found: dict[Place, ScalarUse | MixedUse]) -> None:
    """Add to `found`, the numbers whose formula is known, the sides of a volume that the user lets follow. Raises
    SizeRefusedError for these, for quotients of sizes, and for a matrix that moves points."""
    _refuse_uniform_tables(flow)
    _refuse_beside_operands(flow)
    _refuse_steps_of_fixed(flow)
    sides = [str(side.data) for side in flow.sizes.sides]
    quotients = {name: set(_quotients(flow, name)) for name in sides}
    sizes = {size for dims in flow.dims.values() for dim in dims or () for size in _sizes_of(flow, dim)}
    for index, node in enumerate(flow.nodes):
        label = flow.labels[index]
        if flow.keeps(label) or not any(map(flow.is_read, node.output)):
            continue
        moves = any(map(flow.is_moving, node.input))
        for position, name in enumerate(node.input):
            place = Place(index, position)
            operands = flow.operands  # of which a large one is not read
            is_short = operands.is_constant(name) and math.prod(operands.shape_of(name)) <= _LARGEST**2
            array = operands.array(name) if is_short else None
            if array is None or array.dtype.kind != "f" or place in found:
                continue
            readings = {KEEP: against(KEEP)}
            volume = _volume_use(flow, node, array) if moves and node.op_type in _SCALING | _SHIFTING else None
            if volume is not None and flow.choices.of(label) == FOLLOW:
                found[place] = volume
                continue
            if volume is not None:
                code, readings = "origins.input-size-numbers", {name: against(name) for name in (KEEP, FOLLOW)}
            elif node.op_type in _MATRICES and _moves_points(array, sizes) and _meets_map(flow, index, position):
                code = "origins.input-size-matrix"
            elif moves and node.op_type in _SCALING and position and _are_quotients(array, quotients):
                code = "origins.input-size-quotients"
            else:
                continue
            raise asked(label, array.ravel().tolist(), code, readings, numbers=array.ravel().tolist())


def _refuse_uniform_tables(flow: Flow) -> None:
    """Raises SizeRefusedError for a table of one number that is a size of its own axes, or one over it."""
    for place, table in flow.operands.tables.items():
        label = flow.labels[place.node]
        moving = [dim for dim in map(flow.sizes.resolve, table.dims) if flow.sizes.varies(dim)]
        array = flow.operands.array(table.name) if moving and not flow.keeps(label) else None
        if array is None or array.dtype.kind != "f" or np.any(array != array.flat[0]):
            continue
        number = array.reshape(-1)[:1]
        for dim, form, less in product([*moving, flow.sizes.product(moving)] if moving else [], _OF_TABLES, (0, 1)):
            large = (dim.old or 0) > _SMALLEST and flow.sizes.stride(dim) != number[0]
            if large and reading(dim, less, form, number) is not None:
                value = number[0].item()
                raise asked(label, value, "origins.input-size-number", {KEEP: against(KEEP)}, value=value)


def _refuse_beside_operands(flow: Flow) -> None:
    """Raises SizeRefusedError for a factor of a Gemm, or what a Pad fills with, that a formula makes of a size."""
    sizes = flow.moving_sizes()
    sizes |= {flow.sizes.product(pair) for pair in product(sizes, repeat=2)}
    for index, node in enumerate(flow.nodes):
        label, names = flow.labels[index], _BESIDE.get(node.op_type, ())
        if flow.keeps(label) or not any(map(flow.is_moving, node.input)):
            continue
        numbers = [attribute_of(node, name) for name in names]
        name = node.input[2] if node.op_type == "Pad" and len(node.input) > 2 else ""
        filled = flow.operands.array(name) if name and flow.operands.is_constant(name) else None
        numbers += [] if filled is None or filled.size != 1 else [filled.item()]
        for number in numbers:
            array = np.array([0 if number is None else number], np.float32)
            if array[0] in _OF_THEIR_OWN or not np.isfinite(array[0]):
                continue
            for dim, form, less in product(sizes, EVERY_FORM, (0, 1)):
                if (dim.old or 0) > _SMALLEST and reading(dim, less, form, array) is not None:
                    raise asked(label, number, "origins.input-size-number", {KEEP: against(KEEP)}, value=number)


def _refuse_steps_of_fixed(flow: Flow) -> None:
    """Raises SizeRefusedError for a table on a map of fixed size, whose steps are as many pixels of the image as one
    sample is."""
    steps = {
        (length, whole.old // length)
        for use in flow.resizes
        for _, before, after in use.axes
        for whole in flow.sizes.sides
        if (length := flow.sizes.fixed(after)) and whole.old and flow.sizes.follows(before, str(whole.data))
    }
    for index, node in enumerate(flow.nodes if steps else ()):
        label = flow.labels[index]
        if node.op_type not in _SHIFTING | _SCALING | {"Concat"} or flow.keeps(label):
            continue
        for name in node.input:
            operands = flow.operands
            shape = operands.shape_of(name) if name and operands.is_constant(name) else ()
            axes = [axis for axis, length in enumerate(shape) if any(length == one for one, _ in steps)]
            array = operands.array(name) if axes and math.prod(shape) <= MOST_IN_A_TABLE else None
            for axis in axes if array is not None and array.dtype.kind in "fi" else ():
                step = np.unique(np.diff(np.asarray(array), axis=axis))
                if step.size == 1 and abs(step[0]) > 1 and (shape[axis], int(abs(step[0]))) in steps:
                    shown = float(step[0])
                    readings = {KEEP: against(KEEP)}
                    raise asked(label, shown, "origins.input-size-ramp-step", readings, step=shown)


def _volume_use(flow: Flow, node: NodeProto, array: Array) -> ScalarUse | None:
    """The depth, height and width of a map, or half of them, in one list; None for another list."""
    if array.size != _AXES:
        return None
    for name in (*node.input, *node.output):
        sides = (flow.dims.get(name) or ())[-_AXES:]
        if len(sides) < _AXES or not any(map(flow.sizes.varies, sides)) or None in [side.old for side in sides]:
            continue
        for order, less, form in product((sides, sides[::-1]), (0, 1), ("whole", "half", "reciprocal", "two over")):
            use = ScalarUse(tuple(order), less, form, array)
            if min(side.old or 0 for side in sides) > less and np.array_equal(
                use.make(lambda dim: dim.old or 0), array
            ):
                return use
    return None


def _sizes_of(flow: Flow, dim: Dim) -> Iterator[float]:
    """A size that follows the input, and its half; both also of one less."""
    old = dim.old or 0
    if old > 2 * _SMALLEST and flow.sizes.varies(dim):
        yield from (old, old - 1, old / 2, (old - 1) / 2)


def _quotients(flow: Flow, name: str) -> Iterator[float]:
    """Of each two sizes of maps along a side, one of which follows it: the quotient, and that of both less one."""
    moving: set[int] = set()
    held: set[int] = set()
    for dims in flow.dims.values():
        moving |= {dim.old or 0 for dim in dims or () if flow.sizes.varies(dim) and flow.sizes.follows(dim, name)}
    for use in flow.resizes:
        held |= {flow.sizes.fixed(after) or 0 for _, before, after in use.axes if flow.sizes.varies(before)}
    for one, other in product(moving | held, repeat=2):
        apart = one != other or one in held
        if apart and {one, other} & moving and min(one, other) > _SMALLEST:
            yield from (one / other, (one - 1) / (other - 1))


def _are_quotients(array: Array, quotients: dict[str, set[float]]) -> bool:
    """Whether each number of a list, of the width and of the height in turn, is a quotient, or a single one that nobody
    writes; numbers of a side that stays may be any."""
    numbers = array.ravel()
    in_turn = numbers.size == 1 or (
        numbers.size % 2 == 0 and np.array_equal(np.resize(numbers[:2], numbers.size), numbers)
    )
    uniform = len(set(numbers.tolist())) == 1
    if numbers.size > _LONGEST or not in_turn or (uniform and is_written(array, _WRITTEN_PARTS)):
        return False
    kind = array.dtype.type
    sides = [{kind(one) for one in quotients[name]} if name in quotients else None for name in ("width", "height")]
    turns = [[side] for side in sides if side] if array.size == 1 else [sides, sides[::-1]]
    for turn in turns:
        of_each = [turn[place % len(turn)] for place in range(array.size)]
        fits = [side is None or number in side for number, side in zip(array.flat, of_each, strict=True)]
        if all(fits) and any(side is not None for side in of_each):
            return True
    return False


def _moves_points(array: Array, sizes: Container[float]) -> bool:
    """Whether a matrix has a last row or column of 0 and one 1, as one that moves points, and numbers that nobody
    writes, or that are sizes or half of them; or whether all that it has beside the diagonal is 0."""
    rows = array.shape[-2:]
    if array.ndim < 2 or max(rows) > _LARGEST or min(rows) < 2 or array.size != rows[0] * rows[1]:
        return False
    matrix = np.abs(array.reshape(rows))
    ends = any(np.count_nonzero(line) == 1 and line.max() == 1 for line in (matrix[-1], matrix[:, -1]))
    numbers = [number for number in matrix.ravel() if number not in (0, 1)]
    of_sizes = [float(number) in sizes for number in numbers]
    if rows[0] == rows[1] and np.array_equal(matrix, np.diag(matrix.diagonal())):
        return bool(of_sizes) and all(of_sizes)
    doubtful = any(of_sizes) or not all(is_written(np.array([number])) for number in numbers)
    return bool(max(rows) > 2 and ends and doubtful and np.count_nonzero(matrix == 0) > rows[0] - 2)


def _meets_map(flow: Flow, index: int, position: int) -> bool:
    """Whether another operand has a row or column for each position."""
    for place, name in enumerate(flow.nodes[index].input):
        dims = flow.dims_of(Place(index, place), name) if name and place != position else None
        if any(map(flow.sizes.varies, dims or ())):
            return True
    return False
