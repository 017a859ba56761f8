"""`resizefix freeze-scales IN OUT`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer, run_command
from resizefix.cli.feed_options import FeedOption
from resizefix.cli.image_sizes import size_option
from resizefix.cli.many import many_written
from resizefix.cli.options import running, shared_options, subcommand, writing
from resizefix.cli.piped_model import model_argument
from resizefix.cli.written import why_not_all, written
from resizefix.diagnostics import Diagnostic

if TYPE_CHECKING:
    from resizefix.library.result import Result


@subcommand("freeze-scales", example="resizefix freeze-scales any.onnx x2.onnx --set scales=1,1,2,2")
@model_argument(metavar="IN")
@click.argument("out", required=False, type=click.Path())
@many_written
@click.option(
    "--set", "values", type=FeedOption(), multiple=True, help="Freeze this input at this value, INPUT=2,2 (repeatable)."
)
@size_option
@writing
@running
def command(model: str, **options: Any) -> None:
    """Turn scales that are fed or computed at run time into constants: the way back from promote-scales."""
    run_command(model, lambda: _work(model, options))


def _work(model: str, options: dict[str, Any]) -> Answer:
    def make() -> Result:
        from resizefix.library.freeze_scales import freeze_scales

        return freeze_scales(model, set=dict(options["values"]), size=options["size"], **shared_options(options))

    why_not = why_not_all(options, "frozen", Diagnostic("cli.nothing-to-freeze"))
    return written(model, options, make, why_not)
