"""Lines for a person: styled and wrapped on a terminal, whole and plain in a pipe."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from resizefix.printable import columns

if TYPE_CHECKING:
    from rich.text import Text

# A text, or one with a style of rich's.
Part = str | tuple[str, str]
# What makes rich treat a pipe as a terminal.
_AS_IF_TERMINAL = ("FORCE_COLOR", "TTY_COMPATIBLE")

_GAP = "  "


class Table(NamedTuple):
    """Headings and rows of as many cells, all printable; a cell may have several lines. A page shows its title and the
    notes below it, too."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    notes: tuple[str, ...] = ()

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


class Screen:
    """Stdout where it is no terminal: each line as it is. `indent` is how far in a line below another begins."""

    is_styled = False

    def __init__(self, indent: int) -> None:
        self.indent = indent
        self.width = shutil.get_terminal_size().columns

    def line(self, *parts: Part) -> None:
        """A line that is never broken here: what is copied from it is what was printed."""
        self._print(0, parts)

    def below(self, *parts: Part) -> None:
        """A line that belongs to the one above, wrapped under its own beginning on a terminal."""
        self.wrapped(*parts, indent=self.indent)

    def wrapped(self, *parts: Part, indent: int = 0, hang: int = 0) -> None:
        """A line that is wrapped on a terminal, where its other lines begin `hang` further in than the first."""
        self._print(indent, parts)

    def row(self, cells: Sequence[Part], widths: Sequence[int]) -> None:
        """A row of a table: `widths` are those of all columns but the last, which has the rest of a terminal."""
        texts = [cell if isinstance(cell, str) else cell[0] for cell in cells]
        padded = [text.ljust(width) for text, width in zip(texts, widths, strict=False)]
        self._print(0, ("  ".join([*padded, *texts[len(widths) :]]).rstrip(),))

    def table(self, table: Table) -> None:
        """A table: drawn on a terminal; columns of spaces in a pipe."""
        for line in table.plain():
            self.line(line)

    def _print(self, indent: int, parts: tuple[Part, ...]) -> None:
        text = "".join(part if isinstance(part, str) else part[0] for part in parts)
        margin = " " * indent
        sys.stdout.write(margin + text.replace("\n", f"\n{margin}") + "\n")


class _Terminal(Screen):
    """Stdout as rich serves it; colour, NO_COLOR and FORCE_COLOR are its business."""

    is_styled = True

    def __init__(self, indent: int) -> None:
        from rich.console import Console  # as costly to import as a small model is to inspect

        super().__init__(indent)
        self._console = Console(highlight=False)
        self.width = self._console.width

    def line(self, *parts: Part) -> None:
        self._put(_assembled(parts))

    def wrapped(self, *parts: Part, indent: int = 0, hang: int = 0) -> None:
        width = self.width - indent - hang if self._console.is_terminal else sys.maxsize
        for number, broken in enumerate(_assembled(parts).wrap(self._console, width)):
            self._put(_assembled((" " * (indent + hang * (number > 0)),)).append_text(broken))

    def row(self, cells: Sequence[Part], widths: Sequence[int]) -> None:
        from rich.table import Table as Drawn

        table = Drawn.grid(padding=(0, 2, 0, 0), expand=True)
        for width in widths:
            table.add_column(width=width, overflow="fold")
        table.add_column(ratio=1, overflow="fold")
        table.add_row(*(_assembled((cell,)) for cell in cells))
        self._console.print(table)

    def table(self, table: Table) -> None:
        if not self._console.is_terminal:
            super().table(table)
            return
        from rich import box
        from rich.table import Table as Drawn
        from rich.text import Text

        drawn = Drawn(box=box.ROUNDED)
        for number, heading in enumerate(table.headings):
            drawn.add_column(Text(heading), style="bold" if number == 0 else "", overflow="fold")
        for row in table.rows:
            drawn.add_row(*map(Text, row))
        self._console.print(drawn)

    def _put(self, text: Text) -> None:
        self._console.print(text, soft_wrap=True)


def screen(indent: int) -> Screen:
    """The screen for what stdout is."""
    pretended = any(os.environ.get(name) for name in _AS_IF_TERMINAL)
    return _Terminal(indent) if pretended or sys.stdout.isatty() else Screen(indent)


def _assembled(parts: tuple[Part, ...]) -> Text:
    from rich.text import Text

    return Text.assemble(*parts)
