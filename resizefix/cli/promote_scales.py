"""`resizefix promote-scales IN OUT`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer, run_command
from resizefix.cli.many import many_written
from resizefix.cli.options import NumbersOption, opset_option, running, shared_options, subcommand, writing
from resizefix.cli.piped_model import DASH, model_argument, shown
from resizefix.cli.written import More, why_not_all, written
from resizefix.diagnostics import Diagnostic

if TYPE_CHECKING:
    from resizefix.library.result import Result


_OWN = ("form", "opset", "input_name", "shared", "keep_default", "for_", "denominator", "allow_coupled", "at")


@subcommand("promote-scales", example="resizefix promote-scales x3.onnx any.onnx --input-name scales")
@model_argument(metavar="IN")
@click.argument("out", required=False, type=click.Path())
@many_written
@click.option(
    "--form",
    type=click.Choice(["scales", "spatial", "factor", "sizes"]),
    help="What the input holds: all scales (the default), those of the scaled axes, one factor, or the output size.",
)
@click.option("--input-name", metavar="NAME", help="Name of the new input.  [default: NODE_scales]")
@click.option("--shared", is_flag=True, help="Use one input for all selected nodes.")
@click.option("--keep-default", is_flag=True, help="Keep the old value as the input's default.")
@click.option(
    "--for",
    "for_",
    type=click.Choice(["onnxruntime", "tensorrt"]),
    default="onnxruntime",
    show_default=True,
    help="Runtime of the new model; for TensorRT the input is an int64 factor.",
)
@click.option(
    "--denominator",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="The number that TensorRT's factor is divided by.  [default: 1, or 1000 for a fraction]",
)
@opset_option
@click.option("--at", type=NumbersOption(), multiple=True, help="Also verify at this scale (repeatable).")
@click.option("--allow-coupled", is_flag=True, help="Also promote nodes that another scale would break.")
@writing
@running
def command(model: str, **options: Any) -> None:
    """Turn the constant scales of IN's Upsample/Resize nodes into graph inputs, verify the result, and write OUT.

    Without -n, every node is promoted whose scale can change alone.
    """
    run_command(model, lambda: _work(model, options))


def _work(model: str, options: dict[str, Any]) -> Answer:
    def make() -> Result:
        from resizefix.library.promote_scales import promote_scales

        own = {name: options[name] for name in _OWN}
        return promote_scales(model, **own, **shared_options(options))

    why_not = why_not_all(options, "promoted", Diagnostic("cli.nothing-to-promote"))

    def more(result: Result, path: str | None, made: bool) -> More | None:
        from resizefix.library.tensorrt_profile import trtexec_flags
        from resizefix.reports.json import profile_json

        out = path or options["out"] or options["output_option"] or shown(model)
        out = "model.onnx" if out == DASH else out
        flags = None if result.profile is None else trtexec_flags(out, result.profile)

        def show() -> None:
            from resizefix.dialects.model_view import ModelView
            from resizefix.document.document import Document
            from resizefix.library.lost_targets import lost_targets
            from resizefix.reports.python_lines import python_lines
            from resizefix.reports.text import show_lost_targets, show_profile, show_python

            if flags is not None:
                show_profile(flags)
            if made and path is not None and isinstance(result.model, Document):
                before, after = result.seen or (ModelView(Document.open(model)), ModelView(result.model))
                show_lost_targets(*lost_targets(before, after, result.outcomes, result.inputs))
                show_python(python_lines(result, result.model.proto, out))

        fields = {} if result.profile is None else {"profile": profile_json(result.profile), "trtexec": flags}
        return More(fields, show)

    return written(model, options, make, why_not, more=more)
