"""Nodes that compute something else than the framework that was exported: the file is sound, and not the network.

What PyTorch computes was measured with torch 2.13.0 (docs/reference/torch-interpolate.md). Only what the producer, the
opset and the attributes show is said.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import Change
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.resize_node import ResizeNode

DIFFERS = "differs-from-pytorch"
PYTORCH = "pytorch"
_FIRST_WITH_COORDINATES = 11


class _Case(NamedTuple):
    """What is said of the node, and the attributes with which it computes what PyTorch does."""

    because: str
    put: dict[str, Any]


def differs_from_pytorch(node: ResizeNode, preferences: Preferences) -> Fault | None:
    """A node of an export of PyTorch that samples otherwise than PyTorch does."""
    if node.view.model.producer_name != PYTORCH:
        return None
    case = _case(node)
    if case is None:
        return None
    because = Diagnostic(case.because)
    written = ", ".join(f"{name}={value}" for name, value in case.put.items())
    is_wanted = preferences.framework == PYTORCH or preferences.coordinates in case.put.values()
    if not is_wanted or node.opset < _FIRST_WITH_COORDINATES:
        code = "faults.prefer-pytorch" if node.opset >= _FIRST_WITH_COORDINATES else "faults.prefer-pytorch-raised"
        fix = Diagnostic(code, attributes=written)
        return Fault(DIFFERS, because, fix, None, False, ("--prefer", PYTORCH), is_optional=True)
    fix = Diagnostic("faults.written-as-torch", attributes=written)
    return Fault(DIFFERS, because, fix, Change(node.rewritten(put=case.put)), keeps_numbers=False)


def _case(node: ResizeNode) -> _Case | None:
    said = node.attributes
    mode = said.get("mode", "nearest")
    coordinates = said.get("coordinate_transformation_mode", "half_pixel")
    grows, shrinks = _directions(node)
    if shrinks and node.node.op_type == "Upsample":
        return None  # which nobody runs: another fault
    is_asymmetric = coordinates == "asymmetric" if node.opset >= _FIRST_WITH_COORDINATES else True
    if mode in ("linear", "cubic") and said.get("antialias"):
        return _antialiased(said, mode, shrinks=shrinks)
    if mode == "linear" and is_asymmetric and (grows or shrinks):
        return _Case("faults.torch-half-pixel", {"coordinate_transformation_mode": "half_pixel"})
    is_ceil = said.get("nearest_mode") == "ceil" if node.opset >= _FIRST_WITH_COORDINATES else node.opset == 10
    if mode == "nearest" and is_asymmetric and is_ceil and shrinks:
        return _Case(
            "faults.torch-rounds-down", {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        )
    return None


def _antialiased(said: dict[str, Any], mode: str, *, shrinks: bool) -> _Case | None:
    put: dict[str, Any] = {}
    if shrinks and not said.get("exclude_outside"):
        put["exclude_outside"] = 1
    if mode == "cubic" and said.get("cubic_coeff_a", -0.75) != -0.5:
        put |= {"exclude_outside": 1, "cubic_coeff_a": -0.5}
    return _Case("faults.torch-antialias", put) if put else None


def _directions(node: ResizeNode) -> tuple[bool, bool]:
    """Whether the file shows that an axis grows, and that one shrinks."""
    scales, sizes = node.extents
    if scales is not None and scales.value is not None and scales.value.dtype.kind == "f" and scales.value.size:
        return bool(np.any(scales.value > 1)), bool(np.any(scales.value < 1))
    before, after = node.input_dims, node.stored_dims
    if sizes is not None and sizes.value is not None and before is not None and sizes.value.size == len(before):
        after = tuple(map(int, sizes.value.reshape(-1).tolist()))
    if before is None or after is None or len(before) != len(after):
        return False, False
    pairs = [
        (was, now) for was, now in zip(before, after, strict=True) if isinstance(was, int) and isinstance(now, int)
    ]
    return any(now > was for was, now in pairs), any(now < was for was, now in pairs)
