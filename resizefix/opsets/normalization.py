"""Normalisations: batch statistics at inference only; the others from means, as the specification defines them."""

import numpy as np
from onnx import TensorProto

from resizefix.error_bound import ErrorBound
from resizefix.opsets.site import OpsetRow, OpsetSite
from resizefix.opsets.verdict import FIX_SHAPES, Blocked


def batch_normalization(site: OpsetSite) -> None:
    """At inference all versions compute the same; BatchNormalization-7 wants one type for all operands."""
    if site.attribute("training_mode", 0) or any(site.node.output[1:]):
        raise Blocked("opsets.in-training-mode", "opsets.fix-eval-mode")
    site.copy_node(outputs=[site.output()], without=["training_mode"])


def _computed_in(site: OpsetSite) -> tuple[str, int]:
    """The data in the type that statistics are computed in (stash_type: float32), and that type."""
    wide = site.attribute("stash_type", TensorProto.FLOAT)
    if site.elem_type(site.data) == TensorProto.DOUBLE:
        wide = TensorProto.DOUBLE
    return site.cast(site.data, wide), wide


def _affine(site: OpsetSite, value: str, scale: str, bias: str, wide: int) -> None:
    """value · scale + bias, in the type of the data"""
    narrow = value if site.elem_type(site.data) == wide else site.cast(value, site.elem_type(site.data))
    scaled = site.add("Mul", narrow, scale, into=None if bias else site.output())
    if bias:
        site.add("Add", scaled, bias, into=site.output())


def layer_normalization(site: OpsetSite) -> None:
    """(x - mean) / sqrt(mean((x - mean)²) + ε) over the axes from `axis` on, in float32"""
    axes = _trailing_axes(site)
    x, wide = _computed_in(site)
    mean = site.add("ReduceMean", x, into=site.output(1) or None, axes=axes, keepdims=1)
    centred = site.add("Sub", x, mean)
    deviation = _deviation(site, centred, axes)
    if site.output(2):
        site.add("Reciprocal", deviation, into=site.output(2))
    _affine(site, site.add("Div", centred, deviation), site.input(1), site.input(2), wide)


def rms_normalization(site: OpsetSite) -> None:
    """x / sqrt(mean(x²) + ε) over the axes from `axis` on, in float32"""
    axes = _trailing_axes(site)
    x, wide = _computed_in(site)
    _affine(site, site.add("Div", x, _deviation(site, x, axes)), site.input(1), "", wide)


def _trailing_axes(site: OpsetSite) -> list[int]:
    return list(range(site.axis(-1, site.data), site.rank(site.data)))


def _deviation(site: OpsetSite, x: str, axes: list[int]) -> str:
    """sqrt(mean(x²) + ε)"""
    mean_square = site.add("ReduceMean", site.add("Mul", x, x), axes=axes, keepdims=1)
    epsilon = site.scalar(site.attribute("epsilon", 1e-5), like=x)
    return site.add("Sqrt", site.add("Add", mean_square, epsilon))


def group_normalization(site: OpsetSite) -> None:
    """An InstanceNormalization over [N, groups, rest]; then scale and bias, per group (18) or per channel (21)."""
    dims = site.dims(site.data)
    if dims is None or dims[1] is None:
        raise Blocked("opsets.channels-unknown", FIX_SHAPES, data=site.data)
    groups = site.attribute("num_groups")
    x, wide = _computed_in(site)
    grouped = site.add("Reshape", x, site.value(np.array([0, groups, -1], np.int64), "grouped"))
    ones = site.value(np.ones(groups, site.dtype(x)), "ones")
    zeros = site.value(np.zeros(groups, site.dtype(x)), "zeros")
    epsilon = site.attribute("epsilon", 1e-5)
    normal = site.add("InstanceNormalization", grouped, ones, zeros, epsilon=epsilon)
    normal = site.add("Reshape", normal, site.add("Shape", site.data))
    trailing = list(range(1, len(dims) - 1))
    scale = _per_channel(site, site.input(1), dims[1], groups, trailing)
    bias = _per_channel(site, site.input(2), dims[1], groups, trailing)
    _affine(site, normal, scale, bias, wide)


def _per_channel(site: OpsetSite, name: str, channels: int, groups: int, trailing: list[int]) -> str:
    """A vector over the channels, with axes of size 1 behind it, so that it broadcasts over [N, C, …]."""
    if site.since_version < 21:
        owner = np.arange(channels, dtype=np.int64) // (channels // groups)
        name = site.add("Gather", name, site.value(owner, "groups"), axis=0)
    return site.add("Unsqueeze", name, axes=trailing) if trailing else name


def mean_variance_normalization(site: OpsetSite) -> None:
    """(x - E[x]) / (sqrt(E[x²] - E[x]²) + 1e-9), as the function body of MeanVarianceNormalization-9 says"""
    axes = site.nonnegative(site.attribute("axes", [0, 2, 3]), site.data)
    mean = site.add("ReduceMean", site.data, axes=axes, keepdims=1)
    of_squares = site.add("ReduceMean", site.add("Mul", site.data, site.data), axes=axes, keepdims=1)
    variance = site.add("Sub", of_squares, site.add("Mul", mean, mean))
    deviation = site.add("Add", site.add("Sqrt", variance), site.scalar(1e-9, like=site.data))
    site.add("Div", site.add("Sub", site.data, mean), deviation, into=site.output())


# Sources: docs/Changelog.md, the section of each version named. Bounds: tests/opsets/test_opsets_normalization.py.
_ROUNDED = ErrorBound(exact=False, bound=2e-6)
ROWS: tuple[OpsetRow, ...] = (
    # 9: no spatial; 14: training_mode; 15: three types
    OpsetRow("BatchNormalization", {9: batch_normalization, 14: batch_normalization}, (15,)),
    OpsetRow("LayerNormalization", {17: layer_normalization}, (), _ROUNDED),  # 17: new
    OpsetRow("RMSNormalization", {23: rms_normalization}, (), _ROUNDED),  # 23: new
    OpsetRow("GroupNormalization", {18: group_normalization, 21: group_normalization}, (), _ROUNDED),  # 18: new
    OpsetRow("MeanVarianceNormalization", {9: mean_variance_normalization}, (13,), _ROUNDED),  # 9: new
)
