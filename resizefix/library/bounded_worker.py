"""The process that a bounded call works in: reads one call on stdin, answers on stdout. bounded.py starts it."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from typing import Any, BinaryIO

from resizefix import process


def main() -> None:
    """Answer the one call: `("progress", …)` any number of times, then `("answer", a result or an error)`."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer

    module, name, documents, options = pickle.load(sys.stdin.buffer)
    function = getattr(importlib.import_module(module), name).__wrapped__
    process.be_watched()
    process.bound(options.get("timeout"), options.get("memory_limit"), 1)

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


if __name__ == "__main__":
    main()
