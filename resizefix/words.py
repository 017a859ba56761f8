"""Words of suggestions: the word that was probably meant, the words of a command as the user's shell takes them, and
what callers in Python are told of options."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from resizefix.printable import printable

_NEAR = 0.6  # of difflib's ratio, 1 for equal words


def nearest(word: object, known: Iterable[str], near: float = _NEAR) -> str | None:
    """The one of the words `known` that is most like `word`, whatever the case; None where none is near, or for what
    is no text."""
    if not isinstance(word, str):
        return None
    import difflib  # which only a wrong word needs

    by_lower = {each.lower(): each for each in known}
    return next((by_lower[each] for each in difflib.get_close_matches(word.strip().lower(), by_lower, 1, near)), None)


def proposal(near: Sequence[str | None]) -> str:
    """What goes before the list of the words that there are: `did you mean linear? There are`."""
    words = [word for word in near if word is not None]
    return f"did you mean {' or '.join(words)}? There are" if words else "there are"


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
    return command, operand(model), out_name(model, command, target)


def out_name(model: str, command: str, target: str | None = None) -> str:
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


# Spellings of options that other signs surround than those of a keyword with its value, the special before the general.
_SPECIAL = {
    "give a SIZE, --batch or --like": "give size, batch or like",
    "--runtime-python {name}=PATH": "runtime_python={{{name!r}: PATH}}",
    "--shape {name}:D,D,…": "shape={{{name!r}: (D, D, …)}}",
    "--size HEIGHTxWIDTH": "size=(HEIGHT, WIDTH)",
    "--read NODE=READING": 'read=[("NODE", "READING")]',
    "--set {name}: {values} for": "set: {name!r} has {values} for",
    "--set {name}: {values} are": "set: {name!r}: {values} are",
    "--set {name}: {values}": "set={{{name!r}: {values}}}",
    "--set {name}: it drives": "set: {name!r} drives",
    "input-size --input": "input",
}
# Keywords that are not the option's own words: they are none in Python, or are shorter when typed.
_KEYWORDS = {"for": "for_", "follow": "follow_input", "force": "overwrite"}
# Options without a value.
_FLAGS = frozenset(
    {
        "all-uses",
        "allow-coupled",
        "allow-inexact",
        "fastest",
        "force",
        "inline",
        "interpolate-positions",
        "keep-default",
        "keep-overridable",
        "shape-inputs",
        "shared",
    }
)
_FLAGS_OFF = frozenset({"no-lower", "no-shape-inputs", "no-verify"})
_VALUE = r"\{\w+(?:![rs])?(?::[^}]*)?\}|[A-Z]{2,}\b|(?:tensorrt|scales|sizes|asymmetric|half_pixel|pytorch|openvino)\b"
_OPTION = re.compile(rf"--([a-z]+(?:-[a-z]+)*)(?: ({_VALUE}))?")
_PLAIN_FIELD = re.compile(r"\{(\w+)\}")


def keyword_of(option: str) -> str:
    """The keyword of an option's word without its dashes: `for_` of `for`, `verify` of `no-verify`."""
    word = option.removeprefix("no-") if option in _FLAGS_OFF else option
    return _KEYWORDS.get(word, word.replace("-", "_"))


def in_python(template: str) -> str:
    """The sentence, a template of `str.format`, with keywords in the place of options; a command, between backticks,
    stays as it is typed."""
    return "`".join(part if place % 2 else _called_in(part) for place, part in enumerate(template.split("`")))


def _called_in(text: str) -> str:
    for typed, called in _SPECIAL.items():
        text = text.replace(typed, called)
    return _OPTION.sub(_called, text)


def _called(option: re.Match[str]) -> str:
    word, value = option.groups()
    keyword = keyword_of(word)
    if word in _FLAGS or word in _FLAGS_OFF:
        return f"{keyword}={word in _FLAGS}{'' if value is None else f' {value}'}"
    if value is None:
        return keyword
    if value.startswith("{"):
        quoted = _PLAIN_FIELD.sub(r"{\1!r}", value)
        return f"{keyword}={quoted}"
    return f'{keyword}="{value}"'
