"""A float32 scale for a wanted output size: float32(out/in) is one pixel short half of the time under some rule."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from resizefix.dialects.resized_length import every_rule_gives, sampled_scale
from resizefix.equivalences.axis_forms import LONGEST
from resizefix.equivalences.index_map import Form, samples
from resizefix.interpolation import Mode

_REACH = 8
"""How many neighbouring float32 values are tried on each side."""


def robust_scale(size: int, out: int) -> float | None:
    """The float32 scale nearest to out/in that makes `size` into `out` under every output-size rule; None: none does.

    For sizes up to 2²² that is the quotient, or one unit in the last place above it.

    Raises:
        ValueError: a size below 1.

    """
    return next((scale for scale in _neighbours(size, out) if every_rule_gives(scale, size, out)), None)


def scale_for_size(size: int, out: int, mode: Mode, form: Form, *, antialias: bool = False) -> float | None:
    """A float32 scale that makes `size` into `out` under every rule *and* samples as sizes do; None: there is none.

    Sizes make onnxruntime sample by the quotient. A neighbour of it that has the right length may move coordinates by a
    unit in the last place, which flips some nearest indices and changes the bits of other modes; only a scale for which
    the samples are the same is returned. Samples of axes longer than `LONGEST` are not compared: there is none.

    Raises:
        ValueError: a size below 1, or coordinates that depend on a roi.

    """
    if max(size, out) > LONGEST:
        return None
    wanted = samples(mode, antialias, form, sampled_scale(size, out), size, out)
    for scale in _neighbours(size, out):
        if every_rule_gives(scale, size, out) and samples(mode, antialias, form, scale, size, out) == wanted:
            return scale
    return None


def _neighbours(size: int, out: int) -> Iterator[float]:
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
