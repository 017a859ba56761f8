"""`resizefix explain "MESSAGE" [MODEL]`."""

from __future__ import annotations

import codecs
import sys
from dataclasses import asdict, replace

import click

from resizefix.beside import operand
from resizefix.cli.envelope import Answer, run_command
from resizefix.cli.options import bounds, subcommand
from resizefix.cli.piped_model import DASH, PipedModel, as_typed, model_argument, shown
from resizefix.diagnostics import Diagnostic
from resizefix.shell_words import quoted


@subcommand("explain", example="resizefix explain 'Resize scales must be an initializer!' x3.onnx")
@click.argument("message")
@model_argument(required=False)
@bounds
def command(message: str, model: str | None, **_: object) -> None:
    """Say what a runtime's MESSAGE means, and which command helps.

    Paste the message as it was printed, with its paths, numbers and line breaks; `-` reads it from stdin. With MODEL,
    the command is tried on the model, and nothing is written. Exit code 1: the message is not known.
    """
    if message == DASH and isinstance(model, PipedModel):
        raise click.UsageError(Diagnostic("cli.stdin-message-and-model"))
    run_command(model or "", lambda: _work(message, model))


def _pasted() -> str:
    """The message on stdin: UTF-8, or UTF-16 as PowerShell writes it."""
    data = sys.stdin.buffer.read()
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    return data.decode(encoding, "replace")


def _work(message: str, model: str | None) -> Answer:
    from resizefix.library.explain import explain

    explained = explain(_pasted() if message == DASH else message, model)
    named = None if model is None else shown(model)
    found = [
        replace(one, command=as_typed(one.command), then=as_typed(one.then), reason=as_typed(one.reason))
        for one in explained
    ]

    def show() -> None:
        from resizefix.reports.explanations import show_explanations

        show_explanations(found, named)

    called = "MODEL" if named is None else quoted(operand(named))
    unknown = None if found else Diagnostic("cli.message-is-not-known", model=called)
    return Answer({"matches": [asdict(one) for one in found]}, show, error=unknown, exit_code=0 if found else 1)
