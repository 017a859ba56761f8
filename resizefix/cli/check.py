"""`resizefix check MODEL --target TARGET`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import click

from resizefix.cli.envelope import Answer, output_mode
from resizefix.cli.files import pages, report_files_of
from resizefix.cli.options import model_argument, more_models, subcommand
from resizefix.cli.streams import shown
from resizefix.diagnostics import Diagnostic, UsageError

if TYPE_CHECKING:
    from resizefix.reports.next_step import NextStep


@subcommand("check", model_argument(), more_models(), example="resizefix check x3.onnx --target tensorrt-8.0")
def command(model: str, target: tuple[str, ...], **options: Any) -> Answer:
    """Say whether TARGET accepts the Upsample/Resize nodes of MODEL, rule by rule.

    Exit code 0: every target accepts them, and with --live its real parser accepts the whole model. Exit code 1: one
    does not. Exit code 2: with --live, a named target cannot be asked here.
    """
    reports = report_files_of(options, model)
    from resizefix.document.document import Document
    from resizefix.library.check import check_all
    from resizefix.library.repair import known_faults
    from resizefix.reports.json import fault_json, verdict_json
    from resizefix.shapes.stored_shapes import ModelView

    asked = {name: options[name] for name in ("live", "build", "timeout", "runtime_python")}
    document = Document.open(model)
    view = ModelView(document)
    verdicts = check_all(view, target, profile=_profile(options), **asked)
    unanswered = list(dict.fromkeys(verdict.live_reason for verdict in verdicts if verdict.live_reason))
    said = () if target else unanswered  # of all targets, those that can be asked are
    if len(said) > 1 and not output_mode().verbose:
        said = [Diagnostic("cli.not-asked", count=sum(verdict.live_reason is not None for verdict in verdicts))]
    for reason in said:
        click.echo(f"resizefix check: {reason}", err=True)
    # one name for two lengths stops TensorRT's builder
    faults = known_faults(view, by_runs=any(one.target.runtime == "tensorrt" for one in verdicts if target))

    @cache
    def step() -> NextStep | None:
        from resizefix.reports.next_step import after_check

        is_asked = bool(target) or output_mode().verbose
        return after_check(shown(model), document, verdicts, [fault for _, fault in faults]) if is_asked else None

    def show() -> None:
        from resizefix.reports.terminal import show_step
        from resizefix.reports.text import show_families, show_faults, show_optional_faults, show_verdicts

        show_faults([(label, fault) for label, fault in faults if not fault.is_optional])
        show_optional_faults(faults)
        if target or output_mode().verbose:
            show_verdicts(verdicts, chosen=None)
            show_step(step())
        else:
            show_families(verdicts, every=options["all"])

    def rows() -> tuple[Any, ...]:
        from resizefix.reports.matrix import rows_of

        return shown(model), rows_of(document, verdicts), verdicts, step()

    files = reports.write(*pages("matrix.matrix_page", "matrix.matrix_markdown", rows))
    fields = {
        "faults": [{"node": label, **fault_json(fault)} for label, fault in faults],
        "targets": {verdict.target.name: verdict_json(verdict) for verdict in verdicts},
        **files,
    }
    if target and unanswered:
        return Answer(fields, reports.announcing(show), error=". ".join(unanswered), exit_code=UsageError.exit_code)
    is_taken = all(verdict.taken or (verdict.accepted and verdict.live is None) for verdict in verdicts)
    return Answer(fields, reports.announcing(show), exit_code=0 if is_taken else 1)


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
