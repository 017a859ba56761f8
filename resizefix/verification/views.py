"""What a person can look at of two tensors: one plane of both, no larger than a screen, and how far they are apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.values import Array
from resizefix.outcome import TensorDifference
from resizefix.runtimes.inputs import Value
from resizefix.verification.compare import measured

_MOST = 512  # samples of an axis; more are averaged
_MOST_OUTPUTS = 8  # with pictures; a page of more would not be read


@dataclass(frozen=True)
class PlaneView:
    """A plane of a tensor before and after, as float32[h, w] or float32[h, w, 3]; their difference, float32[h, w].

    `node` is the node that makes the tensor, None for an output of the model; `plane` says which part of the tensor it
    is, `shrunk` by how much it was averaged; of the difference each place shows the largest.
    """

    difference: TensorDifference
    node: str | None
    before: Array
    after: Array
    apart: Array
    shape: tuple[int, ...]
    plane: str
    shrunk: int


def view(difference: TensorDifference, node: str | None, before: Value, after: Value) -> PlaneView | None:
    """The plane in which the two differ most; None where there is nothing to look at: no two axes, or other shapes."""
    if not (isinstance(before, np.ndarray) and isinstance(after, np.ndarray)) or before.shape != after.shape:
        return None
    if before.ndim < 2 or before.size == 0 or before.dtype.kind not in "fiub":
        return None
    one, two, plane = _plane(before, after)
    if min(one.shape[:2]) < 2:
        return None
    shrunk = math.ceil(max(one.shape[:2]) / _MOST)
    with np.errstate(invalid="ignore"):
        apart = np.abs(two - one)
    apart = apart.max(axis=-1) if apart.ndim == 3 else apart
    small = _by_blocks(one, shrunk, np.mean), _by_blocks(two, shrunk, np.mean), _by_blocks(apart, shrunk, np.max)
    return PlaneView(difference, node, *small, tuple(before.shape), plane, shrunk)


def views_of(feed: str, before: Mapping[str, Value], after: Mapping[str, Value]) -> tuple[PlaneView, ...]:
    """What there is to look at of the outputs of two models that were fed the same; `feed` is what that is called."""
    common = [name for name in before if name in after][:_MOST_OUTPUTS]
    pairs = ((measured(feed, name, before[name], after[name]), before[name], after[name]) for name in common)
    planes = (view(difference, None, old, new) for difference, old, new in pairs)
    return tuple(one for one in planes if one is not None)


def _plane(before: Array, after: Array) -> tuple[Array, Array, str]:
    """[h, w] or [h, w, 3] of both, in float32."""
    one, two = before, after
    notes: list[str] = []
    while one.ndim > 4:
        one, two = _farthest(one, two, notes)
    if one.ndim == 4:
        index = _index(one, two)
        one, two = one[index], two[index]
    if one.ndim == 3:
        if one.shape[0] == 3:
            one, two = np.moveaxis(one, 0, -1), np.moveaxis(two, 0, -1)
            notes.append(Diagnostic("verification.in-colour"))
        elif one.shape[-1] == 3 and one.shape[0] != 1:
            notes.append(Diagnostic("verification.in-colour"))
        elif one.shape[-1] == 1 and one.shape[0] > 1:
            one, two = one[..., 0], two[..., 0]
        else:
            one, two = _farthest(one, two, notes)
    return one.astype(np.float32), two.astype(np.float32), ", ".join(notes)


def _farthest(one: Array, two: Array, notes: list[str]) -> tuple[Array, Array]:
    """The part along the first axis in which the two differ most."""
    index = _index(one, two)
    if one.shape[0] > 1:
        name = {3: "channel", 5: "image"}.get(one.ndim, "part")
        notes.append(Diagnostic("verification.largest-at", part=name, index=index, count=one.shape[0]))
    return one[index], two[index]


def _index(one: Array, two: Array) -> int:
    """Where along the first axis the two differ most."""
    with np.errstate(invalid="ignore"):
        pairs = zip(one, two, strict=True)
        each = [float(np.nanmax(np.abs(b.astype(np.float32) - a.astype(np.float32)), initial=0.0)) for a, b in pairs]
    return int(np.argmax(each))


def _by_blocks(plane: Array, by: int, reduce: Callable[..., Any]) -> Array:
    """Squares of `by` samples as one, and what is left over at the edges dropped."""
    height, width = (max(size // by, 1) for size in plane.shape[:2])
    rows, columns = (min(by, size) for size in plane.shape[:2])
    blocks = plane[: height * rows, : width * columns].reshape(height, rows, width, columns, *plane.shape[2:])
    return np.asarray(reduce(blocks, axis=(1, 3)), np.float32)
