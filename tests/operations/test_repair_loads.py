"""Whether a repaired model loads in onnxruntime is seen without verification, too."""

import onnx
import pytest
from onnx import ModelProto
from resize_texts import ONE, resizing, statuses

import resizefix
from resizefix.outcome import Status

HALF = "float16[4] s = {1, 1, 2, 2}"
BROKEN_ELSEWHERE = {
    "a name of two nodes": (f"{ONE} a = Relu (x) a = Neg (x)", HALF),
    "a name of a node and a constant": (f"{ONE} k = Relu (y)", f"{HALF}, float[1] k = {{2}}"),
    "a name that nothing makes": (f"{ONE} a = Relu (nowhere)", HALF),
    "an operator that does not exist": (f"{ONE} a = Resise (x)", HALF),
    "two types in one sum": (f"{ONE} a = Add (x, k)", f"{HALF}, int64[1] k = {{2}}"),
    "a resize that no kernel is of": (
        f'{ONE} d = Cast <to = 11> (x) r = Resize <mode = "linear"> (d, , t)',
        f"{HALF}, float[4] t = {{1, 1, 2, 2}}",
    ),
}


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", BROKEN_ELSEWHERE)
def test_a_repaired_model_that_does_not_load_is_not_written_unverified_either(name, verify):
    with pytest.raises(resizefix.ResizefixError) as caught:
        resizefix.repair(resizing(*BROKEN_ELSEWHERE[name]), verify=verify)
    assert "the repaired file still does not load: " in str(caught.value)
    assert "repair has no fix for that" in str(caught.value)


def add_a_function(made: ModelProto, node: str, opset: int, *, called: bool) -> None:
    body = [onnx.helper.make_node(node, ["a"], ["b"])]
    made.functions.append(
        onnx.helper.make_function("l", "F", ["a"], ["b"], body, [onnx.helper.make_opsetid("", opset)])
    )
    made.opset_import.append(onnx.helper.make_opsetid("l", 1))
    if called:
        made.graph.node.append(onnx.helper.make_node("F", ["x"], ["z"], domain="l"))


REFUSED_BY_THE_CHECKER_ALONE = {
    "an output without a shape": lambda made: made.graph.output[0].type.tensor_type.ClearField("shape"),
    "an input without a shape": lambda made: made.graph.input[0].type.tensor_type.ClearField("shape"),
    "an output without a type": lambda made: made.graph.output[0].ClearField("type"),
    "a graph without a name": lambda made: made.graph.ClearField("name"),
    "one key of metadata twice": lambda made: made.metadata_props.extend([onnx.StringStringEntryProto(key="k")] * 2),
    "a function of another opset": lambda made: add_a_function(made, "Softmax", 11, called=True),
    "a function that is not called": lambda made: add_a_function(made, "Gelu", 20, called=False),
}


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", REFUSED_BY_THE_CHECKER_ALONE)
def test_a_model_that_onnxruntime_loads_and_the_checker_refuses_is_repaired(name, verify):
    broken = resizing(constants="double[4] s = {1, 1, 2, 2}")
    REFUSED_BY_THE_CHECKER_ALONE[name](broken)
    made = resizefix.repair(broken, verify=verify)
    assert statuses(made) == [Status.CHANGED]
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(made.model)
