"""`resizefix repair IN OUT`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from resizefix.cli.envelope import Answer
from resizefix.cli.write_result import NothingWritten, unless_all_changed, write_result, writing_command
from resizefix.diagnostics import Diagnostic
from resizefix.outcome import Status

if TYPE_CHECKING:
    from resizefix.library.result import Result


@writing_command("repair", example="resizefix repair fp16.onnx fixed.onnx")
def command(model: str, **options: Any) -> Answer:
    """Fix the Upsample/Resize nodes of IN that a converter broke or left fragile, keeping the intended meaning.

    A model without a fault is copied to OUT. One that only differs from what PyTorch computes is named and left, and
    not copied unless --copy-unchanged is given.
    """
    # A model without a fault is what repair promises to write: OUT is a copy of it.
    writing = {**options, "copy_unchanged": True}
    usual = unless_all_changed(options, "repaired", Diagnostic("cli.nothing-to-repair"))

    def why_not(result: Result) -> NothingWritten | None:
        nothing = usual(result)
        left = next((one for one in result.outcomes if one.fault is not None and one.status is Status.UNCHANGED), None)
        if nothing is None or not nothing.unchanged or left is None:
            return nothing
        writing["copy_unchanged"] = options["copy_unchanged"]
        return NothingWritten(Diagnostic("cli.fault-left", words=" ".join(left.retry_args)), True)

    answer = write_result(model, writing, why_not)
    if not answer.unchanged or writing["copy_unchanged"] or answer.error is None:
        return answer
    said, show = answer.error, answer.show

    def show_left() -> None:
        from resizefix.reports.text import show_nothing_written

        if show is not None:
            show()
        show_nothing_written(said)

    return replace(answer, error=None, exit_code=0, show=show_left)  # nothing is wrong
