"""Repairs the Upsample/Resize operators of ONNX files that somebody else exported.

    import resizefix
    result = resizefix.promote_scales("frozen_x3.onnx")
    result.model.save("any_scale.onnx")

The public names are imported when they are first used, so that `import resizefix` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from resizefix.diagnostics import (
    CannotWriteError,
    RefusedError,
    ResizefixError,
    UnreadableModelError,
    UsageError,
)
from resizefix.version import __version__

if TYPE_CHECKING:
    from resizefix.document.document import Document
    from resizefix.library.check import check
    from resizefix.library.diff import diff
    from resizefix.library.explain import Explanation, explain
    from resizefix.library.freeze_scales import freeze_scales
    from resizefix.library.input_size import input_size
    from resizefix.library.inspect import inspect
    from resizefix.library.legalize import legalize
    from resizefix.library.opset import opset
    from resizefix.library.promote_scales import promote_scales
    from resizefix.library.repair import repair
    from resizefix.library.result import Result, VerificationFailedError
    from resizefix.library.set_interpolation import set_interpolation
    from resizefix.library.trt_legacy import trt_legacy
    from resizefix.library.verdict import Verdict
    from resizefix.library.verify import verify
    from resizefix.operations.site import Site

__all__ = [
    "CannotWriteError",
    "Document",
    "Explanation",
    "RefusedError",
    "ResizefixError",
    "Result",
    "Site",
    "UnreadableModelError",
    "UsageError",
    "Verdict",
    "VerificationFailedError",
    "__version__",
    "check",
    "diff",
    "explain",
    "freeze_scales",
    "input_size",
    "inspect",
    "legalize",
    "opset",
    "promote_scales",
    "repair",
    "set_interpolation",
    "trt_legacy",
    "verify",
]

_HOMES = {
    "Document": "resizefix.document.document",
    "Explanation": "resizefix.library.explain",
    "Result": "resizefix.library.result",
    "Site": "resizefix.operations.site",
    "Verdict": "resizefix.library.verdict",
    "VerificationFailedError": "resizefix.library.result",
    "check": "resizefix.library.check",
    "diff": "resizefix.library.diff",
    "explain": "resizefix.library.explain",
    "freeze_scales": "resizefix.library.freeze_scales",
    "input_size": "resizefix.library.input_size",
    "inspect": "resizefix.library.inspect",
    "legalize": "resizefix.library.legalize",
    "opset": "resizefix.library.opset",
    "promote_scales": "resizefix.library.promote_scales",
    "repair": "resizefix.library.repair",
    "set_interpolation": "resizefix.library.set_interpolation",
    "trt_legacy": "resizefix.library.trt_legacy",
    "verify": "resizefix.library.verify",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'resizefix' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
