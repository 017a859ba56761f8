"""The sites of a model and the changes between two, for a person at a terminal.

What may be long (names, reasons) stands on lines of its own, which a terminal wraps below their beginning and which a
pipe gets whole. Colour only on a terminal; NO_COLOR and FORCE_COLOR are rich's business.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from resizefix.operations.diff import Change
from resizefix.reports.next_step import next_step
from resizefix.reports.printable import printable
from resizefix.reports.survey import Survey, Surveyed
from resizefix.reports.wording import (
    Standing,
    columns,
    count,
    extent,
    listed,
    meaning,
    operator,
    origin,
    place,
    runs_of_targets,
    standing,
    tensor,
)

_STYLES = {Standing.PROMOTABLE: "green", Standing.FED: "green", Standing.FIXED: "yellow"}
_WIDEST = max(len(standing.value) for standing in Standing)


class _Screen:
    """A console, and how it treats long lines; `indent` is how far in a line below another begins."""

    def __init__(self, indent: int) -> None:
        self.console = Console(highlight=False)
        self.indent = indent

    def line(self, text: Text) -> None:
        """A line that is never broken here: what is copied from it is what was printed."""
        self.console.print(text, soft_wrap=True)

    def below(self, text: Text) -> None:
        """A line that belongs to the one above, wrapped under its own beginning on a terminal."""
        self.wrapped(text, self.indent)

    def wrapped(self, text: Text, indent: int = 0) -> None:
        """A line that is wrapped on a terminal."""
        width = self.console.width - indent if self.console.is_terminal else sys.maxsize
        for part in text.wrap(self.console, width):
            self.line(Text.assemble(" " * indent, part))


def show_survey(model: str, survey: Survey, *, verbose: bool = False) -> None:
    """Each site with what it computes and where its scales come from; in the end what to type next."""
    screen = _Screen(len(f"#{len(survey.sites)} "))
    if not survey.sites:
        screen.line(Text("no Upsample or Resize node in this model"))
        return
    rows = [_cells(surveyed) for surveyed in survey.sites]
    widths = [max(columns(row[number]) for row in rows) for number in range(len(rows[0]))]
    if sum(widths) + 2 * len(widths) + screen.indent + _WIDEST > screen.console.width:
        widths = [0] * len(widths)
    reasons: dict[str, int] = {}
    for surveyed, row in zip(survey.sites, rows, strict=True):
        _show_site(screen, surveyed, row, widths, reasons, verbose=verbose)
    screen.line(Text())
    screen.wrapped(_summary(survey))
    step = next_step(model, [(surveyed.site, surveyed.verdicts) for surveyed in survey.sites])
    if step is not None:
        screen.wrapped(Text(f"next, to {step.purpose}:"))
        screen.line(Text(f"  {step.command}", "bold"))


def _cells(surveyed: Surveyed) -> list[str]:
    site = surveyed.site
    return [operator(site), meaning(site.interpolation), extent(site.extent)]


def _show_site(
    screen: _Screen,
    surveyed: Surveyed,
    cells: Sequence[str],
    widths: Sequence[int],
    reasons: dict[str, int],
    *,
    verbose: bool,
) -> None:
    site = surveyed.site
    number = f"#{site.index}".ljust(screen.indent)
    named = site.label != f"#{site.index}" or site.scope.path
    screen.line(Text.assemble((number, "dim"), (place(site) if named else "(no name)", "bold")))
    line = Text()
    for cell, width in zip(cells, widths, strict=True):
        line.append(cell + " " * (max(width - columns(cell), 0) + 2))
    line.append(standing(site).value, _STYLES[standing(site)])
    screen.below(line)
    screen.below(Text(f"from {origin(site.origin)}"))
    if site.reason is not None and standing(site) is not Standing.FED:
        first = reasons.setdefault(site.reason, site.index)
        screen.below(Text(printable(site.reason) if first == site.index else f"for the same reason as #{first}", "dim"))
    if site.warning is not None:
        screen.below(Text(f"warning: {printable(site.warning)}", "yellow"))
    if verbose:
        screen.below(Text(f"reads {printable(site.input)} {tensor(site.input_dims, site.elem_type)}"))
        screen.below(Text(f"makes {printable(site.output)} {tensor(site.output_dims, site.elem_type)}"))
        refusing = [verdict.target.name for verdict in surveyed.verdicts if not verdict.accepted]
        screen.below(
            Text(f"not accepted by {listed(runs_of_targets(refusing))}" if refusing else "accepted by every target")
        )


def _summary(survey: Survey) -> Text:
    text = Text(f"{count(len(survey.sites), 'resize')}, {survey.promotable} promotable; ")
    refusing = survey.refusing
    if not refusing:
        return text.append("accepted by every target")
    return text.append(f"not accepted by {listed(runs_of_targets(refusing))}; resizefix check says why")


def show_changes(changes: Sequence[Change]) -> None:
    """Each difference with its before and after; a sentence where there is none."""
    screen = _Screen(2)
    if not changes:
        screen.line(Text("the models are the same"))
        return
    for change in changes:
        where = f" in {printable(' / '.join(change.scope))}" if change.scope else ""
        screen.line(Text(f"{change.what} {printable(change.name)}{where}", "bold"))
        for sign, value, style in (("-", change.before, "red"), ("+", change.after, "green")):
            if value is not None:
                screen.below(Text(f"{sign} {printable(value)}", style))
    screen.line(Text(f"{count(len(changes), 'change')}; what is not listed is the same"))
