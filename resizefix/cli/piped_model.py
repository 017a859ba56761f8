"""`-` for a model: stdin is copied to a temporary file that commands read as any other, and OUT `-` goes to stdout.

The file has a folder of its own, which is removed when the command ends, however it ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, TypeVar

import click

from resizefix.errors import CannotWriteError, UsageError
from resizefix.process import note

if TYPE_CHECKING:
    from resizefix.document.document import Document

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
        """Write the whole model to a temporary file, and then to stdout. Raises UsageError if data lie beside it."""
        beside = model.data_files()
        if beside:
            raise UsageError("cli.stdout-without-data", file=beside[0])
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
