"""How an axis is sampled by a runtime, compared with how ONNX samples it: where runtimes compute something else.

A runtime's rule is stated as a deviation: a change of one property of the sampling, such as "nearest_mode is ignored".
Whether a node is affected is not looked up but computed, from the positions and indices with and without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from resizefix.equivalences.kernel_arithmetic import Floats, Form, coordinates, nearest_indices
from resizefix.interpolation import CoordinateTransformationMode, NearestMode
from resizefix.shapes.output_size import kernel_length, sampled_scale
from resizefix.targets.facts import SiteFacts

Resized = tuple[int, int, int, float]
"""An axis that is resized: which one, its length before and after, and the scale."""
Positions = Callable[[float, int, int], Floats]
"""Where the outputs lie on the input's axis, from the scale, the input's length and the output's."""
Rounding = Callable[[Floats], Floats]
"""From positions to whole numbers, which are clamped to the axis afterwards."""

_PROBES = (7, 8, 10, 13, 16, 25, 32, 56, 64)
"""Lengths at which an axis of unknown length is looked at."""
_FED = 2.0
"""The scale at which an axis is looked at whose scale is not known: most are fed whole factors."""
_FRACTIONS = tuple(float(np.float32(scale)) for scale in (1.1, 4 / 3, 1.5, 1.8, 2.5, 0.25, 0.6))
_LONGEST = 1 << 17
_NEAR = 2e-5
"""Pixels; what two ways to write the same float32 formula may differ by, besides their last bits."""
_UNSEEN = 5e-5
"""Pixels; between two samples that differ by twice the largest value this makes 1e-4 of it, which counts as alike."""


class Sampling(NamedTuple):
    """One axis of one node: `mode` and the options that it reads, where the outputs lie, and the lengths."""

    mode: str
    positions: Positions
    rounding: Rounding | None  # None: `form` says it, in onnxruntime's arithmetic
    form: Form
    cubic_coeff_a: float
    exclude_outside: bool
    antialias: bool
    scale: float
    size: int
    out: int
    axis: int

    @property
    def ratio(self) -> float:
        """The scale that the two lengths make."""
        return sampled_scale(self.size, self.out)


Deviation = Callable[[SiteFacts, Sampling], Sampling]
"""What a runtime makes of an axis, where it differs in one property; the sampling itself where it does not."""


def by(coordinate_transformation_mode: str, nearest_mode: str | None = None) -> Callable[[Sampling], Sampling]:
    """Samples in another mode, in onnxruntime's arithmetic; `nearest_mode` None: rounded as before."""
    mode = CoordinateTransformationMode(coordinate_transformation_mode)

    def changed(sampling: Sampling) -> Sampling:
        rounding = sampling.form[1] if nearest_mode is None else NearestMode(nearest_mode)
        return sampling._replace(positions=_positions(mode), form=(mode, rounding), rounding=None)

    return changed


@lru_cache(maxsize=16)
def _positions(mode: CoordinateTransformationMode) -> Positions:
    return partial(coordinates, mode)


def samples_alike(deviation: Deviation, after: Sequence[Deviation] = ()) -> Callable[[SiteFacts], bool]:
    """The condition of a rule: the node is sampled alike with and without the deviation, given those `after` which it
    comes. What is not known of a node is looked at for usual lengths."""

    def holds(f: SiteFacts) -> bool:
        return all(alike(before, deviation(f, before)) for before in (_changed(f, one, after) for one in samplings(f)))

    return holds


def _changed(f: SiteFacts, sampling: Sampling, deviations: Sequence[Deviation]) -> Sampling:
    for deviation in deviations:
        sampling = deviation(f, sampling)
    return sampling


def fed_fractions(*deviations: Deviation) -> Callable[[SiteFacts], bool]:
    """The condition of a note on scales or sizes that are fed: by fractions too the node is sampled as ONNX asks."""

    def holds(f: SiteFacts) -> bool:
        if f.is_computable or not samples_alike_after(deviations, f, _FED):
            return True  # known, or said already
        return all(samples_alike_after(deviations, f, scale) for scale in _FRACTIONS)

    return holds


def samples_alike_after(deviations: Sequence[Deviation], f: SiteFacts, fed: float) -> bool:
    """Whether all the deviations together leave every axis as it is, where scales that are not known are `fed`."""
    return all(alike(sampling, _changed(f, sampling, deviations)) for sampling in samplings(f, fed))


@lru_cache(maxsize=64)  # hundreds of rules ask it of one node
def samplings(f: SiteFacts, fed: float = _FED) -> tuple[Sampling, ...]:
    """How ONNX samples each axis that is resized, in onnxruntime's arithmetic; nothing where the node is not readable,
    its extent not known, or its coordinates a roi's."""
    return tuple(_sampled(f, resized(f, fed)))


def _sampled(f: SiteFacts, axes: Iterable[Resized]) -> Iterator[Sampling]:
    return (sampling for axis in axes if (sampling := _sampling(f, axis)) is not None)


def _sampling(f: SiteFacts, entry: Resized) -> Sampling | None:
    mode, rounding = _form(f)
    if mode is None or f.mode not in ("nearest", "linear", "bilinear", "cubic"):
        return None
    axis, size, out, scale = entry
    sampling = Sampling(
        mode="linear" if f.mode == "bilinear" else f.mode,
        positions=_positions(mode),
        rounding=None,
        form=(mode, rounding),
        cubic_coeff_a=f.cubic_coeff_a,
        exclude_outside=f.exclude_outside and (f.mode == "cubic" or f.antialias),
        antialias=f.antialias and f.mode != "nearest",
        scale=scale,
        size=size,
        out=out,
        axis=axis,
    )
    # onnxruntime's filter copies an axis that keeps its length, whatever its scale.
    return sampling._replace(positions=_one_by_one, antialias=False) if sampling.antialias and size == out else sampling


def _form(f: SiteFacts) -> tuple[CoordinateTransformationMode | None, NearestMode | None]:
    if not f.has_coordinates:
        return CoordinateTransformationMode.ASYMMETRIC, NearestMode.SIMPLE
    try:
        mode = CoordinateTransformationMode(f.coordinate_transformation_mode)
        rounding = NearestMode(f.nearest_mode)
    except ValueError:
        return None, None
    return (None if mode is CoordinateTransformationMode.TF_CROP_AND_RESIZE else mode), rounding


def resized(f: SiteFacts, fed: float = _FED) -> Iterator[Resized]:
    """Axis, length before, length after and scale, of each axis that is resized; several of one whose length is not
    known. Scales that are not known are `fed`, on the image axes. Nothing where every length stays, which onnxruntime
    copies whatever the scales are, and where the output is empty."""
    axes = list(_resized(f, fed))
    if all(size == out for _, size, out, _ in axes) or not gives_samples(f):
        return
    yield from axes


def is_resized(f: SiteFacts) -> bool:
    """Some axis is."""
    return any(True for _ in resized(f))


def gives_samples(f: SiteFacts) -> bool:
    """No axis is known to get the length 0."""
    values = f.known_values
    if values is None or f.by_sizes:
        return values is None or all(value > 0 for value in values)
    if f.rank is None:
        return True
    shape = f.input_shape or (None,) * f.rank
    pairs = [
        (value, shape[axis]) for axis, value in zip(f.listed_axes, values, strict=False) if -f.rank <= axis < f.rank
    ]
    return all(size is None or not 0 < value <= _LONGEST or kernel_length(value, size) > 0 for value, size in pairs)


def image_gives_samples(f: SiteFacts) -> bool:
    """Neither height nor width is known to get the length 0, for a runtime that does not read the other scales."""
    read = f
    if f.by_scales and f.values is not None and len(f.values) == f.rank:
        read = replace(f, axes=None, values=(1.0, 1.0, *f.values[2:]))
    return gives_samples(read)


def moved_axes(f: SiteFacts) -> frozenset[int]:
    """The axes whose length changes, or whose samples are others than a copy's; whatever the policy is."""
    f = replace(f, keep_aspect_ratio_policy="stretch")
    unmoved = {one.axis for one in samplings(f) if one.size == one.out and alike(one, copied(one))}
    return frozenset(axis for axis, size, out, _ in resized(f) if size != out or axis not in unmoved)


def moves_images_alone(f: SiteFacts) -> bool:
    """Batch and channels are not among `moved_axes`."""
    return all(axis >= 2 for axis in moved_axes(f))


def positions_read(f: SiteFacts) -> Iterator[Floats]:
    """Where the outputs lie on each axis that is resized."""
    return map(_at, samplings(f))


def reads_between(f: SiteFacts) -> bool:
    """Some output is computed from several samples."""
    if f.mode == "nearest":
        return False
    if f.antialias and any(scale < 1 for *_, scale in resized(f)):
        return True
    return any(bool(np.any(np.abs(x - np.round(x)) > _NEAR)) for x in positions_read(f))


def copies_alike(*deviations: Deviation) -> Callable[[SiteFacts], bool]:
    """The condition of a rule: where no length changes, which onnxruntime copies, sampling gives a copy, too."""

    def holds(f: SiteFacts) -> bool:
        copies = _copies(f) if gives_samples(f) else ()
        return all(alike(_changed(f, sampling, deviations), copied(sampling)) for sampling in copies)

    return holds


def copies_are_exact(f: SiteFacts) -> bool:
    """Where no length changes, every output lies on its own sample, to the last bit."""
    return all(np.array_equal(_at(one), np.arange(one.out)) for one in _copies(f))


def _copies(f: SiteFacts) -> Iterator[Sampling]:
    """How the scales would sample a node that changes no length; nothing of another node."""
    axes = list(_resized(f, _FED))
    return _sampled(f, axes if all(size == out for _, size, out, _ in axes) else ())


def copied(sampling: Sampling) -> Sampling:
    """Each output is the sample at its own place."""
    return sampling._replace(positions=_one_by_one, rounding=np.floor, scale=1.0, antialias=False)


def _one_by_one(scale: float, size: int, out: int) -> Floats:
    return np.arange(out, dtype=np.float32)


def _resized(f: SiteFacts, fed: float) -> Iterator[Resized]:
    values = f.known_values
    if values is None and f.usual_values:
        for shape, usual in f.usual_values:
            yield from _resized(replace(f, input_shape=shape, values=usual), fed)
        return
    if values is None:
        yield from _unknown(f, fed)
        return
    if not values or (f.axes is not None and f.rank is None):
        return
    rank = f.rank if f.rank is not None else len(values)
    listed = f.axes if f.axes is not None else tuple(range(rank))
    if len(listed) != len(values) or any(not -rank <= axis < rank for axis in listed):
        return
    before: tuple[int | None, ...] = f.input_shape or (None,) * rank
    sizes = [before[axis] for axis in listed]
    if f.by_sizes and f.keep_aspect_ratio_policy != "stretch":
        yield from _by_policy(f, values, listed, rank, sizes)
        return
    for axis, value, size in zip(listed, values, sizes, strict=True):
        if not math.isfinite(value) or not 0 < value <= _LONGEST:
            continue
        if size is None and f.by_sizes and axis % rank not in _image_axes(f):
            continue
        lengths = (size,) if size is not None else _PROBES if f.by_scales else (max(1, round(value / fed)),)
        for length in lengths:
            if not 0 < length <= _LONGEST:
                continue
            scale = float(np.float32(value)) if f.by_scales else sampled_scale(length, int(value))
            out = kernel_length(scale, length) if f.by_scales else int(value)
            if 0 < out <= _LONGEST and scale != 1:
                yield axis % rank, length, out, scale


def _unknown(f: SiteFacts, fed: float) -> Iterator[Resized]:
    """The image axes, or those that are listed, scaled by `fed`."""
    if f.rank is None or f.extent is None:
        return
    shape, after = f.input_shape or (None,) * f.rank, f.output_shape or (None,) * f.rank
    image = _image_axes(f)
    listed = {axis % f.rank for axis in f.axes if -f.rank <= axis < f.rank} if f.axes is not None else image
    for axis, (size, out) in enumerate(zip(shape, after, strict=False)):
        if f.by_sizes and size is not None and out is not None:
            if size != out and 0 < size <= _LONGEST and 0 < out <= _LONGEST:
                yield axis, size, out, sampled_scale(size, out)
        elif axis in listed:
            for length in (size,) if size is not None else _PROBES:
                if 0 < length <= _LONGEST:
                    yield axis, length, max(1, int(length * fed)), fed


def _image_axes(f: SiteFacts) -> frozenset[int]:
    """The axes that are resized, as far as nothing is known: neither batch nor channels, which stand second, or last
    where the last length is known and stays."""
    rank = f.rank or 0
    shape: tuple[int | None, ...] = f.input_shape or (None,) * rank
    values = f.values if f.by_sizes and f.axes is None and f.values is not None and len(f.values) == rank else None
    if values is not None and rank > 3 and shape[-1] is not None and shape[-1] == values[-1] and shape[-2] is None:
        return frozenset(range(1, rank - 1))
    return frozenset(range(min(2, rank - 1), rank))


def images_only(f: SiteFacts) -> bool:
    """Nothing else than height and width is resized."""
    empties_others = not gives_samples(f) and image_gives_samples(f)
    return moves_images_alone(f) and not empties_others


def last_two_axes(f: SiteFacts) -> bool:
    """Nothing else than the last two axes is resized."""
    return f.rank is None or all(axis >= f.rank - 2 for axis, *_ in resized(f))


def policy_is_stretch(f: SiteFacts) -> bool:
    """The sizes are what the policy makes of them, where all lengths are known."""
    if f.keep_aspect_ratio_policy == "stretch" or not f.by_sizes:
        return True
    if f.values is None or f.input_shape is None or not f.rank:
        return False
    outs = {axis: out for axis, _, out, _ in resized(f)}
    pairs = list(zip((axis % f.rank for axis in f.listed_axes), f.values, strict=False))
    return len(pairs) == len(f.values) and all(outs.get(axis, f.input_shape[axis]) == size for axis, size in pairs)


def _by_policy(
    f: SiteFacts, values: Sequence[float], listed: Sequence[int], rank: int, sizes: Sequence[int | None]
) -> Iterator[Resized]:
    pairs = zip(sizes, values, strict=True)
    usable = [(size, value) for size, value in pairs if size and math.isfinite(value) and 0 < value <= _LONGEST]
    if len(usable) < len(listed):
        return
    ratios = [sampled_scale(size, int(value)) for size, value in usable]
    scale = min(ratios) if f.keep_aspect_ratio_policy == "not_larger" else max(ratios)
    for axis, (size, _) in zip(listed, usable, strict=True):
        out = math.floor(float(np.float32(scale) * np.float32(size)) + 0.5)
        if 0 < out <= _LONGEST and 0 < size <= _LONGEST:
            yield axis % rank, size, out, scale


# ---- comparison -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
@lru_cache(maxsize=256)
def alike(one: Sampling, other: Sampling) -> bool:
    """Whether both give the same, but for rounding of the last bits."""
    if one == other or one.size == 1:
        return True
    if (one.mode, one.out) != (other.mode, other.out):
        return False
    if one.mode == "nearest":
        return bool(np.array_equal(_indices(one), _indices(other)))
    shrinks = one.scale < 1 or other.scale < 1
    if (one.antialias != other.antialias or (one.antialias and one.scale != other.scale)) and shrinks:
        return False
    x, y = _at(one), _at(other)
    if np.any(np.abs(x - y) > _UNSEEN + 4 * np.spacing(np.abs(x).astype(np.float32))):
        return False
    return one.mode != "cubic" or _cubic_alike(one, other, x)


def _cubic_alike(one: Sampling, other: Sampling, x: Floats) -> bool:
    between = np.abs(x - np.round(x)) > _NEAR
    if one.cubic_coeff_a != other.cubic_coeff_a and bool(np.any(between)):
        return False
    if one.exclude_outside == other.exclude_outside:
        return True
    floor = np.floor(x)
    outside = (floor < 1) | (floor + 2 > one.size - 1)
    off = (x < -_NEAR) | (x > one.size - 1 + _NEAR)
    return not bool(np.any((outside & between) | off))


def _indices(sampling: Sampling) -> Floats:
    if sampling.rounding is None:
        return nearest_indices(sampling.form, sampling.scale, sampling.size, sampling.out).astype(np.float32)
    x = sampling.rounding(sampling.positions(sampling.scale, sampling.size, sampling.out))
    return np.clip(x, 0, sampling.size - 1).astype(np.float32)


def _at(sampling: Sampling) -> Floats:
    """The positions that are read: linear clamps them to the axis, the antialiasing filter does not."""
    x = sampling.positions(sampling.scale, sampling.size, sampling.out)
    shrinks = sampling.antialias and sampling.scale < 1
    linear = sampling.mode == "linear" and not shrinks
    return np.asarray(np.clip(x, np.float32(0), np.float32(sampling.size - 1)) if linear else x, np.float32)
