"""Sentences for callers in Python: what is typed as an option is a keyword there.

The tables write options as they are typed: `add --denominator {needed}`. For a caller in Python the same sentence names
the keyword: `add denominator={needed!r}`. A command to be typed stays one.
"""

from __future__ import annotations

import re

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
    "with --force": "with overwrite=True",
}
# Keywords that are not the option's own words: they are none in Python, or are shorter when typed.
_KEYWORDS = {"for": "for_", "follow": "follow_input"}
# Options without a value.
_FLAGS = frozenset(
    {
        "all-uses",
        "allow-coupled",
        "allow-inexact",
        "fastest",
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
