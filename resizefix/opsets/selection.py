"""Comparing, and choosing between values.

Opset 8 orders floats only, and tests only int32, int64 and bool for equality. It has no Where: multiplying by 0 and 1
is exact for integers, not for floats, for 0 · inf is NaN. So floats are chosen by their index, where the shapes are
fixed or the condition is a single value; or by Min and Max with infinities, where no NaN can occur.
"""

import math
from typing import Any

import numpy as np
from onnx import TensorProto

from resizefix.opsets.elementwise import same_shape
from resizefix.opsets.site import OpsetRow, OpsetSite
from resizefix.opsets.verdict import EQUAL, FIX_SHAPES, Blocked
from resizefix.shapes.inference import Dims

_CAST_BEFORE = "opsets.fix-cast-common-type"
_ALL_NUMBERS = 9  # Less-9 orders them, Where-9 chooses between them


def less(site: OpsetSite, left: str, right: str, into: str | None = None) -> str:
    """left < right, for every type but uint64; broadcast. A NaN is never less."""
    kind = site.dtype(left)
    if kind.kind == "f" or site.goal >= _ALL_NUMBERS:
        return site.add("Less", left, right, into=into)
    doubles = site.cast(left, TensorProto.DOUBLE), site.cast(right, TensorProto.DOUBLE)
    if kind.kind in "iub" and kind.itemsize <= 4:  # double holds them exactly
        return site.add("Less", *doubles, into=into)
    if kind != np.int64:
        raise Blocked("opsets.no-order-of-type", _CAST_BEFORE, kind=kind)
    # Rounding to double keeps the order, or makes two numbers equal; those are so near that their difference is exact.
    nearer = site.cast(site.add("Sub", left, right), TensorProto.DOUBLE)
    below = site.add("Less", nearer, site.value(np.float64(0), "zero"))
    not_greater = site.add("Not", site.add("Greater", *doubles))
    return site.add("Or", site.add("Less", *doubles), site.add("And", not_greater, below), into=into)


def is_number(site: OpsetSite, name: str) -> str:
    """Whether a float is no NaN: a number is below 1 or above 0, a NaN neither."""
    below = site.add("Less", name, site.scalar(1, like=name))
    return site.add("Or", below, site.add("Greater", name, site.scalar(0, like=name)))


def _equal(site: OpsetSite) -> None:
    """left == right, broadcast. A NaN equals nothing. Equal-7 takes bool, int32 and int64."""
    left, right = site.node.input
    kind = site.dtype(left)
    if kind.kind == "f":
        apart = site.add("Or", site.add("Less", left, right), site.add("Greater", left, right))
        numbers = site.add("And", is_number(site, left), is_number(site, right))
        site.add("And", numbers, site.add("Not", apart), into=site.output())
        return
    if kind.kind in "iu" and kind.itemsize <= 4:
        wide = TensorProto.INT64 if kind == np.uint32 else TensorProto.INT32
        left, right = site.cast(left, wide), site.cast(right, wide)
    site.add("Equal", left, right, into=site.output())


def _ordered(site: OpsetSite) -> None:
    """Less-7 and Greater-7 take floats; left > right is right < left."""
    if site.node.op_type == "Greater" and site.dtype(site.data).kind == "f":
        site.copy_node()
    else:
        less(site, *_turned(site, "Greater"), into=site.output())


def _turned(site: OpsetSite, operator: str) -> tuple[str, str]:
    """The two operands, the second first where the node is of this operator."""
    left, right = site.node.input
    return (right, left) if site.node.op_type == operator else (left, right)


def _not_less(site: OpsetSite) -> None:
    """left ≥ right is not left < right, unless one is NaN; left ≤ right is not right < left."""
    left, right = _turned(site, "LessOrEqual")
    if site.dtype(left).kind != "f":
        site.add("Not", less(site, left, right), into=site.output())
        return
    numbers = site.add("And", is_number(site, left), is_number(site, right))
    site.add("And", numbers, site.add("Not", less(site, left, right)), into=site.output())


def _is_nan(site: OpsetSite) -> None:
    site.add("Not", is_number(site, site.data), into=site.output())


def _is_inf(site: OpsetSite) -> None:
    """Beyond the largest finite number, on the sides asked for."""
    largest = float(np.finfo(site.dtype(site.data)).max)
    sides = []
    if site.attribute("detect_positive", 1):
        sides.append(site.add("Greater", site.data, site.scalar(largest, like=site.data)))
    if site.attribute("detect_negative", 1):
        sides.append(site.add("Less", site.data, site.scalar(-largest, like=site.data)))
    if not sides:
        raise Blocked("opsets.isinf-of-no-sign", "opsets.fix-leave-out")
    site.add("Or", sides[0], sides[-1], into=site.output())


def _is_inf_of_halves(site: OpsetSite) -> None:
    """IsInf-10 takes float and double; a cast of a half to float keeps infinities apart from numbers."""
    if site.dtype(site.data) in (np.float32, np.float64):
        site.copy_node()
    else:
        site.copy_node(inputs=[site.cast(site.data, TensorProto.FLOAT)])


def _sign(site: OpsetSite) -> None:
    """(0 < x) - (x < 0); of a NaN, that NaN: only there is max(sign, min(x, -1)) not the sign itself."""
    kind, zero = site.elem_type(site.data), site.scalar(0, like=site.data)
    above, below = less(site, zero, site.data), less(site, site.data, zero)
    positive, negative = site.add("Cast", above, to=kind), site.add("Cast", below, to=kind)
    if site.dtype(site.data).kind != "f":
        site.add("Sub", positive, negative, into=site.output())
        return
    lowest = site.add("Min", site.data, site.scalar(-1, like=site.data))
    site.add("Max", site.add("Sub", positive, negative), lowest, into=site.output())


def _round(site: OpsetSite) -> None:
    """Halves to even: the floor, and one more where the rest is above a half, or a half and the floor odd."""
    half = site.scalar(0.5, like=site.data)
    floor = site.add("Floor", site.data)
    rest = site.add("Sub", site.data, floor)
    halves = site.add("Floor", site.add("Mul", floor, half))
    parity = site.add("Sub", floor, site.add("Add", halves, halves))
    odd = site.add("Greater", parity, half)
    tie = site.add("Not", site.add("Less", rest, half))
    up = site.add("Or", site.add("Greater", rest, half), site.add("And", tie, odd))
    site.add("Add", floor, site.add("Cast", up, to=site.elem_type(site.data)), into=site.output())


def _mod_of_floats(site: OpsetSite) -> None:
    """Before 28 floats have fmod alone."""
    if site.dtype(site.data).kind == "f" and not site.attribute("fmod", 0):
        raise Blocked("opsets.no-mod-of-type", _CAST_BEFORE, dtype=site.dtype(site.data))
    site.copy_node()


def _mod(site: OpsetSite) -> None:
    """Integers alone: the rest of the division towards zero (fmod), moved to the divisor's sign (the default)."""
    left, right = site.data, site.input(1)
    if site.dtype(left) not in (np.int32, np.int64):
        raise Blocked("opsets.no-mod-of-type", _CAST_BEFORE, dtype=site.dtype(left))
    fmod = site.attribute("fmod", 0)
    quotient = site.add("Div", left, right)
    rest = site.add("Sub", left, site.add("Mul", quotient, right), into=site.output() if fmod else None)
    if fmod:
        return
    zero = site.scalar(0, like=left)
    other_sign = site.add("Xor", less(site, rest, zero), less(site, right, zero))
    moved = site.add("And", other_sign, site.add("Not", site.add("Equal", rest, zero)))
    shift = site.add("Mul", site.add("Cast", moved, to=site.elem_type(left)), right)
    site.add("Add", rest, shift, into=site.output())


# A choice by index writes one int64 per element into the file; beyond this a model would grow by more than 32 MB.
_MOST_INDICES = 1 << 22


def select(site: OpsetSite, condition: str, yes: str, no: str, sizes: Dims | None, into: str = "") -> None:
    """`condition ? yes : no`, exactly, into the node's output or `into`. `sizes`: their common shape, if known."""
    kind, elem_type = site.dtype(yes), site.elem_type(yes)
    into = into or site.output()
    if site.goal >= _ALL_NUMBERS:
        site.add("Where", condition, yes, no, into=into)
        if kind.kind == "f":
            site.error = EQUAL  # onnxruntime's Where turns some negative zeros into positive ones
    elif kind == np.bool_:
        chosen = site.add("And", condition, yes)
        site.add("Or", chosen, site.add("And", site.add("Not", condition), no), into=into)
    elif kind in (np.int32, np.int64):
        site.add("Add", *_masked(site, condition, yes, no), into=into)
    elif kind.kind in "iu" and kind.itemsize < 4:
        wide = site.cast(yes, TensorProto.INT32), site.cast(no, TensorProto.INT32)
        site.add("Cast", site.add("Add", *_masked(site, condition, *wide)), into=into, to=elem_type)
    elif _is_single(site, condition, yes, no):
        _select_whole(site, condition, yes, no, into)
    elif kind.kind == "f" and _is_number(site, yes) and _is_number(site, no):
        _select_numbers(site, condition, yes, no, into)
    else:
        _select_by_index(site, condition, yes, no, sizes, into)


def _masked(site: OpsetSite, condition: str, yes: str, no: str) -> tuple[str, str]:
    mask = site.add("Cast", condition, to=site.elem_type(yes))
    inverse = site.add("Sub", site.scalar(1, like=yes), mask)
    return site.add("Mul", mask, yes), site.add("Mul", inverse, no)


def _is_single(site: OpsetSite, condition: str, yes: str, no: str) -> bool:
    """Whether the condition is one value, and has no more axes than what it chooses from."""
    sizes, *others = (site.dims(name) for name in (condition, yes, no))
    ranks = [len(dims) for dims in others if dims is not None]
    return sizes is not None and all(size == 1 for size in sizes) and len(ranks) == 2 and len(sizes) <= max(ranks)


def _is_number(site: OpsetSite, name: str) -> bool:
    constant = site.constant(name)
    return constant is not None and not np.isnan(constant.astype(np.float64)).any()


def _select_whole(site: OpsetSite, condition: str, yes: str, no: str, into: str | None = None) -> str:
    """One condition for all: stack both, take one."""
    full = site.add("Shape", site.add("Expand", yes, site.add("Shape", no)))
    both = [site.add("Unsqueeze", site.add("Expand", name, full), axes=[0]) for name in (no, yes)]
    stacked = site.add("Concat", *both, axis=0)
    scalar = site.value(np.zeros(0, np.int64), "scalar")
    index = site.add("Reshape", site.add("Cast", condition, to=TensorProto.INT64), scalar)
    return site.add("Gather", stacked, index, into=into, axis=0)


def _select_numbers(site: OpsetSite, condition: str, yes: str, no: str, into: str) -> None:
    """max(min(yes, m), min(no, -m)) with m = ±infinity"""
    sign = site.add("Cast", condition, to=site.elem_type(yes))
    two, one = site.scalar(2, like=yes), site.scalar(1, like=yes)
    signed = site.add("Sub", site.add("Mul", sign, two), one)
    limit = site.add("Mul", signed, site.scalar(math.inf, like=yes))
    chosen = site.add("Min", yes, limit)
    site.add("Max", chosen, site.add("Min", no, site.add("Neg", limit)), into=into)


def _select_by_index(site: OpsetSite, condition: str, yes: str, no: str, sizes: Dims | None, into: str) -> None:
    """Both values flattened one after the other; the condition says which half to read each element from."""
    if sizes is None or None in sizes:
        raise Blocked("opsets.where-shape-unknown", FIX_SHAPES)
    fixed = np.array(sizes, np.int64)
    count = int(fixed.prod())
    if count > _MOST_INDICES:
        raise Blocked("opsets.where-too-large", FIX_SHAPES, count=count)
    full, flat = site.value(fixed, "shape"), site.value(np.array([-1], np.int64), "flat")
    halves = [site.add("Reshape", site.add("Expand", name, full), flat) for name in (no, yes)]
    both = site.add("Concat", *halves, axis=0)
    which = site.add("Reshape", site.add("Expand", site.add("Cast", condition, to=TensorProto.INT64), full), flat)
    offset = site.add("Mul", which, site.value(np.int64(count), "count"))
    index = site.add("Add", offset, site.value(np.arange(count, dtype=np.int64), "positions"))
    site.add("Reshape", site.add("Gather", both, index, axis=0), full, into=into)


def broadcast(*shapes: Dims | None) -> Dims | None:
    """The shape that several values take together; a dynamic size is taken to be any, and stays unknown."""
    known_shapes = [dims for dims in shapes if dims is not None]
    if len(known_shapes) < len(shapes):
        return None
    rank = max(len(dims) for dims in known_shapes)
    sizes: list[int | None] = []
    for axis in range(-rank, 0):
        here = [dims[axis] for dims in known_shapes if len(dims) >= -axis]
        larger = [size for size in here if size is not None and size != 1]
        sizes.append(larger[0] if larger else (None if None in here else 1))
    return tuple(sizes)


def _where(site: OpsetSite) -> None:
    condition, yes, no = site.data, site.input(1), site.input(2)
    select(site, condition, yes, no, broadcast(*(site.dims(name) for name in (condition, yes, no))))
    if site.dtype(yes).kind == "f":
        site.error = EQUAL  # onnxruntime's own Where turns some negative zeros into positive ones


def _trilu(site: OpsetSite) -> None:
    """Upper or lower triangle: the rest is 0."""
    sizes = site.static_dims(site.data)
    offset = int(site.constant_input(1, "k").reshape(-1)[0]) if site.input(1) else 0
    ones = np.ones(sizes[-2:], np.bool_)
    mask = np.triu(ones, offset) if site.attribute("upper", 1) else np.tril(ones, offset)
    select(site, site.value(mask, "mask"), site.data, site.scalar(0, like=site.data), sizes)


def _thresholded_relu(site: OpsetSite) -> None:
    """x above alpha, else 0"""
    above = site.add("Greater", site.data, site.scalar(site.attribute("alpha", 1.0), like=site.data))
    select(site, above, site.data, site.scalar(0, like=site.data), site.dims(site.data))


def _shrink(site: OpsetSite) -> None:
    """x + bias below -lambd, x - bias above lambd, else 0: two choices, of which the first keeps no name of its own"""
    data, bound, bias = site.data, site.attribute("lambd", 0.5), site.attribute("bias", 0.0)
    if site.dtype(data).kind != "f" or bound < 0:
        raise Blocked("opsets.no-shrink-of-type", "opsets.fix-floats")
    shift = site.scalar(bias, like=data)
    above = site.add("Greater", data, site.scalar(bound, like=data))
    below = site.add("Less", data, site.scalar(-bound, like=data))
    sizes = site.dims(data)
    inner = site.fresh("above")
    select(site, above, site.add("Sub", data, shift), site.scalar(0, like=data), sizes, into=inner)
    select(site, below, site.add("Add", data, shift), inner, sizes)


def _extreme(site: OpsetSite) -> None:
    """Max-8 and Min-8 take floats. Small integers are exact in double; int64 are compared and chosen."""
    kind, elem_type = site.dtype(site.data), site.elem_type(site.data)
    if kind.kind == "f":
        site.copy_node()
    elif kind.kind in "iu" and kind.itemsize <= 4:
        doubles = [site.cast(name, TensorProto.DOUBLE) for name in site.node.input]
        extreme = site.add(site.node.op_type, *doubles)
        site.add("Cast", extreme, into=site.output(), to=elem_type)
    elif kind == np.int64 or (kind == np.uint64 and site.goal >= _ALL_NUMBERS):
        extreme = site.node.input[0]
        for name in site.node.input[1:]:
            extreme = _extreme_of_two(site, site.node.op_type, extreme, name)
        site.add("Identity", extreme, into=site.output())
    else:
        raise Blocked(
            "opsets.operator-takes-no-type", "opsets.fix-cast-common-type", operator=site.node.op_type, kind=kind
        )


def _extreme_of_two(site: OpsetSite, op_type: str, left: str, right: str) -> str:
    right_wins = less(site, left, right) if op_type == "Max" else less(site, right, left)
    if site.goal >= _ALL_NUMBERS:
        return site.add("Where", right_wins, right, left)
    return site.add("Add", *_masked(site, right_wins, right, left))


def _clip(site: OpsetSite) -> None:
    """Clip-6 keeps float32 bounds in attributes; bounds that are computed, or no float32, become Max and Min."""
    kind = site.dtype(site.data)
    # Without a bound the type's own limit holds (Clip-11), and an infinity becomes the largest number.
    low, high = _bound(site, 1, np.finfo(kind).min, -math.inf), _bound(site, 2, np.finfo(kind).max, math.inf)
    if kind.itemsize <= 4 and low is not None and high is not None and low <= high:
        site.copy_node(inputs=[site.data], min=float(low), max=float(high))
        return
    raised = site.add("Max", site.data, _bound_name(site, 1, low, -math.inf))
    site.add("Min", raised, _bound_name(site, 2, high, math.inf), into=site.output())


def _bound(site: OpsetSite, position: int, limit: float, nothing: float) -> Any:
    """The bound at an input position: `limit` where none is given, None where it is computed at run time. A NaN binds
    nothing, not even infinities (onnxruntime)."""
    if not site.input(position):
        return limit
    constant = site.constant(site.input(position))
    if constant is None:
        return None
    value = constant.reshape(-1)[0]
    return nothing if np.isnan(value) else value


def _bound_name(site: OpsetSite, position: int, value: Any, nothing: float) -> str:
    if value is not None:
        return site.scalar(value, like=site.data)
    given = site.input(position)
    return _select_whole(site, is_number(site, given), given, site.scalar(nothing, like=given))


def _clip_integers(site: OpsetSite) -> None:
    """Clip-11 takes floats. Small integers are exact in double; int64 are compared and chosen. A bound that is left out
    binds nothing."""
    data, kind = site.data, site.dtype(site.data)
    if kind.kind == "f":
        site.copy_node()
        return
    if kind.kind not in "iu" or (kind.itemsize > 4 and kind != np.int64):
        raise Blocked("opsets.no-clip-of-type", "opsets.fix-cast-common-type", kind=kind)
    elem_type = site.elem_type(data)
    clipped = data if kind == np.int64 else site.cast(data, TensorProto.DOUBLE)
    for op_type, name in (("Max", site.input(1)), ("Min", site.input(2))):
        if name and kind == np.int64:
            clipped = _extreme_of_two(site, op_type, clipped, name)
        elif name:
            clipped = site.add(op_type, clipped, site.cast(name, TensorProto.DOUBLE))
    site.emit_output(clipped, elem_type)


# Sources: docs/Changelog.md, the section of each version named.
ROWS: tuple[OpsetRow, ...] = (
    OpsetRow("Equal", {11: _equal}, (13, 19)),  # 11: all numbers; 19: strings (refused)
    *(OpsetRow(op_type, {9: _ordered}, (13,)) for op_type in ("Less", "Greater")),  # 9: all numbers
    *(OpsetRow(op_type, {12: _not_less}, (16,)) for op_type in ("LessOrEqual", "GreaterOrEqual")),  # 12: new
    OpsetRow("IsNaN", {9: _is_nan}, (13, 20)),  # 9: new
    OpsetRow("IsInf", {10: _is_inf, 20: _is_inf_of_halves}),  # 10: new; 20: halves
    OpsetRow("Sign", {9: _sign}, (13,)),  # 9: new
    OpsetRow("Round", {11: _round}, (22,), EQUAL),  # 11: new
    OpsetRow("Mod", {10: _mod, 28: _mod_of_floats}, (13,)),  # 10: new; 28: floats towards the divisor's sign
    OpsetRow("Where", {9: _where}, (16,)),  # 9: new
    OpsetRow("Trilu", {14: _trilu}),  # 14: new
    OpsetRow("ThresholdedRelu", {10: _thresholded_relu}, (22,)),  # 10: new
    OpsetRow("Shrink", {9: _shrink}),  # 9: new
    *(
        OpsetRow(op_type, {8: same_shape, 12: _extreme}, (13,)) for op_type in ("Max", "Min")
    ),  # 8: broadcast; 12: integers
    OpsetRow("Clip", {11: _clip, 12: _clip_integers}, (13,)),  # 11: bounds are inputs; 12: integers
)
