"""Operators of single fields (pictures, signals, language, training), and those that read and write at computed
positions. Their first versions have no older form (table.ABSENT).
"""

from typing import Any

from resizefix.opsets.shapes_ops import from_the_front
from resizefix.opsets.site import OpsetRow, OpsetSite, only
from resizefix.opsets.verdict import OLDER_EXPORT, Blocked

_LATER = "opsets.no-attribute"


def grid_sample(site: OpsetSite) -> None:
    """Before 20 the modes have other names, and there are two spatial axes."""
    words = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}
    if site.rank(site.data) != 4:
        raise Blocked("opsets.samples-more-axes", OLDER_EXPORT)
    site.copy_node(mode=words[site.attribute("mode", "linear")])


def roi_align(site: OpsetSite) -> None:
    """Before 16 the regions are not shifted by half a pixel."""
    if site.attribute("coordinate_transformation_mode", "half_pixel") != "output_half_pixel":
        raise Blocked(_LATER, OLDER_EXPORT, name="coordinate_transformation_mode", since=16)
    site.copy_node(without=["coordinate_transformation_mode"])


def dft(site: OpsetSite) -> None:
    """Before 20 the axis is an attribute, from the front."""
    axis = int(site.constant_input(2, "axis").reshape(-1)[0]) if site.input(2) else -2
    inputs = [site.data, *([site.input(1)] if site.input(1) else [])]
    site.copy_node(inputs=inputs, axis=site.nonnegative([axis], site.data)[0])


def attention(site: OpsetSite) -> None:
    """nonpad_kv_seqlen came with 24."""
    if site.input(6):
        raise Blocked(_LATER, OLDER_EXPORT, name="nonpad_kv_seqlen", since=24)
    site.copy_node(inputs=site.node.input[:6])


def has_element(site: OpsetSite) -> None:
    """Before 18 the operand is there, and an optional."""
    if not site.data:
        raise Blocked(_LATER, OLDER_EXPORT, name="input", since=18)
    site.copy_node()


# Sources: docs/Changelog.md. Others: more types.
_HALVES: dict[tuple[int, ...], tuple[str, ...]] = {
    (22,): ("Acosh", "Asinh", "Atanh", "Bernoulli", "Cosh", "DeformConv", "Det", "Sinh"),
    (13,): ("SoftmaxCrossEntropyLoss",),
    (13, 22): ("NegativeLogLikelihoodLoss",),
    (24,): ("SplitToSequence",),
    (28,): ("BitShift", "Optional"),
    (18, 28): ("OptionalGetElement",),
}


def scatter(site: OpsetSite) -> None:
    """ScatterElements came with 11: before it is Scatter, with positions and axes from the front."""
    data, axis = site.data, site.axis(0, site.data)
    indices = from_the_front(site, data, site.input(1), axis)
    site.add("Scatter", data, indices, site.input(2), into=site.output(), axis=axis)


def sums_and_products(site: OpsetSite) -> None:
    """The reductions max and min came with 18."""
    if site.attribute("reduction", "none") in ("max", "min"):
        raise Blocked("opsets.no-attribute", OLDER_EXPORT, name="reduction", since=18)
    site.copy_node()


def axis_from_the_front(site: OpsetSite) -> None:
    """Compress: negative axes came with 11; without an axis the input is flattened."""
    axis = site.attribute("axis")
    attributes: dict[str, Any] = {} if axis is None else {"axis": site.nonnegative([axis], site.data)[0]}
    site.copy_node(**attributes)


def one_hot(site: OpsetSite) -> None:
    """OneHot-9 takes positions from the front alone, and of axes -1."""
    axis, positions = site.attribute("axis", -1), site.constant(site.input(0))
    if positions is None or (positions < 0).any():
        raise Blocked("opsets.positions-may-be-negative", "opsets.fix-positions-from-front")
    site.copy_node(axis=axis if axis == -1 else site.nonnegative([axis], site.data, added=1)[0])


# Sources: docs/Changelog.md, the section of each version named.
_REDUCTION = {16: only(reduction="none"), 18: sums_and_products}

ROWS: tuple[OpsetRow, ...] = (
    *(OpsetRow(op_type, {}, versions) for versions, op_types in _HALVES.items() for op_type in op_types),
    OpsetRow("GridSample", {20: grid_sample}, (22,)),
    OpsetRow("RoiAlign", {16: roi_align}, (22,)),
    OpsetRow("DFT", {20: dft}),
    OpsetRow("Attention", {24: attention, 25: only(left_window_size=-1, right_window_size=-1)}),
    OpsetRow("OptionalHasElement", {18: has_element}, (28,)),
    OpsetRow("ScatterElements", {11: scatter, **_REDUCTION}, (13,)),  # 11: new
    OpsetRow("ScatterND", _REDUCTION, (13,)),
    OpsetRow("GatherElements", {}, (13,)),
    OpsetRow("Compress", {11: axis_from_the_front}, (28,)),
    OpsetRow("OneHot", {11: one_hot}, (28,)),
    OpsetRow("NonMaxSuppression", {}, (11,)),  # 11: says that boxes must overlap by more than the threshold, as before
    *(OpsetRow(op_type, {}, (28,)) for op_type in ("ReverseSequence", "Unique")),
    *(OpsetRow(op_type, {}, (version,)) for op_type, version in (("NonZero", 13), ("CumSum", 14), ("EyeLike", 22))),
    OpsetRow("MaxUnpool", {}, (11, 22)),
)
