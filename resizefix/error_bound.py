"""How near new nodes come to what they replace."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ErrorBound:
    """How near new nodes come to what stood there before, run in onnxruntime with optimisation disabled.

    `exact`: the same bits for every input. Otherwise `bound` limits the largest absolute difference for finite inputs
    of magnitude up to 1 (multiply for larger ones); 0 is equality as numbers: the sign of a zero, or which NaN it is,
    may differ. `note` says what to know besides. `conditions`: for which inputs all this holds; empty: for all.
    """

    exact: bool = True
    bound: float = 0.0
    note: str = ""
    conditions: tuple[str, ...] = ()
