"""`--markdown` of inspect, diff and verify: what a pull request should show, with a diagram for every site.

A neighbourhood as a mermaid flowchart, which GitHub draws in Markdown.

GitHub-flavoured Markdown whose text cannot be taken for markup, a mention, a link or an issue's number.
"""

from __future__ import annotations

import html
import re
from pathlib import PurePath

from resizefix.document.text import counted, listed
from resizefix.operations.diff import Change
from resizefix.printable import printable, shortened
from resizefix.reports import proof
from resizefix.reports.comparison import Comparison, Fate, SitePair
from resizefix.reports.next_step import next_step
from resizefix.reports.surroundings import Box, BoxKind, Mark, Neighbourhood
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
    places: dict[Broken, list[str]] = {}
    for surveyed in survey.sites:
        for broken in surveyed.broken:
            places.setdefault(broken, []).append(str(surveyed.site.index))
    # As code, for GitHub makes a link to an issue of a bare #1.
    nodes = {broken: listed([code(f"#{index}") for index in indices]) for broken, indices in places.items()}
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


def _pair(pair: SitePair, *, is_open: bool) -> str:
    surveyed = pair.after or pair.before
    assert surveyed is not None
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
    line = f"{summary(place(surveyed.site))} {pair.fate.value}"
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
    note = f"\n\n{left} more are not shown; `resizefix diff` lists them all." if left > 0 else ""
    return fenced("diff", "\n".join(lines)) + note


_MOST_COLUMNS = 40
# Opening and closing of a node's shape, by what it stands for.
_SHAPES = {
    BoxKind.INPUT: ("([", "])"),
    BoxKind.OUTPUT: ("([", "])"),
    BoxKind.CONSTANT: ("[", "]"),
    BoxKind.OPERATOR: ("(", ")"),
    BoxKind.RESIZE: ("(", ")"),
    BoxKind.MORE: ("(", ")"),
}
# Colours of text and background together, so that they are readable whatever the page's theme is.
_STYLES = {
    "resize": "fill:#ddf4ff,stroke:#0550ae,color:#1b1f24,stroke-width:2px",
    "new": "fill:#dafbe1,stroke:#116329,color:#1b1f24,stroke-width:3px",
    "changed": "fill:#fff8c5,stroke:#7d4e00,color:#1b1f24,stroke-width:3px",
    "removed": "fill:#ffebe9,stroke:#a40e26,color:#1b1f24,stroke-width:2px,stroke-dasharray:6 3",
}


def flowchart(picture: Neighbourhood) -> str:
    """The lines of the diagram, without the fence around them."""
    numbers = {box.key: f"n{number}" for number, box in enumerate(picture.boxes)}
    lines = ["flowchart TD"]
    used: dict[str, list[str]] = {}
    for box in picture.boxes:
        opening, closing = _SHAPES[box.kind]
        lines.append(f'  {numbers[box.key]}{opening}"{_words(box)}"{closing}')
        style = _style(box)
        if style is not None:
            used.setdefault(style, []).append(numbers[box.key])
    for edge in picture.edges:
        text = escaped(" ".join(filter(None, (edge.operand, edge.label))))
        label = f'|"{text}"|' if text else ""
        lines.append(f"  {numbers[edge.source]} -->{label} {numbers[edge.target]}")
    for style, nodes in used.items():
        lines.append(f"  classDef {style} {_STYLES[style]}")
        lines.append(f"  class {','.join(nodes)} {style}")
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Text for a quoted label: all but letters, digits and a few harmless signs as mermaid's entity codes."""
    return "".join(
        character if character.isalnum() or character in " _-./,:×?…" else f"#{ord(character)};"
        for character in printable(text)
    )


def _words(box: Box) -> str:
    mark = f"{box.mark.value}: " if box.mark else ""
    lines = [f"{mark}{box.title}", *([box.name] if box.name else []), *box.lines]
    return "<br/>".join(escaped(shortened(printable(line), _MOST_COLUMNS)) for line in lines)


def _style(box: Box) -> str | None:
    if box.mark in (Mark.NEW, Mark.REMOVED, Mark.CHANGED):
        return box.mark.value
    return "resize" if box.kind is BoxKind.RESIZE else None


# What counts within a line; a cell or an item of a list never begins one with text of a file.
_PUNCTUATION = re.compile(r"([*_\[\]<>~$])")
# What backslashes do not help against in every place, tables above all.
_ENTITIES = str.maketrans({character: f"&#{ord(character)};" for character in "\\|`&"})
# What GitHub makes a link of without any markup; a zero-width space within keeps it text.
_LINKING = re.compile(r"(@|#(?=\w)|(?<=\w):(?=//)|\b[wW]{3}(?=\.)|\b[gG][hH](?=-\d))")
_APART = "&#8203;"


def prose(text: str) -> str:
    """Text as a part of a sentence or a table's cell."""
    parts = []
    for number, part in enumerate(_LINKING.split(printable(text))):
        escaped = _PUNCTUATION.sub(r"\\\1", part.translate(_ENTITIES))
        parts.append(escaped + (_APART if number % 2 else ""))
    return "".join(parts)


def code(text: str) -> str:
    """A name or value as code, in a sentence or a table's cell."""
    shown = printable(text)
    if not shown.strip() or any(character in shown for character in "|\\`"):
        return f"<code>{prose(text)}</code>"
    return f"`{shown}`"


def summary(text: str) -> str:
    """Text for a line of HTML, as `code`, where GitHub looks for no mentions."""
    return f"<code>{html.escape(printable(text))}</code>"


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def fenced(language: str, text: str) -> str:
    """A block that is not interpreted; the fence is longer than any within."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def folded(line: str, content: str) -> str:
    """Content that unfolds under a line of HTML."""
    return f"<details><summary>{line}</summary>\n\n{content}\n\n</details>"
