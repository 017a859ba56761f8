"""What is to be said, as data: a code and its arguments. The words are those of reports/sentences."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any


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
        return _rebuilt, (self.code, self.arguments)


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


def _rebuilt(code: str, arguments: Mapping[str, Any]) -> Diagnostic:
    return Diagnostic(code, **arguments)
