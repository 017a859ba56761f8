"""Typing a page: its blocks in order, in one folder, as a reader would.

In a `console` block a line behind `$ ` is typed, and what stands below it, or in a `text` block right behind, is what
must be printed (a line `…` stands for lines left out); `# exit code 1` is part of the line where the answer is not 0.
Names of one `python` block are known to the next. A block that needs a package which is not installed is said, not run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from resizefix.cli import main

ROOT = Path(__file__).parents[2]
OPTIONAL = ("torch", "tf2onnx", "paddle2onnx", "ray", "dask", "tensorrt_rtx_bindings")
# What wants a network to export or a folder of models;
# tests/interop/test_right_after_export.py has them.
ELSEWHERE = ("torch.", "ProcessPoolExecutor")


@dataclass(frozen=True)
class Block:
    """What is typed; `line` is where its fence opens."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [Block(one[1], one[2], text.count("\n", 0, one.start()) + 1) for one in found]


def title(page: Path) -> str:
    return re.search(r"^# (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)[1]


def type_page(page: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """All that was printed, and the Python that ran: what it asserts was said."""
    told: dict[str, object] = {"__name__": page.stem}
    printed: str | None = None
    seen = ""
    for block in blocks(page):
        where = f"{page.name}, line {block.line}"
        missing = [name for name in OPTIONAL if re.search(rf"\b{name}(\.| as )", block.text) and not find_spec(name)]
        if block.language == "text" and printed is not None:
            assert shown(printed) == shown(block.text), where
        elif block.language not in ("console", "python") or missing or any(word in block.text for word in ELSEWHERE):
            print(f"{where}: not typed here: {missing or block.language}")
        elif block.language == "console":
            for command in commands(block):
                printed = type_command(command, where, title(page), capsys)
                seen += printed
            continue
        else:
            exec(compile("\n" * block.line + block.text, str(page), "exec"), told)
            seen += block.text
        printed = None
    return seen


@dataclass(frozen=True)
class Command:
    arguments: tuple[str, ...]
    exit_code: int
    prints: str


def commands(block: Block) -> Iterator[Command]:
    assert block.text.startswith("$ "), block
    for typed in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, prints = typed.partition("\n")
        name, *arguments = shlex.split(line, comments=True)
        assert name == "resizefix", line
        marked = re.search(r"# exit code (\d)$", line)
        yield Command(tuple(arguments), int(marked[1]) if marked else 0, prints)


def type_command(command: Command, where: str, symptom: str, capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    with pytest.raises(SystemExit) as done:
        main(list(command.arguments))
    printed = capsys.readouterr()
    assert done.value.code == command.exit_code, (where, command.arguments, printed)
    if command.prints:
        assert agrees(printed.out, command.prints), (where, command.arguments, printed.out)
    if "--live" in command.arguments and command.exit_code and find_spec("tensorrt_rtx_bindings"):
        _, live = printed.out.split("live:")
        assert words(symptom) in words(live), (where, "the real parser says something else", live)
    return printed.out + printed.err * (command.exit_code == 2)


def agrees(printed: str, page: str) -> bool:
    """Whether the page shows what was printed; a line `…` stands for any lines that it leaves out."""
    parts = [shown(part) for part in re.split(r"^…$", page, flags=re.MULTILINE)]
    words, at = shown(printed), len(parts[0])
    if words[:at] != parts[0]:
        return False
    for part in parts[1:-1]:
        while words[at : at + len(part)] != part:
            at += 1
            if at > len(words):
                return False
        at += len(part)
    if len(parts) == 1:
        return at == len(words)
    return not parts[-1] or words[max(at, len(words) - len(parts[-1])) :] == parts[-1]


def shown(text: str) -> list[str]:
    """Words, since a page shows lines as a terminal breaks them, and a pipe gets them whole."""
    return text.split()


def words(text: str) -> str:
    """Without line breaks and without the seams of a text that C++ puts together."""
    return " ".join(text.replace("`", "").split()).replace('" "', "").removesuffix(".")
