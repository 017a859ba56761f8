"""What every command that writes does: check where to write, make the result, save it if the answer is yes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

import resizefix
from resizefix.cli.envelope import Answer, output_mode
from resizefix.cli.many import many_written
from resizefix.cli.options import Subcommand, subcommand
from resizefix.cli.piped_model import DASH, ModelOnStdout, model_argument, require_whole
from resizefix.cli.target_file import target_file_of
from resizefix.diagnostics import Diagnostic
from resizefix.outcome import Status

if TYPE_CHECKING:
    from resizefix.library.result import Result
    from resizefix.outcome import Outcome


class No(NamedTuple):
    """Why nothing is written; `unchanged`: since nothing needs to change, so that a copy would do."""

    reason: str
    unchanged: bool = False
    outcome: Outcome | None = None
    """The one that the reason is about."""


class More(NamedTuple):
    """What a command tells beside the outcomes: fields for --json, and how to show them to a person."""

    fields: dict[str, Any]
    show: Callable[[], None]


def writes(
    name: str,
    *,
    example: str,
    cls: type[Subcommand] = Subcommand,
    model: Callable[[Any], Any] | None = None,
    several: bool = True,
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command that reads IN (by the argument `model`) and writes OUT; with `several`, also many models at once."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        function = many_written(function) if several else function
        function = click.argument("out", required=False, type=click.Path())(function)
        return subcommand(name, example=example, cls=cls)((model or model_argument(metavar="IN"))(function))

    return decorate


def calling(call: str, model: str, **options: Any) -> Callable[[], Result]:
    """A call of the library, which is imported when it is made."""
    return lambda: getattr(resizefix, call)(model, on_refusal="return", **options)


def written(
    model: str,
    options: dict[str, Any],
    make: Callable[[], Result],
    why_not: Callable[[Result], No | None],
    out: str | None = None,
    more: Callable[[Result, str | None, bool], More | None] = lambda result, path, made: None,
) -> Answer:
    """Write the model that `make` gives unless `why_not` says why not; the answer has the fields that such commands
    share.

    `out` is OUT where none is given. `more` gets the result, the path to write to and whether the answer is yes.
    """
    target, (as_json, _, verbose) = target_file_of(model, options, default=out), output_mode()
    as_external_data = options["save_as_external_data"]
    on_stdout = None
    if target.path == DASH:
        on_stdout = ModelOnStdout(model, as_json=as_json, as_external_data=as_external_data)
    require_whole(model)
    from resizefix.library.result import VerificationFailedError

    try:
        result = make()
        no = why_not(result) if result.refusal is None else No(str(result.refusal))
    except VerificationFailedError as error:
        result, no = error.result, No(Diagnostic("cli.nothing-written", why=str(error)))
    copied = no is not None and no.unchanged and options["copy_unchanged"]
    made = no is None or copied
    further = more(result, target.path, no is None)
    fields = _fields(result, further) if as_json or not (made or no is None) else {}  # that somebody reads

    def show() -> None:
        from resizefix.reports.text import show_copy, show_result, show_written

        refused = None if no is None else no.outcome
        show_result(result, texts=verbose or options["dry_run"], sessions=verbose, refused=refused, kept=no is None)
        if further is not None:
            further.show()
        if copied and no is not None:
            show_copy(no.reason, target.path)
        elif made:
            show_written(target.path)

    if made and on_stdout is not None:
        on_stdout.save(result.model)
    elif made and target.path is not None:
        result.model.save(target.path, overwrite=target.overwrite, as_external_data=as_external_data)
    if made or no is None:
        return Answer(fields, show, target.path)
    return Answer(fields, show, error=no.reason, exit_code=1, unchanged=no.unchanged)


def _fields(result: Result, further: More | None) -> dict[str, Any]:
    from resizefix.reports.json import blocker_json, input_json, outcome_json, verification_json

    return {
        "outcomes": [outcome_json(outcome) for outcome in result.outcomes],
        "inputs": [input_json(source) for source in result.inputs],
        "verification": verification_json(result.verification),
        "blockers": [blocker_json(blocker) for blocker in result.blockers],
        **({} if further is None else further.fields),
    }


def why_not_all(options: dict[str, Any], done: str, nothing: str) -> Callable[[Result], No | None]:
    """What says why the answer of a command that changes sites is no; None if it is yes.

    `done` is what happens to a site ("promoted"), `nothing` what to say where every site is as it should be already.
    """

    def why_not(result: Result) -> No | None:
        from resizefix.reports.wording import reason

        if result.blockers and all(outcome.status is Status.UNCHANGED for outcome in result.outcomes):
            first = result.blockers[0]
            return No(Diagnostic("cli.blocked", node=first.node, why=first.reason, fix=first.fix))
        if not result.outcomes:
            return No(Diagnostic("cli.no-resize-to-do", done=f"be {done}"), True)
        missed = [outcome for outcome in result.outcomes if outcome.status is not Status.CHANGED]
        refused = next((outcome for outcome in missed if outcome.status is Status.REFUSED), None)
        if result.changed and missed and options["node"]:
            names = ", ".join(outcome.node for outcome in missed)
            return No(Diagnostic("cli.named-not-changed", names=names, done=done))
        if result.changed or (refused is None and result.resolution is not None):  # the input has another size
            return None
        if refused is None:
            return No(nothing, True)
        why = Diagnostic("cli.nothing-done", done=done, node=refused.node, why=reason(refused))
        return No(why, outcome=refused)

    return why_not
