"""A runtime that is asked to run models, in a child process that is held to time, memory, one folder and no network.

    with Runtime(runtime_named("openvino")) as openvino:
        answer = openvino.run(path, [{"x": x}], ["y"])

What the child does, whether it refuses, crashes or does not end, is an answer and never an error here.

What runtimes answer: how one ended with a model or a node, what it gave, or why none could be asked.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.values import Array
from resizefix.outcome import TensorDifference
from resizefix.printable import one_paragraph
from resizefix.process import free_memory
from resizefix.runtimes.catalogue import RuntimeRow
from resizefix.runtimes.inputs import Feeds
from resizefix.runtimes.runtime_worker import packed, unpacked
from resizefix.worker import Foreign, Worker, WorkerEndedError

WORKER = "resizefix.runtimes.runtime_worker:work"
_LEAST_MEMORY = 2**30
_MOST_SAID = 800  # characters of a message
_PLAIN_KINDS = "biuf"  # numbers that every numpy knows


@dataclass(frozen=True)
class ModelToTime:
    """A model file, what it is fed, and its outputs in order; `shown`: what its first run gives is wanted."""

    path: Path
    feeds: Feeds
    outputs: tuple[str, ...]
    shown: bool = False


@dataclass(frozen=True)
class _Said:
    """The messages of a process; `ended`: with which code it ended before it had answered; `late`: time was up."""

    messages: Sequence[Mapping[str, Any]]
    ended: int | None
    late: bool

    @property
    def stages(self) -> Mapping[str, Mapping[str, Any]]:
        """The last message of each stage."""
        return {message["stage"]: message for message in self.messages}

    def of(self, stage: str) -> list[Mapping[str, Any]]:
        """The messages of a stage."""
        return [message for message in self.messages if message["stage"] == stage]


class Runtime(contextlib.AbstractContextManager["Runtime"]):
    """One runtime for several models; its process, where it crashed or ran out of time, is replaced at the next.

    `python`: the Python that has it; None: the one that the row's environment variable names, else this one.
    `time_limit` is that of one model, in seconds, `memory` that of the process, in bytes.
    """

    def __init__(
        self, row: RuntimeRow, *, python: str | None = None, time_limit: float = 300.0, memory: int | None = None
    ) -> None:
        self.row = row
        self.python = python or os.environ.get(row.variable) or sys.executable
        self.time_limit = time_limit
        self.memory = max(free_memory() * 3 // 4, _LEAST_MEMORY) if memory is None else memory
        self._place = tempfile.TemporaryDirectory(prefix="resizefix-", ignore_cleanup_errors=True)
        self.folder = Path(self._place.name)
        """Where the process may write; it is removed at the end. Models for it are put here."""
        self._worker = Worker(WORKER, Foreign(self.python, self._place.name, _environment(self._place.name)))

    def __exit__(self, *_: object) -> None:
        self._worker.close()
        self._place.cleanup()

    def run(self, path: Path, feeds: Sequence[Feeds], outputs: Sequence[str]) -> RuntimeAnswer | LiveUnavailable:
        """Load the model file `path` once and run it on each of `feeds`; `outputs` names the graph's, in order."""
        unfit = next((name for one in feeds for name, value in one.items() if not _is_plain(value)), None)
        if unfit is not None:
            reason = Diagnostic("runtimes.input-is-no-tensor-of-numbers", runtime=self.row.title, name=unfit)
            return RuntimeAnswer(self.row.title, Ending.REFUSED_RUN, reason)
        fields = {
            "path": str(path),
            "outputs": list(outputs),
            "feeds": [{name: packed(value) for name, value in one.items()} for one in feeds],
        }
        said = self._asked(fields, {})
        return said if isinstance(said, LiveUnavailable) else self._answer(said, outputs)

    def time(self, models: Sequence[ModelToTime], rounds: int, seconds: float) -> Timings | LiveUnavailable:
        """Load the models and run them in turns, on as many threads as the runtime takes unasked.

        There are `rounds`, and more until `seconds` are over. What is hopelessly slower than the fastest has fewer.
        """
        fields = {
            "models": [
                {
                    "path": str(model.path),
                    "outputs": list(model.outputs),
                    "feeds": {name: packed(value) for name, value in model.feeds.items()},
                    "shown": model.shown,
                }
                for model in models
            ],
            "rounds": rounds,
            "seconds": seconds,
        }
        said = self._asked(fields, {"threads": "default"})
        return said if isinstance(said, LiveUnavailable) else self._timings(said, models)

    def _asked(self, fields: Mapping[str, Any], options: Mapping[str, str]) -> _Said | LiveUnavailable:
        request = {
            "adapter": self.row.adapter,
            "options": {**self.row.options, **options},
            "folder": str(self.folder),
            "memory": self.memory,
            **fields,
        }
        said: list[dict[str, Any]] = []
        ended: int | None = None
        late = False
        try:
            said.extend(self._worker.ask(request, self.time_limit))
        except TimeoutError:
            late = True
        except WorkerEndedError as error:
            ended = error.code
        except OSError as error:  # there is no such Python
            return LiveUnavailable(
                Diagnostic("runtimes.python-does-not-start", runtime=self.row.title, python=self.python, error=error)
            )
        answer = _Said(said, ended, late)
        return self._unavailable(answer.stages["unavailable"]) if "unavailable" in answer.stages else answer

    def _timings(self, said: _Said, models: Sequence[ModelToTime]) -> Timings:
        stages = said.stages
        runtime = stages["started"]["runtime"] if "started" in stages else self.row.title
        if "timed" not in stages:
            if said.late:
                return Timings(runtime, (), Diagnostic("runtimes.too-slow", parser=runtime, time_limit=self.time_limit))
            doing = {"runtime": runtime, "ended": _epitaph(said.ended or 0), "doing": "timed"}
            why = stages["refused"]["reason"] if "refused" in stages else Diagnostic("runtimes.crashed", **doing)
            return Timings(runtime, (), _with_printed(why, self._worker.printed))
        outputs_of = {message["number"]: message["outputs"] for message in said.of("kept")}
        dropped = {message["number"]: message["reason"] for message in said.of("dropped")}
        times = stages["timed"]["times"]
        timed = []
        for number, model in enumerate(models):
            outputs = dict(zip(model.outputs, map(unpacked, outputs_of.get(number) or ()), strict=False))
            timed.append(TimedModel(tuple(times.get(number, ())), outputs, dropped.get(number, "")))
        return Timings(runtime, tuple(timed))

    def _answer(self, said: _Said, outputs: Sequence[str]) -> RuntimeAnswer:
        stages = said.stages
        runtime = stages["started"]["runtime"] if "started" in stages else self.row.title
        results = tuple(
            dict(zip(outputs, map(unpacked, message["outputs"]), strict=True)) for message in said.of("ran")
        )
        loaded = "loaded" in stages
        if said.late:
            reason = Diagnostic("runtimes.too-slow", parser=runtime, time_limit=self.time_limit)
            return RuntimeAnswer(runtime, Ending.LATE, reason, results)
        if said.ended is not None:
            doing = "ran" if loaded else "loaded" if "started" in stages else "started, before it loaded"
            reason = Diagnostic("runtimes.crashed", runtime=runtime, ended=_epitaph(said.ended), doing=doing)
            ending = Ending.CRASHED_RUN if loaded else Ending.CRASHED_LOAD
            return RuntimeAnswer(runtime, ending, _with_printed(reason, self._worker.printed), results)
        if "refused" in stages:
            ending = Ending.REFUSED_RUN if loaded else Ending.REFUSED_LOAD
            message = _with_printed(stages["refused"]["reason"], self._worker.printed)
            return RuntimeAnswer(runtime, ending, message, results)
        return RuntimeAnswer(runtime, Ending.RAN, "", results)

    def _unavailable(self, message: Mapping[str, Any]) -> LiveUnavailable:
        row = self.row
        where = {"runtime": row.title, "name": row.name, "install": row.install, "variable": row.variable}
        if not message["missing"]:
            where["reason"] = message["reason"]
        return LiveUnavailable(Diagnostic(_UNAVAILABLE[bool(message["missing"]), bool(row.apart)], **where))


# By whether its package is missing, and whether it wants an environment of its own.
_UNAVAILABLE = {
    (True, False): "runtimes.not-installed",
    (True, True): "runtimes.not-installed-apart",
    (False, False): "runtimes.does-not-start",
    (False, True): "runtimes.does-not-start-apart",
}


def _is_plain(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in _PLAIN_KINDS and value.dtype.isnative


def _epitaph(code: int) -> Diagnostic:
    return Diagnostic("runtimes.aborted") if -code == signal.SIGABRT else how_ended(code)


def _with_printed(reason: str, printed: str) -> str:
    """The reason and the end of what was printed, which some runtimes alone say why in. For people to read."""
    lines = [line.strip() for line in printed.splitlines()]
    rest = " / ".join(line for line in dict.fromkeys(lines) if line and line not in reason)[-_MOST_SAID:]
    reason = one_paragraph(reason)
    short = reason if len(reason) <= _MOST_SAID else reason[:_MOST_SAID] + " …"
    return f"{short} [{rest}]" if rest else short


def _environment(folder: str) -> dict[str, str]:
    """This process's, with every place to write in `folder`, and with nothing to install from."""
    own = dict(os.environ)
    if sys.platform == "linux":  # where `pip install --user` has put packages, which HOME would tell
        own.setdefault("PYTHONUSERBASE", os.path.expanduser("~/.local"))
    written = dict.fromkeys(("HOME", "TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), folder)
    return {
        **own,
        **written,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PIP_NO_INDEX": "1",
        "POLYGRAPHY_AUTOINSTALL_DEPS": "0",
        "OMP_NUM_THREADS": "1",
        "RUST_BACKTRACE": "0",
    }


@dataclass(frozen=True)
class LiveUnavailable:
    """Why there is no verdict, as a sentence for the user."""

    reason: str


class Ending(str, Enum):
    """How a runtime ended with a model."""

    RAN = "ran"
    REFUSED_LOAD = "refused-load"
    REFUSED_RUN = "refused-run"
    CRASHED_LOAD = "crashed-load"
    CRASHED_RUN = "crashed-run"
    LATE = "late"


def how_ended(code: int) -> Diagnostic:
    """How a process ended, by its exit code, which a signal makes negative."""
    if code >= 0:
        return Diagnostic("runtimes.ended-with-code", status=code)
    try:
        return Diagnostic("runtimes.crashed-by", signal=signal.Signals(-code).name)
    except ValueError:
        return Diagnostic("runtimes.ended-by-signal", signal=-code)


@dataclass(frozen=True)
class RuntimeAnswer:
    """What `runtime` (its title and version) did: the outputs of each run that it made, and how it ended.

    `message` is what it raised and printed, or how it crashed; empty where it ran.
    """

    runtime: str
    ending: Ending
    message: str = ""
    results: tuple[Mapping[str, Array], ...] = ()


@dataclass(frozen=True)
class NodeAnswer:
    """What a runtime made of one node alone. `ending` None: it was not asked, for onnxruntime does not run it either.

    `agrees`: it ran, with onnxruntime's shape and numbers. `difference`: how far it is from onnxruntime's,
    where it ran.
    """

    node: str
    output: str
    ending: Ending | None
    message: str = ""
    difference: TensorDifference | None = None
    agrees: bool = False
    same_shape: bool = True

    @property
    def max_abs_diff(self) -> float | None:
        """The largest difference; None: it did not run."""
        return None if self.difference is None else self.difference.max_abs_diff

    @property
    def max_rel_diff(self) -> float | None:
        """That as a part of the largest value; infinite where the shapes differ."""
        return None if self.difference is None else self.difference.max_rel_diff


@dataclass(frozen=True)
class TimedModel:
    """One of several models that were timed in turns: the seconds of its fastest run in each round, and what its first
    run gave. No times: it was not run, and `reason` says why."""

    times: tuple[float, ...] = ()
    outputs: Mapping[str, Array] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True)
class Timings:
    """Models timed against each other in `runtime`, in the order in which they were given; none where the runtime came
    to no end, for the `reason`."""

    runtime: str
    models: tuple[TimedModel, ...] = ()
    reason: str = ""
