"""What calls give back as a small HTML table, for notebooks; escaped as the pages are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from resizefix.document.text import counted, number_text
from resizefix.library.inspect import Sites
from resizefix.library.result import Result
from resizefix.library.verdict import Verdict, Verdicts
from resizefix.operations.site import Site
from resizefix.reports import proof
from resizefix.reports.page import fragment
from resizefix.reports.screen import Table
from resizefix.reports.wording import extent, meaning, operator, origin, place, standing
from resizefix.verification.verification import Verification

_MOST_ROWS = 50


def html_of(shown: object) -> str:
    """The table of a result, sites, verdicts or a verification; of a long one the first rows, and how many more."""
    table = next(make for kind, make in _TABLES if isinstance(shown, kind))(shown)
    rest = len(table.rows) - _MOST_ROWS
    notes = (*table.notes, f"{rest} more rows") if rest > 1 else table.notes
    rows = table.rows[:_MOST_ROWS] if rest > 1 else table.rows
    return fragment("notebook", title=table.title, headings=table.headings, rows=rows, notes=notes)


def _result(result: Result) -> Table:
    rows = [(one.node, one.status.value, one.reason or "") for one in result.outcomes]
    inputs = [
        f"input {one.name}: {one.elem_type}{list(one.shape)}; feed [{', '.join(map(number_text, one.value))}] to "
        "get the original behaviour"
        for one in result.inputs
    ]
    notes = (*inputs, _proven(result.verification))
    return Table(("node", "status", "reason"), tuple(rows), result.outcome.value, notes)


def _proven(verification: Verification) -> str:
    return f"{proof.verdict(verification)}{proof.basis(verification)}"


def _sites(sites: Sequence[Site]) -> Table:
    headings = ("#", "node", "computes", "extent", "from", "scales")
    rows = [
        (
            str(site.index),
            place(site),
            f"{operator(site)} {meaning(site.interpolation)}",
            extent(site.extent),
            origin(site.origin),
            standing(site).value,
        )
        for site in sites
    ]
    return Table(headings, tuple(rows), counted(len(sites), "resize"))


def _verdicts(verdicts: Sequence[Verdict]) -> Table:
    rows = []
    for verdict in verdicts:
        rules = dict.fromkeys(violation.rule for violation in verdict.violations)
        rows.append((verdict.target.name, verdict.word, ", ".join(rules)))
    accepted = sum(verdict.accepted for verdict in verdicts)
    title = f"accepted by {accepted} of {counted(len(verdicts), 'target')}"
    return Table(("target", "verdict", "rules"), tuple(rows), title)


def _verdict(verdict: Verdict) -> Table:
    rows = [(one.node, one.rule, one.because, one.fix) for one in verdict.violations]
    notes = () if verdict.live_reason is None else (verdict.live_reason,)
    title = f"{verdict.target.name}: {verdict.word}"
    return Table(("node", "rule", "because", "fix"), tuple(rows), title, notes)


def _verification(verification: Verification) -> Table:
    return Table(proof.HEADINGS, tuple(proof.rows(verification)), _proven(verification))


_TABLES: tuple[tuple[type, Callable[[Any], Table]], ...] = (
    (Result, _result),
    (Sites, _sites),
    (Site, lambda site: _sites([site])),
    (Verdicts, _verdicts),
    (Verdict, _verdict),
    (Verification, _verification),
)
