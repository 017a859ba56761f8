"""Small vectors beside an image mostly say how to resize it; here is what they would say for a given factor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resizefix.document.values import Array
from resizefix.verification.sizing import Role

Shape = tuple[int, ...]

# By which factor a small vector may ask to resize; None: it is data like any other.
FACTORS: tuple[float | None, ...] = (2.0, None, 1.0, 0.5)
# Tried when all of those fail or leave nothing: a later node may shrink what comes to it, or want one certain size.
# One for all, or another one for the last axis.
RARER_FACTORS = ((3.0, 3.0), (1.5, 1.5), (4.0, 4.0), (2.0, 1.5), (1.5, 2.0))

_MOST_ENTRIES = 8  # a roi of a rank-4 tensor


def is_small_vector(shape: Shape, kind: str) -> bool:
    """Whether a number, a vector, or (integers alone) a table may be scales, sizes, a roi, a count or a condition."""
    if kind == "b":
        return int(np.prod(shape)) == 1
    if kind in "iu":
        return len(shape) <= 2 and (not shape or 0 < shape[-1] <= _MOST_ENTRIES)
    return kind in "fV" and len(shape) <= 1 and (not shape or 0 < shape[0] <= _MOST_ENTRIES)


def vector_value(
    shape: Shape, kind: str, image: Shape, roles: Sequence[Role], factor: float, last: float | None = None
) -> Array | None:
    """The vector that asks for `image`, whose dimensions count what `roles` say, to be resized by `factor`; by `last`
    on the last axis that is.

    By length: one entry per dimension or per spatial dimension are sizes (integers) or scales; two per dimension a roi;
    a single one the factor itself or a count. None: neither.
    """
    length = shape[-1] if shape else 1
    spatial = [at for at, role in enumerate(roles) if role is Role.SPATIAL]
    scales = [factor if at in spatial else 1.0 for at in range(len(image))]
    if spatial and last is not None:
        scales[spatial[-1]] = last
    entries = [max(int(size * scale), 1) for size, scale in zip(image, scales, strict=True)] if kind in "iu" else scales
    if shape and length == len(image):
        row = entries
    elif shape and length == len(spatial):
        row = [entries[at] for at in spatial]
    elif length == 1:
        row = [max(int(factor), 1) if kind in "iu" else factor]
    elif length == 2 * len(image) and kind not in "iu":
        row = [
            *(0.25 * (at in spatial) for at in range(len(image))),
            *(1 - 0.25 * (at in spatial) for at in range(len(image))),
        ]
    else:
        return None
    value: Array = np.broadcast_to(np.array(row if shape else row[0]), shape).copy()
    return value
