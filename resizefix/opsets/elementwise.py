"""Operators of single elements.

Activations that came after opset 8, from operators that were there, and those along one axis; casts and powers;
quantisation, whose versions say ever more of scales. Else newer versions take more types alone.
"""

import math
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from resizefix.opsets.site import OpsetRow, OpsetSite, only, without
from resizefix.opsets.verdict import OLDER_EXPORT, Blocked
from resizefix.outcome import ErrorBound


def cast_like(site: OpsetSite) -> None:
    """CastLike came with opset 15; the type of its second input is known."""
    site.add("Cast", site.data, into=site.output(), to=site.elem_type(site.input(1)))


def power(site: OpsetSite) -> None:
    """Pow-7 wants one type for both; an exponent of another type (12) is cast to the base's."""
    base, exponent = site.data, site.input(1)
    if site.elem_type(base) == site.elem_type(exponent):
        site.copy_node()
        return
    if site.dtype(base).kind != "f":
        raise Blocked("opsets.no-pow-of-type", "opsets.fix-cast-base", dtype=site.dtype(base))
    value = site.constant(exponent)
    if value is None:
        raise Blocked("opsets.pow-of-two-types", "opsets.fix-cast")
    if not (value.astype(site.dtype(base)).astype(np.float64) == value.astype(np.float64)).all():
        raise Blocked("opsets.exponent-is-rounded", "opsets.fix-cast", dtype=site.dtype(base))
    site.copy_node(inputs=[base, site.value(value.astype(site.dtype(base)), "exponent")])


def dropout(site: OpsetSite) -> None:
    """At inference the data itself. The mask, and training (12), have no older form that does nothing."""
    if site.output(1):
        raise Blocked("opsets.mask-is-used", "opsets.fix-eval-mode")
    if site.input(2):
        training = site.constant(site.input(2))
        if training is None or training.any():
            raise Blocked("opsets.training-mode-not-false", "opsets.fix-eval-mode")
    site.add("Identity", site.data, into=site.output())


def same_shape(site: OpsetSite) -> None:
    """Before 8 all operands have one shape (Max, Mean, Min, Sum)."""
    sizes = {site.static_dims(name) for name in site.node.input}
    if len(sizes) > 1:
        raise Blocked("opsets.no-broadcast", "opsets.fix-expand", operator=site.node.op_type)
    site.copy_node()


def recurrent(site: OpsetSite) -> None:
    """layout (14) may put the batch first; before, time is first."""
    if site.attribute("layout", 0):
        raise Blocked("opsets.no-layout", "opsets.fix-transpose-states")
    site.copy_node(without=["layout"])


# versions: operators that took more types there, and nothing else. Sources: docs/Changelog.md.
_MORE_TYPES: dict[tuple[int, ...], tuple[str, ...]] = {
    (13,): ("Abs", "Ceil", "Exp", "Floor", "LRN", "Log", "Neg", "Reciprocal", "Sigmoid", "Sqrt", "Tanh"),
    (22,): (
        "Acos", "Asin", "Atan", "Cos", "Elu", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "HardSigmoid",
        "InstanceNormalization", "LpNormalization", "MaxRoiPool", "Multinomial", "RandomNormal", "RandomNormalLike",
        "RandomUniform", "RandomUniformLike", "Selu", "Sin", "Softplus", "Softsign", "Tan",
    ),
    (13, 14): ("Add", "Div", "Mul", "Relu", "Sub"),
    (11, 22): ("Conv",),
    (16,): ("LeakyRelu",),
    (9, 13): ("MatMul",),
    (9, 16): ("PRelu",),
}  # fmt: skip
_OF_FLOAT8 = {19: without("saturate"), 24: without("round_mode")}  # which older versions do not take


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
    out = site.fresh("moved")
    site.copy_node(inputs=[moved], outputs=[out], axis=last)
    site.add("Transpose", out, into=site.output(), perm=order)


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
    total = site.value(np.float32(coefficients[-1]), "coefficient")
    for coefficient in coefficients[-2::-1]:
        term = site.value(np.float32(coefficient), "coefficient")
        total = site.add("Add", site.add("Mul", x, total), term)
    return total


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
    product = site.add("Mul", site.add("Mul", x, half), site.add("Add", gate, one))
    site.emit_output(product, site.elem_type(site.data))


# Sources: docs/Changelog.md, the section of each version named. Bounds: tests/opsets/test_opsets_activations.py.


_LATER = "opsets.no-attribute"


def of_one_scale(site: OpsetSite) -> None:
    """Before 13 one scale is for the whole tensor."""
    dims = site.dims(site.input(1))
    if dims is None or None in dims or math.prod(size or 0 for size in dims) != 1:
        raise Blocked("opsets.scale-of-axis", OLDER_EXPORT)
    site.copy_node(without=["axis"])


def without_blocks(site: OpsetSite) -> None:
    """Blocks, and the type of the result without a zero point, came with 21."""
    if site.attribute("block_size", 0):
        raise Blocked(_LATER, OLDER_EXPORT, name="block_size", since=21)
    wanted = site.attribute("output_dtype", 0)
    inputs = list(site.node.input)
    if wanted and not site.input(2) and wanted != TensorProto.UINT8:
        zero: Any = np.zeros(site.static_dims(site.input(1)), helper.tensor_dtype_to_np_dtype(wanted))
        inputs[2:] = [site.value(zero, "zero_point")]
    site.copy_node(inputs=inputs, without=["block_size", "output_dtype"])


def typed_by_scale(site: OpsetSite) -> None:
    """Before 23 the result of DequantizeLinear has the type of its scale."""
    wanted = site.attribute("output_dtype", 0)
    if wanted and wanted != site.elem_type(site.input(1)):
        raise Blocked(_LATER, OLDER_EXPORT, name="output_dtype", since=23)
    site.copy_node(without=["output_dtype"])


# Sources: docs/Changelog.md. Others: more types.
_BLOCKED = only(block_size=0)

MORE_TYPES: tuple[OpsetRow, ...] = (
    *(OpsetRow(op_type, {}, versions) for versions, op_types in _MORE_TYPES.items() for op_type in op_types),
    *(OpsetRow(op_type, {8: same_shape}, (13,)) for op_type in ("Mean", "Sum")),  # 8: broadcast
    OpsetRow("Cast", _OF_FLOAT8, (9, 13, 21, 23, 25, 28)),
    OpsetRow("CastLike", {15: cast_like, **_OF_FLOAT8}, (21, 23, 25)),  # 15: new
    OpsetRow("Pow", {12: power}, (13, 15)),  # 12: two types
    OpsetRow("Dropout", {10: dropout, 12: dropout}, (13, 22)),  # 10: bool mask; 12: ratio and training_mode are inputs
    *(OpsetRow(op_type, {14: recurrent}, (22,)) for op_type in ("LSTM", "GRU", "RNN")),  # 14: layout
)
"""Those whose newer versions take more types, and casts, powers and cells."""

ROWS: tuple[OpsetRow, ...] = (
    *MORE_TYPES,
    # 11: negative axis; 13: one axis, not all from there
    *(OpsetRow(name, {11: along_one_axis, 13: along_one_axis}) for name in ("Softmax", "LogSoftmax", "Hardmax")),
    OpsetRow("HardSwish", {14: hard_swish}, (22,)),  # 14: new
    OpsetRow("Mish", {18: mish}, (22,), ErrorBound(exact=False, bound=2e-7)),  # 18: new
    OpsetRow("Celu", {12: celu}, (28,), ErrorBound(exact=False, bound=2e-7)),  # 12: new
    OpsetRow("Swish", {24: swish}, (), ErrorBound(exact=False, bound=2e-7)),  # 24: new
    OpsetRow("Erf", {9: erf}, (13,), ErrorBound(exact=False, bound=6e-7)),  # 9: new
    OpsetRow("Gelu", {20: gelu}, (), ErrorBound(exact=False, bound=6e-7)),  # 20: new
    OpsetRow(
        "QuantizeLinear",
        {13: of_one_scale, 19: without("saturate"), 21: without_blocks, 23: only(precision=0)},
        (24, 25, 28),
    ),
    OpsetRow("DequantizeLinear", {13: of_one_scale, 21: _BLOCKED, 23: typed_by_scale}, (19, 24, 25, 28)),
    OpsetRow("QLinearMatMul", {}, (21,)),
)
