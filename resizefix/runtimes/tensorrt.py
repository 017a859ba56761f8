"""Asks the real TensorRT-RTX parser, where the optional extra `resizefix[tensorrt]` is installed.

It runs on any x86-64 Linux machine, without a GPU. It lives in a process of its own (tensorrt_worker.py), because some
models crash it, and so may freeing a network; an answer given before is not lost, and the process is started anew.

The parser names node and operator. The builder knows its own layers alone; its text is read for the name of a node or
of a tensor, for people to find the place by. No decision hangs on the text.
"""

from __future__ import annotations

import contextlib
import importlib.util
import platform
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from onnx import ModelProto, NodeProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.scopes import subgraphs
from resizefix.runtimes.runtime import LiveUnavailable, NodeAnswer, how_ended
from resizefix.runtimes.tensorrt_worker import MODULE
from resizefix.worker import Worker, WorkerEndedError

WORKER = "resizefix.runtimes.tensorrt_worker:work"
Bounds = Mapping[str, Sequence[int]]  # {"min": […], "opt": […], "max": […]}

# What a machine without a GPU adds to every internal error; it says nothing about the model.
_NO_GPU = "checkMacros.cpp::catchCudaError"
# What may be a name in a complaint; not plain words, which tensors are called too ("input", "shape"), nor numbers.
_NAME = re.compile(r"[\w./:-]*[A-Za-z][\w./:-]*")
_PLAIN_WORD = re.compile(r"[A-Za-z]*|.{1,2}")
_LAYER = re.compile(r"(?:\(|Invalid Node - )(?:node_of_)?([^\s():]+)(?=[:)\s])")

Place = tuple[int, NodeProto]


@dataclass(frozen=True)
class LiveError:
    """One complaint.

    `node` is the ONNX node's name ('' if it has none), `output` its first output, `index` its position among the nodes
    of its graph; all None where the complaint is about the model as a whole. `fed_by` is the label of the nearest
    resize that the node's data come from, None where none is near.
    """

    node: str | None
    output: str | None
    index: int | None
    op_type: str
    message: str
    fed_by: str | None = None


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
    parser: str, model: bytes, said: Mapping[str, dict[str, Any]], *, build: bool, crash: str | None
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


def of_the_whole(message: str) -> LiveError:
    """A complaint that names no node."""
    return LiveError(None, None, None, "", message)


def parser_errors(errors: Sequence[Mapping[str, Any]], model: bytes) -> tuple[LiveError, ...]:
    """The parser's complaints, each with the ONNX node it is about."""
    nodes = _nodes(model) if errors else []
    return tuple(_parser_error(error, nodes) for error in errors)


def builder_errors(messages: Iterable[str], model: bytes) -> tuple[LiveError, ...]:
    """The builder's complaints, each with the ONNX node it names, if it is known."""
    messages = list(messages)
    complaints = [words for message in messages if (words := _about_the_model(message))] or messages
    nodes = _nodes(model) if complaints else []
    return tuple(_builder_error(message, nodes) for message in complaints)


def _parser_error(error: Mapping[str, Any], nodes: Sequence[Place]) -> LiveError:
    alike = [(k, node) for k, node in nodes if (node.op_type, node.name) == (error["op_type"], error["name"])]
    message = _about_the_model(error["message"]) or error["message"]
    # Names may be doubled or empty: then the position in its graph decides, if it does.
    exact = [candidate for candidate in alike if candidate[0] == error["index"]]
    matches = exact if len(exact) == 1 or not error["name"] else alike
    if len(matches) != 1:
        return LiveError(error["name"] or None, None, None, error["op_type"], message)
    return _at(matches[0], message)


def _builder_error(message: str, nodes: Sequence[Place]) -> LiveError:
    named = {name: place for place in nodes for name in (*place[1].output, place[1].name) if name}
    layer = next((word for word in _LAYER.findall(message) if word in named), None)
    words = [word.rstrip(".:") for word in _NAME.findall(message)]
    tensors = [word for word in words if word in named and not _PLAIN_WORD.fullmatch(word)]
    name = layer or (tensors[-1] if tensors else None)
    return of_the_whole(message) if name is None else _at(named[name], message)


def _at(place: Place, message: str) -> LiveError:
    index, node = place
    return LiveError(node.name, node.output[0] if node.output else "", index, node.op_type, message)


def _about_the_model(message: str) -> str:
    return "\n".join(line for line in message.splitlines() if _NO_GPU not in line)


def _nodes(model: bytes) -> list[Place]:
    try:
        return list(_walk(ModelProto.FromString(model)))
    except DecodeError:
        return []  # no model at all: the errors say so


def _walk(model: ModelProto) -> Iterator[Place]:
    bodies: list[Sequence[NodeProto]] = [model.graph.node, *(function.node for function in model.functions)]
    while bodies:
        for index, node in enumerate(bodies.pop()):
            yield index, node
            bodies.extend(graph.node for _, graph in subgraphs(node))
