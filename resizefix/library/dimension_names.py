"""`repair` of names of dimensions: each axis that has a length of its own gets a name of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resizefix.document.document import Document
from resizefix.document.text import value_text
from resizefix.errors import ResizefixError
from resizefix.faults.dimension_names import REUSED, ReusedName, known_names, with_names_apart
from resizefix.library import seam
from resizefix.library.result import Result, failed
from resizefix.operations.sites import find_sites
from resizefix.outcome import Outcome, Status
from resizefix.verification.conditions import Conditions
from resizefix.verification.plan import Plan


def with_names_repaired(found: Result[Document], rules: Conditions, *, verify: bool) -> Result[Document]:
    """The result with such names given, and an outcome for each name that was reused; the same result if there is none.

    Lengths are those that follow from the inputs' lengths, and with `verify` those of runs. Raises
    VerificationFailedError where the model with the new names computes anything else.
    """
    document = found.model
    reused = _by_runs(document, rules) if verify else known_names(document)
    if not reused:
        return found
    tensors = frozenset(axis.tensor for one in reused for group in one.groups[1:] for axis in group)
    made = seam.submitted(document, with_names_apart(document, reused), Plan(renamed=tensors))
    outcomes = (*found.outcomes, *_outcomes(reused, document, made))
    if not verify:
        return replace(found, model=made, outcomes=outcomes)

    # onnxruntime is imported where it runs
    from resizefix.verification.repaired import Repair, prove_repair

    verification, _ = prove_repair(Repair(document, made, (), True, ""), rules)
    if not verification.passed:
        result = Result(document, outcomes, (), verification)
        raise failed(result, "library.verification-failed-at", named=reused[0].name, why=verification.reason)
    return replace(
        found,
        model=made,
        outcomes=outcomes,
        verification=found.verification if found.verification.runs else verification,
    )


def _by_runs(document: Document, rules: Conditions) -> list[ReusedName]:
    """What runs say; what follows from the inputs' sizes where the model cannot be run."""
    from resizefix.verification.engine import Engine
    from resizefix.verification.named_sizes import names_by_runs

    try:
        return names_by_runs(document, Engine(rules, "the model"))
    except ResizefixError:
        return known_names(document)


def _outcomes(reused: Sequence[ReusedName], before: Document, after: Document) -> list[Outcome]:
    """One for each name; they count on behind the sites."""
    first = len(find_sites(before))
    found = []
    for index, one in enumerate(reused, first):
        names = list(dict.fromkeys(axis.tensor for group in one.groups[1:] for axis in group))
        texts = [[_text(document, name) for name in names] for document in (before, after)]
        reason = f"{one.fault.because}: {one.fault.fix}"
        found.append(
            Outcome(index, one.name, Status.CHANGED, reason, ", ".join(texts[0]), tuple(texts[1]), fault=REUSED)
        )
    return found


def _text(document: Document, name: str) -> str:
    graph = document.proto.graph
    value = next(value for value in (*graph.input, *graph.output) if value.name == name)
    return value_text(value)
