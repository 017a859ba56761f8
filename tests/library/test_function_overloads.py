"""Two functions of one name that differ in their overload (since IR 10) are two functions, in every command."""

import numpy as np
import onnx_text
import ort_runs
import pytest
from onnx import TensorProto, helper, numpy_helper

import resizefix
from resizefix.document.document import Document
from resizefix.document.scopes import Scopes
from resizefix.operations.diff import diff
from resizefix.reports.json import site_json
from resizefix.scope_path import BodyName, FunctionName, ScopePath

IMPORTS = [helper.make_opsetid("", 18), helper.make_opsetid("d", 1)]
X = np.arange(48, dtype=np.float32).reshape(1, 3, 4, 4)


def function(overload, scales, name="up", domain="d"):
    constant = helper.make_node("Constant", [], ["s"], value=numpy_helper.from_array(np.array(scales, np.float32)))
    repeated = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    resize = helper.make_node("Resize", ["a", "", "s"], ["b"], name=f"resize{overload}", **repeated)
    made = helper.make_function(domain, name, ["a"], ["b"], [constant, resize], IMPORTS)
    made.overload = overload
    return made


def call(source, result, overload, name="up", domain="d"):
    node = helper.make_node(name, [source], [result], domain=domain, name=f"call{overload}")
    node.overload = overload
    return node


def model(nodes, functions):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 4, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", "c", "h", "w"])
    graph = helper.make_graph(nodes, "g", [x], [y])
    return helper.make_model(graph, functions=functions, opset_imports=IMPORTS, ir_version=10)


def two():
    functions = [function("A", [1, 1, 2, 2]), function("B", [1, 1, 3, 3]), function("", [1, 1, 5, 5])]
    return model([call("x", "m", "A"), call("m", "y", "B")], functions)


def run(proto, **feeds):
    return ort_runs.run(proto, {"x": X, **{name: np.array(value) for name, value in feeds.items()}}, optimized=True)[0]


def test_each_overload_is_promoted_and_frozen_by_itself():
    expected = run(two())
    promoted = resizefix.promote_scales(two(), node=["resizeA", "resizeB"])
    assert promoted.verification.passed
    values = {entry.name: np.array(entry.value, np.float32) for entry in promoted.inputs}
    assert np.array_equal(run(promoted.model, **values), expected)
    assert run(promoted.model, **{**values, "resizeB_scales": np.float32([1, 1, 2, 2])}).shape == (1, 3, 16, 16)
    frozen = resizefix.freeze_scales(
        promoted.model, node=["resizeA", "resizeB"], set={name: value.tolist() for name, value in values.items()}
    )
    assert frozen.verification.passed
    assert [list(one.input) for one in frozen.model.functions] == [["a"], ["a"], ["a"]]
    assert [value.name for value in frozen.model.graph.input] == ["x"]
    assert [list(node.input) for node in frozen.model.graph.node] == [["x"], ["m"]]


IN_FUNCTIONS, INLINED = ["resizeA", "resizeB", "resize"], ["resizeA__1", "resizeB__2"]  # by onnx.inliner


@pytest.mark.parametrize(
    ("target", "nodes"), [("onnxruntime", IN_FUNCTIONS), ("tensorrt-7.0", INLINED), ("tensorrt-10", IN_FUNCTIONS)]
)
def test_overloads_are_judged_and_rewritten_one_by_one(target, nodes):
    assert {found.node for found in resizefix.check(two(), target="tensorrt-8.0").violations} >= {"resizeA", "resizeB"}
    result = resizefix.legalize(two(), target=target, on_refusal="return")
    assert [outcome.node for outcome in result.outcomes] == nodes


def test_the_overload_of_a_call_decides_which_function_gives_the_sizes():
    legacy = resizefix.trt_legacy(two())
    assert legacy.verification.passed
    assert np.array_equal(run(legacy.model), run(two()))


def test_the_scope_of_a_site_names_the_overload():
    sites = resizefix.inspect(two())
    scopes = [site_json(site)["scope"] for site in sites]
    assert scopes == [["function d::up:A"], ["function d::up:B"], ["function d::up"]]
    promoted = resizefix.promote_scales(two(), node=["resizeA"]).model
    changes = diff(Document.from_proto(two()), Document.from_proto(promoted))
    assert {change.scope.steps for change in changes if change.what == "node"} <= {(), ("function d::up:A",)}


def test_names_that_read_alike_are_different_scopes():
    functions = [
        function("", [1, 1, 2, 2], name="up:A"),
        function("A", [1, 1, 3, 3]),
        function("", [1, 1, 5, 5], name="b::up", domain="d"),
        function("", [1, 1, 7, 7], name="up", domain="d::b"),
    ]
    made = model([call("x", "m", "", name="up:A"), call("m", "y", "A")], functions)
    made.opset_import.add(domain="d::b", version=1)
    scopes = Scopes(Document.from_proto(made).proto)
    assert len(scopes.by_path) == 5
    assert [len(scopes.calls[FunctionName.of(one)]) for one in functions] == [1, 1, 0, 0]
    assert resizefix.promote_scales(made, node=["#0", "#1"]).verification.passed


def test_a_node_that_is_called_like_a_function_makes_no_function_of_its_bodies():
    path = ScopePath([BodyName("function d::up", "then_branch")])
    assert path.steps == ("function d::up.then_branch",)
    assert path.function is None
    assert path.outermost == ()
    assert path.visible == [path, ScopePath()]


@pytest.mark.parametrize("verify", [True, False])
def test_a_resize_in_a_function_that_nothing_runs_gets_no_input(verify):
    """Neither that which is never called, nor what it alone calls."""
    text = """(float[1,1,4,4] x) => (float[a,b,c,e] y) { y = d.F (x) }
        <domain: "d", opset_import: ["" : 18]> F (u) => (v) {
            s = Constant <value = float[4] {1, 1, 2, 2}> () v = Resize (u, , s) }
        <domain: "d", opset_import: ["" : 18]> G (u) => (v) {
            s = Constant <value = float[4] {1, 1, 2, 2}> () v = Resize (u, , s) }
        <domain: "d", opset_import: ["" : 18, "d" : 1]> H (u) => (v) { v = d.G (u) }"""
    result = resizefix.promote_scales(onnx_text.model(text, 18, "d"), verify=verify)
    assert [outcome.status.value for outcome in result.outcomes] == ["changed", "refused"]
    assert result.outcomes[1].reason == "its function is not called, so that no input reaches it"
    assert len(result.inputs) == 1
    assert resizefix.freeze_scales(result.model, set={result.inputs[0].name: [1, 1, 3, 3]}).changed
