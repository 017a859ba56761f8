"""What each operator becomes at every older opset that people ask for, not at the oldest alone."""

import numpy as np
import onnx
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NotImplemented_
from opset_pair import model_of, run, same_bits
from test_opsets_kept import NO_KERNEL, ROWS

from resizefix.document.document import Document
from resizefix.operations.change_opset import lowered_to

GOALS = (9, 11, 13, 15, 17, 21)
CASES = [case for row in ROWS for case in row.cases]


@pytest.mark.parametrize(("row", "op_type", "version"), CASES)
def test_every_older_form_computes_the_same(row, op_type, version):
    graph = row.graph if isinstance(row.graph, str) else row.graph(version)
    model = model_of(version, graph.replace("OP", op_type))
    if version == 22 and op_type in NO_KERNEL:
        pytest.skip("onnxruntime has no kernel of it at this opset")
    expected = run(model, row.feeds)
    for goal in (one for one in GOALS if one < version):
        made = lowered_to(Document.from_proto(model), goal, allow_inexact=True)
        assert made.complete, made.blockers
        after = made.document.proto
        assert [one.version for one in after.opset_import] == [goal]
        onnx.checker.check_model(after, full_check=True)
        try:
            found = run(after, row.feeds)
        except NotImplemented_:
            assert (op_type, goal) == ("Clip", 11)  # of doubles, which onnxruntime has from version 12 on
            continue
        if made.exact:
            assert all(map(same_bits, expected, found)), goal
            continue
        bound = max(step.error.bound for step in made.steps)
        for one, other in zip(expected, found, strict=True):
            scale = max(1.0, float(np.abs(one[np.isfinite(one)]).max(initial=0)))
            np.testing.assert_allclose(other, one, rtol=0, atol=bound * scale, equal_nan=True)


@pytest.mark.parametrize(("row", "op_type", "version"), CASES)
def test_a_goal_that_no_change_lies_before_keeps_the_node(row, op_type, version):
    """Byte for byte: nothing is rewritten that the older opset says in the same words."""
    graph = row.graph if isinstance(row.graph, str) else row.graph(version)
    model = model_of(version, graph.replace("OP", op_type))
    schema = onnx.defs.get_schema(op_type, version, "")
    before = onnx.defs.get_schema(op_type, version - 1, "") if schema.since_version != version else schema
    if schema.since_version == version or before.since_version != schema.since_version:
        return
    made = lowered_to(Document.from_proto(model), version - 1)
    old = {node.output[0]: node for node in model.graph.node if node.op_type == op_type}
    new = {node.output[0]: node for node in made.document.proto.graph.node}
    assert all(new[name] == node for name, node in old.items())
