"""Operators whose older version says the same: newer ones take more types, nothing else. And casts, and powers."""

import numpy as np

from resizefix.opsets.site import OpsetRow, OpsetSite, without
from resizefix.opsets.verdict import Blocked


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
    known = site.constant(exponent)
    if known is None:
        raise Blocked("opsets.pow-of-two-types", "opsets.fix-cast")
    if not (known.astype(site.dtype(base)).astype(np.float64) == known.astype(np.float64)).all():
        raise Blocked("opsets.exponent-is-rounded", "opsets.fix-cast", dtype=site.dtype(base))
    site.copy_node(inputs=[base, site.value(known.astype(site.dtype(base)), "exponent")])


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

ROWS: tuple[OpsetRow, ...] = (
    *(OpsetRow(op_type, {}, versions) for versions, op_types in _MORE_TYPES.items() for op_type in op_types),
    *(OpsetRow(op_type, {8: same_shape}, (13,)) for op_type in ("Mean", "Sum")),  # 8: broadcast
    OpsetRow("Cast", _OF_FLOAT8, (9, 13, 21, 23, 25, 28)),
    OpsetRow("CastLike", {15: cast_like, **_OF_FLOAT8}, (21, 23, 25)),  # 15: new
    OpsetRow("Pow", {12: power}, (13, 15)),  # 12: two types
    OpsetRow("Dropout", {10: dropout, 12: dropout}, (13, 22)),  # 10: bool mask; 12: ratio and training_mode are inputs
    *(OpsetRow(op_type, {14: recurrent}, (22,)) for op_type in ("LSTM", "GRU", "RNN")),  # 14: layout
)
