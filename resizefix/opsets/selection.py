"""Choosing between values: Where, and what can be said by it. Opset 8 has no Where.

Multiplying by 0 and 1 is exact for integers, not for floats: 0 · inf is NaN. So floats are chosen by their index, where
the shapes are fixed or the condition is a single value; or by Min and Max with infinities, where no NaN can occur.
"""

import math
from typing import Any

import numpy as np
from onnx import TensorProto

from resizefix.opsets.comparison import is_number, less
from resizefix.opsets.inference import Dims
from resizefix.opsets.site import Row, Site
from resizefix.opsets.verdict import EQUAL, FIX_SHAPES, Blocked

# A choice by index writes one int64 per element into the file; beyond this a model would grow by more than 32 MB.
_MOST_INDICES = 1 << 22


def select(site: Site, condition: str, yes: str, no: str, sizes: Dims | None, into: str = "") -> None:
    """`condition ? yes : no`, exactly, into the node's output or `into`. `sizes`: their common shape, if known."""
    kind, elem_type = site.dtype(yes), site.elem_type(yes)
    into = into or site.output()
    if kind == np.bool_:
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


def _masked(site: Site, condition: str, yes: str, no: str) -> tuple[str, str]:
    mask = site.add("Cast", condition, to=site.elem_type(yes))
    inverse = site.add("Sub", site.scalar(1, like=yes), mask)
    return site.add("Mul", mask, yes), site.add("Mul", inverse, no)


def _is_single(site: Site, condition: str, yes: str, no: str) -> bool:
    """Whether the condition is one value, and has no more axes than what it chooses from."""
    sizes, *others = (site.dims(name) for name in (condition, yes, no))
    ranks = [len(dims) for dims in others if dims is not None]
    return sizes is not None and all(size == 1 for size in sizes) and len(ranks) == 2 and len(sizes) <= max(ranks)


def _is_number(site: Site, name: str) -> bool:
    known = site.constant(name)
    return known is not None and not np.isnan(known.astype(np.float64)).any()


def _select_whole(site: Site, condition: str, yes: str, no: str, into: str | None = None) -> str:
    """One condition for all: stack both, take one."""
    full = site.add("Shape", site.add("Expand", yes, site.add("Shape", no)))
    both = [site.add("Unsqueeze", site.add("Expand", name, full), axes=[0]) for name in (no, yes)]
    stacked = site.add("Concat", *both, axis=0)
    scalar = site.value(np.zeros(0, np.int64), "scalar")
    index = site.add("Reshape", site.add("Cast", condition, to=TensorProto.INT64), scalar)
    return site.add("Gather", stacked, index, into=into, axis=0)


def _select_numbers(site: Site, condition: str, yes: str, no: str, into: str) -> None:
    """max(min(yes, m), min(no, -m)) with m = ±infinity"""
    sign = site.add("Cast", condition, to=site.elem_type(yes))
    two, one = site.scalar(2, like=yes), site.scalar(1, like=yes)
    signed = site.add("Sub", site.add("Mul", sign, two), one)
    limit = site.add("Mul", signed, site.scalar(math.inf, like=yes))
    chosen = site.add("Min", yes, limit)
    site.add("Max", chosen, site.add("Min", no, site.add("Neg", limit)), into=into)


def _select_by_index(site: Site, condition: str, yes: str, no: str, sizes: Dims | None, into: str) -> None:
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
    known = [dims for dims in shapes if dims is not None]
    if len(known) < len(shapes):
        return None
    rank = max(len(dims) for dims in known)
    sizes: list[int | None] = []
    for axis in range(-rank, 0):
        here = [dims[axis] for dims in known if len(dims) >= -axis]
        larger = [size for size in here if size is not None and size != 1]
        sizes.append(larger[0] if larger else (None if None in here else 1))
    return tuple(sizes)


def _where(site: Site) -> None:
    condition, yes, no = site.data, site.input(1), site.input(2)
    select(site, condition, yes, no, broadcast(*(site.dims(name) for name in (condition, yes, no))))
    if site.dtype(yes).kind == "f":
        site.error = EQUAL  # onnxruntime's own Where turns some negative zeros into positive ones


def _trilu(site: Site) -> None:
    """Upper or lower triangle: the rest is 0."""
    sizes = site.static_dims(site.data)
    offset = int(site.constant_input(1, "k").reshape(-1)[0]) if site.input(1) else 0
    kept = np.ones(sizes[-2:], np.bool_)
    mask = np.triu(kept, offset) if site.attribute("upper", 1) else np.tril(kept, offset)
    select(site, site.value(mask, "mask"), site.data, site.scalar(0, like=site.data), sizes)


def _thresholded_relu(site: Site) -> None:
    """x above alpha, else 0"""
    above = site.add("Greater", site.data, site.scalar(site.attribute("alpha", 1.0), like=site.data))
    select(site, above, site.data, site.scalar(0, like=site.data), site.dims(site.data))


def _shrink(site: Site) -> None:
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


def _extreme(site: Site) -> None:
    """Max-8 and Min-8 take floats. Small integers are exact in double; int64 are compared and chosen."""
    kind, elem_type = site.dtype(site.data), site.elem_type(site.data)
    if kind.kind == "f":
        site.copy_node()
    elif kind.kind in "iu" and kind.itemsize <= 4:
        doubles = [site.cast(name, TensorProto.DOUBLE) for name in site.node.input]
        found = site.add(site.node.op_type, *doubles)
        site.add("Cast", found, into=site.output(), to=elem_type)
    elif kind == np.int64:
        found = site.node.input[0]
        for name in site.node.input[1:]:
            found = _extreme_of_two(site, site.node.op_type, found, name)
        site.add("Identity", found, into=site.output())
    else:
        raise Blocked(
            "opsets.operator-takes-no-type", "opsets.fix-cast-common-type", operator=site.node.op_type, kind=kind
        )


def _extreme_of_two(site: Site, op_type: str, left: str, right: str) -> str:
    right_wins = less(site, left, right) if op_type == "Max" else less(site, right, left)
    return site.add("Add", *_masked(site, right_wins, right, left))


def _clip(site: Site) -> None:
    """Clip-6 keeps float32 bounds in attributes; bounds that are computed, or no float32, become Max and Min."""
    kind = site.dtype(site.data)
    if kind.kind != "f":
        _clip_integers(site, site.data, kind)
        return
    # Without a bound the type's own limit holds (Clip-11), and an infinity becomes the largest number.
    low, high = _bound(site, 1, np.finfo(kind).min, -math.inf), _bound(site, 2, np.finfo(kind).max, math.inf)
    if kind.itemsize <= 4 and low is not None and high is not None and low <= high:
        site.copy_node(inputs=[site.data], min=float(low), max=float(high))
        return
    raised = site.add("Max", site.data, _bound_name(site, 1, low, -math.inf))
    site.add("Min", raised, _bound_name(site, 2, high, math.inf), into=site.output())


def _bound(site: Site, position: int, limit: float, nothing: float) -> Any:
    """The bound at an input position: `limit` where none is given, None where it is computed at run time. A NaN binds
    nothing, not even infinities (onnxruntime)."""
    if not site.input(position):
        return limit
    known = site.constant(site.input(position))
    if known is None:
        return None
    value = known.reshape(-1)[0]
    return nothing if np.isnan(value) else value


def _bound_name(site: Site, position: int, value: Any, nothing: float) -> str:
    if value is not None:
        return site.scalar(value, like=site.data)
    given = site.input(position)
    return _select_whole(site, is_number(site, given), given, site.scalar(nothing, like=given))


def _clip_integers(site: Site, data: str, kind: np.dtype[Any]) -> None:
    """Small integers are exact in double; int64 are compared and chosen. A bound that is left out binds nothing."""
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
ROWS: tuple[Row, ...] = (
    Row("Where", (9, 16), 0, _where),  # 9: new
    Row("Trilu", (14,), 0, _trilu),  # 14: new
    Row("ThresholdedRelu", (10, 22), 0, _thresholded_relu),  # 10: new
    Row("Shrink", (9,), 0, _shrink),  # 9: new
    *(Row(op_type, (12, 13), 8, _extreme) for op_type in ("Max", "Min")),  # 12: integers
    Row("Clip", (11, 12, 13), 6, _clip),  # 11: bounds are inputs; 12: integers
)
