"""Names for the files that suggested commands write."""

from __future__ import annotations

import os
from pathlib import PurePath


def beside(model: str, word: str) -> str:
    """A name for OUT in the working folder that no file has."""
    name = PurePath(model).name if model != "-" else ""
    stem = name[: -len(".onnx")] if name.endswith(".onnx") else name
    names = (f"{stem or 'model'}.{word}{number}.onnx" for number in ("", *(f"-{count}" for count in range(2, 1000))))
    return next(name for name in names if not os.path.lexists(name))
