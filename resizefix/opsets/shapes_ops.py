"""Operators that move data or ask for sizes: what newer opsets feed as inputs goes back into attributes."""

import math
from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.text import counted
from resizefix.opsets.site import OpsetRow, OpsetSite, only
from resizefix.opsets.verdict import FIX_SHAPES, MAKE_CONSTANT, Blocked
from resizefix.outcome import ErrorBound
from resizefix.shapes.moving_values import slice_positions

_TO_THE_END = (1 << 31) - 1  # INT_MAX: "slicing to the end of a dimension with unknown size" (Slice-1)


def axes_as_attribute(site: OpsetSite) -> None:
    """Squeeze and Unsqueeze: an input since 13; without any, all axes of size 1 go."""
    axes = site.ints("axes", 1)
    attributes: dict[str, Any] = {"axes": axes} if axes else {}
    site.copy_node(inputs=[site.data], **attributes)


def axes_from_the_front(site: OpsetSite) -> None:
    """Squeeze and Unsqueeze: negative axes came with 11."""
    axes = site.attribute("axes") or []
    added = len(axes) if site.node.op_type == "Unsqueeze" else 0
    attributes: dict[str, Any] = {"axes": site.nonnegative(axes, site.data, added)} if axes else {}
    site.copy_node(**attributes)


def axis_from_the_front(site: OpsetSite) -> None:
    """Concat, Split and others: negative axes came with opset 11."""
    axis = site.attribute("axis")
    if axis is None or axis >= 0:
        site.copy_node()
    else:
        site.copy_node(axis=site.nonnegative([axis], site.data)[0])


def flatten(site: OpsetSite) -> None:
    """Flatten-1 takes floats only; other types are reshaped."""
    axis = site.axis(1, site.data)
    if site.dtype(site.data).kind == "f":
        site.copy_node(axis=axis)
        return
    outer = 1 if axis == 0 else 0  # in a Reshape, 0 copies the first size of the input
    if axis > 1:
        outer = math.prod(site.static_dims(site.data)[:axis])
    site.add("Reshape", site.data, site.value(np.array([outer, -1], np.int64), "shape"), into=site.output())


def reshape(site: OpsetSite) -> None:
    """allowzero (14) lets a 0 in the shape mean the size 0; before, it copies the input's size. For a tensor that has
    elements a 0 under allowzero is an error, so the two differ for empty tensors alone."""
    if site.attribute("allowzero", 0):
        wanted = site.constant(site.input(1))
        if wanted is not None and (wanted == 0).any():
            raise Blocked("opsets.allowzero-makes-empty", "opsets.fix-no-empty-tensor")
        if wanted is None:
            site.error = _UNLESS_EMPTY
    site.copy_node(without=["allowzero"])


def shape(site: OpsetSite) -> None:
    """start and end (15) slice the list of sizes; both clamp in the same way."""
    start, end = site.attribute("start", 0), site.attribute("end")
    if start == 0 and end is None:
        site.copy_node(without=["start"])
        return
    sizes = site.add("Shape", site.data)
    end = _TO_THE_END if end is None else end
    site.add("Slice", sizes, into=site.output(), axes=[0], starts=[start], ends=[end])


def slice_from_the_front(site: OpsetSite) -> None:
    """Negative axes came with 11; the other operands may be computed."""
    axes = site.ints("axes", 3)
    if axes is None or min(axes, default=0) >= 0:
        site.copy_node()
        return
    front = site.value(site.nonnegative(axes, site.data), "axes", np.int64)
    starts, ends = (site.cast(site.input(place), TensorProto.INT64) for place in (1, 2))
    steps = [site.cast(site.input(4), TensorProto.INT64)] if site.input(4) else []
    site.copy_node(inputs=[site.data, starts, ends, front, *steps])


def slice_(site: OpsetSite) -> None:
    """Slice-1 takes attributes and no steps: a step is a Gather of the positions, where the size is fixed."""
    data = site.data
    starts = [int(start) for start in site.constant_input(1, "starts").reshape(-1)]
    ends = [int(end) for end in site.constant_input(2, "ends").reshape(-1)]
    count = len(starts)
    axes = site.ints("axes", 3)
    axes = list(range(count)) if axes is None else site.nonnegative(axes, data)
    steps = site.ints("steps", 4) or [1] * count
    plain = [place for place in range(count) if steps[place] == 1]
    strided = [place for place in range(count) if steps[place] != 1]
    sizes = [_size(site, data, axes[place]) for place in strided]  # asked first: a blocker leaves nothing half done
    if plain or not strided:
        site.copy_node(
            inputs=[data],
            outputs=[site.fresh("contiguous") if strided else site.output()],
            axes=[axes[place] for place in plain],
            starts=[starts[place] for place in plain],
            ends=[ends[place] for place in plain],
        )
        data = site.nodes[-1].output[0]
    for place, size in zip(strided, sizes, strict=True):
        positions = slice_positions(starts[place], ends[place], steps[place], size)
        chosen = site.value(np.array(positions, np.int64), "positions")
        into = site.output() if place == strided[-1] else None
        data = site.add("Gather", data, chosen, into=into, axis=axes[place])


def _size(site: OpsetSite, data: str, axis: int) -> int:
    size = site.size(data, axis)
    if size is None:
        raise Blocked("opsets.steps-of-unknown-size", FIX_SHAPES, axis=axis, data=data)
    return size


def pad_without_wrap(site: OpsetSite) -> None:
    """The mode `wrap` came with 19."""
    mode = site.attribute("mode", "constant")
    if mode not in ("constant", "reflect", "edge"):
        raise Blocked("opsets.no-pad-mode", "opsets.fix-pad-otherwise", mode=mode)
    site.copy_node()


def pad_of_all_axes(site: OpsetSite) -> None:
    """Before 18 there are pads for every axis."""
    if not site.input(3):
        site.copy_node(inputs=site.node.input[:3])
        return
    pads = _pads_of_all_axes(site, site.data, [int(amount) for amount in site.constant_input(1, "pads").reshape(-1)])
    value = [site.input(2)] if site.input(2) else []
    site.copy_node(inputs=[site.data, site.value(pads, "pads", np.int64), *value])


def pad_of_numbers(site: OpsetSite) -> None:
    """Pad-11 takes numbers only; small ones hold a bool."""
    if site.dtype(site.data).kind != "b":
        site.copy_node()
        return
    constant = site.constant(site.input(2)) if site.input(2) else None
    value = [site.cast(site.input(2), TensorProto.UINT8)] if site.input(2) and constant is None else []
    value += [] if constant is None else [site.value(constant.astype(np.uint8), "value")]
    padded = site.fresh("padded")
    inputs = [site.cast(site.data, TensorProto.UINT8), site.input(1), *value]
    site.copy_node(inputs=inputs, outputs=[padded])
    site.add("Cast", padded, into=site.output(), to=TensorProto.BOOL)


def pad(site: OpsetSite) -> None:
    """Pad-2: the pads and the value are attributes; float types only."""
    mode = site.attribute("mode", "constant")
    pads = [int(amount) for amount in site.constant_input(1, "pads").reshape(-1)]
    value = float(site.constant_input(2, "constant_value").reshape(-1)[0]) if site.input(2) else 0.0
    elem_type = site.elem_type(site.data)
    kind = site.dtype(site.data)
    if kind.kind in "iub" and kind.itemsize <= 4:  # exact in double, which Pad-2 takes
        padded = site.add("Pad", site.cast(site.data, TensorProto.DOUBLE), mode=mode, pads=pads, value=_float32(value))
        site.add("Cast", padded, into=site.output(), to=elem_type)
        return
    site.copy_node(inputs=[site.data], mode=mode, pads=pads, value=_float32(value))


def _pads_of_all_axes(site: OpsetSite, data: str, pads: list[int]) -> list[int]:
    axes = site.nonnegative((int(axis) for axis in site.constant_input(3, "axes").reshape(-1)), data)
    rank = site.rank(data)
    full = [0] * (2 * rank)
    for place, axis in enumerate(axes):
        full[axis], full[rank + axis] = pads[place], pads[len(axes) + place]
    return full


def _float32(value: float) -> float:
    if math.isfinite(value) and float(np.float32(value)) != value:
        raise Blocked("opsets.pad-value-not-float32", "opsets.fix-float32-value", value=value)
    return value


def split_evenly(site: OpsetSite) -> None:
    """Split-18 lets the last part be smaller; before, parts without lengths are equal."""
    count, axis = len(site.node.output), site.attribute("axis", 0)
    if site.input(1):
        site.copy_node(without=["num_outputs"])
        return
    size = site.size(site.data, axis)
    if size is None:
        raise Blocked("opsets.parts-of-unknown-size", FIX_SHAPES, axis=axis, data=site.data)
    part = -(-size // count)
    lengths = [part] * (count - 1) + [size - part * (count - 1)]
    if size % count == 0:
        site.copy_node(inputs=[site.data], without=["num_outputs"])
    else:
        site.copy_node(inputs=[site.data, site.value(lengths, "split", np.int64)], without=["num_outputs"])


def split_as_attribute(site: OpsetSite) -> None:
    """Split-13 has the lengths as an input."""
    lengths = site.ints("split", 1)
    attributes: dict[str, Any] = {} if lengths is None else {"split": lengths}
    site.copy_node(inputs=[site.data], **attributes)


_NEVER_NEGATIVE = frozenset({"Shape", "Size", "ArgMax", "ArgMin", "NonZero"})


def gather(site: OpsetSite) -> None:
    """Negative axes and negative indices came with opset 11; indices that may be negative are made positive."""
    data, indices = site.data, site.input(1)
    axis = site.axis(0, data)
    site.copy_node(inputs=[data, from_the_front(site, data, indices, axis)], axis=axis)


def from_the_front(site: OpsetSite, data: str, indices: str, axis: int) -> str:
    """`indices` into `axis` of `data`, with the axis's size added to negative ones."""
    numbers, size = site.constant(indices), site.size(data, axis)
    if numbers is not None and (numbers >= 0).all():
        return indices
    if numbers is not None and size is not None:
        return site.value(np.where(numbers < 0, numbers + size, numbers).astype(numbers.dtype), "indices")
    producer = site.producer(indices)
    if numbers is None and producer is not None and producer.op_type in _NEVER_NEGATIVE:
        return indices
    kind = site.elem_type(indices)
    if size is None:
        one = site.add("Slice", site.add("Shape", data), axes=[0], starts=[axis], ends=[axis + 1])
        length = site.cast(site.add("Squeeze", one, axes=[0]), kind)
    else:
        length = site.value(np.array(size, site.dtype(indices)), "size")
    as_float = site.add("Cast", indices, to=TensorProto.FLOAT)  # keeps the sign of every integer
    negative = site.add("Less", as_float, site.value(np.float32(0), "zero"))
    return site.add("Add", indices, site.add("Mul", site.add("Cast", negative, to=kind), length))


def gather_nd_of_one_batch(site: OpsetSite) -> None:
    """batch_dims came with 12."""
    if site.attribute("batch_dims", 0):
        raise Blocked("opsets.no-gather-nd", "opsets.fix-gather-by-axis")
    site.copy_node(without=["batch_dims"])


def gather_nd(site: OpsetSite) -> None:
    """With indices of one coordinate each, along the first axis, it is a Gather."""
    data, indices = site.data, site.input(1)
    dims = site.dims(indices)
    if not dims or dims[-1] != 1 or site.attribute("batch_dims", 0):
        raise Blocked("opsets.no-gather-nd", "opsets.fix-gather-by-axis")
    constant = site.constant(indices)
    last = [len(dims) - 1]
    rows = site.add("Squeeze", indices, axes=last) if constant is None else site.value(constant[..., 0], "indices")
    site.add("Gather", data, from_the_front(site, data, rows, 0), into=site.output(), axis=0)


def constant_of_shape(site: OpsetSite) -> None:
    """The value, expanded: ConstantOfShape came with opset 9, Expand with 8."""
    tensor = site.attribute("value")
    try:
        filled = np.zeros(1, np.float32) if tensor is None else numpy_helper.to_array(tensor)
    except (TypeError, ValueError, KeyError) as error:
        raise Blocked("opsets.value-is-no-tensor", "opsets.fix-give-value") from error
    if filled.size != 1:
        raise Blocked("opsets.constant-of-wrong-size", "opsets.fix-one-value", size=counted(filled.size, "element"))
    site.add("Expand", site.value(filled.reshape(-1)[0], "value"), site.data, into=site.output())


def depth_to_space(site: OpsetSite) -> None:
    """DepthToSpace-1 reads channels block first (DCR); column first (CRD, 11) is that with the channels permuted."""
    if site.attribute("mode", "DCR") == "DCR":
        site.copy_node(without=["mode"])
        return
    data, block = site.data, site.attribute("blocksize")
    channels = site.size(data, 1)
    if channels is None:
        raise Blocked("opsets.channels-unknown", FIX_SHAPES, data=data)
    order = np.arange(channels, dtype=np.int64).reshape(-1, block * block).T.reshape(-1)
    permuted = site.add("Gather", data, site.value(order, "channels"), axis=1)
    site.copy_node(inputs=[permuted], without=["mode"])


def top_k_as_attribute(site: OpsetSite) -> None:
    """TopK-1 keeps k in an attribute."""
    site.copy_node(inputs=[site.data], k=int(site.constant_input(1, "K").reshape(-1)[0]))


def top_k(site: OpsetSite) -> None:
    """TopK-10 finds the largest floats; the smallest are the largest of the negated."""
    axis = site.axis(-1, site.data)
    elem_type, kind = site.elem_type(site.data), site.dtype(site.data)
    exact = kind.kind == "f"
    if not exact and (kind.kind not in "iu" or kind.itemsize > 4):
        raise Blocked("opsets.no-topk-of-type", "opsets.fix-cast-float", kind=kind)
    values = site.data if exact else site.cast(site.data, TensorProto.DOUBLE)
    smallest = not site.attribute("largest", 1)
    if smallest:
        values = site.add("Neg", values)
    plain = exact and not smallest
    out = site.output() if plain else site.fresh("found")
    outputs = [out, *site.node.output[1:]]
    site.copy_node(inputs=[values, site.input(1)], outputs=outputs, without=["largest", "sorted"], axis=axis)
    if smallest:
        out = site.add("Neg", out, into=site.output() if exact else None)
    if not exact:
        site.add("Cast", out, into=site.output(), to=elem_type)


def expand(site: OpsetSite) -> None:
    """To a constant shape it is a Tile: Expand came with 8."""
    wanted = [int(size) for size in site.constant_input(1, "shape").reshape(-1)]
    dims = site.static_dims(site.data)
    rank = max(len(wanted), len(dims))
    given, asked = [1] * (rank - len(dims)) + list(dims), [1] * (rank - len(wanted)) + wanted
    repeats = [size if old == 1 else 1 for old, size in zip(given, asked, strict=True)]
    full = site.data if len(dims) == rank else site.reshape(site.data, given)
    site.add("Tile", full, site.value(repeats, "repeats", np.int64), into=site.output())


def range_of_numbers(site: OpsetSite) -> None:
    """Before 27 there is no Range of halves, of which stash_type speaks."""
    site.copy_node(without=["stash_type"])


def range_(site: OpsetSite) -> None:
    """Only constant ranges, which are folded, have an older form."""
    raise Blocked("opsets.range-not-constant", MAKE_CONSTANT)


_UNLESS_EMPTY = ErrorBound(note=Diagnostic("opsets.same-unless-empty"))

# Sources: docs/Changelog.md, the section of each version named.
_TYPES = (21, 23, 24, 25)  # 4-bit, float4, float8e8m0 and 2-bit tensors
_AXES = {11: axes_from_the_front, 13: axes_as_attribute}
ROWS: tuple[OpsetRow, ...] = (
    *(OpsetRow(op_type, _AXES, _TYPES) for op_type in ("Unsqueeze", "Squeeze")),
    OpsetRow("Concat", {11: axis_from_the_front}, (13,)),
    OpsetRow("Flatten", {9: flatten, 11: axis_from_the_front}, (13, *_TYPES)),  # 9: all types
    OpsetRow("Reshape", {14: reshape}, (13, 19, *_TYPES)),  # 14: allowzero
    OpsetRow("Shape", {15: shape}, (13, 19, *_TYPES)),  # 15: start, end
    OpsetRow("Slice", {10: slice_, 11: slice_from_the_front}, (13,)),  # 10: inputs, steps
    OpsetRow(
        "Pad", {11: pad, 13: pad_of_numbers, 18: pad_of_all_axes, 19: pad_without_wrap}, _TYPES
    ),  # 11: inputs; 13: all types; 18: axes
    # 13: split is an input; 18: num_outputs, uneven
    OpsetRow("Split", {11: axis_from_the_front, 13: split_as_attribute, 18: split_evenly}),
    OpsetRow("Gather", {11: gather}, (13,)),  # 11: negative indices
    OpsetRow("GatherND", {11: gather_nd, 12: gather_nd_of_one_batch}, (13,)),  # 11: new
    OpsetRow("ConstantOfShape", {9: constant_of_shape}, (20, *_TYPES)),  # 9: new
    OpsetRow("DepthToSpace", {11: depth_to_space}, (13, 28)),  # 11: mode
    OpsetRow("TopK", {10: top_k_as_attribute, 11: top_k}, (24,)),  # 10: K is an input; 11: largest, sorted, integers
    OpsetRow("Range", {11: range_, 27: range_of_numbers}),  # 11: new; 27: halves, stash_type
    OpsetRow("SpaceToDepth", {28: only(mode="DCR")}, (13,)),
    OpsetRow("Transpose", {}, (13, *_TYPES)),
    OpsetRow("Identity", {}, (13, 14, 16, 19, *_TYPES)),
    OpsetRow("Size", {}, (13, 19, *_TYPES)),
    OpsetRow("Expand", {8: expand}, (13,)),  # 8: new
    OpsetRow("Tile", {}, (13,)),
)
