"""What is to be lowered: a meaning, its extent and the input's shape, every axis worked out as onnxruntime does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from resizefix.document.text import counted
from resizefix.equivalences.output_size import output_size
from resizefix.interpolation import Interpolation, KeepAspectRatioPolicy


@dataclass(frozen=True)
class Axis:
    """One axis. None: not known before run time. `scale` is the float32 value the kernel computes coordinates with."""

    index: int
    size: int | None
    out: int | None
    scale: float | None

    @property
    def is_copied(self) -> bool:
        """Whether the axis surely keeps its length and its samples: scale 1."""
        return self.scale == 1

    @property
    def factor(self) -> int | None:
        """The scale where it is a whole number ≥ 1."""
        return int(self.scale) if self.scale is not None and self.scale >= 1 and self.scale == int(self.scale) else None

    @property
    def divisor(self) -> int | None:
        """k where the scale is float32(1/k), k ≥ 2."""
        if self.scale is None or not 0 < self.scale < 1:
            return None
        k = round(1 / self.scale)
        return k if float(np.float32(1) / np.float32(k)) == self.scale else None


@dataclass(frozen=True)
class Subject:
    """A node to lower: full-rank `scales` or `sizes` where they are constant, exactly one of the two set; else neither.

    `scales` hold float32 values. A size of None leaves its axis alone (one that `axes` does not name). In `input_shape`
    None is a dynamic dimension. `elem_type` is an onnx `TensorProto.DataType`.
    """

    interpolation: Interpolation
    scales: tuple[float, ...] | None
    sizes: tuple[int | None, ...] | None
    input_shape: tuple[int | None, ...]
    elem_type: int

    def __post_init__(self) -> None:
        if self.scales is not None and self.sizes is not None:
            raise ValueError("scales and sizes are both given")
        extent = self.scales if self.scales is not None else self.sizes
        if extent is not None and len(extent) != len(self.input_shape):
            raise ValueError(
                f"an extent of {counted(len(extent), 'value')} for an input of rank {len(self.input_shape)}"
            )

    @property
    def rank(self) -> int:
        """How many axes the input has."""
        return len(self.input_shape)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """Every axis in order, with the scale and output length the kernel arrives at (upsamplebase.h)."""
        if self.scales is not None:
            return tuple(
                Axis(i, size, None if size is None else output_size(scale, size), scale)
                for i, (size, scale) in enumerate(
                    zip(self.input_shape, np.asarray(self.scales, np.float32).tolist(), strict=True)
                )
            )
        if self.sizes is None:
            return tuple(Axis(i, size, None, None) for i, size in enumerate(self.input_shape))
        stretched = tuple(
            Axis(i, size, size if out is None else out, _scale(size, out))
            for i, (size, out) in enumerate(zip(self.input_shape, self.sizes, strict=True))
        )
        return self._kept_in_aspect(stretched)

    def _kept_in_aspect(self, stretched: tuple[Axis, ...]) -> tuple[Axis, ...]:
        """keep_aspect_ratio_policy: one scale for all named axes, the output rounded (AdjustOutputSizeAsPolicy)."""
        policy = self.interpolation.keep_aspect_ratio_policy
        if policy is None:
            return stretched
        if self.interpolation.axes is not None and min(self.interpolation.axes) < 0:
            return tuple(Axis(axis.index, axis.size, None, None) for axis in stretched)  # onnxruntime keeps all
        named = [axis for axis in stretched if self.interpolation.axes is None or axis.index in self.interpolation.axes]
        scales = [axis.scale for axis in named if axis.scale is not None]
        if len(scales) < len(named):
            one = None
        else:
            one = min(scales) if policy is KeepAspectRatioPolicy.NOT_LARGER else max(scales)
        kept = list(stretched)
        for axis in named:
            out = None if one is None or axis.size is None else _round(np.float32(one) * np.float32(axis.size))
            kept[axis.index] = Axis(axis.index, axis.size, out, one)
        return tuple(kept)

    @property
    def scaled(self) -> tuple[Axis, ...]:
        """The axes that are not surely copied."""
        return tuple(axis for axis in self.axes if not axis.is_copied)

    @property
    def is_copy(self) -> bool:
        """Whether the kernel copies the tensor: every output length equals the input's, whatever the scales say."""
        return all(axis.is_copied or (axis.size is not None and axis.size == axis.out) for axis in self.axes)


def _scale(size: int | None, out: int | None) -> float | None:
    if out is None:
        return 1.0
    return float(np.float32(out) / np.float32(size)) if size else None


def _round(value: np.float32) -> int:
    return int(np.floor(value + np.float64(0.5)))  # std::round, for a value ≥ 0
