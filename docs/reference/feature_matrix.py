"""Which target takes which resize: each row is a small model, and each cell what the rules of a target say of it.

make_reference.py puts the tables at the head of targets.md, in English and in Chinese. No cell is written by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import onnx.parser

from resizefix.interop import opened
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.catalogue import TARGETS
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.target import Effect, Target, judge

ACCEPTED, DIFFERENT, REJECTED = "✓", "≠", "✗"
_TWO = "float[4] s = {1, 1, 2, 2}"
_NEAREST = 'coordinate_transformation_mode = "asymmetric", nearest_mode = "{}"'


@dataclass(frozen=True)
class Feature:
    """One row: what it is called, and its model's nodes, inputs and constants. `x` is the image, `y` the result."""

    english: str
    chinese: str
    nodes: str
    constants: str = _TWO
    opset: int = 13
    image: str = "float[1,2,5,7]"
    also_fed: str = ""

    def model(self) -> onnx.ModelProto:
        """The model of this row."""
        kind = self.image.partition("[")[0]
        rank = self.image.count(",") + 1
        inputs = f"{self.image} x" + (f", {self.also_fed}" if self.also_fed else "")
        output = f"{kind}[{', '.join('abcdef'[:rank])}] y"
        constants = f"<{self.constants}>" if self.constants else ""
        version = f'<ir_version: 8, opset_import: ["" : {self.opset}]>'
        return onnx.parser.parse_model(f"{version} feature ({inputs}) => ({output}) {constants} {{ {self.nodes} }}")


def _resize(attributes: str, constants: str = _TWO, **more: object) -> dict[str, object]:
    return {"nodes": f'y = Resize <{attributes}> (x, "", s)', "constants": constants, **more}


def _row(english: str, chinese: str, what: dict[str, object]) -> Feature:
    return Feature(english, chinese, **what)  # type: ignore[arg-type]


def _coordinates(mode: str, coordinates: str, opset: int = 13) -> Feature:
    name = f"{mode} ×2, `{coordinates}`"
    what = _resize(f'mode = "{mode}", coordinate_transformation_mode = "{coordinates}"', opset=opset)
    return _row(name, name.replace(", ", "，"), what)


def _rounding(rounding: str) -> Feature:
    name = f"nearest ×1.5, `asymmetric`, `{rounding}`"
    what = _resize(f'mode = "nearest", {_NEAREST.format(rounding)}', "float[4] s = {1, 1, 1.5, 1.5}")
    return _row(name, name.replace(", ", "，"), what)


_LINEAR = 'mode = "linear", coordinate_transformation_mode = "half_pixel"'
_FLOOR = f'mode = "nearest", {_NEAREST.format("floor")}'
FEATURES: tuple[Feature, ...] = (
    Feature(
        "Upsample-7, nearest ×2",
        "Upsample-7，nearest ×2",
        'y = Upsample <mode = "nearest", scales = [1.0, 1.0, 2.0, 2.0]> (x)',
        "",
        7,
    ),
    Feature("Upsample-9, nearest ×2", "Upsample-9，nearest ×2", 'y = Upsample <mode = "nearest"> (x, s)', opset=9),
    Feature("Upsample-9, linear ×2", "Upsample-9，linear ×2", 'y = Upsample <mode = "linear"> (x, s)', opset=9),
    Feature("Resize-10, nearest ×2", "Resize-10，nearest ×2", 'y = Resize <mode = "nearest"> (x, s)', opset=10),
    Feature("Resize-10 without `mode`", "Resize-10，未写 `mode`", "y = Resize (x, s)", opset=10),
    Feature("Resize-10, linear ×2", "Resize-10，linear ×2", 'y = Resize <mode = "linear"> (x, s)', opset=10),
    _row("nearest ×2, `asymmetric`, `floor`", "nearest ×2，`asymmetric`，`floor`", _resize(_FLOOR)),
    *(_coordinates("nearest", one) for one in ("half_pixel", "pytorch_half_pixel", "align_corners")),
    _row(
        "nearest ×2, `tf_half_pixel_for_nn`",
        "nearest ×2，`tf_half_pixel_for_nn`",
        {
            "nodes": 'y = Resize <mode = "nearest", coordinate_transformation_mode = "tf_half_pixel_for_nn"> (x, e, s)',
            "constants": f"{_TWO}, float[0] e = {{}}",
            "opset": 11,
        },
    ),
    *map(_rounding, ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")),
    *(_coordinates("linear", one) for one in ("half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners")),
    _coordinates("linear", "half_pixel_symmetric", 19),
    _row(
        "linear, `tf_crop_and_resize`",
        "linear，`tf_crop_and_resize`",
        {
            "nodes": f'y = Resize <{_LINEAR.replace("half_pixel", "tf_crop_and_resize")}> (x, r, "", z)',
            "constants": "float[8] r = {0, 0, 0.1, 0.1, 1, 1, 0.9, 0.9}, int64[4] z = {1, 2, 6, 8}",
        },
    ),
    _coordinates("cubic", "half_pixel"),
    _row("cubic ×2, coefficient −0.5", "cubic ×2，系数 −0.5", _resize('mode = "cubic", cubic_coeff_a = -0.5')),
    _row(
        "cubic ×2, `exclude_outside`",
        "cubic ×2，`exclude_outside`",
        _resize('mode = "cubic", exclude_outside = 1'),
    ),
    _row(
        "linear ÷2, `antialias`",
        "linear ÷2，`antialias`",
        _resize(f"{_LINEAR}, antialias = 1", "float[4] s = {1, 1, 0.5, 0.5}", opset=18),
    ),
    _row(
        "linear ×1.5, a size that is not whole",
        "linear ×1.5，尺寸不是整数",
        _resize(_LINEAR, "float[4] s = {1, 1, 1.5, 1.5}"),
    ),
    _row("nearest ÷2", "nearest ÷2", _resize(_FLOOR, "float[4] s = {1, 1, 0.5, 0.5}")),
    _row("linear ÷2", "linear ÷2", _resize(_LINEAR, "float[4] s = {1, 1, 0.5, 0.5}")),
    Feature(
        "linear, constant sizes",
        "linear，常量 sizes",
        f'y = Resize <{_LINEAR}> (x, "", "", z)',
        "int64[4] z = {1, 2, 10, 14}",
    ),
    Feature(
        "linear, sizes computed from the input's shape",
        "linear，由输入的形状算出 sizes",
        f'h = Shape (x) z = Mul (h, f) y = Resize <{_LINEAR}> (x, "", "", z)',
        "int64[4] f = {1, 1, 2, 2}",
        image="float[n,2,h,w]",
    ),
    Feature(
        "linear, scales are a graph input",
        "linear，scales 是图输入",
        f'y = Resize <{_LINEAR}> (x, "", s)',
        "",
        also_fed="float[4] s",
    ),
    Feature(
        "linear, sizes are a graph input",
        "linear，sizes 是图输入",
        f'y = Resize <{_LINEAR}> (x, "", "", z)',
        "",
        also_fed="int64[4] z",
    ),
    _row(
        "linear ×2, height and width open",
        "linear ×2，高和宽不固定",
        _resize(_LINEAR, image="float[1,2,h,w]"),
    ),
    _row(
        "linear ×2, NHWC",
        "linear ×2，NHWC",
        _resize(_LINEAR, "float[4] s = {1, 2, 2, 1}", image="float[1,5,7,2]"),
    ),
    _row("nearest, channels ×2", "nearest，通道 ×2", _resize(_FLOOR, "float[4] s = {1, 2, 1, 1}")),
    _row("nearest, batch ×2", "nearest，batch ×2", _resize(_FLOOR, "float[4] s = {2, 1, 1, 1}")),
    _row(
        "linear ×2, rank 3",
        "linear ×2，三个轴",
        _resize(_LINEAR, "float[3] s = {1, 1, 2}", image="float[1,2,7]"),
    ),
    _row(
        "linear ×2, rank 5",
        "linear ×2，五个轴",
        _resize(_LINEAR, "float[5] s = {1, 1, 2, 2, 2}", image="float[1,2,3,5,7]"),
    ),
    _row(
        "linear ×2, `axes` = [2, 3]",
        "linear ×2，`axes` = [2, 3]",
        _resize(f"{_LINEAR}, axes = [2, 3]", "float[2] s = {2, 2}", opset=18),
    ),
    _row(
        "linear ×2, `axes` = [-2, -1]",
        "linear ×2，`axes` = [-2, -1]",
        _resize(f"{_LINEAR}, axes = [-2, -1]", "float[2] s = {2, 2}", opset=18),
    ),
    Feature(
        "linear, `keep_aspect_ratio_policy`",
        "linear，`keep_aspect_ratio_policy`",
        f'y = Resize <{_LINEAR}, axes = [2, 3], keep_aspect_ratio_policy = "not_larger"> (x, "", "", z)',
        "int64[2] z = {10, 10}",
        18,
    ),
    _row("linear ×2, float16", "linear ×2，float16", _resize(_LINEAR, image="float16[1,2,5,7]")),
    _row("nearest ×2, uint8", "nearest ×2，uint8", _resize(_FLOOR, image="uint8[1,2,5,7]")),
    _row("nearest ×2, int32", "nearest ×2，int32", _resize(_FLOOR, image="int32[1,2,5,7]")),
)


@cache
def cells(feature: Feature) -> list[str]:
    """What each target does with the feature's model: takes it, computes something else, or rejects it."""
    found = facts_in(ModelView(opened(feature.model())))
    effects = [{broken.effect for facts in found for broken in judge(target, facts)} for target in TARGETS]
    return [
        REJECTED if Effect.REJECTED in one else DIFFERENT if Effect.DIFFERENT in one else ACCEPTED for one in effects
    ]


def section(target: Target) -> str:
    """The anchor of the rules of a target: the releases of TensorRT share a table."""
    return "tensorrt" if target.runtime == "tensorrt" else target.name.replace(".", "")


def tables(*, chinese: bool = False) -> list[str]:
    """Two Markdown tables, with a heading each: the releases of TensorRT, and the other targets."""
    rows = [cells(feature) for feature in FEATURES]
    heads = ("TensorRT，新版本在前", "其他目标") if chinese else ("TensorRT, the newest first", "Other targets")
    text = []
    for title, is_tensorrt in zip(heads, (True, False), strict=True):
        shown = [at for at, target in enumerate(TARGETS) if (target.runtime == "tensorrt") is is_tensorrt]
        if is_tensorrt:
            shown.reverse()  # the newest first: a narrow screen shows those
        links = [f"[{TARGETS[at].name.removeprefix('tensorrt-')}](#{section(TARGETS[at])})" for at in shown]
        text.append(f"### {title}\n")
        text.append(f"| {'特性' if chinese else 'feature'} | {' | '.join(links)} |\n|---|{':-:|' * len(shown)}")
        for feature, row in zip(FEATURES, rows, strict=True):
            name = feature.chinese if chinese else feature.english
            text.append(f"| {name} | {' | '.join(row[at] for at in shown)} |")
        text.append("")
    return text
