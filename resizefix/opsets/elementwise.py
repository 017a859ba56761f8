"""Operators whose older version says the same: newer ones take more types, nothing else. And casts, and powers."""

import numpy as np

from resizefix.opsets.site import Row, Site, keep
from resizefix.opsets.verdict import Blocked


def cast(site: Site) -> None:
    """saturate (19) and round_mode (24) speak of float8 types, which opset 8 does not take anyway."""
    site.copy_node(without=["saturate", "round_mode"])


def cast_like(site: Site) -> None:
    """CastLike came with opset 15; the type of its second input is known."""
    site.add("Cast", site.data, into=site.output(), to=site.elem_type(site.input(1)))


def power(site: Site) -> None:
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


def dropout(site: Site) -> None:
    """At inference the data itself. The mask, and training (12), have no older form that does nothing."""
    if site.output(1):
        raise Blocked("opsets.mask-is-used", "opsets.fix-eval-mode")
    if site.input(2):
        training = site.constant(site.input(2))
        if training is None or training.any():
            raise Blocked("opsets.training-mode-not-false", "opsets.fix-eval-mode")
    site.add("Identity", site.data, into=site.output())


def recurrent(site: Site) -> None:
    """layout (14) may put the batch first; before, time is first."""
    if site.attribute("layout", 0):
        raise Blocked("opsets.no-layout", "opsets.fix-transpose-states")
    site.copy_node(without=["layout"])


# (versions read, version written): operators. Sources: docs/Changelog.md; each version listed only adds types.
_MORE_TYPES: dict[tuple[tuple[int, ...], int], tuple[str, ...]] = {
    ((13,), 6): ("Abs", "Ceil", "Exp", "Floor", "Log", "Neg", "Reciprocal", "Sigmoid", "Sqrt", "Tanh"),
    ((22,), 7): ("Acos", "Asin", "Atan", "Cos", "Multinomial", "Sin", "Tan"),
    ((13, 14), 7): ("Add", "Div", "Mul", "Sub"),
    ((11, 22), 1): ("Conv",),
    ((22,), 6): ("Elu", "HardSigmoid", "InstanceNormalization", "Selu"),
    ((22,), 1): (
        "GlobalAveragePool", "GlobalMaxPool", "LpNormalization", "MaxRoiPool", "RandomNormal",
        "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Softplus", "Softsign",
    ),
    ((22,), 2): ("GlobalLpPool",),
    ((13,), 1): ("LRN",),
    ((16,), 6): ("LeakyRelu",),
    ((9, 13), 1): ("MatMul",),
    ((13,), 8): ("Mean", "Sum"),
    ((9, 16), 7): ("PRelu",),
    ((13, 14), 6): ("Relu",),
}  # fmt: skip

ROWS: tuple[Row, ...] = (
    *(Row(op_type, *versions, keep) for versions, op_types in _MORE_TYPES.items() for op_type in op_types),
    Row("Cast", (9, 13, 19, 21, 23, 24, 25), 6, cast),  # 9: strings (refused); 19: float8, saturate; 24: round_mode
    Row("CastLike", (15, 19, 21, 23, 24, 25), 0, cast_like),  # 15: new
    Row("Pow", (12, 13, 15), 7, power),  # 12: two types
    Row("Dropout", (10, 12, 13, 22), 7, dropout),  # 10: bool mask; 12: ratio and training_mode are inputs
    *(Row(op_type, (14, 22), 7, recurrent) for op_type in ("LSTM", "GRU", "RNN")),  # 14: layout
)
