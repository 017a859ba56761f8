"""The explanations of a message for a person at a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from resizefix.beside import operand
from resizefix.diagnostics import Diagnostic
from resizefix.printable import printable
from resizefix.reports.screen import screen
from resizefix.shell_words import quoted

if TYPE_CHECKING:
    from resizefix.library.explain import Explanation


def show_explanations(found: Sequence[Explanation], model: str | None) -> None:
    """Each message with its cause, page and command; the command stands alone on its line, to be copied."""
    out = screen(2)
    for number, one in enumerate(found):
        if number:
            out.line("")
        out.wrapped((one.runtime, "bold"), f": {one.message}")
        out.below(one.cause)
        out.below(Diagnostic("cli.explain-page", page=one.page))
        out.below(_found(one, None if model is None else printable(model)))
        if one.command is not None:
            out.line((f"    {one.command}", "bold"))
        if one.then is not None:
            out.below(Diagnostic("cli.explain-rest" if one.accepted_after is False else "cli.explain-then"))
            out.line((f"    {one.then}", "bold"))


def _found(one: Explanation, model: str | None) -> str:
    """What stands before the command, or in its place."""
    if model is None:
        return Diagnostic("cli.explain-without-model")
    if one.command is None:
        if one.accepted_before:
            return Diagnostic("cli.explain-accepted", target=one.target, model=model)
        if one.reason is not None:
            return Diagnostic("cli.explain-refused", model=model, reason=printable(one.reason))
        return Diagnostic("cli.explain-no-command", model=quoted(operand(model)))
    if one.accepted_after is False and one.then is None:
        return Diagnostic("cli.explain-a-part", target=one.target or one.runtime)
    if one.accepted_before:
        return Diagnostic("cli.explain-accepted-already", target=one.target, model=model)
    example = next((option for option in ("--set", "--size", "--prefer") if f" {option} " in one.command), None)
    if one.accepted_after is False:
        return Diagnostic("cli.explain-first-example", option=example) if example else Diagnostic("cli.explain-first")
    return Diagnostic("cli.explain-fix-example", option=example) if example else Diagnostic("cli.explain-fix")
