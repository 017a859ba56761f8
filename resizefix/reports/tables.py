"""A small table of texts: for a terminal, for a pipe, and for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from resizefix.reports.wording import columns

_GAP = "  "


class Table(NamedTuple):
    """Headings and rows of as many cells, all printable; a cell may have several lines."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def plain(self) -> list[str]:
        """Its lines for a pipe: columns of spaces, nothing cut, nothing drawn."""
        cells = [[cell.split("\n") for cell in row] for row in (self.headings, *self.rows)]
        widths = [max(columns(line) for row in cells for line in row[place]) for place in range(len(self.headings))]
        lines = []
        for row in cells:
            for number in range(max(map(len, row))):
                line = [cell[number] if number < len(cell) else "" for cell in row]
                lines.append(_GAP.join(map(_padded, line, widths)).rstrip())
        return lines


def _padded(text: str, width: int) -> str:
    return text + " " * (width - columns(text))


def table_of(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """The table of these rows, without the columns in which every row is empty."""
    places = [place for place in range(len(headings)) if any(row[place] for row in rows)]
    return Table(
        tuple(headings[place] for place in places), tuple(tuple(row[place] for place in places) for row in rows)
    )
