"""A verification in words and as rows: at what it was run, and how far the two models were apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from resizefix.printable import printable
from resizefix.reports.wording import times
from resizefix.verification.verification import Run, Verification

HEADINGS = ("optimisation", "shapes", "fed", "result")
_MOST_VALUES = 8  # of one input


def verdict(verification: Verification) -> str:
    """`verification passed`."""
    return f"verification {verification.status.value}"


def basis(verification: Verification) -> str:
    """What the verdict rests on, to stand behind it; begins with a colon where there is something."""
    told = ""
    if verification.runs:
        bitwise = sum(run.bitwise for run in verification.runs)
        worst = max(run.max_abs_diff for run in verification.runs)
        told = f": {bitwise} of {len(verification.runs)} runs bitwise equal"
        if worst:
            told += f", largest difference {worst:.2g}"
    return told if verification.reason is None else f"{told}: {printable(verification.reason)}"


def rows(verification: Verification) -> list[tuple[str, str, str, str]]:
    """A row for each run, as HEADINGS name its cells; all that comes from a file is printable."""
    return [
        (
            "default level" if run.optimized else "disabled",
            shapes_text(run.shapes),
            _fed(run.values),
            _result(run),
        )
        for run in verification.runs
    ]


def shapes_text(shapes: Mapping[str, Sequence[int]]) -> str:
    """`x 1×3×32×48; n scalar`: what inputs were fed, by shape."""
    return "; ".join(f"{printable(name)} {times(shape) or 'scalar'}" for name, shape in shapes.items())


def _fed(values: Mapping[str, Sequence[Any]]) -> str:
    told = []
    for name, given in values.items():
        shown = ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in given[:_MOST_VALUES])
        told.append(f"{name} = {shown}{', …' if len(given) > _MOST_VALUES else ''}")
    return printable("; ".join(told)) or "random values"


def _result(run: Run) -> str:
    if run.bitwise:
        return "bitwise equal" + (" to the original with these sizes" if run.reference == "sizes" else "")
    allowed = f"; {run.bound:.2g} allowed" if run.bound else ""
    return f"differs by up to {run.max_abs_diff:.2g} ({run.max_rel_diff:.2g} of the largest value{allowed})"
