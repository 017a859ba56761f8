"""Whether the machine has the memory to run a model at some sizes and scales, asked before it is run."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from resizefix.document.document import Document
from resizefix.document.shapes import Key
from resizefix.verification.footprint import peak_bytes
from resizefix.verification.inputs import Value
from resizefix.verification.limits import Limits, in_words
from resizefix.verification.trials import Trial
from resizefix.verification.twin import Baked, rebake


class Room:
    """What an original may take, at the scales it has and at others."""

    def __init__(self, original: Document, limits: Limits) -> None:
        self._original = original
        self._most = limits.bytes
        self._usual: dict[tuple[tuple[str, tuple[int, ...]], ...], int] = {}

    def why_not(self, feeds: Mapping[str, Value]) -> str | None:
        """Why the original is not run on these feeds; None: it fits."""
        return self._refusal(self._peak(feeds))

    def why_not_at(self, feeds: Mapping[str, Value], trial: Trial) -> str | None:
        """The same with other scales in it."""
        growth = math.prod(_growth(trial))
        if self._peak(feeds) * growth <= self._most / 2:  # nothing but a resize makes tensors larger by the scale
            return None
        return self._refusal(self._exactly(feeds, trial.baked()))

    def _peak(self, feeds: Mapping[str, Value]) -> int:
        shapes = tuple(_shapes(feeds).items())
        if shapes not in self._usual:
            self._usual[shapes] = self._exactly(feeds, {})
        return self._usual[shapes]

    def _exactly(self, feeds: Mapping[str, Value], operands: Mapping[Key, Baked]) -> int:
        return peak_bytes(rebake(self._original, operands), _shapes(feeds))

    def _refusal(self, peak: int) -> str | None:
        if peak <= self._most:
            return None
        return (
            f"its tensors take {in_words(peak)} or more at these sizes, and {in_words(self._most)} may be used; give "
            "smaller sizes with --shape, or more with --memory-limit"
        )


def _shapes(feeds: Mapping[str, Value]) -> dict[str, tuple[int, ...]]:
    return {name: value.shape for name, value in feeds.items() if isinstance(value, np.ndarray)}


def _growth(trial: Trial) -> list[float]:
    found: list[float] = []
    for source, value in trial.values:
        for driven in source.sites:
            pairs = zip(driven.operand(value), driven.base, strict=True)
            found.extend(max(1.0, new / old) ** 2 for new, old in pairs if old > 0)
    return found
