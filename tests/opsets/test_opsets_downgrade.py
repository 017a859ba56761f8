import numpy as np
import pytest
from onnx import helper, numpy_helper
from opset_pair import assert_same, blockers_of, lowered, model_of, normal, operators, run

from resizefix.opsets.lowering import downgrade
from resizefix.opsets.table import DOWN


@pytest.mark.parametrize("opset", [8, 7])
def test_a_model_that_is_old_enough_is_left_alone(opset):
    model = model_of(opset, "g (float[2] x) => (float[2] y) { k = Constant<value = float {2}>() y = Mul(x, k) }")
    before = model.SerializeToString()
    result = downgrade(model, value_of=numpy_helper.to_array)
    assert result.blockers == result.steps == ()
    assert model.SerializeToString() == before


def test_all_blockers_are_reported_at_once_with_node_version_reason_and_mend():
    graph = """g (float[2,3] x, int64[1] p) => (float[A,B] y) <float s = {1}, uint8 z = {0}> {
        q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) n = NonZero(d) r = Resize(d, , f) e = Sinh(r)
        [last] y = Squeeze(e, p) }"""
    found = blockers_of(model_of(13, graph.replace("<float s", "<float[2] f = {1, 2}, float s")))
    assert [(b.node, b.op_type, b.since_version) for b in found] == [
        ("QuantizeLinear#0", "QuantizeLinear", 13),
        ("DequantizeLinear#1", "DequantizeLinear", 13),
        ("NonZero#2", "NonZero", 13),
        ("Resize#3", "Resize", 13),
        ("Sinh#4", "Sinh", 9),
        ("last", "Squeeze", 13),
    ]
    assert found[0].reason == "opset 8 has no such quantised operator"
    assert found[3].reason.startswith("opset 8 needs another resize")
    assert all(b.reason and b.fix for b in found)


@pytest.mark.parametrize("opset", [9, 10, 11, 13, 18, 25])
def test_an_upsample_7_in_a_newer_opset_is_what_it_is(opset):
    model = model_of(opset, "g (float[1,1,2,3] x) => (float[1,1,4,9] y) { r = Relu(u) y = Tanh(r) }")
    upsample = helper.make_node("Upsample", ["x"], ["u"], name="up", mode="nearest", scales=[1.0, 1.0, 2.0, 3.0])
    model.graph.node.insert(0, upsample)
    after, result = lowered(model)
    assert not result.steps
    assert after.graph.node[0] == upsample
    x = normal(1, 1, 2, 3)
    expected = np.tanh(np.maximum(x, 0)).repeat(2, 2).repeat(3, 3)
    assert np.allclose(run(after, {"x": x})[0], expected)


def test_an_operator_newer_than_the_table_is_refused(monkeypatch):
    row = DOWN["Reshape"]
    monkeypatch.setitem(DOWN, "Reshape", row._replace(kept=tuple(one for one in row.kept if one < 21)))
    graph = "g (float[2,3] x, int64[2] s) => (float[A,B] y) { y = Reshape(x, s) }"
    (blocker,) = blockers_of(model_of(21, graph))
    assert blocker.reason == "resizefix has no older form for Reshape-21 (versions up to 19 are known)"
    assert not blockers_of(model_of(19, graph))


def test_names_docs_and_stored_shapes_of_what_remains_are_kept():
    graph = """g (float[2,3] x) => (float[1,2,3] y) <int64[1] a = {0}, float[2,3] r>
        { [first] r = Relu(x) [second] y = Unsqueeze(r, a) }"""
    model = model_of(13, graph)
    model.graph.node[1].doc_string = "a note"
    model.graph.node[1].metadata_props.add(key="k", value="v")
    after, _ = lowered(model)
    assert [node.name for node in after.graph.node] == ["first", "second"]
    assert after.graph.node[1].doc_string == "a note"
    assert after.graph.node[1].metadata_props[0].value == "v"
    assert after.graph.value_info == model.graph.value_info
    assert after.graph.input == model.graph.input
    assert after.graph.output == model.graph.output


def test_the_stored_shape_of_a_value_that_is_gone_goes_too():
    graph = """g (float[2,3] x) => (float[3,2] y)
        <int64[1] a = {0}, int64[2] k = {3,2}, int64[?] s, int64[?] t, int64[?] r>
        { s = Shape(x) t = Slice(s, a, a) r = Concat<axis=0>(t, k) y = Reshape(x, r) }"""
    model = model_of(13, graph)
    assert [value.name for value in model.graph.value_info] == ["s", "t", "r"]
    after, _ = lowered(model)
    assert operators(after) == ["Reshape"]
    assert not after.graph.value_info


def test_new_names_collide_with_nothing():
    graph = "g (float[2,3] x) => (float[2,3] y, float[2,3] y_hardsigmoid) { y = HardSwish(x) y_hardsigmoid = Relu(x) }"
    after = assert_same(model_of(14, graph), {"x": normal(2, 3)})
    names = [name for node in after.graph.node for name in node.output]
    assert len(set(names)) == len(names)


def test_what_was_unread_from_the_start_stays():
    graph = "g (float[2] x) => (float[2] y) <float[2] spare = {1,2}> { idle = Tanh(x) y = Relu(x) }"
    after = assert_same(model_of(13, graph), {"x": normal(2)})
    assert operators(after) == ["Tanh", "Relu"]
    assert [tensor.name for tensor in after.graph.initializer] == ["spare"]


def test_a_default_that_nobody_reads_any_more_still_is_an_input():
    graph = "g (float[2] x, float r) => (float[2] y) <float r = {0.5}> { y = Dropout(x, r) }"
    after = assert_same(model_of(13, graph), {"x": normal(2)})
    assert [value.name for value in after.graph.input] == ["x", "r"]
    assert [tensor.name for tensor in after.graph.initializer] == ["r"]


def test_a_model_of_ir_3_lists_its_new_constants_among_its_inputs():
    graph = "g (float[2,3] x) => (float[3,2] y) { s = Constant<value = int64[2] {3,2}>() y = Reshape(x, s) }"
    after = assert_same(model_of(9, graph, ir_version=3), {"x": normal(2, 3)})
    assert [value.name for value in after.graph.input] == ["x", "s"]
    assert after.ir_version == 3


def test_other_imports_stay():
    model = model_of(13, "g (float[2] x) => (float[2] y) { y = Relu(x) }")
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    after, _ = lowered(model)
    assert [(entry.domain, entry.version) for entry in after.opset_import] == [("", 8), ("ai.onnx.ml", 3)]


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        ("g (float[2] x) => (float[2] y) { y = Unsqueeze(x) }", "Unsqueeze-13 does not take 1 input"),
        ("g (float[2] x) => (float[2] y) { y = Concat(x, x) }", "Concat-13 requires the attribute 'axis'"),
        ("g (float[2] x) => (float[2] y) { y = Relu<slope=1>(x) }", "Relu-13 has no attribute 'slope'"),
        ("g (float[2] x) => (float[2] y) { y = Einsum(x) }", "Einsum-12 requires the attribute 'equation'"),
        ("g (float[2] x, int64[2] z) => (float[2] y) { y = Add(x, z) }", "to be the same type"),
        ("g (float[2] x) => (float[2] y) { y = Loop(x) }", "Loop-13 requires the attribute 'body'"),
    ],
)
def test_a_node_that_is_not_valid_in_its_own_opset_is_refused_and_never_a_crash(graph, reason):
    (blocker,) = blockers_of(model_of(13, graph))
    assert blocker.reason.startswith("the node is invalid in its own opset: ")
    assert reason in blocker.reason
    assert blocker.fix.startswith("repair the model")


def test_a_model_with_float16_says_once_that_it_is_rounded_elsewhere():
    _, result = lowered(model_of(13, "g (float16[2] x) => (float16[2] y) { y = Relu(x) }"))
    assert not result.exact
    assert sum("float16" in step.error.note for step in result.steps) == 1
