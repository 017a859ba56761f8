"""Each row against the authority: the schema that onnx itself registers."""

import onnx
import pytest
from onnx import defs, helper

from resizefix.diagnostics import RefusedError
from resizefix.dialects.dialect import DIALECTS, Dialect, dialect_of
from resizefix.interpolation import CoordinateTransformationMode, Mode

OPTIONAL = defs.OpSchema.FormalParameterOption.Optional
each_row = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda row: row.name)


def schema_of(dialect: Dialect) -> defs.OpSchema:
    return defs.get_schema(dialect.op_type, dialect.since_version)


@each_row
def test_a_row_has_the_attributes_types_and_defaults_of_the_schema(dialect):
    schema = schema_of(dialect)
    expected = {
        name: (int(attribute.type.value), default_of(attribute), attribute.required)
        for name, attribute in schema.attributes.items()
    }
    assert {row.name: (row.type, row.default, row.required) for row in dialect.attributes} == expected


def default_of(attribute):
    if not attribute.default_value.name:
        return None
    value = helper.get_attribute_value(attribute.default_value)
    return value.decode() if isinstance(value, bytes) else value


@each_row
def test_a_row_has_the_inputs_of_the_schema_in_order(dialect):
    expected = [(formal.name, formal.option == OPTIONAL) for formal in schema_of(dialect).inputs]
    assert [(row.name, row.optional) for row in dialect.inputs] == expected


@each_row
def test_a_row_begins_and_ends_where_the_schemas_do(dialect):
    assert schema_of(dialect).since_version == dialect.since_version
    last = dialect.last_opset or defs.onnx_opset_version()
    assert defs.get_schema(dialect.op_type, last).since_version == dialect.since_version
    if dialect.last_opset is not None:
        following = defs.get_schema(dialect.op_type, last + 1)
        assert following.since_version == last + 1


@each_row
def test_the_modes_a_row_spells_stand_in_the_text_of_the_schema(dialect):
    text = schema_of(dialect).attributes["mode"].description
    assert {spelling for spelling in ("nearest", "linear", "cubic") if spelling in text} <= {
        spelling if spelling != "bilinear" else "linear" for spelling, _ in dialect.mode_spellings
    }
    assert all(spelling in text for spelling, _ in dialect.mode_spellings)


@each_row
def test_the_coordinate_modes_of_a_row_are_those_its_schema_names(dialect):
    attribute = schema_of(dialect).attributes.get("coordinate_transformation_mode")
    if attribute is None:
        assert dialect.coordinate_transformation_modes == {CoordinateTransformationMode.ASYMMETRIC}
        return
    named = {mode for mode in CoordinateTransformationMode if f'"{mode.value}"' in attribute.description}
    # The text drops tf_half_pixel_for_nn at 13; onnxruntime still computes it and tf2onnx still writes it.
    assert dialect.coordinate_transformation_modes == named | {CoordinateTransformationMode.TF_HALF_PIXEL_FOR_NN}


@each_row
def test_the_smallest_scale_of_a_row_is_the_one_in_the_text_of_its_schema(dialect):
    schema = schema_of(dialect)
    texts = [attribute.description for name, attribute in schema.attributes.items() if "scale" in name]
    texts += [formal.description for formal in schema.inputs if formal.name == "scales"]
    wanted = "greater than or equal to 1" if dialect.min_scale == 1 else "greater than 0"
    assert all(wanted in text for text in texts if "value greater" in text)
    assert any(wanted in text for text in texts)


@pytest.mark.parametrize("opset", range(1, onnx.defs.onnx_opset_version() + 3))
def test_every_opset_has_the_dialect_that_the_schemas_say(opset):
    known = min(opset, defs.onnx_opset_version())
    for op_type in ("Upsample", "Resize"):
        exists = opset < 10 if op_type == "Upsample" else opset >= 10
        if exists:
            expected = defs.get_schema(op_type, known).since_version
            assert dialect_of(op_type, opset).since_version == expected
        else:
            with pytest.raises(RefusedError):
                dialect_of(op_type, opset)


@pytest.mark.parametrize("opset", [14, 17])
def test_resize_between_two_versions_speaks_the_older_one(opset):
    assert dialect_of("Resize", opset).name == "Resize-13"


@pytest.mark.parametrize(
    ("op_type", "opset", "reason"),
    [
        ("Upsample", 11, r"removed at opset 10 .* imports opset 11"),
        ("Resize", 9, "Resize exists from opset 10 on, yet the model imports opset 9"),
        ("Resize", 0, "no opset 0 that has Resize"),
        ("GridSample", 16, "GridSample is neither Upsample nor Resize"),
    ],
)
def test_an_operator_that_an_opset_does_not_have_is_refused_with_the_versions(op_type, opset, reason):
    with pytest.raises(RefusedError, match=reason) as refusal:
        dialect_of(op_type, opset)
    assert refusal.value.rule == "dialect"


def test_the_positions_of_the_operands_follow_from_the_inputs():
    positions = {row.name: (row.scales_input, row.roi_input, row.sizes_input) for row in DIALECTS}
    assert positions["Upsample-1"] == positions["Upsample-7"] == (None, None, None)
    assert positions["Upsample-9"] == positions["Resize-10"] == (1, None, None)
    assert positions["Resize-11"] == positions["Resize-19"] == (2, 1, 3)


def test_cubic_begins_with_resize_11():
    cubic = [row.name for row in DIALECTS if Mode.CUBIC in row.modes]
    assert cubic == ["Resize-11", "Resize-13", "Resize-18", "Resize-19"]
