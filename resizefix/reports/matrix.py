"""`check --html` and `check --markdown`: a row for each node, a column for each target, and why one refuses it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from resizefix.document.document import Document
from resizefix.document.text import counted
from resizefix.library.verdict import Verdict
from resizefix.reports.families import Headline, newest_first
from resizefix.reports.markdown import code, prose, rule_line, table
from resizefix.reports.next_step import NextStep
from resizefix.reports.page import page
from resizefix.reports.survey import Broken, Survey, broken_rules
from resizefix.reports.wording import MARKS, live_verdict, titled


class MatrixRow(NamedTuple):
    """One node, and what each target says to it."""

    title: str
    verdicts: tuple[Verdict, ...]

    @property
    def broken(self) -> tuple[Broken, ...]:
        """The rules that it breaks."""
        return broken_rules(self.verdicts)


def rows_of(document: Document, verdicts: Sequence[Verdict]) -> list[MatrixRow]:
    """The resizes in the order of `inspect`, then other nodes that some target refuses as resizes."""
    sites = Survey(document, targets=[verdict.target for verdict in verdicts]).sites
    rows = [MatrixRow(titled(surveyed.site), surveyed.verdicts) for surveyed in sites]
    labels = {violation.node for row in rows for verdict in row.verdicts for violation in verdict.violations}
    others = dict.fromkeys(violation.node for verdict in verdicts for violation in verdict.violations)
    return rows + [
        MatrixRow(
            node, tuple(Verdict(one.target, tuple(v for v in one.violations if v.node == node)) for one in verdicts)
        )
        for node in others
        if node not in labels
    ]


def matrix_page(
    model: str, rows: Sequence[MatrixRow], verdicts: Sequence[Verdict], step: NextStep | None = None
) -> str:
    """The page; `model` is how the user named the file, `step` what to type next. A rule is said once, with
    the nodes that break it."""
    shown, old = newest_first(verdicts)
    nodes: dict[Broken, list[str]] = {}
    for row in rows:
        for broken in row.broken:
            nodes.setdefault(broken, []).append(row.title)
    return page(
        "check",
        _headline(rows, verdicts),
        "resizefix check",
        name=PurePath(model).name,
        rows=rows,
        verdicts=verdicts,
        shown=_columns(rows, verdicts, shown),
        old=_columns(rows, verdicts, old),
        broken=list(nodes),
        nodes_of=list(nodes.values()),
        all_verdicts=[each for row in rows for each in row.verdicts],
        live=_live(verdicts),
        step=step,
    )


def _columns(rows: Sequence[MatrixRow], verdicts: Sequence[Verdict], some: Sequence[Verdict]) -> dict[str, Any]:
    """Some columns of the matrix: `headings`, and `rows` that hold for each node its name and the verdicts."""
    places = [verdicts.index(one) for one in some]
    cells = [(row.title, [row.verdicts[place] for place in places]) for row in rows] if places else []
    return {"headings": ("node", *(one.target.name for one in some)), "rows": cells}


def matrix_markdown(
    model: str, rows: Sequence[MatrixRow], verdicts: Sequence[Verdict], step: NextStep | None = None
) -> str:
    """The same for a pull request."""
    parts = [f"### {code(PurePath(model).name)}: {counted(len(rows), 'node')}, {_accepted(verdicts)}"]
    if rows:
        headings = ["node", *(one.target.name for one in verdicts)]
        cells = [[code(row.title), *(MARKS[one.word] for one in row.verdicts)] for row in rows]
        parts.append(table(headings, cells))
    lines = [rule_line(broken, f"{code(row.title)}: ") for row in rows for broken in row.broken]
    following = [] if step is None else [f"To {step.purpose}: {code(step.command)}"]
    return (
        "\n\n".join([*parts, *(["\n".join(lines)] if lines else []), *map(prose, _live(verdicts)), *following]) + "\n"
    )


def _accepted(verdicts: Sequence[Verdict]) -> str:
    taken = [one.target.name for one in verdicts if one.accepted]
    return f"accepted by {len(taken)} of {counted(len(verdicts), 'target')}"


_BY = {"accepted": "accepted", "rejected": "rejected", "different": "computed differently"}


def _headline(rows: Sequence[MatrixRow], verdicts: Sequence[Verdict]) -> Headline:
    accepted = sum(one.accepted for one in verdicts)
    tone = "yes" if accepted == len(verdicts) else "care" if accepted else "no"
    nodes = counted(len(rows), "resize")
    if len(verdicts) > 1:
        return Headline((_accepted(verdicts), nodes), tone)
    return Headline((f"{_BY[verdicts[0].word]} by {verdicts[0].target.name}", nodes), tone)


def _live(verdicts: Sequence[Verdict]) -> list[str]:
    """What real parsers said to the whole model."""
    lines = []
    for one in verdicts:
        if one.live is not None:
            word = live_verdict(one.live)
            errors = "; ".join(error.message for error in one.live.errors)
            lines.append(f"{one.target.name}, live: {one.live.parser} {word}{': ' if errors else ''}{errors}")
        elif one.live_reason is not None:
            lines.append(f"{one.target.name}: {one.live_reason}")
    return list(dict.fromkeys(lines))
