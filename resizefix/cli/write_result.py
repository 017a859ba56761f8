"""What every command that writes does: check where to write, make the result, save it if the model was changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import resizefix
from resizefix import process
from resizefix.cli.envelope import Answer, output_mode
from resizefix.cli.options import Subcommand, model_argument, subcommand
from resizefix.cli.progress import progress_line
from resizefix.cli.streams import DASH, ModelOnStdout, require_whole
from resizefix.cli.target import default_out, target_file_of
from resizefix.diagnostics import Diagnostic
from resizefix.library.options import call_of, library_options, options_of
from resizefix.outcome import ModelOutcome, Status

if TYPE_CHECKING:
    from resizefix.library.lost_targets import TargetsMoved
    from resizefix.library.result import Result
    from resizefix.library.tensorrt_profile import Range
    from resizefix.outcome import Outcome
    from resizefix.reports.result_table import Made
    from resizefix.shapes.stored_shapes import ModelView


_KEEPING_THE_MEANING = ("trt-legacy", "legalize")
"""Commands that hand a model on to a device: what the file computes is kept, wanted or not."""


class NotChanged(NamedTuple):
    """Why a model is not changed; `outcome` is the one that the reason is about."""

    reason: str
    outcome: Outcome | None = None


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
    why_not: Callable[[Result], NotChanged],
    *,
    extra: Callable[[Result, str | None, bool], ExtraOutput | None] = lambda result, path, is_changed: None,
    again: Callable[[Result], Mapping[str, Any] | None] | None = None,
) -> Answer:
    """Write the model that the library's call of this command makes, if it is changed; the answer has the fields that
    such commands share.

    `why_not` says why a result is not changed. `extra` gets the result, the path to write to and whether the model is
    changed. `again` gives options of the library to add for another call, or None where the result stands.
    """
    began = time.perf_counter()
    command = str(click.get_current_context().command.name)
    target = target_file_of(model, options, default=default_out(command, model, options))
    (as_json, _, verbose), as_external_data, on_stdout = output_mode(), options["save_as_external_data"], None
    if target.path == DASH:
        on_stdout = ModelOnStdout(model, as_json=as_json, as_external_data=as_external_data)
    require_whole(model)
    from resizefix.library.result import VerificationFailedError

    call = getattr(resizefix, call_of(command))
    settings = {**options.get("settings", {}), **library_options(command, options)}
    try:
        result = call(model, **settings, progress=progress_line(), on_refusal="return")
        while again is not None and (further_options := again(result)) is not None:
            settings = _with_further(settings, further_options)
            result = call(model, **settings, progress=progress_line(), on_refusal="return")
        outcome = result.outcome
        why = None if outcome is ModelOutcome.CHANGED else _why_not(result, why_not)
    except VerificationFailedError as error:
        result, outcome = error.result, ModelOutcome.FAILED
        why = NotChanged(Diagnostic("cli.nothing-written", why=str(error)))
    is_changed, is_copy = why is None, outcome is ModelOutcome.ALREADY and options["copy_unchanged"]
    further = extra(result, target.path, is_changed)
    fields = {}
    if as_json or not is_changed:  # that somebody reads
        fields = _fields(result, further)
        fields.setdefault("lost_targets", [one.name for one in _moved(model, result)[-1].lost] if is_changed else [])

    def show() -> None:
        from resizefix.library.repair import known_faults
        from resizefix.reports.result_table import result_table
        from resizefix.reports.text import (
            show_already,
            show_copy,
            show_lost_targets,
            show_optional_faults,
            show_result,
            show_written,
        )

        texts = verbose or options["dry_run"]
        made = _made(model, result, target.path, time.perf_counter() - began) if is_changed else None
        table = result_table(result, made) if made is not None else None
        show_result(result, texts=texts, sessions=verbose, refused=why and why.outcome, kept=is_changed, table=table)
        if further is not None:
            further.show()
        if made is not None and target.path is not None and command != "promote-scales":  # which says how to keep them
            show_lost_targets(made.moved.lost)
        if made is not None and command in _KEEPING_THE_MEANING:
            show_optional_faults(known_faults(made.before))
        if why is None:
            show_written(target.path)
        elif is_copy:
            show_copy(why.reason, target.path)
        elif outcome is ModelOutcome.ALREADY and not options["strict"]:
            show_already(why.reason, target.path, in_place=options["in_place"])

    if is_changed or is_copy:
        process.note(outcome=outcome.value)
        if on_stdout is not None:
            on_stdout.save(result.model)
        elif target.path is not None:
            result.model.save(target.path, overwrite=target.overwrite, as_external_data=as_external_data)
        return Answer(fields, show, target.path, outcome=outcome, reason=why and why.reason)
    assert why is not None
    if outcome is ModelOutcome.ALREADY and not options["strict"]:
        return Answer(fields, show, outcome=outcome, reason=why.reason)
    return Answer(fields, show, error=why.reason, exit_code=1, outcome=outcome)


def _with_further(settings: Mapping[str, Any], further: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a call with more values of repeatable ones."""
    return {**settings, **{name: (*settings.get(name, ()), *values) for name, values in further.items()}}


def _why_not(result: Result, why_not: Callable[[Result], NotChanged]) -> NotChanged:
    """Why the model is not changed: as a whole, for lack of a resize, or as the command says."""
    if result.refusal is not None:
        return NotChanged(str(result.refusal))
    if result.outcome is ModelOutcome.REFUSED and not result.outcomes and not result.blockers:
        return NotChanged(Diagnostic("cli.no-resize"))
    return why_not(result)


def profile_fields(profile: Mapping[str, Range], out: str) -> dict[str, Any]:
    """The optimization profile, and the command of trtexec that builds OUT with it."""
    from resizefix.library.tensorrt_profile import trtexec_flags
    from resizefix.reports.json import profile_json

    out = "model.onnx" if out == DASH else out
    return {"profile": profile_json(profile), "trtexec": trtexec_flags(out, profile)}


def _moved(model: str, result: Result) -> tuple[ModelView, ModelView, TargetsMoved]:
    """The old model, the new one, and which targets accept the resizes of each."""
    from resizefix.document.document import Document
    from resizefix.library.lost_targets import targets_moved
    from resizefix.shapes.stored_shapes import ModelView

    before, after = result.seen or (ModelView(Document.open(model)), ModelView(result.model))
    return before, after, targets_moved(before, after, result.outcomes, result.inputs)


def _made(model: str, result: Result, path: str | None, seconds: float) -> Made:
    """The new model and the old one; `path` is where the new one was written."""
    from resizefix.document.document import Document
    from resizefix.reports.result_table import Made, file_bytes

    before, after, moved = _moved(model, result)
    written = None if path is None or path == DASH else file_bytes(path, Document.open(path))
    return Made(before, after, moved, (file_bytes(model, before.document), written), seconds)


def _fields(result: Result, further: ExtraOutput | None) -> dict[str, Any]:
    from resizefix.reports.json import blocker_json, input_json, integer_input_json, outcome_json, verification_json

    integers = {"integer_inputs": [integer_input_json(one) for one in result.integer_inputs]}
    return {
        "outcomes": [outcome_json(outcome) for outcome in result.outcomes],
        "inputs": [input_json(source) for source in result.inputs],
        **(integers if result.integer_inputs else {}),
        "verification": verification_json(result.verification),
        "blockers": [blocker_json(blocker) for blocker in result.blockers],
        **({} if further is None else further.fields),
    }


def why_not_changed(options: dict[str, Any], done: str, already: str) -> Callable[[Result], NotChanged]:
    """What says why a command that changes sites did not.

    `done` is what happens to a site ("promoted"), `already` what to say where every site is as it should be.
    """

    def why_not(result: Result) -> NotChanged:
        from resizefix.reports.wording import reason

        if result.outcome is ModelOutcome.ALREADY:
            return NotChanged(already if result.outcomes else Diagnostic("cli.no-resize-to-do"))
        refused = [outcome for outcome in result.outcomes if outcome.status is Status.REFUSED]
        if not refused:
            first = result.blockers[0]
            return NotChanged(Diagnostic("cli.blocked", node=first.node, why=first.reason, fix=first.fix))
        if options["node"] and len(refused) < len(result.outcomes):
            names = ", ".join(outcome.node for outcome in refused)
            return NotChanged(Diagnostic("cli.named-not-changed", names=names, done=done))
        why = Diagnostic("cli.nothing-done", done=done, node=refused[0].node, why=reason(refused[0]))
        return NotChanged(why, refused[0])

    return why_not
