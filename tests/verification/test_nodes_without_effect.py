"""A node whose result reaches no output is compared by itself: the outputs of the model say nothing about it."""

import onnx
import pytest
from onnx import helper

from benchmarks.independent_resizes import independent_resizes
from resizefix.document.document import Document
from resizefix.operations.promote_scales import promote_scales
from resizefix.operations.sites import find_sites
from resizefix.verification.conditions import Conditions
from resizefix.verification.proof import Prover


def model(read: bool) -> onnx.ModelProto:
    """Two resizes; of the second's result nobody reads anything, or a node whose result nobody reads."""
    made = independent_resizes(2)
    for index, node in enumerate(made.graph.node):
        node.name = f"R{index}"
    del made.graph.output[1]
    if read:
        made.graph.node.append(helper.make_node("Relu", ["y1"], ["nobody"]))
    return made


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("wrong", [False, True])
def test_such_a_node_is_compared(read, wrong):
    document = Document.from_proto(model(read))
    made = promote_scales(document, find_sites(document))
    if wrong:
        made.document.proto.graph.node[1].attribute.append(helper.make_attribute("nearest_mode", "ceil"))
    result = Prover(made.before, Conditions()).prove(made.after, made.inputs, {})
    assert result.passed is not wrong
    assert made.inputs[1].name in {name for run in result.runs for name in run.values if len(run.values) == 1}
    if wrong:
        assert "around 'R1'" in (result.reason or "")
