"""Feeds made of others: half way between two, or with a number added to all numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from resizefix.document.values import Array
from resizefix.runtimes.inputs import Value


def half_way(one: Mapping[str, Value], other: Mapping[str, Value]) -> dict[str, Value]:
    """The feed half way between two, in all that is numbers; the rest as in the first."""
    feeds = dict(one)
    for name, value in one.items():
        end = other.get(name)
        if isinstance(value, np.ndarray) and isinstance(end, np.ndarray) and value.dtype.kind in "iufV":
            middle = (value.astype(np.float64) + end.astype(np.float64)) / 2
            feeds[name] = np.asarray(np.floor(middle) if value.dtype.kind in "iu" else middle).astype(value.dtype)
    return feeds


def moved(feeds: Mapping[str, Value], by: float) -> dict[str, Value]:
    """The feed with a number added to all numbers, as far as their types hold it."""
    moved = dict(feeds)
    for name, value in feeds.items():
        if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
            sums = value.astype(np.float64) + by
            limits = np.iinfo(value.dtype) if value.dtype.kind in "iu" else np.finfo(value.dtype)
            moved[name] = np.asarray(
                np.clip(np.round(sums) if value.dtype.kind in "iu" else sums, limits.min, limits.max)
            ).astype(value.dtype)
    return moved


def _numbers(feeds: Mapping[str, Value]) -> list[Array]:
    values = [value for value in feeds.values() if isinstance(value, np.ndarray) and value.dtype.kind in "iuf"]
    return [np.abs(value.astype(np.float64)) for value in values if value.size]


def mean_size(feeds: Mapping[str, Value]) -> float:
    """The mean of all numbers without their signs."""
    return float(np.mean([numbers.mean() for numbers in _numbers(feeds)] or [0.0]))


def largest(feeds: Mapping[str, Value]) -> float:
    """The largest of all numbers without their signs."""
    return float(max((numbers.max() for numbers in _numbers(feeds)), default=0.0))
