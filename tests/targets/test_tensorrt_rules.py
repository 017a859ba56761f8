"""Every rule of every TensorRT target, broken by an example and kept by the nearest one that it allows."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from nodes import NODES, RESIZE_10, RESIZE_11, SIZED_11, UPSAMPLE_7, UPSAMPLE_9, changed
from onnx import TensorProto

from resizefix.interpolation import ExtentKind
from resizefix.targets.facts import OperandSource as S
from resizefix.targets.facts import SiteFacts
from resizefix.targets.target import Effect, Target, accepted, judge
from resizefix.targets.tensorrt import TENSORRT_TARGETS

# Which of four ordinary nodes each generation takes (nearest, ×2 on H and W), from its importer's source.
TAKES = {
    "tensorrt-5.0": {"Upsample-7"},
    "tensorrt-5.1": {"Upsample-7", "Upsample-9"},
    "tensorrt-6.0": {"Upsample-9", "Resize-10"},
    "tensorrt-8.0": {"Upsample-7", "Upsample-9", "Resize-11"},  # 8.0.1 samples nearest Resize-10 as align_corners
}


@pytest.mark.parametrize("target", TENSORRT_TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("name", NODES)
def test_a_generation_takes_the_forms_it_has_an_importer_for(target, name):
    assert accepted(judge(target, NODES[name])) == (name in TAKES.get(target.name, NODES))


@dataclass(frozen=True)
class Example:
    """`base` with `broken` breaks the rule; with `kept` it does not, in any target that has a rule of that name."""

    rule: str
    base: SiteFacts
    broken: dict[str, Any]
    kept: dict[str, Any] = field(default_factory=dict)


TWICE = (1.0, 1.0, 2.0, 2.0)
LINEAR_11 = changed(RESIZE_11, mode="linear", coordinate_transformation_mode="half_pixel")
CUBIC_11 = changed(LINEAR_11, mode="cubic")
TF_11 = changed(RESIZE_11, coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode="round_prefer_floor")
AXES_18 = changed(RESIZE_11, opset=18, axes=(2, 3), values=(2.0, 2.0), length=2)
SIZES_18 = changed(SIZED_11, opset=18, axes=(2, 3), values=(16.0, 16.0), length=2)

EXAMPLES = [
    # 5.0, 5.1
    Example("upsample-alone", RESIZE_10, {}, {"op_type": "Upsample"}),
    Example("scales-attribute", UPSAMPLE_7, {"attributes": frozenset({"mode"})},
        {"attributes": {"height_scale", "width_scale"}}),
    Example("scales-leave-batch-and-channels", UPSAMPLE_7, {"values": (1.0, 2.0, 2.0, 2.0)},
        {"values": (1.0, 1.0, 3.0, 2.0)}),
    Example("scales-leave-batch-and-channels", UPSAMPLE_7, {"values": (1.0, 1.0, 2.0)}),
    Example("rank-4", UPSAMPLE_7, {"rank": 5}, {"rank": 4}),
    Example("initializers-are-inputs", UPSAMPLE_7, {"initializers_are_inputs": False},
        {"initializers_are_inputs": True}),
    # 6.0
    Example("exactly-two-inputs", RESIZE_10, {"n_inputs": 3}, {"n_inputs": 2}),
    Example("exactly-two-inputs", UPSAMPLE_7, {}, {"opset": 9, "n_inputs": 2}),
    Example("batch-is-not-scaled", RESIZE_10, {"values": (2.0, 1.0, 2.0, 2.0)}, {"values": (1.0, 2.0, 2.0, 2.0)}),
    Example("upsample-rank", UPSAMPLE_9, {"rank": 3}, {"rank": 5}),
    # what the node names
    Example("extent-given", RESIZE_11, {"extent": None, "source": S.ABSENT}),
    Example("upsample-form-of-its-opset", UPSAMPLE_9, {"n_inputs": 1, "source": S.ABSENT}, {"n_inputs": 2}),
    Example("upsample-not-hybrid", UPSAMPLE_7, {"opset": 9}, {"opset": 8}),
    Example("upsample-not-hybrid", UPSAMPLE_7, {"opset": 9}, {"opset": 9, "n_inputs": 2}),
    Example("hybrid-is-taken-here-alone", UPSAMPLE_7, {"opset": 10}, {"opset": 8}),
    Example("upsample-form-of-its-opset", UPSAMPLE_7, {"source": S.INITIALIZER, "n_inputs": 2}, {"n_inputs": 2}),
    Example("resize-10-scales-input", RESIZE_10, {"n_inputs": 1}, {"n_inputs": 2}),
    Example("no-trailing-empty-input", RESIZE_11, {"trailing_empty_input": True, "n_inputs": 4}, {"n_inputs": 3}),
    Example("no-empty-sizes-beside-scales", RESIZE_11, {"empty_sizes": True, "n_inputs": 4}, {"n_inputs": 3}),
    Example("no-empty-constant-node", RESIZE_11, {"empty_constant": True}),
    # the extent
    Example("scales-are-weights", RESIZE_10, {"source": S.FOLDED}, {"source": S.CONSTANT}),
    Example("scales-are-weights", RESIZE_11, {"source": S.SHAPE}, {"source": S.INITIALIZER_AND_INPUT}),
    Example("scales-are-weights", RESIZE_11, {"source": S.CONSTANT_LIST}),
    Example("extent-is-a-vector", UPSAMPLE_9, {"operand_rank": 2}, {"operand_rank": 1}),
    Example("one-value-per-axis", UPSAMPLE_9, {"length": 2}, {"length": 4}),
    Example("one-value-per-axis", AXES_18, {"length": 4}, {"length": 2}),
    Example("upsample-scales-are-float32", UPSAMPLE_9, {"operand_type": TensorProto.FLOAT16}),
    Example("resize-scales-are-float32", RESIZE_10, {"operand_type": TensorProto.FLOAT16}),
    Example("extent-is-not-negative", RESIZE_11, {"values": (1.0, 1.0, -1.0, 2.0)}, {"values": (1.0, 1.0, 0.0, 2.0)}),
    Example("extent-is-not-negative", RESIZE_11, {"values": (1.0, 1.0, float("nan"), 2.0)}),
    Example("extent-not-from-data", SIZED_11, {"source": S.DATA}, {"source": S.SHAPE}),
    Example("runtime-extent-is-integer", SIZED_11, {"source": S.OTHER_INPUT}, {"source": S.INTEGER_INPUT}),
    Example("tensor-scales-are-float", RESIZE_11,
        {"source": S.INTEGER_INPUT, "operand_type": TensorProto.INT64, "values": None},
        {"source": S.INTEGER_INPUT_COMPUTED, "values": None}),
    Example("tensor-scales-are-float", RESIZE_11, {"source": S.FOLDED, "operand_type": TensorProto.FLOAT16}),
    Example("tensor-sizes-are-integers", SIZED_11, {"source": S.SHAPE, "operand_type": TensorProto.FLOAT},
        {"source": S.SHAPE, "operand_type": TensorProto.INT32}),
    Example("extent-is-not-float16", RESIZE_11, {"operand_type": TensorProto.FLOAT16},
        {"operand_type": TensorProto.DOUBLE}),
    Example("fed-extent-has-a-length", SIZED_11, {"source": S.INTEGER_INPUT, "length": None},
        {"source": S.INTEGER_INPUT}),
    Example("fed-extent-has-a-length", SIZED_11, {"source": S.INTEGER_INPUT_COMPUTED, "length": None}),
    Example("length-is-seen-equal", RESIZE_11, {"source": S.SHAPE, "hidden_at": "add"}, {"source": S.SHAPE}),
    Example("no-float-quotient", RESIZE_11, {"source": S.INTEGER_INPUT_DIVIDED}, {"source": S.INTEGER_INPUT_COMPUTED}),
    Example("sizes-not-in-value-ints", SIZED_11, {"source": S.CONSTANT_LIST}, {"source": S.CONSTANT}),
    Example("default-becomes-constant", RESIZE_11, {"source": S.INITIALIZER_AND_INPUT}),
    Example("default-becomes-constant", UPSAMPLE_9, {"source": S.INITIALIZER_AND_INPUT, "ir_version": 4}),
    Example(
        "tensor-scales-sample-by-size",
        RESIZE_11,
        {"source": S.FOLDED, "values": (1.0, 1.0, 1.3, 1.3)},
        {"source": S.FOLDED, "values": (1.0, 1.0, 1.25, 1.25)},  # 8 · 1.25 = 10
    ),
    Example("tensor-scales-sample-by-size", RESIZE_11,
        {"source": S.FOLDED, "values": (1.0, 1.0, 1.25, 1.25), "input_shape": (1, 3, None, None)},
        {"source": S.INITIALIZER, "values": (1.0, 1.0, 1.3, 1.3)}),
    # modes
    Example("upsample-mode", UPSAMPLE_7, {"mode": "cubic"}, {"mode": "nearest"}),
    Example("resize-mode", RESIZE_10, {"mode": "bilinear"}, {"mode": "linear"}),
    Example("not-cubic", CUBIC_11, {}, {"mode": "linear"}),
    Example("other-modes-become-linear", RESIZE_10, {"mode": "cubic"}, {"mode": "linear"}),
    Example("other-modes-become-linear", RESIZE_11, {"mode": "bilinear"}, {"mode": "cubic"}),
    Example("nearest-mode-floor", RESIZE_11, {"nearest_mode": "round_prefer_floor"}, {"nearest_mode": "floor"}),
    Example("nearest-mode-floor", RESIZE_11, {"nearest_mode": "ceil"}, {"nearest_mode": "ceil", "mode": "linear"}),
    Example("coordinate-transformation-mode", RESIZE_11, {"coordinate_transformation_mode": "half_pixel_symmetric"}),
    Example("coordinate-transformation-mode", RESIZE_11, {"coordinate_transformation_mode": "tf_crop_and_resize"}),
    Example("upsample-linear-rank", changed(UPSAMPLE_7, mode="linear"), {"rank": 4}, {"rank": 3}),
    Example("linear-upsample-becomes-half-pixel", UPSAMPLE_7, {"mode": "linear"}),
    Example("pytorch-half-pixel-to-one-pixel", changed(LINEAR_11, coordinate_transformation_mode="pytorch_half_pixel"),
        {"output_shape": (1, 3, 1, 16)}, {"output_shape": (1, 1, 16, 16)}),
    Example("pytorch-half-pixel-to-one-pixel", changed(LINEAR_11, coordinate_transformation_mode="pytorch_half_pixel"),
        {"output_shape": None, "values": (1.0, 1.0, 0.125, 1.0)},
        {"output_shape": None, "values": (1.0, 1.0, 0.25, 1.0)}),
    Example("coordinates-survive-align-corners", LINEAR_11, {"coordinate_transformation_mode": "asymmetric"}),
    Example("coordinates-survive-align-corners", SIZED_11, {}, {"extent": ExtentKind.SCALES}),
    Example("coordinates-survive-align-corners", RESIZE_10, {"mode": "linear"}),
    Example("coordinates-for-mode-and-extent", RESIZE_11, {"coordinate_transformation_mode": "align_corners"}),
    Example("coordinates-for-mode-and-extent", SIZED_11, {"coordinate_transformation_mode": "half_pixel"},
        {"coordinate_transformation_mode": "align_corners"}),
    Example("coordinates-for-mode-and-extent", changed(SIZED_11, mode="linear"),
        {"coordinate_transformation_mode": "asymmetric"}, {"coordinate_transformation_mode": "pytorch_half_pixel"}),
    Example("tf-half-pixel-rounding", TF_11, {"nearest_mode": "floor"}),
    Example("tf-half-pixel-is-for-nearest", TF_11, {"mode": "linear"}),
    Example("tf-half-pixel-by-scales", TF_11, {"extent": ExtentKind.SIZES}),
    Example("nearest-resize-10", RESIZE_10, {}, {"mode": "linear"}),
    Example("nearest-resize-10", RESIZE_10, {}, {"opset": 11}),
    Example("shrinking-nearest-rounds-up", RESIZE_10, {"values": (1.0, 1.0, 0.3, 0.3)},
        {"values": (1.0, 1.0, 0.25, 1.7)}),
    Example("shrinking-nearest-rounds-up", UPSAMPLE_7, {"values": (1.0, 1.0, 2.0, 0.75)}, {"mode": "linear"}),
    # axes and ranks
    Example("rank", RESIZE_11, {"rank": 9}, {"rank": 8}),
    Example("rank", RESIZE_11, {"rank": 0}, {"rank": 1}),
    Example("linear-last-three-axes", LINEAR_11, {"values": (2.0, 1.0, 2.0, 2.0)}, {"values": (1.0, 2.0, 2.0, 2.0)}),
    Example("linear-last-three-axes", changed(SIZED_11, mode="linear", coordinate_transformation_mode="half_pixel"),
        {"values": (2.0, 3.0, 16.0, 16.0)}, {"values": (2.0, 3.0, 16.0, 16.0), "input_shape": (None, 3, 8, 8)}),
    Example("linear-by-a-tensor-is-not-checked", changed(LINEAR_11, source=S.FOLDED), {"values": (2.0, 1.0, 2.0, 2.0)},
        {"values": (1.0, 2.0, 2.0, 2.0)}),
    Example("cubic-last-two-axes", CUBIC_11, {"values": (1.0, 2.0, 2.0, 2.0)}, {"values": TWICE}),
    Example("cubic-elsewhere-is-not-checked",
        changed(SIZED_11, mode="cubic", coordinate_transformation_mode="half_pixel"),
        {"values": (1.0, 6.0, 16.0, 16.0)}, {"values": (1.0, 3.0, 16.0, 16.0)}),
    Example("cubic-elsewhere-is-not-checked", changed(AXES_18, mode="cubic"), {"axes": (0, 1)}, {"axes": (2, 3)}),
    Example("axes-ignored", AXES_18, {}, {"axes": (0, 1, 2, 3), "values": TWICE, "length": 4}),
    Example("axes-ignored", changed(RESIZE_11, opset=18), {"axes": (1, 0, 2, 3)}, {"axes": None}),
    Example("axes-are-unique", AXES_18, {"axes": (2, -2)}, {"axes": (2, -1)}),
    Example("axes-are-unique", AXES_18, {"axes": (2, 2)}, {"axes": (2, 6)}),
    Example("axes-of-the-input", AXES_18, {"axes": (2, 5)}, {"axes": (2, 3)}),
    Example("axes-of-the-input", SIZES_18, {"axes": (-5, 3)}, {"axes": (-4, 3)}),
    Example("axes-of-the-input", AXES_18, {"axes": (2, 9)}, {"axes": (2, 9), "rank": None, "input_shape": None}),
    Example("axis-behind-the-last", AXES_18, {"axes": (2, 4)}, {"axes": (2, -1)}),
    Example("axis-behind-the-last", SIZES_18, {"axes": (2, 4)}, {"axes": (2, 4), "rank": None, "input_shape": None}),
    Example("axes-with-tensor-scales", AXES_18, {"source": S.INTEGER_INPUT_COMPUTED}, {"source": S.CONSTANT_LIST}),
    Example("axes-with-tensor-scales", AXES_18, {"source": S.FOLDED},
        {"source": S.FOLDED, "axes": (0, 1, 2, 3), "values": TWICE, "length": 4}),
    Example("axes-with-constant-sizes", SIZES_18, {"input_shape": (None, 3, 8, 8)},
        {"input_shape": (1, 3, None, None)}),
    Example("axes-with-constant-sizes", SIZES_18, {"input_shape": (None, 3, 8, 8)},
        {"input_shape": (None, 3, 8, 8), "source": S.INTEGER_INPUT, "values": None}),
    # attributes of Resize-18
    Example("antialias-ignored", RESIZE_11, {"antialias": True}),
    Example("no-antialias", RESIZE_11, {"antialias": True}),
    Example("aspect-policy-ignored", SIZED_11, {"keep_aspect_ratio_policy": "not_larger"}),
    Example("aspect-policy-stretch", RESIZE_11, {"keep_aspect_ratio_policy": "not_smaller"}),
    # types and places
    Example("input-type", UPSAMPLE_9, {"elem_type": TensorProto.UINT8}, {"elem_type": TensorProto.FLOAT16}),
    Example("double-computed-as-float", RESIZE_11, {"elem_type": TensorProto.DOUBLE}),
    Example("int8-from-1.5", RESIZE_11, {"elem_type": TensorProto.INT8}),
    Example("body-is-imported", RESIZE_11, {"enclosing": frozenset({"function"})}),
    Example("fed-extent-not-in-an-if", SIZED_11, {"source": S.INTEGER_INPUT_COMPUTED, "enclosing": frozenset({"If"})},
        {"source": S.SHAPE, "enclosing": frozenset({"If"})}),
    Example("fed-extent-not-in-an-if", SIZED_11, {"source": S.INTEGER_INPUT, "enclosing": frozenset({"If", "Loop"})}),
    Example("loop-keeps-shapes", RESIZE_11, {"enclosing": frozenset({"Loop"})},
        {"enclosing": frozenset({"Loop"}), "values": (1.0, 1.0, 1.0, 1.0)}),
    Example("loop-keeps-shapes", RESIZE_11, {"enclosing": frozenset({"If", "Loop"})}, {"enclosing": frozenset({"If"})}),
]  # fmt: skip


def broken(target: Target, facts: SiteFacts) -> set[str]:
    return {violation.rule for violation in judge(target, facts)}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.rule)
def test_a_rule_is_broken_by_its_example_and_kept_just_outside(example):
    holders = [target for target in TENSORRT_TARGETS if any(rule.name == example.rule for rule in target.rules)]
    assert holders
    for target in holders:
        assert example.rule in broken(target, changed(example.base, **example.broken)), target.name
        assert example.rule not in broken(target, changed(example.base, **example.kept)), target.name


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.rule)
def test_no_violation_speaks_of_none_to_a_user(example):
    facts = changed(example.base, **example.broken)
    said = [violation for target in TENSORRT_TARGETS for violation in judge(target, facts)]
    assert not [violation for violation in said if "None" in f"{violation.because} {violation.fix}"]


def test_every_rule_of_every_target_has_an_example():
    names = {rule.name for target in TENSORRT_TARGETS for rule in target.rules}
    assert {example.rule for example in EXAMPLES} == names


def test_tensorrt_8_0_takes_value_floats_from_opset_12_on_and_7_2_never():
    by_name = {target.name: target for target in TENSORRT_TARGETS}
    listed = changed(RESIZE_11, source=S.CONSTANT_LIST)
    assert "scales-are-weights" in broken(by_name["tensorrt-8.0"], listed)
    assert "scales-are-weights" not in broken(by_name["tensorrt-8.0"], changed(listed, opset=12))
    assert "scales-are-weights" in broken(by_name["tensorrt-7.2"], changed(listed, opset=12))


COORDINATES = {
    "tensorrt-7.0": {"asymmetric"},
    "tensorrt-7.1": {"asymmetric", "align_corners", "half_pixel", "pytorch_half_pixel"},
    "tensorrt-7.2": {"asymmetric", "align_corners", "half_pixel", "pytorch_half_pixel"},
}
FROM_8_0 = {"asymmetric", "align_corners", "half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn"}
ALL_COORDINATES = FROM_8_0 | {"half_pixel_symmetric", "tf_crop_and_resize"}


@pytest.mark.parametrize("target", TENSORRT_TARGETS[3:], ids=lambda target: target.name)
def test_the_coordinate_modes_of_each_generation_with_resize_11(target):
    taken = {
        mode
        for mode in ALL_COORDINATES
        if "coordinate-transformation-mode" not in broken(target, changed(TF_11, coordinate_transformation_mode=mode))
    }
    assert taken == COORDINATES.get(target.name, FROM_8_0)


TYPES = {
    **dict.fromkeys(("tensorrt-5.0", "tensorrt-5.1"), "FLOAT FLOAT16"),
    **dict.fromkeys(("tensorrt-7.1", "tensorrt-7.2"), "FLOAT FLOAT16 INT8"),
    **dict.fromkeys(("tensorrt-8.0", "tensorrt-8.4", "tensorrt-8.5"), "FLOAT FLOAT16 INT8 DOUBLE"),
    **dict.fromkeys(("tensorrt-9", "tensorrt-10", "tensorrt-rtx"), "FLOAT FLOAT16 INT8 DOUBLE BFLOAT16"),
}


@pytest.mark.parametrize("target", [t for t in TENSORRT_TARGETS if t.name in TYPES], ids=lambda target: target.name)
def test_the_element_types_of_each_generation(target):
    names = ["FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE", "INT8", "UINT8", "INT16", "UINT16", "INT32", "INT64", "BOOL"]
    taken = [
        name
        for name in names
        if "input-type" not in broken(target, changed(UPSAMPLE_9, elem_type=TensorProto.DataType.Value(name)))
    ]
    assert set(taken) == set(TYPES[target.name].split())


UPSAMPLE_MODES = {
    **{key: {"nearest"} for key in ("tensorrt-5.0", "tensorrt-5.1")},
    **{key: {"nearest", "linear", "bilinear"} for key in ("tensorrt-8.4", "tensorrt-8.5", "tensorrt-9")},
    **{key: {"nearest", "linear", "bilinear"} for key in ("tensorrt-10", "tensorrt-rtx")},
}


@pytest.mark.parametrize("target", TENSORRT_TARGETS, ids=lambda target: target.name)
def test_the_modes_that_each_generation_takes_at_upsample(target):
    modes = ("nearest", "linear", "bilinear", "cubic")
    taken = {mode for mode in modes if "upsample-mode" not in broken(target, changed(UPSAMPLE_9, mode=mode))}
    assert taken == UPSAMPLE_MODES.get(target.name, {"nearest", "linear"})


ENTERS: dict[str, set[str]] = {
    **{key: set() for key in ("tensorrt-5.0", "tensorrt-5.1", "tensorrt-6.0")},
    **{key: {"Loop", "Scan"} for key in ("tensorrt-7.0", "tensorrt-7.1", "tensorrt-7.2")},
    **{key: {"Loop", "Scan", "If"} for key in ("tensorrt-8.0", "tensorrt-8.4", "tensorrt-8.5")},
    **{key: {"Loop", "Scan", "If", "function"} for key in ("tensorrt-9", "tensorrt-10", "tensorrt-rtx")},
}


@pytest.mark.parametrize("target", TENSORRT_TARGETS, ids=lambda target: target.name)
def test_the_bodies_that_each_generation_enters(target):
    bodies = ("If", "Loop", "Scan", "function")
    entered = {
        body
        for body in bodies
        if "body-is-imported" not in broken(target, changed(UPSAMPLE_9, enclosing=frozenset({body})))
    }
    assert entered == ENTERS[target.name]


def test_what_is_taken_in_silence_and_comes_out_otherwise_is_marked_as_different():
    different = {rule.name for target in TENSORRT_TARGETS for rule in target.rules if rule.effect is Effect.DIFFERENT}
    assert different == {
        "antialias-ignored", "aspect-policy-ignored", "axes-ignored", "axis-behind-the-last", "batch-is-not-scaled",
        "coordinates-survive-align-corners", "cubic-elsewhere-is-not-checked", "extent-is-not-float16",
        "linear-by-a-tensor-is-not-checked", "linear-upsample-becomes-half-pixel", "nearest-resize-10",
        "other-modes-become-linear", "resize-scales-are-float32", "shrinking-nearest-rounds-up",
        "sizes-not-in-value-ints", "tensor-scales-sample-by-size", "tf-half-pixel-is-for-nearest",
    }  # fmt: skip
