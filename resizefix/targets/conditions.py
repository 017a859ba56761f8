"""Conditions that rules of several runtimes are made of; each looks at the facts of one node."""

from __future__ import annotations

import math

from resizefix.dialects.resized_length import inference_length
from resizefix.targets.facts import OperandSource, SiteFacts

S = OperandSource

WEIGHTS = frozenset({S.INITIALIZER, S.INITIALIZER_AND_INPUT, S.CONSTANT, S.UNKNOWN})
"""Sources that every parser holds as weights, not as a tensor of the network."""
STORED = WEIGHTS | {S.ATTRIBUTE, S.CONSTANT_LIST}
"""Sources whose value stands in the file as it is."""
FED = frozenset({S.INTEGER_INPUT, S.INTEGER_INPUT_COMPUTED, S.INTEGER_INPUT_DIVIDED, S.OTHER_INPUT, S.DATA})
"""Sources that decide while the model runs, whatever the sizes of its inputs are."""


def is_fed(f: SiteFacts) -> bool:
    """The scales or sizes are decided while the model runs, whatever the sizes of its inputs are."""
    return f.source in FED and f.values is None


def counts_from_the_front(f: SiteFacts) -> bool:
    """No axis is listed as counted from the end."""
    return all(axis >= 0 for axis in f.axes or ())


def scales_images_alone(f: SiteFacts) -> bool:
    """The scales of batch and channels, as far as they are known, are 1."""
    return all(scale == 1 for scale in (f.full_scales or ())[:2])


def trailing_ones(f: SiteFacts, most: int) -> bool:
    """At most the last `most` axes change, as far as scales or sizes and the input's shape are known."""
    rank = f.rank if f.rank is not None else (f.length if f.axes is None else None)
    return rank is None or f.resized_axes is None or all(axis >= rank - most for axis in f.resized_axes)


def output_sizes(f: SiteFacts) -> tuple[int | None, ...] | None:
    """The output's sizes: stored or inferred, else by scales or sizes where the input's are known."""
    if f.output_shape is not None:
        return f.output_shape
    if f.by_sizes:
        if f.values is None or f.axes is not None:
            return None
        return tuple(int(size) if math.isfinite(size) else None for size in f.values)
    scales = f.full_scales
    if scales is None or f.input_shape is None or len(scales) != len(f.input_shape):
        return None
    return tuple(
        inference_length(scale, size) if size is not None and math.isfinite(scale) else None
        for scale, size in zip(scales, f.input_shape, strict=True)
    )


def no_single_pixel_output(f: SiteFacts) -> bool:
    """No spatial output size is known to be 1."""
    sizes = output_sizes(f)
    return sizes is None or 1 not in sizes[2:]


def is_power_of_two(value: float) -> bool:
    """2^k for an integer k, negative ones too."""
    return math.frexp(value)[0] == 0.5


def ratio_is_scale(f: SiteFacts) -> bool:
    """Sampling by out/in is sampling by the scale: no product scale·size is known to have a fraction."""
    scales = f.full_scales
    if scales is None or f.coordinate_transformation_mode == "align_corners":
        return True
    shape = f.input_shape if f.input_shape is not None else (None,) * len(scales)
    return all(
        float(scale).is_integer() or (size is not None and float(scale * size).is_integer())
        for scale, size in zip(scales, shape, strict=False)
    )


def lists_all_in_order(f: SiteFacts) -> bool:
    """Where `axes` lists every axis, the values are those of the axes in order, so that `axes` need not be read."""
    if f.axes is None or not f.rank or len(f.axes) != f.rank or f.axes_in_order:
        return True
    if f.values is None or len(f.values) != f.rank:
        return False
    rank = f.rank
    pairs = zip((axis % rank for axis in f.axes), f.values, strict=True)
    return tuple(value for _, value in sorted(pairs)) == tuple(f.values)
