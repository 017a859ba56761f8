"""What every command shares: the JSON envelope, errors as one paragraph, and the exit code."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from resizefix import process
from resizefix.cli.streams import DASH, as_typed, close_progress, shown
from resizefix.diagnostics import Diagnostic, ResizefixError
from resizefix.outcome import ModelOutcome
from resizefix.printable import printable
from resizefix.version import __version__

if TYPE_CHECKING:
    from resizefix.reports.next_step import NextStep


@dataclass
class Answer:
    """What a command found: fields for `--json`, a way to show it to a person, and the exit code.

    `outcome` is that of the model which the command changes. `reason`: why the model is not changed, where that is no
    error.
    """

    fields: dict[str, Any] = field(default_factory=dict)
    show: Callable[[], None] | None = None
    output: str | None = None
    error: str | None = None
    exit_code: int = 0
    outcome: ModelOutcome | None = None
    reason: str | None = None
    next_step: Callable[[Sequence[str]], NextStep | None] | None = None
    """What to type after a no, of the words that were typed."""
    show_last: Callable[[], None] | None = None
    """Shows what stands behind the warnings of a command that writes."""


@dataclass
class Invocation:
    """One call of the program: the words that were typed, and the JSON document that answers it under --json.

    Under --json nothing else reaches stdout, whatever a command prints for a person.
    """

    typed: tuple[str, ...] = ()
    document: dict[str, Any] | None = None
    wrote: bool = False
    """Whether OUT is written: then the answer is yes, whether or not it can be shown."""

    @property
    def as_json(self) -> bool:
        """Whether --json was typed."""
        return "--json" in self.typed

    def stop(self, exit_code: int, error: str | None) -> None:
        """Answer a call that came to no command, or whose command printed text only (`--help`, `--version`)."""
        command, model = [*(word for word in self.typed if not word.startswith("-")), "", ""][:2]
        # With an error, 1 is the code of a verification that took too long, or too much.
        failed = ModelOutcome.FAILED if error is not None and exit_code == 1 else None
        self.document = self.document or _envelope(command, model, Answer({}, None, None, error, exit_code, failed))

    def print_document(self) -> None:
        """Print the document on stdout."""
        # In ASCII: a name out of a file may hold what a terminal acts on, and not every stdout takes every character.
        click.echo(json.dumps(self.document, ensure_ascii=True, allow_nan=False))


class OutputMode(NamedTuple):
    """How to answer: as JSON, quietly, verbosely."""

    as_json: bool
    quiet: bool
    verbose: bool


def output_mode() -> OutputMode:
    """The three flags of the command that runs."""
    params = click.get_current_context().params
    return OutputMode(params["as_json"], params["quiet"], params["verbose"])


class Reply:
    """The work of a command stands in a `with` block, which sets `answer`; behind it the answer, or the error that came
    instead, is reported, and `click.exceptions.Exit` is raised with the exit code.

    `model` is the model that the envelope names, `values` are the command's options.
    """

    def __init__(self, context: click.Context, model: str, values: Mapping[str, Any]) -> None:
        self.answer = Answer()
        self._context, self._model, self._values = context, shown(model), values

    def __enter__(self) -> Reply:
        Diagnostic("cli.memory-is-out")  # whose table is read now: a process without memory reads none
        if self._model:
            import numpy as np  # which every command that reads a model imports

            self._context.with_resource(np.errstate(all="ignore"))  # what overflows is judged, and no warning leaks
        verifies = self._values.get("verify", "shape" in self._values)
        process.bound(self._values.get("timeout"), self._values.get("memory_limit"), 1 if verifies else 2)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        if error is not None and (not isinstance(error, Exception) or isinstance(error, _OF_CLICK)):
            return
        mode, step = output_mode(), None
        try:
            if error is not None:
                raise error
            step = self._step(mode)
        except ResizefixError as error:
            from resizefix.cli.next_command import after_error  # most calls meet no error
            from resizefix.library.options import CHANGING  # loaded by the command; it imports onnx, see process._HEAVY

            step = after_error(error, str(self._context.info_name), self._model, self._typed)
            self.answer = Answer(error=str(error), exit_code=error.exit_code)

            if error.exit_code == 1 and self._context.info_name in CHANGING:
                self.answer.outcome = ModelOutcome.REFUSED
        except Exception as error:  # the last resort, for files that no rule foresees: the one place that catches all
            why = Diagnostic("cli.ended", why=why_unforeseen(error))
            self.answer = Answer(error=f"{self._model}: {why}", exit_code=2)
            if mode.verbose:
                traceback.print_exc()
        close_progress()
        report(self._context, self._model, self.answer, mode, step)

    @property
    def _typed(self) -> tuple[str, ...]:
        return self._context.ensure_object(Invocation).typed

    def _step(self, mode: OutputMode) -> NextStep | None:
        """What to type after an answer that is no."""
        outcomes = self.answer.fields.get("outcomes")
        command = str(self._context.info_name)
        if self.answer.exit_code != 1 or mode.as_json or mode.quiet:
            return None
        if self.answer.next_step is not None:
            return self.answer.next_step(self._typed)
        if not outcomes:
            return None
        from resizefix.cli.next_command import after_refusal, after_refused_opset, after_refused_size  # as above

        already = self.answer.outcome is ModelOutcome.ALREADY
        if command == "input-size" and not already:
            from resizefix.library.options import library_options

            settings = {"size": self._values["size"], **library_options(command, dict(self._values))}
            return after_refused_size(self._model, settings)
        if command == "opset" and not already:
            return after_refused_opset(self._model, outcomes, self._values["opset"], self._typed)
        return after_refusal(command, self._model, outcomes, self._typed, already=already)


_OF_CLICK = (click.ClickException, click.exceptions.Exit, click.Abort)


def report(context: click.Context, model: str, answer: Answer, mode: OutputMode, step: NextStep | None) -> NoReturn:
    """Report the answer; leaves through `click.exceptions.Exit` with the exit code. `step`: what to type next."""
    command, invocation = str(context.info_name), context.ensure_object(Invocation)
    answer = replace(answer, fields=as_typed(answer.fields), error=as_typed(answer.error))
    answer.reason = as_typed(answer.reason)
    invocation.wrote = answer.output not in (None, DASH) and answer.exit_code == 0
    if mode.as_json:
        invocation.document = _envelope(command, model, answer)
    elif answer.show is not None and not mode.quiet:
        process.note(answered=answer.exit_code)
        try:
            answer.show()
        except Exception as error:  # as above
            why = {"model": model, "why": why_unforeseen(error)}
            answer = Answer(error=Diagnostic("cli.not-shown", **why), exit_code=2)
            if invocation.wrote:
                answer = Answer(error=Diagnostic("cli.written-not-shown", **why))
    if answer.error is not None:
        word = "" if answer.outcome is None else f"{answer.outcome.value}: "
        show_error(
            f"resizefix {command}: {word}{printable(answer.error)}", None if mode.as_json or mode.quiet else step
        )
    raise click.exceptions.Exit(answer.exit_code)


def emit_usage_error(error: click.ClickException, invocation: Invocation, commands: Sequence[str]) -> int:
    """Report an error of click's own (an unknown option, a missing argument) as the user asked for."""
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # since click 8.2
        invocation.stop(error.exit_code, error.format_message())
        error.show()
        return error.exit_code
    from resizefix.cli.next_command import after_usage_error  # as above

    step: NextStep | None = None if invocation.as_json else after_usage_error(error, invocation.typed, commands)
    context = getattr(error, "ctx", None)
    command = str(context.info_name) if context is not None else ""
    from resizefix.cli.misplaced import alone, meant  # few words are misplaced

    form = meant(command, alone(invocation.typed[1:]))
    said = error.format_message() if form is None else f"{form.arguments['word']}: {form}"
    return emit_error(invocation, said, error.exit_code, context and context.command_path, step)


def emit_error(
    invocation: Invocation, error: str, exit_code: int, program: str | None = None, step: NextStep | None = None
) -> int:
    """Report what kept the call from its answer; returns the exit code. `program`: the words before the message."""
    invocation.stop(exit_code, error)
    command = next((word for word in invocation.typed if not word.startswith("-")), "")
    show_error(f"{program or f'resizefix {command}'.rstrip()}: {printable(error)}", step)
    return exit_code


def show_error(text: str, step: NextStep | None) -> None:
    """The message on stderr, wrapped on a terminal; the command is never broken, so that it can be copied."""
    if sys.stderr.isatty():
        import shutil
        import textwrap

        width = max(shutil.get_terminal_size().columns, 20)
        text = textwrap.fill(
            text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False, drop_whitespace=True
        )
    click.echo(text, err=True)
    if step is not None:
        click.echo(f"next, to {step.purpose}:\n  {step.command}", err=True)


def why_unforeseen(error: Exception) -> str:
    """The sentence for an error that is none of ours: the system's, if it has too little of something, or a defect."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, (MemoryError, ImportError, OSError)):
        cause = cause.__cause__ or cause.__context__
    if isinstance(cause, MemoryError) or process.memory_is_out():
        return Diagnostic("cli.memory-is-out")
    if isinstance(cause, ImportError):
        # Libraries wrap what the system said in pages of advice.
        while isinstance(inner := cause.__cause__ or cause.__context__, ImportError):
            cause = inner
        return Diagnostic("cli.library-not-loaded", why=cause)
    if isinstance(cause, OSError):
        return _what_failed(cause)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return Diagnostic(
        "cli.error-in-resizefix",
        kind=type(error).__name__,
        why=error,
        file=Path(place.filename).name,
        line=place.lineno,
    )


def _what_failed(error: OSError) -> str:
    try:
        os.getcwd()
    except OSError:
        return Diagnostic("cli.folder-is-gone")
    if error.filename:
        return f"{error.filename}: {error.strerror}"
    return Diagnostic("cli.system-refused", why=error.strerror or error)


# The outcome where a command asks something of a model and changes none: yes, and no.
_ASKED: dict[int, ModelOutcome] = {0: ModelOutcome.ALREADY, 1: ModelOutcome.REFUSED}
_COMPARED = {**_ASKED, 1: ModelOutcome.FAILED}


def document_outcome(command: str, exit_code: int, outcome: ModelOutcome | None = None) -> str | None:
    """The word for a model in a JSON document; None for unusable arguments or input."""
    asked = _COMPARED if command in ("verify", "diff") else _ASKED
    outcome = outcome or asked.get(exit_code)
    return None if outcome is None else outcome.value


def _envelope(command: str, model: str, answer: Answer) -> dict[str, Any]:
    return {
        "resizefix": __version__,
        "command": command,
        "model": model,
        "output": answer.output,
        "exit_code": answer.exit_code,
        "outcome": document_outcome(command, answer.exit_code, answer.outcome),
        "error": answer.error,
        "reason": answer.error or answer.reason,
        **answer.fields,
    }
