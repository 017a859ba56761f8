"""Calls that run a model, held to limits of time and memory by a process of their own that can be ended.

What onnxruntime does between two nodes can be broken off from inside (`runtimes.limits`); one node that takes an
hour, or a kernel that crashes, cannot. So a call with `timeout` or `memory_limit` works in a child process.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

import numpy as np
from onnx import ModelProto

from resizefix import process
from resizefix.diagnostics import Diagnostic, RefusedError, for_command_line, for_reader, is_for_command_line
from resizefix.document.document import Document
from resizefix.interop import Model, OfAnotherPackage, opened, returned
from resizefix.library.advice import Candidates, advise, with_inlining
from resizefix.library.option_values import SIZE
from resizefix.library.options import checked_options, checks_of, command_of
from resizefix.library.result import AskedCall, Demand, Result, failed, refusal_of, settled, skipped
from resizefix.library.seam import Asks, inlining_first
from resizefix.operations.sites import find_sites, select
from resizefix.outcome import ModelOutcome, Status
from resizefix.verification.verification import DEFAULTS, RunOptions, Verification, VerificationStatus

P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., Any])
M = TypeVar("M", bound=OfAnotherPackage)

_RUNS = "resizefix.runtimes.ort_session"
WORKER = "resizefix.library.bounded:work"
_SIZE_FIRST = (SIZE, True)


def bounded(function: F) -> F:
    """Makes a library call check its options, and work in a process of its own where it is given `timeout` or
    `memory_limit`.

    A process that does not answer in time, or dies, is a failed verification that says so.
    """

    @functools.wraps(function)
    @np.errstate(all="ignore")  # numbers of a file may be anything: what overflows is judged, and no warning leaks
    def call(*models: Any, **options: Any) -> Any:
        _require_fitting(function.__name__, signature, models, options)
        options = checked_options(function.__name__, options)
        if not _needs_process(options):
            with _memory_back():
                return function(*models, **options)
        answer = _ask(function, [opened(model) for model in models], options)
        return Verification(VerificationStatus.FAILED, answer) if isinstance(answer, str) else answer

    signature = _signature(call)
    return call  # type: ignore[return-value]


def checked(function: F) -> F:
    """Makes a call raise UsageError for an option whose type or value it cannot use, before it looks at the model."""

    @functools.wraps(function)
    @np.errstate(all="ignore")  # as `bounded`
    def call(*models: Any, **options: Any) -> Any:
        _require_fitting(function.__name__, signature, models, options)
        return function(*models, **checked_options(function.__name__, options))

    signature = inspect.signature(function)
    return call  # type: ignore[return-value]


class ModelCall(Protocol[P]):
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


def operation(
    demand: Demand, *, advice: Candidates | None = None, tells_why: bool = False, inlines: Asks | None = None
) -> Callable[[Callable[Concatenate[Document, P], Result[Document]]], ModelCall[P]]:
    """Makes a call that takes a model of any kind, and makes one of the same kind, of a function that sees documents.

    `demand` is what the call asks of a model. It is bounded. `size` is done before the function begins, unless the
    function is about sizes. Refused outcomes propose the first of their `advice` with which the call changes them.
    Local functions are inlined before it begins where `inlines` says so, or the option `inline`.
    """

    def decorate(function: Callable[Concatenate[Document, P], Result[Document]]) -> ModelCall[P]:
        name = function.__name__
        with_inputs = _after_shape_inputs(function) if "shape_inputs" in checks_of(name) else function
        with_size = _after_size(with_inputs) if _SIZE_FIRST in checks_of(name).values() else with_inputs
        command = command_of(name)

        advised = _advising(with_size, command, advice, inlines, tells_why=tells_why)

        @functools.wraps(function)
        @np.errstate(all="ignore")  # as `bounded`
        def call(*models: Any, **options: Any) -> Result:
            _require_fitting(name, signature, models, options)
            model: Model = models[0] if models else options.pop("model")
            options = checked_options(name, options)
            on_refusal = options.pop("on_refusal", "raise")
            document = opened(model)
            if _needs_process(options):
                answer = _ask(function, [document], {**options, "on_refusal": "return"})
                if isinstance(answer, str):
                    raise failed(Result(document, (), (), Verification(VerificationStatus.FAILED, answer)))
                result: Result = replace(answer, model=returned(answer.model, model))
            else:
                try:
                    changes_inputs = options.get("size") is not None or _is_for_tensorrt(options)
                    work: Callable[..., Result] = with_size if changes_inputs else function
                    if document.proto.functions:
                        work = inlining_first(work, inlines)
                    with _memory_back():
                        result = work(document, **options)
                except RefusedError as error:
                    result = _refused_as_a_whole(document, options.get("node", ()), error)
                else:
                    result = advised(AskedCall(document, options, result))
                after = result.model
                is_other = after is not document and (result.changed or after.light_bytes() != document.light_bytes())
                asked_for = demand.of_named() if options.get("node") else demand
                result = settled(replace(result, is_other_model=is_other, demand=asked_for), document)
                result = replace(result, model=returned(result.model, model))
            if on_refusal == "raise" and result.outcome is ModelOutcome.REFUSED and not result:
                raise refusal_of(result)
            return result

        signature = _signature(call, changes=True)
        return call

    return decorate


def _advising(
    call: Callable[..., Result], command: str, advice: Candidates | None, inlines: Asks | None, *, tells_why: bool
) -> Callable[[AskedCall], Result]:
    """Gives the result of a call, whose refused outcomes say which options help."""

    def advised(asked: AskedCall) -> Result:
        if advice is not None and any(one.status is Status.REFUSED for one in asked.result.outcomes):
            outcomes = advise(call, command, asked, advice, tells_why=tells_why)
            asked = asked._replace(result=replace(asked.result, outcomes=outcomes))
        if inlines is None or not asked.document.proto.functions or asked.options.get("inline"):
            return asked.result
        outcomes = with_inlining(inlining_first(call, inlines), command, asked)
        return replace(asked.result, outcomes=outcomes)

    return advised


def _after_size(function: Callable[..., Result]) -> Callable[..., Result]:
    """The function with `size`, the height and width that open axes of image inputs get first."""

    def work(document: Document, *, size: tuple[int, int] | None = None, **options: Any) -> Result:
        if size is None:
            return function(document, **options)
        from resizefix.library.at_size import at_size  # which knows how a model gets another size

        return at_size(function, document, size, options)

    return work


def _is_for_tensorrt(options: Mapping[str, Any]) -> bool:
    """Whether inputs may become int64 first; most calls are not for TensorRT."""
    return bool(options.get("for_") == "tensorrt" if "for_" in options else options.get("shape_inputs"))


def _after_shape_inputs(function: Callable[P, Result]) -> Callable[P, Result]:
    """The function with `shape_inputs`: float inputs that decide sizes become int64 first."""

    @functools.wraps(function)
    def work(*arguments: P.args, **options: P.kwargs) -> Result:
        if not _is_for_tensorrt(options):
            return function(*arguments, **options)
        from resizefix.library.shape_inputs import is_asked_for, on_integer_inputs

        asked = is_asked_for(function.__name__, options)
        return (on_integer_inputs(function) if asked else function)(*arguments, **options)

    return work


def _signature(call: Callable[..., Any], *, changes: bool = False) -> inspect.Signature:
    """The signature of a call whose options end with `**run`, which lists those; it is given to the call, for help()
    and completion. One that `changes` a model takes any kind of it."""
    signature = inspect.signature(call)
    parameters = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    types = {name: reference.__forward_arg__ for name, reference in RunOptions.__annotations__.items()}
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters += [inspect.Parameter(name, kind, default=DEFAULTS[name], annotation=types[name]) for name in DEFAULTS]
    if changes:
        words = "Literal['raise', 'return']"
        parameters[0] = parameters[0].replace(name="model", annotation="Model")
        parameters.append(inspect.Parameter("on_refusal", kind, default="raise", annotation=words))
        signature = signature.replace(return_annotation="Result")
    listed = signature.replace(parameters=parameters)
    vars(call)["__signature__"] = listed
    return listed


def _require_fitting(
    call: str, signature: inspect.Signature, models: Sequence[Any], options: Mapping[str, Any]
) -> None:
    """Raises TypeError where the call does not take these arguments."""
    try:
        signature.bind(*models, **options)
    except TypeError as error:
        from resizefix.library.keywords import why_unbound  # few calls are written wrongly

        raise TypeError(why_unbound(call, signature, models, options) or f"{call}(): {error}") from None


def _refused_as_a_whole(document: Document, patterns: Sequence[str], error: RefusedError) -> Result[Document]:
    """The result where a step refused the model: every selected site is refused for that reason."""
    outcomes = tuple(
        site.outcome(Status.REFUSED, str(error), retry_args=error.retry_args)
        for site in select(find_sites(document), patterns)
    )
    return Result(document, outcomes, (), skipped("library.nothing-changed"), refusal=error)


def _needs_process(options: Mapping[str, Any]) -> bool:
    """Whether limits are given that the process itself must be held to; one that is watched is held to them already."""
    limits = (options.get("timeout"), options.get("memory_limit"))
    return limits != (None, None) and options.get("verify", True) and not process.is_watched()


def _ask(function: Callable[..., Any], documents: list[Document], options: Mapping[str, Any]) -> Any:
    """What the call gave in a process of its own, or as text why it gave nothing. Raises the error that it raised."""
    sent = {name: value for name, value in options.items() if name != "progress"}
    from resizefix.worker import Worker, WorkerEndedError  # most calls have no limits

    request = (function.__module__, function.__name__, documents, sent, is_for_command_line())
    tell, timeout = options.get("progress"), options.get("timeout")
    seconds = None if timeout is None else timeout + process.GRACE
    with Worker(WORKER) as worker:
        try:
            for kind, said in worker.ask(request, seconds):
                if kind == "answer":
                    return _answer_of(said)
                if tell is not None:
                    tell(*said)
        except TimeoutError:
            return Diagnostic("library.timeout-reached", timeout=timeout)
        except WorkerEndedError as ended:
            return for_reader(process.why_ended(ended.code, timeout))
    raise AssertionError("a worker's last message is its answer")


def _answer_of(said: Any) -> Any:
    if isinstance(said, MemoryError):
        return Diagnostic("library.memory-limit-reached")
    if isinstance(said, BaseException):
        raise said
    return said


def work(
    request: tuple[str, str, list[Document], dict[str, Any], bool], say: Callable[[tuple[str, Any]], None]
) -> None:
    """Make the call, in the worker: `("progress", …)` any number of times, then `("answer", a result or an error)`."""
    module, name, documents, options, is_typed = request
    call = getattr(importlib.import_module(module), name)
    process.bound(options.get("timeout"), options.get("memory_limit"), 1)
    try:
        with for_command_line(is_typed):
            answer: Any = call(*documents, **options, progress=lambda *progress: say(("progress", progress)))
    except Exception as error:  # whatever it is, it belongs to the caller
        answer = error
    say(("answer", answer))


@contextlib.contextmanager
def _memory_back() -> Iterator[None]:
    """Behind the block, the memory that its sessions took goes back to the system."""
    try:
        yield
    finally:
        if _RUNS in sys.modules:  # else nothing was run
            sys.modules[_RUNS].give_memory_back()
