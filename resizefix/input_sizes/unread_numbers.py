"""Numbers of which no formula of one size is known, and that sizes made all the same: they are asked for.

Quotients of two sizes of a side, as of two levels of a pyramid or of a map and a resize to a size of its own; matrices
that move points, as those of a camera; and what positions are divided by.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from fractions import Fraction
from itertools import product

import numpy as np
from onnx import NodeProto

from resizefix.document.values import Array
from resizefix.input_sizes.conventions import against
from resizefix.input_sizes.flow import Flow
from resizefix.input_sizes.operands import Place
from resizefix.input_sizes.refusal import KEEP, asked
from resizefix.input_sizes.scalar_use import USUAL, is_written
from resizefix.input_sizes.taints import Taint
from resizefix.shapes.expression import Dim

_SCALING = frozenset({"Mul", "Div"})
_LONGEST = 8
_LARGEST = 4  # rows and columns of a matrix of points
_SMALLEST = 4


def refuse_unread(flow: Flow, read: Container[Place]) -> None:
    """Raises SizeRefusedError for quotients of sizes, and for a matrix that moves points; `read`: numbers whose formula
    is known."""
    sides = [str(side.data) for side in flow.sizes.sides]
    quotients = {name: set(_quotients(flow, name)) for name in sides}
    sizes = {size for dims in flow.dims.values() for dim in dims or () for size in _sizes_of(flow, dim)}
    for index, node in enumerate(flow.nodes):
        label = flow.labels[index]
        if flow.keeps(label) or not any(map(flow.is_read, node.output)):
            continue
        moves = any(map(flow.is_moving, node.input))
        for position, name in enumerate(node.input):
            array = flow.operands.array(name) if name and flow.operands.is_constant(name) else None
            if array is None or array.dtype.kind != "f" or array.size > _LARGEST**2 or Place(index, position) in read:
                continue
            if (
                node.op_type == "MatMul"
                and _moves_points(array, sizes)
                and _meets_map(flow, node, Place(index, 1 - position))
            ):
                code = "origins.input-size-matrix"
            elif moves and node.op_type in _SCALING and position and _are_quotients(array, quotients):
                code = "origins.input-size-quotients"
            else:
                continue
            raise asked(label, array.ravel().tolist(), code, {KEEP: against(KEEP)}, numbers=array.ravel().tolist())


def _sizes_of(flow: Flow, dim: Dim) -> Iterator[float]:
    """A size that follows the input, and its half; both also of one less."""
    old = dim.old or 0
    if old > 2 * _SMALLEST and flow.sizes.varies(dim):
        yield from (old, old - 1, old / 2, (old - 1) / 2)


def divides_positions(flow: Flow, node: NodeProto, array: Array, taint: Taint) -> bool:
    """Whether a number makes shares of positions that stand by themselves, and is no usual factor or step."""
    number = abs(float(array.flat[0]))
    alone = taint.is_index or taint.channels is not None or not any(map(flow.is_moving, node.input))
    if node.op_type != "Div" or not taint.along or taint.is_mixed or not alone or number <= _SMALLEST:
        return False
    turns = Fraction(number / np.pi).limit_denominator(USUAL)
    is_angle = bool(np.isclose(float(turns) * np.pi, number, rtol=1e-6))
    is_power = float(np.log2(number)).is_integer()
    return not (is_angle or is_power or any(flow.sizes.stride(dim) == number for dim in taint.along))


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
    if numbers.size > _LONGEST or not in_turn or (uniform and is_written(array)):
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
    """Whether a matrix has a last row of 0 and one 1, as one that moves points, and numbers that nobody writes, or that
    are sizes or half of them."""
    rows = array.shape[-2:]
    if array.ndim < 2 or max(rows) > _LARGEST or rows[1] < 3 or array.size != rows[0] * rows[1]:
        return False
    matrix = np.abs(array.reshape(rows))
    ends = np.count_nonzero(matrix[-1]) == 1 and matrix[-1].max() == 1
    numbers = [number for number in matrix.ravel() if number]
    doubtful = any(float(number) in sizes or not is_written(np.array([number])) for number in numbers)
    return bool(ends and doubtful and np.count_nonzero(matrix == 0) > rows[0] - 2)


def _meets_map(flow: Flow, node: NodeProto, place: Place) -> bool:
    """Whether the other factor has a column for each position."""
    dims = flow.dims_of(place, node.input[place.position])
    return any(map(flow.sizes.varies, dims or ()))
