"""`resizefix promote-scales IN [OUT]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resizefix.cli.envelope import Answer
from resizefix.cli.streams import DASH, shown
from resizefix.cli.write_result import (
    profile_fields,
    show_profile_of,
    why_not_changed,
    write_result,
    writing_command,
)
from resizefix.diagnostics import Diagnostic

if TYPE_CHECKING:
    from resizefix.library.result import Result


@writing_command("promote-scales", example="resizefix promote-scales x3.onnx any.onnx --input-name scales")
def command(model: str, **options: Any) -> Answer:
    """Turn the constant scales of IN's Upsample/Resize nodes into graph inputs, verify the result, and write OUT.

    Without -n, every node is promoted whose scale can change alone.
    """
    why_not = why_not_changed(options, "promoted", Diagnostic("cli.nothing-to-promote"))

    def extra(result: Result, path: str | None, is_changed: bool) -> Answer:
        out = path or options["out"] or options["output_option"] or shown(model)
        out = "model.onnx" if out == DASH else out
        fields = {} if result.profile is None else profile_fields(result.profile, out)

        def show() -> None:
            if result.profile is not None:
                show_profile_of(result, fields, path or shown(model))

        def show_last() -> None:
            from resizefix.document.document import Document
            from resizefix.reports.result_table import python_lines
            from resizefix.reports.text import show_python

            if is_changed and path is not None and isinstance(result.model, Document):
                show_python(python_lines(result, result.model.proto, out))

        return Answer(fields, show, show_last=show_last)

    return write_result(model, options, why_not, extra=extra)
