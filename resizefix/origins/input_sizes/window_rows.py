"""Operators that slide a window: convolutions and pools, with the sizes that onnxruntime gives them."""

from __future__ import annotations

from collections.abc import Sequence

from resizefix.origins.input_sizes.dim import Dim
from resizefix.origins.input_sizes.node_reading import AttributeUse, DimList, NodeReading, UnknownRankError


def _window(n: NodeReading, dims: DimList, kernel: Sequence[int]) -> DimList:
    """floor((size + pads - extent) / stride) + 1 on each spatial axis."""
    count = len(kernel)
    strides, dilations = _steps(n, "strides", count), _steps(n, "dilations", count)
    auto_pad = n.attribute("auto_pad", b"NOTSET")
    pads = [0] * 2 * count if auto_pad == b"VALID" else n.attribute("pads", [0] * 2 * count)
    made: list[Dim] = []
    same = auto_pad == b"NOTSET" and _was_same(n, dims, kernel, strides, dilations, pads)
    for axis, dim in enumerate(dims[2:]):
        if same:
            extent = dilations[axis] * (kernel[axis] - 1) + 1
            made.append(_same_padded(n, dim, axis, count, extent, strides[axis]))
            continue
        if auto_pad in (b"SAME_UPPER", b"SAME_LOWER"):
            made.append(n.sizes.ceil_div(dim, strides[axis]))
            continue
        extent = dilations[axis] * (kernel[axis] - 1) + 1
        if pads[axis] != pads[axis + count] and n.flow.view.model.producer_name == "pytorch":
            n.flow.uneven_windows.append((n.label, dim))  # a Pad that the exporter put into the window
        made.append(_slid(n, dim, pads[axis], pads[axis + count], extent, strides[axis]))
    return tuple(made)


def _steps(n: NodeReading, name: str, count: int) -> Sequence[int]:
    """A number for each spatial axis, 1 where there are none: torch 1.4 leaves the strides of a pool empty."""
    return n.attribute(name) or [1] * count


def _was_same(
    n: NodeReading,
    dims: DimList,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
) -> bool:
    """Whether the pads are those that "SAME" makes of the size here, which a converter wrote as numbers: more behind
    than before, or any in a file of tf2onnx. No other exporter pads a window unevenly."""
    count = len(kernel)
    if all(stride == 1 for stride in strides) or any(dim.old is None for dim in dims[2:]):
        return False
    for axis, dim in enumerate(dims[2:]):
        size, stride = dim.old or 0, strides[axis]
        total = max((-(-size // stride) - 1) * stride + dilations[axis] * (kernel[axis] - 1) + 1 - size, 0)
        if (pads[axis], pads[axis + count]) != (total // 2, total - total // 2):
            return False
    uneven = any(pads[axis] != pads[axis + count] for axis in range(count))
    return uneven or (n.flow.view.model.producer_name == "tf2onnx" and any(pads))


def _same_padded(n: NodeReading, dim: Dim, axis: int, count: int, extent: int, stride: int) -> Dim:
    """The size that "SAME" makes; the pads follow."""
    sizes = n.sizes
    made = sizes.ceil_div(dim, stride)
    reach = sizes.plus(sizes.product([made, n.const(stride)]), extent - stride)
    total = sizes.greatest(sizes.minus(reach, dim), n.const(0))
    before = sizes.floor_div(total, 2)
    n.flow.attributes[AttributeUse(n.index, "pads", axis)] = before
    n.flow.attributes[AttributeUse(n.index, "pads", axis + count)] = sizes.minus(total, before)
    return made


def _slid(n: NodeReading, dim: Dim, before: int, after: int, extent: int, stride: int) -> Dim:
    sizes = n.sizes
    change = before + after - extent
    if not n.attribute("ceil_mode", 0):
        return (
            sizes.plus(sizes.floor_div(sizes.plus(dim, change), stride), 1)
            if stride != 1
            else sizes.plus(dim, change + 1)
        )
    # A last window that begins in the padding behind the data is left out (onnxruntime, pool_attributes.h).
    rounded = sizes.plus(sizes.ceil_div(sizes.plus(dim, change), stride), 1)
    return sizes.least(rounded, sizes.ceil_div(sizes.plus(dim, before), stride))


def conv(n: NodeReading) -> list[DimList]:
    """Conv and its relatives: the weight is input 1, or 3 of QLinearConv."""
    dims = n.dims(0)
    weight = n.weight_shape(3 if n.node.op_type == "QLinearConv" else 1)
    if weight is None or len(weight) != len(dims):
        raise UnknownRankError
    n.require(dims[1], "origins.weights")
    return [(dims[0], n.const(weight[0]), *_window(n, dims, weight[2:]))]


def conv_transpose(n: NodeReading) -> list[DimList]:
    """stride·(size - 1) + output_padding + extent - pads"""
    dims, weight = n.dims(0), n.weight_shape(1)
    if weight is None or len(weight) != len(dims):
        raise UnknownRankError
    count = len(dims) - 2
    n.require(dims[1], "origins.weights")
    if n.attribute("output_shape") is not None:
        raise n.refuse("origins.input-size-attribute", name="output_shape")
    strides, dilations = (n.attribute(name, [1] * count) for name in ("strides", "dilations"))
    extra, pads = n.attribute("output_padding", [0] * count), n.attribute("pads", [0] * 2 * count)
    same = n.attribute("auto_pad", b"NOTSET") in (b"SAME_UPPER", b"SAME_LOWER")
    made: list[Dim] = []
    for axis, dim in enumerate(dims[2:]):
        scaled = n.sizes.product([dim, n.const(strides[axis])])
        extent = dilations[axis] * (weight[2 + axis] - 1) + 1
        change = extra[axis] + extent - pads[axis] - pads[axis + count] - strides[axis]
        made.append(scaled if same else n.sizes.plus(scaled, change))
    if len(set(extra)) > 1 and len(set(strides)) == 1:
        n.flow.padded_outputs.append((n.label, tuple(made)))
    return [(dims[0], n.const(weight[1] * n.attribute("group", 1)), *made)]


def global_pool(n: NodeReading) -> list[DimList]:
    """One sample is left on each spatial axis."""
    dims = n.dims(0)
    return [(*dims[:2], *(n.const(1) for _ in dims[2:]))]


def pool(n: NodeReading) -> list[DimList]:
    """A window as large as the whole map takes all of it at any size; one that divides it may be an adaptive pool."""
    dims, kernel = n.dims(0), n.attribute("kernel_shape")
    made = list(_window(n, dims, kernel))
    count = len(kernel)
    strides = _steps(n, "strides", count)
    padded = any(n.attribute("pads", [0] * 2 * count))
    given = n.attribute("auto_pad", b"NOTSET") in (b"NOTSET", b"VALID")
    follows = any(n.sizes.fixed(size) is None for size in dims[2:])
    if padded or not given or not follows or any(step != 1 for step in n.attribute("dilations", [1])):
        return [(*dims[:2], *made)] * len(n.node.output)
    parts = [_part(size, length, step) for size, length, step in zip(dims[2:], kernel, strides, strict=True)]
    small = n.node.op_type in ("MaxPool", "LpPool") and max(kernel) <= _STEP_DOWN
    if "other" in parts or parts == ["each"] * count or (small and max(kernel) == min(kernel)):
        return [(*dims[:2], *made)] * len(n.node.output)
    bins: list[Dim] = []
    for axis, (size, window, part) in enumerate(zip(dims[2:], made, parts, strict=True)):
        if part == "each" and "even" not in parts:
            bins.append(size)
            continue
        if part == "whole" and (kernel[axis] > _STEP_DOWN or n.node.op_type in _AVERAGING):
            bins.append(n.const(1))
        else:
            bins.append(n.sizes.var(window.old or 1))
            n.solver.candidates[bins[-1]] = [window, n.const(window.old or 1)]
        n.flow.attributes[AttributeUse(n.index, "kernel_shape", axis)] = n.sizes.quotient(size, bins[-1])
        if strides[axis] == kernel[axis]:
            n.flow.attributes[AttributeUse(n.index, "strides", axis)] = n.sizes.quotient(size, bins[-1])
    if any(n.sizes.resolve(size).kind == "var" for size in bins):
        n.flow.pools.append((n.index, n.node.input[0], tuple(bins), tuple(made)))
    return [(*dims[:2], *bins)] * len(n.node.output)


_STEP_DOWN = 3  # a pool of so few samples is a step down of the network
_AVERAGING = ("AveragePool", "QLinearAveragePool")


def _part(size: Dim, kernel: int, stride: int) -> str:
    """What a window takes of an axis: each sample, the whole axis, an even part of it, or another part."""
    if kernel == stride == 1:
        return "each"
    if size.old == kernel:
        return "whole"
    return "even" if size.old is not None and stride == kernel and size.old % kernel == 0 else "other"


ROWS = {
    **dict.fromkeys(("Conv", "FusedConv", "ConvInteger", "QLinearConv"), conv),
    "ConvTranspose": conv_transpose,
    **dict.fromkeys(("MaxPool", "LpPool", "AveragePool", "QLinearAveragePool"), pool),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), global_pool),
    **dict.fromkeys(("QLinearGlobalAveragePool",), global_pool),
}
