"""Which pixels PyTorch takes in mode nearest, and the scales with which a Resize takes the same.

torch multiplies the output's position by one float32 and cuts the fraction off; onnxruntime divides by the scale. With
`size`, or with a size computed first, the factor is float32(in) / float32(out), else float32(1 / scale_factor)
(aten/src/ATen/native/UpSample.h, compute_scales_value and nearest_neighbor_compute_source_index).

Nodes that compute something else than the framework that was exported: the file is sound, and not the network.

What PyTorch computes was measured with torch 2.13.0 (docs/reference/torch-interpolate.md). Only what the producer, the
opset, the attributes and the sizes show is said.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np
from onnx import NodeProto

from resizefix.diagnostics import Diagnostic, code_of
from resizefix.document.edits import NodeEdit
from resizefix.document.text import numbers_text
from resizefix.document.values import Array
from resizefix.equivalences.kernel_arithmetic import Indices, nearest_indices
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.operators import left_out
from resizefix.faults.resize_node import ResizeNode
from resizefix.interpolation import CoordinateTransformationMode, NearestMode
from resizefix.shapes.output_size import every_rule_gives, kernel_length, near_scales, sampled_scale

_KEY = "pkg.torch.onnx.fx_node"
_CALL = re.compile(
    r"torch\.ops\.aten\._?upsample_(?:bilinear|bicubic)2d(?:_aa)?\.(default|vec)\]\(args = \((.*)\), kwargs = \{\}\)"
)
_AXES = 2


class TorchCall(NamedTuple):
    """The sizes and the factors of the height and width; None: it has none, `...`: one that the file does not tell."""

    sizes: tuple[int | EllipsisType, ...] | None
    factors: tuple[float, ...] | None

    def gives(self, size: int, out: int, place: int, *, fixed: bool) -> bool:
        """Whether the call makes `size` into `out` on its axis `place`: else the node has another extent since.
        `fixed`: the node's sizes are constants."""
        if self.factors is not None:
            return int(size * self.factors[place]) == out
        wanted = ... if self.sizes is None else self.sizes[place]
        return wanted == out or (wanted is ... and not fixed)


def torch_call(node: NodeProto) -> TorchCall | None:
    """The call; None where nothing is said of one, or not all."""
    said = next((entry.value for entry in getattr(node, "metadata_props", ()) if entry.key == _KEY), "")
    call = _CALL.search(said)
    if call is None:
        return None
    try:
        arguments = ast.literal_eval("(" + re.sub(r"%\w+", "...", call[2]) + ",)")
    except (ValueError, SyntaxError):
        return None
    if len(arguments) < 3:  # what is resized, sizes, align_corners
        return None
    behind = arguments[3:]
    if call[1] == "vec":
        behind = behind[0] if behind and behind[0] is not None else ()
    factors = tuple(each for each in behind if each is not None) if isinstance(behind, (tuple, list)) else (...,)
    sizes = None if arguments[1] is None else _pair(arguments[1], int)
    if (factors and _pair(factors, float) is None) or (not factors and sizes is None):
        return None
    return TorchCall(sizes, _pair(factors, float) if factors else None)


def _pair(values: Any, kind: type) -> tuple[Any, ...] | None:
    """A number for each of the two axes; None: these are none."""
    if not isinstance(values, (tuple, list)) or len(values) != _AXES:
        return None
    is_pair = all(type(each) is kind or (kind is int and each is ...) for each in values)
    return tuple(values) if is_pair else None


LENGTHS = range(2, 49)
"""The sizes at which an axis of open size is looked at."""
_LONGEST = 1 << 16
_FORM = CoordinateTransformationMode.ASYMMETRIC, NearestMode.FLOOR
_NEAREST_EXACT = CoordinateTransformationMode.HALF_PIXEL, NearestMode.ROUND_PREFER_CEIL
_DECIMALS = 4  # of a scale that somebody typed


class Lengths(NamedTuple):
    """One axis: its lengths, the scale that the node samples by, and the factor of torch."""

    size: int
    out: int
    scale: float
    factor: float


def lengths_of(node: ResizeNode, length: int | None = None) -> list[Lengths] | None:
    """Every axis that the scales or sizes speak of, where all is known; with `length`, that is every size that the
    file leaves open."""
    extent, dims = node.extent_at(length), node.input_dims
    if extent is None or dims is None:
        return None
    kind, values = extent
    axes = node.axes_of(len(values))
    sizes = [None if axis is None or axis >= len(dims) else dims[axis] for axis in axes]
    if length is not None:
        sizes = [size if isinstance(size, int) else length for size in sizes]
    operand = node.extents[0] or node.extents[1]
    computed = operand is None or operand.value is None
    lengths = []
    for size, value in zip(sizes, values.tolist(), strict=True):
        if not isinstance(size, int) or not 0 < size <= _LONGEST or not 0 < value < _LONGEST:
            return None
        out = int(value) if kind == "sizes" else kernel_length(value, size)
        if not 0 < out <= _LONGEST:
            return None
        scale = sampled_scale(size, out) if kind == "sizes" else float(value)
        lengths.append(Lengths(size, out, scale, _factor(size, out, scale, quotient=computed or kind == "sizes")))
    return lengths


def _factor(size: int, out: int, scale: float, *, quotient: bool) -> float:
    """What torch multiplies by: constant scales with few decimals are the scale_factor of the call."""
    typed = float(str(np.float32(scale)))
    if quotient or round(typed, _DECIMALS) != typed:
        return float(np.float32(size) / np.float32(out))
    return float(np.float32(1.0 / typed))


def torch_indices(axis: Lengths) -> Indices:
    """The pixel that torch takes for each output."""
    at = np.floor(np.arange(axis.out, dtype=np.float32) * np.float32(axis.factor)).astype(np.int64)
    indices: Indices = np.minimum(at, axis.size - 1)
    return indices


def is_nearest_exact_of_torch(scale: float, sizes: Sequence[int]) -> bool:
    """Whether rounding half up at half-pixel coordinates takes the pixels of torch's nearest-exact by this factor:
    floor((i + 0.5) · float32(1 / factor)), on axes of these lengths."""
    for size in sizes:
        out = kernel_length(scale, size)
        at = np.floor((np.arange(out, dtype=np.float32) + np.float32(0.5)) * np.float32(1.0 / scale))
        own = nearest_indices(_NEAREST_EXACT, scale, size, out)
        if not np.array_equal(np.minimum(at.astype(np.int64), size - 1), own):
            return False
    return True


def scales_of_torch(lengths: list[Lengths]) -> Array | None:
    """Scales at which rounding down takes the pixels of torch on every axis, and gives the lengths in every runtime;
    None: there are none."""
    by_axis = [next(_scales(axis), None) for axis in lengths]
    scales = [scale for scale in by_axis if scale is not None]
    return np.array(scales, np.float32) if len(scales) == len(by_axis) else None


def _scales(axis: Lengths) -> Iterator[float]:
    if axis.size == axis.out:
        yield 1.0
        return
    wanted = torch_indices(axis)
    for scale in near_scales(axis.size, axis.out):
        if every_rule_gives(scale, axis.size, axis.out) and np.array_equal(
            nearest_indices(_FORM, scale, axis.size, axis.out), wanted
        ):
            yield scale


def lost_factor(node: ResizeNode) -> float | None:
    """A scale_factor with one decimal that gives the sizes of the node and is none of their quotients; None where
    there is none, or the node is given scales. With it, torch samples otherwise than by the sizes."""
    if node.extents[1] is None:
        return None
    lengths = lengths_of(node)
    several = [lengths] if lengths is not None else [one for n in LENGTHS if (one := lengths_of(node, n)) is not None]
    tried = [[axis for axis in one if axis.size != axis.out] for one in several]
    if not any(tried):
        return None
    for tenths in range(1, 81):
        factor = tenths / 10
        gives = all(int(axis.size * factor) == axis.out for axes in tried for axis in axes)
        if gives and any(axis.size * factor != axis.out for axes in tried for axis in axes):
            return factor
    return None


DIFFERS = "differs-from-pytorch"
MAY_DIFFER = "may-differ-from-pytorch"
PYTORCH = "pytorch"
BY_INDICES = "faults.indices-of-torch"
"""What is done where a list of the pixels takes those of PyTorch, and no scales do."""
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
        words = ("--prefer", PYTORCH) if code_of(case.instead) == BY_INDICES else ()
        return Fault(case.name, case.because, case.instead, None, False, words, is_optional=True)
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


def _change(node: ResizeNode, case: _Case) -> NodeEdit:
    if case.scales is None:
        return NodeEdit(node.rewritten(put=case.put))
    roi, empty = left_out(node)
    tensor = node.constant("scales", case.scales)
    changed = node.rewritten(inputs=[node.x, roi, tensor.name], put=case.put)
    return NodeEdit(changed, initializers=[tensor, *empty])


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


def _factors_of_call(node: ResizeNode) -> tuple[float, Array | None] | bool | None:
    """What the exporter names of the factor by which PyTorch samples: the scale_factor of the call, and the scales that
    write it, None where they make another length. None: by the sizes, as the node does, and False where nothing is
    named, or the node has another extent since."""
    call = torch_call(node.node)
    lengths, operand = lengths_of(node), node.extents[1]
    several = [lengths] if lengths is not None else [one for n in LENGTHS if (one := lengths_of(node, n)) is not None]
    if call is None or operand is None or not several or node.input_dims is None:
        return False
    first = len(node.input_dims) - len(call.factors or call.sizes or ())
    places = [-1 if axis is None else axis - first for axis in node.axes_of(len(several[0]))]
    fixed = operand.value is not None
    for axes in several:
        spatial = [(place, axis) for place, axis in zip(places, axes, strict=True) if place >= 0]
        if not spatial or not all(call.gives(axis.size, axis.out, place, fixed=fixed) for place, axis in spatial):
            return False
    factors = call.factors
    if factors is None:
        return None
    scales = np.array([factors[place] if place >= 0 else 1 for place in places], np.float32)
    pairs = [(axis, factors[place]) for axes in several for place, axis in zip(places, axes, strict=True) if place >= 0]
    if all(axis.size * factor == axis.out for axis, factor in pairs):
        return None
    fits = all(
        kernel_length(scale, axis.size) == axis.out
        for axes in several
        for scale, axis in zip(scales.tolist(), axes, strict=True)
    )
    return factors[0], scales if fits else None


def _antialiased(node: ResizeNode, said: dict[str, Any], mode: str) -> _Case | None:
    shrinks = any(axis.scale < 1 for axis in lengths_of(node) or lengths_of(node, LENGTHS[-1]) or ())
    put: dict[str, Any] = {}
    if shrinks and not said.get("exclude_outside"):
        put["exclude_outside"] = 1
    if mode == "cubic" and said.get("cubic_coeff_a", -0.75) != -0.5:
        put |= {"exclude_outside": 1, "cubic_coeff_a": -0.5}
    named = _factors_of_call(node)
    if put:
        scales = named[1] if isinstance(named, tuple) else None
        return _Case(Diagnostic("faults.torch-antialias"), put, scales)
    if isinstance(named, tuple):
        factor, scales = named
        why = Diagnostic("faults.torch-factor-named", factor=factor)
        instead = None if scales is not None else Diagnostic("faults.factor-of-other-lengths")
        return _Case(why, {}, scales, instead)
    lost = lost_factor(node) if named is False else None
    if lost is None:
        return None
    why = Diagnostic("faults.torch-factor-lost", factor=lost)
    return _Case(why, {}, instead=Diagnostic("faults.set-scale", factor=lost), name=MAY_DIFFER)


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
            by_size = all(axis.factor == np.float32(axis.size) / np.float32(axis.out) for axis in fixed)
            return _Case(why, {}, instead=Diagnostic(BY_INDICES if by_size else "faults.no-scales-of-torch"))
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


@lru_cache(maxsize=1 << 12)
def _same_pixels(axis: Lengths, rounding: NearestMode) -> bool:
    form = CoordinateTransformationMode.ASYMMETRIC, rounding
    return np.array_equal(nearest_indices(form, axis.scale, axis.size, axis.out), torch_indices(axis))


def _shown(lengths: list[Lengths], rounding: NearestMode) -> dict[str, Any]:
    """The first axis whose pixels differ, as the sentence tells of it."""
    axis = next(axis for axis in lengths if not _same_pixels(axis, rounding))
    return {"size": axis.size, "out": axis.out}
