"""Many models in one call: folders, patterns and files, answered by `--jobs` processes that go from model to model.

A model that brings its process down costs no other model its answer. A row is printed as each model ends; in the JSON
document the answers stand in the order of the models.

The table of many models: a row as each ends, with its outcome, the seconds that it took and one reason; in the end
how many had which outcome.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import click

from resizefix import process
from resizefix.cli.envelope import Invocation, why_unforeseen
from resizefix.cli.misplaced import meant
from resizefix.cli.model_files import ModelFile, models_of, names_several
from resizefix.cli.next_command import after_error, show_error
from resizefix.cli.progress import ProgressLine, progress_line
from resizefix.cli.streams import DASH, PipedModel, shown, with_dash
from resizefix.cli.target import require_apart
from resizefix.diagnostics import Diagnostic, for_command_line
from resizefix.errors import UsageError
from resizefix.library.option_values import LEGACY_TARGET, TARGETS
from resizefix.outcome import ModelOutcome
from resizefix.pool import Answered, Pool
from resizefix.printable import printable
from resizefix.reports.screen import Part, screen
from resizefix.version import __version__
from resizefix.worker import WorkerEndedError

WORKER = "resizefix.cli.many:work"
_SECONDS_BESIDE = 5.0  # beside what a process may take by its own clock
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
    rows = None
    if for_person and not params["quiet"]:
        names = [model.path for model in models]
        rows = Rows(names, verbose=params["verbose"], progress=progress_line(command))

    def take(answered: Answered) -> None:
        answer = _document(command, calls[answered.number], answered)
        answers[answered.number] = answer
        if answer["output"]:
            process.note(placed=True)
        if params["jsonl"]:
            click.echo(json.dumps(answer, ensure_ascii=True, allow_nan=False))
        elif rows is not None:
            rows.add(models[answered.number].path, answer, answered.seconds)

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
        if rows is not None:
            rows.close()
        where = params.get("output_dir") if invocation.wrote else None
        show_summary(command, invocation.document["summary"], where)
    if why is not None:
        show_error(f"resizefix {command}: {why}", None)
    raise click.exceptions.Exit(code)


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


UNUSABLE = "unusable"
_WORDS = (*(outcome.value for outcome in ModelOutcome), UNUSABLE)
_STYLES = {"changed": "green", "refused": "yellow", "failed": "bold red", UNUSABLE: "red"}
_ASKED_FOR_NO_CHANGE = {("inspect", ModelOutcome.ALREADY.value): "inspected"}  # what a person reads
_HEAD = ("model", "outcome", "seconds", "reason")
_MOST_COLUMNS = 60  # of the names: a longer one moves the rest of its row
_MOST_NAMED = 3  # targets, each by its name
_WITH_ITS_MODEL = 3  # a third of a terminal for the names


def outcome_of(answer: Mapping[str, Any]) -> str:
    """The outcome of a model in one word, of the JSON document about it; UNUSABLE: it is missing or cannot be read."""
    return str(answer["outcome"] or UNUSABLE)


def summary_of(answers: Iterable[Mapping[str, Any]], models: int) -> dict[str, int]:
    """How many models there are, how many had which outcome, and how many were not run."""
    counts = Counter(map(outcome_of, answers))
    by_outcome = {word: counts[word] for word in _WORDS}
    return {"models": models, **by_outcome, "not_run": models - sum(by_outcome.values())}


class Rows:
    """The rows for these models on stdout, and on a terminal how many are done, on stderr."""

    def __init__(self, models: Sequence[str], *, verbose: bool, progress: ProgressLine | None) -> None:
        self._verbose, self._progress = verbose, progress
        self._screen, self._done, self._models = screen(0), 0, len(models)
        most = max(self._screen.width // _WITH_ITS_MODEL, len(_HEAD[0])) if self._screen.is_styled else _MOST_COLUMNS
        names = min(max(_columns(_name(model)) for model in models), most)
        self._widths = (
            names,
            max(map(len, (*_WORDS, _HEAD[1]))),
            len(_HEAD[2]),
        )
        if self._screen.is_styled:
            self._screen.row([(word, "dim") for word in _HEAD], self._widths)

    def add(self, model: str, answer: Mapping[str, Any], seconds: float) -> None:
        """The row of a model that is done."""
        if self._progress is not None:
            self._progress.close()
        outcome = _word(answer["command"], outcome_of(answer))
        styled: Part = (outcome, _STYLES[outcome]) if outcome in _STYLES else outcome
        took = f"{seconds:.2f}".rjust(len(_HEAD[2]))
        self._screen.row([_name(model), styled, took, printable(_reason(answer))], self._widths)
        for line in _violations(answer) if self._verbose else ():
            self._screen.wrapped(printable(line), indent=4)
        self._done += 1
        if self._progress is not None and self._done < self._models:
            self._progress(self._done, self._models, f"{self._done} of {self._models} models")

    def close(self) -> None:
        """No row comes any more."""
        if self._progress is not None:
            self._progress.close()


def _word(command: str, outcome: str) -> str:
    return _ASKED_FOR_NO_CHANGE.get((command, outcome), outcome)


def show_summary(command: str, summary: Mapping[str, int], output_dir: str | None) -> None:
    """One line: how many models had which outcome."""
    words = [
        (count, _word(command, name).replace("_", " ")) for name, count in summary.items() if name != "models" and count
    ]
    counts = ", ".join(f"{count} {name}" for count, name in words) or "none was run"
    where = f"; results are in {printable(output_dir)}" if output_dir is not None else ""
    click.echo(f"{summary['models']} model{'s' * (summary['models'] != 1)}: {counts}{where}")


def _name(model: str) -> str:
    return printable(shown(model))


def _columns(text: str) -> int:
    if text.isascii():
        return len(text)
    from resizefix.reports.wording import columns  # which imports onnx

    return columns(text)


def _reason(answer: Mapping[str, Any]) -> str:
    """What a row says of a model beside its outcome."""
    if answer["error"]:
        return str(answer["error"]).removeprefix(f"{answer['model']}: ")
    if "sites" in answer:
        promotable = sum(site["promotable"] and site["coupling"]["verdict"] != "coupled" for site in answer["sites"])
        return f"{_resizes(len(answer['sites']))}, {promotable} promotable"
    if "targets" in answer and "outcomes" not in answer:
        return _first_violation(answer)
    if answer.get("reason"):
        return f"{answer['reason']}; copied" if answer["output"] else str(answer["reason"])
    outcomes = answer.get("outcomes")
    if outcomes is None:
        return ""  # its process ended when the file was whole
    changed = sum(outcome["status"] == "changed" for outcome in outcomes)
    nodes = f"{changed} of {_resizes(len(outcomes))} changed" if changed else _as_they_were(len(outcomes))
    whole = _whole(answer)
    if not outcomes:
        return whole or "changed, and no node of it by itself"
    return f"{whole or 'changed'}; {nodes}" if whole or not changed else nodes


def _whole(answer: Mapping[str, Any]) -> str:
    """What changed of the model as a whole: its opset, or the shape of its first input."""
    if answer["command"] == "opset":
        return f"opset {answer['opset']}"
    for shape in answer.get("shapes", ())[:1]:
        before, after = ("x".join(map(str, shape[side])) for side in ("before", "after"))
        return f"{shape['name']}: {before} becomes {after}"
    return ""


def _as_they_were(count: int) -> str:
    return f"its {_resizes(count)} {'stays' if count == 1 else 'stay'} as written"


def _resizes(count: int) -> str:
    return f"{count} resize node{'s' * (count != 1)}"


def _first_violation(answer: Mapping[str, Any]) -> str:
    targets = answer["targets"]
    refusing = [name for name, verdict in targets.items() if not verdict["accepted"]]
    if not refusing:
        return f"accepted by {_names(list(targets))}"
    if len(targets) == len(TARGETS):  # nobody named one: releases that few still run come last
        refusing.sort(key=LEGACY_TARGET.choices.__contains__)
    first = next(_each_violation({refusing[0]: targets[refusing[0]]}), "")
    others = len(_violations(answer)) - 1
    more = f" (and {others} more, which -v lists)" if others > 0 else ""
    at = f"; {refusing[0]}" if len(refusing) > _MOST_NAMED else ""
    return f"{_names(refusing)}{at}: {first}{more}"


def _names(targets: Sequence[str]) -> str:
    """The targets by name; of many, runs of releases and the number of the others."""
    if len(targets) <= _MOST_NAMED:
        return ", ".join(targets)
    from resizefix.document.text import listed  # which imports onnx, as the other does
    from resizefix.reports.wording import few_targets

    return listed(few_targets(targets))


def _violations(answer: Mapping[str, Any]) -> list[str]:
    """Node, rule and fix of what `check` found, each once though several targets say it."""
    return list(dict.fromkeys(_each_violation({} if "outcomes" in answer else answer.get("targets", {}))))


def _each_violation(targets: Mapping[str, Any]) -> Iterator[str]:
    for verdict in targets.values():
        if not verdict["accepted"]:
            for one in verdict["violations"]:
                yield f"{one['node']}: {one['because']} [{one['rule']}]; {one['fix']}"
            for error in (verdict["live"] or {}).get("errors", ()):
                yield Diagnostic("cli.real-parser-says", why=error)
