"""Many models in one call: folders, patterns and files, answered by `--jobs` processes that go from model to model.

A model that brings its process down costs no other model its answer. A row is printed as each model ends; in the JSON
document the answers stand in the order of the models.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import click

from resizefix import process
from resizefix.cli.envelope import Invocation, show_error, why_unforeseen
from resizefix.cli.files import ModelFile, models_of, names_several, require_apart
from resizefix.cli.misplaced import meant
from resizefix.cli.next_command import after_error, with_options
from resizefix.cli.rows import Rows, show_summary, summary_of
from resizefix.cli.streams import DASH, PipedModel, progress_line, shown, with_dash
from resizefix.diagnostics import Diagnostic, UsageError, for_command_line
from resizefix.pool import Answered, Pool
from resizefix.printable import printable
from resizefix.reports.next_step import NextStep
from resizefix.version import __version__
from resizefix.worker import WorkerEndedError

WORKER = "resizefix.cli.many:work"
_SECONDS_BESIDE = 5.0  # on top of what a process may take by its own clock
_UNTIL_KILLED = 3.0  # seconds for what was done to be reported after Ctrl-C
_INTERRUPTED = 130


def answer_each(context: click.Context) -> NoReturn:
    """Answer for each model that the command of this context was given; leaves through `click.exceptions.Exit`."""
    params = context.params
    command, output_dir = str(context.info_name), params.get("output_dir")
    try:
        words = [params["model"], *([params["out"]] if params.get("out") else []), *params["more"]]
        _require_sense(command, params, words)
        models = models_of(words, output_dir)
        calls = _calls(models, params, output_dir)
    except UsageError as error:
        invocation = context.ensure_object(Invocation)
        invocation.document = _envelope(command, UsageError.exit_code, str(error), [], 0)
        quietly = params["as_json"] or params["quiet"]
        step = None if quietly else after_error(error, command, "", ())
        show_error(f"resizefix {command}: {printable(str(error))}", step)
        raise click.exceptions.Exit(UsageError.exit_code) from error
    with _folders_of(calls):
        _report(context, models, calls)


def _require_sense(command: str, params: dict[str, Any], words: Sequence[str]) -> None:
    """Raises UsageError for options that make no sense for several models."""
    form = meant(command, [word for word in words if not os.path.exists(word)])
    if form is not None:
        raise UsageError("cli.misplaced", word=form.arguments["word"], form=form)
    if "output_dir" in params and params["output_dir"] is None:
        folder = next(filter(names_several, words), None)
        if folder is not None:
            raise UsageError("cli.folder-without-output-dir", folder=folder)
        raise UsageError("cli.jsonl-without-output-dir" if params["jsonl"] else "cli.several-models")
    if params["as_json"] and params["jsonl"]:
        raise UsageError("cli.json-twice")
    if DASH in words:
        raise UsageError("cli.stdout-of-several")
    for name in ("html", "markdown"):
        if params.get(name) is not None:
            raise UsageError("cli.one-model-only", name=name)
    if params.get("ask"):
        raise UsageError("cli.ask-of-several")
    if params.get("in_place") or params.get("output_option") is not None:
        raise UsageError("cli.output-dir-alone")


def _calls(models: Sequence[ModelFile], params: dict[str, Any], output_dir: str | None) -> list[dict[str, Any]]:
    """The parameters for each model. Raises UsageError where two results, or a result and a model, are one file."""
    shared = {**params, "more": (), "jobs": 1, "as_json": True, "jsonl": False, "quiet": True}
    if output_dir is None:
        return [{**shared, "model": model.path} for model in models]
    outs = [os.path.join(output_dir, model.place) for model in models]
    # Without regard to case: some file systems have none. Through links: two names may lead to one file.
    first: dict[str, ModelFile] = {}
    for model, out in zip(models, outs, strict=True):
        file = os.path.realpath(out).casefold()
        other = first.setdefault(file, model)
        if other is not model:
            raise UsageError("cli.same-file-name", one=other.path, other=model.path, out=out)
    paths = [model.path for model in models]
    require_apart(outs, paths, instead=Diagnostic("cli.name-another-folder"), data=params["force"])
    shared |= {"out": None, "output_dir": None, "copy_unchanged": True}
    return [
        {**shared, "model": path, "output_option": None if params["dry_run"] else out}
        for path, out in zip(paths, outs, strict=True)
    ]


@contextlib.contextmanager
def _folders_of(calls: Sequence[dict[str, Any]]) -> Iterator[None]:
    """The folders of all results, of which new ones that stay empty go again."""
    new: set[str] = set()
    for folder in {os.path.dirname(call["output_option"]) for call in calls if call.get("output_option")}:
        while folder and not os.path.isdir(folder):
            new.add(folder)
            folder = os.path.dirname(folder)
    for folder in sorted(new):
        with contextlib.suppress(OSError):  # which the command says of each model
            os.mkdir(folder)
    try:
        yield
    finally:
        for folder in sorted(new, reverse=True):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


@for_command_line()
def work(request: tuple[str, dict[str, Any]], say: Callable[[dict[str, Any] | None], None]) -> None:
    """Run a command on one model, in a worker; its JSON document is the answer."""
    from resizefix.cli import group

    name, params = request
    invocation = Invocation()
    with click.Context(group, info_name="resizefix", obj=invocation) as program:
        command = group.get_command(program, name)
        assert command is not None
        with click.Context(command, parent=program, info_name=name) as context:
            context.params = params
            with contextlib.suppress(click.exceptions.Exit):
                command.invoke(context)
    model = params["model"]
    say(with_dash(invocation.document, model) if isinstance(model, PipedModel) else invocation.document)


def _report(context: click.Context, models: Sequence[ModelFile], calls: Sequence[dict[str, Any]]) -> NoReturn:
    """A row, or a line of JSON, for each model as it ends. Leaves with the worst exit code, or with that of Ctrl-C."""
    params, command = context.params, str(context.info_name)
    answers: dict[int, dict[str, Any]] = {}
    for_person = not (params["as_json"] or params["jsonl"])
    rows, existing = None, 0
    if for_person and not params["quiet"]:
        names = [model.path for model in models]
        rows = Rows(names, verbose=params["verbose"], progress=progress_line(command))

    def take(answered: Answered) -> None:
        nonlocal existing
        answer = _document(command, calls[answered.number], answered)
        exists = _is_in_the_way(calls[answered.number], answer)
        existing += exists
        answers[answered.number] = answer
        if answer["output"]:
            process.note(placed=True)
        if params["jsonl"]:
            click.echo(json.dumps(answer, ensure_ascii=True, allow_nan=False))
        elif rows is not None:
            rows.add(models[answered.number].path, answer, answered.seconds, exists=exists)

    is_whole = _answered(command, calls, params, take)
    in_order = [answers[number] for number in sorted(answers)]
    code, why = max((answer["exit_code"] for answer in in_order), default=0), None
    if not is_whole:
        code = _INTERRUPTED
        why = Diagnostic("cli.interrupted-of-many", done=len(in_order), models=len(models))
    invocation = context.ensure_object(Invocation)
    invocation.document = _envelope(command, code, why, in_order, len(models))
    invocation.wrote = any(answer["output"] for answer in in_order)
    if for_person:
        where = params.get("output_dir") if invocation.wrote else None
        if rows is not None:
            rows.close()
        step = None
        if existing and rows is not None and invocation.typed:
            step = NextStep("replace what exists", with_options(invocation.typed, ("--force",)))
        show_summary(command, invocation.document["summary"], where, existing, step)
    if why is not None:
        show_error(f"resizefix {command}: {why}", None)
    raise click.exceptions.Exit(code)


def _is_in_the_way(call: dict[str, Any], answer: dict[str, Any]) -> bool:
    """Whether the file that this call would have written exists."""
    out = call.get("output_option")
    return answer["outcome"] is None and out is not None and not call["force"] and os.path.isfile(out)


def _answered(
    command: str, calls: Sequence[dict[str, Any]], params: dict[str, Any], take: Callable[[Answered], None]
) -> bool:
    """Have each call answered and taken; False where Ctrl-C ended that. Then nothing is worked on any more."""
    seconds = (params.get("timeout") or process.DEFAULT_TIMEOUT) + process.GRACE + _SECONDS_BESIDE
    process.note(until_killed=_UNTIL_KILLED)
    with Pool(WORKER, [(command, call) for call in calls], params["jobs"], seconds) as pool:
        try:
            for answered in pool.answers():
                take(answered)
        except (process.AskedToEnd, KeyboardInterrupt):
            for answered in pool.stop():
                was_written = isinstance(answered.error, WorkerEndedError) and answered.error.has_written
                if answered.answer is not None or was_written:
                    take(answered)
            return False
    return True


def _document(command: str, call: dict[str, Any], answered: Answered) -> dict[str, Any]:
    """The JSON document of one model; of one whose process ended, it says how.

    A process that ended behind its last step has written a whole file: its outcome is that of the file.
    """
    if isinstance(answered.answer, dict):
        return answered.answer
    error, out = answered.error, call.get("output_option")
    document = {"resizefix": __version__, "command": command, "model": shown(call["model"]), "output": None}
    if isinstance(error, WorkerEndedError) and error.has_written:
        outcome = error.notes.get("outcome")
        return {**document, "output": out, "exit_code": 0, "error": None, "outcome": outcome, "reason": None}
    if isinstance(error, WorkerEndedError):
        why = process.why_ended(error.code, error.notes.get("seconds"), error.notes.get("memory"))
    elif isinstance(error, TimeoutError):
        why = process.why_ended(-getattr(signal, "SIGALRM", 14), call.get("timeout") or process.DEFAULT_TIMEOUT)
    else:
        why = why_unforeseen(error) if isinstance(error, Exception) else process.why_ended(0)
    said = f"{document['model']}: {why}. Nothing was written."
    return {**document, "exit_code": 1, "error": said, "outcome": "failed", "reason": said}


def _envelope(command: str, code: int, error: str | None, answers: list[dict[str, Any]], models: int) -> dict[str, Any]:
    return {
        "resizefix": __version__,
        "command": command,
        "exit_code": code,
        "error": error,
        "models": answers,
        "summary": summary_of(answers, models),
    }
