"""`resizefix freeze-scales IN [OUT]`."""

from __future__ import annotations

from typing import Any

from resizefix.cli.envelope import Answer
from resizefix.cli.write_result import why_not_changed, write_result, writing_command
from resizefix.diagnostics import Diagnostic


@writing_command("freeze-scales", example="resizefix freeze-scales any.onnx x2.onnx --set scales=1,1,2,2")
def command(model: str, **options: Any) -> Answer:
    """Turn scales that are fed or computed at run time into constants: the way back from promote-scales."""
    return write_result(model, options, why_not_changed(options, "frozen", Diagnostic("cli.nothing-to-freeze")))
