"""Words of a suggested command as the user's shell takes them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable

from resizefix.printable import printable

# `#`, `,` and `@` mean something to PowerShell, and others to cmd.
_PLAIN_ON_WINDOWS = re.compile(r"[\w.:=+\-/\\]+", re.ASCII)


def quoted(word: str, *, windows: bool = os.name == "nt") -> str:
    """The word, in quotes where it needs them: single ones for POSIX shells, double ones for cmd and PowerShell.

    What cannot be shown, or is not UTF-8, stands as its bytes, in the quotes that POSIX shells have for that: `$'…'`.
    """
    if not windows:
        return shlex.quote(word) if printable(word) == word else f"$'{''.join(map(_escaped, word))}'"
    word = printable(word)
    if _PLAIN_ON_WINDOWS.fullmatch(word):
        return word
    # As a program's arguments are parsed: backslashes count double before a quotation mark.
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', word)
    ended = re.sub(r"(\\+)$", r"\1\1", escaped)
    return f'"{ended}"'


def _escaped(character: str) -> str:
    if character in "'\\":
        return f"\\{character}"
    if printable(character) == character:
        return character
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(character))


def joined(words: Iterable[str]) -> str:
    """The words as one line."""
    return " ".join(map(quoted, words))
