"""Names for the files that suggested commands write."""

from __future__ import annotations

import os
from pathlib import PurePath

_WORDS = {
    "promote-scales": "promoted",
    "freeze-scales": "frozen",
    "trt-legacy": "trt-legacy",
    "legalize": "legal",
    "repair": "repaired",
    "input-size": "resized",
    "set": "set",
}


def beside(model: str, command: str, target: str | None = None) -> str:
    """A name for what a command writes, for `target` if for one, in the working folder; no file has it."""
    word = target or _WORDS[command]
    name = PurePath(model).name if model != "-" else ""
    stem = name[: -len(".onnx")] if name.endswith(".onnx") else name
    names = (f"{stem or 'model'}.{word}{number}.onnx" for number in ("", *(f"-{count}" for count in range(2, 1000))))
    return next(name for name in names if not os.path.lexists(name))
