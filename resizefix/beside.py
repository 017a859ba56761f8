"""Names of files in suggested commands: of those that they read, and for those that they write."""

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
    "opset": "opset",
    "set": "set",
}


def operand(name: str) -> str:
    """The name of a file so that no command takes it for an option; `-` is stdin."""
    return f"./{name}" if name.startswith("-") and name != "-" else name


def reads_and_writes(command: str, model: str, target: str | None = None) -> tuple[str, str, str]:
    """The words of a command that writes a file: its name, the model, and a name for what it writes."""
    return command, operand(model), beside(model, command, target)


def beside(model: str, command: str, target: str | None = None) -> str:
    """A name for what a command writes, for `target` if for one, in the working folder; no file has it."""
    word = target or _WORDS[command]
    name = PurePath(model).name if model != "-" else ""
    stem = name[: -len(".onnx")] if name.endswith(".onnx") else name
    names = (
        f"{operand(stem or 'model')}.{word}{number}.onnx" for number in ("", *(f"-{count}" for count in range(2, 1000)))
    )
    return next(name for name in names if not os.path.lexists(name))
