"""What is to be said, as data: a code and its arguments, with the words of reports/sentences; and the errors that say
it, sorted by what the user can do about them.

Every error a user can cause is a `ResizefixError`; its text is one paragraph that names the file, the node and the
mend.
`exit_code` is what the command line returns for it (see docs/reference: 1 "the answer is no", 2 "unusable input").
"""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from resizefix.printable import printable


class _SentenceReader:
    """Who reads the sentences of this process: who `types` a command, or a caller in Python. The latter is the rule:
    only the program knows that it is one."""

    types = False


_reader = _SentenceReader()
_CODE = re.compile(r"[a-z]+\.[a-z0-9-]+")


class Diagnostic(str):
    """A sentence that keeps the code and the arguments that it was made of. Decisions read `code`, never the text."""

    code: str
    arguments: Mapping[str, Any]

    def __new__(cls, code: str, /, **arguments: Any) -> Diagnostic:
        """The sentence of `code`, filled in."""
        sentence = super().__new__(cls, _sentence(code, _reader.types).format(**arguments))
        sentence.code, sentence.arguments = code, arguments
        return sentence

    def __reduce__(self) -> tuple[Any, ...]:
        return _sentence_again, (self.code, self.arguments)


_OF_PROGRAM = "cli."  # sentences that only the command line says


@cache
def _sentence(code: str, types: bool) -> str:
    sentence = _sentences(code.partition(".")[0])[code]
    if types or code.startswith(_OF_PROGRAM) or "--" not in sentence:
        return sentence
    from resizefix.words import in_python  # which a command does not need

    return in_python(sentence)


@cache
def _sentences(room: str) -> Mapping[str, str]:
    table: Mapping[str, str] = importlib.import_module(f"resizefix.reports.sentences.{room}").SENTENCES
    return table


@contextlib.contextmanager
def for_command_line(types: bool = True) -> Iterator[None]:
    """In the block, sentences name options as they are typed; else they name keywords of calls."""
    before, _reader.types = _reader.types, types
    try:
        yield
    finally:
        _reader.types = before


def is_for_command_line() -> bool:
    """Whether sentences name options as they are typed."""
    return _reader.types


def option(typed: str) -> str:
    """An option, as `--timeout`, in the words of who reads the sentence."""
    if _reader.types:
        return typed
    from resizefix.words import keyword_of

    return keyword_of(typed.removeprefix("--"))


def for_reader(text: str) -> str:
    """A sentence that was written for the command line, in the words of who reads it."""
    if _reader.types:
        return text
    from resizefix.words import in_python

    return in_python(text)


def diagnosed(message: str, arguments: Mapping[str, Any]) -> str:
    """The diagnostic of a code; a text that is none, as a runtime's own, stays as it is."""
    return Diagnostic(message, **arguments) if _CODE.fullmatch(message) else message


def code_of(text: str | None) -> str | None:
    """The code of a diagnostic; None for a text that has none."""
    return text.code if isinstance(text, Diagnostic) else None


def _sentence_again(code: str, arguments: Mapping[str, Any]) -> Diagnostic:
    return Diagnostic(code, **arguments)


class DiagnosedError(Exception):
    """An error whose text is a diagnostic: `message` is one, or a code of reports/sentences with its `arguments`.

    No control character of a file reaches the text.
    """

    def __init__(self, message: str, /, **arguments: Any) -> None:
        self.diagnostic = diagnosed(message, arguments)
        super().__init__(printable(self.diagnostic))


class ResizefixError(DiagnosedError):
    """Base of all errors resizefix raises on purpose.

    `node` is the label of the node concerned, `rule` the name of the rule that failed; both may be None.
    `retry_args` are options with which the same command succeeds, where some are known.
    """

    exit_code = 1

    def __init__(
        self,
        message: str,
        /,
        *,
        node: str | None = None,
        rule: str | None = None,
        retry_args: tuple[str, ...] = (),
        **arguments: Any,
    ) -> None:
        super().__init__(message, **arguments)
        self.node = node
        self.rule = rule
        self.retry_args = retry_args

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are rebuilt from their positional arguments, which leaves out what goes by keyword.
        return _error_again, (type(self), self.args, self.__dict__)


class UsageError(ResizefixError):
    """The arguments do not fit: no such node, an input name that is taken, OUT exists. Call again, corrected."""

    exit_code = 2


class UnreadableModelError(ResizefixError):
    """The file is missing, truncated or not an ONNX model. Give another file."""

    exit_code = 2


class CannotWriteError(ResizefixError):
    """The result could not be written (permissions, full disk). The input and any old OUT are untouched."""

    exit_code = 2


class RefusedError(ResizefixError):
    """The model cannot be changed as asked without changing what it computes; the text says which rule forbids it.

    Of a call that changes models, `result` holds the outcomes; its model is the unchanged original.
    """

    result: Any = None


def _error_again(kind: type[ResizefixError], arguments: tuple[Any, ...], state: dict[str, Any]) -> ResizefixError:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(state)
    return error
