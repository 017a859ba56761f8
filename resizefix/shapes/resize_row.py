"""Upsample and Resize: sizes that are numbers follow something, and so may a scale that was computed from them."""

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.dialect import dialect_of
from resizefix.dialects.read import read
from resizefix.errors import RefusedError
from resizefix.shapes.expression import Dim, Number
from resizefix.shapes.reading import COMPUTED, DimList, NodeSizes, ResizeUse, UnknownRankError, axis_of


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
    made = list(dims)
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
        made[axis] = n.sizes.resolve(wanted)
    _note(n, position, False, moving, axes)
    return tuple(made)


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
    made = list(dims)
    moving: list[tuple[int, Dim, Dim]] = []
    for axis, scale in zip(axes, scales.ravel(), strict=True):
        dim = dims[axis]
        grown = n.sizes.scaled(dim, float(scale))
        # A plain factor of a size that follows the input was written as a factor, whatever its result meets; another
        # number can be the quotient of two sizes, and so can a factor of a fixed one.
        written = _is_plain(scale) and n.choice != "follow"
        if n.numbers_may_follow and not n.sizes.sides and grown.old is not None:
            made[axis] = n.const(grown.old) if n.sizes.fixed(dim) is not None else grown
            continue
        if scale == 1 or (n.sizes.varies(dim) and written) or grown.old is None:
            made[axis] = n.sizes.product([dim, n.const(int(scale))]) if scale == np.floor(scale) else grown
            continue
        made[axis] = n.unknown(grown.old, [grown])
        moving.append((axis, dim, made[axis]))
    _note(n, position, True, moving, axes)
    return tuple(made)


def _is_plain(scale: np.float32) -> bool:
    """A factor that somebody writes: whole, one over a whole number, or quarters."""
    return bool(4 * scale == np.floor(4 * scale) or 1 / scale == np.floor(1 / scale))


def _computed(n: NodeSizes, dims: DimList, axes: list[int], position: int) -> DimList:
    """Scales that the model computes: a size over the size that is resized makes that size."""
    elements = n.elements(position)
    if len(elements) != len(axes):
        raise UnknownRankError
    made = list(dims)
    moving: list[tuple[int, Dim, Dim]] = []
    for axis, scale in zip(axes, elements, strict=True):
        dim = dims[axis]
        if isinstance(scale, Number):
            made[axis] = n.sizes.scaled(dim, float(scale.value))
            continue
        made[axis] = n.scaled_by(scale, dim)
        n.notes.quotients.append((n.label, dim, made[axis]))
        if n.sizes.resolve(made[axis]).kind == "var":
            moving.append((axis, dim, made[axis]))
    _note(n, COMPUTED, False, moving, axes)
    return tuple(made)


ROWS = {"Resize": resize, "Upsample": resize}
