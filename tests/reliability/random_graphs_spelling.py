"""Draws one Upsample/Resize node: a dialect's attributes and an extent that onnxruntime's kernels take, mostly.

What a kernel refuses is drawn now and then all the same: such a model must be refused, or proven around the node.
"""

import random
from dataclasses import dataclass, field

import numpy as np

SCALES = (2.0, 2.0, 2.0, 3.0, 4.0, 1.0, 1.5, 2.5, 1.8, 1.25, 7 / 3, 0.5, 0.5, 0.25, 1 / 3, 0.75, 0.6)
COORDINATES = (
    "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize",
)  # fmt: skip
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
# Of X, by mode; float64, int64 and others have no kernel.
DTYPES = {
    "nearest": (*("float32",) * 10, "float16", "float16", "int8", "uint8", "uint8", "int32", "float64", "int64"),
    "linear": (*("float32",) * 10, "float16", "float16", "int8", "uint8", "uint8", "int32", "float64"),
    "cubic": (*("float32",) * 6, "float16", "float16", "float64"),
}
RANKS = {"nearest": (1, 2, 3, 4, 4, 4, 5), "linear": (2, 3, 4, 4, 4, 5), "cubic": (2, 4, 4, 4)}


@dataclass(frozen=True)
class Spelling:
    """One node to be: `values` are scales or sizes (`kind`), one for each of `axes` (None: for each axis of X)."""

    op_type: str
    opset: int
    kind: str
    values: tuple[float, ...] | tuple[int, ...]
    attributes: dict[str, object] = field(default_factory=dict)
    axes: tuple[int, ...] | None = None
    roi: tuple[float, ...] | None = None

    @property
    def policy(self) -> bool:
        """Whether the sizes of the output are not those that stand there."""
        return "keep_aspect_ratio_policy" in self.attributes and self.kind == "sizes"

    def output_dims(self, dims: tuple[int, ...]) -> tuple[int, ...] | None:
        """The output's sizes by the rule of onnxruntime's kernel; None where a policy makes them."""
        if self.policy:
            return None
        out = list(dims)
        for axis, value in zip(self.axes or range(len(dims)), self.values, strict=True):
            size = dims[axis]
            out[axis] = int(np.float32(value) * np.float32(size)) if self.kind == "scales" else int(value)
        return tuple(out)


def draw_mode(rng: random.Random, opset: int) -> str:
    return rng.choice(("nearest", "linear", "cubic") if opset >= 11 else ("nearest", "linear"))


def draw_spelling(rng: random.Random, opset: int, mode: str, dims: tuple[int, ...], kinds: tuple[str, ...]) -> Spelling:
    """A node of the dialect that `opset` has, for an X of these sizes; `kinds` are those that may be drawn."""
    rank = len(dims)
    op_type = "Resize" if opset >= 10 else "Upsample"
    kind = rng.choice(kinds) if opset >= 11 else "scales"
    moving = _moving(rng, mode, rank)
    scales = [rng.choice(SCALES) if axis in moving else 1.0 for axis in range(rank)]
    if op_type == "Upsample":
        scales = [max(1.0, scale) for scale in scales]
    if rng.random() < 0.5:  # as most are: one number
        first = scales[moving[0]]
        scales = [first if axis in moving else 1.0 for axis in range(rank)]
    attributes: dict[str, object] = {} if mode == "nearest" and rng.random() < 0.3 else {"mode": mode}
    if opset < 11:
        return Spelling(op_type, opset, "scales", tuple(scales), attributes)
    attributes |= _attributes(rng, opset, mode)
    roi = _roi(rng, moving, rank) if attributes.get("coordinate_transformation_mode") == COORDINATES[-1] else None
    values: list[float] | list[int] = scales
    if kind == "sizes":
        values = [max(1, int(size * scale)) for size, scale in zip(dims, scales, strict=True)]
        if rng.random() < 0.3:
            values = [rng.randint(1, 11) if axis in moving else size for axis, size in enumerate(dims)]
    axes = None
    if opset >= 18 and rng.random() < 0.35:
        axes = tuple(axis if rng.random() < 0.75 else axis - rank for axis in rng.sample(moving, len(moving)))
        attributes["axes"] = list(axes)
        values = [values[axis] for axis in axes]
        roi = None if roi is None else tuple(roi[axis % rank + end * rank] for end in (0, 1) for axis in axes)
    if opset >= 18 and kind == "sizes" and rng.random() < 0.2:
        attributes["keep_aspect_ratio_policy"] = rng.choice(("stretch", "not_larger", "not_smaller"))
        if attributes["keep_aspect_ratio_policy"] == "stretch":
            del attributes["keep_aspect_ratio_policy"]
    return Spelling(op_type, opset, kind, tuple(values), attributes, axes, roi)


def _moving(rng: random.Random, mode: str, rank: int) -> list[int]:
    """The axes that are scaled: where images have theirs; for nearest, and rarely for all, any others."""
    usual = list(range(max(0, rank - (3 if rank == 5 else 2)), rank))
    if mode == "linear" and rank == 4 and rng.random() < 0.15:
        return [1, 2]
    if (mode == "nearest" and rng.random() < 0.2) or rng.random() < 0.03:
        return sorted(rng.sample(range(rank), rng.randint(1, rank)))
    return usual[-1:] if rng.random() < 0.1 else usual


def _attributes(rng: random.Random, opset: int, mode: str) -> dict[str, object]:
    found: dict[str, object] = {}
    if rng.random() < 0.75:
        modes = (*COORDINATES[:4], *COORDINATES, *(("half_pixel_symmetric",) * 2 if opset >= 19 else ()))
        found["coordinate_transformation_mode"] = rng.choice(modes)
    if mode == "nearest" and rng.random() < 0.7:
        found["nearest_mode"] = rng.choice(ROUNDINGS)
    if mode == "cubic" and rng.random() < 0.4:
        found["cubic_coeff_a"] = rng.choice((-0.5, -0.75, -0.6))
    if mode != "nearest" and opset >= 18 and rng.random() < 0.3:
        found["antialias"] = rng.choice((0, 1, 1))
    if mode == "cubic" and rng.random() < 0.3:
        found["exclude_outside"] = 1
    if found.get("coordinate_transformation_mode") == COORDINATES[-1] and rng.random() < 0.5:
        found["extrapolation_value"] = rng.choice((0.0, 10.0, -1.5))
    return found


def _roi(rng: random.Random, moving: list[int], rank: int) -> tuple[float, ...]:
    starts = [rng.choice((0.0, 0.1, 0.4, -0.2)) if axis in moving else 0.0 for axis in range(rank)]
    ends = [rng.choice((1.0, 0.6, 0.9, 1.2)) if axis in moving else 1.0 for axis in range(rank)]
    return (*starts, *ends)
