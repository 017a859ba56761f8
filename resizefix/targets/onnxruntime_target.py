"""Whether onnxruntime's CPU kernels run a node: rules of release 1.32.0, each measured, most also read in its source.

The kernels' own checks stand in onnxruntime/core/providers/cpu/tensor/upsamplebase.h (constructor, ScalesValidation,
ParseScalesData). That the graph is valid ONNX at its opset is asked of onnx's schemas, as onnxruntime asks it.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache

import onnx
from onnx import TensorProto

from resizefix.interpolation import CoordinateTransformationMode
from resizefix.targets.facts import OperandSource, Roi, SiteFacts
from resizefix.targets.shared_rules import CAST, coordinate_modes, counts_from_the_front
from resizefix.targets.target import Release, Rule, differs, targets_of

_RELEASE = "onnxruntime 1.32.0, CPU"
_MEASURED = f"measured on {_RELEASE}"
_KERNEL = f"{_MEASURED}; upsamplebase.h"
_LAST_OPSET = 28
_MODES = frozenset({"nearest", "linear", "cubic"})
_INTEGERS = frozenset({TensorProto.INT32, TensorProto.INT8, TensorProto.UINT8})
_MOST_ELEMENTS = 1 << 63
_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16})
_COORDINATES = frozenset(mode.value for mode in CoordinateTransformationMode)
_NEAREST_MODES = frozenset({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})


# ---- conditions -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _attributes(op_type: str, opset: int) -> frozenset[str] | None:
    try:
        return frozenset(onnx.defs.get_schema(op_type, opset).attributes)
    except onnx.defs.SchemaError:
        return None


def _scales(f: SiteFacts) -> tuple[float | None, ...] | None:
    """The scale of each axis as the kernel sees it; None where it is not known."""
    rank = f.length if f.rank is None and f.axes is None else f.rank  # one value for each axis
    if rank is None:
        return None
    unknown: tuple[float | None, ...] = (None,) * rank
    if f.by_scales:
        return unknown if f.full_scales is None or len(f.full_scales) != rank else f.full_scales
    if f.values is None or f.rank is None or f.input_shape is None:
        return unknown
    if len(f.listed_axes) != len(f.values) or any(not -f.rank <= axis < f.rank for axis in f.listed_axes):
        return unknown
    scales: list[float | None] = [1.0] * f.rank
    for axis, size in zip(f.listed_axes, f.values, strict=True):
        whole = f.input_shape[axis]
        scales[axis] = size / whole if whole else None
    if f.keep_aspect_ratio_policy != "stretch":
        _follow_policy(f, scales)
    return tuple(scales)


def _least_count(f: SiteFacts) -> float:
    """The fewest elements that the output of an input with samples has; 0 where that is not known."""
    scales = _scales(f)
    if scales is None or None in scales or f.values is None:
        return 0
    shape = f.input_shape or (None,) * len(scales)
    numbers = [scale or 0 for scale in scales]
    lengths = [1 if size is None else size for size in shape]
    if not all(map(math.isfinite, numbers)) or any(
        size is None and scale < 1 for size, scale in zip(shape, numbers, strict=False)
    ):
        return 0
    return math.prod(math.floor(scale * size) for scale, size in zip(numbers, lengths, strict=False))


def _follow_policy(f: SiteFacts, scales: list[float | None]) -> None:
    """One scale for all listed axes; the kernel overlooks axes that are counted from the end."""
    listed = set(f.listed_axes)
    chosen = [scale for axis, scale in enumerate(scales) if axis in listed]
    known_scales = [scale for scale in chosen if scale is not None]
    pick = min if f.keep_aspect_ratio_policy == "not_larger" else max
    common = pick(known_scales) if known_scales and len(known_scales) == len(chosen) else None
    scales[:] = [common if axis in listed else 1.0 for axis in range(len(scales))]


def _is_one(scale: float | None) -> bool:
    return scale is None or scale == 1


def runs_on_axes(mode: str, rank: int, scaled: Collection[int], *, channels_last: bool) -> bool:
    """Whether there is a kernel of the mode where these axes are scaled; `channels_last`: and where the channels stand
    behind the image."""
    if mode == "nearest" or rank == 2 or (rank == 3 and mode == "linear"):
        return True
    if rank == 4:
        return {2, 3}.issuperset(scaled) or (channels_last and {1, 2}.issuperset(scaled))
    return rank == 5 and mode == "linear" and {2, 3, 4}.issuperset(scaled)


def _layout(f: SiteFacts) -> bool:
    scales = _scales(f)
    if scales is None:
        return True
    scaled = {axis for axis, scale in enumerate(scales) if not _is_one(scale)}
    grows = all(scale is None or scale >= 1 for scale in scales)
    return runs_on_axes(f.mode, len(scales), scaled, channels_last=f.mode == "linear" or f.antialias or grows)


def _has_type(f: SiteFacts) -> bool:
    if f.elem_type is None or f.elem_type in _FLOATS:
        return True
    if f.elem_type not in _INTEGERS or f.mode != "cubic":
        return f.elem_type in _INTEGERS
    scales = _scales(f)
    if f.antialias or _is_copy(f):
        return True
    channels_last = scales is not None and len(scales) == 4 and scales[1] != 1 and _is_one(scales[3])
    return scales is None or channels_last


def _is_copy(f: SiteFacts) -> bool:
    """No size changes, as far as is known: the kernel copies its input whatever the scales."""
    scales = _scales(f)
    if scales is None:
        return False
    shape = f.input_shape or (None,) * len(scales)
    return all(
        _is_one(scale) or (size is not None and scale is not None and size <= scale * size < size + 1)
        for scale, size in zip(scales, shape, strict=True)
    )


# ---- rules ----------------------------------------------------------------------------------------------------------

RULES = (
    Rule(
        name="operator-of-its-opset",
        holds=lambda f: 7 <= f.opset <= 9 if f.is_upsample else 10 <= f.opset <= _LAST_OPSET,
        because="{f.op_type} at opset {f.opset}: there are kernels for Upsample at opset 7 to 9 and Resize at 10 "
        f"to {_LAST_OPSET}",
        source=_MEASURED,
        fix="import the opset the node was written for",
    ),
    Rule(
        name="attributes-of-its-opset",
        holds=lambda f: f.attributes <= (_attributes(f.op_type, f.opset) or f.attributes),
        because="an attribute that {f.op_type} has not at opset {f.opset}",
        source=f"onnx schemas; {_MEASURED}",
        fix="drop the attribute, or import the opset that has it",
    ),
    Rule(
        name="inputs-of-its-opset",
        holds=lambda f: (
            f.n_inputs in ((1,) if f.opset < 9 else (2,) if f.opset < 11 else (3, 4) if f.opset < 13 else (1, 2, 3, 4))
        ),
        because="{f.op_type} at opset {f.opset} has {f.counted_inputs}",
        source=f"onnx schemas; {_MEASURED}",
        fix="write the form of the model's opset",
    ),
    Rule(
        name="resize-11-names-its-inputs",
        holds=lambda f: not (not f.is_upsample and 11 <= f.opset < 13 and (f.roi is Roi.UNNAMED or f.unnamed_scales)),
        because="'' stands for roi or scales, which Resize-11 requires, though they may be empty tensors",
        source=f"onnx schema Resize-11; {_MEASURED}",
        fix="give an empty float32 tensor",
    ),
    Rule(
        name="extent-given",
        holds=lambda f: f.extent is not None,
        because="neither scales nor sizes have a value",
        fix="give one of them",
    ),
    Rule(
        name="one-extent",
        holds=lambda f: not f.both_extents and not f.empty_sizes,
        because="scales and sizes are both given",
        source=_MEASURED,
        fix="leave one of the two inputs out",
    ),
    Rule(
        name="mode",
        holds=lambda f: f.mode in _MODES,
        because="mode is {f.mode}; the kernel has nearest, linear, cubic",
        fix="write one of these",
    ),
    coordinate_modes(_COORDINATES, "", "write one that ONNX has"),
    Rule(
        name="nearest-mode",
        holds=lambda f: f.coordinates is None or f.mode != "nearest" or f.nearest_mode in _NEAREST_MODES,
        because="nearest_mode is {f.nearest_mode}",
        fix="write one that ONNX has",
    ),
    Rule(
        name="aspect-policy",
        holds=lambda f: f.keep_aspect_ratio_policy in ("stretch", "not_larger", "not_smaller"),
        because="keep_aspect_ratio_policy is {f.keep_aspect_ratio_policy}",
        fix="write one that ONNX has",
    ),
    Rule(
        name="policy-with-sizes",
        holds=lambda f: f.keep_aspect_ratio_policy == "stretch" or not f.by_scales,
        because="keep_aspect_ratio_policy={f.keep_aspect_ratio_policy} goes with sizes; the node has scales",
        source=f"onnx shape inference; {_MEASURED}",
        fix="drop the attribute",
    ),
    Rule(
        name="antialias-mode",
        holds=lambda f: not f.antialias or f.mode != "nearest",
        because="antialias goes with linear and cubic; mode is nearest",
        fix="drop the attribute",
    ),
    Rule(
        name="exclude-outside-mode",
        holds=lambda f: not f.exclude_outside or f.mode == "cubic" or (f.antialias and f.mode == "linear"),
        because="exclude_outside goes with cubic, or with linear and antialias; mode is {f.mode}",
        fix="drop the attribute",
    ),
    Rule(
        name="axes",
        holds=lambda f: (
            f.axes is None
            or f.rank is None
            or (
                all(-f.rank <= axis < f.rank for axis in f.axes)
                and len({axis % f.rank for axis in f.axes}) == len(f.axes)
            )
        ),
        because="axes {f.axes} of an input of rank {f.rank_name}",
        source=f"onnx shape inference; {_MEASURED}",
        fix="name each axis of the input once at most",
    ),
    Rule(
        name="fed-sizes-have-a-length",
        holds=lambda f: (
            not f.by_sizes
            or f.source is not OperandSource.INTEGER_INPUT
            or f.length is not None
            or f.operand_rank is None
            or f.rank is None
        ),
        because="the graph input that gives the sizes has no fixed length, which shape inference takes for 0",
        source=_MEASURED,
        fix="declare the input with its length",
    ),
    Rule(
        name="one-value-per-axis",
        holds=lambda f: f.length is None or f.rank is None or f.length == (len(f.axes) if f.axes else f.rank),
        because="it has {f.counted_extent} for {f.counted_axes}",
        fix="give one value per axis",
    ),
    Rule(
        name="extent-type",
        holds=lambda f: (
            f.source is OperandSource.ATTRIBUTE
            or f.operand_type in (None, TensorProto.FLOAT if f.by_scales else TensorProto.INT64)
        ),
        because="scales are float32 and sizes int64; these {f.extent_name} are {f.operand_type_name}",
        source=f"onnx schemas; {_MEASURED}",
        fix="cast them",
    ),
    Rule(
        name="scales-in-range",
        holds=lambda f: (
            not f.by_scales
            or all(0 < scale < math.inf and (scale >= 1 or not f.is_upsample) for scale in f.values or ())
        ),
        because="the scales are {f.values}; Resize takes finite ones above 0, Upsample from 1 on",
        fix="for a shrinking Upsample write Resize-10",
    ),
    Rule(
        name="output-is-countable",
        holds=lambda f: _least_count(f) < _MOST_ELEMENTS,
        because="the output would have more elements than int64 counts",
        source=f"core/framework/tensor.cc, CalculateTensorStorageSize; {_MEASURED}",
        fix="give the scales that are meant",
    ),
    Rule(
        name="sizes-in-range",
        holds=lambda f: (
            not f.by_sizes
            or f.keep_aspect_ratio_policy == "not_smaller"
            or 0 in (f.input_shape or ())
            or all(size > 0 for size in f.values or ())
        ),
        because="the sizes are {f.values}; each must be above 0",
        fix="give sizes above 0",
    ),
    Rule(
        name="input-type",
        holds=_has_type,
        because="the tensor is {f.type_name}; there are kernels for float, float16, int32, int8 and uint8, of "
        "cubic for integers only with antialias or where the last axis is the channels'",
        source=_MEASURED,
        fix=CAST,
    ),
    Rule(
        name="linear-layout",
        holds=lambda f: f.mode != "linear" or _layout(f),
        because="linear runs on rank 2 and 3, on rank 4 with the first and the second or last scale 1, on rank 5 "
        "with the first two 1. The rank is {f.rank_name}, {f.extent_name} {f.values}",
        fix="reshape or transpose around the node",
    ),
    Rule(
        name="cubic-layout",
        holds=lambda f: f.mode != "cubic" or _layout(f),
        because="cubic runs on rank 2, and on rank 4 with the first and the second or last scale 1; the rank is "
        "{f.rank_name}, {f.extent_name} {f.values}",
        fix="reshape or transpose around the node",
    ),
    Rule(
        name="crop-has-a-roi",
        holds=lambda f: not f.crops or f.roi is Roi.TENSOR,
        because="tf_crop_and_resize reads roi, which is {f.roi.value}",
        source=_MEASURED,
        fix="give the roi, two values per axis",
    ),
    differs(
        name="policy-with-negative-axes",
        holds=lambda f: f.keep_aspect_ratio_policy == "stretch" or counts_from_the_front(f),
        because="with keep_aspect_ratio_policy and the negative axes {f.axes} the kernel returns the input's size",
        fix="count the axes from the front",
    ),
)

_AS_WRITTEN = targets_of("onnxruntime", (Release("", _RELEASE),), RULES, source=_KERNEL)
# The kernel of Cast takes bfloat16, and those of Resize do not (measured).
ONNXRUNTIME = replace(_AS_WRITTEN[0], cast_types=frozenset({TensorProto.BFLOAT16}))


def as_proven(facts: SiteFacts) -> SiteFacts:
    """The facts of the node that a proof runs: of a type that is cast, the resize of its float32 values."""
    return replace(facts, elem_type=TensorProto.FLOAT) if facts.elem_type in ONNXRUNTIME.cast_types else facts
