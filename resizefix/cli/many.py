"""Several models in one call: each in a process of its own, `--jobs` at a time, one answer for all.

A model that brings its process down costs no other model its answer. The results stand in the order of the arguments,
whatever the order in which they were ready.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from resizefix import process
from resizefix.cli.envelope import Invocation
from resizefix.cli.next_command import after_error, show_error
from resizefix.cli.piped_model import DASH, PipedModel, shown, with_dash
from resizefix.cli.target_file import require_apart
from resizefix.diagnostics import Diagnostic, for_command_line
from resizefix.errors import UsageError
from resizefix.printable import printable
from resizefix.version import __version__
from resizefix.worker import Worker, WorkerEndedError

WORKER = "resizefix.cli.many:work"


def answer_each(context: click.Context) -> NoReturn:
    """Answer for each model that the command of this context was given; leaves through `click.exceptions.Exit`."""
    params = context.params
    models = [params["model"], *([params["out"]] if params.get("out") else []), *params["more"]]
    command, output_dir = str(context.info_name), params.get("output_dir")
    try:
        if "output_dir" in params and output_dir is None:
            raise UsageError("cli.several-models")
        if DASH in models:
            raise UsageError("cli.stdout-of-several")
        answers = _answers(command, models, _calls(models, params, output_dir), params["jobs"])
        _report(context, models, answers)
    except UsageError as error:
        context.ensure_object(Invocation).document = _envelope(command, UsageError.exit_code, str(error), [])
        quietly = params["as_json"] or params["quiet"]
        step = None if quietly else after_error(error, command, "", ())
        show_error(f"resizefix {command}: {printable(str(error))}", step)
        raise click.exceptions.Exit(UsageError.exit_code) from error


def _calls(models: Sequence[str], params: dict[str, Any], output_dir: str | None) -> list[dict[str, Any]]:
    """The parameters for each model. Raises UsageError for what makes no sense for several."""
    for name in ("html", "markdown"):
        if params.get(name) is not None:
            raise UsageError("cli.one-model-only", name=name)
    shared = {**params, "more": (), "jobs": 1, "as_json": True, "quiet": True}
    if output_dir is None:
        return [{**shared, "model": model} for model in models]
    if params["in_place"] or params["output_option"] is not None:
        raise UsageError("cli.output-dir-alone")
    outs = [os.path.join(output_dir, Path(model).name) for model in models]
    # Without regard to case: some file systems have none. Through links: two names may lead to one file.
    files = [os.path.realpath(out).casefold() for out in outs]
    double = sorted({Path(out).name for out, file in zip(outs, files, strict=True) if files.count(file) > 1})
    if double:
        raise UsageError("cli.same-file-name", double=" or ".join(double), output_dir=output_dir)
    require_apart(outs, models, instead=Diagnostic("cli.name-another-folder"))
    if not params["dry_run"]:
        try:
            os.makedirs(output_dir, exist_ok=True)
        except OSError as error:
            raise UsageError("cli.no-output-dir", output_dir=output_dir, strerror=error.strerror or error) from error
    return [
        {**shared, "model": model, "out": None, "output_option": None if params["dry_run"] else out, "output_dir": None}
        for model, out in zip(models, outs, strict=True)
    ]


def _answers(
    command: str, models: Sequence[str], calls: Sequence[dict[str, Any]], jobs: int
) -> Iterator[dict[str, Any]]:
    from concurrent.futures import ThreadPoolExecutor  # costly to import for the many calls with one model

    workers = [Worker(WORKER) for _ in models]

    def ask(worker: Worker, model: str, params: dict[str, Any]) -> dict[str, Any]:
        try:
            with worker:
                answer: dict[str, Any] = next(worker.ask((command, params)))
        except WorkerEndedError as ended:
            seconds = params.get("timeout") or process.DEFAULT_TIMEOUT
            error = f"{model}: {process.why_ended(ended.code, seconds)}. Nothing was written."
            answer = {**_envelope(command, 2, error, None), "model": shown(model), "output": None}
        return answer

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            yield from pool.map(ask, workers, models, calls)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.close()
            raise


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


def _report(context: click.Context, models: Sequence[str], answers: Iterator[dict[str, Any]]) -> NoReturn:
    """One JSON document, or a line for each model as it is ready. Leaves with the worst exit code."""
    params, command = context.params, str(context.info_name)
    for_person = not params["as_json"] and not params["quiet"]
    documents = []
    for model, answer in zip(models, answers, strict=True):
        documents.append(answer)
        if for_person:
            click.echo(f"{_WORDS[answer['exit_code']]:<6} {printable(shown(model))}: {printable(_in_words(answer))}")
            for line in _violations(answer):
                click.echo(f"         {printable(line)}")
    worst = max(document["exit_code"] for document in documents)
    invocation = context.ensure_object(Invocation)
    invocation.document = _envelope(command, worst, None, documents)
    invocation.wrote = any(document.get("output") for document in documents)
    if for_person:
        counts = [(sum(document["exit_code"] == code for document in documents), word) for code, word in _WORDS.items()]
        summary = ", ".join(f"{count} {word}" for count, word in counts if count)
        click.echo(f"{len(documents)} model{'s' * (len(documents) > 1)}: {summary}")
    raise click.exceptions.Exit(worst)


_WORDS = {0: "yes", 1: "no", 2: "failed"}


def _in_words(answer: dict[str, Any]) -> str:
    if answer["error"]:
        return str(answer["error"])
    if "sites" in answer:
        promotable = sum(site["promotable"] and site["coupling"]["verdict"] != "coupled" for site in answer["sites"])
        return f"{len(answer['sites'])} resize node{'s' * (len(answer['sites']) != 1)}, {promotable} promotable"
    if "targets" in answer and "outcomes" not in answer:
        refusing = [name for name, verdict in answer["targets"].items() if not verdict["accepted"]]
        return f"refused by {', '.join(refusing)}" if refusing else "accepted"
    changed = sum(outcome["status"] == "changed" for outcome in answer.get("outcomes", ()))
    where = f", written to {answer['output']}" if answer["output"] else ""
    return f"{changed} of {len(answer.get('outcomes', ()))} resize nodes changed{where}"


def _violations(answer: dict[str, Any]) -> Iterator[str]:
    """Node, rule and mend of what `check` found, each once though several targets say it."""
    said: dict[str, None] = {}
    checked = {} if "outcomes" in answer else answer.get("targets", {})
    for verdict in checked.values():
        if not verdict["accepted"]:
            lines = [f"{v['node']}: {v['because']} [{v['rule']}]; {v['fix']}" for v in verdict["violations"]]
            errors = (verdict["live"] or {}).get("errors", ())
            said |= dict.fromkeys([*lines, *(Diagnostic("cli.real-parser-says", why=error) for error in errors)])
    yield from said


def _envelope(command: str, exit_code: int, error: str | None, models: list[dict[str, Any]] | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"resizefix": __version__, "command": command, "exit_code": exit_code, "error": error}
    if models is not None:
        fields["models"] = models
        fields["summary"] = {
            "models": len(models),
            **{word: sum(model["exit_code"] == code for model in models) for code, word in _WORDS.items()},
        }
    return fields
