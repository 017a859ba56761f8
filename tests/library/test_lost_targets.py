"""Which TensorRT versions a promotion loses: told by one node of each kind, whatever the number of nodes."""

import pytest
from onnx import TensorProto, helper

import resizefix
from benchmarks.independent_resizes import independent_resizes
from resizefix.document.document import Document
from resizefix.library.verdict import targets_moved
from resizefix.operations.promote_scales import promote_scales
from resizefix.operations.sites import sites_in
from resizefix.outcome import Status
from resizefix.promotion import Integers, NewInputs
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.catalogue import TARGETS
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.target import accepted, judge
from resizefix.targets.tensorrt import TENSORRT_TARGETS


def chained(operator="Relu", elem_type=TensorProto.FLOAT):
    """What one node makes is resized by another, and a third resizes it to sizes that follow from its shape."""
    model = independent_resizes(3)
    graph = model.graph
    graph.input[0].type.tensor_type.elem_type = elem_type
    graph.node[1].input[0] = "r"
    graph.node[2].input[:] = ["y1", "", "", "large"]
    nodes = [
        helper.make_node(operator, ["y0"], ["r"]),
        helper.make_node("Shape", ["y1"], ["shape"]),
        helper.make_node("Mul", ["shape", "two"], ["large"]),
    ]
    graph.initializer.append(helper.make_tensor("two", TensorProto.INT64, [4], [1, 1, 2, 2]))
    for position, node in zip((1, 3, 4), nodes, strict=True):
        graph.node.insert(position, node)
    del graph.output[:-1]
    graph.output[0].type.tensor_type.elem_type = elem_type
    return model


def models():
    same = independent_resizes(3)
    read = independent_resizes(3)  # the result of one is read by another node, so that it is no leaf
    read.graph.node.append(helper.make_node("Relu", ["y1"], ["z"]))
    read.graph.output.append(helper.make_tensor_value_info("z", 1, None))
    mixed = independent_resizes(3)
    for attribute in mixed.graph.node[2].attribute:
        attribute.s = b"cubic"
    own = independent_resizes(2)  # each has its scales
    own.graph.initializer.append(helper.make_tensor("t", TensorProto.FLOAT, [4], [1, 1, 2, 2]))
    own.graph.node[1].input[2] = "t"
    listed = independent_resizes(2)  # the parser of TensorRT 5 wants every initializer among the inputs
    listed.ir_version = 3
    listed.graph.input.append(helper.make_tensor_value_info("s", TensorProto.FLOAT, [4]))
    fractions = independent_resizes(2)
    fractions.graph.initializer[0].float_data[:] = [1, 1, 1.5, 1.5]
    return {
        "same": same,
        "read": read,
        "mixed": mixed,
        "one": independent_resizes(1),
        "own": own,
        "listed": listed,
        "fractions": fractions,
        "chained": chained(),
        "bytes": chained("Identity", TensorProto.UINT8),
    }


@pytest.mark.parametrize("options", [{}, {"form": "factor"}, {"keep_default": True}, {"for_": "tensorrt"}], ids=str)
@pytest.mark.parametrize("name", models())
def test_the_answer_is_that_of_judging_and_promoting_every_node(name, options):
    model = models()[name]
    made = resizefix.promote_scales(model, verify=False, allow_coupled=True, on_refusal="return", **options)
    before, after = ModelView(Document.from_proto(model)), ModelView(Document.from_proto(made.model))
    moved = targets_moved(before, after, made.outcomes, made.inputs)
    assert (moved.lost, moved.kept_by_integers or []) == looked_at_whole(before, after, made.outcomes)


def looked_at_whole(before, after, outcomes):
    """The same of the whole model, node by node."""
    changed = {outcome.index for outcome in outcomes if outcome.status is Status.CHANGED}
    sites = [site for site in sites_in(before) if site.index in changed]
    instead = promote_scales(before.document, sites, NewInputs(integers=Integers()), target=TENSORRT_TARGETS[-1])
    accept = {
        name: [t for t in TARGETS if all(accepted(judge(t, facts)) for facts in facts_in(view))]
        for name, view in (("before", before), ("after", after), ("instead", instead.after))
    }
    lost = [target for target in accept["before"] if target not in accept["after"]]
    return lost, [target for target in lost if target in accept["instead"]] if instead.inputs else []


def test_a_large_model_is_not_promoted_for_tensorrt_as_well(monkeypatch):
    made = resizefix.promote_scales(models()["own"], verify=False)
    before, after = ModelView(Document.from_proto(models()["own"])), ModelView(Document.from_proto(made.model))
    promoted = []

    def seen(document, *rest, **options):
        promoted.append(len(document.proto.graph.node))
        return promote_scales(document, *rest, **options)

    monkeypatch.setattr("resizefix.operations.promote_scales.promote_scales", seen)
    moved = targets_moved(before, after, made.outcomes, made.inputs)
    assert moved.lost
    assert moved.kept_by_integers is not None
    assert set(promoted) == {1}, "of two nodes that differ in their names alone, one by itself"
