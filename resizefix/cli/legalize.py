"""`resizefix legalize IN OUT --target TARGET`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer, run_command
from resizefix.cli.image_sizes import size_option
from resizefix.cli.many import many_written
from resizefix.cli.options import (
    opset_option,
    rewrite_options,
    rewriting,
    running,
    shared_options,
    subcommand,
    target_option,
    writing,
)
from resizefix.cli.piped_model import model_argument
from resizefix.cli.runtime_options import runtime_python
from resizefix.cli.written import More, why_not_all, written
from resizefix.diagnostics import Diagnostic
from resizefix.errors import UsageError

if TYPE_CHECKING:
    from resizefix.library.result import Result


@subcommand("legalize", example="resizefix legalize x3.onnx x3_trt8.onnx --target tensorrt-8.0")
@model_argument(metavar="IN")
@click.argument("out", required=False, type=click.Path())
@many_written
@target_option("--target", help="The runtime that must accept the result; `list` prints the names.")
@click.option(
    "--fastest",
    is_flag=True,
    help="Time every form that computes the same in TARGET (default: onnxruntime); keep the fastest.",
)
@opset_option
@click.option(
    "--live/--no-live",
    default=True,
    show_default=True,
    help="Where the runtime of TARGET is installed, also run the result there.",
)
@runtime_python
@size_option
@rewriting
@writing
@running
def command(model: str, **options: Any) -> None:
    """Rewrite those Upsample/Resize nodes of IN that TARGET refuses into ones it accepts, which compute the same."""
    run_command(model, lambda: _work(model, options))


def _work(model: str, options: dict[str, Any]) -> Answer:
    if options["target"] is None:
        if not options["fastest"]:
            raise UsageError("cli.no-target", rule="target")
        options = {**options, "target": "onnxruntime"}

    def make() -> Result:
        from resizefix.library.rewrite import legalize

        own = {name: options[name] for name in ("target", "fastest", "opset", "live", "size")}
        own["runtime_python"] = dict(options["runtime_python"])
        return legalize(model, **own, **rewrite_options(options), **shared_options(options))

    nothing = "cli.nothing-faster" if options["fastest"] else "cli.nothing-to-legalize"
    why_not = why_not_all(options, "rewritten", Diagnostic(nothing, target=options["target"]))

    def more(result: Result, path: str | None, is_yes: bool) -> More | None:
        speed = result.speed
        if speed is None:
            return None
        from resizefix.reports.speed import show_speed, speed_json

        return More({"speed": speed_json(speed)}, lambda: show_speed(speed))

    return written(model, options, make, why_not, more=more)
