"""`resizefix legalize IN OUT --target TARGET`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer, answering
from resizefix.cli.options import (
    inline_option,
    opset_option,
    own_options,
    rewriting,
    runtime_python,
    size_option,
    target_option,
    writing,
)
from resizefix.cli.written import More, No, calling, why_not_all, writes, written
from resizefix.diagnostics import Diagnostic
from resizefix.errors import UsageError
from resizefix.outcome import Status

if TYPE_CHECKING:
    from resizefix.library.result import Result


_OWN = ("target", "fastest", "opset", "live", "size", "inline", "allow_inexact", "lower")


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
@inline_option
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
    why_not_any = why_not_all(options, "rewritten", Diagnostic(nothing, target=options["target"]))

    def why_not(result: Result) -> No | None:
        return why_not_any(result) or (None if options["node"] else _still_rejected(result, options["target"]))

    def more(result: Result, path: str | None, is_yes: bool) -> More | None:
        speed = result.speed
        if speed is None:
            return None
        from resizefix.reports.json import speed_json
        from resizefix.reports.text import show_speed

        return More({"speed": speed_json(speed)}, lambda: show_speed(speed))

    return written(model, options, make, why_not, more=more)


def _still_rejected(result: Result, target: str) -> No | None:
    """Why the target would not accept a model of which some nodes were rewritten."""
    refused = next((outcome for outcome in result.outcomes if outcome.status is Status.REFUSED), None)
    if refused is not None:
        from resizefix.reports.wording import reason

        why = {"node": refused.node, "why": reason(refused)}
    elif result.blockers:
        why = {"node": result.blockers[0].node, "why": f"{result.blockers[0].reason}; {result.blockers[0].fix}"}
    else:
        return None
    return No(Diagnostic("cli.still-rejected", target=target, **why), outcome=refused)
