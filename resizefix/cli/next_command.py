"""The command to type after an error: every message on a terminal ends with one, where there is one."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from typing import NamedTuple

import click

from resizefix.errors import ResizefixError, UnreadableModelError, UsageError
from resizefix.printable import printable

_PROGRAM = "resizefix"
_TARGETS = ("check", "--target", "list")
# What a command that changes resizes does not say by itself: what each of them is.
_CHANGING = frozenset({"promote-scales", "freeze-scales", "trt-legacy", "legalize"})


class NextCommand(NamedTuple):
    """What it is for (after "next, "), and its words behind the program's name."""

    purpose: str
    words: tuple[str, ...]


def after_error(error: ResizefixError, command: str, model: str, typed: Sequence[str]) -> NextCommand | None:
    """`typed` are the words of the call, without the program's name; empty where nobody typed it."""
    if error.again and typed:
        return NextCommand("if that is meant", (*typed, *error.again))
    if isinstance(error, UnreadableModelError):
        named = next((word for word in typed if str(error).startswith(f"{word}:")), model)
        other = _beside(named)
        return None if other is None else NextCommand("with a file that is there", _with(typed, named, other))
    if not isinstance(error, UsageError):
        return None
    if "there is no target" in str(error):
        return NextCommand("for the names of all targets", _TARGETS)
    if "no resize node matches" in str(error):
        return NextCommand("to see every resize", ("inspect", model))
    return NextCommand("for the options", (command, "--help"))


def after_no(command: str, model: str) -> NextCommand | None:
    """After an answer that is no."""
    return NextCommand("to see every resize", ("inspect", model, "-v")) if command in _CHANGING else None


def after_wrong_words(error: click.ClickException, typed: Sequence[str], commands: Sequence[str]) -> NextCommand:
    """After what click refuses."""
    context = getattr(error, "ctx", None)
    name = context.info_name if context is not None and context.parent is not None else None
    if isinstance(error, click.BadParameter) and error.param is not None and "--target" in error.param.opts:
        return NextCommand("for the names of all targets", (str(name), "--target", "list"))
    if name is None and typed and typed[0] in commands:
        name = typed[0]
    elif name is None and typed and not typed[0].startswith("-"):
        import difflib

        near = difflib.get_close_matches(typed[0], commands, n=1)
        if near:
            return NextCommand(f"if {near[0]} is meant", (near[0], *typed[1:]))
    return NextCommand("for the options", (str(name), "--help") if name is not None else ("--help",))


def show_error(text: str, step: NextCommand | None) -> None:
    """The message on stderr, wrapped on a terminal; the command is never broken, so that it can be copied."""
    if sys.stderr.isatty():
        import shutil
        import textwrap

        width = max(shutil.get_terminal_size().columns, 20)
        text = textwrap.fill(
            text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False, drop_whitespace=True
        )
    click.echo(text, err=True)
    if step is not None:
        words = " ".join(shlex.quote(printable(word)) for word in step.words)
        click.echo(f"next, {step.purpose}:\n  {_PROGRAM} {words}", err=True)


def _beside(model: str) -> str | None:
    """The model whose name is nearest to a missing one's in its folder, or one in the folder given for a model."""
    is_folder = os.path.isdir(model)
    if os.path.lexists(model) and not is_folder:
        return None
    folder, name = (model, "") if is_folder else os.path.split(model)
    try:
        found = sorted(entry for entry in os.listdir(folder or ".") if entry.endswith(".onnx"))
    except OSError:
        return None
    if not found:
        return None
    import difflib

    near = difflib.get_close_matches(name, found, n=1, cutoff=0.0) if name else found
    return os.path.join(folder, near[0])


def _with(typed: Sequence[str], model: str, other: str) -> tuple[str, ...]:
    return tuple(other if word == model else word for word in typed) or ("inspect", other)
