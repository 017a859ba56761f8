"""Concrete sizes for the dimensions that a file leaves open: a table of attempts, the most sensible first.

Small vectors beside an image mostly say how to resize it: what they would say for a given factor stands here too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

from resizefix.document.values import Array
from resizefix.runtimes.inputs import Dimension, TensorInput

Shape = tuple[int, ...]


class Role(Enum):
    """What a dimension counts."""

    BATCH = "batch"
    CHANNEL = "channel"
    SPATIAL = "spatial"
    LENGTH = "length"  # of a vector


class Names(Enum):
    """What equal names of dimensions are taken to say. They are no evidence: exporters reuse them."""

    NOTHING = "nothing"
    EQUAL = "equal"  # axes of one name have one size
    ONE = "one"  # open axes of all inputs but the image have one element: recurrent states at the start


class Sizing(NamedTuple):
    """One attempt. `spatial` are the trailing sizes; `spread`: later inputs with sizes of their own get larger ones."""

    batch: int
    channels: int
    spatial: tuple[int, int]
    spread: bool = False
    unknown_rank: int = 4
    names: Names = Names.EQUAL


SIZINGS = (
    # Height unlike width: a swap shows; a second image unlike the first, whatever its dimensions are called.
    Sizing(1, 3, (32, 48), spread=True, names=Names.NOTHING),
    Sizing(1, 3, (32, 48), spread=True),  # inputs that must be of one size where they say so
    Sizing(1, 3, (32, 48), unknown_rank=1),  # and where they do not
    Sizing(1, 3, (96, 128), names=Names.ONE),
    Sizing(1, 3, (64, 64)),  # five halvings, windows of 8, square position grids
    Sizing(2, 3, (64, 96)),  # exporters that specialise a batch of one
    Sizing(1, 1, (16, 16)),  # grey
    Sizing(1, 3, (224, 224)),  # baked token counts
    Sizing(1, 4, (64, 64)),  # latents, RGBA
    Sizing(1, 3, (8, 8)),
    Sizing(1, 64, (16, 16)),  # feature maps
    Sizing(1, 3, (256, 256)),
    Sizing(1, 3, (7, 7)),
    Sizing(1, 3, (320, 320)),
    Sizing(1, 3, (640, 640)),
)
# For models that are no networks, beside those.
SMALL_SIZINGS = (
    Sizing(5, 2, (6, 5), unknown_rank=2),
    Sizing(3, 5, (3, 4), unknown_rank=3),
    Sizing(1, 1, (1, 1), unknown_rank=1),
)

# What people and exporters call dimensions; anything else goes by position.
_ROLE_BY_NAME = {
    "n": Role.BATCH,
    "b": Role.BATCH,
    "batch": Role.BATCH,
    "batch_size": Role.BATCH,
    "c": Role.CHANNEL,
    "channels": Role.CHANNEL,
    "h": Role.SPATIAL,
    "w": Role.SPATIAL,
    "height": Role.SPATIAL,
    "width": Role.SPATIAL,
}
_MOST_COLOURS = 4  # a last dimension up to this size, with a larger or open one in the channels' place, is NHWC

# By which factor a small vector may ask to resize; None: it is data like any other.
FACTORS: tuple[float | None, ...] = (2.0, None, 1.0, 0.5)
# Tried when all of those fail or leave nothing: a later node may shrink what comes to it, or want one certain size.
# One for all, or another one for the last axis.
RARER_FACTORS = ((3.0, 3.0), (1.5, 1.5), (4.0, 4.0), (2.0, 1.5), (1.5, 2.0))

_MOST_ENTRIES = 8  # a roi of a rank-4 tensor


def roles_of(shape: Sequence[Dimension]) -> tuple[Role, ...]:
    """What each dimension counts, by name, else by position: NCHW, or NHWC where the last can only be colours."""
    rank = len(shape)
    if rank == 1:
        by_position = [Role.LENGTH]
    elif rank >= 3 and _is_channels_last(shape):
        by_position = [Role.BATCH, *[Role.SPATIAL] * (rank - 2), Role.CHANNEL]
    else:
        by_position = [Role.BATCH, Role.CHANNEL, *[Role.SPATIAL] * (rank - 2)][:rank]
    return tuple(
        _ROLE_BY_NAME.get(dim.lower(), role) if isinstance(dim, str) else role
        for dim, role in zip(shape, by_position, strict=True)
    )


def _is_channels_last(shape: Sequence[Dimension]) -> bool:
    second, last = shape[1], shape[-1]
    return isinstance(last, int) and last <= _MOST_COLOURS and (not isinstance(second, int) or second > _MOST_COLOURS)


def image_of(inputs: Iterable[TensorInput]) -> TensorInput | None:
    """The input that small vectors beside it are most likely about: the first of the highest known rank, at least 2."""
    ranked = [(len(entry.shape), entry) for entry in inputs if entry.shape is not None and len(entry.shape) >= 2]
    return max(ranked, key=lambda pair: pair[0])[1] if ranked else None


def sized(inputs: Sequence[TensorInput], sizing: Sizing, fixed: Mapping[str, Shape]) -> dict[str, Shape]:
    """A shape for every input: `fixed` ones as given, and through their names what they say of the others."""
    symbols: dict[object, int] = {}
    for entry in inputs:
        for dim, size in zip(entry.shape or (), fixed.get(entry.name, ()), strict=False):
            if isinstance(dim, str) and sizing.names is not Names.ONE:
                symbols.setdefault(dim, size)
    image = image_of(inputs)
    image_rank = len(image.shape) if image is not None and image.shape is not None else None
    shapes: dict[str, Shape] = {}
    growth = 1
    for entry in inputs:
        if entry.name in fixed:
            shapes[entry.name] = fixed[entry.name]
            continue
        dims = entry.shape if entry.shape is not None else (None,) * sizing.unknown_rank
        sizes = []
        grew = False
        roles = roles_of(dims)
        is_state = sizing.names is Names.ONE and entry is not image and len(dims) > 1
        for at, (dim, role) in enumerate(zip(dims, roles, strict=True)):
            symbol: object = dim
            if sizing.names is Names.NOTHING and role is Role.SPATIAL and dim not in symbols:
                symbol = entry.name, at
            length = dim if isinstance(dim, int) else symbols.get(symbol) if dim is not None else None
            if is_state and not isinstance(dim, int) and role is not Role.BATCH:
                length = 1  # whatever its name is
            if length is None:
                grew |= role is Role.SPATIAL
                length = 1 if is_state else _size(role, roles[at + 1 :].count(Role.SPATIAL), sizing, image_rank)
                length *= growth if role is Role.SPATIAL and not is_state else 1
                if isinstance(dim, str):
                    symbols[symbol] = length
            sizes.append(length)
        shapes[entry.name] = tuple(sizes)
        if grew and sizing.spread:
            growth += 1
    return shapes


class OtherSize(NamedTuple):
    """Another size for what a file leaves open: so many more images; height and width exchanged, and the
    new width halved where it is to be `narrower`."""

    more: int
    turned: bool
    narrower: bool = False


OTHER_SIZES = (
    OtherSize(1, turned=True, narrower=True),  # as many elements as before
    OtherSize(1, turned=True),
    OtherSize(1, turned=False),
    OtherSize(0, turned=True),
)
_NARROWEST = 8


def resized_by(entry: TensorInput, shape: Shape, way: OtherSize) -> Shape:
    """The shape of an input with its open axes in another size."""
    dims: Sequence[Dimension] = entry.shape or (None,) * len(shape)
    lengths, roles = list(shape), roles_of(dims)
    spatial = [at for at, role in enumerate(roles) if role is Role.SPATIAL][-2:]
    for at, (dim, role) in enumerate(zip(dims, roles, strict=True)):
        if role is Role.BATCH and not isinstance(dim, int) and len(shape) > 1:
            lengths[at] += way.more
    free = [at for at in spatial if not isinstance(dims[at], int)]
    if way.turned and len(free) == 2:
        high, wide = shape[free[1]], shape[free[0]]
        if dims[free[0]] is not None and dims[free[0]] == dims[free[1]] and high == wide:
            high = wide = max(high // 2, 1)
        elif high == wide or wide >= 3 * _NARROWEST:
            wide = wide // 2 if way.narrower or high == wide else wide
        lengths[free[0]], lengths[free[1]] = high, wide
    return tuple(lengths)


def _size(role: Role, spatial_after: int, sizing: Sizing, image_rank: int | None) -> int:
    if role is Role.BATCH:
        return sizing.batch
    if role is Role.CHANNEL:
        return sizing.channels
    if role is Role.LENGTH:  # an open vector beside an image has a number for each of its dimensions, likely
        return image_rank or sizing.spatial[-1]
    if spatial_after < len(sizing.spatial):
        return sizing.spatial[-1 - spatial_after]
    return max(sizing.spatial[0] // 4, 1)  # depth and time, kept short


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
