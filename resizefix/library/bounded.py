"""Calls that run a model, held to limits of time and memory by a process of their own that can be ended.

What onnxruntime does between two nodes can be broken off from inside (`runtimes.limits`); one node that takes an
hour, or a kernel that crashes, cannot. So a call with `timeout` or `memory_limit` works in a child process.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

import numpy as np
from onnx import ModelProto

from resizefix import process
from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.errors import RefusedError
from resizefix.interop import Model, OfAnotherPackage, opened, returned
from resizefix.library.options import checked_options, with_run_options
from resizefix.library.result import Result, failed, refusal_of, skipped
from resizefix.operations.sites import find_sites, select
from resizefix.outcome import ModelOutcome, Status
from resizefix.verification.verification import Status as Proven
from resizefix.verification.verification import Verification
from resizefix.worker import Worker, WorkerEndedError

P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound=OfAnotherPackage)

_RUNS = "resizefix.runtimes.ort_session"
WORKER = "resizefix.library.bounded:work"


def bounded(function: F) -> F:
    """Makes a library call check its options, and work in a process of its own where it is given `timeout` or
    `memory_limit`.

    A process that does not answer in time, or dies, is a failed verification that says so.
    """

    @functools.wraps(function)
    @np.errstate(all="ignore")  # numbers of a file may be anything: what overflows is judged, and no warning leaks
    def call(*models: Any, **options: Any) -> Any:
        signature.bind(*models, **options)  # raises TypeError for an option that the call does not have
        options = checked_options(options, function.__name__)
        timeout, memory_limit = options.get("timeout"), options.get("memory_limit")
        if (timeout is None and memory_limit is None) or not options.get("verify", True) or process.is_watched():
            try:
                return function(*models, **options)
            finally:
                if _RUNS in sys.modules:  # else nothing was run
                    sys.modules[_RUNS].give_memory_back()
        tell = options.pop("progress", None)
        documents = [opened(model) for model in models]
        answer = _ask(function, documents, options, tell)
        if isinstance(answer, MemoryError):
            answer = Diagnostic("library.memory-limit-reached")
        if isinstance(answer, str):
            verification = Verification(Proven.FAILED, answer)
            if function.__name__ == "verify":
                return verification
            raise failed(Result(documents[0], (), (), verification))
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, Result):
            assert isinstance(answer.model, Document)
            return replace(answer, model=returned(answer.model, models[0]))
        return answer

    signature = with_run_options(call)
    return call  # type: ignore[return-value]


class Operation(Protocol[P]):
    """A call that makes a model of another: of a path or a document a document, of any other kind the same kind."""

    # First, since without protobuf's stubs its class passes for anything.
    @overload
    def __call__(self, model: ModelProto, /, *args: P.args, **options: P.kwargs) -> Result[ModelProto]: ...
    @overload
    def __call__(
        self, model: str | os.PathLike[str] | Document, /, *args: P.args, **options: P.kwargs
    ) -> Result[Document]: ...
    @overload
    def __call__(self, model: M, /, *args: P.args, **options: P.kwargs) -> Result[M]: ...


def operation(function: Callable[Concatenate[Document, P], Result[Document]]) -> Operation[P]:
    """A bounded call that takes a model of any kind and makes one of the same kind, where `function` sees documents."""

    @functools.wraps(function)
    def call(model: Model, **options: Any) -> Result:
        document = opened(model)
        try:
            result: Result = function(document, **options)  # type: ignore[call-arg]
        except RefusedError as error:
            result = _refused_as_a_whole(document, options.get("node", ()), error)
        made = result.model
        is_other = made is not document and (result.changed or made.light_bytes() != document.light_bytes())
        return replace(result, model=returned(made, model), is_other_model=is_other)

    signature = inspect.signature(function)
    document, *options = signature.parameters.values()
    model = document.replace(name="model", annotation="Model")
    vars(call)["__signature__"] = signature.replace(parameters=[model, *options], return_annotation="Result")
    limited = bounded(call)

    @functools.wraps(limited)
    def call_or_raise(*models: Any, on_refusal: str = "raise", **options: Any) -> Result:
        on_refusal = checked_options({"on_refusal": on_refusal})["on_refusal"]
        result: Result = limited(*models, **options)
        if on_refusal == "raise" and result.outcome is ModelOutcome.REFUSED:
            raise refusal_of(result)
        return result

    vars(call_or_raise)["__wrapped__"] = call  # what a worker calls
    vars(call_or_raise)["__signature__"] = _with_on_refusal(inspect.signature(limited))
    return call_or_raise  # type: ignore[return-value]


def _with_on_refusal(signature: inspect.Signature) -> inspect.Signature:
    kind = inspect.Parameter.KEYWORD_ONLY
    added = inspect.Parameter("on_refusal", kind, default="raise", annotation="Literal['raise', 'return']")
    return signature.replace(parameters=[*signature.parameters.values(), added])


def _refused_as_a_whole(document: Document, patterns: Sequence[str], error: RefusedError) -> Result[Document]:
    """The result where a step refused the model: every selected site is refused for that reason."""
    outcomes = tuple(
        site.outcome(Status.REFUSED, str(error), retry_args=error.retry_args)
        for site in select(find_sites(document), patterns)
    )
    return Result(document, outcomes, (), skipped("library.nothing-changed"), refusal=error)


def _ask(
    function: Callable[..., Any],
    documents: list[Document],
    options: dict[str, Any],
    tell: Callable[[int, int, str], None] | None,
) -> Any:
    """What the call gave, or the error that it raised, or as text why there is none."""
    timeout = options.get("timeout")
    seconds = None if timeout is None else timeout + process.GRACE
    with Worker(WORKER) as worker:
        try:
            for kind, said in worker.ask((function.__module__, function.__name__, documents, options), seconds):
                if kind == "answer":
                    return said
                if tell is not None:
                    tell(*said)
        except TimeoutError:
            return Diagnostic("library.timeout-reached", timeout=timeout)
        except WorkerEndedError as ended:
            return process.why_ended(ended.code, timeout)
    raise AssertionError("a worker's last message is its answer")


def work(request: tuple[str, str, list[Document], dict[str, Any]], say: Callable[[tuple[str, Any]], None]) -> None:
    """Make the call, in the worker: `("progress", …)` any number of times, then `("answer", a result or an error)`."""
    module, name, documents, options = request
    function = getattr(importlib.import_module(module), name).__wrapped__
    process.bound(options.get("timeout"), options.get("memory_limit"), 1)
    try:
        answer: Any = function(*documents, **options, progress=lambda *progress: say(("progress", progress)))
    except Exception as error:  # whatever it is, it belongs to the caller
        answer = error
    say(("answer", answer))
