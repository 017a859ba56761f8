"""Which pixels PyTorch takes in mode nearest, and the scales with which a Resize takes the same.

torch multiplies the output's position by one float32 and cuts the fraction off; onnxruntime divides by the scale. With
`size`, or with a size computed first, the factor is float32(in) / float32(out), else float32(1 / scale_factor)
(aten/src/ATen/native/UpSample.h, compute_scales_value and nearest_neighbor_compute_source_index).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from resizefix.dialects.resized_length import every_rule_gives, kernel_length, near_scales, sampled_scale
from resizefix.document.values import Array
from resizefix.equivalences.index_map import Indices, nearest_indices
from resizefix.faults.resize_node import ResizeNode
from resizefix.interpolation import CoordinateTransformationMode, NearestMode

LENGTHS = range(2, 49)
"""The sizes at which an axis of open size is looked at."""
_LONGEST = 1 << 16
_FORM = CoordinateTransformationMode.ASYMMETRIC, NearestMode.FLOOR
_DECIMALS = 4  # of a scale that somebody typed


class Lengths(NamedTuple):
    """One axis: its lengths, the scale that the node samples by, and the factor of torch."""

    size: int
    out: int
    scale: float
    factor: float


def lengths_of(node: ResizeNode, length: int | None = None) -> list[Lengths] | None:
    """Every axis that the scales or sizes speak of, where all is known; with `length`, that is every size that the
    file leaves open."""
    extent, dims = node.extent_at(length), node.input_dims
    if extent is None or dims is None:
        return None
    kind, values = extent
    axes = node.axes_of(len(values))
    sizes = [None if axis is None or axis >= len(dims) else dims[axis] for axis in axes]
    if length is not None:
        sizes = [size if isinstance(size, int) else length for size in sizes]
    operand = node.extents[0] or node.extents[1]
    computed = operand is None or operand.value is None
    lengths = []
    for size, value in zip(sizes, values.tolist(), strict=True):
        if not isinstance(size, int) or not 0 < size <= _LONGEST or not 0 < value < _LONGEST:
            return None
        out = int(value) if kind == "sizes" else kernel_length(value, size)
        if not 0 < out <= _LONGEST:
            return None
        scale = sampled_scale(size, out) if kind == "sizes" else float(value)
        lengths.append(Lengths(size, out, scale, _factor(size, out, scale, quotient=computed or kind == "sizes")))
    return lengths


def _factor(size: int, out: int, scale: float, *, quotient: bool) -> float:
    """What torch multiplies by: constant scales with few decimals are the scale_factor of the call."""
    typed = float(str(np.float32(scale)))
    if quotient or round(typed, _DECIMALS) != typed:
        return float(np.float32(size) / np.float32(out))
    return float(np.float32(1.0 / typed))


def torch_indices(axis: Lengths) -> Indices:
    """The pixel that torch takes for each output."""
    at = np.floor(np.arange(axis.out, dtype=np.float32) * np.float32(axis.factor)).astype(np.int64)
    indices: Indices = np.minimum(at, axis.size - 1)
    return indices


def scales_of_torch(lengths: list[Lengths]) -> Array | None:
    """Scales at which rounding down takes the pixels of torch on every axis, and gives the lengths in every runtime;
    None: there are none."""
    found = [next(_scales(axis), None) for axis in lengths]
    scales = [scale for scale in found if scale is not None]
    return np.array(scales, np.float32) if len(scales) == len(found) else None


def _scales(axis: Lengths) -> Iterator[float]:
    if axis.size == axis.out:
        yield 1.0
        return
    wanted = torch_indices(axis)
    for scale in near_scales(axis.size, axis.out):
        if every_rule_gives(scale, axis.size, axis.out) and np.array_equal(
            nearest_indices(_FORM, scale, axis.size, axis.out), wanted
        ):
            yield scale


def lost_factor(node: ResizeNode) -> float | None:
    """A scale_factor with one decimal that gives the sizes of the node and is none of their quotients; None where
    there is none, or the node is given scales. With it, torch samples otherwise than by the sizes."""
    if node.extents[1] is None:
        return None
    lengths = lengths_of(node)
    several = [lengths] if lengths is not None else [one for n in LENGTHS if (one := lengths_of(node, n)) is not None]
    tried = [[axis for axis in one if axis.size != axis.out] for one in several]
    if not any(tried):
        return None
    for tenths in range(1, 81):
        factor = tenths / 10
        gives = all(int(axis.size * factor) == axis.out for axes in tried for axis in axes)
        if gives and any(axis.size * factor != axis.out for axes in tried for axis in axes):
            return factor
    return None
