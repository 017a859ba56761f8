"""Two nodes of one name, and a Cast written twice: no number depends on the names, and onnxruntime loads neither."""

import numpy as np
import onnx
import pytest
from onnx_text import model
from ort_runs import opened, run

import resizefix
from resizefix.outcome import Status

X = np.random.default_rng(0).standard_normal((1, 1, 4, 4)).astype(np.float32)
HEAD = "(float[1,1,4,4] x) => (float[1,1,8,8] y) <float[4] s = {1, 1, 2, 2}>"
UP = 'Resize <mode = "nearest", nearest_mode = "floor", coordinate_transformation_mode = "asymmetric">'
PLAIN = f'{HEAD} {{ k = Constant <value_float = 2.0> () a = Mul (x, k) b = Relu (a) y = {UP} (b, "", s) }}'
CALLED = f"""<ir_version: 8, opset_import: ["": 17, "l": 1]> g (float[1,1,4,4] x) => (float[1,1,8,8] y)
{{ y = l.F (x) }} <domain: "l", opset_import: ["": 17]> F (x) => (y)
{{ s = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () a = Relu (x) y = {UP} (a, "", s) }}"""


def named(made: onnx.ModelProto, *names: str) -> onnx.ModelProto:
    for body in (made.graph, *made.functions):
        if len(body.node) == len(names):
            for node, name in zip(body.node, names, strict=True):
                node.name = name
    return made


@pytest.mark.parametrize(("sound", "names", "repaired"), [
    (model(PLAIN, 17), ("k", "a", "a", "a"), ["k", "a", "a_1", "a_2"]),
    (model(PLAIN, 17), ("", "y", "", "y"), ["", "y", "", "y_1"]),
    (onnx.parser.parse_model(CALLED), ("s", "a", "a"), ["s", "a", "a_1"]),
])  # fmt: skip
def test_each_later_node_gets_a_name_of_its_own_and_nothing_else_changes(sound, names, repaired):
    expected = run(sound, {"x": X})
    broken = named(sound, *names)
    with pytest.raises(Exception, match="two nodes with same node name"):
        opened(broken)
    result = resizefix.repair(broken)
    (outcome,) = result.outcomes
    assert (outcome.fault, outcome.exact, result.verification.passed) == ("duplicate-output", True, True)
    body = (*result.model.functions, result.model.graph)[0]
    later = [node.name for node, name in zip(body.node, repaired, strict=True) if node.name != name]
    assert not later
    assert [one.tobytes() for one in run(result.model, {"x": X})] == [one.tobytes() for one in expected]
    named(result.model, *names)
    assert result.model == broken


def test_constant_nodes_may_share_a_name_with_any_node():
    made = named(model(PLAIN, 17), "a", "a", "b", "")
    opened(made)
    assert resizefix.repair(made).outcomes[0].status is Status.UNCHANGED


def test_a_cast_that_was_written_twice_is_parted_wherever_it_stands():
    cast = f'c = Cast <to = 1> (x) a = Relu (c) b = Neg (c) d = Add (a, b) y = {UP} (d, "", s) c = Cast <to = 1> (x)'
    broken = model(f"{HEAD} {{ {cast} }}", 17)
    broken.graph.node[0].name = broken.graph.node[5].name = "c"
    with pytest.raises(Exception, match=r"two nodes with same node name|Duplicate definition"):
        opened(broken)
    result = resizefix.repair(broken)
    assert result.outcomes[0].fault == "duplicate-output"
    assert result.verification.passed
    assert list(result.model.graph.node[1].input) == ["c"], "the readers before the copy keep what they read"
    assert run(result.model, {"x": X})[0].shape == (1, 1, 8, 8)


def test_a_refused_opset_of_such_a_model_names_repair():
    broken = named(model(PLAIN, 17), "k", "a", "a", "y")
    with pytest.raises(resizefix.RefusedError, match=r"does not load the model .*run `resizefix repair` first"):
        resizefix.opset(broken, opset=18)
