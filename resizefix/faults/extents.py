"""Scales and sizes that are missing, impossible, or do not fit the stored shapes.

The witness is the file itself: the shapes that it stores are those of the export.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import NodeEdit
from resizefix.document.text import numbers_text
from resizefix.document.values import Array, dims_of
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.operators import integers, left_out, sizes_of_input
from resizefix.faults.output_sizes import met_sizes
from resizefix.faults.resize_node import Operand, ResizeNode
from resizefix.faults.types import stored_pair
from resizefix.shapes.output_size import inference_length, kernel_length, sampled_scale

NO_EXTENT = "no-extent"
SHORT_EXTENT = "short-extent"
PLACEHOLDER = "placeholder-size"
UNIT_SCALE = "unit-scale"
FROZEN_BATCH = "frozen-batch"
IDENTITY = "identity"
IMPOSSIBLE = "impossible-extent"
LOST_PIXEL = "lost-pixel"

_FEW_PIXELS = 1 << 22  # one more of fewer changes a quotient of lengths by more than a float32 is rounded
_LONGEST = 1 << 31
_NEARLY_ONE = 1e-3  # farther than a 16-bit or fixed-point format moves 1
_ONE_IN_8_BITS = 8e-3  # farther than 8 bits move 1; read as 1 only where a stored shape says so


def no_extent(node: ResizeNode, preferences: Preferences) -> Fault | None:
    """Neither scales nor sizes hold a value."""
    if node.node.op_type != "Resize" or node.opset < 11:
        return None
    if node.extents != (None, None) or (set(node.operands) == {1} and not node.operands[1].is_empty):
        return None
    because = Diagnostic("faults.no-extent")
    out = _stored_sizes(node)
    if out is None:
        return Fault(NO_EXTENT, because, Diagnostic("faults.no-stored-output"))
    if preferences.extent != "sizes" and not _sizes_are_scales(node, out):
        return Fault(NO_EXTENT, because, _two_readings(node, out))
    return Fault(NO_EXTENT, because, Diagnostic("faults.sizes-of-stored"), _with_sizes(node, out))


def _stored_sizes(node: ResizeNode) -> list[int] | None:
    """The output's stored sizes, if X and the output are of fixed sizes."""
    dims, stored = node.input_dims, node.stored_dims
    if dims is None or stored is None or len(dims) != len(stored) or "axes" in node.attributes:
        return None
    numbers = [size for size in stored if isinstance(size, int) and size > 0]
    fixed = all(isinstance(size, int) for size in dims)
    return numbers if fixed and len(numbers) == len(stored) else None


def _sizes_are_scales(node: ResizeNode, out: Sequence[int]) -> bool:
    """Whether the sizes and the scale that they may stand for sample alike: 9 → 4 is 4/9 as sizes and ½ as a scale.

    A whole multiple, or a whole part, is read as that factor; with align_corners the scale is not read at all.
    """
    if node.attributes.get("coordinate_transformation_mode") == "align_corners":
        return True
    pairs = zip(_lengths(node), out, strict=True)
    return all(before > 0 and (after % before == 0 or before % after == 0) for before, after in pairs)


def _two_readings(node: ResizeNode, out: Sequence[int]) -> Diagnostic:
    return Diagnostic("faults.sizes-or-scale", before=_lengths(node), after=list(out))


def _lengths(node: ResizeNode) -> list[int]:
    return [size for size in node.input_dims or () if isinstance(size, int)]


def _with_sizes(node: ResizeNode, out: Sequence[int]) -> NodeEdit:
    sizes = integers(node, "sizes", *out)
    name, initializers = left_out(node)
    changed = node.rewritten(inputs=[node.x, name, name, sizes.name])
    return NodeEdit(changed, initializers=[sizes, *initializers])


def short_extent(node: ResizeNode, _: Preferences) -> Fault | None:
    """A wrong number of scales or sizes, such as [2, 2] for the last two of four axes."""
    what, operand, count, wanted = _counted(node)
    if operand is None or count is None or wanted is None or count == wanted:
        return None
    axes = node.attributes.get("axes")
    because = Diagnostic("faults.count-of-extent", count=count, what=what, rank=wanted)
    if axes is not None:
        because = Diagnostic("faults.extent-and-axes", count=count, what=what, axes=list(axes))
    fault = Fault(SHORT_EXTENT, because, Diagnostic("faults.one-for-each-axis", what=what))
    if axes is not None or operand.value is None or count > wanted:
        return fault
    return (_short_sizes if what == "sizes" else _short_scales)(node, operand.value, fault)


def unknown_count(node: ResizeNode) -> Diagnostic | None:
    """What keeps the scales or sizes from being counted; None: they are, or there are none."""
    what, operand, count, wanted = _counted(node)
    if operand is None or (count is not None and wanted is not None):
        return None
    return Diagnostic("faults.rank-not-known" if wanted is None else "faults.count-not-known", what=what)


def _has_attribute(node: ResizeNode) -> bool:
    """Whether its scales are an attribute, as in Upsample-7."""
    return node.node.op_type == "Upsample" and "scales" in node.attributes and len(node.node.input) == 1


def _counted(node: ResizeNode) -> tuple[str, Operand | None, int | None, int | None]:
    """`scales` or `sizes`, that operand where the other one holds no value, how many numbers it has, and how many the
    node needs; None: not known, or it is no vector."""
    scales, sizes = node.extents
    if sizes is None and _has_attribute(node):
        value = np.asarray(node.attributes["scales"], np.float32)
        scales = Operand(0, "", value, TensorProto.FLOAT, value.shape, True)
    what, operand = ("scales", scales) if sizes is None else ("sizes", sizes if scales is None else None)
    axes = node.attributes.get("axes")
    dims = None if operand is None else operand.dims
    count = dims[0] if dims is not None and len(dims) == 1 and isinstance(dims[0], int) else None
    return what, operand, count, node.rank if axes is None else len(axes)


def _short_scales(node: ResizeNode, scales: Array, fault: Fault) -> Fault:
    full = np.concatenate([np.ones((node.rank or 0) - scales.size, np.float32), scales.astype(np.float32)])
    if node.input_dims is None or node.stored_dims is None or not _gives(full, node.input_dims, node.stored_dims):
        return fault._replace(fix=Diagnostic("faults.scales-of-which-axes", scales=numbers_text(full)))
    fix = Diagnostic("faults.scales-as-stored", scales=numbers_text(full))
    if _has_attribute(node):
        change = NodeEdit(node.rewritten(put={"scales": full.tolist()}), resized=True)
    else:
        change = node.with_constant(node.places["scales"], "scales", full, resized=True)
    return fault._replace(fix=fix, change=change)


def _short_sizes(node: ResizeNode, sizes: Array, fault: Fault) -> Fault:
    out = _stored_sizes(node)
    if out is None or [*(node.input_dims or ())[: -sizes.size], *sizes.tolist()] != out:
        return fault
    return fault._replace(fix=Diagnostic("faults.sizes-of-stored"), change=_with_sizes(node, out))


def made_length(scale: float, size: int) -> int | None:
    """What onnxruntime makes of a size; None where the scale is infinite or no number."""
    return kernel_length(scale, size) if np.isfinite(scale) else None


def _gives(scales: Array, dims: Sequence[Any], stored: Sequence[Any]) -> bool:
    if not len(scales) == len(dims) == len(stored):
        return False
    triples = [(s, n, out) for s, n, out in zip(scales, dims, stored, strict=True) if isinstance(out, int)]
    seen = [made_length(float(s), n) == out for s, n, out in triples if isinstance(n, int)]
    return all(seen) and any(s != 1 and isinstance(n, int) for s, n, _ in triples)


def impossible(node: ResizeNode, preferences: Preferences) -> Fault | None:
    """Scales or sizes at which nothing can be computed; 0 and -1 among sizes are how Reshape says "as it was"."""
    scales, sizes = node.extents
    if scales is not None and sizes is None and scales.value is not None and scales.value.dtype.kind == "f":
        if all(0 < scale < math.inf for scale in scales.value.ravel().tolist()):
            return None
        because = Diagnostic("faults.scales-impossible", scales=numbers_text(scales.value))
        out = _stored_sizes(node)
        if out is None or node.opset < 11:
            return Fault(IMPOSSIBLE, because, Diagnostic("faults.no-stored-meaning"))
        if preferences.extent != "sizes" and not _sizes_are_scales(node, out):
            return Fault(IMPOSSIBLE, because, _two_readings(node, out))
        return Fault(IMPOSSIBLE, because, Diagnostic("faults.sizes-instead"), _with_sizes(node, out))
    if sizes is None or sizes.value is None or scales is not None or np.all(sizes.value > 0):
        return None
    because = Diagnostic("faults.sizes-impossible", sizes=sizes.value.tolist())
    if not set(sizes.value[sizes.value <= 0].tolist()) <= {0, -1}:
        return Fault(IMPOSSIBLE, because, Diagnostic("faults.correct-sizes"))
    axes = [axis for axis, size in enumerate(sizes.value) if size <= 0]
    if "axes" in node.attributes or node.rank != len(sizes.value) or axes != list(range(len(axes))):
        return Fault(IMPOSSIBLE, because, Diagnostic("faults.kept-axes-unknown"))
    fix = Diagnostic("faults.sizes-as-in-reshape")
    return Fault(PLACEHOLDER, because, fix, _sizes_behind(node, len(axes), sizes.value))


def _sizes_behind(node: ResizeNode, count: int, sizes: Array) -> NodeEdit:
    """The first `count` sizes become those of X at run time, the others stay."""
    place = node.places["sizes"]
    if node.opset >= 18:
        tail = integers(node, "sizes", *sizes[count:].tolist())
        changed = node.with_input(place, tail.name)
        changed.attribute.append(helper.make_attribute("axes", list(range(count, len(sizes)))))
        return NodeEdit(changed, initializers=[tail], resized=True)
    return sizes_of_input(node, place, count, sizes[count:].tolist())


def nearly_one(node: ResizeNode, _: Preferences) -> Fault | None:
    """1.0000153 or 0.9999999 on an axis that keeps its size: onnxruntime refuses it, or loses a channel."""
    scales = node.scales_alone
    if scales is None or scales.dtype != np.float32:
        return None
    if not any(scale != 1 and abs(scale - 1) <= _ONE_IN_8_BITS for scale in scales.ravel().tolist()):
        return None
    value = scales.copy()
    axes = node.axes_of(len(value))
    if node.rank is None and "axes" not in node.attributes:  # in a local function: one scale for each axis
        axes = list(range(len(value)))
    for place, axis in enumerate(axes):
        if axis is not None and value[place] != 1 and _is_one(node, axis, float(value[place]), len(value)):
            value[place] = 1
    if np.array_equal(value, scales):
        return None
    because = Diagnostic("faults.nearly-one", scales=numbers_text(scales))
    fix = Diagnostic("faults.become", value=numbers_text(value))
    change = node.with_constant(node.places["scales"], "scales", value, resized=True)
    return Fault(UNIT_SCALE, because, fix, change, keeps_numbers=False)


def _is_one(node: ResizeNode, axis: int, scale: float, scales: int) -> bool:
    """Whether a scale is 1, rounded: nearly 1, or less nearly where the stored shapes contradict it."""
    if abs(scale - 1) <= _NEARLY_ONE:
        return _stays(node, axis, scales)
    size, out = stored_pair(node, axis)
    return abs(scale - 1) <= _ONE_IN_8_BITS and size is not None and size == out and made_length(scale, size) != out


def _stays(node: ResizeNode, axis: int, scales: int) -> bool:
    """Whether the file says that the axis keeps its size; batch and channels of an image do where it says nothing.

    Two names say nothing: exporters name the sizes of outputs anew.
    """
    if node.input_dims is not None and node.stored_dims is not None and axis < len(node.stored_dims):
        before, after = node.input_dims[axis], node.stored_dims[axis]
        if (isinstance(before, int) and isinstance(after, int)) or (before is not None and before == after):
            return before == after
    return axis < 2 and (node.rank or scales) > 2


def lost_pixel(node: ResizeNode, preferences: Preferences) -> Fault | None:
    """A float32 scale one pixel short of the stored size, or one that some runtimes round down (5 → 9 by 1.8).

    One that is float32(30/29), bit for bit, meant 30; where the exporter stored 29, as torch does up to opset 10, both
    readings are named.
    """
    scales = node.scales_alone
    if scales is None or scales.dtype != np.float32:
        return None
    given = scales.ravel().tolist()
    if scales.ndim != 1 or node.input_dims is None or not all(0 < scale < math.inf for scale in given):
        return None
    value = scales.copy()
    lost, is_moved, meets = False, False, None
    for place, axis in enumerate(node.axes_of(len(value))):
        size = None if axis is None or axis >= len(node.input_dims) else node.input_dims[axis]
        if not isinstance(size, int) or size < 1 or axis is None:
            continue
        scale = given[place]
        out = kernel_length(scale, size)
        if out >= _LONGEST:
            continue  # no runtime makes that
        if out == scale * size < _FEW_PIXELS:
            continue  # the product is whole, and no other length has a quotient next to this scale
        stored = node.stored_dims[axis] if node.stored_dims is not None and axis < len(node.stored_dims) else None
        wanted = stored if isinstance(stored, int) and stored == out + 1 else out
        # One pixel and no more: the scale must be the quotient of those sizes but for its last digits.
        is_short = not float(scale * size).is_integer() and abs(scale * size - out - 1) <= 1e-3 * (out + 1)
        if wanted == out and is_short:
            here = next((label for sizes, label in met_sizes(node) if sizes.get(axis) == out + 1), None)
            wanted, meets = out + (here is not None), meets or here
        if wanted == out and scale == sampled_scale(size, out + 1):
            if preferences.extent is None:
                return _two_lengths(scale, size, out)
            wanted = out + 1 if preferences.extent == "sizes" else out
        if wanted != out and not is_short:
            continue
        if wanted != out or inference_length(scale, size) != out:
            from resizefix.shapes.output_size import robust_scale  # most scales are whole

            better = robust_scale(size, wanted)
            if better is not None:
                value[place], is_moved = better, True
                lost = lost or wanted != out
    if not is_moved or np.array_equal(value, scales):
        return None
    old = numbers_text(scales)
    because = Diagnostic("faults.size-by-runtime", scales=old)
    if lost and preferences.extent == "sizes":
        because = Diagnostic("faults.short-of-quotients", scales=old)
    elif meets:
        because = Diagnostic("faults.short-of-met", scales=old, label=meets)
    elif lost:
        because = Diagnostic("faults.short-of-stored", scales=old, shape=list(node.stored_dims or ()))
    fix = Diagnostic("faults.size-in-every-runtime", scales=numbers_text(value))
    change = node.with_constant(node.places["scales"], "scales", value, resized=True)
    # A scale one unit in the last place higher moves the samples by as much.
    return Fault(LOST_PIXEL, because, fix, change, keeps_numbers=False)


def _two_lengths(scale: float, size: int, length: int) -> Fault:
    because = Diagnostic("faults.quotient-short", scale=scale, size=size, longer=length + 1)
    fix = Diagnostic("faults.prefer-length", longer=length + 1, made=length)
    return Fault(LOST_PIXEL, because, fix, keeps_numbers=False)


def frozen_batch(node: ResizeNode, _: Preferences) -> Fault | None:
    """Constant sizes that hold the batch of the export, in a model whose batch is free."""
    scales, sizes = node.extents
    if sizes is None or sizes.value is None or scales is not None or "axes" in node.attributes:
        return None
    dims, value = node.input_dims, sizes.value
    if dims is None or len(dims) != len(value) or not _is_free_batch(node, dims[0]) or value[0] < 1:
        return None
    policy = node.attributes.get("keep_aspect_ratio_policy", "stretch")  # torch's dynamo exporter writes every default
    if len(dims) < 3 or policy != "stretch" or not np.all(value > 0):
        return None
    # Channels that keep their size come along, so that the sizes of the image alone stay constant.
    count = 2 if isinstance(dims[1], int) and dims[1] == value[1] and len(dims) > 3 else 1
    because = Diagnostic("faults.batch-fixed", sizes=value.tolist(), batch=value[0], free=dims[0])
    fix = Diagnostic("faults.batch-of-input")
    return Fault(FROZEN_BATCH, because, fix, _sizes_behind(node, count, value), keeps_numbers=False)


def _is_free_batch(node: ResizeNode, size: int | str | None) -> bool:
    """Whether the size may be that of a batch which the file leaves open: it has the name of an input's first axis, or
    inference could not follow it, and the model is fed a batch."""
    fed = [dims_of(value.type) for value in node.view.model.graph.input]
    first = [dims[0] for dims in fed if dims and not isinstance(dims[0], int)]
    if not isinstance(size, str) or size in first:
        return isinstance(size, str)
    return any(len(dims) > 2 or dims is fed[0] for dims in fed if dims and not isinstance(dims[0], int))


def identity(node: ResizeNode, preferences: Preferences) -> Fault | None:
    """A resize by 1 on every axis, removed on request: an Identity takes its place."""
    scales = node.scales_alone
    if not preferences.remove_identity or scales is None or not np.all(scales == 1):
        return None
    changed = node.rewritten(op_type="Identity", inputs=[node.x], drop=set(node.attributes))
    return Fault(IDENTITY, Diagnostic("faults.identity"), Diagnostic("faults.identity-instead"), NodeEdit(changed))
