"""What runtimes do to a sampling that is not what ONNX asks for: properties that several of them share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np

from resizefix.equivalences.kernel_arithmetic import Floats
from resizefix.interpolation import CoordinateTransformationMode as Coordinates
from resizefix.targets.facts import SiteFacts
from resizefix.targets.foreign.sampling import Deviation, Positions, Rounding, Sampling, by


def by_ratio(f: SiteFacts, sampling: Sampling) -> Sampling:
    """Positions follow the two lengths, whatever the scales are."""
    return sampling._replace(scale=sampling.ratio)


def without_antialias(f: SiteFacts, sampling: Sampling) -> Sampling:
    """`antialias` is not read."""
    sampling = kept_is_sampled(f, sampling)
    keeps = sampling.exclude_outside and sampling.mode == "cubic"
    if not sampling.antialias and sampling.exclude_outside == keeps:
        return sampling
    return sampling._replace(antialias=False, exclude_outside=keeps)


def kept_is_sampled(f: SiteFacts, sampling: Sampling) -> Sampling:
    """With `antialias`, an axis that keeps its length is sampled by its scale; onnxruntime copies it."""
    keeps_length = f.antialias and sampling.mode != "nearest" and sampling.size == sampling.out
    return by(sampling.form[0].value)(sampling) if keeps_length else sampling


def without_exclusion(f: SiteFacts, sampling: Sampling) -> Sampling:
    """`exclude_outside` is not read."""
    return sampling._replace(exclude_outside=False) if sampling.exclude_outside else sampling


def without_coefficient(f: SiteFacts, sampling: Sampling) -> Sampling:
    """`cubic_coeff_a` is not read."""
    return sampling._replace(cubic_coeff_a=-0.75) if sampling.mode == "cubic" else sampling


def instead(
    of: Collection[str],
    coordinate_transformation_mode: str,
    nearest_mode: str | None = None,
    modes: Collection[str] = ("nearest", "linear", "cubic"),
) -> Deviation:
    """Nodes of these coordinate modes, in these modes, are sampled in another one."""
    change = by(coordinate_transformation_mode, nearest_mode)
    return _where(lambda f, sampling: sampling.form[0].value in of, change, modes)


def old_resize(coordinate_transformation_mode: str, nearest_mode: str, modes: Collection[str]) -> Deviation:
    """Resize-10, which has no coordinate attributes, is read with the defaults of Resize-11."""
    return _where(lambda f, sampling: f.is_old_resize, by(coordinate_transformation_mode, nearest_mode), modes)


def old_upsample(coordinate_transformation_mode: str, nearest_mode: str, modes: Collection[str]) -> Deviation:
    """Upsample, of which ONNX says that it is asymmetric, is sampled otherwise."""
    return _where(lambda f, sampling: f.is_upsample, by(coordinate_transformation_mode, nearest_mode), modes)


def _where(
    affected: Callable[[SiteFacts, Sampling], bool], change: Callable[[Sampling], Sampling], modes: Collection[str]
) -> Deviation:
    def deviation(f: SiteFacts, sampling: Sampling) -> Sampling:
        return change(sampling) if sampling.mode in modes and affected(f, sampling) else sampling

    return deviation


def _by_lengths(coordinates: Coordinates) -> Positions:
    """Positions by the quotient of the two lengths, in float32."""
    half = np.float32(0.5)

    def positions(scale: float, size: int, out: int) -> Floats:
        x, step = np.arange(out, dtype=np.float32), np.float32(size) / np.float32(out)
        match coordinates:
            case Coordinates.ALIGN_CORNERS | Coordinates.PYTORCH_HALF_PIXEL if out == 1:
                return np.zeros_like(x)
            case Coordinates.ALIGN_CORNERS:
                return np.asarray(x * (np.float32(size - 1) / np.float32(out - 1)), np.float32)
            case Coordinates.HALF_PIXEL | Coordinates.PYTORCH_HALF_PIXEL:
                return np.asarray((x + half) * step - half, np.float32)
            case Coordinates.TF_HALF_PIXEL_FOR_NN:
                return np.asarray((x + half) * step, np.float32)
            case _:
                return np.asarray(x * step, np.float32)

    return positions


BY_LENGTHS: Mapping[Coordinates, Positions] = {coordinates: _by_lengths(coordinates) for coordinates in Coordinates}
"""Of modes that have no formula of their own, such as half_pixel_symmetric, that of asymmetric."""


def half_up(x: Floats) -> Floats:
    """Rounds to the nearest, ties up."""
    return np.asarray(np.floor(x + np.float32(0.5)), np.float32)


def half_down(x: Floats) -> Floats:
    """Rounds to the nearest, ties down."""
    return np.asarray(np.ceil(x - np.float32(0.5)), np.float32)


EXACT_ROUNDINGS: Mapping[str, Rounding] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": half_down,
    "round_prefer_ceil": half_up,
}
"""ONNX's roundings in float32, without a tolerance at ties."""


def exact_ties(f: SiteFacts, sampling: Sampling) -> Sampling:
    """A coordinate that is next to one half is rounded as it is, where onnxruntime takes it for a tie."""
    if sampling.mode != "nearest" or sampling.rounding is not None or not f.has_coordinates:
        return sampling
    return sampling._replace(rounding=EXACT_ROUNDINGS[f.nearest_mode])


def _symmetric(scale: float, size: int, out: int) -> Floats:
    s, length, half = np.float32(scale), np.float32(size), np.float32(0.5)
    offset = length / np.float32(2) * (np.float32(1) - np.float32(out) / (s * length))
    return np.asarray(offset + (np.arange(out, dtype=np.float32) + half) / s - half, np.float32)


def symmetric_ties(f: SiteFacts, sampling: Sampling) -> Sampling:
    """half_pixel_symmetric in float32 throughout, where onnxruntime goes by way of float64: ties fall otherwise."""
    if sampling.form[0] is not Coordinates.HALF_PIXEL_SYMMETRIC or sampling.mode != "nearest":
        return sampling
    return sampling._replace(positions=_symmetric, rounding=EXACT_ROUNDINGS[f.nearest_mode])
