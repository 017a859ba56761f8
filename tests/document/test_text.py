from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from resizefix.document.text import counted, node_text, number_text


def test_a_node_is_one_line_of_onnx_text():
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], name="r", mode="nearest")
    assert node_text(node) == '[r] y = Resize <mode: string = "nearest"> (x, "", s)'


@pytest.mark.parametrize(("kind", "shown"), [(TensorProto.FLOAT16, "float16"), (TensorProto.BFLOAT16, "bfloat16")])
def test_numbers_of_half_precision_are_shown_as_numbers(kind, shown):
    tensor = helper.make_tensor("s", kind, [3], [1, 2.5, -0.25])
    node = helper.make_node("Constant", [], ["c"], name="{1}", value=tensor)
    assert node_text(node) == f'["{{1}}"] c = Constant <value: tensor = {shown}[3] s {{1,2.5,-0.25}}> ()'


@pytest.mark.parametrize(
    "attribute",
    [
        helper.make_attribute("mode", b"\xff\x1b[31m"),
        helper.make_attribute("value", TensorProto(data_type=1, dims=[4], raw_data=bytes(15))),
        helper.make_attribute("value", TensorProto(data_type=1, dims=[-4], raw_data=bytes(16))),
    ],
)
def test_a_node_that_onnx_cannot_print_is_reported_without_its_attributes(attribute):
    node = onnx.NodeProto(op_type="Resize", input=["x", "", "s"], output=["y"], attribute=[attribute])
    assert node_text(node) == "y = Resize <…> (x, , s)"


def test_one_of_a_thing_is_no_plural():
    assert [counted(number, "axis", "axes") for number in (0, 1, 2)] == ["0 axes", "1 axis", "2 axes"]
    assert [counted(number, "value") for number in (1, 2)] == ["1 value", "2 values"]


@pytest.mark.parametrize(
    ("number", "text"),
    [(2.4000000953674316, "2.4"), (2.0, "2"), (2.4, "2.4"), (1e300, "1e+300"), (7 / 3, "2.33333333"), (-0.0, "-0")],
)
def test_a_number_is_as_short_as_float32_allows(number, text):
    assert number_text(number) == text
