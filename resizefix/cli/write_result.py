"""What every command that writes does: check where to write, make the result, save it if the model was changed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import resizefix
from resizefix import process
from resizefix.cli.envelope import Answer, output_mode
from resizefix.cli.files import default_out, target_file_of
from resizefix.cli.options import Subcommand, model_argument, subcommand
from resizefix.cli.streams import DASH, ModelOnStdout, progress_line, require_whole
from resizefix.diagnostics import Diagnostic
from resizefix.library.options import call_of, library_options
from resizefix.outcome import ModelOutcome, Status
from resizefix.words import joined

if TYPE_CHECKING:
    from resizefix.library.result import Result
    from resizefix.library.tensorrt_profile import Range
    from resizefix.library.verdict import TargetsMoved
    from resizefix.outcome import Outcome
    from resizefix.reports.result_table import Made
    from resizefix.shapes.stored_shapes import ModelView


_KEEPING_THE_MEANING = ("trt-legacy", "legalize")
"""Commands that hand a model on to a device: what the file computes is kept, wanted or not."""


class NotChanged(NamedTuple):
    """Why a model is not changed; `outcome` is the one that the reason is about."""

    reason: str
    outcome: Outcome | None = None


def writing_command(
    name: str, *, example: str, cls: type[Subcommand] = Subcommand, model: click.Argument | None = None
) -> Callable[[Callable[..., Answer]], click.Command]:
    """A command that reads IN (the argument `model`) and writes OUT; with --output-dir, also many models at once."""
    first, out = model or model_argument(metavar="IN"), click.Argument(["out"], required=False, type=click.Path())
    # Subcommand.format_usage writes another line for these.
    others = click.Argument(["more"], nargs=-1, metavar="", type=click.Path())
    return subcommand(name, first, out, others, example=example, cls=cls)


class WithLastArgument(Subcommand):
    """Behind the files stands one word more, whether they are IN, IN and OUT, or many models."""

    last: str
    metavar: str

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._argument = click.Argument([self.last], required=False, metavar=self.metavar)
        self.params.insert(2, self._argument)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Tells the files from the last word."""
        rest = super().parse_args(ctx, args)
        params = ctx.params
        if ctx.resilient_parsing:
            return rest
        files = [word for word in (params["out"], params[self.last], *params["more"]) if word is not None]
        params[self.last] = None
        if not self.is_left_out(files, params):
            self._require_last([params["model"], *files], ctx)
            params[self.last] = self.read(files.pop(), self._argument, ctx)
        params["out"], params["more"] = files[0] if files else None, tuple(files[1:])
        return rest

    def _require_last(self, words: Sequence[str], ctx: click.Context) -> None:
        """Raises UsageError where the word is missing, or stands in front of the files."""
        *files, last = words
        if files and self._is_read(last, ctx):
            return
        for at, word in enumerate(files):
            if self._is_read(word, ctx):
                rest = (*words[:at], *words[at + 1 :], word)
                raise click.UsageError(Diagnostic("cli.last-word", metavar=self.metavar, words=joined(rest)), ctx)
        if not files or last.lower().endswith(".onnx") or os.path.exists(last):
            raise click.UsageError(f"Missing argument '{self.metavar}'.", ctx)

    def _is_read(self, word: str, ctx: click.Context) -> bool:
        try:
            self.read(word, self._argument, ctx)
        except click.UsageError:
            return False
        return True

    def is_left_out(self, words: Sequence[str], params: Mapping[str, Any]) -> bool:
        """Whether all these words behind IN are files."""
        return False

    def read(self, word: str, param: click.Argument, ctx: click.Context) -> Any:
        """The last word as the command uses it."""
        raise NotImplementedError


class _Reached(NamedTuple):
    """What the library's call came to; `why` is why the model is not changed, None where it is."""

    result: Result
    outcome: ModelOutcome
    why: NotChanged | None

    @property
    def is_already(self) -> bool:
        """Whether what was asked for is there."""
        return self.outcome is ModelOutcome.ALREADY


def write_result(
    model: str,
    options: dict[str, Any],
    why_not: Callable[[Result], NotChanged],
    *,
    extra: Callable[[Result, str | None, bool], Answer | None] = lambda result, path, is_changed: None,
    again: Callable[[Result], Mapping[str, Any] | None] | None = None,
) -> Answer:
    """Write the model that the library's call of this command makes, if it is changed; the answer has the fields that
    such commands share.

    `why_not` says why a result is not changed. `extra` gets the result, the path to write to and whether the model is
    changed, and gives what the command adds to the outcomes. `again` gives options of the library to add for another
    call, or None where the result stands.
    """
    began = time.perf_counter()
    command = str(click.get_current_context().command.name)
    target = target_file_of(model, options, default=default_out(command, model, options))
    as_json, as_external_data, on_stdout = output_mode().as_json, options["save_as_external_data"], None
    if target.path == DASH:
        on_stdout = ModelOnStdout(model, as_json=as_json, as_external_data=as_external_data)
    require_whole(model)
    from resizefix.library.result import VerificationFailedError

    settings = {**options.get("settings", {}), **library_options(command, options)}
    call = partial(getattr(resizefix, call_of(command)), model, progress=progress_line(), on_refusal="return")
    try:
        result = call(**settings)
        while again is not None and (further_options := again(result)) is not None:
            settings = _with_further(settings, further_options)
            result = call(**settings)
        why = None if result.outcome is ModelOutcome.CHANGED else _why_not(result, why_not)
        reached = _Reached(result, result.outcome, why)
    except VerificationFailedError as error:
        why = NotChanged(Diagnostic("cli.nothing-written", why=str(error)))
        reached = _Reached(error.result, ModelOutcome.FAILED, why)
    result, outcome, why = reached
    further = extra(result, target.path, why is None)
    fields = _fields(model, reached, further) if as_json or why is not None else {}  # where somebody reads them
    show = partial(_show, model, command, options, reached, further, target.path, began)
    if why is None or (reached.is_already and options["copy_unchanged"]):
        process.note(outcome=outcome.value)
        if on_stdout is not None:
            on_stdout.save(result.model)
        elif target.path is not None:
            result.model.save(target.path, overwrite=target.overwrite, as_external_data=as_external_data)
        return Answer(fields, show, target.path, outcome=outcome, reason=why and why.reason)
    if reached.is_already and not options["strict"]:
        return Answer(fields, show, outcome=outcome, reason=why.reason)
    return Answer(fields, show, error=why.reason, exit_code=1, outcome=outcome)


def _show(
    model: str,
    command: str,
    options: Mapping[str, Any],
    reached: _Reached,
    further: Answer | None,
    path: str | None,
    began: float,
) -> None:
    """What was done, for a person; last, where the model was written, or why it was not needed."""
    from resizefix.reports import text
    from resizefix.reports.result_table import result_table

    result, _, why = reached
    verbose = output_mode().verbose
    change = _made(model, result, path, time.perf_counter() - began) if why is None else None
    text.show_result(
        result,
        texts=verbose or options["dry_run"],
        sessions=verbose,
        refused=why and why.outcome,
        kept=why is None,
        table=result_table(result, change) if change is not None else None,
    )
    if further is not None and further.show is not None:
        further.show()
    if change is not None and path is not None:
        text.show_lost_targets(change.moved.lost, change.moved.kept_by_integers)
    if further is not None and further.show_last is not None:
        further.show_last()
    if change is not None and command in _KEEPING_THE_MEANING:
        from resizefix.faults.table import named_faults

        text.show_optional_faults(named_faults(change.before))
    if why is None:
        text.show_written(path)
    elif reached.is_already and options["copy_unchanged"]:
        text.show_copy(why.reason, path)
    elif reached.is_already and not options["strict"]:
        text.show_already(why.reason, path, in_place=options["in_place"])


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


def show_profile_of(result: Result, fields: Mapping[str, Any], out: str) -> None:
    """The command of trtexec, for the file OUT; and `repair`, where the profile gives one name two lengths."""
    from resizefix.document.document import Document
    from resizefix.faults.names import clashing_names
    from resizefix.reports.next_step import repairing
    from resizefix.reports.terminal import show_step
    from resizefix.reports.text import show_profile

    ranges = {name: (one.min, one.max) for name, one in (result.profile or {}).items()}
    clashing = clashing_names(result.model.proto, ranges) if isinstance(result.model, Document) else []
    show_profile(fields["trtexec"], clashing)
    if clashing and out != DASH:
        show_step(repairing(out))


def _moved(model: str, result: Result) -> tuple[ModelView, ModelView, TargetsMoved]:
    """The old model, the new one, and which targets accept the resizes of each."""
    from resizefix.document.document import Document
    from resizefix.library.verdict import targets_moved
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


def _fields(model: str, reached: _Reached, further: Answer | None) -> dict[str, Any]:
    """The fields of the JSON that all commands which write share, and those of this one."""
    from resizefix.reports.json import blocker_json, input_json, integer_input_json, outcome_json, verification_json

    result = reached.result
    integers = {"integer_inputs": [integer_input_json(one) for one in result.integer_inputs]}
    fields = {
        "outcomes": [outcome_json(outcome) for outcome in result.outcomes],
        "inputs": [input_json(source) for source in result.inputs],
        **(integers if result.integer_inputs else {}),
        "verification": verification_json(result.verification),
        "blockers": [blocker_json(blocker) for blocker in result.blockers],
        **({} if further is None else further.fields),
    }
    if "lost_targets" not in fields:  # which promote-scales tells by itself
        lost = _moved(model, result)[-1].lost if reached.why is None else ()
        fields["lost_targets"] = [one.name for one in lost]
    return fields


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
