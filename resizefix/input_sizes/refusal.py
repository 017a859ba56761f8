"""Why another input size cannot be had, and what the user says of numbers that admit several readings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from resizefix.diagnostics import Diagnostic

KEEP, FOLLOW = "keep", "follow"
OF_PARTS = ("outer-follows", "inner-follows")
"""Of a size that a Reshape divides in two, or of a size of 1 that may be part of what stands before or behind it."""


class Reading(NamedTuple):
    """One meaning of a number: its name, and a sentence that says what is done."""

    name: str
    meaning: str


class SizeRefusedError(Exception):
    """The node at which another size fails, and why; `retry_args`: options that decide.

    `readings`: the meanings among which the user chooses, where the file admits several; none where another size
    cannot be had. `value`: the numbers in question.
    """

    def __init__(
        self,
        node: str,
        reason: Diagnostic,
        retry_args: tuple[str, ...] = (),
        readings: tuple[Reading, ...] = (),
        value: Any = None,
    ) -> None:
        super().__init__(node, reason)
        self.node, self.reason, self.retry_args = node, reason, retry_args
        self.readings, self.value = readings, value


def refuse(node: str, code: str, /, **arguments: object) -> SizeRefusedError:
    """The error with the sentence of `code`; of a question, with the readings that the table has for it."""
    names, value = _QUESTIONS.get(code, ((), ""))
    readings = tuple(Reading(name, _meaning(code, name)) for name in names)
    return SizeRefusedError(node, Diagnostic(code, **arguments), (), readings, arguments.get(value))


def asked(node: str, value: Any, code: str, readings: Mapping[str, str], /, **arguments: object) -> SizeRefusedError:
    """A question of which the readings are known where it is asked: each has a name and a sentence."""
    listed = tuple(Reading(name, meaning) for name, meaning in readings.items())
    return SizeRefusedError(node, Diagnostic(code, **arguments), (), listed, value)


# What the file leaves open: the readings, and the argument of the sentence that holds the numbers.
_BOTH, _KEEP = (KEEP, FOLLOW), (KEEP,)
_QUESTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "origins.input-size-cut": (_BOTH, "numbers"),
    "origins.input-size-indices": (_KEEP, "old"),
    "origins.input-size-no-padding": (_KEEP, ""),
    "origins.input-size-all-of-axis": (_BOTH, "old"),
    "origins.input-size-split": (OF_PARTS, "whole"),
    "origins.input-size-pool": (_BOTH, "kernel"),
    "origins.input-size-padding": (_KEEP, "total"),
    "origins.input-size-square": (("height", "width", KEEP), "old"),
    "origins.input-size-numbers": (_KEEP, "numbers"),
    "origins.input-size-share-of-axis": (_BOTH, "count"),
    "origins.input-size-parts": (_KEEP, "count"),
    "origins.input-size-output": (_KEEP, "numbers"),
    "origins.input-size-wished": (_KEEP, "made"),
    "origins.input-size-loose-table": (_KEEP, "shape"),
    "origins.input-size-resize": (_BOTH, "sizes"),
    "origins.input-size-resize-scale": (("of-image", *_BOTH), "sizes"),
    "origins.input-size-resize-held": (_BOTH, "sizes"),
    "origins.input-size-resize-map": (_BOTH, "sizes"),
    "origins.input-size-resize-factor": (_BOTH, "sizes"),
}
# What the name of a reading means, as it is chosen by `--read NODE=NAME`.
READINGS = {
    KEEP: "origins.reading-keep",
    FOLLOW: "origins.reading-follow",
    "first": "origins.reading-first",
    "centred": "origins.reading-centred",
    "middle": "origins.reading-middle",
    "down": "origins.reading-down",
    "of-map": "origins.reading-of-map",
    "of-image": "origins.reading-of-image",
    "pixels": "origins.reading-pixels",
    "pixels-cut": "origins.reading-pixels-cut",
    "pixels-height-first": "origins.reading-pixels-height-first",
    "pixels-height-first-cut": "origins.reading-pixels-height-first-cut",
    "windows": "origins.reading-windows",
    "outer-follows": "origins.reading-outer-follows",
    "inner-follows": "origins.reading-inner-follows",
    "height": "origins.reading-height",
    "width": "origins.reading-width",
}
# What it means at one kind of question.
_MEANINGS = {
    ("origins.input-size-pool", KEEP): "origins.reading-window",
    ("origins.input-size-pool", FOLLOW): "origins.reading-bins",
    ("origins.input-size-resize-scale", KEEP): "origins.reading-made-size",
    ("origins.input-size-resize-scale", FOLLOW): "origins.reading-scales",
}


def _meaning(code: str, name: str) -> str:
    return Diagnostic(_MEANINGS.get((code, name), READINGS[name]))


class Assumed(NamedTuple):
    """A use of a convention at a node: what was taken for granted, and the options that choose otherwise."""

    node: str
    convention: str
    meaning: str
    args: tuple[str, ...]


def args_of(node: str, name: str) -> tuple[str, ...]:
    """The options that choose a reading at a node."""
    pattern = re.sub(r"([\[*?])", r"[\1]", node)
    if name in (KEEP, FOLLOW):
        return (f"--{name}", pattern)
    return ("--read", f"{pattern}={name}")


def readings_of(args: Sequence[str]) -> list[tuple[str, str]]:
    """The patterns and the readings that options name."""
    found = []
    for option, value in zip(args[::2], args[1::2], strict=True):
        node, _, name = value.rpartition("=") if option == "--read" else (value, "", option[2:])
        found.append((node, name))
    return found


class Choices(NamedTuple):
    """Patterns of nodes whose numbers stay as they are, and of those whose numbers follow the input.

    `read`: patterns with the name of a reading. `assumes`: whether the conventions may decide.
    """

    keep: Sequence[str] = ()
    follow: Sequence[str] = ()
    interpolate: bool = False
    """Whether learned tables of positions are interpolated, which is an approximation."""
    read: Sequence[tuple[str, str]] = ()
    assumes: bool = True
    proven: frozenset[str] = frozenset()
    """The nodes at which a convention was held against another export of the network."""
    keeps_overridable: bool = False
    """Whether constants that are listed as inputs stay inputs."""

    def of(self, label: str) -> str | None:
        """The name of the reading that the user chose for a node: "keep", "follow", or another one; None without."""
        for name, patterns in ((KEEP, self.keep), (FOLLOW, self.follow)):
            if any(fnmatchcase(label, pattern) for pattern in patterns):
                return name
        return next((name for pattern, name in self.read if fnmatchcase(label, pattern)), None)

    def with_reading(self, label: str, name: str) -> Choices:
        """These and one more."""
        made = self
        for pattern, reading in readings_of(args_of(label, name)):
            made = made.with_pattern(pattern, reading)
        return made

    def with_proof(self, label: str) -> Choices:
        """These, where the convention at a node is no assumption."""
        return self._replace(proven=self.proven | {label})

    def with_pattern(self, pattern: str, name: str) -> Choices:
        """These and one more, for the nodes of a pattern."""
        if name == KEEP:
            return self._replace(keep=(*self.keep, pattern))
        if name == FOLLOW:
            return self._replace(follow=(*self.follow, pattern))
        return self._replace(read=(*self.read, (pattern, name)))
