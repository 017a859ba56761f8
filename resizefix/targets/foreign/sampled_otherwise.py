"""Rules of several runtimes about what they sample otherwise, each with what it deviates in.

`{says}` stands for the words of the runtime itself, which `Rule.saying` gives. Where a rule was read or measured
`read_in` says, else the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from resizefix.targets.facts import SiteFacts
from resizefix.targets.foreign import deviations, sampling
from resizefix.targets.shared_rules import (
    CAST,
    FIRST_CROP,
    INTEGERS,
    PLAIN_SIZES,
    WHERE_WHOLE,
    is_fed,
)
from resizefix.targets.target import Rule, differs, noted

OUTPUT_IS_NOT_EMPTY = Rule(
    name="output-is-not-empty",
    holds=sampling.gives_samples,
    because="an axis gets the length 0: the {f.extent_name} are {f.values}, the input is {f.shown_input_shape} "
    '("{says}")',
    fix="resize by less, or feed larger inputs",
)
"""An axis that gets the length 0, which onnxruntime gives an empty output for."""


def _sampled(
    name: str, because: str, deviation: sampling.Deviation, after: Sequence[sampling.Deviation] = (), **rest: Any
) -> Rule:
    """Samples are others by the deviation, given those `after` which it comes."""
    return differs(name, sampling.samples_alike(deviation, after), because, **rest)


exclusion_ignored = partial(
    _sampled, "exclude-outside-ignored", "`exclude_outside` is not read", deviations.without_exclusion
)
"""`exclude_outside` counts for nothing."""
coefficient_fixed = partial(
    _sampled,
    "cubic-coefficient-is-fixed",
    "cubic_coeff_a is {f.cubic_coeff_a:g}, and -0.75 is computed",
    deviations.without_coefficient,
)
"""`cubic_coeff_a` counts for nothing."""
ratio_instead_of_scales = partial(
    _sampled,
    "ratio-instead-of-scales",
    "positions follow the two lengths instead of the scales {f.values}, and these differ",
    deviations.by_ratio,
)
"""Positions follow the two lengths."""
ties_are_exact = partial(
    _sampled,
    "ties-are-exact",
    "nearest_mode is {f.nearest_mode}, and a coordinate lies next to one half: onnxruntime takes it for a tie, and "
    "this runtime rounds it to the nearest",
    deviations.exact_ties,
)
"""Coordinates next to one half, which come of a division that is not exact, are no ties."""
symmetric_is_asymmetric = partial(
    _sampled,
    "symmetric-is-asymmetric",
    "half_pixel_symmetric is not known, and asymmetric is computed",
    fix=WHERE_WHOLE,
)
"""half_pixel_symmetric, which came with opset 19, is a mode that is not known."""
old_resize_is_half_pixel = partial(
    _sampled,
    "resize-10-is-half-pixel",
    "Resize at opset 10 is read with the defaults of opset 11: half_pixel, round_prefer_floor",
    fix="raise the model to opset 11 and write asymmetric, or replace the node",
)
"""Resize-10, which has no coordinate attributes, is read with the defaults of Resize-11."""
SYMMETRIC_TIES_DIFFER = _sampled(
    "symmetric-ties",
    "half_pixel_symmetric is computed in float32, and a coordinate that lies between two samples falls to the other "
    "one",
    deviations.symmetric_ties,
)
"""half_pixel_symmetric is computed in another precision than in onnxruntime."""


def antialias_ignored(after: Sequence[sampling.Deviation] = ()) -> Rule:
    """`antialias` counts for nothing, which shows where an axis shrinks; also of a crop, which has no samplings."""
    alike = sampling.samples_alike(deviations.without_antialias, after)

    def holds(f: SiteFacts) -> bool:
        crop = f.antialias and f.crops
        return alike(f) and not (crop and any(scale < 1 for *_, scale in sampling.resized(f)))

    return differs("antialias-ignored", holds, "`antialias` is not read, and an axis shrinks")


def _sums_are_exact(f: SiteFacts) -> bool:
    """Every weight is a multiple of 1/64, so that no order of additions rounds."""
    if f.mode == "cubic" or f.antialias:
        return not sampling.reads_between(f)
    if cut_axes(f) and sampling.is_resized(f):
        return False
    return all(np.array_equal(x * 64, np.round(x * 64)) for x in sampling.positions_read(f))


INTEGERS_ARE_ROUNDED = differs(
    name="integers-are-rounded",
    holds=lambda f: f.elem_type not in INTEGERS or not sampling.reads_between(f),
    because="the tensor is {f.type_name}, and interpolated integers are rounded otherwise than in onnxruntime",
    fix=CAST,
)
"""Interpolated integers are rounded, where onnxruntime cuts them off."""


def integers_are_summed_otherwise(*, samples_copies: bool = False) -> Rule:
    """Interpolated integers are cut off, of sums that are added in another order than in onnxruntime; `samples_copies`:
    of a node that changes no length, too, which onnxruntime copies."""

    def holds(f: SiteFacts) -> bool:
        if f.elem_type not in INTEGERS or f.mode == "nearest":
            return True
        return _sums_are_exact(f) and (not samples_copies or sampling.copies_are_exact(f))

    return differs(
        name="integers-are-summed-otherwise",
        holds=holds,
        because="the tensor is {f.type_name}; interpolated integers are cut off, and a sum that is added in another "
        "order than in onnxruntime falls on the other side of a whole number",
        fix=CAST,
    )


def whole_copies_are_sampled(*deviations: sampling.Deviation) -> Rule:
    """A node that changes no length is sampled by its scales, where onnxruntime copies."""
    return differs(
        name="unchanged-sizes-are-sampled",
        holds=sampling.copies_alike(*deviations),
        because="no length changes, and the scales {f.values} are sampled by; onnxruntime copies",
        fix="write 1 where a copy is meant",
    )


def crop_is_not_computed(follows: Callable[[SiteFacts], bool] = lambda f: True) -> Rule:
    """tf_crop_and_resize is taken, and its roi followed only where `follows` says so; where no length changes,
    onnxruntime copies and the others crop. The roi of the whole tensor crops nothing."""

    def holds(f: SiteFacts) -> bool:
        cut = cut_axes(f)
        return not cut or (follows(f) and cut <= {axis for axis, size, out, _ in sampling.resized(f) if size != out})

    return differs(
        name="crop-is-not-computed",
        holds=holds,
        because="tf_crop_and_resize is taken, and the roi is not followed as ONNX says",
        fix=FIRST_CROP,
    )


def cut_axes(f: SiteFacts) -> set[int]:
    """The axes that tf_crop_and_resize crops; of an axis of length 1 every crop reads its one sample."""
    if not f.crops or f.roi_values is None:
        return set()
    half, rank = len(f.roi_values) // 2, f.rank or 0
    axes = f.axes if f.axes is not None and len(f.axes) == half else tuple(range(half))
    ends = zip(axes, f.roi_values, f.roi_values[half:], strict=False)
    cut = {axis % rank for axis, start, end in ends if (start, end) != (0, 1) and -rank <= axis < rank}
    return {axis for axis in cut if f.input_shape is None or f.input_shape[axis] != 1}


def factors_are_not_known(*deviations: sampling.Deviation) -> Rule:
    """A note on an extent that is fed, or sizes of an open input: by whole factors alone all is known to be well."""
    return noted(
        name="fed-fractions",
        holds=sampling.fed_fractions(*deviations),
        because="the factors are not known before the model runs; by whole ones the node computes what ONNX says, "
        "by others it may not",
        fix="feed whole factors, or freeze the scales and legalize the model",
    )


def reads_on(f: SiteFacts) -> bool:
    """Half a sample further on lies another sample."""
    return f.mode != "nearest" or f.nearest_mode in ("ceil", "round_prefer_ceil")


def kept_axes_are_sampled(
    of: Callable[[SiteFacts], bool] = lambda f: f.mode != "nearest", *, copies: bool = True
) -> Rule:
    """tf_half_pixel_for_nn reads half a sample further on, on an axis of the image that keeps its length too; `of`:
    which nodes; `copies`: a node that changes no length is copied."""

    def holds(f: SiteFacts) -> bool:
        if f.coordinates != "tf_half_pixel_for_nn" or not of(f):
            return True
        scaled = {axis for axis, *_ in sampling.resized(f)}
        shape = f.input_shape or ()
        if not scaled and (copies or not sampling.gives_samples(f)):
            return True
        return all(axis in scaled or shape[axis] == 1 for axis in range(max(len(shape) - 2, 2), len(shape)))

    return differs(
        name="equal-lengths-are-sampled",
        holds=holds,
        because="tf_half_pixel_for_nn with mode {f.mode} reads half a sample further on an axis that keeps its length, "
        "which onnxruntime copies",
    )


def kept_axes_may_be_sampled(of: Callable[[SiteFacts], bool] = lambda f: f.mode != "nearest") -> Rule:
    """A note on tf_half_pixel_for_nn where an axis of the image may keep its length: by what is fed, or by its size."""

    def holds(f: SiteFacts) -> bool:
        may_keep = is_fed(f) or (f.by_sizes and f.has_open_image)
        return f.coordinates != "tf_half_pixel_for_nn" or not of(f) or not may_keep

    return noted(
        name="equal-lengths-may-be-sampled",
        holds=holds,
        because="an axis that keeps its length at run time is read half a sample further on by tf_half_pixel_for_nn "
        "with mode {f.mode}; onnxruntime copies it",
        fix="resize both axes of the image, or replace the node",
    )


def _knows_batch(f: SiteFacts) -> bool:
    shape = f.input_shape
    if not f.by_sizes or f.known_values is None or shape is None:
        return True
    rank = len(shape)
    listed = {axis % rank for axis in f.axes if -rank <= axis < rank} if f.axes is not None else {0, 1}
    return all(shape[axis] is not None for axis in listed & {0, 1} if axis < rank - 1)


OPEN_BATCH_OF_SIZES = noted(
    name="open-batch-of-sizes",
    holds=_knows_batch,
    because="sizes are written for an axis before the image's, whose length is open: where another length is fed "
    "{says}",
    fix="feed the length that is written, or write scales",
)
"""A note on sizes that are written for axes other than the image's, whose length is open."""
EMPTIES_SHORT_INPUTS = noted(
    name="short-inputs-are-empty",
    holds=lambda f: not any(size is None and 0 < scale < 1 for scale, size in f.scaled_sizes),
    because="an open length shrinks by the scales {f.values}: of a short input nothing is left, which is refused",
    fix="feed larger inputs",
)
"""A note on open lengths that shrink: of short ones nothing is left, which a runtime refuses."""
POLICY_IGNORED = differs(
    name="aspect-policy-ignored",
    holds=sampling.policy_is_stretch,
    because="keep_aspect_ratio_policy is {f.keep_aspect_ratio_policy}, which is not read: the output has "
    "the sizes as they are written",
    fix=PLAIN_SIZES,
)
"""`keep_aspect_ratio_policy` counts for nothing, which shows where the sizes have another ratio."""


FED_AXES = noted(
    name="fed-axes",
    holds=lambda f: not is_fed(f) or f.axes is not None or (f.rank or 0) <= 2,
    because="the {f.extent_name} are fed for batch and channels, too: {says}",
    fix="feed what leaves batch and channels as they are, or freeze the scales",
)
"""A note on an extent that is fed for batch and channels too, where the runtime resizes the image alone."""
