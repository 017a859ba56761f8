"""Asks the real TensorRT-RTX parser, where the optional extra `resizefix[tensorrt]` is installed.

It runs on any x86-64 Linux machine, without a GPU. It lives in a process of its own (tensorrt_worker.py), because some
models crash it, and so may freeing a network; an answer given before is not lost, and the process is started anew.
"""

from __future__ import annotations

import contextlib
import importlib.util
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from resizefix.diagnostics import Diagnostic
from resizefix.runtimes.answers import LiveUnavailable, NodeAnswer, how_ended
from resizefix.runtimes.tensorrt_errors import LiveError, builder_errors, of_the_whole, parser_errors
from resizefix.runtimes.tensorrt_worker import MODULE
from resizefix.worker import Worker, WorkerEndedError

WORKER = "resizefix.runtimes.tensorrt_worker:work"
Bounds = Mapping[str, Sequence[int]]  # {"min": […], "opt": […], "max": […]}


@dataclass(frozen=True)
class NetworkInput:
    """An input that the network kept; None in `dims` is a size left open.

    `decides_shapes`: its values do ("shape tensor"), so that a profile must say which values it takes.
    """

    name: str
    dims: tuple[int | None, ...]
    decides_shapes: bool = False

    @property
    def needs_range(self) -> bool:
        """Whether no engine is built unless a profile says something of it."""
        return self.decides_shapes or None in self.dims


@dataclass(frozen=True)
class LiveVerdict:
    """What the parser said. `built` is None where no build was asked for, the parser refused, or time ran out.

    `layers` are the kinds of the TensorRT layers made, `inputs` the inputs the network kept: an ONNX input that is
    missing there was frozen to its default. `profile` is what was built with, `chosen` the inputs whose ranges in it
    were not given. `unanswered` says what no answer came to. `nodes`: what a runtime that ran the model made of each
    resize alone.
    """

    parser: str
    accepted: bool
    errors: tuple[LiveError, ...] = ()
    built: bool | None = None
    layers: tuple[str, ...] = ()
    inputs: tuple[NetworkInput, ...] = ()
    profile: Mapping[str, Bounds] = field(default_factory=dict)
    chosen: tuple[str, ...] = ()
    unanswered: str | None = None
    nodes: tuple[NodeAnswer, ...] = ()

    @property
    def taken(self) -> bool:
        """Whether TensorRT takes the model: parses it and, where that was tried, builds the engine."""
        return self.accepted and self.built is not False


def unavailable() -> LiveUnavailable | None:
    """Why no parser can be asked here; None: one can. Loads nothing."""
    if importlib.util.find_spec(MODULE) is not None:
        return None
    here = (sys.platform, platform.machine().lower())
    if here not in (("linux", "x86_64"), ("linux", "amd64")):
        return LiveUnavailable(Diagnostic("targets.tensorrt-rtx-elsewhere", here=" ".join(here)))
    return LiveUnavailable(Diagnostic("targets.tensorrt-rtx-not-installed"))


class LiveParser(contextlib.AbstractContextManager["LiveParser"]):
    """A TensorRT process for several questions; one that crashed or ran out of time is replaced at the next.

    `time_limit` is that of one answer, in seconds.
    """

    def __init__(self, *, time_limit: float = 300.0) -> None:
        self.time_limit = time_limit
        self._worker = Worker(WORKER)
        self._parser = "TensorRT-RTX"

    def __exit__(self, *_: object) -> None:
        self._worker.close()

    def ask(
        self,
        model: bytes,
        folder: Path | None = None,
        *,
        build: bool = False,
        profile: Mapping[str, Bounds] | None = None,
    ) -> LiveVerdict | LiveUnavailable:
        """Parse a model, and with `build` make the engine as well.

        `model` is serialized; its external references, if any, resolve in `folder` and are mapped, not read. `profile`
        gives, for each dynamic input, its dimensions, and for each input that decides a shape, its values.
        """
        missing = unavailable()
        if missing is not None:
            return missing
        until = time.monotonic() + self.time_limit
        path = str((folder or Path()).resolve() / "model.onnx")  # need not exist: only its folder counts
        request = {"model": model, "path": path, "build": build, "profile": _plain(profile)}
        for _ in range(2):  # the process may have died while it freed the last network
            said: dict[str, dict[str, Any]] = {}
            crash = None
            try:
                for answer in self._worker.ask(request, max(until - time.monotonic(), 0.0)):
                    said[answer["stage"]] = answer
                    self._parser = answer.get("parser", self._parser)
            except TimeoutError:
                return self._too_late(model, said)
            except WorkerEndedError as ended:
                crash = how_ended(ended.code)
            if "unavailable" in said:
                return LiveUnavailable(said["unavailable"]["reason"])
            if said:
                return _verdict(self._parser, model, said, build=build, crash=crash)
        return LiveUnavailable(Diagnostic("targets.parser-crashes", parser=self._parser))

    def _too_late(self, model: bytes, said: Mapping[str, dict[str, Any]]) -> LiveVerdict | LiveUnavailable:
        if "parsed" not in said:
            return LiveUnavailable(Diagnostic("runtimes.too-slow", parser=self._parser, time_limit=self.time_limit))
        late = Diagnostic("runtimes.not-built", time_limit=self.time_limit)
        return replace(_verdict(self._parser, model, said, build=False, crash=None), unanswered=late)


def _plain(profile: Mapping[str, Bounds] | None) -> dict[str, dict[str, list[int]]]:
    return {
        name: {bound: [int(value) for value in values] for bound, values in given.items()}
        for name, given in (profile or {}).items()
    }


def _verdict(
    parser: str,
    model: bytes,
    said: Mapping[str, dict[str, Any]],
    *,
    build: bool,
    crash: str | None,
) -> LiveVerdict:
    parsed, built = said.get("parsed"), said.get("built")
    if parsed is None:
        return LiveVerdict(parser, False, (of_the_whole(f"the parser {crash}"),))
    errors = parser_errors(parsed["errors"], model)
    outcome = None
    if build and parsed["accepted"]:
        outcome = built is not None and bool(built["built"])
        errors += builder_errors([f"the builder {crash}"] if built is None else built["errors"], model)
    inputs = tuple(
        NetworkInput(entry["name"], tuple(entry["dims"]), entry["decides_shapes"]) for entry in parsed["inputs"]
    )
    return LiveVerdict(parser, parsed["accepted"], errors, outcome, tuple(parsed["layers"]), inputs)
