"""Floating-point numbers that rows of feeds never hold: the negative zero, NaN and the infinities.

`x + 0` is `x`, but for the negative zero. `Max(x, 0)` and `Where(x > 0, x, 0)` are one function, but for NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from resizefix.document.document import Document
from resizefix.document.scopes import bodies
from resizefix.document.values import Array
from resizefix.runtimes.inputs import Value


class SpecialNumbers(NamedTuple):
    """Numbers that stand at every `step`-th place, one after the other."""

    name: str
    numbers: tuple[float, ...]
    step: int

    @property
    def is_finite(self) -> bool:
        """Whether a model must make the same of them, even if it names none of them."""
        return bool(np.isfinite(self.numbers).all())

    def among(self, feeds: Mapping[str, Value]) -> dict[str, Value]:
        """The feeds with these among their floating-point numbers."""
        return {name: self._among(value) for name, value in feeds.items()}

    def _among(self, value: Value) -> Value:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fV" or value.size == 0:
            return value
        mixed: Array = value.copy()
        places = mixed.reshape(-1)[:: self.step]
        places[:] = np.resize(np.asarray(self.numbers, np.float32), len(places)).astype(value.dtype)
        return mixed


SPECIAL_NUMBERS = (
    SpecialNumbers("-0.0", (-0.0,), 2),  # beside usual numbers
    SpecialNumbers("-0.0", (-0.0,), 1),  # alone: a sum of them is one
    SpecialNumbers("NaN", (np.nan,), 3),
    SpecialNumbers("infinity", (np.inf, -np.inf), 3),
)
_ASKING = {"IsInf", "IsNaN"}


def asks_for_special(*documents: Document) -> bool:
    """Whether a node of the models asks if a number is NaN or infinite; else what they make of one is by chance."""
    nodes = (node for document in documents for _, body in bodies(document.proto) for node in body.node)
    return any(node.op_type in _ASKING for node in nodes)
