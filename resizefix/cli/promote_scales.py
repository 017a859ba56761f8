"""`resizefix promote-scales IN OUT`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer, answering
from resizefix.cli.option_types import SCALES
from resizefix.cli.options import opset_option, own_options, writing
from resizefix.cli.piped_model import DASH, shown
from resizefix.cli.written import More, calling, why_not_all, writes, written
from resizefix.diagnostics import Diagnostic

if TYPE_CHECKING:
    from resizefix.library.result import Result


_OWN = ("form", "opset", "input_name", "shared", "keep_default", "for_", "denominator", "allow_coupled", "at")


@writes("promote-scales", example="resizefix promote-scales x3.onnx any.onnx --input-name scales")
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
@click.option("--at", type=SCALES, multiple=True, help="Also verify at this scale (repeatable).")
@click.option("--allow-coupled", is_flag=True, help="Also promote nodes that another scale would break.")
@writing
@answering
def command(model: str, **options: Any) -> Answer:
    """Turn the constant scales of IN's Upsample/Resize nodes into graph inputs, verify the result, and write OUT.

    Without -n, every node is promoted whose scale can change alone.
    """
    make = calling("promote_scales", model, **own_options(options, *_OWN))
    why_not = why_not_all(options, "promoted", Diagnostic("cli.nothing-to-promote"))

    def more(result: Result, path: str | None, made: bool) -> More | None:
        out = path or options["out"] or options["output_option"] or shown(model)
        out = "model.onnx" if out == DASH else out
        fields, flags = {}, None
        if result.profile is not None:
            from resizefix.library.tensorrt_profile import trtexec_flags
            from resizefix.reports.json import profile_json

            flags = trtexec_flags(out, result.profile)
            fields = {"profile": profile_json(result.profile), "trtexec": flags}

        def show() -> None:
            from resizefix.document.document import Document
            from resizefix.library.lost_targets import lost_targets
            from resizefix.reports.python_lines import python_lines
            from resizefix.reports.text import show_lost_targets, show_profile, show_python
            from resizefix.shapes.model_view import ModelView

            if flags is not None:
                show_profile(flags)
            if made and path is not None and isinstance(result.model, Document):
                before, after = result.seen or (ModelView(Document.open(model)), ModelView(result.model))
                show_lost_targets(*lost_targets(before, after, result.outcomes, result.inputs))
                show_python(python_lines(result, result.model.proto, out))

        return More(fields, show)

    return written(model, options, make, why_not, more=more)
