"""Names of files in suggested commands: of those that they read, and for those that they write.

Words of a suggested command as the user's shell takes them.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from pathlib import PurePath

from resizefix.printable import printable

_WORDS = {
    "promote-scales": "promoted",
    "freeze-scales": "frozen",
    "trt-legacy": "trt-legacy",
    "legalize": "legal",
    "repair": "repaired",
    "input-size": "resized",
    "opset": "opset",
    "set": "set",
}


def operand(name: str) -> str:
    """The name of a file so that no command takes it for an option; `-` is stdin."""
    return f"./{name}" if name.startswith("-") and name != "-" else name


def reads_and_writes(command: str, model: str, target: str | None = None) -> tuple[str, str, str]:
    """The words of a command that writes a file: its name, the model, and a name for what it writes."""
    return command, operand(model), beside(model, command, target)


def beside(model: str, command: str, target: str | None = None) -> str:
    """A name for what a command writes, for `target` if for one, in the working folder; no file has it."""
    word = target or _WORDS[command]
    name = PurePath(model).name if model != "-" else ""
    stem = name[: -len(".onnx")] if name.endswith(".onnx") else name
    names = (
        f"{operand(stem or 'model')}.{word}{number}.onnx" for number in ("", *(f"-{count}" for count in range(2, 1000)))
    )
    return next(name for name in names if not os.path.lexists(name))


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
