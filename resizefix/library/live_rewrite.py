"""What a rewrite for a runtime does there, where that runtime is installed: asked before the file is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.library.live_runtimes import places_of, seconds_left
from resizefix.operations.site import Site
from resizefix.runtimes.answers import LiveUnavailable
from resizefix.runtimes.catalogue import RUNTIMES
from resizefix.runtimes.runtime import Runtime
from resizefix.targets.target import Target
from resizefix.verification.conditions import Conditions
from resizefix.verification.in_runtime import RIGHT_WITHIN, verify_in_runtime
from resizefix.verification.verification import Verification

_MOST_SECONDS = 120.0


@dataclass(frozen=True)
class LiveProof:
    """Whether the rewrite may be written, and what is to be said of the runtime.

    `fits` is False where a resize that was rewritten differs there though its input does not, or where the runtime ran
    the model before and does not run it now.
    """

    fits: bool
    said: Diagnostic


def prove_live(
    before: Document,
    after: Document,
    changed: Sequence[Site],
    target: Target,
    conditions: Conditions,
    python: str | None = None,
) -> LiveProof:
    """Run `after` in the target's runtime and compare it, and each rewritten resize, with `before` in onnxruntime;
    `python`: which one has the runtime."""
    row = RUNTIMES.get(target.name)
    if row is None:
        return LiveProof(True, Diagnostic("library.rules-alone-no-runtime", target=target.name))
    with Runtime(row, python=python, time_limit=min(seconds_left(conditions), _MOST_SECONDS)) as runtime:
        found = verify_in_runtime(before, after, runtime, places_of(changed), conditions)
        if isinstance(found, LiveUnavailable):
            return LiveProof(True, Diagnostic("library.rules-alone", target=target.name, why=found.reason))
        if found.passed:
            return LiveProof(True, Diagnostic("library.right-in-runtime", runtime=found.runtime))
        return _judged(found, before, runtime, conditions)


def _judged(found: Verification, before: Document, runtime: Runtime, conditions: Conditions) -> LiveProof:
    why = found.reason or ""
    for drift in found.sites:
        if drift.differs and drift.input_rel_diff <= RIGHT_WITHIN:
            said = Diagnostic("library.rewrite-differs-in-runtime", node=drift.node, runtime=found.runtime, why=why)
            return LiveProof(False, said)
    if found.runtime is None:  # onnxruntime itself does not run the model
        return LiveProof(True, Diagnostic("library.rules-alone", target=runtime.row.name, why=why))
    if found.runs:
        return LiveProof(True, Diagnostic("library.other-operators-differ", runtime=found.runtime, why=why))
    if _ran(before, runtime, conditions):
        return LiveProof(False, Diagnostic("library.rewrite-stops-runtime", runtime=found.runtime, why=why))
    return LiveProof(True, Diagnostic("library.rules-alone", target=runtime.row.name, why=why))


def _ran(before: Document, runtime: Runtime, conditions: Conditions) -> bool:
    """Whether the runtime runs the model as it was."""
    found = verify_in_runtime(before, before, runtime, (), conditions)
    return isinstance(found, Verification) and bool(found.runs)
