"""`resizefix input-size IN OUT SIZE`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer
from resizefix.cli.option_types import TypedValue
from resizefix.cli.options import Subcommand
from resizefix.cli.write_result import ExtraOutput, NothingWritten, write_result, writing_command
from resizefix.diagnostics import Diagnostic
from resizefix.errors import UsageError
from resizefix.library.option_values import SIZE_OR_ANY
from resizefix.printable import printable

if TYPE_CHECKING:
    from resizefix.library.result import Result


class _WithSize(Subcommand):
    """SIZE is the last argument; OUT may be left out."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        size = click.Argument(["size"], required=False, metavar="SIZE")
        self.params.insert(2, size)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Tells OUT from SIZE."""
        rest = super().parse_args(ctx, args)
        params = ctx.params
        if ctx.resilient_parsing:
            return rest
        if params["out"] is None:
            raise click.UsageError("Missing argument 'SIZE'.", ctx)
        if params["size"] is None:  # OUT is left out where -o, --in-place or --dry-run stand for it
            params["out"], params["size"] = None, params["out"]
        params["size"] = TypedValue(SIZE_OR_ANY).convert(params["size"], self.params[2], ctx)
        return rest


@writing_command("input-size", example="resizefix input-size model_640.onnx model_720p.onnx 720x1280", cls=_WithSize)
def command(model: str, **options: Any) -> Answer:
    """Give IN another input resolution: SIZE is height x width, or `any`.

    Every constant that follows the size is found and rewritten; where weights depend on it, nothing is written.
    """
    if options["node"]:
        raise UsageError("cli.input-size-takes-no-node")
    return write_result(model, {**options, "settings": {"size": options["size"]}}, _why_not, extra=_extra)


def _why_not(result: Result) -> NothingWritten | None:
    from resizefix.diagnostics import code_of
    from resizefix.library.input_size import SAME_SIZE
    from resizefix.outcome import Status
    from resizefix.reports.wording import reason

    refused = next((outcome for outcome in result.outcomes if outcome.status is Status.REFUSED), None)
    if refused is not None:
        return NothingWritten(
            Diagnostic("cli.nothing-written", why=f"{refused.node}: {reason(refused)}"), outcome=refused
        )
    if code_of(result.verification.reason) == SAME_SIZE.code:
        return NothingWritten(SAME_SIZE, True)
    return None


def _extra(result: Result, path: str | None, is_yes: bool) -> ExtraOutput | None:
    resolution = result.resolution
    if resolution is None:
        return None
    from resizefix.reports.json import fields

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

    asked = {**fields(resolution, "size", "batch"), "rule": resolution.rule or None}
    shapes = [{"name": name, "before": list(old), "after": list(new)} for name, old, new in resolution.shapes]
    return ExtraOutput({**asked, **fields(resolution, "inferred", "approximate"), "shapes": shapes}, show)
