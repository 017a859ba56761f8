"""`resizefix check MODEL --target TARGET`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from resizefix.cli.envelope import Answer, answering, output_mode
from resizefix.cli.many import many_read
from resizefix.cli.option_types import SHAPES
from resizefix.cli.options import F, number_option, runtime_python, subcommand, target_option
from resizefix.cli.piped_model import model_argument, shown
from resizefix.cli.report_files import pages, report_files_of, reporting
from resizefix.errors import UsageError


def _shapes(*names: str, text: str) -> Callable[[F], F]:
    return click.option(*names, type=SHAPES, multiple=True, help=text)


@subcommand("check", example="resizefix check x3.onnx --target tensorrt-8.0")
@model_argument()
@many_read
@target_option(
    "--target",
    "targets",
    multiple=True,
    help="Check the rules of this runtime (repeatable); `list` prints the names.  [default: all, as a matrix]",
)
@click.option(
    "--live",
    is_flag=True,
    help="Also ask the runtime of the target, which must be installed; for TensorRT 10 that is TensorRT-RTX (pip "
    "install 'resizefix[tensorrt]').",
)
@runtime_python
@click.option("--build", is_flag=True, help="Like --live, and build the engine; no GPU is needed.")
@_shapes("--min-shapes", "--minShapes", text="Smallest shapes for --build, or values of inputs that decide shapes.")
@_shapes("--opt-shapes", "--optShapes", text="Usual shapes for --build; given alone, the only ones.")
@_shapes(
    "--max-shapes", "--maxShapes", text="Largest shapes for --build; where none are given, ranges are chosen and shown."
)
@number_option(
    "--timeout", click.FloatRange(min=0, min_open=True), 300, "Wait this long for one answer of --live.", "SECONDS"
)
@reporting
@answering
def command(model: str, targets: tuple[str, ...], **options: Any) -> Answer:
    """Say whether TARGET accepts the Upsample/Resize nodes of MODEL, rule by rule.

    Exit code 0: every target accepts them, and with --live its real parser accepts the whole model. Exit code 1: one
    does not. Exit code 2: with --live, a named target cannot be asked here.
    """
    reports = report_files_of(options, model)
    from resizefix.document.document import Document
    from resizefix.library.check import check_all
    from resizefix.library.repair import known_faults
    from resizefix.reports.json import fault_json, verdict_json

    own = {name: options[name] for name in ("live", "build", "timeout")}
    pythons = dict(options["runtime_python"])
    verdicts = check_all(model, targets, profile=_profile(options), runtime_python=pythons, **own)
    unanswered = list(dict.fromkeys(verdict.live_reason for verdict in verdicts if verdict.live_reason))
    for reason in () if targets else unanswered:  # of all targets, those that can be asked are
        click.echo(f"resizefix check: {reason}", err=True)
    faults = known_faults(model)

    def show() -> None:
        from resizefix.reports.next_step import after_check
        from resizefix.reports.terminal import show_step
        from resizefix.reports.text import show_faults, show_matrix, show_verdicts

        show_faults(faults)
        if targets or output_mode().verbose:
            show_verdicts(verdicts, chosen=None)
            show_step(after_check(shown(model), Document.open(model), verdicts))
        else:
            show_matrix(verdicts)

    def rows() -> tuple[Any, ...]:
        from resizefix.reports.matrix import rows_of

        return shown(model), rows_of(Document.open(model), verdicts), verdicts

    files = reports.write(*pages("matrix.matrix_page", "matrix.matrix_markdown", rows))
    fields = {
        "faults": [{"node": label, **fault_json(fault)} for label, fault in faults],
        "targets": {verdict.target.name: verdict_json(verdict) for verdict in verdicts},
        **files,
    }
    if targets and unanswered:
        return Answer(fields, reports.beside(show), error=". ".join(unanswered), exit_code=UsageError.exit_code)
    is_taken = all(verdict.taken or (verdict.accepted and verdict.live is None) for verdict in verdicts)
    return Answer(fields, reports.beside(show), exit_code=0 if is_taken else 1)


def _profile(options: dict[str, Any]) -> dict[str, dict[str, tuple[int, ...]]]:
    """The three shape options as one optimization profile."""
    profile: dict[str, dict[str, tuple[int, ...]]] = {}
    for bound in ("min", "opt", "max"):
        for given in options[f"{bound}_shapes"]:
            for name, numbers in given.items():
                profile.setdefault(name, {})[bound] = numbers
    if profile and not options["build"]:
        raise UsageError("cli.shapes-without-build")
    return profile
