"""`resizefix legalize IN OUT --target TARGET`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer, answering
from resizefix.cli.options import (
    opset_option,
    own_options,
    rewriting,
    runtime_python,
    size_option,
    target_option,
    writing,
)
from resizefix.cli.written import More, calling, why_not_all, writes, written
from resizefix.diagnostics import Diagnostic
from resizefix.errors import UsageError

if TYPE_CHECKING:
    from resizefix.library.result import Result


_OWN = ("target", "fastest", "opset", "live", "size", "allow_inexact", "lower")


@writes("legalize", example="resizefix legalize x3.onnx x3_trt8.onnx --target tensorrt-8.0")
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
@answering
def command(model: str, **options: Any) -> Answer:
    """Rewrite those Upsample/Resize nodes of IN that TARGET refuses into ones it accepts, which compute the same."""
    if options["target"] is None:
        if not options["fastest"]:
            raise UsageError("cli.no-target", rule="target")
        options = {**options, "target": "onnxruntime"}

    pythons = dict(options["runtime_python"])
    make = calling("legalize", model, runtime_python=pythons, **own_options(options, *_OWN))
    nothing = "cli.nothing-faster" if options["fastest"] else "cli.nothing-to-legalize"
    why_not = why_not_all(options, "rewritten", Diagnostic(nothing, target=options["target"]))

    def more(result: Result, path: str | None, is_yes: bool) -> More | None:
        speed = result.speed
        if speed is None:
            return None
        from resizefix.reports.json import speed_json
        from resizefix.reports.text import show_speed

        return More({"speed": speed_json(speed)}, lambda: show_speed(speed))

    return written(model, options, make, why_not, more=more)
