"""How long a resized axis is, and what scale is sampled by, in the arithmetic of each runtime. Nowhere else.

onnxruntime's kernels take the float32 product of scale and size, onnx's shape inference (that inside onnxruntime too)
the float64 product of the float32 scale: 5 scaled by 1.8 is 9 and 8, so that an optimised `Shape` is silently wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import floor
from typing import Any

import numpy as np
import numpy.typing as npt

Lengths = npt.NDArray[np.int64]
Scales = npt.NDArray[np.floating[Any]]
_LARGE = 10**38  # below the largest float32
_REACH = 8
"""How many neighbouring float32 values are tried on each side."""


@lru_cache(maxsize=4096)
def kernel_length(scale: float, size: int) -> int:
    """onnxruntime's output length: int of a float32 product (core/providers/cpu/tensor/upsamplebase.h)."""
    # Beyond float32 the kernel's conversion is undefined; what matters is that nothing is that long.
    return int(np.float32(scale) * np.float32(size)) if _is_finite(scale, size) else inference_length(scale, size)


@lru_cache(maxsize=4096)
def inference_length(scale: float, size: int) -> int:
    """onnx's output length: floor of a float64 product (onnx/defs/tensor/utils.cc, resizeShapeInferenceHelper)."""
    return floor(float(np.float32(scale)) * size)


def _is_finite(scale: float, size: int) -> bool:
    if -_LARGE < scale < _LARGE and -_LARGE < size < _LARGE and -_LARGE < scale * size < _LARGE:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.float32(scale) * np.float32(size)))


def agreed_length(scale: float, size: int | None) -> int | None:
    """The output length where both say the same; None where they do not, or the size is not known."""
    if size is None or not _is_finite(scale, size):
        return None
    length = kernel_length(scale, size)
    return length if length == inference_length(scale, size) else None


def torch_length(scale: float, size: int) -> int:
    """What the exported network's author saw, of the double that became a float32 in the file
    (aten/src/ATen/native/UpSample.h, compute_output_size)."""
    return floor(scale * size)


def every_rule_gives(scale: float, size: int, out: int) -> bool:
    """Whether every runtime makes `size` into `out` with this float32 scale."""
    return all(length(scale, size) == out for length in (kernel_length, inference_length, torch_length))


def first_disagreement(scale: float, sizes: Iterable[int]) -> tuple[int, int, int] | None:
    """The first of `sizes` whose output is one long in onnxruntime's kernel and another in shape inference, with both.

    There an optimised `Shape` of the output is folded to the wrong number. None: they agree at all of `sizes`.
    """
    tried = np.array(tuple(sizes), np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        differing = kernel_lengths(scale, tried) != inference_lengths(scale, tried)
    disagreements = (
        (size, kernel_length(scale, size), inference_length(scale, size)) for size in tried[differing].tolist()
    )
    return next((one for one in disagreements if one[1] != one[2]), None)


def kernel_lengths(scale: float | Scales, sizes: Lengths) -> Lengths:
    """`kernel_length` of many sizes, by one scale or a scale for each; the products are below 2⁶³."""
    return np.asarray((np.float32(scale) * sizes.astype(np.float32)).astype(np.int64))


def inference_lengths(scale: float | Scales, sizes: Lengths) -> Lengths:
    """`inference_length` of many sizes, by one scale or a scale for each; the products are below 2⁶³."""
    return np.asarray(np.floor(np.float64(np.float32(scale)) * sizes).astype(np.int64))


@lru_cache(maxsize=4096)
def sampled_scale(size: int, out: int) -> float:
    """The scale that a runtime samples by when it is given sizes: float32(out)/float32(in) (upsamplebase.h,
    `ParseScalesDataAndAdjustOutputSize`; the parsers of TensorRT likewise)."""
    with np.errstate(divide="ignore", invalid="ignore"):  # an axis may have no sample
        return float(np.float32(out) / np.float32(size))


def robust_scale(size: int, out: int) -> float | None:
    """The float32 scale nearest to out/in that makes `size` into `out` under every output-size rule; None: none does.

    For sizes up to 2²² that is the quotient, or one unit in the last place above it.

    Raises:
        ValueError: a size below 1.

    """
    return next((scale for scale in near_scales(size, out) if every_rule_gives(scale, size, out)), None)


def near_scales(size: int, out: int) -> Iterator[float]:
    """The quotient and then its float32 neighbours, the nearer first and, of two equally near, the larger first."""
    if size < 1 or out < 1:
        raise ValueError(f"no scale makes {size} into {out}")
    up = down = np.float32(sampled_scale(size, out))
    yield float(up)
    for _ in range(_REACH):
        up = np.nextafter(up, np.float32(np.inf))
        down = np.nextafter(down, np.float32(0))
        yield float(up)
        yield float(down)
