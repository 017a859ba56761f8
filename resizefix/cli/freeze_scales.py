"""`resizefix freeze-scales IN OUT`."""

from __future__ import annotations

from typing import Any

import click

from resizefix.cli.envelope import Answer, answering
from resizefix.cli.option_types import FEED
from resizefix.cli.options import own_options, size_option, writing
from resizefix.cli.written import calling, why_not_all, writes, written
from resizefix.diagnostics import Diagnostic


@writes("freeze-scales", example="resizefix freeze-scales any.onnx x2.onnx --set scales=1,1,2,2")
@click.option(
    "--set", "values", type=FEED, multiple=True, help="Freeze this input at this value, INPUT=2,2 (repeatable)."
)
@size_option
@writing
@answering
def command(model: str, **options: Any) -> Answer:
    """Turn scales that are fed or computed at run time into constants: the way back from promote-scales."""
    make = calling("freeze_scales", model, set=dict(options["values"]), **own_options(options, "size"))
    return written(model, options, make, why_not_all(options, "frozen", Diagnostic("cli.nothing-to-freeze")))
