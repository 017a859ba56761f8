"""The process that a bounded call works in: reads one call on stdin, answers on stdout. bounded.py starts it."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from typing import Any, BinaryIO

# What the interpreter and onnxruntime take themselves, beside the tensors that a limit of memory is about; and results
# are kept and compared beside those of the run.
_OWN = 512 * 2**20
_TIMES = 4


def main() -> None:
    """Answer the one call: `("progress", …)` any number of times, then `("answer", a result or an error)`."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer

    module, name, documents, options = pickle.load(sys.stdin.buffer)
    function = getattr(importlib.import_module(module), name).__wrapped__
    limit = options.get("memory_limit")
    if limit is not None:
        _limit_memory(_TIMES * limit + _OWN)

    def tell(*progress: Any) -> None:
        _say(answers, "progress", progress)

    try:
        answer: Any = function(*documents, **options, progress=tell)
    except Exception as error:  # whatever it is, it belongs to the caller
        answer = error
    _say(answers, "answer", answer)


def _say(answers: BinaryIO, kind: str, said: Any) -> None:
    answers.write(pickle.dumps((kind, said)))
    answers.flush()


def _limit_memory(size: int) -> None:
    """Private memory alone: weights are mapped from their file."""
    try:
        import resource
    except ImportError:  # not on Windows; there the estimate is what holds
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (size if hard == resource.RLIM_INFINITY else min(size, hard), hard))


if __name__ == "__main__":
    main()
