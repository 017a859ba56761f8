import pytest
from onnx import AttributeProto, helper

from resizefix.shapes.table import why_incomplete

node = helper.make_node


def untyped(name: str, **fields: object) -> AttributeProto:
    return AttributeProto(name=name, **fields)


@pytest.mark.parametrize(
    ("given", "opset", "why"),
    [
        (node("Mul", ["a"], ["y"]), 13, "has 1 input, and Mul-13 takes 2"),
        (node("Mul", ["a", "b", "c"], ["y"]), 13, "has 3 inputs, and Mul-13 takes 2"),
        (node("Concat", [], ["y"], axis=0), 13, "has 0 inputs, and Concat-13 takes 1 or more"),
        (node("Clip", [], ["y"]), 13, "has 0 inputs, and Clip-13 takes 1 to 3"),
        (node("Neg", ["a"], ["y", "z"]), 13, "has 2 outputs, unlike Neg-13"),
        (node("Constant", [], [], value_int=1), 13, "has 0 outputs, unlike Constant-13"),
        (node("Cast", ["a"], ["y"]), 13, "lacks the attribute 'to' of Cast-13"),
        (node("Cast", ["a"], ["y"], to="FLOAT"), 13, "has an attribute 'to' of type STRING, unlike Cast-13"),
        (node("Concat", ["a"], ["y"], axis=[0]), 13, "has an attribute 'axis' of type INTS, unlike Concat-13"),
        (node("Neg", [], ["y"], domain="ai.onnx"), 13, "has 0 inputs, and Neg-13 takes 1"),
    ],
)
def test_what_an_operator_cannot_be_without_is_asked_for(given, opset, why):
    assert why_incomplete(given, opset) == why


@pytest.mark.parametrize(
    ("given", "opset"),
    [
        (node("Mul", ["a", "b"], ["y"]), 13),
        (node("Mul", ["a"], ["y"], domain="elsewhere"), 13),
        (node("Unheard", [], []), 13),
        (node("Upsample", ["a"], ["y"]), 9),  # the hybrid that TensorRT's first parsers read
        (node("Cast", ["a"], ["y"], to="FLOAT"), 1),
        (node("Mul", ["a"], ["y"]), 9999),
        (node("Neg", ["a"], ["y"], unknown=3), 13),
        (node("Constant", [], ["y"], value_floats=[1.0]), 13),
        (node("Split", ["a"], ["y", "z", "u"], axis=0), 13),
    ],
)
def test_what_a_runtime_may_take_passes(given, opset):
    assert why_incomplete(given, opset) is None


def test_an_attribute_says_its_type_but_a_functions_need_not():
    silent = node("Cast", ["a"], ["y"])
    silent.attribute.append(untyped("to", i=1))
    assert "without a type" in why_incomplete(silent, 13)
    silent.attribute[0].CopyFrom(untyped("to", type=AttributeProto.INT, ref_attr_name="kind"))
    assert why_incomplete(silent, 13) is None
    silent.attribute[0].CopyFrom(untyped("to", ref_attr_name="kind"))
    assert why_incomplete(silent, 13) is None
