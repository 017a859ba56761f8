"""`resizefix input-size IN OUT SIZE`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer, run_command
from resizefix.cli.image_sizes import BatchType, SizeType
from resizefix.cli.options import run_options, running, subcommand, writing
from resizefix.cli.piped_model import model_argument
from resizefix.cli.written import More, No, written
from resizefix.diagnostics import Diagnostic
from resizefix.printable import printable

if TYPE_CHECKING:
    from resizefix.library.result import Result


@subcommand("input-size", example="resizefix input-size model_640.onnx model_720p.onnx 720x1280")
@model_argument(metavar="IN")
@click.argument("out", required=False, type=click.Path())
@click.argument("size", required=False, metavar="SIZE")
@click.option("--batch", type=BatchType(), help="Also set the batch: a number, or any.")
@click.option("--input", "inputs", multiple=True, metavar="NAME", help="Only these image inputs (repeatable).")
@click.option("--keep", multiple=True, metavar="PATTERN", help="Keep the sizes in these nodes (repeatable).")
@click.option(
    "--follow", multiple=True, metavar="PATTERN", help="Let the sizes in these nodes follow the input (repeatable)."
)
@click.option(
    "--interpolate-positions", is_flag=True, help="Interpolate learned tables of positions: an approximation."
)
@writing
@running
def command(model: str, **options: Any) -> None:
    """Give IN another input resolution: SIZE is height x width, or `any`.

    Every constant that follows the size is found and rewritten; where weights depend on it, nothing is written.
    """
    context = click.get_current_context()
    if options["out"] is None:
        raise click.UsageError("Missing argument 'SIZE'.", context)
    if options["size"] is None:  # OUT is left out where -o, --in-place or --dry-run stand for it
        options["out"], options["size"] = None, options["out"]
    param = next(param for param in context.command.params if param.name == "size")
    options["size"] = SizeType().convert(options["size"], param, context)
    run_command(model, lambda: _work(model, options))


def _work(model: str, options: dict[str, Any]) -> Answer:
    def make() -> Result:
        from resizefix.library.input_size import input_size

        return input_size(
            model,
            size=options["size"],
            batch=options["batch"],
            input=options["inputs"],
            keep=options["keep"],
            follow_input=options["follow"],
            interpolate_positions=options["interpolate_positions"],
            verify=not options["no_verify"],
            **run_options(options),
        )

    return written(model, options, make, _why_not, more=_more)


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

    size = resolution.size if isinstance(resolution.size, str) else list(resolution.size)

    def show() -> None:
        from resizefix.reports.wording import times

        for name, old, new in resolution.shapes:
            click.echo(Diagnostic("cli.shape-becomes", name=printable(name), old=times(old), new=times(new)))
        if resolution.rule:
            click.echo(resolution.rule)
        for sentence in resolution.inferred:
            click.echo(f"inferred: {sentence}")
        for node in resolution.approximate:
            click.echo(f"approximate: {printable(node)}: its learned positions are interpolated")

    fields = {"size": size, "batch": resolution.batch, "rule": resolution.rule or None}
    lists = {"inferred": list(resolution.inferred), "approximate": list(resolution.approximate)}
    shapes = [{"name": name, "before": list(old), "after": list(new)} for name, old, new in resolution.shapes]
    return More({**fields, **lists, "shapes": shapes}, show)
