"""Words that are typed where another form is meant: `opset=17`, `--mode linear`, a target without its option.

One row for each: what the word looks like, in which commands, and how it is typed there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from resizefix.diagnostics import Diagnostic


class Misplaced(NamedTuple):
    """`word`: what the typed word looks like, with its parts; `commands`: where (empty: in any); `meant`: how it is
    typed, of those parts. A part `key` is a key of `set`."""

    word: re.Pattern[str]
    commands: tuple[str, ...]
    meant: str


_SIZE = r"(?P<height>[1-9]\d*)"
MISPLACED = (
    # The number and the size of these two are arguments.
    Misplaced(re.compile(r"(--)?(opset|n)(=(?P<number>\d+))?"), ("opset",), "cli.meant-number"),
    Misplaced(re.compile(r"--size"), ("input-size",), "cli.meant-size-last"),
    Misplaced(re.compile(rf"{_SIZE}[,;: ](?P<width>[1-9]\d*)"), ("input-size",), "cli.meant-size"),
    Misplaced(re.compile(rf"\d+x\d+x{_SIZE}x(?P<width>[1-9]\d*)"), ("input-size",), "cli.meant-size"),
    # The keys of `set` are no options, and its words no options of others.
    Misplaced(re.compile(r"--(?P<key>[a-z_]+)"), ("set",), "cli.meant-key"),
    Misplaced(re.compile(r"(?P<name>[^=/]+)=(?P<value>[\d.,]+)"), ("freeze-scales",), "cli.meant-set"),
    Misplaced(
        re.compile(r"(?P<key>[a-z_]+)=(?P<value>.+)"),
        ("promote-scales", "legalize", "trt-legacy", "repair"),
        "cli.meant-command-set",
    ),
    Misplaced(
        re.compile(
            r"(?P<target>(tensorrt|onnxruntime|openvino|opencv|ncnn|mnn|tract|tvm|qnn|coreml|rknn)[-\w]*(\.\d+)?)"
        ),
        ("legalize", "trt-legacy", "check", "promote-scales"),
        "cli.meant-target",
    ),
    # A release apart from its target's name: `--target tensorrt 8.6`.
    Misplaced(re.compile(r"v?(?P<release>\d+(\.\d+)+)"), ("legalize", "trt-legacy", "check"), "cli.meant-release"),
    # An option of `promote-scales`, typed behind a model alone.
    Misplaced(re.compile(r"--at"), ("inspect", "check"), "cli.meant-promote"),
)


def alone(typed: Sequence[str]) -> list[str]:
    """The words of a call that are no value of an option: the names of options, and arguments."""
    before = ("", *typed)
    return [
        word.partition("=")[0] if word.startswith("--") else word
        for last, word in zip(before, typed, strict=False)
        if word.startswith("-") or not last.startswith("-") or "=" in last
    ]


def meant(command: str, words: Sequence[str]) -> Diagnostic | None:
    """How the first of these words that is misplaced is typed; None where none is."""
    for word in words:
        for row in MISPLACED:
            match = row.word.fullmatch(word) if not row.commands or command in row.commands else None
            parts = {} if match is None else match.groupdict(default="")
            if match is not None and ("key" not in parts or _is_key(parts["key"])):
                return Diagnostic(row.meant, word=word, **parts)
    return None


def _is_key(word: str) -> bool:
    from resizefix.operations.settings import READERS  # with onnx, which few words need

    return word in READERS
