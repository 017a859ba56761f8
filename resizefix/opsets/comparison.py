"""Comparisons: opset 8 orders floats only, and tests only int32, int64 and bool for equality. All here is exact."""

import numpy as np
from onnx import TensorProto

from resizefix.opsets.site import Row, Site
from resizefix.opsets.verdict import EQUAL, Blocked

_CAST_BEFORE = "opsets.fix-cast-common-type"


def less(site: Site, left: str, right: str, into: str | None = None) -> str:
    """left < right, for every type but uint64; broadcast. A NaN is never less."""
    kind = site.dtype(left)
    if kind.kind == "f":
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


def is_number(site: Site, name: str) -> str:
    """Whether a float is no NaN: a number is below 1 or above 0, a NaN neither."""
    below = site.add("Less", name, site.scalar(1, like=name))
    return site.add("Or", below, site.add("Greater", name, site.scalar(0, like=name)))


def _equal(site: Site) -> None:
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


def _ordered(site: Site) -> None:
    """Less-7 and Greater-7 take floats; left > right is right < left."""
    if site.node.op_type == "Greater" and site.dtype(site.data).kind == "f":
        site.copy_node()
    else:
        less(site, *_turned(site, "Greater"), into=site.output())


def _turned(site: Site, operator: str) -> tuple[str, str]:
    """The two operands, the second first where the node is of this operator."""
    left, right = site.node.input
    return (right, left) if site.node.op_type == operator else (left, right)


def _not_less(site: Site) -> None:
    """left ≥ right is not left < right, unless one is NaN; left ≤ right is not right < left."""
    left, right = _turned(site, "LessOrEqual")
    if site.dtype(left).kind != "f":
        site.add("Not", less(site, left, right), into=site.output())
        return
    numbers = site.add("And", is_number(site, left), is_number(site, right))
    site.add("And", numbers, site.add("Not", less(site, left, right)), into=site.output())


def _is_nan(site: Site) -> None:
    site.add("Not", is_number(site, site.data), into=site.output())


def _is_inf(site: Site) -> None:
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


def _sign(site: Site) -> None:
    """(0 < x) - (x < 0); of a NaN, that NaN: only there is max(sign, min(x, -1)) not the sign itself."""
    kind, zero = site.elem_type(site.data), site.scalar(0, like=site.data)
    above, below = less(site, zero, site.data), less(site, site.data, zero)
    positive, negative = site.add("Cast", above, to=kind), site.add("Cast", below, to=kind)
    if site.dtype(site.data).kind != "f":
        site.add("Sub", positive, negative, into=site.output())
        return
    lowest = site.add("Min", site.data, site.scalar(-1, like=site.data))
    site.add("Max", site.add("Sub", positive, negative), lowest, into=site.output())


def _round(site: Site) -> None:
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


def _mod(site: Site) -> None:
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


# Sources: docs/Changelog.md, the section of each version named.
ROWS: tuple[Row, ...] = (
    Row("Equal", (11, 13, 19), 7, _equal),  # 11: all numbers; 19: strings (refused)
    Row("Less", (9, 13), 7, _ordered),  # 9: all numbers
    Row("Greater", (9, 13), 7, _ordered),  # 9: all numbers
    Row("LessOrEqual", (12, 16), 0, _not_less),  # 12: new
    Row("GreaterOrEqual", (12, 16), 0, _not_less),  # 12: new
    Row("IsNaN", (9, 13, 20), 0, _is_nan),  # 9: new
    Row("IsInf", (10, 20), 0, _is_inf),  # 10: new
    Row("Sign", (9, 13), 0, _sign),  # 9: new
    Row("Round", (11, 22), 0, _round, EQUAL),  # 11: new
    Row("Mod", (10, 13), 0, _mod),  # 10: new
)
