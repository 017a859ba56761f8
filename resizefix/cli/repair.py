"""`resizefix repair IN OUT`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer, run_command
from resizefix.cli.many import many_written
from resizefix.cli.options import opset_option, running, shared_options, subcommand, writing
from resizefix.cli.piped_model import model_argument
from resizefix.cli.written import why_not_all, written
from resizefix.diagnostics import Diagnostic

if TYPE_CHECKING:
    from resizefix.library.result import Result


@subcommand("repair", example="resizefix repair fp16.onnx fixed.onnx")
@model_argument(metavar="IN")
@click.argument("out", required=False, type=click.Path())
@many_written
@click.option(
    "--prefer",
    multiple=True,
    type=click.Choice(["scales", "sizes", "half_pixel", "asymmetric"]),
    help="Use this reading where scales and sizes disagree, or where no coordinates are stated (once for each).",
)
@click.option("--remove-identity", is_flag=True, help="Also replace resizes with scale 1 by Identity.")
@opset_option
@writing
@running
def command(model: str, **options: Any) -> None:
    """Fix the Upsample/Resize nodes of IN that a converter broke or left fragile, keeping the intended meaning.

    A model without a fault is copied to OUT.
    """
    run_command(model, lambda: _work(model, options))


def _work(model: str, options: dict[str, Any]) -> Answer:
    def make() -> Result:
        from resizefix.library.repair import repair

        extra = {name: options[name] for name in ("prefer", "remove_identity", "opset")}
        return repair(model, **extra, **shared_options(options))

    why_not = why_not_all(options, "repaired", Diagnostic("cli.nothing-to-repair"))
    # A model without a fault is what repair promises to write: OUT is a copy of it.
    return written(model, {**options, "copy_unchanged": True}, make, why_not)
