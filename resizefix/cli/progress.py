"""A line on stderr that says what a verification runs, how far it has come and how long it will take; on a terminal
alone."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from resizefix.printable import printable

_QUIET_FOR = 1.0  # seconds; what is done sooner needs no progress
_LABEL = 44  # columns; with the bar and the estimate a line of 100
_KEY = "resizefix.progress"


class ProgressLine:
    """Shown from the second second on, gone before the answer is printed."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._bar: Any = None

    def __call__(self, made: int, total: int, what: str) -> None:
        """So many of so many steps are done; `what` is what was done last."""
        from resizefix.reports.wording import shortened  # which imports onnx

        if self._bar is None:
            if time.monotonic() - self._began < _QUIET_FOR:
                return
            self._bar = click.progressbar(length=total, label="verifying", file=sys.stderr, width=16)
            self._bar.start = self._began  # the estimate counts the steps that were not shown
            self._bar.__enter__()
        self._bar.length = total
        self._bar.label = shortened(printable(f"verifying: {what}"), _LABEL).ljust(_LABEL)
        self._bar.update(made - self._bar.pos)

    def close(self) -> None:
        """Clear the line."""
        if self._bar is not None:
            self._bar.__exit__(None, None, None)
            click.echo("\x1b[1A\r\x1b[2K", nl=False, err=True)
            self._bar = None


def progress_line() -> ProgressLine | None:
    """A line for the command that is running; None where it would not be seen, or it is not wished for."""
    context = click.get_current_context()
    if context.params.get("quiet") or not sys.stderr.isatty():
        return None
    line = context.meta[_KEY] = ProgressLine()
    return line


def close_progress() -> None:
    """Clear the line of the command that is running, if it has one."""
    context = click.get_current_context(silent=True)
    line = None if context is None else context.meta.get(_KEY)
    if line is not None:
        line.close()
