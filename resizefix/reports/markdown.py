"""`--markdown` of inspect, diff and verify: what a pull request should show, with a diagram for every site."""

from __future__ import annotations

from pathlib import PurePath

from resizefix.document.text import counted, listed
from resizefix.operations.diff import Change
from resizefix.printable import printable
from resizefix.reports import proof
from resizefix.reports.comparison import Comparison, Fate, Pair
from resizefix.reports.gfm import code, fenced, folded, prose, summary, table
from resizefix.reports.mermaid import flowchart
from resizefix.reports.neighbourhood import Neighbourhood
from resizefix.reports.next_step import next_step
from resizefix.reports.survey import Broken, Survey, Surveyed
from resizefix.reports.wording import (
    Standing,
    are_the_same,
    coupling,
    extent,
    fault_text,
    is_the_same,
    meaning,
    operator,
    origin,
    origin_kind,
    place,
    runs_of_targets,
    standing,
    titled,
)
from resizefix.targets.catalogue import TARGETS
from resizefix.verification.verification import Verification

_MOST_CHANGES = 200


def inspect_markdown(model: str, survey: Survey) -> str:
    """The sites of one model; `model` is how the user named the file."""
    sites = survey.sites
    title = f"{counted(len(sites), 'resize')}, {survey.counts} · opset {survey.opset}"
    parts = [f"### {code(PurePath(model).name)}: {title}"]
    if sites:
        headings = ["#", "node", "computes", "extent", "from", "scales", "targets"]
        parts.append(table(headings, [_row(surveyed) for surveyed in sites]))
        parts.append(_rules(survey))
    step = next_step(model, survey)
    if step is not None:
        parts.append(f"To {step.purpose}:\n\n{fenced('console', step.command)}")
    for surveyed in sites:
        line = summary(titled(surveyed.site))
        parts.append(folded(line, f"{_diagram(surveyed.picture)}\n\n{_details(surveyed)}"))
    return "\n\n".join(parts) + "\n"


def diff_markdown(before: str, after: str, comparison: Comparison, verification: Verification | None = None) -> str:
    """What changed between two models: what came of running both, the sites before and after, then everything."""
    names = [code(PurePath(name).name) for name in (before, after)]
    parts = [f"### {names[0]} → {names[1]}: {counted(len(comparison.changes), 'change')}"]
    parts.extend(_proof(verification))
    touched = [pair for pair in comparison.pairs if pair.is_touched]
    sized = [pair for pair in comparison.pairs if pair.fate is Fate.SIZED]
    if comparison.pairs:
        surveys = comparison.before, comparison.after
        taken = [[f"{one.taken(number)} of {len(one.sites)}" for one in surveys] for number in range(len(TARGETS))]
        rows = [[code(target.name), *counts] for target, counts in zip(TARGETS, taken, strict=True)]
        moved = [row for row in rows if row[1] != row[2]]
        parts.append(f"{len(touched)} of {counted(len(comparison.pairs), 'resize')} changed.")
        if sized:
            names = [code(place(pair.before.site)) for pair in sized if pair.before]
            parts.append(f"{len(sized)} with other sizes: {listed(names)}.")
        if moved:
            parts.append("Targets whose verdict differs:")
            parts.append(table(["target", "before", "after"], moved))
    parts.extend(_pair(pair, is_open=len(touched) == 1) for pair in touched)
    if not comparison.changes:
        parts.append(f"The models {are_the_same(comparison.meaning_only)}.")
    else:
        rest = is_the_same(comparison.meaning_only)
        parts.append(folded(f"Every change; what is not listed {rest}", _changes(comparison.changes)))
    return "\n\n".join(parts) + "\n"


def runtime_markdown(model: str, verification: Verification) -> str:
    """One model in another runtime, compared with onnxruntime resize by resize."""
    heading = f"### {code(PurePath(model).name)}{prose(proof.where(verification))}"
    return "\n\n".join([heading, *_proof(verification)]) + "\n"


def _proof(verification: Verification | None) -> list[str]:
    if verification is None:
        return []
    tables = (
        (proof.HEADINGS, proof.rows(verification)),
        (proof.TENSOR_HEADINGS, proof.tensor_rows(verification)),
        (proof.SITE_HEADINGS, proof.site_rows(verification)),
    )
    parts = [f"**{proof.verdict(verification)}**{prose(proof.basis(verification))}"]
    for headings, rows in tables:
        if rows:
            parts.append(table(list(headings), [[prose(cell) for cell in row] for row in rows]))
    return parts


def _row(surveyed: Surveyed) -> list[str]:
    site = surveyed.site
    return [
        str(site.index),
        code(place(site)),
        f"{prose(operator(site))} {prose(meaning(site.interpolation))}",
        prose(extent(site.extent)),
        f"{origin_kind(site.origin)} {code(site.origin.name)}" if site.origin.name else origin_kind(site.origin),
        standing(site).value,
        f"{sum(surveyed.accepted)} of {len(TARGETS)}",
    ]


def _rules(survey: Survey) -> str:
    """The rules that any site breaks, each said once."""
    if not survey.refusing and not any(surveyed.broken for surveyed in survey.sites):
        return "Accepted by every target."
    found: dict[Broken, list[str]] = {}
    for surveyed in survey.sites:
        for broken in surveyed.broken:
            found.setdefault(broken, []).append(str(surveyed.site.index))
    # As code, for GitHub makes a link to an issue of a bare #1.
    nodes = {broken: listed([code(f"#{index}") for index in indices]) for broken, indices in found.items()}
    lines = [f"{rule_line(broken)} Node {named}." for broken, named in nodes.items()]
    refused = (
        f"Not accepted by {listed([summary(run) for run in runs_of_targets(survey.refusing)])}"
        if survey.refusing
        else "Notes"
    )
    return folded(refused, "\n".join(lines))


def _details(surveyed: Surveyed) -> str:
    site = surveyed.site
    lines = [f"- Its {site.extent.kind.value} come from {prose(origin(site.origin))}."]
    if standing(site) is Standing.FIXED:
        lines.append(f"- Not promotable: {prose(site.reason or '')}")
    if standing(site) is Standing.COUPLED:
        lines.append(f"- Coupled: {prose(coupling(site))}")
    if site.warning is not None:
        lines.append(f"- Warning: {prose(site.warning)}")
    lines += [f"- Fault {code(fault.name)}: {prose(fault_text(fault))}" for fault in surveyed.faults]
    return "\n".join(lines)


def rule_line(broken: Broken, where: str = "") -> str:
    """A rule that is broken, with its targets, as an item of a list; `where` stands before it."""
    names = listed([code(run) for run in runs_of_targets(broken.targets)])
    return f"- {where}{code(broken.rule)} ({names}): {prose(broken.because)}. Fix: {prose(broken.fix)}."


def _diagram(picture: Neighbourhood | None) -> str:
    return "Nothing makes this tensor." if picture is None else fenced("mermaid", flowchart(picture))


def _pair(pair: Pair, *, is_open: bool) -> str:
    known = pair.after or pair.before
    assert known is not None
    old = () if pair.before is None else pair.before.broken
    new = () if pair.after is None else pair.after.broken
    parts = []
    if pair.before is not None:
        parts += ["Before:", _diagram(pair.before.picture), _details(pair.before)]
    parts += ["After:", _diagram(pair.after_picture)]
    if pair.after is not None:
        lines = [_details(pair.after), *(rule_line(broken) for broken in new if broken not in old)]
        fixed = [code(broken.rule) for broken in old if broken not in new]
        parts.append("\n".join([*lines, *([f"- Rules no longer broken: {listed(fixed)}."] if fixed else [])]))
    elif pair.fate is Fate.REPLACED:
        parts.append("Other operators make this tensor; no Upsample or Resize does.")
    line = f"{summary(place(known.site))} {pair.fate.value}"
    shown = folded(line, "\n\n".join(parts))
    return shown.replace("<details>", "<details open>", 1) if is_open else shown


def _changes(changes: tuple[Change, ...]) -> str:
    lines = []
    for change in changes[:_MOST_CHANGES]:
        where = f" in {' / '.join(change.scope.steps)}" if change.scope else ""
        lines.append(printable(f"@@ {change.what} {change.name}{where}"))
        lines += [printable(f"- {change.before}")] if change.before is not None else []
        lines += [printable(f"+ {change.after}")] if change.after is not None else []
    left = len(changes) - _MOST_CHANGES
    more = f"\n\n{left} more are not shown; `resizefix diff` lists them all." if left > 0 else ""
    return fenced("diff", "\n".join(lines)) + more
