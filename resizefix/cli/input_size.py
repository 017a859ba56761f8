"""`resizefix input-size IN [OUT] SIZE`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer
from resizefix.cli.options import TypedValue
from resizefix.cli.write_result import NotChanged, WithLastArgument, write_result, writing_command
from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.library.option_values import SIZE_OR_ANY
from resizefix.printable import printable

if TYPE_CHECKING:
    from resizefix.input_sizes.questions import Question
    from resizefix.library.result import Result


class _WithSize(WithLastArgument):
    last, metavar = "size", "SIZE"

    def is_left_out(self, words: Sequence[str], params: Mapping[str, Any]) -> bool:
        """With --batch, --like or shapes, where the last word is no size; a third word is nothing else."""
        if params["batch"] is None and params["like"] is None and not any(shape for _, shape in params["input"] or ()):
            return False
        return not words or ((len(words) < 2 or params["output_dir"] is not None) and not _is_size(words[-1]))

    def read(self, word: str, param: click.Argument, ctx: click.Context) -> Any:
        """A size, or `any`."""
        return TypedValue(SIZE_OR_ANY).convert(word, param, ctx)


def _is_size(word: str) -> bool:
    try:
        TypedValue(SIZE_OR_ANY).convert(word, None, None)
    except click.UsageError:
        return False
    return True


@writing_command("input-size", example="resizefix input-size model_640.onnx model_720p.onnx 720x1280", cls=_WithSize)
def command(model: str, **options: Any) -> Answer:
    """Give IN another input resolution: SIZE is height x width, or `any`.

    Every constant that follows the size is found and rewritten; where weights depend on it, nothing is written. What
    the file leaves open is assumed by a printed convention, or asked. SIZE may be left out with --batch or --like.
    """
    if options["node"]:
        raise UsageError("cli.input-size-takes-no-node")
    settings = {"size": options["size"]}
    asks = _asks if options["ask"] else None
    return write_result(model, {**options, "settings": settings}, _why_not, extra=_extra, again=asks)


def _asks(result: Result) -> dict[str, Any] | None:
    """The options that somebody chooses on the terminal, where the file leaves a choice."""
    choices = () if result.resolution is None else result.resolution.choices
    chosen: dict[str, Any] = {}
    for question in choices:
        for name, value in _ask(question):
            chosen[name] = (*chosen.get(name, ()), value)
    return chosen or None


def _ask(question: Question) -> list[tuple[str, Any]]:
    """Ask for one choice: the options that make it, as the library has them."""
    from resizefix.input_sizes.refusal import readings_of

    click.echo(f"{printable(', '.join(question.nodes))}: {printable(question.why)}", err=True)
    for number, reading in enumerate(question.readings, 1):
        click.echo(f"  {number}: {reading.meaning}", err=True)
    answer = click.prompt("number", type=click.IntRange(1, len(question.readings)), err=True)
    options: list[tuple[str, Any]] = []
    for node, name in readings_of(question.args(question.readings[answer - 1].name)):
        option = {"keep": "keep", "follow": "follow_input"}.get(name, "read")
        options.append((option, node if option != "read" else (node, name)))
    return options


def _why_not(result: Result) -> NotChanged:
    from resizefix.library.input_size import SAME_SIZE
    from resizefix.outcome import ModelOutcome, Status
    from resizefix.reports.wording import reason

    if result.outcome is ModelOutcome.ALREADY:
        return NotChanged(SAME_SIZE)
    refused = next(outcome for outcome in result.outcomes if outcome.status is Status.REFUSED)
    return NotChanged(Diagnostic("cli.nothing-written", why=f"{refused.node}: {reason(refused)}"), refused)


def _extra(result: Result, path: str | None, is_changed: bool) -> Answer | None:
    resolution = result.resolution
    if resolution is None:
        return None
    from resizefix.reports.json import fields
    from resizefix.words import joined

    def show() -> None:
        from resizefix.reports.wording import times

        for name, old, new in resolution.shapes:
            click.echo(Diagnostic("cli.shape-becomes", name=printable(name), old=times(old), new=times(new)))
        if resolution.rule:
            click.echo(resolution.rule)
        for sentence in resolution.inferred:
            click.echo(f"inferred: {sentence}")
        for (node, convention, meaning), uses in groupby(resolution.assumed, lambda use: use[:3]):
            ways = " or ".join(joined(use.args) for use in uses if use.args)
            otherwise = f"; if that is wrong: {ways}" if ways else ""
            click.echo(f"assumed {printable(node)}: {printable(meaning)} [{convention}]{otherwise}")
        for question in resolution.choices:
            click.echo(f"{printable(', '.join(question.nodes))}: {printable(question.why)}")
            for reading in question.readings:
                click.echo(f"  {joined(question.args(reading.name))}: {reading.meaning}")
        for node in resolution.approximate:
            click.echo(f"approximate: {printable(node)}: its learned positions are interpolated")

    asked = {**fields(resolution, "size", "batch"), "rule": resolution.rule or None}
    shapes = [{"name": name, "before": list(old), "after": list(new)} for name, old, new in resolution.shapes]
    assumed = [{**fields(use, "node", "convention", "meaning"), "args": list(use.args)} for use in resolution.assumed]
    choices = [_choice_json(question) for question in resolution.choices]
    lists = {"assumed": assumed, "choices": choices, "shapes": shapes}
    return Answer({**asked, **fields(resolution, "inferred", "approximate"), **lists}, show)


def _choice_json(question: Question) -> dict[str, Any]:
    readings = [
        {"name": one.name, "meaning": one.meaning, "args": list(question.args(one.name))} for one in question.readings
    ]
    first, *_ = question.nodes
    return {"node": first, "nodes": list(question.nodes), "value": question.value, "readings": readings}
