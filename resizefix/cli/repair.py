"""`resizefix repair IN OUT`."""

from __future__ import annotations

from typing import Any

import click

from resizefix.cli.envelope import Answer, answering
from resizefix.cli.options import opset_option, own_options, writing
from resizefix.cli.written import calling, why_not_all, writes, written
from resizefix.diagnostics import Diagnostic


@writes("repair", example="resizefix repair fp16.onnx fixed.onnx")
@click.option(
    "--prefer",
    multiple=True,
    type=click.Choice(["scales", "sizes", "half_pixel", "asymmetric"]),
    help="Use this reading where scales and sizes disagree, or where no coordinates are stated (once for each).",
)
@click.option("--remove-identity", is_flag=True, help="Also replace resizes with scale 1 by Identity.")
@opset_option
@writing
@answering
def command(model: str, **options: Any) -> Answer:
    """Fix the Upsample/Resize nodes of IN that a converter broke or left fragile, keeping the intended meaning.

    A model without a fault is copied to OUT.
    """
    make = calling("repair", model, **own_options(options, "prefer", "remove_identity", "opset"))
    why_not = why_not_all(options, "repaired", Diagnostic("cli.nothing-to-repair"))
    # A model without a fault is what repair promises to write: OUT is a copy of it.
    return written(model, {**options, "copy_unchanged": True}, make, why_not)
