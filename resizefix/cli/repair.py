"""`resizefix repair IN OUT`."""

from __future__ import annotations

from typing import Any

from resizefix.cli.envelope import Answer
from resizefix.cli.write_result import unless_all_changed, write_result, writing_command
from resizefix.diagnostics import Diagnostic


@writing_command("repair", example="resizefix repair fp16.onnx fixed.onnx")
def command(model: str, **options: Any) -> Answer:
    """Fix the Upsample/Resize nodes of IN that a converter broke or left fragile, keeping the intended meaning.

    A model without a fault is copied to OUT.
    """
    why_not = unless_all_changed(options, "repaired", Diagnostic("cli.nothing-to-repair"))
    # A model without a fault is what repair promises to write: OUT is a copy of it.
    return write_result(model, {**options, "copy_unchanged": True}, why_not)
