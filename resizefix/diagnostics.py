"""What is to be said, as data: a code and its arguments. The words are those of reports/sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from resizefix.reports.sentences import template

_CODE = re.compile(r"[a-z]+\.[a-z0-9-]+")


class Diagnostic(str):
    """A sentence that keeps the code and the arguments that it was made of. Decisions read `code`, never the text."""

    code: str
    arguments: Mapping[str, Any]

    def __new__(cls, code: str, /, **arguments: Any) -> Diagnostic:
        """The sentence of `code`, filled in."""
        made = super().__new__(cls, template(code).format(**arguments))
        made.code, made.arguments = code, arguments
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.code, self.arguments)


def diagnosed(message: str, arguments: Mapping[str, Any]) -> str:
    """The diagnostic of a code; a text that is none, as a runtime's own, stays as it is."""
    return Diagnostic(message, **arguments) if _CODE.fullmatch(message) else message


def code_of(text: str | None) -> str | None:
    """The code of a diagnostic; None for a text that has none."""
    return text.code if isinstance(text, Diagnostic) else None


def _rebuilt(code: str, arguments: Mapping[str, Any]) -> Diagnostic:
    return Diagnostic(code, **arguments)
