"""The law of reading and writing, and what each dialect has no words for."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import checker
from onnx.checker import C  # the checker of one node needs a context

from resizefix.diagnostics import RefusedError
from resizefix.dialects.dialect import DIALECTS, Operands, dialect_of
from resizefix.dialects.read import read
from resizefix.dialects.write import write
from resizefix.document.text import node_text
from resizefix.interpolation import (
    CoordinateTransformationMode,
    Interpolation,
    KeepAspectRatioPolicy,
    Mode,
    NearestMode,
)

ASYMMETRIC = CoordinateTransformationMode.ASYMMETRIC
HALF_PIXEL = CoordinateTransformationMode.HALF_PIXEL
CROP = CoordinateTransformationMode.TF_CROP_AND_RESIZE
FLOATS = st.floats(width=32, allow_nan=False)
SCALES = st.floats(1, 16, width=32)
NAMES = st.sampled_from(["x", "a/b:0", "17", "scales"])
LEGACY = Interpolation(Mode.NEAREST, ASYMMETRIC, NearestMode.SIMPLE)
LINEAR = Interpolation(Mode.LINEAR, HALF_PIXEL)


@st.composite
def sayable(draw):
    """Any dialect with any interpolation and operands it can say."""
    dialect = draw(st.sampled_from(DIALECTS))
    coordinates = draw(st.sampled_from(sorted(dialect.coordinate_transformation_modes)))
    mode = draw(st.sampled_from(sorted(dialect.modes)))
    later = dialect.attribute("antialias") is not None
    antialias = later and mode is not Mode.NEAREST and draw(st.booleans())
    operands = draw(operands_of(dialect, needs_roi=coordinates is CROP))
    sized = later and operands.sizes is not None
    interpolation = Interpolation(
        mode,
        coordinates,
        draw(st.sampled_from(sorted(dialect.nearest_modes))) if mode is Mode.NEAREST else None,
        cubic_coeff_a=draw(FLOATS) if mode is Mode.CUBIC else None,
        exclude_outside=(mode is Mode.CUBIC or antialias) and draw(st.booleans()),
        antialias=antialias,
        axes=draw(st.none() | st.lists(st.integers(-4, 3), min_size=1, unique=True).map(tuple)) if later else None,
        keep_aspect_ratio_policy=draw(st.none() | st.sampled_from(KeepAspectRatioPolicy)) if sized else None,
        extrapolation_value=draw(FLOATS) if coordinates is CROP else None,
    )
    return interpolation, operands, dialect


@st.composite
def operands_of(draw, dialect, needs_roi):
    if dialect.scales_input is None:
        rank = dialect.rank or draw(st.integers(1, 5))
        scales = tuple(draw(st.lists(SCALES, min_size=rank, max_size=rank)))
        return Operands(draw(NAMES), scales_attribute=(1.0, 1.0, *scales[2:]) if dialect.rank else scales)
    if dialect.sizes_input is None:
        return Operands(draw(NAMES), scales=draw(NAMES))
    mandatory = not dialect.inputs[dialect.scales_input].optional
    roi = draw(NAMES) if mandatory or needs_roi else draw(st.none() | NAMES)
    sizes = draw(st.none() | NAMES)
    scales = draw(NAMES) if mandatory or sizes is None else draw(st.none() | NAMES)
    return Operands(draw(NAMES), roi, scales, sizes)


@settings(max_examples=400, deadline=None)
@given(sayable())
def test_reading_what_was_written_gives_it_back(case):
    interpolation, operands, dialect = case
    node = write(interpolation, operands, dialect, name="n", output="y", doc_string="why")
    reading = read(node, dialect)
    assert (reading.interpolation, reading.operands) == (interpolation, operands)
    assert (node.name, list(node.output), node.doc_string) == ("n", ["y"], "why")


@settings(max_examples=150, deadline=None)
@given(sayable())
def test_what_is_written_satisfies_the_checker_of_onnx(case):
    interpolation, operands, dialect = case
    context = C.CheckerContext()
    context.ir_version = 8
    context.opset_imports = {"": dialect.since_version}
    checker.check_node(write(interpolation, operands, dialect, output="y"), context)


@settings(max_examples=300, deadline=None)
@given(sayable(), st.sampled_from(DIALECTS))
def test_writing_in_another_dialect_keeps_the_meaning_or_refuses(case, dialect):
    interpolation, operands, _ = case
    refusal = None
    try:
        node = write(interpolation, operands, dialect, name="n", output="y")
    except RefusedError as error:
        refusal = error
    if refusal is None:
        reading = read(node, dialect)
        assert (reading.interpolation, reading.operands) == (interpolation, operands)
    else:
        assert str(refusal).startswith(f"{dialect.op_type} node 'n': {dialect.name} cannot express it: ")
        assert refusal.rule


def test_only_what_the_mode_reads_is_spelled_out():
    node = write(LINEAR, Operands("x", sizes="z"), dialect_of("Resize", 19), output="y")
    assert node_text(node) == (
        'y = Resize <mode: string = "linear", coordinate_transformation_mode: string = "half_pixel"> (x, "", "", z)'
    )


def test_the_old_form_is_the_one_old_tensorrt_reads():
    node = write(LEGACY, Operands("x", scales_attribute=(1.0, 1.0, 2.0, 2.0)), dialect_of("Upsample", 8), output="y")
    assert node_text(node) == 'y = Upsample <mode: string = "nearest", scales: floats = [1, 1, 2, 2]> (x)'


def test_no_empty_name_trails():
    node = write(LINEAR, Operands("x", scales="s"), dialect_of("Resize", 13), output="y")
    assert list(node.input) == ["x", "", "s"]


FLOOR = Interpolation(Mode.NEAREST, ASYMMETRIC, NearestMode.FLOOR)
CUBIC = Interpolation(Mode.CUBIC, ASYMMETRIC, cubic_coeff_a=-0.75)
CROPPED = Interpolation(Mode.LINEAR, CROP, extrapolation_value=0.0)
SYMMETRIC = replace(LINEAR, coordinate_transformation_mode=CoordinateTransformationMode.HALF_PIXEL_SYMMETRIC)
KEPT = replace(LINEAR, keep_aspect_ratio_policy=KeepAspectRatioPolicy.NOT_LARGER)
BY_SCALES, WITH_ROI, BY_SIZES = Operands("x", scales="s"), Operands("x", "r", "s"), Operands("x", sizes="z")


def by(*scales: float) -> Operands:
    return Operands("x", scales_attribute=scales)


REFUSALS = [
    (CUBIC, BY_SCALES, "Upsample-9", "mode", "no mode cubic. Use Resize-11"),
    (LINEAR, BY_SCALES, "Resize-10", "coordinate_transformation_mode", "half_pixel. Use Resize-11"),
    (FLOOR, BY_SCALES, "Upsample-9", "nearest_mode", "no nearest_mode floor. Use Resize-11 or later, or"),
    (LEGACY, WITH_ROI, "Resize-11", "nearest_mode", "Use floor where every scale is ≥ 1"),
    (LEGACY, BY_SIZES, "Resize-10", "sizes", "no input sizes"),
    (LEGACY, WITH_ROI, "Resize-10", "roi", "it has no roi"),
    (LEGACY, BY_SCALES, "Upsample-7", "scales", "its scales are an attribute; those here are the tensor 's'"),
    (LEGACY, by(1.0, 1.0, 2.0, 2.0), "Upsample-9", "scales", "its scales are an input"),
    (LEGACY, by(1.0, 1.0, 0.5, 2.0), "Upsample-7", "scales", "every scale must be ≥ 1"),
    (LEGACY, by(1.0, 2.0, 2.0), "Upsample-1", "scales", "height and width of an NCHW"),
    (LEGACY, by(1.0, 2.0, 2.0, 2.0), "Upsample-1", "scales", "height and width"),
    (LEGACY, by(1.0, 1.0, 1.3, 2.0), "Upsample-7", "scales", "1.3, which is not a float32"),
    (LINEAR, BY_SCALES, "Resize-11", "inputs", "the input roi must be named; an empty tensor is enough"),
    (LINEAR, Operands("x", "r", sizes="z"), "Resize-11", "inputs", "the input scales must be named"),
    (LINEAR, Operands("x"), "Resize-13", "inputs", "neither scales nor sizes"),
    (LINEAR, Operands(""), "Resize-13", "inputs", "the input X must be named"),
    (LINEAR, Operands("x", scales=""), "Resize-13", "inputs", "use None for one that is absent"),
    (CROPPED, BY_SCALES, "Resize-13", "roi", "reads"),
    (SYMMETRIC, BY_SCALES, "Resize-18", "coordinate_transformation_mode", "Use Resize-19"),
    (replace(LINEAR, antialias=True), BY_SCALES, "Resize-13", "antialias", "-18"),
    (replace(LINEAR, axes=(2, 3)), BY_SCALES, "Resize-13", "axes", "Resize-18"),
    (replace(LINEAR, axes=()), BY_SCALES, "Resize-18", "axes", "axes is empty"),
    (KEPT, BY_SCALES, "Resize-18", "keep_aspect_ratio_policy", "takes effect only with sizes"),
    (replace(FLOOR, antialias=True), BY_SCALES, "Resize-18", "antialias", "for the modes linear and cubic"),
    (replace(CUBIC, cubic_coeff_a=1e300), BY_SCALES, "Resize-18", "cubic_coeff_a", "not a float32"),
]


@pytest.mark.parametrize(("interpolation", "operands", "name", "rule", "reason"), REFUSALS)
def test_what_the_dialect_has_no_words_for_is_refused_by_its_rule(interpolation, operands, name, rule, reason):
    (dialect,) = (row for row in DIALECTS if row.name == name)
    with pytest.raises(RefusedError) as refusal:
        write(interpolation, operands, dialect, name="up", output="y")
    assert str(refusal.value).startswith(f"{dialect.op_type} node 'up': {name} cannot express it: ")
    assert re.search(reason, str(refusal.value))
    assert refusal.value.rule == rule
    assert refusal.value.node == f"{dialect.op_type} node 'up'"


def test_a_node_without_a_name_is_named_by_what_it_writes():
    with pytest.raises(RefusedError, match="Resize node that writes 'y'"):
        write(LINEAR, Operands("x"), dialect_of("Resize", 13), output="y")
