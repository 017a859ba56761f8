"""Runs every command that resizefix suggests, over a folder of models: each must succeed.

    python benchmarks/suggestions.py FOLDER --every 8 --jobs 2

A suggestion is a line "resizefix …" of a terminal's text, a command of the HTML page, a command that a text names
("resizefix legalize --target …"), or an option that a refusal names ("--form spatial"): it is added to the command
that was refused. Each is run in a copy of the model's folder and must exit with 0; `--help`, `inspect` and `check
--target list` are exempt. Prints how many were run, for each kind, and every one that failed; exit code 1 if any did.
"""

from __future__ import annotations

import argparse
import contextlib
import html
import io
import json
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from resizefix.cli import main

SECONDS = 60  # for one command
TARGETS = ("tensorrt-5.0", "tensorrt-7.0", "tensorrt-8.0", "tensorrt-10", "onnxruntime")
ASKED = [
    ("promote-scales", "MODEL", "out.onnx"),
    ("promote-scales", "MODEL", "out.onnx", "--for", "tensorrt"),
    ("promote-scales", "MODEL", "out.onnx", "--form", "factor"),
    ("trt-legacy", "MODEL", "out.onnx"),
    ("freeze-scales", "MODEL", "out.onnx"),
    ("set", "MODEL", "out.onnx", "mode=linear"),
    *(("legalize", "MODEL", "out.onnx", "--target", target) for target in TARGETS),
    ("check", "MODEL", *(word for target in TARGETS for word in ("--target", target))),
]
# Options that a text may name without advising them (`retry_args` are run as they are), that take a file which only
# the user has, or that belong to another command, after the one that is advised.
_TOLD = re.compile(
    r"; it works with .*|\([^()]*switched off[^()]*\)|which --no-lower forbids|--\w[\w-]* (?:sets|replaces|forbids)"
    r"|Give its library with --custom-op-library|promote the frozen scales with --for tensorrt"
)
_OPTION = re.compile(
    r"(?<![\w-])(--[a-z][a-z-]*[a-z])"
    r"(?: (?=[\w#/]*[=,\d])([^\s;,)][^\s;)]*)| (factor|spatial|sizes|scales|tensorrt|onnxruntime)\b)?"
)
_COMMAND = re.compile(r"\bresizefix ((?:promote|freeze|legalize|trt|check)[^();,]*)")


class Suggestion(NamedTuple):
    """The words after the program's name, and where they were found."""

    words: tuple[str, ...]
    found_in: str


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def run(words: Sequence[str]) -> Ended:
    """One call in this process, in the current folder."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    signal.alarm(SECONDS)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as end:
            code = end.code
        except Exception as error:  # an answer as any other
            code, _ = 99, err.write(repr(error))
    signal.alarm(0)
    return Ended(code or 0, out.getvalue(), err.getvalue())


def suggestions_of(model: str) -> Iterator[Suggestion]:
    """All that inspect, and each refusal, says is to be typed."""
    text = run(("inspect", model, "-v"))
    yield from in_lines(text, "inspect")
    run(("inspect", model, "--html", "page.html"))
    if os.path.exists("page.html"):
        page = Path("page.html").read_text()
        os.remove("page.html")
        for block in re.findall(r'<div class="commands">(.*?)</div>', page, re.DOTALL):
            for code in re.findall(r"<code>(.*?)</code>", block, re.DOTALL):
                text = html.unescape(re.sub(r"<[^>]*>", "", code))
                yield Suggestion(tuple(shlex.split(text))[1:], "html")
    for asked in ASKED:
        words = tuple(model if word == "MODEL" else word for word in asked)
        ended = run((*words, "--json"))
        if os.path.exists("out.onnx"):
            os.remove("out.onnx")
        name = " ".join(word for word in asked if word not in ("MODEL", "out.onnx"))
        try:
            found = json.loads(ended.out)
        except ValueError:
            continue
        if ended.code != 0:
            yield from in_lines(run(words), name)
        for outcome in found.get("outcomes") or ():
            if outcome["retry_args"]:
                yield Suggestion((*words, *outcome["retry_args"]), f"{name}: retry_args")
        for text in texts(found):
            yield from in_text(text, words, name if words[0] != "check" else "check")


def in_lines(ended: Ended, where: str) -> Iterator[Suggestion]:
    for line in [*ended.out.splitlines(), *ended.err.splitlines()]:
        if line.startswith("  resizefix "):
            yield Suggestion(tuple(shlex.split(line))[1:], f"{where}: next")


def texts(found: dict[str, Any]) -> Iterator[str]:
    """The sentences of a JSON answer."""
    for outcome in found.get("outcomes") or ():
        if outcome["status"] == "refused":
            yield outcome["reason"]
    if found["error"]:
        yield found["error"]
        for blocker in found.get("blockers") or ():
            yield blocker["mend"]
    for verdict in (found.get("targets") or {}).values() if found["command"] == "check" else ():
        for violation in verdict["violations"]:
            yield f"{violation['fix'] if 'fix' in violation else violation['mend']} @{violation['node']}"


def in_text(text: str, asked: tuple[str, ...], where: str) -> Iterator[Suggestion]:
    """Commands and options that a sentence names."""
    text, _, _node = text.partition(" @")
    for command in _COMMAND.findall(text):
        words = shlex.split(command)
        files = [asked[1], "out.onnx"] if words[0] not in ("check",) else [asked[1]]
        target = ["--target", "tensorrt-10"] if words[0] == "legalize" and "--target" not in words else []
        yield Suggestion((words[0], *files, *words[1:], *target), f"{where}: text")
    text = _COMMAND.sub("", _TOLD.sub("", text))
    for option, value, word in _OPTION.findall(text):
        yield Suggestion((*asked, option, *([value or word] if value or word else [])), f"{where}: option")


def is_exempt(words: tuple[str, ...]) -> bool:
    return words[0] == "inspect" or "--help" in words or words[1:] == ("--target", "list")


def examine(model: str) -> tuple[str, list[tuple[Suggestion, Ended]]]:
    """Every distinct suggestion for one model with what came of it."""
    signal.signal(signal.SIGALRM, _too_long)
    done = []
    with tempfile.TemporaryDirectory() as folder:
        for entry in Path(model).parent.iterdir():
            if entry.is_file() and (entry.name == Path(model).name or entry.suffix not in (".onnx", ".json")):
                shutil.copy(entry, folder)
        home = os.getcwd()
        os.chdir(folder)
        try:
            kept = set(os.listdir("."))
            for suggestion in dict.fromkeys(suggestions_of(Path(model).name)):
                if is_exempt(suggestion.words):
                    continue
                there = Path(Path(model).name).read_bytes()
                done.append((suggestion, run(suggestion.words)))
                Path(Path(model).name).write_bytes(there)
                for name in set(os.listdir(".")) - kept:
                    os.remove(name)
        finally:
            os.chdir(home)
    return model, done


def _too_long(number: int, frame: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def sweep(models: Sequence[str], jobs: int) -> tuple[Counter[str], list[tuple[str, Suggestion, Ended]]]:
    """Counts of what was run, by where it was found, and those that failed."""
    counts: Counter[str] = Counter()
    failed = []
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=20) as pool:
        for model, done in pool.imap(examine, models):
            for suggestion, ended in done:
                counts[suggestion.found_in] += 1
                if ended.code != 0:
                    counts[f"{suggestion.found_in} FAILED"] += 1
                    failed.append((model, suggestion, ended))
                    print(f"{model}\n  {suggestion.found_in}: resizefix {shlex.join(suggestion.words)}")
                    print(f"    {ended.code}: {ended.err.strip().partition(chr(10))[0][:400]}", flush=True)
    return counts, failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    found = sorted(str(path.resolve()) for path in given.folder.rglob("*.onnx"))[:: given.every]
    counts, failed = sweep(found, given.jobs)
    for where, number in sorted(counts.items()):
        print(f"{number:6} {where}")
    total = sum(number for where, number in counts.items() if not where.endswith("FAILED"))
    print(f"{len(found)} models, {total} suggestions, {len(failed)} failed")
    sys.exit(1 if failed else 0)
