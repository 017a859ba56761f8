"""Operators that slide a window: convolutions and pools, with the sizes that onnxruntime gives them.

Upsample and Resize: sizes that are numbers follow something, and so may a scale that was computed from them.
"""

import math
from collections.abc import Sequence
from operator import gt

import numpy as np

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.dialect import dialect_of
from resizefix.dialects.read import read
from resizefix.shapes.expression import Dim, Number
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.output_size import Windows, same_padding, windows
from resizefix.shapes.reading import COMPUTED, AttributeUse, DimList, NodeSizes, ResizeUse, UnknownRankError, axis_of


def _window(n: NodeSizes, dims: DimList, kernel: Sequence[int]) -> DimList:
    """floor((size + pads - extent) / stride) + 1 on each spatial axis."""
    count, window = len(kernel), windows(n.attribute, len(kernel))
    lengths: list[Dim] = []
    was_same = n.attribute("auto_pad", b"NOTSET") == b"NOTSET" and _was_same(n, dims, kernel, window)
    # Windows that skip elements, padded as the size wants it: onnxruntime refuses some.
    n.leave_to_runtime(window.is_same and any(map(gt, window.strides, kernel)))
    for axis, dim in enumerate(dims[2:]):
        extent, stride = window.extent(axis, kernel[axis]), window.strides[axis]
        before, after = window.pads[axis], window.pads[axis + count]
        if was_same:
            lengths.append(_same_padded(n, dim, axis, count, extent, stride))
        elif window.is_same:
            lengths.append(n.sizes.ceil_div(dim, stride))
        else:
            if before != after and n.producer == "pytorch":
                n.notes.uneven_windows.append((n.label, dim))  # a Pad that the exporter put into the window
            lengths.append(_slid(n, dim, before, after, extent, stride))
    n.leave_to_runtime(any(dim.old is not None and dim.old < 1 for dim in lengths))
    return tuple(lengths)


def _was_same(n: NodeSizes, dims: DimList, kernel: Sequence[int], spec: Windows) -> bool:
    """Whether the pads are those that "SAME" makes of the size here, which a converter wrote as numbers: more behind
    than before, or any in a file of tf2onnx. No other exporter pads a window unevenly."""
    count, pads = len(kernel), spec.pads
    if (
        not n.numbers_may_follow
        or all(stride == 1 for stride in spec.strides)
        or any(dim.old is None for dim in dims[2:])
    ):
        return False
    for axis, dim in enumerate(dims[2:]):
        total = max(same_padding(dim.old or 0, spec.strides[axis], spec.extent(axis, kernel[axis])), 0)
        if (pads[axis], pads[axis + count]) != (total // 2, total - total // 2):
            return False
    uneven = any(pads[axis] != pads[axis + count] for axis in range(count))
    return uneven or (n.producer == "tf2onnx" and any(pads))


def _same_padded(n: NodeSizes, dim: Dim, axis: int, count: int, extent: int, stride: int) -> Dim:
    """The size that "SAME" makes; the pads follow."""
    sizes = n.sizes
    length = sizes.ceil_div(dim, stride)
    reach = sizes.plus(sizes.product([length, n.const(stride)]), extent - stride)
    total = sizes.greatest(sizes.minus(reach, dim), n.const(0))
    before = sizes.floor_div(total, 2)
    n.notes.attributes[AttributeUse(n.index, "pads", axis)] = before
    n.notes.attributes[AttributeUse(n.index, "pads", axis + count)] = sizes.minus(total, before)
    return length


def _slid(n: NodeSizes, dim: Dim, before: int, after: int, extent: int, stride: int) -> Dim:
    sizes = n.sizes
    change = before + after - extent
    if not n.attribute("ceil_mode", 0):
        if stride == 1:
            return sizes.plus(dim, change + 1)
        return sizes.plus(sizes.floor_div(sizes.plus(dim, change), stride), 1)
    # A last window that begins in the padding behind the data is left out (onnxruntime, pool_attributes.h).
    rounded = sizes.plus(sizes.ceil_div(sizes.plus(dim, change), stride), 1)
    return sizes.least(rounded, sizes.ceil_div(sizes.plus(dim, before), stride))


def col2im(n: NodeSizes) -> list[DimList]:
    """Blocks put together to an image of the listed size: as many as slide over it."""
    dims, image, block = n.dims(0), n.listed(1), n.numbers(2) or []
    count, window = len(block), windows(n.attribute, len(block))
    slid = [
        _slid(n, size, window.pads[axis], window.pads[axis + count], window.extent(axis, length), window.strides[axis])
        for axis, (size, length) in enumerate(zip(image, block, strict=True))
    ]
    n.meet(dims[2], n.sizes.product(slid))
    return [(dims[0], n.const((dims[1].old or 0) // math.prod(block)), *image)]


def conv(n: NodeSizes) -> list[DimList]:
    """Conv and its relatives: the weight is input 1, or 3 of QLinearConv."""
    dims = n.dims(0)
    weight = n.weight_shape(3 if n.node.op_type == "QLinearConv" else 1)
    if weight is None or len(weight) != len(dims):
        raise UnknownRankError
    # FusedConv's fourth input is a sum that must have the output's sizes.
    is_plain = n.node.op_type != "FusedConv" or not n.has(3)
    n.leave_to_runtime(not is_plain or dims[1].old != weight[1] * n.attribute("group", 1))
    n.require(dims[1], "origins.weights")
    return [(dims[0], n.const(weight[0]), *_window(n, dims, weight[2:]))]


def conv_transpose(n: NodeSizes) -> list[DimList]:
    """stride·(size - 1) + output_padding + extent - pads"""
    dims, weight = n.dims(0), n.weight_shape(1)
    if weight is None or len(weight) != len(dims):
        raise UnknownRankError
    count = len(dims) - 2
    n.require(dims[1], "origins.weights")
    wanted = n.listed_attribute("output_shape")
    window, extra = windows(n.attribute, count), n.attribute("output_padding", [0] * count)
    lengths: list[Dim] = []
    for axis, dim in enumerate(dims[2:]):
        scaled = n.sizes.product([dim, n.const(window.strides[axis])])
        padded = window.pads[axis] + window.pads[axis + count]
        change = window.extent(axis, weight[2 + axis]) - window.strides[axis]
        # "SAME" takes away what is more than stride times the size, and adds nothing where windows leave gaps.
        change = min(0, change) if window.is_same else change + extra[axis] - padded
        lengths.append(n.sizes.plus(scaled, change))
    if wanted is not None:
        lengths = _listed_lengths(n, lengths, wanted, window, any(extra))
    if len(set(extra)) > 1 and len(set(window.strides)) == 1:
        n.notes.padded_outputs.append((n.label, tuple(lengths)))
    return [(dims[0], n.const(weight[1] * n.attribute("group", 1)), *lengths)]


def _listed_lengths(n: NodeSizes, lengths: list[Dim], wanted: list[Dim], window: Windows, has_extra: bool) -> list[Dim]:
    """The sizes that are listed: those that no padding leaves, or so few more that no window begins there."""
    listed = wanted[-len(lengths) :]
    more = [(given.old or 0) - (size.old or 0) for given, size in zip(listed, lengths, strict=True)]
    if window.is_same or has_extra or any(window.pads) or not all(map(_is_below, more, window.strides)):
        raise n.refuse("origins.input-size-attribute", name="output_shape")  # the row does not know how it pads
    lengths = [n.sizes.plus(size, few) for size, few in zip(lengths, more, strict=True)]
    for given, size in zip(listed, lengths, strict=True):
        n.meet(given, size)
    return lengths


def _is_below(number: int, limit: int) -> bool:
    return 0 <= number < limit


def global_pool(n: NodeSizes) -> list[DimList]:
    """One sample is left on each spatial axis."""
    dims = n.dims(0)
    return [(*dims[:2], *(n.const(1) for _ in dims[2:]))]


def pool(n: NodeSizes) -> list[DimList]:
    """A window as large as the whole map takes all of it at any size; one that divides it may be an adaptive pool."""
    dims, kernel = n.dims(0), n.attribute("kernel_shape")
    n.leave_to_runtime(n.attribute("ceil_mode", 0))  # versions differ in whether a window in the padding counts
    sizes = list(_window(n, dims, kernel))
    count, moves = len(kernel), windows(n.attribute, len(kernel))
    strides, plain = moves.strides, not moves.is_same and set(moves.dilations) == {1}
    if not plain or not n.numbers_may_follow or all(n.sizes.fixed(size) is not None for size in dims[2:]):
        return [(*dims[:2], *sizes)] * len(n.node.output)
    if any(moves.pads):
        return [(*dims[:2], *(_padded_whole(n, dims, kernel, moves) or sizes))] * len(n.node.output)
    parts = [_part(size, length, step) for size, length, step in zip(dims[2:], kernel, strides, strict=True)]
    # The window of a step down was written, whatever its result meets.
    small = max(kernel) <= STEP_DOWN and (n.node.op_type not in _AVERAGING or "whole" not in parts)
    small = small and not _are_several(n)
    written = n.choice == "keep" or (small and max(kernel) == min(kernel) and n.choice is None)
    if "other" in parts or parts == ["each"] * count or written:
        if "other" not in parts and parts != ["each"] * count:
            n.notes.windows.append((n.label, tuple(sizes)))
        return [(*dims[:2], *sizes)] * len(n.node.output)
    if "whole" in parts:
        n.notes.whole_pools.append((n.label, tuple(kernel)))
    bins: list[Dim] = []
    for axis, (size, window, part) in enumerate(zip(dims[2:], sizes, parts, strict=True)):
        if part == "each" and "even" not in parts:
            bins.append(size)
            continue
        if part == "whole" and (kernel[axis] > STEP_DOWN or n.node.op_type in _AVERAGING):
            bins.append(n.const(1))
        else:
            bins.append(n.unknown(window.old or 1, [window, n.const(window.old or 1)]))
        n.notes.attributes[AttributeUse(n.index, "kernel_shape", axis)] = n.sizes.quotient(size, bins[-1])
        if strides[axis] == kernel[axis]:
            n.notes.attributes[AttributeUse(n.index, "strides", axis)] = n.sizes.quotient(size, bins[-1])
    if any(n.sizes.resolve(size).kind == "var" for size in bins):
        n.notes.pools.append((n.index, n.node.input[0], tuple(bins), tuple(sizes)))
    return [(*dims[:2], *bins)] * len(n.node.output)


def _padded_whole(n: NodeSizes, dims: DimList, kernel: list[int], moves: Windows) -> DimList | None:
    """What a window makes that takes a whole map with its padding, as Caffe rounded up; None for another window."""
    pads = [
        before + behind for before, behind in zip(moves.pads[: len(kernel)], moves.pads[len(kernel) :], strict=True)
    ]
    wholes = [n.sizes.plus(size, pad) for size, pad in zip(dims[2:], pads, strict=True)]
    takes_all = [whole.old for whole in wholes] == kernel and min(kernel) > STEP_DOWN
    takes_all = takes_all and not n.attribute("count_include_pad", 0)
    if n.choice == "keep" or not takes_all or any(2 * pad >= length for pad, length in zip(pads, kernel, strict=True)):
        return None
    n.notes.whole_pools.append((n.label, tuple(kernel)))
    for axis, whole in enumerate(wholes):
        n.notes.attributes[AttributeUse(n.index, "kernel_shape", axis)] = whole
    return tuple(n.const(1) for _ in kernel)


def _are_several(n: NodeSizes) -> bool:
    """Whether pools of several windows read one map, as those of a pyramid do."""
    pools = [node for node in n.readers(n.node.input[0]) if node.op_type == n.node.op_type]
    return len({tuple(attribute_of(node, "kernel_shape", ())) for node in pools}) > 1


STEP_DOWN = 3
"""A pool of so few samples is a step down of the network; a larger one that tiles its map may be an adaptive pool."""
_AVERAGING = ("AveragePool", "QLinearAveragePool")


def _part(size: Dim, kernel: int, stride: int) -> str:
    """What a window takes of an axis: each sample, the whole axis, an even part of it, or another part."""
    if kernel == stride == 1:
        return "each"
    if size.old == kernel:
        return "whole"
    return "even" if size.old is not None and stride == kernel and size.old % kernel == 0 else "other"


def resize(n: NodeSizes) -> list[DimList]:
    """The sizes that the operand gives, or those that scales make. Raises SizeRefusedError for an invalid node."""
    if not any(n.node.output[:1]):
        raise n.refuse("origins.input-size-resize-invalid", why=Diagnostic("operations.no-output"))
    try:
        read(n.node, dialect_of(n.node.op_type, n.opset))
    except RefusedError as error:
        raise n.refuse("origins.input-size-resize-invalid", why=error.diagnostic) from error
    dims = n.dims(0)
    given, rank = n.attribute("axes", range(len(dims))), len(dims)
    if not all(-rank <= axis < rank for axis in given):
        raise n.refuse("origins.input-size-resize-axes", axes=given, rank=rank)
    axes = [axis_of(axis, rank) for axis in given]
    if n.attribute("keep_aspect_ratio_policy", b"stretch") != b"stretch":
        raise n.refuse("origins.input-size-attribute", name="keep_aspect_ratio_policy")
    sizes_at = 3 if n.node.op_type == "Resize" and n.opset >= 11 else None
    if sizes_at is not None and n.has(sizes_at):
        return [_by_sizes(n, dims, axes, sizes_at)]
    if n.attribute("coordinate_transformation_mode") == b"tf_crop_and_resize":
        raise UnknownRankError  # the crop decides the sizes, too
    return [_by_scales(n, dims, axes)]


def _by_sizes(n: NodeSizes, dims: DimList, axes: list[int], position: int) -> DimList:
    resized = list(dims)
    moving: list[tuple[int, Dim, Dim]] = []
    listed = n.listed(position)
    if len(listed) != len(axes):
        raise n.refuse("origins.input-size-resize-numbers", numbers=len(listed), axes=len(axes))
    for axis, wanted in zip(axes, listed, strict=True):
        wanted = n.sizes.resolve(wanted)
        if wanted.kind == "var" and wanted.old == dims[axis].old and axis < len(dims) - 2:
            n.meet(wanted, dims[axis])
        elif wanted.kind == "var":
            moving.append((axis, dims[axis], wanted))
        resized[axis] = n.sizes.resolve(wanted)
    _note(n, position, False, moving, axes)
    return tuple(resized)


def _note(
    n: NodeSizes, position: int | None, is_scale: bool, moving: list[tuple[int, Dim, Dim]], axes: list[int]
) -> None:
    """Remember the node where some of its axes may follow the input."""
    if moving:
        n.notes.resizes.append(ResizeUse(n.index, n.label, position, is_scale, tuple(moving), tuple(axes)))


def _by_scales(n: NodeSizes, dims: DimList, axes: list[int]) -> DimList:
    position = None if n.attribute("scales") is not None else (2 if n.node.op_type == "Resize" and n.opset >= 11 else 1)
    given = np.array(n.attribute("scales")) if position is None else n.scales(position)
    if given is None:
        return _computed(n, dims, axes, position or 1)
    scales = given.astype(np.float32)
    if scales.size != len(axes):
        raise n.refuse("origins.input-size-resize-numbers", numbers=scales.size, axes=len(axes))
    if not np.all(np.isfinite(scales) & (scales > 0)):
        raise n.refuse("faults.scales-impossible", scales=scales.ravel().tolist())
    if position is not None and n.node.op_type == "Upsample" and scales.min(initial=1) < 1:
        raise n.misfit()  # it does not shrink, in onnxruntime
    resized = list(dims)
    moving: list[tuple[int, Dim, Dim]] = []
    for axis, scale in zip(axes, scales.ravel(), strict=True):
        dim = dims[axis]
        grown = n.sizes.scaled(dim, float(scale))
        # A plain factor of a size that follows the input was written as a factor, whatever its result meets; another
        # number can be the quotient of two sizes, and so can a factor of a fixed one.
        written = _is_plain(scale) and n.choice not in ("follow", "of-image")
        if n.numbers_may_follow and not n.sizes.sides and grown.old is not None:
            resized[axis] = n.const(grown.old) if n.sizes.fixed(dim) is not None else grown
            continue
        if scale == 1 or (n.sizes.varies(dim) and written) or grown.old is None:
            resized[axis] = n.sizes.product([dim, n.const(int(scale))]) if scale == np.floor(scale) else grown
            continue
        resized[axis] = n.unknown(grown.old, [grown])
        moving.append((axis, dim, resized[axis]))
    _note(n, position, True, moving, axes)
    return tuple(resized)


def _is_plain(scale: np.float32) -> bool:
    """A factor that somebody writes: whole, one over a whole number, or quarters."""
    return bool(4 * scale == np.floor(4 * scale) or 1 / scale == np.floor(1 / scale))


def _computed(n: NodeSizes, dims: DimList, axes: list[int], position: int) -> DimList:
    """Scales that the model computes: a size over the size that is resized makes that size."""
    elements = n.elements(position)
    if len(elements) != len(axes):
        raise UnknownRankError
    resized = list(dims)
    moving: list[tuple[int, Dim, Dim]] = []
    for axis, scale in zip(axes, elements, strict=True):
        dim = dims[axis]
        if isinstance(scale, Number):
            resized[axis] = n.sizes.scaled(dim, float(scale.value))
            continue
        resized[axis] = n.scaled_by(scale, dim)
        n.notes.quotients.append((n.label, dim, resized[axis]))
        if n.sizes.resolve(resized[axis]).kind == "var":
            moving.append((axis, dim, resized[axis]))
    _note(n, COMPUTED, False, moving, axes)
    return tuple(resized)


ROWS = {
    **dict.fromkeys(("Conv", "FusedConv", "ConvInteger", "QLinearConv"), conv),
    "ConvTranspose": conv_transpose,
    "Col2Im": col2im,
    **dict.fromkeys(("MaxPool", "LpPool", "AveragePool", "QLinearAveragePool"), pool),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "QLinearGlobalAveragePool"), global_pool),
    "Resize": resize,
    "Upsample": resize,
}
