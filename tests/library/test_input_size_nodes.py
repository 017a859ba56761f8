"""What is proven of each node of a model for another input size: untouched bytes, and the numbers of changed nodes."""

import numpy as np
import pytest
from onnx import helper, numpy_helper
from size_networks import NEW, OLD, Net, built

import resizefix
from resizefix.library.result import VerificationFailedError
from resizefix.outcome import Status
from resizefix.verification.verification import VerificationStatus


def hidden(n, h, w):
    """A grid that begins at 3, behind a product with 0: no output shows what it computes."""
    y = n.conv("x", 3, 4, 2)
    grid = np.arange(3, 3 + w // 2, dtype=np.float32).reshape(1, 1, 1, w // 2)
    lit = n.Add(y, n.floats(grid))
    return n.Add(y, n.Mul(lit, n.floats(0)))


def test_a_changed_node_that_computes_something_else_is_found_where_no_output_shows_it(monkeypatch):
    from resizefix.library import size_work as room

    right = room.made_dynamic

    def wrong(document, found):
        made = right(document, found)
        offsets = next(one for one in made.document.proto.graph.initializer if one.name == "offsets")
        offsets.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(offsets) + np.float32(1), offsets.name))
        return made

    assert (
        resizefix.input_size(built(hidden, OLD), size="any", read=[("Add_1", "first")]).verification.status
        is VerificationStatus.UNREFUTED
    )
    monkeypatch.setattr(room, "made_dynamic", wrong)
    with pytest.raises(VerificationFailedError, match="node 'Add_1' computes something else"):
        resizefix.input_size(built(hidden, OLD), size="any", read=[("Add_1", "first")])


@pytest.mark.parametrize("touched", ["node", "constant", "number"])
def test_no_byte_changes_that_was_not_planned(monkeypatch, touched):
    from resizefix.library import size_work as room

    right = room.resized

    def wrong(document, found, symbols):
        made = right(document, found, symbols)
        graph = made.document.proto.graph
        if touched == "node":
            graph.node[0].attribute.append(helper.make_attribute("group", 1))
        else:
            name = graph.node[0].input[1] if touched == "constant" else graph.node[1].input[1]
            tensor = next(one for one in graph.initializer if one.name == name)
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) + np.float32(1), name))
        return made

    assert (
        resizefix.input_size(built(hidden, OLD), size=NEW, read=[("Add_1", "first")]).verification.status
        is VerificationStatus.UNREFUTED
    )
    monkeypatch.setattr(room, "resized", wrong)
    node = "Add_1" if touched == "number" else "Conv_0"
    with pytest.raises(VerificationFailedError, match=f"node '{node}' is not what it was"):
        resizefix.input_size(built(hidden, OLD), size=NEW, read=[("Add_1", "first")])


def test_a_dynamic_model_that_runs_at_no_size_is_refused_with_the_node_that_does_not():
    n = Net(*OLD)
    model = n.model(n.Upsample("x", n.floats([1, 1, 2, 2]), mode="nearest"))
    model.opset_import[0].version = 7
    for axis in (2, 3):
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = "hw"[axis - 2]
    result = resizefix.input_size(model, size=NEW, on_refusal="return")
    (outcome,) = result.outcomes
    assert (outcome.status, outcome.node) == (Status.REFUSED, "Upsample_0")
    assert "does not run the model at its own size" in (outcome.reason or "")


def test_a_changed_node_that_is_read_no_more_is_not_looked_at():
    """torch's interpolate(size=...): the sizes joined to those of the shape go where scales say the same."""

    def joined(n, h, w):
        start = n.Slice(n.Shape("x"), [0], [2], [0])
        return n.Resize("x", "", "", n.Concat(start, [2 * h, 2 * w], axis=0), mode="nearest")

    result = resizefix.input_size(built(joined, OLD), size="any")
    assert [one.status for one in result.outcomes] == [Status.CHANGED] * len(result.outcomes)
    assert result.verification.status is VerificationStatus.UNREFUTED
