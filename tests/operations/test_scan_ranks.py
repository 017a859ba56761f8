"""onnxruntime makes room for what a Scan's body gives before it runs it: it must know the rank."""

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import pytest

import resizefix
from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.operations.scan_ranks import store_scan_ranks
from resizefix.origins.axis_sizes import AxisSizes
from resizefix.runtimes.ort_session import open_session

SCAN = """<ir_version: 5, opset_import: ["" : 10]> g (float[3,2,6,6] x) => (float[] rows, float[] ys) {
  t = Abs (x)
  rows, ys = Scan <num_scan_inputs = 1, body = each (float[] row) => (float[] copy, float[] y) {
    s = Constant <value = float[4] {1, 1, 2, 2}> () y = Resize (t, s) copy = Identity (row) }> (t)
}"""
# The rank of t follows from how many sizes there are, and from nothing else once the scale may be any.
BEFORE = """<ir_version: 8, opset_import: ["" : 13]>
  g (float[1,2,3,n] x) => (float[1,2,6,8] y, float[] rows, float[] t) {
  s = Constant <value = float[4] {1, 1, 2, 2}> () y = Resize (x, "", s) shape = Shape (y) t = Reshape (y, shape)
  rows = Scan <num_scan_inputs = 1, body = each (float[] row) => (float[] copy) { copy = Identity (row) }> (t)
}"""
FEEDS = {"x": np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)}


def body_of(model):
    return next(attribute.g for attribute in model.graph.node[-1].attribute if attribute.name == "body")


def ranks(model):
    kinds = [value.type.tensor_type for value in body_of(model).output]
    return [len(kind.shape.dim) if kind.HasField("shape") else None for kind in kinds]


def runs(model, feeds):
    return open_session(Document.from_proto(model), optimized=False).run(feeds)


def test_a_replacement_whose_sizes_are_computed_leaves_the_scan_a_rank():
    model = onnx.parser.parse_model(SCAN)
    result = resizefix.legalize(model, target="tensorrt-8.0", verify=False)
    assert result.outcomes[0].reason.endswith("is stored, since onnxruntime needs it and does not infer it there")
    made = result.model
    assert "Reshape" in [node.op_type for node in body_of(made).node]
    assert ranks(made) == [None, 4]
    feeds = {"x": np.arange(216, dtype=np.float32).reshape(3, 2, 6, 6)}
    before, after = runs(model, feeds), runs(made, feeds)
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_promotion_before_a_scan_leaves_it_a_rank():
    model = onnx.parser.parse_model(BEFORE)
    made = resizefix.promote_scales(model, verify=False)
    assert ranks(made.model) == [3]
    before = runs(model, FEEDS)
    after = runs(made.model, {**FEEDS, made.inputs[0].name: np.float32(made.inputs[0].value)})
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_promotion_says_which_rank_it_stored():
    made = resizefix.promote_scales(onnx.parser.parse_model(BEFORE), verify=False)
    assert made.outcomes[0].exact
    assert made.outcomes[0].reason == (
        "the rank of the body's output of Scan#3 is stored, since onnxruntime needs it and does not infer it there"
    )


def test_a_scan_that_does_not_depend_on_the_change_stays_as_it_is():
    model = onnx.parser.parse_model(BEFORE.replace("(t)\n", "(x)\n"))
    document = Document.from_proto(model)
    assert store_scan_ranks(document, [((), "y")]) == {}
    assert ranks(document.proto) == [None]


def test_a_rank_that_follows_from_fixed_sizes_is_left_to_onnxruntime():
    model = onnx.parser.parse_model(BEFORE.replace("[1,2,3,n]", "[1,2,3,4]"))
    assert store_scan_ranks(Document.from_proto(model), [((), "y")]) == {}
    assert runs(model, FEEDS)["rows"].shape == (1, 2, 6, 8)


def test_scales_in_another_file_hide_no_rank(tmp_path):
    """No runtime reads them there, which is no matter of ranks."""
    model = onnx.parser.parse_model(SCAN)
    tensor = body_of(model).node[0].attribute[0].t
    tensor.CopyFrom(onnx.numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "s"))
    onnx.save_model(model, tmp_path / "m.onnx", save_as_external_data=True, size_threshold=0, convert_attribute=True)
    document = Document.open(tmp_path / "m.onnx")
    assert store_scan_ranks(document, [((), "t")]) == {}
    assert ranks(document.proto) == [None, None]


def test_a_rank_that_nobody_knows_is_not_made_up():
    model = onnx.parser.parse_model(BEFORE.replace("shape = Shape (y)", "shape = foreign.Sizes (y)"))
    document = Document.from_proto(model)
    assert store_scan_ranks(document, [((), "y")]) == {}
    assert ranks(document.proto) == [None]


@pytest.mark.parametrize(("name", "rank"), [("row", 3), ("copy", 3)])
def test_the_rank_of_a_slice_is_one_less(name, rank):
    model = onnx.parser.parse_model(BEFORE)
    view = ModelView(Document.from_proto(model))
    inner = next(scope for scope in view.scopes.all if scope.parent is not None)
    assert view.shapes.dims((inner.path, name)) is None
    assert AxisSizes(view).rank((inner.path, name)) == rank


def test_a_state_of_a_scan_has_the_rank_of_what_it_began_with():
    text = BEFORE.replace("rows = Scan", "last, rows = Scan").replace("}> (t)", "}> (t, t)")
    text = text.replace("(float[] row) => (", "(float[] state, float[] row) => (float[] next, ")
    model = onnx.parser.parse_model(text.replace("{ copy", "{ next = Identity (state) copy"))
    sizes = AxisSizes(ModelView(Document.from_proto(model)))
    inner = next(scope for scope in sizes.scopes.all if scope.parent is not None)
    assert [sizes.rank((inner.path, name)) for name in ("state", "next", "row")] == [4, 4, 3]


def test_a_promotion_before_a_scan_of_what_is_broadcast_leaves_it_a_rank():
    text = BEFORE.replace("}> (t)", "}> (u)").replace("rows = Scan", "u = Mul (t, v) rows = Scan")
    model = onnx.parser.parse_model(text.replace("[1,2,3,n] x", "[1,2,3,n] x, float[1] v"))
    feeds = {**FEEDS, "v": np.float32([0.5])}
    made = resizefix.promote_scales(model, verify=False)
    assert ranks(made.model) == [3]
    before = runs(model, feeds)
    after = runs(made.model, {**feeds, made.inputs[0].name: np.float32(made.inputs[0].value)})
    assert all(np.array_equal(before[name], after[name]) for name in before)
