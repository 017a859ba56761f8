"""Stdout and stderr as a command finds them: a pipe whose reader has gone, a full disk, or none at all; on a terminal,
a line on stderr says what a verification runs and how far it has come.

A reader that goes away (`| head -1`) had what it wanted: it changes neither what is written to files nor the exit code.
Anything else that keeps the answer from being printed, a closed stdout too, is remembered, and said at the end.

`-` for a model: stdin is copied to a temporary file that commands read as any other, and OUT `-` goes to stdout.

The file has a folder of its own, which is removed when the command ends, however it ends.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeVar

import click

from resizefix.diagnostics import CannotWriteError, UsageError
from resizefix.printable import columns, printable, shortened
from resizefix.process import is_watched, note

if TYPE_CHECKING:
    from resizefix.document.document import Document


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


T = TypeVar("T")
DASH = "-"
_FOLDER = "resizefix.folder_of_piped_models"
_RECEIVED = "resizefix.model_on_stdin"
_PIECE = 1 << 20


class PipedModel(str):
    """The path of the temporary file that holds the model of stdin. The user named it `-`."""


class ModelArgument(click.Path):
    """The path of a model; `-` reads it from stdin."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, or that of the temporary file. Raises BadParameter where stdin has no model to read."""
        if value != DASH or ctx is None or ctx.resilient_parsing:
            return super().convert(value, param, ctx)
        try:
            return received(ctx)
        except UsageError as error:
            self.fail(str(error), param, ctx)


def received(context: click.Context) -> PipedModel:
    """The model of stdin, copied to a file. Raises UsageError for a terminal, and where it was read already."""
    if _RECEIVED in context.meta:
        raise UsageError("cli.stdin-twice")
    if sys.stdin is not None and sys.stdin.isatty():
        raise UsageError("cli.stdin-is-terminal")
    path = PipedModel(os.path.join(_folder(context), "stdin.onnx"))
    context.meta[_RECEIVED] = path
    try:
        with open(path, "wb") as file:
            if sys.stdin is not None:
                shutil.copyfileobj(sys.stdin.buffer, file, _PIECE)
    except OSError as error:
        raise UsageError("cli.stdin-unreadable", why=error.strerror or error) from error
    if not os.path.getsize(path):
        raise UsageError("cli.stdin-empty")
    return path


def shown(model: str) -> str:
    """How the user named the model."""
    return DASH if isinstance(model, PipedModel) else model


def as_typed(answer: T) -> T:
    """A text, or what is made of texts, with `-` in place of the temporary file's path."""
    context = click.get_current_context(silent=True)
    path = None if context is None else context.meta.get(_RECEIVED)
    return answer if path is None else with_dash(answer, path)


def with_dash(value: Any, path: str) -> Any:
    """The value without the temporary file `path` and its folder, which the user has never seen."""
    if isinstance(value, str):
        return value.replace(path, DASH).replace(os.path.dirname(path) + os.sep, "")
    if isinstance(value, dict):
        return {key: with_dash(one, path) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_dash(one, path) for one in value]
    return value


class ModelOnStdout:
    """OUT `-`. While the command works, what it prints for a person goes to stderr.

    Raises UsageError where stdout is a terminal or the model's file, or where --json or a data file are wanted, too.
    """

    def __init__(self, model: str, *, as_json: bool, as_external_data: bool) -> None:
        if as_json:
            raise UsageError("cli.stdout-and-json")
        if as_external_data:
            raise UsageError("cli.stdout-without-data-file")
        if sys.stdout.isatty():
            raise UsageError("cli.stdout-is-terminal")
        if is_stream(sys.stdout, model):
            raise UsageError("cli.stdout-is-in", model=shown(model))
        self._context = click.get_current_context()
        self._stream: BinaryIO = sys.stdout.buffer
        self._context.with_resource(contextlib.redirect_stdout(sys.stderr))

    def save(self, model: Document) -> None:
        """Write the whole model to a temporary file, and then to stdout. Raises UsageError if data lie next to it."""
        data_files = model.data_files()
        if data_files:
            raise UsageError("cli.stdout-without-data", file=data_files[0])
        path = os.path.join(_folder(self._context), "stdout.onnx")
        model.save(path)
        try:
            with open(path, "rb") as file:
                shutil.copyfileobj(file, self._stream, _PIECE)
            self._stream.flush()
        except OSError as error:
            raise CannotWriteError("cli.stdout-not-written", why=error.strerror or error) from error


def is_stream(stream: TextIO | None, path: str) -> bool:
    """Whether a stream reads from or writes to the file `path`; False for a stream that is no file."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return os.path.samestat(os.fstat(stream.fileno()), os.stat(path))  # type: ignore[union-attr]
    return False


def require_whole(*models: str) -> None:
    """Raises UsageError where the model of stdin keeps data in other files."""
    from resizefix.document.document import Document

    if any(isinstance(model, PipedModel) and Document.open(model).data_files() for model in models):
        raise UsageError("cli.stdin-without-data")


def _folder(context: click.Context) -> str:
    """The command's folder for its temporary files."""
    folder: str | None = context.meta.get(_FOLDER)
    if folder is None:
        # As messages name it: on macOS, a link leads to the folder for temporary files.
        folder = context.meta[_FOLDER] = os.path.realpath(tempfile.mkdtemp(prefix="resizefix-"))
        note(temporary=folder)  # a process that is killed leaves it to the one that watches
        context.find_root().call_on_close(lambda: shutil.rmtree(str(folder), ignore_errors=True))
    return folder


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

    def __call__(self, done: int, total: int, what: str) -> None:
        """So many of so many steps are done; `what` is what was done last."""
        took = time.monotonic() - self._began
        if not self._shown and took < _QUIET_FOR:
            return
        most = max(_columns() - 1, 1)  # in the last column, some terminals break a line
        line = line_within(most, done, total, took, f"{self._doing}: {what}")
        if line != self._shown:
            self._shown = line
            click.echo(f"{_CLEARED}{line}", nl=False, err=True)

    def close(self) -> None:
        """Clear the line."""
        if self._shown:
            click.echo(_CLEARED, nl=False, err=True)
            self._shown = ""


def line_within(most: int, done: int, total: int, took: float, what: str) -> str:
    """What is shown after `took` seconds, in at most so many columns (1 or more): a bar where words fit next to it."""
    part = min(done / max(total, 1), 1.0)
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
