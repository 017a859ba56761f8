"""Nodes as files hold them, and what they mean, or why they mean nothing."""

import pytest
from onnx import AttributeProto, helper, parser

from resizefix.diagnostics import RefusedError
from resizefix.dialects.dialect import Operands, dialect_of
from resizefix.dialects.read import read
from resizefix.interpolation import (
    CoordinateTransformationMode,
    Interpolation,
    KeepAspectRatioPolicy,
    Mode,
    NearestMode,
)

ASYMMETRIC = CoordinateTransformationMode.ASYMMETRIC
HALF_PIXEL = CoordinateTransformationMode.HALF_PIXEL


def read_text(text, opset):
    node = parser.parse_node(text)
    node.name = "up"
    return read(node, dialect_of(node.op_type, opset))


def test_upsample_1_scales_the_height_and_width():
    reading = read_text('y = Upsample <mode = "bilinear", height_scale = 2.0, width_scale = 3.0> (x)', 6)
    assert reading.interpolation == Interpolation(Mode.LINEAR, ASYMMETRIC)
    assert reading.operands == Operands("x", scales_attribute=(1.0, 1.0, 2.0, 3.0))


def test_upsample_7_holds_its_scales_as_an_attribute():
    reading = read_text("y = Upsample <scales = [1.0, 1.0, 2.0, 2.5]> (x)", 8)
    assert reading.interpolation == Interpolation(Mode.NEAREST, ASYMMETRIC, NearestMode.SIMPLE)
    assert reading.operands == Operands("x", scales_attribute=(1.0, 1.0, 2.0, 2.5))


@pytest.mark.parametrize(("op", "opset"), [("Upsample", 9), ("Resize", 10)])
def test_upsample_9_and_resize_10_mean_the_same(op, opset):
    reading = read_text(f"y = {op} (x, s)", opset)
    assert reading.interpolation == Interpolation(Mode.NEAREST, ASYMMETRIC, NearestMode.SIMPLE)
    assert reading.operands == Operands("x", scales="s")


def test_legacy_linear_is_asymmetric_linear():
    modern = read_text('y = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> (x, r, s)', 11)
    legacy = read_text('y = Upsample <mode = "linear"> (x, s)', 9)
    assert legacy.interpolation == modern.interpolation == Interpolation(Mode.LINEAR, ASYMMETRIC)


@pytest.mark.parametrize("opset", [11, 13, 18, 19])
def test_the_defaults_of_the_spec_are_applied(opset):
    assert read_text("y = Resize (x, r, s)", opset).interpolation == Interpolation(
        Mode.NEAREST, HALF_PIXEL, NearestMode.ROUND_PREFER_FLOOR
    )
    assert read_text('y = Resize <mode = "cubic"> (x, r, s)', opset).interpolation == Interpolation(
        Mode.CUBIC, HALF_PIXEL, cubic_coeff_a=-0.75
    )
    crop = '<mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize">'
    assert read_text(f"y = Resize {crop} (x, r, s)", opset).interpolation.extrapolation_value == 0.0


def test_attributes_the_mode_does_not_read_make_no_difference():
    plain = read_text('y = Resize <mode = "linear"> (x, , s)', 19)
    busy = read_text(
        'y = Resize <mode = "linear", nearest_mode = "ceil", cubic_coeff_a = -0.5, exclude_outside = 1, '
        'extrapolation_value = 3.0, keep_aspect_ratio_policy = "not_larger", antialias = 0> (x, , s)',
        19,
    )
    assert busy == plain
    nearest = read_text("y = Resize <antialias = 1, exclude_outside = 1> (x, , s)", 19)
    assert nearest == read_text("y = Resize (x, , s)", 19)


def test_attributes_the_mode_reads_do_make_a_difference():
    cubic = read_text('y = Resize <mode = "cubic", exclude_outside = 1, cubic_coeff_a = -0.5> (x, , s)', 13)
    assert cubic.interpolation == Interpolation(Mode.CUBIC, HALF_PIXEL, cubic_coeff_a=-0.5, exclude_outside=True)
    smooth = read_text('y = Resize <mode = "linear", antialias = 1, exclude_outside = 1, axes = [2, -1]> (x, , s)', 18)
    assert smooth.interpolation == Interpolation(
        Mode.LINEAR, HALF_PIXEL, exclude_outside=True, antialias=True, axes=(2, -1)
    )
    kept = read_text('y = Resize <keep_aspect_ratio_policy = "not_smaller"> (x, , , z)', 18)
    assert kept.interpolation.keep_aspect_ratio_policy is KeepAspectRatioPolicy.NOT_SMALLER
    assert kept.operands == Operands("x", sizes="z")


def test_both_scales_and_sizes_stay_named():
    assert read_text("y = Resize (x, r, s, z)", 13).operands == Operands("x", "r", "s", "z")


COORDINATES = "coordinate_transformation_mode"
BILINEAR = "mode is 'bilinear'; Resize-10 has nearest, linear. Write 'lin"
FROM_11 = "which Resize-10 does not have. Resize-11, Resize-13"
REFUSALS = [
    ("Resize", 10, '<mode = "bilinear"> (x, s)', "mode", BILINEAR),
    ("Upsample", 1, '<mode = "linear", height_scale = 2.0, width_scale = 2.0> (x)', "mode", "Write 'bilinear'"),
    ("Upsample", 9, '<mode = "cubic"> (x, s)', "mode", "use a Resize-11 node for it"),
    ("Resize", 11, '<mode = "bicubic"> (x, r, s)', "mode", "Write 'cubic'"),
    ("Resize", 11, '<mode = "area"> (x, r, s)', "mode", "has nearest, linear, cubic"),
    ("Upsample", 9, "<scales = [1.0, 1.0, 2.0, 2.0]> (x)", "hybrid", "as Upsample-7 does"),
    ("Upsample", 8, "(x, s)", "hybrid", "two inputs of Upsample-9"),
    ("Upsample", 6, "<scales = [1.0, 1.0, 2.0, 2.0]> (x, s)", "hybrid", "two inputs of Upsample-9"),
    ("Upsample", 7, "<height_scale = 2.0, width_scale = 2.0> (x)", "hybrid", "Write them as scales"),
    ("Upsample", 7, "(x)", "attribute", "'scales' is missing; Upsample-7 requires it"),
    ("Upsample", 6, "<height_scale = 2.0> (x)", "attribute", "'width_scale' is missing"),
    ("Upsample", 7, "<scales = [1.0, 1.0, 0.5, 2.0]> (x)", "scales", "not all ≥ 1 and finite, as Upsample-7"),
    ("Upsample", 1, "<height_scale = 0.999, width_scale = 2.0> (x)", "scales", "not all ≥ 1"),
    ("Upsample", 9, "(x)", "inputs", "the input scales is missing; Upsample-9 requires it"),
    ("Resize", 11, "(x, , s)", "inputs", "the input roi is missing; Resize-11 requires it. Give it an empty tensor"),
    ("Resize", 11, "(x, r, , z)", "inputs", "the input scales is missing"),
    ("Resize", 13, "(x, r)", "inputs", "neither scales nor sizes is given"),
    ("Resize", 13, "( , , s)", "inputs", "the input X is missing"),
    ("Resize", 10, "(x, r, s, z)", "inputs", r"it has 4 inputs; Resize-10 has \(X, scales\)"),
    ("Resize", 10, '<nearest_mode = "floor"> (x, s)', "attribute", FROM_11),
    ("Resize", 13, "<antialias = 1> (x, , s)", "attribute", "Resize-18, Resize-19 have it"),
    ("Resize", 13, "<colour = 1> (x, , s)", "attribute", "'colour', which Resize-13 does not have. Remove it"),
    ("Resize", 13, "<mode = 1> (x, , s)", "attribute", "'mode' is of type INT, it must be STRING"),
    ("Resize", 13, "<cubic_coeff_a = 1> (x, , s)", "attribute", "is of type INT, it must be FLOAT"),
    ("Resize", 13, "<exclude_outside = 2> (x, , s)", "exclude_outside", "exclude_outside is 2; it must be 0 or 1"),
    ("Resize", 18, "<antialias = -1> (x, , s)", "antialias", "antialias is -1"),
    ("Resize", 18, "<axes = [2, 2]> (x, , s)", "axes", "name an axis twice"),
    ("Resize", 13, '<nearest_mode = "simple"> (x, , s)', "nearest_mode", "is 'simple'; Resize-13 has ceil, floor"),
    ("Resize", 18, '<keep_aspect_ratio_policy = "fit"> (x, , , z)', "keep_aspect_ratio_policy", "is 'fit'"),
    ("Resize", 18, f'<{COORDINATES} = "half_pixel_symmetric"> (x, , s)', COORDINATES, "It needs opset 19"),
    ("Resize", 13, f'<{COORDINATES} = "tf_crop_and_resize"> (x, , s)', "roi", "reads the input roi"),
]


@pytest.mark.parametrize(("op_type", "opset", "node", "rule", "reason"), REFUSALS)
def test_what_the_dialect_does_not_allow_is_refused_by_its_rule(op_type, opset, node, rule, reason):
    with pytest.raises(RefusedError, match=reason) as refusal:
        read_text(f"y = {op_type} {node}", opset)
    assert "'up'" in str(refusal.value)
    assert refusal.value.node == f"{op_type} node 'up'"
    assert refusal.value.rule == rule


MODE = helper.make_attribute("mode", "linear")
NO_AXES = AttributeProto(name="axes", type=AttributeProto.INTS)
NO_SCALES = AttributeProto(name="scales", type=AttributeProto.FLOATS)
GIVEN = AttributeProto(name="mode", type=AttributeProto.STRING, ref_attr_name="how")


@pytest.mark.parametrize(
    ("op_type", "opset", "attributes", "reason"),
    [
        ("Resize", 18, [NO_AXES], r"node that writes 'y' .*axes is empty"),  # runtimes differ on it
        ("Upsample", 7, [NO_SCALES], "'scales' is empty"),
        ("Resize", 18, [MODE, MODE], "'mode' is given twice"),
        ("Resize", 18, [GIVEN], "from the attribute 'how' of the function around it"),
    ],
)
def test_attributes_that_no_text_says_are_refused(op_type, opset, attributes, reason):
    node = helper.make_node(op_type, ["x", "", "s"] if op_type == "Resize" else ["x"], ["y"])
    node.attribute.extend(attributes)
    with pytest.raises(RefusedError, match=reason):
        read(node, dialect_of(op_type, opset))


def test_a_node_read_as_another_operator_is_the_callers_mistake():
    with pytest.raises(ValueError, match="Resize is not Upsample-9"):
        read(helper.make_node("Resize", ["x", "", "s"], ["y"]), dialect_of("Upsample", 9))
