"""Activations that came after opset 8, from operators that were there; and those along one axis."""

import math

import numpy as np
from onnx import TensorProto

from resizefix.error_bound import ErrorBound
from resizefix.opsets.site import OpsetRow, OpsetSite
from resizefix.opsets.verdict import Blocked


def along_one_axis(site: OpsetSite) -> None:
    """Softmax, LogSoftmax, Hardmax: before 13 all axes from `axis` on are one. For the last axis that is the same."""
    if site.since_version < 13:
        site.copy_node(axis=site.axis(1, site.data))
        return
    rank = site.rank(site.data)
    axis, last = site.axis(-1, site.data), rank - 1
    if axis == last:
        site.copy_node(axis=last)
        return
    order = list(range(rank))
    order[axis], order[last] = last, axis
    moved = site.add("Transpose", site.data, perm=order)
    found = site.fresh("moved")
    site.copy_node(inputs=[moved], outputs=[found], axis=last)
    site.add("Transpose", found, into=site.output(), perm=order)


def hard_swish(site: OpsetSite) -> None:
    """x · max(0, min(1, x/6 + 0.5))"""
    gate = site.add("HardSigmoid", site.data, alpha=1 / 6, beta=0.5)
    site.add("Mul", site.data, gate, into=site.output())


def mish(site: OpsetSite) -> None:
    """x · tanh(log(1 + eˣ))"""
    site.add("Mul", site.data, site.add("Tanh", site.add("Softplus", site.data)), into=site.output())


def celu(site: OpsetSite) -> None:
    """max(0, x) + min(0, α·(exp(x/α) - 1))"""
    data, alpha = site.data, site.scalar(site.attribute("alpha", 1.0), like=site.data)
    below = site.add("Mul", site.add("Elu", site.add("Div", data, alpha), alpha=1.0), alpha)
    site.add("Add", site.add("Relu", data), site.add("Min", below, site.scalar(0, like=data)), into=site.output())


def swish(site: OpsetSite) -> None:
    """x · sigmoid(α·x)"""
    data, alpha = site.data, site.attribute("alpha", 1.0)
    inner = data if alpha == 1 else site.add("Mul", data, site.scalar(alpha, like=data))
    site.add("Mul", data, site.add("Sigmoid", inner), into=site.output())


# erf(x) = x·P(x²)/Q(x²) for |x| ≤ 3.95, where float32 has reached ±1: made for this file by iterated weighted least
# squares of the relative error; evaluated in float32 it differs from erf by at most 3.3e-7.
_ERF_LIMIT = 3.95
_ERF_SINCE = 9
_ERF_P = (
    1.1283791065216064, 0.19154803454875946, 0.05287514254450798, 0.003808061359450221, 0.0002846850547939539,
    2.0259210486983648e-06,
)  # fmt: skip
_ERF_Q = (
    1.0, 0.5030876994132996, 0.11455867439508438, 0.01505489181727171, 0.0011707005323842168, 3.78317927243188e-05,
)  # fmt: skip


def _erf_of(site: OpsetSite, data: str) -> str:
    if site.goal >= _ERF_SINCE:
        return site.add("Erf", data)
    x = site.add("Clip", data, min=-_ERF_LIMIT, max=_ERF_LIMIT)
    square = site.add("Mul", x, x)
    above = site.add("Mul", x, _polynomial(site, square, _ERF_P))
    return site.add("Clip", site.add("Div", above, _polynomial(site, square, _ERF_Q)), min=-1.0, max=1.0)


def _polynomial(site: OpsetSite, x: str, coefficients: tuple[float, ...]) -> str:
    found = site.value(np.float32(coefficients[-1]), "coefficient")
    for coefficient in coefficients[-2::-1]:
        term = site.value(np.float32(coefficient), "coefficient")
        found = site.add("Add", site.add("Mul", x, found), term)
    return found


def _in_float(site: OpsetSite, data: str) -> str:
    if site.dtype(data) not in (np.float32, np.float16):
        raise Blocked(
            "opsets.no-form-of-this-precision", "opsets.fix-float32", operator=site.node.op_type, dtype=site.dtype(data)
        )
    return site.cast(data, TensorProto.FLOAT)


def erf(site: OpsetSite) -> None:
    """Erf came with opset 9."""
    elem_type = site.elem_type(site.data)
    site.emit_output(_erf_of(site, _in_float(site, site.data)), elem_type)


def gelu(site: OpsetSite) -> None:
    """x/2 · (1 + erf(x/√2)), or with tanh(√(2/π)·(x + 0.044715·x³)) in place of erf"""
    x = _in_float(site, site.data)
    one, half = site.value(np.float32(1), "one"), site.value(np.float32(0.5), "half")
    if site.attribute("approximate", "none") == "tanh":
        cubed = site.add("Mul", site.add("Mul", site.add("Mul", x, x), x), site.value(np.float32(0.044715), "cubic"))
        inner = site.add("Mul", site.add("Add", x, cubed), site.value(np.float32(math.sqrt(2 / math.pi)), "slope"))
        gate = site.add("Tanh", inner)
    else:
        gate = _erf_of(site, site.add("Mul", x, site.value(np.float32(math.sqrt(0.5)), "slope")))
    found = site.add("Mul", site.add("Mul", x, half), site.add("Add", gate, one))
    site.emit_output(found, site.elem_type(site.data))


# Sources: docs/Changelog.md, the section of each version named. Bounds: tests/opsets/test_opsets_activations.py.
ROWS: tuple[OpsetRow, ...] = (
    # 11: negative axis; 13: one axis, not all from there
    *(OpsetRow(name, {11: along_one_axis, 13: along_one_axis}) for name in ("Softmax", "LogSoftmax", "Hardmax")),
    OpsetRow("HardSwish", {14: hard_swish}, (22,)),  # 14: new
    OpsetRow("Mish", {18: mish}, (22,), ErrorBound(exact=False, bound=2e-7)),  # 18: new
    OpsetRow("Celu", {12: celu}, (28,), ErrorBound(exact=False, bound=2e-7)),  # 12: new
    OpsetRow("Swish", {24: swish}, (), ErrorBound(exact=False, bound=2e-7)),  # 24: new
    OpsetRow("Erf", {9: erf}, (13,), ErrorBound(exact=False, bound=6e-7)),  # 9: new
    OpsetRow("Gelu", {20: gelu}, (), ErrorBound(exact=False, bound=6e-7)),  # 20: new
)
