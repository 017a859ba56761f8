"""`resizefix promote-scales IN [OUT]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resizefix.cli.envelope import Answer, output_mode
from resizefix.cli.streams import DASH, shown
from resizefix.cli.write_result import (
    ExtraOutput,
    profile_fields,
    show_profile_of,
    why_not_changed,
    write_result,
    writing_command,
)
from resizefix.diagnostics import Diagnostic

if TYPE_CHECKING:
    from resizefix.library.result import Result
    from resizefix.targets.target import Target


@writing_command("promote-scales", example="resizefix promote-scales x3.onnx any.onnx --input-name scales")
def command(model: str, **options: Any) -> Answer:
    """Turn the constant scales of IN's Upsample/Resize nodes into graph inputs, verify the result, and write OUT.

    Without -n, every node is promoted whose scale can change alone.
    """
    why_not = why_not_changed(options, "promoted", Diagnostic("cli.nothing-to-promote"))

    def extra(result: Result, path: str | None, is_changed: bool) -> ExtraOutput:
        out = path or options["out"] or options["output_option"] or shown(model)
        out = "model.onnx" if out == DASH else out
        fields = {} if result.profile is None else profile_fields(result.profile, out)
        if is_changed and output_mode().as_json:
            fields["lost_targets"] = [one.name for one in _lost_and_kept(model, result)[0]]

        def show() -> None:
            from resizefix.document.document import Document
            from resizefix.reports.python_lines import python_lines
            from resizefix.reports.text import show_lost_targets, show_python

            if result.profile is not None:
                show_profile_of(result, fields, path or shown(model))
            if is_changed and path is not None and isinstance(result.model, Document):
                show_lost_targets(*_lost_and_kept(model, result))
                show_python(python_lines(result, result.model.proto, out))

        return ExtraOutput(fields, show)

    return write_result(model, options, why_not, extra=extra)


def _lost_and_kept(model: str, result: Result) -> tuple[list[Target], list[Target]]:
    """The targets that accept the resizes of the model, and not those of the result; and those of them that accept a
    promotion for TensorRT."""
    from resizefix.document.document import Document
    from resizefix.library.lost_targets import lost_targets
    from resizefix.shapes.stored_shapes import ModelView

    if not isinstance(result.model, Document):
        return [], []
    before, after = result.seen or (ModelView(Document.open(model)), ModelView(result.model))
    return lost_targets(before, after, result.outcomes, result.inputs)
