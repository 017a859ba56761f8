"""`resizefix input-size IN OUT SIZE`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer, run_command
from resizefix.cli.option_types import BATCH, NODE_READING, SIZE, SIZE_OR_ANY
from resizefix.cli.options import run_options, writing
from resizefix.cli.written import More, No, calling, writes, written
from resizefix.diagnostics import Diagnostic
from resizefix.printable import printable

if TYPE_CHECKING:
    from resizefix.library.result import Result
    from resizefix.origins.input_sizes.questions import Question


@writes("input-size", example="resizefix input-size model_640.onnx model_720p.onnx 720x1280", several=False)
@click.argument("size", required=False, metavar="SIZE")
@click.option("--batch", type=BATCH, help="Also set the batch: a number, or any.")
@click.option("--input", "inputs", multiple=True, metavar="NAME", help="Only these image inputs (repeatable).")
@click.option("--keep", multiple=True, metavar="PATTERN", help="Keep the sizes in these nodes (repeatable).")
@click.option(
    "--follow", multiple=True, metavar="PATTERN", help="Let the sizes in these nodes follow the input (repeatable)."
)
@click.option(
    "--read",
    type=NODE_READING,
    multiple=True,
    metavar="NODE=READING",
    help="Choose a reading by its name (repeatable).",
)
@click.option(
    "--assume",
    type=click.Choice(["usual", "none"]),
    default="usual",
    help="Whether conventions may decide what a number follows; none: all are asked.",
)
@click.option(
    "--keep-overridable", is_flag=True, help="Leave constants that are listed as inputs to those who feed them."
)
@click.option(
    "--like",
    type=click.Path(),
    metavar="OTHER",
    help="The same network at another size, to solve the readings from.",
)
@click.option("--ask", is_flag=True, help="Ask for each choice on the terminal.")
@click.option("--was", type=SIZE, metavar="HxW", help="The size that the constants of a file with open axes are for.")
@click.option(
    "--interpolate-positions", is_flag=True, help="Interpolate learned tables of positions: an approximation."
)
@writing
def command(model: str, **options: Any) -> None:
    """Give IN another input resolution: SIZE is height x width, or `any`.

    Every constant that follows the size is found and rewritten; where weights depend on it, nothing is written. What
    the file does not decide is assumed by a convention, which is printed, or asked. With --batch or --like, SIZE may be
    left out.
    """
    context = click.get_current_context()
    param = next(param for param in context.command.params if param.name == "size")
    if options["size"] is None and not (
        (options["batch"] is not None or options["like"] is not None) and _is_path(options["out"])
    ):
        if options["out"] is None:
            raise click.UsageError("Missing argument 'SIZE'.", context)
        # OUT is left out where -o, --in-place or --dry-run stand for it
        options["out"], options["size"] = None, options["out"]
    if options["size"] is not None:
        options["size"] = SIZE_OR_ANY.convert(options["size"], param, context)
    run_command(model, lambda: _work(model, options))


def _is_path(text: str | None) -> bool:
    """Whether what stands before a missing SIZE is OUT, and no size itself; nothing may stand there."""
    if text is None:
        return True
    try:
        SIZE_OR_ANY.convert(text, None, None)
    except click.UsageError:
        return True
    return False


_OWN = ("size", "batch", "keep", "read", "assume", "was", "like", "keep_overridable", "interpolate_positions")


def _work(model: str, options: dict[str, Any]) -> Answer:
    own = {name: options[name] for name in _OWN}
    renamed = {"input": options["inputs"], "follow_input": options["follow"], "verify": not options["no_verify"]}
    run = run_options(options)

    def make() -> Result:
        while True:
            result = calling("input_size", model, **own, **renamed, **run)()
            choices = () if result.resolution is None else result.resolution.choices
            if not options["ask"] or not choices:
                return result
            for question in choices:
                _ask(question, own, renamed)

    return written(model, options, make, _why_not, more=_more)


def _ask(question: Question, own: dict[str, Any], renamed: dict[str, Any]) -> None:
    """Ask for one choice, and add it to the options of the call."""
    from resizefix.origins.input_sizes.refusal import readings_of

    click.echo(f"{printable(', '.join(question.nodes))}: {printable(question.why)}", err=True)
    for number, reading in enumerate(question.readings, 1):
        click.echo(f"  {number}: {reading.meaning}", err=True)
    answer = click.prompt("number", type=click.IntRange(1, len(question.readings)), err=True)
    for node, name in readings_of(question.args(question.readings[answer - 1].name)):
        if name == "keep":
            own["keep"] = (*own["keep"], node)
        elif name == "follow":
            renamed["follow_input"] = (*renamed["follow_input"], node)
        else:
            own["read"] = (*own["read"], (node, name))


def _why_not(result: Result) -> No | None:
    from resizefix.diagnostics import code_of
    from resizefix.library.input_size import SAME_SIZE
    from resizefix.outcome import Status
    from resizefix.reports.wording import reason

    refused = next((outcome for outcome in result.outcomes if outcome.status is Status.REFUSED), None)
    if refused is not None:
        return No(Diagnostic("cli.nothing-written", why=f"{refused.node}: {reason(refused)}"), outcome=refused)
    if code_of(result.verification.reason) == SAME_SIZE.code:
        return No(SAME_SIZE, True)
    return None


def _more(result: Result, path: str | None, made: bool) -> More | None:
    resolution = result.resolution
    if resolution is None:
        return None
    from resizefix.reports.json import fields
    from resizefix.shell_words import joined

    def show() -> None:
        from resizefix.reports.wording import times

        for name, old, new in resolution.shapes:
            click.echo(Diagnostic("cli.shape-becomes", name=printable(name), old=times(old), new=times(new)))
        if resolution.rule:
            click.echo(resolution.rule)
        for sentence in resolution.inferred:
            click.echo(f"inferred: {sentence}")
        for use in resolution.assumed:
            otherwise = f"; if that is wrong: {joined(use.args)}" if use.args else ""
            click.echo(f"assumed {printable(use.node)}: {printable(use.meaning)} [{use.convention}]{otherwise}")
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
    told = {"assumed": assumed, "choices": choices, "shapes": shapes}
    return More({**asked, **fields(resolution, "inferred", "approximate"), **told}, show)


def _choice_json(question: Question) -> dict[str, Any]:
    readings = [
        {"name": one.name, "meaning": one.meaning, "args": list(question.args(one.name))} for one in question.readings
    ]
    first, *_ = question.nodes
    return {"node": first, "nodes": list(question.nodes), "value": question.value, "readings": readings}
