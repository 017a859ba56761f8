"""How long the output is, given a scale: runtimes disagree, and a scale is safe where all of them agree.

For a scale that is float32(out)/float32(in) the rules differ often: 5 → 9 is 9 in onnxruntime's kernel and 8 in shape
inference, onnxruntime's own included, so that there an optimised `Shape` of the result is silently wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import floor
from typing import NamedTuple

import numpy as np

from resizefix.dialects.resized_length import (
    inference_length,
    inference_lengths,
    kernel_length,
    kernel_lengths,
)


class OutputSizeRule(NamedTuple):
    """`length(scale, size)` is the output length. In a file the scale is a float32; torch had a double."""

    name: str
    length: Callable[[float, int], int]
    source: str


def _float64_product(scale: float, size: int) -> int:
    return floor(scale * size)


# What onnxruntime's kernels allocate, for every dialect.
ONNXRUNTIME_KERNEL = OutputSizeRule(
    "onnxruntime kernel",
    kernel_length,
    "onnxruntime/core/providers/cpu/tensor/upsamplebase.h, ComputeOutputShape",
)
# What shape inference says, that inside onnxruntime too, and what the reference evaluator does.
ONNX = OutputSizeRule(
    "onnx shape inference and reference",
    inference_length,
    "onnx/defs/tensor/utils.cc, resizeShapeInferenceHelper; onnx/reference/ops/op_resize.py",
)
# What the exported network's author saw: the double scale_factor, before it became a float32 in the file.
TORCH = OutputSizeRule("torch", _float64_product, "aten/src/ATen/native/UpSample.h, compute_output_size")

OUTPUT_SIZE_RULES: tuple[OutputSizeRule, ...] = (ONNXRUNTIME_KERNEL, ONNX, TORCH)


def output_size(scale: float, size: int) -> int:
    """The output length that onnxruntime's kernels allocate for a float32 scale."""
    return ONNXRUNTIME_KERNEL.length(scale, size)


def every_rule_gives(scale: float, size: int, out: int) -> bool:
    """Whether every runtime makes `size` into `out` with this float32 scale."""
    return all(rule.length(scale, size) == out for rule in OUTPUT_SIZE_RULES)


def first_disagreement(scale: float, sizes: Iterable[int]) -> tuple[int, int, int] | None:
    """The first of `sizes` whose output is one long in onnxruntime's kernel and another in shape inference, with both.

    There an optimised `Shape` of the output is folded to the wrong number. None: they agree at all of `sizes`.
    """
    tried = np.array(tuple(sizes), np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        differing = kernel_lengths(scale, tried) != inference_lengths(scale, tried)
    found = ((size, kernel_length(scale, size), inference_length(scale, size)) for size in tried[differing].tolist())
    return next((one for one in found if one[1] != one[2]), None)
