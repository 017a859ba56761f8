"""The sites of a model and the changes between two, for a person at a terminal.

What may be long (names, reasons) stands on lines of its own, which a terminal wraps below their beginning and which a
pipe gets whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from resizefix.document.text import counted, listed
from resizefix.library.resolution import InputResolution, SizeFreedom
from resizefix.printable import printable
from resizefix.reports.next_step import NextStep, next_step
from resizefix.reports.screen import Screen, screen
from resizefix.reports.survey import Survey, Surveyed
from resizefix.reports.wording import (
    Standing,
    are_the_same,
    columns,
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
    place,
    runs_of_targets,
    some_of,
    standing,
    tensor,
)

if TYPE_CHECKING:
    from resizefix.operations.diff import Change

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
        _show_site(out, group[0], rows[group[0].site.index], widths, reasons, verbose=verbose)
        if len(group) > 1:
            others = numbered([surveyed.site.index for surveyed in group[1:]])
            out.below((f"{len(group)} nodes alike: also {others} (-v lists each)", "dim"))
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
    from resizefix.operations.as_resize import meaning_of, operators_of, spelled

    for one in survey.written:
        operators = ", ".join(operators_of(one))
        out.wrapped(printable(f"resize written as {operators}: {one.label}: {spelled(meaning_of(one))}"))
    out.wrapped("resizefix set IN OUT form=resize writes them as Resize")


def _show_resolution(out: Screen, survey: Survey) -> None:
    line = resolution_line(survey.resolution)
    if line is not None:
        out.wrapped(line)


def resolution_line(found: InputResolution) -> str | None:
    """What to say of the input's height and width; None where no input has them."""
    if found.freedom is SizeFreedom.NO_IMAGE or found.size is None:
        return None
    size = "x".join("?" if length is None else str(length) for length in found.size)
    named = some_of(found.nodes)
    if found.freedom is SizeFreedom.FREE:
        return "resolution: not fixed by the file"
    if found.freedom is SizeFreedom.FIXED:
        return f"resolution: fixed at {size}; resizefix input-size says whether it can change"
    if found.freedom is SizeFreedom.DECLARED:
        return f"resolution: declared open, fixed at {size} by {named}; resizefix input-size changes it"
    if found.freedom is SizeFreedom.ASKED:
        return f"resolution: {size}; for another one, resizefix input-size asks about {named}"
    if found.freedom is SizeFreedom.IMPOSSIBLE:
        return f"resolution: {size}; resizefix input-size refuses another at {named}: {printable(found.reason or '')}"
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
    if site.reason is not None and standing(site) is not Standing.FED:
        first = reasons.setdefault(site.reason, site.index)
        out.below((printable(site.reason) if first == site.index else f"for the same reason as #{first}", "dim"))
    if standing(site) is Standing.COUPLED:
        out.below((printable(coupled_at(site)), "dim"))
    if site.warning is not None:
        out.below((f"warning: {printable(site.warning)}", "yellow"))
    for fault in surveyed.faults:
        text = fault_text(fault)
        first = reasons.setdefault(text, site.index)
        out.below((printable(f"fault {fault.name}: {text if first == site.index else f'as in #{first}'}"), "yellow"))
    if verbose:
        out.below(f"reads {printable(site.input)} {tensor(site.input_dims, site.elem_type)}")
        out.below(f"makes {printable(site.output)} {tensor(site.output_dims, site.elem_type)}")
        refusing = surveyed.refusing
        out.below(f"not accepted by {listed(runs_of_targets(refusing))}" if refusing else "accepted by every target")


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
