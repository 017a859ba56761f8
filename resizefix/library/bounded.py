"""Calls that run a model, held to limits of time and memory by a process of their own that can be ended.

What onnxruntime does between two nodes can be broken off from inside (`runtimes.limits`); one node that takes an
hour, or a kernel that crashes, cannot. So a call with `timeout` or `memory_limit` works in a child process.
"""

from __future__ import annotations

import contextlib
import functools
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from resizefix import process
from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.errors import VerificationFailedError
from resizefix.interop import opened, returned
from resizefix.library.options import checked_options, with_run_options
from resizefix.library.result import Result
from resizefix.verification.verification import Status, Verification

F = TypeVar("F", bound=Callable[..., Any])

WORKER = "resizefix.library.bounded_worker"


@dataclass(frozen=True)
class _NoAnswer:
    """Why the process gave none."""

    reason: str


def bounded(function: F) -> F:
    """Makes a library call check its options, and work in a process of its own where it is given `timeout` or
    `memory_limit`.

    A process that does not answer in time, or dies, is a failed verification that says so.
    """

    @functools.wraps(function)
    def call(*models: Any, **options: Any) -> Any:
        signature.bind(*models, **options)  # raises TypeError for an option that the call does not have
        options = checked_options(options)
        timeout, memory_limit = options.get("timeout"), options.get("memory_limit")
        if (timeout is None and memory_limit is None) or not options.get("verify", True) or process.is_watched():
            return function(*models, **options)
        tell = options.pop("progress", None)
        documents = [opened(model) for model in models]
        answer = _ask(function, documents, options, tell)
        if isinstance(answer, MemoryError):
            answer = _NoAnswer(Diagnostic("library.memory-ran-out-memory-limit"))
        if isinstance(answer, _NoAnswer):
            verification = Verification(Status.FAILED, answer.reason)
            if function.__name__ == "verify":
                return verification
            result = Result(documents[0], (), (), verification)
            raise VerificationFailedError("library.verification-failed", why=answer.reason, result=result)
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, Result):
            assert isinstance(answer.model, Document)
            return replace(answer, model=returned(answer.model, models[0]))
        return answer

    signature = with_run_options(call)
    return call  # type: ignore[return-value]


def _ask(
    function: Callable[..., Any],
    documents: list[Document],
    options: dict[str, Any],
    tell: Callable[[int, int, str], None] | None,
) -> Any:
    """What the call gave, or the error that it raised, or `_NoAnswer`."""
    worker = subprocess.Popen(
        [sys.executable, "-m", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    answers: queue.Queue[tuple[str, Any]] = queue.Queue()
    threading.Thread(target=_listen, args=(worker.stdout, answers), daemon=True).start()
    timeout = options.get("timeout")
    try:
        with contextlib.suppress(BrokenPipeError):
            pickle.dump((function.__module__, function.__name__, documents, options), worker.stdin)
            worker.stdin.close()
        return _answer(worker, answers, timeout, tell)
    finally:
        worker.kill()
        worker.wait()
        worker.stdout.close()


def _answer(
    worker: subprocess.Popen[bytes],
    answers: queue.Queue[tuple[str, Any]],
    timeout: float | None,
    tell: Callable[[int, int, str], None] | None,
) -> Any:
    ends = None if timeout is None else time.monotonic() + timeout + process.GRACE
    while True:
        try:
            kind, said = answers.get(timeout=None if ends is None else max(ends - time.monotonic(), 0.0))
        except queue.Empty:
            return _NoAnswer(Diagnostic("library.time-up-after-s", timeout=timeout))
        if kind == "answer":
            return said
        if kind == "ended":
            status = worker.wait()
            return _NoAnswer(process.why_ended(status, timeout))
        if tell is not None:
            tell(*said)


def _listen(stdout: Any, answers: queue.Queue[tuple[str, Any]]) -> None:
    with contextlib.suppress(EOFError, pickle.UnpicklingError, OSError, ValueError):
        while True:
            answers.put(pickle.load(stdout))
    answers.put(("ended", None))
