"""The table of many models: a row as each ends, with its outcome, the seconds that it took and one reason; in the end
how many had which outcome.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from resizefix.cli.streams import ProgressLine, shown
from resizefix.diagnostics import Diagnostic
from resizefix.library.option_values import LEGACY_TARGET, TARGETS
from resizefix.outcome import ModelOutcome
from resizefix.printable import columns, printable
from resizefix.reports.next_step import NextStep
from resizefix.reports.screen import Part, screen

UNUSABLE = "unusable"
_WORDS = (*(outcome.value for outcome in ModelOutcome), UNUSABLE)
_EXISTS = "exists"  # what a person reads of a result that stands in the way
_STYLES = {"changed": "green", "refused": "yellow", "failed": "bold red", UNUSABLE: "red", _EXISTS: "red"}
_ASKED_FOR_NO_CHANGE = {("inspect", ModelOutcome.ALREADY.value): "inspected"}  # what a person reads
_HEAD = ("model", "outcome", "seconds", "reason")
_MOST_COLUMNS = 60  # of the names: a longer one moves the rest of its row
_MOST_NAMED = 3  # targets, each by its name
_WITH_ITS_MODEL = 3  # a third of a terminal for the names
_LONGEST_REASON = 350  # characters, of what -v says whole


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
        names = min(max(columns(_name(model)) for model in models), most)
        self._widths = (
            names,
            max(map(len, (*_WORDS, _HEAD[1]))),
            len(_HEAD[2]),
        )
        if self._screen.is_styled:
            self._screen.row([(word, "dim") for word in _HEAD], self._widths)

    def add(self, model: str, answer: Mapping[str, Any], seconds: float, *, exists: bool) -> None:
        """The row of a model that is done; `exists`: so does a result, which stands in the way."""
        if self._progress is not None:
            self._progress.close()
        outcome = _EXISTS if exists else _word(answer["command"], outcome_of(answer))
        styled: Part = (outcome, _STYLES[outcome]) if outcome in _STYLES else outcome
        took = f"{seconds:.2f}".rjust(len(_HEAD[2]))
        reason = _reason(answer) if self._verbose else _first_of(_reason(answer))
        self._screen.row([_name(model), styled, took, printable(reason)], self._widths)
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


def show_summary(
    command: str, summary: Mapping[str, int], output_dir: str | None, existing: int, step: NextStep | None
) -> None:
    """One line: how many models had which outcome, and of how many a result exists, which stands in the way. Below it
    what to type next."""
    by_outcome = {**summary, UNUSABLE: summary[UNUSABLE] - existing}
    words = [
        (count, _word(command, name).replace("_", " "))
        for name, count in by_outcome.items()
        if name != "models" and count
    ]
    words += [(existing, _EXISTS if existing == 1 else "exist")] if existing else []
    counts = ", ".join(f"{count} {name}" for count, name in words) or "none was run"
    where = f"; results are in {printable(output_dir)}" if output_dir is not None else ""
    click.echo(f"{summary['models']} model{'s' * (summary['models'] != 1)}: {counts}{where}")
    if step is not None:
        click.echo(f"next, to {step.purpose}:\n  {step.command}")


def _name(model: str) -> str:
    return printable(shown(model))


def _reason(answer: Mapping[str, Any]) -> str:
    """What a row says of a model after its outcome."""
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


def _first_of(reason: str) -> str:
    """The first clauses of a long reason, as one that says of each replacement why it is none."""
    end = max(reason.rfind(mark, 0, _LONGEST_REASON) for mark in ("; ", ". "))
    if len(reason) <= _LONGEST_REASON or end < 0:
        return reason
    return f"{reason[:end]} (and more, which -v says)"


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
    rest = f" (and {others} more, which -v lists)" if others > 0 else ""
    at = f"; {refusing[0]}" if len(refusing) > _MOST_NAMED else ""
    return f"{_names(refusing)}{at}: {first}{rest}"


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
