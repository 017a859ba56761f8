"""Several models in one call: each in a process of its own, `--jobs` at a time, one answer for all.

A model that brings its process down costs no other model its answer. The results stand in the order of the arguments,
whatever the order in which they were ready.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from resizefix import process
from resizefix.cli.envelope import Call
from resizefix.cli.next_command import after_error, show_error
from resizefix.cli.options import number_option
from resizefix.cli.piped_model import DASH, ModelArgument, PipedModel, shown, with_dash
from resizefix.cli.target_file import require_apart
from resizefix.diagnostics import Diagnostic
from resizefix.errors import UsageError
from resizefix.printable import printable
from resizefix.version import __version__
from resizefix.worker import Worker, WorkerEndedError

F = TypeVar("F", bound=Callable[..., Any])

WORKER = "resizefix.cli.many:work"


def many_read(function: F) -> F:
    """Lets a command that only reads take further models."""
    return _many(function, writes=False)


def many_written(function: F) -> F:
    """Lets a command that writes take several models where `--output-dir` says where to."""
    output_dir = click.option(
        "--output-dir", metavar="DIR", help="Take several models, and write each result into DIR."
    )
    return output_dir(_many(function, writes=True))


def _many(function: F, *, writes: bool) -> F:
    @functools.wraps(function)
    def call(*, more: tuple[str, ...], jobs: int, output_dir: str | None = None, **params: Any) -> None:
        if not more and output_dir is None:
            function(**params)
            return
        models = [params["model"], *([params["out"]] if params.get("out") else []), *more]
        context = click.get_current_context()
        command = str(context.info_name)
        try:
            if writes and output_dir is None:
                raise UsageError("cli.several-models")
            if DASH in models:
                raise UsageError("cli.stdout-of-several")
            calls = _calls(models, params, output_dir)
            answers = _answers(command, function.__module__, models, calls, jobs)
            _report(command, models, answers, as_json=params["as_json"], quiet=params["quiet"])
        except UsageError as error:
            context.ensure_object(Call).document = _envelope(command, UsageError.exit_code, str(error), [])
            quietly = params["as_json"] or params["quiet"]
            step = None if quietly else after_error(error, command, "", ())
            show_error(f"resizefix {command}: {printable(str(error))}", step)
            raise click.exceptions.Exit(UsageError.exit_code) from error

    counted = number_option("--jobs", click.IntRange(min=1), 1, "Work on this many models at a time.")(call)
    metavar = "" if writes else "[MODEL]..."  # Subcommand.format_usage writes another line for commands that write
    return cast(
        F, click.argument("more", nargs=-1, metavar=metavar, type=click.Path() if writes else ModelArgument())(counted)
    )


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
    command: str, module: str, models: Sequence[str], calls: Sequence[dict[str, Any]], jobs: int
) -> Iterator[dict[str, Any]]:
    from concurrent.futures import ThreadPoolExecutor  # costly to import for the many calls with one model

    workers = [Worker(WORKER) for _ in models]

    def one(worker: Worker, model: str, params: dict[str, Any]) -> dict[str, Any]:
        try:
            with worker:
                answer: dict[str, Any] = next(worker.ask((module, command, params)))
        except WorkerEndedError as ended:
            seconds = params.get("timeout") or process.DEFAULT_TIMEOUT
            error = f"{model}: {process.why_ended(ended.code, seconds)}. Nothing was written."
            answer = {**_envelope(command, 2, error, None), "model": shown(model), "output": None}
        return answer

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        try:
            yield from pool.map(one, workers, models, calls)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.close()
            raise


def work(request: tuple[str, str, dict[str, Any]], say: Callable[[dict[str, Any] | None], None]) -> None:
    """Run a command on one model, in a worker; its JSON document is the answer."""
    module, name, params = request
    command: click.Command = importlib.import_module(module).command
    call = Call()
    with click.Context(command, info_name=name, obj=call) as context:
        context.params = params
        assert command.callback is not None
        with contextlib.suppress(click.exceptions.Exit):
            command.callback(**params)
    model = params["model"]
    say(with_dash(call.document, model) if isinstance(model, PipedModel) else call.document)


def _report(
    command: str, models: Sequence[str], answers: Iterator[dict[str, Any]], *, as_json: bool, quiet: bool
) -> None:
    """One JSON document, or a line for each model as it is ready. Leaves with the worst exit code."""
    known = []
    for model, answer in zip(models, answers, strict=True):
        known.append(answer)
        if not as_json and not quiet:
            click.echo(f"{_WORDS[answer['exit_code']]:<6} {printable(shown(model))}: {printable(_in_words(answer))}")
            for line in _violations(answer):
                click.echo(f"         {printable(line)}")
    worst = max(answer["exit_code"] for answer in known)
    call = click.get_current_context().ensure_object(Call)
    call.document, call.wrote = _envelope(command, worst, None, known), any(answer.get("output") for answer in known)
    if not as_json and not quiet:
        counts = [(sum(answer["exit_code"] == code for answer in known), word) for code, word in _WORDS.items()]
        summary = ", ".join(f"{count} {word}" for count, word in counts if count)
        click.echo(f"{len(known)} model{'s' * (len(known) > 1)}: {summary}")
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
    found: dict[str, Any] = {"resizefix": __version__, "command": command, "exit_code": exit_code, "error": error}
    if models is not None:
        found["models"] = models
        found["summary"] = {
            "models": len(models),
            **{word: sum(model["exit_code"] == code for model in models) for code, word in _WORDS.items()},
        }
    return found
