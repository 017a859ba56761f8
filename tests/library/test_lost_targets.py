"""Which TensorRT versions a promotion loses: told by one node of each kind, whatever the number of nodes."""

from __future__ import annotations

import pytest
from onnx import helper

import resizefix
from benchmarks.independent_resizes import independent_resizes
from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.library.plans import lost_targets
from resizefix.targets.collect_facts import facts_in, kinds_in


def models():
    same = independent_resizes(3)
    read = independent_resizes(3)  # the result of one is read by another node, so that it is no leaf
    read.graph.node.append(helper.make_node("Relu", ["y1"], ["z"]))
    read.graph.output.append(helper.make_tensor_value_info("z", 1, None))
    mixed = independent_resizes(3)
    for attribute in mixed.graph.node[2].attribute:
        attribute.s = b"cubic"
    return {"same": same, "read": read, "mixed": mixed, "one": independent_resizes(1)}


@pytest.mark.parametrize("name", models())
def test_the_answer_is_that_of_judging_and_promoting_every_node(name, monkeypatch):
    model = models()[name]
    made = resizefix.promote_scales(model, verify=False)
    views = ModelView(Document.from_proto(model)), ModelView(Document.from_proto(made.model))
    few = lost_targets(*views, made.outcomes)
    assert few[0], "no version is lost: the test says nothing"
    monkeypatch.setattr("resizefix.library.plans._without_leaves", lambda view, keys: view)
    monkeypatch.setattr("resizefix.library.plans.kinds_in", each_by_itself)
    assert lost_targets(*views, made.outcomes) == few


def each_by_itself(view):
    keys = {place: key for _, places in kinds_in(view) for place, key in places.items()}
    return [(facts, {place: keys[place]}) for place, facts in enumerate(facts_in(view))]
