"""Nodes that compute something else than the framework that was exported: the file is sound, and not the network.

What PyTorch computes was measured with torch 2.13.0 (docs/reference/torch-interpolate.md). Only what the producer, the
opset, the attributes and the sizes show is said.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import Change
from resizefix.document.text import numbers_text
from resizefix.document.values import Array
from resizefix.equivalences.index_map import nearest_indices
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.operators import left_out
from resizefix.faults.resize_node import ResizeNode
from resizefix.faults.torch_samples import LENGTHS, Lengths, lengths_of, lost_factor, scales_of_torch, torch_indices
from resizefix.interpolation import CoordinateTransformationMode, NearestMode

DIFFERS = "differs-from-pytorch"
MAY_DIFFER = "may-differ-from-pytorch"
PYTORCH = "pytorch"
_FIRST_WITH_COORDINATES = 11
_FLOOR = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}


class _Case(NamedTuple):
    """What is said of the node, the attributes with which it computes what PyTorch does, and the scales where others
    are needed; `instead` is what to do where no attribute and no scales do it, and `name` that of the fault."""

    because: Diagnostic
    put: dict[str, Any]
    scales: Array | None = None
    instead: Diagnostic | None = None
    name: str = DIFFERS


def differs_from_pytorch(node: ResizeNode, preferences: Preferences) -> Fault | None:
    """A node of an export of PyTorch that samples otherwise than PyTorch does."""
    if node.view.model.producer_name != PYTORCH:
        return None
    case = _case(node)
    if case is None:
        return None
    if case.instead is not None:
        return Fault(case.name, case.because, case.instead, None, False, is_optional=True)
    written = ", ".join(f"{name}={value}" for name, value in case.put.items())
    if case.scales is not None:
        written = ", ".join(filter(None, (written, f"scales {numbers_text(case.scales)}")))
    is_wanted = preferences.framework == PYTORCH or preferences.coordinates in case.put.values()
    if not is_wanted or node.opset < _FIRST_WITH_COORDINATES:
        code = "faults.prefer-pytorch" if node.opset >= _FIRST_WITH_COORDINATES else "faults.prefer-pytorch-raised"
        fix = Diagnostic(code, attributes=written)
        return Fault(DIFFERS, case.because, fix, None, False, ("--prefer", PYTORCH), is_optional=True)
    fix = Diagnostic("faults.written-as-torch", attributes=written)
    return Fault(DIFFERS, case.because, fix, _change(node, case), keeps_numbers=False)


def _change(node: ResizeNode, case: _Case) -> Change:
    if case.scales is None:
        return Change(node.rewritten(put=case.put))
    roi, empty = left_out(node)
    tensor = node.constant("scales", case.scales)
    changed = node.rewritten(inputs=[node.x, roi, tensor.name], put=case.put)
    return Change(changed, initializers=[tensor, *empty])


def _case(node: ResizeNode) -> _Case | None:
    said = node.attributes
    mode = said.get("mode", "nearest")
    coordinates = said.get("coordinate_transformation_mode", "half_pixel")
    is_asymmetric = coordinates == "asymmetric" if node.opset >= _FIRST_WITH_COORDINATES else True
    antialias = mode in ("linear", "cubic") and bool(said.get("antialias"))
    if not antialias and not (is_asymmetric and mode in ("nearest", "linear")):
        return None
    fixed = lengths_of(node)
    if node.node.op_type == "Upsample" and any(axis.scale < 1 for axis in fixed or ()):
        return None  # which nobody runs: another fault
    if antialias:
        return _antialiased(node, said, mode)
    if mode == "linear":
        extent = node.extent_at()
        keeps = extent is not None and extent[0] == "scales" and bool(np.all(extent[1] == 1))
        keeps = keeps or (fixed is not None and all(axis.size == axis.out for axis in fixed))
        put = {"coordinate_transformation_mode": "half_pixel"}
        return None if keeps else _Case(Diagnostic("faults.torch-half-pixel"), put)
    return _nearest(node, said, fixed)


def _antialiased(node: ResizeNode, said: dict[str, Any], mode: str) -> _Case | None:
    shrinks = any(axis.scale < 1 for axis in lengths_of(node) or lengths_of(node, LENGTHS[-1]) or ())
    put: dict[str, Any] = {}
    if shrinks and not said.get("exclude_outside"):
        put["exclude_outside"] = 1
    if mode == "cubic" and said.get("cubic_coeff_a", -0.75) != -0.5:
        put |= {"exclude_outside": 1, "cubic_coeff_a": -0.5}
    if put:
        return _Case(Diagnostic("faults.torch-antialias"), put)
    factor = lost_factor(node)
    if factor is None:
        return None
    why = Diagnostic("faults.torch-factor-lost", factor=factor)
    return _Case(why, {}, instead=Diagnostic("faults.set-scale", factor=factor), name=MAY_DIFFER)


# ---- nearest ----


def _nearest(node: ResizeNode, said: dict[str, Any], fixed: list[Lengths] | None) -> _Case | None:
    """Mode nearest, asymmetric: which pixels PyTorch takes, and which scales take them."""
    spelled = said.get("nearest_mode", "round_prefer_floor") if node.opset >= _FIRST_WITH_COORDINATES else "simple"
    if spelled not in ("floor", "ceil", "simple"):
        return None
    rounding = NearestMode(spelled)
    if fixed is not None:
        if all(_same_pixels(axis, rounding) for axis in fixed):
            return None
        if all(_same_pixels(axis, NearestMode.FLOOR) for axis in fixed):
            return _Case(_why_other_pixels(fixed), dict(_FLOOR))
        scales = scales_of_torch(fixed)
        why = Diagnostic("faults.torch-other-pixels", **_shown(fixed, NearestMode.FLOOR))
        if scales is None:
            return _Case(why, {}, instead=Diagnostic("faults.no-scales-of-torch"))
        return _Case(why, dict(_FLOOR), scales=scales)
    tried = [lengths for length in LENGTHS if (lengths := lengths_of(node, length)) is not None]
    apart = [lengths for lengths in tried if not all(_same_pixels(axis, rounding) for axis in lengths)]
    if not apart:
        return None
    floored = [lengths for lengths in tried if not all(_same_pixels(axis, NearestMode.FLOOR) for axis in lengths)]
    if len(floored) < len(apart):
        return _Case(_why_other_pixels(apart[0]), dict(_FLOOR))
    sizes = {"count": len(apart), "tried": len(tried), "first": LENGTHS[0], "last": LENGTHS[-1]}
    why = Diagnostic("faults.torch-some-lengths", **sizes, **_shown(apart[0], rounding))
    return _Case(why, {}, instead=Diagnostic("faults.fix-size-for-torch"))


def _why_other_pixels(lengths: list[Lengths]) -> Diagnostic:
    shrinks = any(axis.scale < 1 for axis in lengths)
    return Diagnostic("faults.torch-rounds-down" if shrinks else "faults.torch-floors")


def _same_pixels(axis: Lengths, rounding: NearestMode) -> bool:
    form = CoordinateTransformationMode.ASYMMETRIC, rounding
    return np.array_equal(nearest_indices(form, axis.scale, axis.size, axis.out), torch_indices(axis))


def _shown(lengths: list[Lengths], rounding: NearestMode) -> dict[str, Any]:
    """The first axis whose pixels differ, as the sentence tells of it."""
    axis = next(axis for axis in lengths if not _same_pixels(axis, rounding))
    return {"size": axis.size, "out": axis.out}
