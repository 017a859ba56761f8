"""What every command that writes does: check where to write, make the result, save it if the answer is yes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import resizefix
from resizefix.cli.envelope import Answer, output_mode
from resizefix.cli.options import Subcommand, model_argument, subcommand
from resizefix.cli.piped_model import DASH, ModelOnStdout, require_whole
from resizefix.cli.progress import progress_line
from resizefix.cli.target_file import target_file_of
from resizefix.diagnostics import Diagnostic
from resizefix.library.options import call_of, library_options, options_of
from resizefix.outcome import Status

if TYPE_CHECKING:
    from resizefix.library.result import Result
    from resizefix.outcome import Outcome
    from resizefix.reports.result_table import Made


class NothingWritten(NamedTuple):
    """Why nothing is written; `unchanged`: since nothing needs to change, so that a copy would do."""

    reason: str
    unchanged: bool = False
    outcome: Outcome | None = None
    """The one that the reason is about."""


class ExtraOutput(NamedTuple):
    """What a command tells beside the outcomes: fields for --json, and how to show them to a person."""

    fields: dict[str, Any]
    show: Callable[[], None]


def writing_command(
    name: str, *, example: str, cls: type[Subcommand] = Subcommand, model: click.Argument | None = None
) -> Callable[[Callable[..., Answer]], click.Command]:
    """A command that reads IN (the argument `model`) and writes OUT; with --output-dir, also many models at once."""
    arguments = [model or model_argument(metavar="IN"), click.Argument(["out"], required=False, type=click.Path())]
    if any(option.name == "output_dir" for option in options_of(name)):
        # Subcommand.format_usage writes another line for these.
        arguments.append(click.Argument(["more"], nargs=-1, metavar="", type=click.Path()))
    return subcommand(name, *arguments, example=example, cls=cls)


def write_result(
    model: str,
    options: dict[str, Any],
    why_not: Callable[[Result], NothingWritten | None],
    *,
    out: str | None = None,
    extra: Callable[[Result, str | None, bool], ExtraOutput | None] = lambda result, path, is_yes: None,
    again: Callable[[Result], Mapping[str, Any] | None] | None = None,
) -> Answer:
    """Write the model that the library's call of this command makes, unless `why_not` says why not; the answer has the
    fields that such commands share.

    `out` is OUT where none is given. `extra` gets the result, the path to write to and whether the answer is yes.
    `again` gives options of the library to add for another call, or None where the result stands.
    """
    began = time.perf_counter()
    target, (as_json, _, verbose) = target_file_of(model, options, default=out), output_mode()
    as_external_data = options["save_as_external_data"]
    on_stdout = None
    if target.path == DASH:
        on_stdout = ModelOnStdout(model, as_json=as_json, as_external_data=as_external_data)
    require_whole(model)
    from resizefix.library.result import VerificationFailedError

    command = str(click.get_current_context().command.name)
    call = getattr(resizefix, call_of(command))
    settings = {**options.get("settings", {}), **library_options(command, options)}
    try:
        result = call(model, **settings, progress=progress_line(), on_refusal="return")
        while again is not None and (further_options := again(result)) is not None:
            for name, values in further_options.items():
                settings[name] = (*settings.get(name, ()), *values)
            result = call(model, **settings, progress=progress_line(), on_refusal="return")
        nothing = why_not(result) if result.refusal is None else NothingWritten(str(result.refusal))
    except VerificationFailedError as error:
        result, nothing = error.result, NothingWritten(Diagnostic("cli.nothing-written", why=str(error)))
    is_copy = nothing is not None and nothing.unchanged and options["copy_unchanged"]
    is_written = nothing is None or is_copy
    further = extra(result, target.path, nothing is None)
    fields = _fields(result, further) if as_json or not is_written else {}  # that somebody reads

    def show() -> None:
        from resizefix.reports.result_table import result_table
        from resizefix.reports.text import show_copy, show_lost_targets, show_result, show_written

        refused = None if nothing is None else nothing.outcome
        texts = verbose or options["dry_run"]
        made = _made(model, result, target.path, time.perf_counter() - began) if nothing is None else None
        table = result_table(result, made) if made is not None else None
        show_result(result, texts=texts, sessions=verbose, refused=refused, kept=nothing is None, table=table)
        if further is not None:
            further.show()
        if made is not None and target.path is not None and command != "promote-scales":  # which says how to keep them
            show_lost_targets(made.moved.lost)
        if nothing is not None and is_copy:
            show_copy(nothing.reason, target.path)
        elif is_written:
            show_written(target.path)

    if is_written and on_stdout is not None:
        on_stdout.save(result.model)
    elif is_written and target.path is not None:
        result.model.save(target.path, overwrite=target.overwrite, as_external_data=as_external_data)
    if nothing is None or is_copy:
        return Answer(fields, show, target.path)
    return Answer(fields, show, error=nothing.reason, exit_code=1, unchanged=nothing.unchanged)


def _made(model: str, result: Result, path: str | None, seconds: float) -> Made:
    """The new model beside the old one; `path` is where it was written."""
    from resizefix.document.document import Document
    from resizefix.library.lost_targets import targets_moved
    from resizefix.reports.result_table import Made, file_bytes
    from resizefix.shapes.model_view import ModelView

    before, after = result.seen or (ModelView(Document.open(model)), ModelView(result.model))
    moved = targets_moved(before, after, result.outcomes, result.inputs)
    written = None if path is None or path == DASH else file_bytes(path, Document.open(path))
    return Made(before, after, moved, (file_bytes(model, before.document), written), seconds)


def _fields(result: Result, further: ExtraOutput | None) -> dict[str, Any]:
    from resizefix.reports.json import blocker_json, input_json, outcome_json, verification_json

    return {
        "outcomes": [outcome_json(outcome) for outcome in result.outcomes],
        "inputs": [input_json(source) for source in result.inputs],
        "verification": verification_json(result.verification),
        "blockers": [blocker_json(blocker) for blocker in result.blockers],
        **({} if further is None else further.fields),
    }


def unless_all_changed(options: dict[str, Any], done: str, nothing: str) -> Callable[[Result], NothingWritten | None]:
    """What says why the answer of a command that changes sites is no; None if it is yes.

    `done` is what happens to a site ("promoted"), `nothing` what to say where every site is as it should be already.
    """

    def why_not(result: Result) -> NothingWritten | None:
        from resizefix.reports.wording import reason

        if result.blockers and all(outcome.status is Status.UNCHANGED for outcome in result.outcomes):
            first = result.blockers[0]
            return NothingWritten(Diagnostic("cli.blocked", node=first.node, why=first.reason, fix=first.fix))
        if not result.outcomes:
            return NothingWritten(Diagnostic("cli.no-resize-to-do", done=f"be {done}"), True)
        missed = [outcome for outcome in result.outcomes if outcome.status is not Status.CHANGED]
        refused = next((outcome for outcome in missed if outcome.status is Status.REFUSED), None)
        if result.changed and missed and options["node"]:
            names = ", ".join(outcome.node for outcome in missed)
            return NothingWritten(Diagnostic("cli.named-not-changed", names=names, done=done))
        if result.changed or (refused is None and result.resolution is not None):  # the input has another size
            return None
        if refused is None:
            return NothingWritten(nothing, True)
        why = Diagnostic("cli.nothing-done", done=done, node=refused.node, why=reason(refused))
        return NothingWritten(why, outcome=refused)

    return why_not
