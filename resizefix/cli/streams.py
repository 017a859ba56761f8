"""Stdout and stderr as a command finds them: a pipe whose reader has gone, a full disk, or none at all.

A reader that goes away (`| head -1`) had what it wanted: it changes neither what is written to files nor the exit code.
Anything else that keeps the answer from being printed, a closed stdout too, is remembered, and said at the end.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

from resizefix.process import is_watched

_ON_WINDOWS = os.name == "nt"


class _Outlet(io.FileIO):
    """A descriptor that takes whatever is written; what it could not pass on is lost, and `error` says why."""

    error: OSError | None = None

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if not _reader_has_gone(error):
                self.error = self.error or error
        return memoryview(data).nbytes


class _Nowhere(io.RawIOBase):
    """A stdout that was closed before the program began: what is written is lost, and that is an error."""

    error: OSError | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self.error = OSError(errno.EBADF, os.strerror(errno.EBADF))
        return memoryview(data).nbytes


def _reader_has_gone(error: OSError) -> bool:
    """Windows says of such a pipe that the argument is invalid."""
    return isinstance(error, BrokenPipeError) or (_ON_WINDOWS and error.errno == errno.EINVAL)


class Streams:
    """Puts stdout and stderr in order for this process; those that a test put in their place stay."""

    def __init__(self) -> None:
        _open_closed_descriptors()
        self._outlets: list[_Outlet | _Nowhere] = []
        if sys.stdout is None:
            nowhere = _Nowhere()
            self._outlets.append(nowhere)
            sys.stdout = io.TextIOWrapper(io.BufferedWriter(nowhere), encoding="utf-8", errors="backslashreplace")
        if sys.stderr is None:
            sys.stderr = _text_stream(2)
        if sys.stdout is sys.__stdout__:
            sys.stdout = sys.__stdout__ = self._through_an_outlet(sys.stdout)  # type: ignore[misc]
        if sys.stderr is sys.__stderr__:
            sys.stderr = sys.__stderr__ = self._through_an_outlet(sys.stderr)  # type: ignore[misc]

    def why_not_printed(self) -> OSError | None:
        """What kept some of the answer from being printed."""
        sys.stdout.flush()
        return next((outlet.error for outlet in self._outlets if outlet.error is not None), None)

    def _through_an_outlet(self, stream: Any) -> Any:
        if not isinstance(stream, io.TextIOWrapper):
            return stream
        stream.flush()
        if _ON_WINDOWS and stream.isatty():  # a console there takes characters, and would read bytes as others
            stream.reconfigure(errors="backslashreplace")
            return stream
        descriptor = stream.fileno()
        if is_watched():  # this process is ours alone, and what libraries print themselves is no answer
            with suppress(OSError):  # too many files are open
                descriptor = _moved(descriptor)
        outlet = _Outlet(descriptor, "w", closefd=False)
        self._outlets.append(outlet)
        return io.TextIOWrapper(
            io.BufferedWriter(outlet),
            encoding=stream.encoding,
            errors="backslashreplace",  # a terminal need not have every character
            line_buffering=stream.line_buffering or stream.write_through,
        )


def _moved(descriptor: int) -> int:
    """Another descriptor of the same file; behind the old one is nothing any more."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        moved = os.dup(descriptor)
        os.dup2(nothing, descriptor)
    finally:
        os.close(nothing)
    return moved


def _text_stream(descriptor: int) -> TextIO:
    """A stream to a descriptor that Python opened no stream for."""
    return open(descriptor, "w", errors="backslashreplace", closefd=False)


def _open_closed_descriptors() -> None:
    """Open those of stdin, stdout and stderr that are closed: the next file would take such a number, and libraries
    would print into it."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest that is free
