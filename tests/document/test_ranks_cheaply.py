"""Ranks are followed node by node only where they may grow beyond what any tensor has."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from resizefix.document import values
from resizefix.document.scopes import Scopes
from resizefix.document.values import node_of_many_axes
from resizefix.document.view import View


def scopes(*nodes: onnx.NodeProto) -> Scopes:
    graph = helper.make_graph(
        list(nodes), "g", [helper.make_tensor_value_info("x", TensorProto.INT64, [1])], [onnx.ValueInfoProto(name="y")]
    )
    return View(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)])).scopes


def constant(name: str, count: int) -> onnx.NodeProto:
    return helper.make_node(
        "Constant", [], [name], value=helper.make_tensor("t", TensorProto.INT64, [count], [1] * count)
    )


def test_many_constants_and_few_growing_nodes_are_not_followed(monkeypatch):
    monkeypatch.setattr(values, "_Ranks", None)  # what would follow
    constants = [constant(f"c{index}", 4) for index in range(1000)]
    grown = [helper.make_node("Unsqueeze", ["x"], [f"u{index}"], axes=[0]) for index in range(50)]
    assert node_of_many_axes(scopes(*constants, *grown)) is None


@pytest.mark.parametrize(
    "nodes",
    [
        [helper.make_node("Gather", [f"g{index}", f"g{index}"], [f"g{index + 1}"], f"G{index}") for index in range(24)],
        [constant("long", 2000), helper.make_node("Reshape", ["x", "long"], ["y"], "R")],
        [helper.make_node("Unsqueeze", ["x"], ["y"], "U", axes=list(range(2000)))],
    ],
    ids=["doubling", "a long list", "a long attribute"],
)
def test_what_may_grow_is_followed_and_named(nodes):
    if nodes[0].op_type == "Gather":
        nodes[0].input[:] = ["x2", "x2"]
        nodes.insert(0, helper.make_node("Unsqueeze", ["x"], ["x2"], axes=[0]))
    assert node_of_many_axes(scopes(*nodes)) is not None
