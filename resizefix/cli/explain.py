"""`resizefix explain "MESSAGE" [MODEL]`."""

from __future__ import annotations

import codecs
import os
import re
import sys
from dataclasses import asdict
from typing import Any

import click

from resizefix.cli.envelope import Answer
from resizefix.cli.options import Subcommand, subcommand
from resizefix.cli.streams import DASH, ModelArgument, as_typed, shown
from resizefix.diagnostics import Diagnostic

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LOOKED_AT = 4096
_MOST_READ = 16 * 2**20  # the end of a log says most


class _EitherArgument(ModelArgument):
    """The model, or the message where the model stands first: which of them it is, both together say."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The word as it was typed."""
        return value


class _InEitherOrder(Subcommand):
    """The message and the model may stand in either order."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Tells the message from the model."""
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            message, model = _in_order(ctx.params["message"], ctx.params["model"])
            message = _read_from_file(message)
            read = None if model is None else ModelArgument().convert(model, self.params[1], ctx)
            ctx.params |= {"message": message, "model": read}
        return rest


@subcommand(
    "explain",
    click.Argument(["message"]),
    click.Argument(["model"], type=_EitherArgument(), required=False),
    example="resizefix explain 'Resize scales must be an initializer!' x3.onnx",
    cls=_InEitherOrder,
)
def command(message: str, model: str | None, **_: object) -> Answer:
    """Say what a runtime's MESSAGE means, and which command helps.

    Paste the message as it was printed, with its paths, numbers and line breaks; or name a log, or `-` for stdin.
    With MODEL, the command is tried on the model, and nothing is written; MODEL may also stand first. Exit code 1: the
    message is not known.
    """
    from resizefix.library.explain import Explanation, explain, nearest_explanations, speaking_target
    from resizefix.library.fix_trials import model_findings
    from resizefix.messages.pasted_text import fed_sizes
    from resizefix.reports.explanations import report_text, show_explanations, show_unknown

    text = _pasted() if message == DASH else message
    explained = explain(text, model)
    target = speaking_target(text, explained)
    shows = None if model is None else model_findings(model, target, fed_sizes(text))
    near = [] if explained else nearest_explanations(text)
    report = None if explained else report_text(text, shows)
    named = None if model is None else shown(model)
    answer: dict[str, Any] = as_typed(
        {
            "matches": [asdict(one) for one in explained],
            "nearest": [asdict(one) for one in near],
            "findings": None if shows is None else asdict(shows),
            "report": report,
        }
    )

    def show() -> None:
        if explained:
            show_explanations([_as_typed(one) for one in explained], named, shows)
        else:
            show_unknown(near, as_typed(report or ""), named, shows)

    def _as_typed(one: Explanation) -> Explanation:
        return Explanation(**as_typed(asdict(one)))

    if explained:
        return Answer(answer, show)
    return Answer(answer, show, error=Diagnostic("cli.message-is-not-known"), exit_code=1)


def _in_order(message: str, model: str | None) -> tuple[str, str | None]:
    """The message and the model: either may stand first, and the one that is a file is the model."""
    if message == model == DASH:
        raise click.UsageError(Diagnostic("cli.stdin-message-and-model"))
    if model is None:
        if message != DASH and os.path.isfile(message) and not _is_text(message):
            raise click.UsageError(Diagnostic("cli.explain-needs-a-message", model=message))
        return message, None
    if os.path.isfile(message) and os.path.isfile(model) and not _is_text(message):
        if not _is_text(model):
            raise click.UsageError(Diagnostic("cli.explain-needs-a-message", model=message))
        return model, message
    if not os.path.isfile(model) and (os.path.isfile(message) or (message == DASH and len(model.split()) > 1)):
        return model, message
    return message, model


def _pasted() -> str:
    """The message on stdin: UTF-8, or UTF-16 as PowerShell writes it."""
    return _decoded(sys.stdin.buffer.read())


def _read_from_file(message: str) -> str:
    """The message, or what stands in it where it is a log's name."""
    if message == DASH or not os.path.isfile(message) or not _is_text(message):
        return message
    with open(message, "rb") as file:
        file.seek(max(0, os.path.getsize(message) - _MOST_READ) // 2 * 2)
        return _decoded(file.read()) or message


def _is_text(path: str) -> bool:
    """Whether a file is text, and so a log: a model has other bytes among its first ones."""
    with open(path, "rb") as file:
        start = file.read(_LOOKED_AT)
    return bool(start) and (start.startswith(_UTF_16) or not re.search(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]", start))


def _decoded(data: bytes) -> str:
    encoding = "utf-16" if data.startswith(_UTF_16) else "utf-8-sig"
    return data.decode(encoding, "replace")
