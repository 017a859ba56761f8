"""Whether what is local stays local: an experiment that knows two files of one network, and no plan.

Two windows are cut from one large picture, one for each model. Where the original gives on a moved window what it gave
there before, only moved, a tensor is local: no border, no position and no sum over the map decides its middle. The new
model must give the same on the part that both windows see. A tensor that the original itself fails on says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.values import Array
from resizefix.input_sizes.experiments.image_experiments import (
    Original,
    Picture,
    first_wrong,
    other_factors,
    other_numbers,
)
from resizefix.input_sizes.refusal import KEEP, asked
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.verification.compare import distances
from resizefix.verification.engine import Engine
from resizefix.verification.feeds import pictures_like

_OTHER_ORDER = 1e-4  # what a sum in another order may differ by, relative to how far the values of a map differ
_CLEARLY = 1e-2  # what refutes, relative to the same: between both, nothing is said
_COARSEST = 32  # pixels: the largest stride of a map that is looked at
_MOVES = ((1, 0), (0, 1))  # down, and across: along a diagonal some positions cannot be seen
_SHARE = 4  # the windows move by about this part of a side, and as much of each border is not compared


class Move(NamedTuple):
    """One axis of the image: its lengths in both models, how far the window of the original is moved to see whether it
    is local, and how far into the larger window the smaller one begins."""

    old: int
    new: int
    step: int
    apart: int

    @classmethod
    def of(cls, old: int, new: int) -> Move | None:
        """By whole strides; None where the map is too small to be moved, or the sizes differ by less than a stride: the
        samples of coarse maps then lie elsewhere."""
        least = min(old, new) // _SHARE
        if least < 2:
            return None
        grain = min(_COARSEST, 1 << (least.bit_length() - 1))
        step = old // _SHARE // grain * grain
        return cls(old, new, step, abs(new - old)) if (new - old) % grain == 0 else None

    @property
    def border(self) -> int:
        """What is not compared on each side: as much where the original is held against itself."""
        return min(self.old, self.new) // _SHARE

    @property
    def canvas(self) -> int:
        """What both windows and the moved one are cut from."""
        return max(self.old, self.new) + self.step

    @property
    def at_old(self) -> int:
        """Where the window of the original begins."""
        return self.apart if self.new >= self.old else 0

    @property
    def at_new(self) -> int:
        """Where the window of the new model begins."""
        return self.apart if self.new < self.old else 0


def require_local(
    engine: Engine, original: Original, after: Document, pictures: Mapping[str, Picture], is_kept: Callable[[str], bool]
) -> int:
    """Raises SizeRefusedError with the first node that computes something else on the middle of the other map; how many
    tensors are local. `is_kept`: whether the user has decided about a node, by its label."""
    moves = _moves(original.feeds, pictures)
    if moves is None:
        engine.not_tested.append(Diagnostic("verification.locality-too-small"))
        return 0
    windows = _Windows(original.feeds, pictures, moves)
    first = engine.outputs(original.session, windows.old())
    moved = {steps: engine.outputs(original.session, windows.old(steps)) for steps in _MOVES}
    axes = next(iter(pictures.values())).axes
    local = {
        name
        for name, value in first.items()
        if all(_is_local(value, second[name], axes, moves, steps) for steps, second in moved.items())
    }
    if not local:
        engine.not_tested.append(Diagnostic("verification.nothing-local"))
        return 0
    made = engine.run(after, windows.new(), extra_outputs=original.shown)
    fed = windows.new()
    made = engine.run(after, fed, extra_outputs=original.shown)
    windows_apart = [(move.old, move.new, move.at_new - move.at_old, move.border) for move in moves]
    pairs = {name: _shared(first[name], made[name], axes, windows_apart) for name in local}
    compared = {name: pair for name, pair in pairs.items() if pair is not None}
    other = other_numbers(original.document, after) | other_factors(
        original.document, {**original.feeds, **first}, {**fed, **made}
    )
    wrong = {name for name, pair in compared.items() if not _near(*pair, _CLEARLY)}
    label = first_wrong(original.document, wrong, lambda label: is_kept(label) or label in other)
    if label is not None:
        meaning = Diagnostic("verification.reading-not-local")
        raise asked(label, None, "verification.not-local", {KEEP: meaning})
    same = {name for name, pair in compared.items() if _near(*pair, _OTHER_ORDER)}
    if same:
        engine.tested.append(Diagnostic("verification.tested-locality", tensors=len(same)))
    else:
        engine.not_tested.append(Diagnostic("verification.nothing-local"))
    return len(same)


def _moves(feeds: Feeds, pictures: Mapping[str, Picture]) -> tuple[Move, Move] | None:
    """How the windows move; None where a map is too small, or images of several sizes are read."""
    sizes = {
        tuple((np.asarray(feeds[name]).shape[axis], picture.shape[axis]) for axis in picture.axes)
        for name, picture in pictures.items()
    }
    if len(sizes) != 1 or len({picture.axes for picture in pictures.values()}) != 1:
        return None
    down, across = (Move.of(old, new) for old, new in sizes.pop())
    return None if down is None or across is None else (down, across)


class _Windows:
    """Windows of one large picture in the place of each image."""

    def __init__(self, feeds: Feeds, pictures: Mapping[str, Picture], moves: tuple[Move, Move]) -> None:
        self._feeds, self._pictures, self._moves = feeds, pictures, moves
        canvases = {}
        for name, picture in pictures.items():
            fed = np.asarray(feeds[name])
            shape = list(np.maximum(picture.shape, fed.shape))
            for axis, move in zip(picture.axes, moves, strict=True):
                shape[axis] = move.canvas
            canvases[name] = np.empty(shape, fed.dtype)
        noise = np.random.default_rng(0)
        self._canvases = {name: _rough(np.asarray(value), noise) for name, value in pictures_like(canvases, 3).items()}

    def old(self, steps: tuple[int, int] = (0, 0)) -> dict[str, Value]:
        """What the original is fed, moved by so many steps along each axis."""
        places = [(move.at_old + move.step * count, move.old) for move, count in zip(self._moves, steps, strict=True)]
        return self._cut(places, {name: np.asarray(self._feeds[name]).shape for name in self._canvases})

    def new(self) -> dict[str, Value]:
        """What the new model is fed."""
        shapes = {name: picture.shape for name, picture in self._pictures.items()}
        return self._cut([(move.at_new, move.new) for move in self._moves], shapes)

    def _cut(self, places: list[tuple[int, int]], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Value]:
        made = dict(self._feeds)
        for name, canvas in self._canvases.items():
            place = [slice(length) for length in shapes[name]]
            for axis, (start, length) in zip(self._pictures[name].axes, places, strict=True):
                place[axis] = slice(start, start + length)
            made[name] = np.ascontiguousarray(canvas[tuple(place)])
        return made


def _rough(value: Array, noise: np.random.Generator) -> Array:
    """A picture in which every sample differs from its neighbours."""
    return (value + noise.uniform(-0.25, 0.25, value.shape)).astype(value.dtype) if value.dtype.kind == "f" else value


def _shared(
    one: Value, other: Value, axes: tuple[int, int], windows: Sequence[tuple[int, int, int, int]]
) -> tuple[Array, Array] | None:
    """The middle of the part of the picture that two tensors both show. `windows`, by axis: the lengths of both images,
    where the second begins in the first, and how much of each border is not compared. None where their samples do
    not lie alike."""
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray) or one.dtype.kind != "f":
        return None
    if one.ndim != other.ndim or one.ndim <= max(axes):
        return None
    if any(one.shape[axis] != other.shape[axis] for axis in range(one.ndim) if axis not in axes):
        return None
    left, right = [slice(None)] * one.ndim, [slice(None)] * one.ndim
    for axis, (first, second, begin, border) in zip(axes, windows, strict=True):
        density = Fraction(one.shape[axis], first)
        start = begin * density
        if density != Fraction(other.shape[axis], second) or start.denominator != 1:
            return None
        low, high = max(int(start), 0), min(one.shape[axis], int(start) + other.shape[axis])
        margin = math.ceil(border * density)
        if high - low <= 2 * margin:
            return None
        left[axis] = slice(low + margin, high - margin)
        right[axis] = slice(low - int(start) + margin, high - int(start) - margin)
    return one[tuple(left)], other[tuple(right)]


def _is_local(
    first: Value, second: Value, axes: tuple[int, int], moves: tuple[Move, Move], steps: tuple[int, int]
) -> bool:
    """Whether a tensor of the original moves with its window, and depends on the picture."""
    windows = [(move.old, move.old, move.step * count, move.border) for move, count in zip(moves, steps, strict=True)]
    pair = _shared(first, second, axes, windows)
    if pair is None or not all(np.isfinite(part).all() for part in pair):
        return False
    return _near(*pair, _OTHER_ORDER) and not np.array_equal(first, second)  # type: ignore[arg-type]


def _near(one: Array, other: Array, bound: float) -> bool:
    spread = float(np.ptp(one.astype(np.float64)))
    return float(distances(one, other).max(initial=0)) <= bound * max(spread, 1e-12)
