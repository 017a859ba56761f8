import pytest
from onnx import helper, parser
from opset_pair import assert_same, blockers_of, lowered, model_of, normal, operators, run

from resizefix.opsets.lowering import sort_nodes


def test_nodes_out_of_order_are_sorted_and_the_rest_stays():
    model = model_of(13, "g (float[2] x) => (float[2] y, float[2] z) { a = Relu(x) b = Tanh(a) y = Exp(b) z = Neg(x) }")
    order = [3, 2, 0, 1]
    nodes = [model.graph.node[index] for index in order]
    expected = run(model, {"x": normal(2)})
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    after, result = lowered(model)
    assert operators(after) == ["Neg", "Relu", "Tanh", "Exp"]
    assert [step.what for step in result.steps] == ["nodes are in topological order"]
    assert [one.tobytes() for one in run(after, {"x": normal(2)})] == [one.tobytes() for one in expected]


def test_nodes_in_order_are_not_touched():
    model = model_of(13, "g (float[2] x) => (float[2] y) { b = Neg(x) a = Relu(x) y = Add(a, b) }")
    assert sort_nodes(model) == []


def test_a_node_that_a_body_reads_comes_before_the_body():
    graph = """g (bool c, float[2] x) => (float[2] y) {
        y = If(c) < then_branch = t () => (float[2] a) { a = Relu(k) },
                    else_branch = e () => (float[2] b) { b = Neg(k) } >
        k = Tanh(x) }"""
    after, _ = lowered(model_of(13, graph))
    assert operators(after) == ["Tanh", "If"]


def test_the_long_spelling_of_the_default_domain_becomes_the_short_one():
    model = model_of(13, "g (float[2,3] x) => (float[1,2,3] y) <int64[1] a = {0}> { y = Unsqueeze(x, a) }")
    model.graph.node[0].domain = "ai.onnx"
    model.opset_import[0].domain = "ai.onnx"
    after, _ = lowered(model)
    assert [entry.domain for entry in after.opset_import] == [""]
    assert after.graph.node[0].domain == ""


FUNCTIONS = """<ir_version: 8, opset_import: ["": 13, "local": 1]>
g (float[2,3] x) => (float[2,3] y) { a = local.twice(x) y = local.twice(a) }
<opset_import: ["": 13, "local": 1], domain: "local">
twice (u) => (w) { k = Constant<value_ints = [0]>() v = Unsqueeze(u, k) s = Squeeze(v, k) w = local.add(s) }
<opset_import: ["": 13], domain: "local">
add (u) => (w) { w = Add(u, u) }"""


def test_local_functions_are_inlined():
    model = parser.parse_model(FUNCTIONS)
    after = assert_same(model, {"x": normal(2, 3)})
    assert not after.functions
    assert operators(after) == ["Unsqueeze", "Squeeze", "Add"] * 2


def test_what_the_model_says_of_itself_survives_inlining():
    model = parser.parse_model(FUNCTIONS)
    model.producer_name, model.doc_string = "somebody", "a model"
    model.metadata_props.add(key="k", value="v")
    model.graph.doc_string = "a graph"
    after, _ = lowered(model)
    assert (after.producer_name, after.doc_string, after.graph.doc_string) == ("somebody", "a model", "a graph")
    assert after.metadata_props == model.metadata_props


@pytest.mark.parametrize("domain", ["com.microsoft", "acme"])
def test_other_domains_stay_as_they_are(domain):
    model = model_of(13, "g (float[2] x) => (float[2] y) { r = Relu(x) y = Relu(r) }")
    node = model.graph.node[1]
    node.domain, node.op_type = domain, "Gelu"
    model.opset_import.append(helper.make_opsetid(domain, 1))
    assert not blockers_of(model)
    if domain == "com.microsoft":
        after = assert_same(model, {"x": normal(2)})
        assert after.graph.node[1] == node
