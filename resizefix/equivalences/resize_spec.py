"""One resize by itself, without a graph: a meaning, its extent and what is known of the input."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from resizefix.document.text import counted
from resizefix.equivalences.kernel_arithmetic import Form
from resizefix.interpolation import ExtentKind, Interpolation, KeepAspectRatioPolicy
from resizefix.shapes.output_size import kernel_length, sampled_scale


@dataclass(frozen=True)
class Axis:
    """One axis: its input length, its output length in onnxruntime, and the float32 scale it is sampled by.

    None: not known. `size` None with `scale` known is the usual case of a model with dynamic height and width. `index`
    says which axis of the input it is; axes that differ in nothing else are equal.
    """

    size: int | None
    out: int | None
    scale: float | None
    index: int = field(default=0, compare=False)

    @property
    def is_copied(self) -> bool:
        """Whether the axis surely keeps its length and its samples: scale 1."""
        return self.scale == 1

    @property
    def known(self) -> tuple[int, int, float]:
        """Both lengths and the scale of an axis of which all are known. Raises ValueError of another."""
        if self.size is None or self.out is None or self.scale is None:
            raise ValueError(f"axis {self.index} is not known: {self}")
        return self.size, self.out, self.scale

    @property
    def factor(self) -> int | None:
        """The scale where it is a whole number ≥ 1."""
        whole = self.scale is not None and self.scale >= 1 and self.scale.is_integer()
        return int(self.scale) if self.scale is not None and whole else None

    @property
    def divisor(self) -> int | None:
        """k where the scale is float32(1/k), k ≥ 2."""
        if self.scale is None or not 0 < self.scale < 1:
            return None
        k = round(1 / self.scale)
        return k if float(np.float32(1) / np.float32(k)) == self.scale else None


@dataclass(frozen=True)
class ResizeSpec:
    """An interpolation with its extent and what is known of its input.

    `values` are the scales (rounded to float32 here, as they are in every file) or the sizes, one per listed axis, None
    where unknown; `shape` is the input's, None where a dimension (or the whole rank) is unknown; `element_type` is an
    onnx TensorProto.DataType.

    Raises:
        ValueError: `values` that do not fit `axes` or `shape`, an axis out of range.

    """

    interpolation: Interpolation
    extent: ExtentKind
    values: tuple[float | None, ...]
    shape: tuple[int | None, ...] | None = None
    element_type: int | None = None

    def __post_init__(self) -> None:
        axes, shape = self.interpolation.axes, self.shape
        if self.extent is ExtentKind.SCALES:
            rounded = tuple(None if value is None else float(np.float32(value)) for value in self.values)
            object.__setattr__(self, "values", rounded)
        expected = len(axes) if axes is not None else len(shape) if shape is not None else len(self.values)
        if len(self.values) != expected:
            noun = self.extent.value.removesuffix("s")
            raise ValueError(f"{counted(len(self.values), noun)} for {counted(expected, 'axis', 'axes')}")
        if axes is not None and shape is not None and not all(-len(shape) <= axis < len(shape) for axis in axes):
            raise ValueError(f"axes {list(axes)} for an input of rank {len(shape)}")

    @property
    def form(self) -> Form:
        """Where each axis is sampled."""
        return self.interpolation.coordinate_transformation_mode, self.interpolation.nearest_mode

    @property
    def rank(self) -> int | None:
        """How many axes the input has; None: unknown."""
        if self.shape is not None:
            return len(self.shape)
        return len(self.values) if self.interpolation.axes is None else None

    @property
    def listed_sizes(self) -> tuple[int | None, ...]:
        """The input lengths of the axes that `values` speak of."""
        if self.shape is None:
            return (None,) * len(self.values)
        return self.shape if self.interpolation.axes is None else tuple(self.shape[a] for a in self.interpolation.axes)

    @cached_property
    def listed(self) -> tuple[Axis, ...]:
        """The axes that `values` speak of, in that order; every other axis is left as it is."""
        indices = self.interpolation.axes or range(len(self.values))
        rank = self.rank or 0
        return tuple(
            Axis(axis.size, axis.out, axis.scale, index + rank if index < 0 else index)
            for index, axis in zip(indices, self._listed(), strict=True)
        )

    def _listed(self) -> tuple[Axis, ...]:
        sizes = self.listed_sizes
        if self.extent is ExtentKind.SCALES:
            return tuple(_by_scale(size, scale) for size, scale in zip(sizes, self.values, strict=True))
        axes = tuple(
            _by_size(size, None if out is None else int(out)) for size, out in zip(sizes, self.values, strict=True)
        )
        policy = self.interpolation.keep_aspect_ratio_policy
        if policy is None:
            return axes
        if self.interpolation.axes is not None and min(self.interpolation.axes) < 0:
            return tuple(Axis(axis.size, None, None) for axis in axes)  # onnxruntime silently resizes nothing then
        return _by_policy(axes, policy)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """Every axis of the input in order. Raises ValueError where the rank is not known."""
        if self.rank is None:
            raise ValueError("the rank of the input is not known")
        sizes = self.shape or (None,) * self.rank
        listed = {axis.index: axis for axis in self.listed}
        return tuple(listed.get(index, Axis(size, size, 1.0, index)) for index, size in enumerate(sizes))

    @cached_property
    def scaled(self) -> tuple[Axis, ...]:
        """The axes that are not surely copied."""
        return tuple(axis for axis in self.axes if not axis.is_copied)

    @cached_property
    def is_copy(self) -> bool:
        """Whether the kernel copies the tensor: every output length equals the input's, whatever the scales say."""
        return all(axis.is_copied or (axis.size is not None and axis.size == axis.out) for axis in self.axes)


def _by_scale(size: int | None, scale: float | None) -> Axis:
    fixed = size is not None and scale is not None
    return Axis(size, kernel_length(scale, size) if fixed else None, scale)


def _by_size(size: int | None, out: int | None) -> Axis:
    fixed = size is not None and out is not None and size > 0
    return Axis(size, out, sampled_scale(size, out) if fixed else None)


def _by_policy(axes: tuple[Axis, ...], policy: KeepAspectRatioPolicy) -> tuple[Axis, ...]:
    """One scale for all axes, lengths rounded to the nearest (upsamplebase.h, AdjustOutputSizeAsPolicy)."""
    scales = [axis.scale for axis in axes if axis.scale is not None]
    if len(scales) < len(axes):
        return tuple(Axis(axis.size, None, None) for axis in axes)
    scale = min(scales) if policy is KeepAspectRatioPolicy.NOT_LARGER else max(scales)
    lengths = [float(np.float32(scale) * np.float32(axis.size)) for axis in axes]
    return tuple(
        Axis(axis.size, int(np.floor(length + 0.5)), scale) for axis, length in zip(axes, lengths, strict=True)
    )
