"""`resizefix check MODEL --target TARGET`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from resizefix.cli.envelope import Answer, output_mode, run_command
from resizefix.cli.many import many_read
from resizefix.cli.options import F, subcommand, target_option
from resizefix.cli.piped_model import model_argument, shown
from resizefix.cli.report_files import ReportFiles, report_files_of, reporting
from resizefix.cli.runtime_options import runtime_python
from resizefix.diagnostics import Diagnostic


class ShapesOption(click.ParamType):  # type: ignore[type-arg]
    """`NAME:1x3x224x224,OTHER:2`, as trtexec writes shapes; `NAME:1,3,224,224` means the same."""

    name = "NAME:DxD…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, tuple[int, ...]]:
        """Input names with their sizes, or their values where those decide shapes."""
        if isinstance(value, dict):
            return value
        shapes: dict[str, tuple[int, ...]] = {}
        name = ""
        for piece in str(value).split(","):
            before, separator, sizes = piece.rpartition(":")
            name = before if separator else name
            try:
                numbers = tuple(int(size) for size in sizes.strip("[] ").split("x"))
            except ValueError:
                numbers = (-1,)
            if not name or any(number < 0 for number in numbers):
                self.fail(Diagnostic("cli.no-shape", value=repr(value), example="input:1x3x224x224"), param, ctx)
            shapes[name] = shapes.get(name, ()) + numbers
        return shapes


def _shapes(*names: str, text: str) -> Callable[[F], F]:
    return click.option(*names, type=ShapesOption(), multiple=True, help=text)


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
    help="Also ask the runtime of the target, if installed; for TensorRT 10 that is TensorRT-RTX (pip install "
    "'resizefix[tensorrt]').",
)
@runtime_python
@click.option("--build", is_flag=True, help="Like --live, and build the engine; no GPU is needed.")
@_shapes("--min-shapes", "--minShapes", text="Smallest shapes for --build, or values of inputs that decide shapes.")
@_shapes("--opt-shapes", "--optShapes", text="Usual shapes for --build; given alone, the only ones.")
@_shapes(
    "--max-shapes", "--maxShapes", text="Largest shapes for --build; where none are given, ranges are chosen and shown."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300,
    show_default=True,
    metavar="SECONDS",
    help="Wait this long for one answer of --live.",
)
@reporting
def command(model: str, targets: tuple[str, ...], **options: Any) -> None:
    """Say whether TARGET accepts the Upsample/Resize nodes of MODEL, rule by rule.

    Exit code 0: every target accepts them, and with --live the real parser accepts the whole model. Exit code 1: one
    does not.
    """
    reports = report_files_of(options)
    run_command(model, lambda: _work(model, targets, reports, options))


def _work(model: str, targets: tuple[str, ...], reports: ReportFiles, options: dict[str, Any]) -> Answer:
    reports.require_free([model])
    from resizefix.library.check import check_all
    from resizefix.library.repair import known_faults
    from resizefix.reports.json import fault_json, verdict_json

    verdicts = check_all(
        model,
        targets,
        live=options["live"],
        build=options["build"],
        profile=_profile(options),
        timeout=options["timeout"],
        runtime_python=dict(options["runtime_python"]),
    )
    for reason in dict.fromkeys(verdict.live_reason for verdict in verdicts if verdict.live_reason):
        click.echo(f"resizefix check: {reason}", err=True)

    faults = known_faults(model)

    def show() -> None:
        from resizefix.document.document import Document
        from resizefix.reports.next_step import after_check
        from resizefix.reports.terminal import show_step
        from resizefix.reports.text import show_faults, show_matrix, show_verdicts

        if not reports.on_stdout:
            show_faults(faults)
        if reports.on_stdout:
            pass
        elif targets or output_mode().verbose:
            show_verdicts(verdicts, chosen=None)
            show_step(after_check(shown(model), Document.open(model), verdicts))
        else:
            show_matrix(verdicts)
        reports.announce()

    def report(written: str) -> str:
        from resizefix.document.document import Document
        from resizefix.reports import matrix

        made: str = getattr(matrix, written)(shown(model), matrix.rows_of(Document.open(model), verdicts), verdicts)
        return made

    files = reports.write(lambda: report("matrix_page"), lambda: report("matrix_markdown"))
    fields = {
        "faults": [{"node": label, **fault_json(fault)} for label, fault in faults],
        "targets": {verdict.target.name: verdict_json(verdict) for verdict in verdicts},
        **files,
    }
    return Answer(fields, show, exit_code=0 if all(verdict.taken for verdict in verdicts) else 1)


def _profile(options: dict[str, Any]) -> dict[str, dict[str, tuple[int, ...]]]:
    """The three shape options as one optimization profile."""
    from resizefix.errors import UsageError

    profile: dict[str, dict[str, tuple[int, ...]]] = {}
    for bound in ("min", "opt", "max"):
        for given in options[f"{bound}_shapes"]:
            for name, numbers in given.items():
                profile.setdefault(name, {})[bound] = numbers
    if profile and not options["build"]:
        raise UsageError("cli.shapes-without-build")
    return profile
