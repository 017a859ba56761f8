"""onnxruntime makes room for what a Scan's body gives before it runs it: it must know the rank."""

import numpy as np
import pytest
from onnx_text import model
from resize_texts import in_another_file

import resizefix
from resizefix.document.document import Document
from resizefix.operations.rewriter import store_scan_ranks
from resizefix.runtimes.ort_session import open_session
from resizefix.shapes.axis_sizes import AxisSizes
from resizefix.shapes.stored_shapes import ModelView

SCAN = """(float[n,2,h,w] x) => (float[] rows, float[] ys) {
  t = Abs (x)
  rows, ys = Scan <num_scan_inputs = 1, body = each (float[] row) => (float[] copy, float[] y) {
    s = Constant <value = float[4] {1, 1, 2, 2}> () y = Resize (t, s) copy = Identity (row) }> (t)
}"""
# The rank of t follows from how many sizes there are, and from nothing else once the scale may be any.
BEFORE = """(float[1,2,3,n] x) => (float[1,2,6,8] y, float[] rows, float[] t) {
  s = Constant <value = float[4] {1, 1, 2, 2}> () y = Resize (x, "", s) shape = Shape (y) t = Reshape (y, shape)
  rows = Scan <num_scan_inputs = 1, body = each (float[] row) => (float[] copy) { copy = Identity (row) }> (t)
}"""
FEEDS = {"x": np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)}


def body_of(made):
    return next(attribute.g for attribute in made.graph.node[-1].attribute if attribute.name == "body")


def ranks(made):
    kinds = [value.type.tensor_type for value in body_of(made).output]
    return [len(kind.shape.dim) if kind.HasField("shape") else None for kind in kinds]


def runs(made, feeds):
    return open_session(Document.from_proto(made), optimized=False).run(feeds)


def same(before, after, feeds, **more) -> bool:
    expected, found = runs(before, feeds), runs(after, {**feeds, **more})
    return all(np.array_equal(expected[name], found[name]) for name in expected)


def test_a_replacement_whose_sizes_are_computed_leaves_the_scan_a_rank():
    before = model(SCAN, 10, ir=5)
    result = resizefix.legalize(before, target="tensorrt-8.0", verify=False)
    assert result.outcomes[0].reason.endswith("is stored, since onnxruntime needs it and does not infer it there")
    assert "Reshape" in [node.op_type for node in body_of(result.model).node]
    assert ranks(result.model) == [None, 4]
    assert same(before, result.model, {"x": np.arange(216, dtype=np.float32).reshape(3, 2, 6, 6)})


BROADCAST = BEFORE.replace("}> (t)", "}> (u)").replace("rows = Scan", "u = Mul (t, v) rows = Scan")


@pytest.mark.parametrize(
    ("text", "feeds"),
    [(BEFORE, FEEDS), (BROADCAST.replace("[1,2,3,n] x", "[1,2,3,n] x, float[1] v"), {**FEEDS, "v": np.float32([0.5])})],
    ids=["alone", "broadcast"],
)
def test_a_promotion_before_a_scan_leaves_it_a_rank(text, feeds):
    before = model(text)
    made = resizefix.promote_scales(before, verify=False)
    assert ranks(made.model) == [3]
    (source,) = made.inputs
    assert same(before, made.model, feeds, **{source.name: np.float32(source.value)})


def test_a_promotion_says_which_rank_it_stored():
    (outcome,) = resizefix.promote_scales(model(BEFORE), verify=False).outcomes
    assert outcome.exact
    assert outcome.reason == (
        "the rank of the body's output of Scan#3 is stored, since onnxruntime needs it and does not infer it there"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(t)\n", "(x)\n"),  # it does not depend on the change
        ("shape = Shape (y)", "shape = foreign.Sizes (y)"),  # nobody knows it
    ],
)
def test_a_rank_that_is_not_lost_or_not_known_is_not_stored(old, new):
    document = Document.from_proto(model(BEFORE.replace(old, new)))
    assert store_scan_ranks(document, [((), "y")]) == {}
    assert ranks(document.proto) == [None]


def test_a_rank_that_follows_from_fixed_sizes_is_left_to_onnxruntime():
    fixed = model(BEFORE.replace("[1,2,3,n]", "[1,2,3,4]"))
    assert store_scan_ranks(Document.from_proto(fixed), [((), "y")]) == {}
    assert runs(fixed, FEEDS)["rows"].shape == (1, 2, 6, 8)


def test_scales_in_another_file_hide_no_rank(tmp_path):
    """No runtime reads them there, which is no matter of ranks."""
    document = in_another_file(model(SCAN, 10, ir=5), tmp_path / "m.onnx", constants=True)
    assert body_of(document.proto).node[0].attribute[0].t.external_data
    assert store_scan_ranks(document, [((), "t")]) == {}
    assert ranks(document.proto) == [None, None]


def ranks_inside(text: str, *names: str) -> list[int | None]:
    """Of values in the body."""
    view = ModelView(Document.from_proto(model(text)))
    inner = next(scope for scope in view.scopes.all if scope.parent is not None)
    return [AxisSizes(view).rank((inner.path, name)) for name in names]


def test_the_rank_of_a_slice_is_one_less():
    assert ranks_inside(BEFORE, "row", "copy") == [3, 3]


def test_a_state_of_a_scan_has_the_rank_of_what_it_began_with():
    text = BEFORE.replace("rows = Scan", "last, rows = Scan").replace("}> (t)", "}> (t, t)")
    text = text.replace("(float[] row) => (", "(float[] state, float[] row) => (float[] next, ")
    assert ranks_inside(text.replace("{ copy", "{ next = Identity (state) copy"), "state", "next", "row") == [4, 4, 3]
