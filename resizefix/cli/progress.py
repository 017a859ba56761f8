"""A line on stderr that says what a verification runs, how far it has come and how long it will take; on a terminal
alone."""

from __future__ import annotations

import os
import shutil
import sys
import time

import click

from resizefix.printable import printable

_QUIET_FOR = 1.0  # seconds; what is done sooner needs no progress
_LABEL = 44  # columns; with the bar and the estimate a line of 80
_BAR = 16
_KEY = "resizefix.progress"
_CLEARED = "\r\x1b[2K"


class ProgressLine:
    """Shown from the second second on, gone before the answer is printed."""

    def __init__(self, doing: str = "verifying") -> None:
        self._doing = doing
        self._began = time.monotonic()
        self._shown = ""

    def __call__(self, made: int, total: int, what: str) -> None:
        """So many of so many steps are done; `what` is what was done last."""
        took = time.monotonic() - self._began
        if not self._shown and took < _QUIET_FOR:
            return
        most = max(_columns() - 1, 1)  # in the last column, some terminals break a line
        line = line_within(most, made, total, took, f"{self._doing}: {what}")
        if line != self._shown:
            self._shown = line
            click.echo(f"{_CLEARED}{line}", nl=False, err=True)

    def close(self) -> None:
        """Clear the line."""
        if self._shown:
            click.echo(_CLEARED, nl=False, err=True)
            self._shown = ""


def line_within(most: int, made: int, total: int, took: float, what: str) -> str:
    """What is shown after `took` seconds, in at most so many columns (1 or more): a bar where words fit beside it."""
    from resizefix.reports.wording import columns, shortened  # which imports onnx

    part = min(made / max(total, 1), 1.0)
    left = int(took * (1 / part - 1)) if part else 0
    figures = f"{int(part * 100):3}%  {left // 3600:02}:{left // 60 % 60:02}:{left % 60:02}"
    bar = f"  [{'#' * int(part * _BAR):{_BAR}}]  "
    words = printable(what)
    room = min(most - len(bar) - len(figures), _LABEL)
    if room < _BAR:
        room = most - len(figures) - 2
        return f"{figures}  {shortened(words, room)}" if room > 0 else figures[:most]
    words = shortened(words, room)
    return f"{words}{' ' * (room - columns(words))}{bar}{figures}"


def _columns() -> int:
    """The width of the terminal; the environment variable COLUMNS comes first."""
    try:
        of_stderr = os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:
        of_stderr = 0
    return shutil.get_terminal_size((of_stderr or 80, 24)).columns


def progress_line(doing: str = "verifying") -> ProgressLine | None:
    """A line for the command that is running; None where it would not be seen, or it is not wished for."""
    context = click.get_current_context()
    if context.params.get("quiet") or not sys.stderr.isatty():
        return None
    line = context.meta[_KEY] = ProgressLine(doing)
    return line


def close_progress() -> None:
    """Clear the line of the command that is running, if it has one."""
    context = click.get_current_context(silent=True)
    line = None if context is None else context.meta.get(_KEY)
    if line is not None:
        line.close()
