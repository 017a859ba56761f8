"""The sites of a model and the changes between two, for a person at a terminal.

What may be long (names, reasons) stands on lines of its own, which a terminal wraps below their beginning and which a
pipe gets whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from resizefix.document.text import counted, listed
from resizefix.library.resolution import InputResolution, SizeFreedom
from resizefix.printable import columns, printable
from resizefix.reports.next_step import NextStep, next_step
from resizefix.reports.screen import Screen, Table, screen
from resizefix.reports.survey import Survey, Surveyed
from resizefix.reports.wording import (
    Standing,
    are_the_same,
    coupled_at,
    coupling_advice,
    extent,
    fault_text,
    few_targets,
    grouped,
    is_the_same,
    meaning,
    numbered,
    operator,
    origin,
    origin_kind,
    place,
    runs_of_targets,
    some_of,
    standing,
    tensor,
)

if TYPE_CHECKING:
    from resizefix.operations.diff import Change
    from resizefix.origins.classify import Origin

_STYLES = {Standing.PROMOTABLE: "green", Standing.FED: "green", Standing.COUPLED: "yellow", Standing.FIXED: "yellow"}
_WIDEST = max(len(standing.value) for standing in Standing)


def show_survey(model: str, survey: Survey, *, verbose: bool = False) -> None:
    """Each site with what it computes and where its scales come from; in the end what to type next."""
    out = screen(len(f"#{len(survey.sites)} "))
    if not survey.sites:
        out.line("no Upsample or Resize node in this model")
        _show_written(out, survey)
        _show_resolution(out, survey)
        return
    sites = [surveyed.site for surveyed in survey.sites]
    rows = [[operator(site), meaning(site.interpolation), extent(site.extent)] for site in sites]
    widths = [max(columns(row[number]) for row in rows) for number in range(len(rows[0]))]
    if sum(widths) + 2 * len(widths) + out.indent + _WIDEST > out.width:
        widths = [0] * len(widths)
    reasons: dict[str, int] = {}
    for group in grouped(survey.sites, lambda surveyed: surveyed.site.index if verbose else surveyed.looks):
        if len(group) > 1:
            if group[0].site.index > 0:
                out.line()
            out.table(_alike(group, reasons))
        else:
            _show_site(out, group[0], rows[group[0].site.index], widths, reasons, verbose=verbose)
    coupled = [one.site for one in survey.sites if standing(one.site) is Standing.COUPLED]
    for advice in dict.fromkeys(filter(None, map(coupling_advice, coupled))):
        out.wrapped(f"coupled nodes: {advice}")
    _show_written(out, survey)
    out.line()
    for one in survey.reused_names:
        said = f"{one.name}: {one.fault.because}; {one.fault.fix}"
        out.wrapped((f"fault {one.fault.name} ", "yellow"), printable(said), hang=4)
    out.wrapped(_summary(survey))
    _show_resolution(out, survey)
    show_step(next_step(model, survey))


def _show_written(out: Screen, survey: Survey) -> None:
    """Resizes that are written as other operators, one line each."""
    if not survey.written:
        return
    from resizefix.operations.as_resize import spelled

    for one in survey.written:
        operators = ", ".join(one.operator_names)
        other = survey.other_indices.get(one.key)
        text = f"resize written as {operators}: {one.label}: {spelled(one.interpolation)}"
        out.wrapped(printable(text if other is None else f"{text}; {other}"))
    out.wrapped("resizefix set IN OUT form=resize writes them as Resize")


def _show_resolution(out: Screen, survey: Survey) -> None:
    line = resolution_line(survey.resolution)
    if line is not None:
        out.wrapped(line)


def resolution_line(resolution: InputResolution) -> str | None:
    """What to say of the input's height and width; None where no input has them."""
    if resolution.freedom is SizeFreedom.NO_IMAGE or resolution.size is None:
        return None
    size = "x".join("?" if length is None else str(length) for length in resolution.size)
    named = some_of(resolution.nodes)
    if resolution.freedom is SizeFreedom.FREE:
        return "resolution: not fixed by the file"
    if resolution.freedom is SizeFreedom.FIXED:
        return f"resolution: fixed at {size}; resizefix input-size says whether it can change"
    if resolution.freedom is SizeFreedom.DECLARED:
        return f"resolution: declared open, fixed at {size} by {named}; resizefix input-size changes it"
    if resolution.freedom is SizeFreedom.ASKED:
        return f"resolution: {size}; for another one, resizefix input-size asks about {named}"
    if resolution.freedom is SizeFreedom.IMPOSSIBLE:
        return (
            f"resolution: {size}; resizefix input-size refuses another at {named}: {printable(resolution.reason or '')}"
        )
    held = f", held by {named}" if named else " by the input's shape alone"
    return f"resolution: frozen at {size}{held}; resizefix input-size changes it"


def show_step(step: NextStep | None) -> None:
    """What to type next, on a line of its own; nothing where there is no step."""
    if step is not None:
        out = screen(2)
        out.wrapped(f"next, to {step.purpose}:")
        out.line((f"  {step.command}", "bold"))


def _show_site(
    out: Screen,
    surveyed: Surveyed,
    cells: Sequence[str],
    widths: Sequence[int],
    reasons: dict[str, int],
    *,
    verbose: bool,
) -> None:
    site = surveyed.site
    number = f"#{site.index}".ljust(out.indent)
    named = site.label != f"#{site.index}" or site.scope.path
    out.line((number, "dim"), (place(site) if named else "(no name)", "bold"))
    padded = [cell + " " * (max(width - columns(cell), 0) + 2) for cell, width in zip(cells, widths, strict=True)]
    out.below(*padded, (standing(site).value, _STYLES[standing(site)]))
    out.below(f"from {origin(site.origin)}")
    for said in _remarks(surveyed, reasons):
        out.below((f"{said.word}: {said.text}", "yellow") if said.word else (said.text, "dim"))
    if verbose:
        out.below(f"reads {printable(site.input)} {tensor(site.input_dims, site.elem_type)}")
        out.below(f"makes {printable(site.output)} {tensor(site.output_dims, site.elem_type)}")
        refusing = surveyed.refusing
        out.below(f"not accepted by {listed(runs_of_targets(refusing))}" if refusing else "accepted by every target")


class _Remark(NamedTuple):
    """A sentence about a site; `word` says what it is, and is empty where it says why the site stands as it does."""

    word: str
    text: str


def _remarks(surveyed: Surveyed, reasons: dict[str, int]) -> list[_Remark]:
    """What is to be said of a site besides its facts. `reasons`: what was said before, and of which site."""
    site, remarks = surveyed.site, []
    if site.reason is not None and standing(site) is not Standing.FED:
        first = reasons.setdefault(site.reason, site.index)
        same = f"for the same reason as #{first}"
        remarks.append(_Remark("", printable(site.reason) if first == site.index else same))
    if standing(site) is Standing.COUPLED:
        remarks.append(_Remark("", printable(coupled_at(site))))
    if site.warning is not None:
        remarks.append(_Remark("warning", printable(site.warning)))
    for fault in surveyed.faults:
        text = fault_text(fault)
        first = reasons.setdefault(text, site.index)
        remarks.append(_Remark(f"fault {fault.name}", printable(text if first == site.index else f"as in #{first}")))
    return remarks


def _alike(group: Sequence[Surveyed], reasons: dict[str, int]) -> Table:
    """What nodes that differ in their names alone have in common."""
    sites = [surveyed.site for surveyed in group]
    first, labels = sites[0], [site.label for site in sites]
    facts = [
        ("nodes", some_of([place(site) for site in sites])),
        ("computes", f"{operator(first)} {meaning(first.interpolation)}"),
        ("resizes by", f"{extent(first.extent)}, {tensor(None, first.elem_type) or 'unknown type'}"),
        ("from", _origin_of_all([site.origin for site in sites], labels)),
        ("so each is", standing(first).value),
        *_remarks_on_all(group, reasons),
    ]
    headings = f"{len(sites)} nodes alike", f"{numbered([site.index for site in sites])} (-v lists each)"
    return Table(headings, tuple(facts))


def _remarks_on_all(group: Sequence[Surveyed], reasons: dict[str, int]) -> list[tuple[str, str]]:
    """The remarks on the first; those that name something else of each say of which node they are."""
    shared = set.intersection(*(set(_remarks(surveyed, {})) for surveyed in group))
    alone, first = _remarks(group[0], {}), group[0].site.index
    return [
        (said.word or "why", said.text if whole in shared else f"{said.text} (of #{first})")
        for said, whole in zip(_remarks(group[0], reasons), alone, strict=True)
    ]


def _origin_of_all(origins: Sequence[Origin], labels: Sequence[str]) -> str:
    """Where the scales of all these nodes come from, and which others read them."""
    apart = {origin(one._replace(shared_by=())) for one in origins}
    others = [name for name in dict.fromkeys(name for one in origins for name in one.shared_by) if name not in labels]
    readers = f"; also read by {some_of(others)}" if others else ""
    first = origins[0]
    if len(apart) == 1:
        return f"{apart.pop()}{', which all of them read' if first.name is not None else ''}{readers}"
    says = "" if first.says is None else f": {printable(first.says)}"
    return f"{origin_kind(first)}, {len(apart)} different ones{says}{readers}"


def _summary(survey: Survey) -> str:
    text = f"{counted(len(survey.sites), 'resize')}, {survey.counts}; "
    refusing = survey.refusing
    if not refusing:
        return f"{text}accepted by every target"
    return f"{text}not accepted by {listed(few_targets(refusing))}; resizefix check says why"


def show_changes(changes: Sequence[Change], *, meaning_only: bool = False) -> None:
    """Each difference with its before and after; a sentence where there is none."""
    out = screen(2)
    if not changes:
        out.line(f"the models {are_the_same(meaning_only)}")
        return
    for change in changes:
        where = f" in {printable(' / '.join(change.scope.steps))}" if change.scope else ""
        out.line((f"{change.what} {printable(change.name)}{where}", "bold"))
        for sign, value, style in (("-", change.before, "red"), ("+", change.after, "green")):
            if value is not None:
                out.below((f"{sign} {printable(value)}", style))
    out.line(f"{counted(len(changes), 'change')}; what is not listed {is_the_same(meaning_only)}")
