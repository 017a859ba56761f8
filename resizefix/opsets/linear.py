"""Products (Gemm, ConvTranspose, the simple cases of Einsum), and normalisations: batch statistics at inference only,
the others from means, as the specification defines them.
"""

import numpy as np
from onnx import TensorProto

from resizefix.opsets.site import OpsetRow, OpsetSite
from resizefix.opsets.verdict import FIX_SHAPES, OLDER_EXPORT, Blocked
from resizefix.outcome import ErrorBound


def gemm(site: OpsetSite) -> None:
    """C may be left out since 11: then it is a zero that counts nothing."""
    if site.input(2):
        site.copy_node()
        return
    zero = site.value(np.zeros(1, site.dtype(site.data)), "zero")
    site.copy_node(inputs=[site.data, site.input(1), zero], beta=0.0)


def conv_transpose(site: OpsetSite) -> None:
    """auto_pad SAME_*: the text of version 1 puts an odd row of padding at the other end than that of 11, so padding is
    written out. It does not depend on the input: out = in · stride leaves (kernel - 1) · dilation + 1 - stride. An
    `output_shape` decides the amount alone, and auto_pad the end of its odd row."""
    how = site.attribute("auto_pad", "NOTSET")
    if site.attribute("output_shape"):
        pads = _pads_of_output_shape(site, longer_first=how != "SAME_UPPER")
        site.copy_node(without=["auto_pad", "output_shape"], pads=pads)
        return
    if how not in ("SAME_UPPER", "SAME_LOWER"):
        site.copy_node()
        return
    kernel = site.attribute("kernel_shape")
    if kernel is None:
        kernel = list(site.static_dims(site.input(1))[2:])
    ones = [1] * len(kernel)
    strides, dilations = site.attribute("strides", ones), site.attribute("dilations", ones)
    output_padding = site.attribute("output_padding", [0] * len(kernel))
    total = [
        (size - 1) * dilation + 1 - stride + extra
        for size, dilation, stride, extra in zip(kernel, dilations, strides, output_padding, strict=True)
    ]
    if min(total) < 0:
        raise Blocked("opsets.auto-pad-of-short-kernel", "opsets.fix-write-both-pads")
    shorter, longer = [amount // 2 for amount in total], [amount - amount // 2 for amount in total]
    pads = shorter + longer if how == "SAME_UPPER" else longer + shorter
    site.copy_node(without=["auto_pad"], pads=pads, kernel_shape=kernel)


def _pads_of_output_shape(site: OpsetSite, *, longer_first: bool) -> list[int]:
    """The padding that gives the sizes of `output_shape`: of an odd row, the longer half stands at the beginning unless
    auto_pad is SAME_UPPER, as onnxruntime reads version 11. Raises `Blocked` where sizes are open, or more than the
    node makes."""
    sizes = site.dims(site.data)
    shape = list(site.static_dims(site.input(1)))[2:]
    kernel = site.attribute("kernel_shape") or shape
    wanted = site.attribute("output_shape")
    if sizes is None or len(wanted) != len(kernel) or any(size is None for size in sizes[2:]):
        raise Blocked("opsets.output-shape-changed", "opsets.fix-write-pads")
    ones = [1] * len(kernel)
    strides, dilations = site.attribute("strides", ones), site.attribute("dilations", ones)
    extras = site.attribute("output_padding", [0] * len(kernel))
    total = [
        ((size or 0) - 1) * stride + (length - 1) * dilation + 1 + extra - out
        for size, stride, length, dilation, extra, out in zip(
            sizes[2:], strides, kernel, dilations, extras, wanted, strict=True
        )
    ]
    if min(total) < 0:
        raise Blocked("opsets.output-shape-too-large", "opsets.fix-write-pads")
    shorter, longer = [amount // 2 for amount in total], [amount - amount // 2 for amount in total]
    return longer + shorter if longer_first else shorter + longer


def einsum(site: OpsetSite) -> None:
    """One operand: a Transpose. Two: a MatMul, where one label is summed and one is the right side's own."""
    equation = site.attribute("equation").replace(" ", "")
    terms, arrow, result = equation.partition("->")
    operands = terms.split(",")
    if not arrow or "." in equation or any(len(set(term)) < len(term) for term in [*operands, result]):
        raise _no_simple_einsum(equation)
    if len(operands) == 1 and sorted(operands[0]) == sorted(result):
        site.add("Transpose", site.data, into=site.output(), perm=[operands[0].index(label) for label in result])
        return
    if len(operands) != 2:
        raise _no_simple_einsum(equation)
    left, right = operands
    shared = [label for label in left if label in right and label in result]
    summed = [label for label in left if label in right and label not in result]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]
    rows_fit = len(rows) == 1 or (rows and not shared)  # without shared labels MatMul takes any number of them
    if not rows_fit or not len(summed) == len(columns) == 1 or {*shared, *rows, *columns} != set(result):
        raise _no_simple_einsum(equation)
    a = _ordered(site, site.data, left, [*shared, *rows, *summed])
    b = _ordered(site, site.input(1), right, [*shared, *summed, *columns])
    order = [*shared, *rows, *columns]
    product = site.add("MatMul", a, b, into=site.output() if order == list(result) else None)
    if order != list(result):
        site.add("Transpose", product, into=site.output(), perm=[order.index(label) for label in result])


def _ordered(site: OpsetSite, name: str, labels: str, wanted: list[str]) -> str:
    if list(labels) == wanted:
        return name
    return site.add("Transpose", name, perm=[labels.index(label) for label in wanted])


def _no_simple_einsum(equation: str) -> Blocked:
    return Blocked("opsets.no-einsum", OLDER_EXPORT, equation=equation)


# Sources: docs/Changelog.md, the section of each version named.


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
    OpsetRow("Gemm", {11: gemm}, (9, 13)),  # 9: integers (refused); 11: C is optional
    OpsetRow("ConvTranspose", {11: conv_transpose}, (22,)),  # 11: the text of auto_pad
    OpsetRow("Einsum", {12: einsum}, (28,)),  # 12: new
    # 9: no spatial; 14: training_mode; 15: three types
    OpsetRow("BatchNormalization", {9: batch_normalization, 14: batch_normalization}, (15,)),
    OpsetRow("LayerNormalization", {17: layer_normalization}, (), _ROUNDED),  # 17: new
    OpsetRow("RMSNormalization", {23: rms_normalization}, (), _ROUNDED),  # 23: new
    OpsetRow("GroupNormalization", {18: group_normalization, 21: group_normalization}, (), _ROUNDED),  # 18: new
    OpsetRow("MeanVarianceNormalization", {9: mean_variance_normalization}, (13,), _ROUNDED),  # 9: new
)
