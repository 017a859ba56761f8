"""Repairs the Upsample/Resize operators of ONNX files that somebody else exported.

    import resizefix
    result = resizefix.promote_scales("frozen_x3.onnx")
    result.model.save("any_scale.onnx")

The public names are imported when they are first used, so that `import resizefix` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from resizefix.errors import (
    CannotWriteError,
    RefusedError,
    ResizefixError,
    UnreadableModelError,
    UsageError,
    VerificationFailedError,
)
from resizefix.version import __version__

if TYPE_CHECKING:
    from resizefix.library import Result, inspect, promote_scales, verify
    from resizefix.operations.sites import Site

__all__ = [
    "CannotWriteError",
    "RefusedError",
    "ResizefixError",
    "Result",
    "Site",
    "UnreadableModelError",
    "UsageError",
    "VerificationFailedError",
    "__version__",
    "inspect",
    "promote_scales",
    "verify",
]

_HOMES = {
    "Result": "resizefix.library",
    "Site": "resizefix.operations.sites",
    "inspect": "resizefix.library",
    "promote_scales": "resizefix.library",
    "verify": "resizefix.library",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'resizefix' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
