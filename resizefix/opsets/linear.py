"""Products: Gemm, ConvTranspose and the simple cases of Einsum."""

import numpy as np

from resizefix.opsets.site import OpsetRow, OpsetSite
from resizefix.opsets.verdict import OLDER_EXPORT, Blocked


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
    more = site.attribute("output_padding", [0] * len(kernel))
    total = [
        ((size or 0) - 1) * stride + (length - 1) * dilation + 1 + extra - out
        for size, stride, length, dilation, extra, out in zip(
            sizes[2:], strides, kernel, dilations, more, wanted, strict=True
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
    found = [*shared, *rows, *columns]
    product = site.add("MatMul", a, b, into=site.output() if found == list(result) else None)
    if found != list(result):
        site.add("Transpose", product, into=site.output(), perm=[found.index(label) for label in result])


def _ordered(site: OpsetSite, name: str, labels: str, wanted: list[str]) -> str:
    if list(labels) == wanted:
        return name
    return site.add("Transpose", name, perm=[labels.index(label) for label in wanted])


def _no_simple_einsum(equation: str) -> Blocked:
    return Blocked("opsets.no-einsum", OLDER_EXPORT, equation=equation)


# Sources: docs/Changelog.md, the section of each version named.
ROWS: tuple[OpsetRow, ...] = (
    OpsetRow("Gemm", {11: gemm}, (9, 13)),  # 9: integers (refused); 11: C is optional
    OpsetRow("ConvTranspose", {11: conv_transpose}, (22,)),  # 11: the text of auto_pad
    OpsetRow("Einsum", {12: einsum}, (28,)),  # 12: new
)
