"""Typing a page: its blocks in order, in one folder, as a reader would.

In a `console` block a line behind `$ ` is typed, and what stands below it, or in a `text` block right behind, is what
must be printed: `…` stands for words or lines left out, and versions may be others. `# exit code 1` is part of the line
where the answer is not 0. Names of one `python` block are known to the next. A block that needs a package or a runtime
which is not installed is said, not run.
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
# By what `--target` or `--runtime` names: what a block that asks it live imports.
RUNTIMES = {"openvino": "openvino", "opencv-5": "cv2", "opencv-5-classic": "cv2", "mnn": "MNN", "tract": "tract"}
TENSORRT = "tensorrt_rtx_bindings"
# What wants a network to export or a folder of models;
# tests/interop/test_right_after_export.py has them.
ELSEWHERE = ("torch.", "ProcessPoolExecutor")
VERSION = re.compile(r"\b\d+(?:\.\d+){2,}\b")
# What `legalize` says of a runtime that is installed, and of one that is not.
RULES_ONLY = "checked with built-in rules only"
RUNTIME_CLAUSE = re.compile(rf"; [^;\n]*(?:{RULES_ONLY}|computes the same, within)[^\n]*")


@dataclass(frozen=True)
class Block:
    """What is typed; `line` is where its fence opens, `section` the heading that it stands under."""

    language: str
    text: str
    line: int
    section: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [
        Block(one[1], one[2], text.count("\n", 0, one.start()) + 1, _heading_before(text[: one.start()]))
        for one in found
    ]


def _heading_before(text: str) -> str:
    """The last heading of level 1 or 2; a comment of a block is none."""
    prose = re.sub(r"(?ms)^```.*?^```$", "", text)
    return re.findall(r"^##? (.*)$", prose, re.MULTILINE)[-1]


def messages_of(page: Path) -> list[str]:
    """The error messages that a how-to page explains: its headings of level 2, or its title where it has none."""
    prose = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
    return re.findall(r"^## (.*)$", prose, re.MULTILINE) or [title(page)]


def title(page: Path) -> str:
    return re.search(r"^# (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)[1]


def type_page(page: Path, capsys: pytest.CaptureFixture[str], only: str | None = None) -> str:
    """All that was printed, and the Python that ran: what it asserts was said. `only`: the heading of one section."""
    told: dict[str, object] = {"__name__": page.stem}
    printed: str | None = None
    seen = ""
    for block in blocks(page):
        if only not in (None, block.section):
            continue
        where = f"{page.name}, line {block.line}"
        missing = [name for name in OPTIONAL if re.search(rf"\b{name}(\.| as )", block.text)]
        missing = [name for name in (*missing, *asked_live(block.text)) if not find_spec(name)]
        if block.language == "text" and printed is not None:
            assert shown(printed) == shown(block.text), where
        elif block.language not in ("console", "python") or missing or any(word in block.text for word in ELSEWHERE):
            print(f"{where}: not typed here: {missing or block.language}")
        elif block.language == "console":
            for command in commands(block):
                printed = type_command(command, where, block.section, capsys)
                seen += printed
            continue
        else:
            exec(compile("\n" * block.line + block.text, str(page), "exec"), told)
            seen += block.text
        printed = None
    return seen


def asked_live(text: str) -> list[str]:
    """The packages of the runtimes that commands ask."""
    lines = [line for line in text.splitlines() if re.search(r" --(live|build|runtime)\b", line)]
    found = [name for line in lines for name in re.findall(r"--(?:target|runtime) (\S+)", line)]
    tensorrt = [TENSORRT for name in found if name.startswith("tensorrt")]
    return [*(RUNTIMES[name] for name in found if name in RUNTIMES), *tensorrt]


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
        whole = printed.out + printed.err
        is_shown = agrees(printed.out, command.prints) or agrees(whole, command.prints)
        assert is_shown, (where, command.arguments, whole)
    if command.exit_code and TENSORRT in asked_live(" ".join(command.arguments)):
        _, live = printed.out.split("live:")
        assert words(symptom) in words(live), (where, "the real parser says something else", live)
    return printed.out + printed.err * bool(command.exit_code)


def agrees(printed: str, page: str) -> bool:
    """Whether the page shows what was printed; `…` stands for any words that it leaves out."""
    here, there = (text.count(RULES_ONLY) for text in (printed, page))
    printed, page = (
        " ".join(["", *shown(VERSION.sub("N", RUNTIME_CLAUSE.sub("", text) if here != there else text)), ""])
        for text in (printed, page)
    )
    pieces = [re.escape(piece) for piece in re.split(r"(?: ?…)+ ?", page)]
    return re.fullmatch(".*".join(pieces), printed) is not None


def shown(text: str) -> list[str]:
    """Words, since a page shows lines as a terminal breaks them, and a pipe gets them whole."""
    return text.split()


def words(text: str) -> str:
    """Without line breaks and without the seams of a text that C++ puts together."""
    return " ".join(text.replace("`", "").split()).replace('" "', "").removesuffix(".")
