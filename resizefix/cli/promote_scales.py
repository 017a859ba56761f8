"""`resizefix promote-scales IN [OUT]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resizefix.cli.envelope import Answer
from resizefix.cli.piped_model import DASH, shown
from resizefix.cli.write_result import ExtraOutput, why_not_changed, write_result, writing_command
from resizefix.diagnostics import Diagnostic

if TYPE_CHECKING:
    from resizefix.library.result import Result


@writing_command("promote-scales", example="resizefix promote-scales x3.onnx any.onnx --input-name scales")
def command(model: str, **options: Any) -> Answer:
    """Turn the constant scales of IN's Upsample/Resize nodes into graph inputs, verify the result, and write OUT.

    Without -n, every node is promoted whose scale can change alone.
    """
    why_not = why_not_changed(options, "promoted", Diagnostic("cli.nothing-to-promote"))

    def extra(result: Result, path: str | None, is_changed: bool) -> ExtraOutput:
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
            if is_changed and path is not None and isinstance(result.model, Document):
                before, after = result.seen or (ModelView(Document.open(model)), ModelView(result.model))
                show_lost_targets(*lost_targets(before, after, result.outcomes, result.inputs))
                show_python(python_lines(result, result.model.proto, out))

        return ExtraOutput(fields, show)

    return write_result(model, options, why_not, extra=extra)
