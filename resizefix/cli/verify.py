"""`resizefix verify BEFORE AFTER`, and of one model `--runtime NAME` or `--expect FILE`."""

from __future__ import annotations

from functools import partial
from typing import Any

from resizefix.cli.envelope import Answer
from resizefix.cli.files import pages, pages_of_two, report_files_of
from resizefix.cli.options import model_argument, subcommand
from resizefix.cli.streams import progress_line, require_whole, shown
from resizefix.library.options import library_options


@subcommand(
    "verify",
    model_argument("before"),
    model_argument("after", required=False),
    example="resizefix verify x3.onnx any.onnx --feed scales=1,1,3,3",
)
def command(before: str, after: str | None, **options: Any) -> Answer:
    """Run BEFORE and AFTER in onnxruntime on the same feeds and compare their outputs.

    With --expect, compare the only model with outputs that were computed elsewhere.

    Outputs must be equal bit for bit (--runtime: within 1e-4) unless --atol or --rtol allow a difference. Exit code 0:
    they are; 1: they are not, or a model cannot be run. Reports are written in both cases.
    """
    reports = report_files_of(options, before, *([] if after is None else [after]))
    require_whole(before, after or before)
    from resizefix.library.verify import verify
    from resizefix.reports.json import drift_json, tensor_json, verification_json

    settings = library_options("verify", options)
    verification = verify(before, after, **settings, progress=progress_line())

    if after is None:
        wanted = pages("html.runtime_page", "markdown.runtime_markdown", lambda: (shown(before), verification))
    else:
        wanted = pages_of_two(before, after, verification=verification)

    def show() -> None:
        from resizefix.reports.text import show_verification

        show_verification(verification)

    fields: dict[str, Any] = {"verification": verification_json(verification), **reports.write(*wanted)}
    if verification.expected is not None:
        fields |= {
            "expected": verification.expected,
            "tensors": [tensor_json(tensor) for tensor in verification.tensors],
            "sites": [drift_json(site) for site in verification.sites],
        }
    if options["runtime"] is not None:
        fields |= {"runtime": verification.runtime, "sites": [drift_json(site) for site in verification.sites]}
    if not verification.speaks_against:
        return Answer(fields, reports.announcing(show))
    answer = Answer(fields, reports.announcing(show), error=verification.reason, exit_code=1)
    if after is not None and options["runtime"] is None:
        from resizefix.cli.next_command import after_small_difference  # most models do not differ

        answer.next_step = partial(after_small_difference, (before, after), settings, verification.runs)
    return answer
