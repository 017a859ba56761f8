"""Times of `legalize --fastest`, as JSON and as a table for a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from resizefix.printable import printable
from resizefix.reports.screen import screen

if TYPE_CHECKING:
    from resizefix.library.fastest import Speed

_HEADINGS = ("node", "before", "ms", "after", "ms")


def speed_json(speed: Speed) -> dict[str, Any]:
    """What was measured; times are milliseconds."""
    whole = None if speed.whole is None else asdict(speed.whole)
    return {"runtime": speed.runtime, "whole": whole, "nodes": [asdict(row) for row in speed.nodes]}


def rows(speed: Speed) -> list[tuple[str, str, str, str, str]]:
    """Each node alone before and after, then the whole model; nodes of equal cells are one row, and counted."""
    counted: dict[tuple[str, str, str, str], list[str]] = {}
    for row in speed.nodes:
        cells = (row.before.form, f"{row.before.ms:.3g}", row.after.form, f"{row.after.ms:.3g}")
        counted.setdefault(cells, []).append(printable(row.node))
    found = [
        (names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} alike", *cells)
        for cells, names in counted.items()
    ]
    if speed.whole is not None:
        now = speed.whole.after_ms if speed.whole.kept else speed.whole.before_ms
        found.append(("whole model", "", f"{speed.whole.before_ms:.3g}", "", f"{now:.3g}"))
    return found


def show_speed(speed: Speed) -> None:
    """The table, columns aligned."""
    if not speed.nodes:
        return
    out = screen(2)
    out.line(f"times in {speed.runtime}, milliseconds; each node alone:")
    table: Sequence[Sequence[str]] = [_HEADINGS, *rows(speed)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = [
            cell.rjust(width) if heading == "ms" else cell.ljust(width)
            for cell, width, heading in zip(row, widths, _HEADINGS, strict=True)
        ]
        out.line(f"  {'  '.join(cells)}".rstrip())
