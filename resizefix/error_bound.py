"""How far two tensors may be apart, and who says so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ErrorBound:
    """How near new nodes come to what stood there before, run in onnxruntime with optimisation disabled; or how far the
    outputs of two models may be apart.

    `exact`: the same bits for every input. Otherwise `bound` limits the largest absolute difference for finite inputs
    of magnitude up to 1 (multiply for larger ones), or the part of an output's largest value; 0 is equality as
    numbers: the sign of a zero, or which NaN it is, may differ. With `atol` or `rtol`, which users give, each number
    may be off by atol + rtol·|before| instead. `note` says what to know besides, or why so much. `conditions`: for
    which inputs all this holds; empty: for all.
    """

    exact: bool = True
    bound: float = 0.0
    note: str = ""
    conditions: tuple[str, ...] = ()
    atol: float = 0.0
    rtol: float = 0.0

    @classmethod
    def elementwise(cls, atol: float, rtol: float) -> ErrorBound:
        """What a user allows: nothing where both are 0."""
        return cls(exact=not (atol or rtol), atol=atol, rtol=rtol)

    @property
    def is_elementwise(self) -> bool:
        """Whether each number has its own bound."""
        return bool(self.atol or self.rtol)
