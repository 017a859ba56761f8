"""`resizefix repair IN [OUT]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from resizefix.cli.envelope import Answer
from resizefix.cli.write_result import NotChanged, why_not_changed, write_result, writing_command
from resizefix.diagnostics import Diagnostic, code_of
from resizefix.outcome import ModelOutcome, Status

if TYPE_CHECKING:
    from resizefix.library.result import Result


@writing_command("repair", example="resizefix repair fp16.onnx fixed.onnx")
def command(model: str, **options: Any) -> Answer:
    """Fix the Upsample/Resize nodes of IN that a converter broke or left fragile, keeping the intended meaning.

    One that only differs from what PyTorch computes is named and left.
    """
    usual = why_not_changed(options, "repaired", Diagnostic("cli.nothing-to-repair"))

    def why_not(result: Result) -> NotChanged:
        left = [one for one in result.outcomes if one.fault is not None and one.status is Status.UNCHANGED]
        if result.outcome is not ModelOutcome.ALREADY:
            return usual(result)
        if code_of(result.verification.reason) in ("library.unrepaired-not-run", "library.unrepaired-not-opened"):
            return NotChanged(Diagnostic("cli.no-fault-known", why=result.verification.reason))
        if not left:
            return usual(result)
        words = next((one.retry_args for one in left if one.retry_args), ())
        return NotChanged(
            Diagnostic("cli.fault-left", words=" ".join(words)) if words else Diagnostic("cli.fault-stays")
        )

    return write_result(model, options, why_not)
