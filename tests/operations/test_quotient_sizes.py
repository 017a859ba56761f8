"""Scales that are another tensor's size divided by the own become sizes, where the two tensors meet."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_text
import ort_runs
import pytest

import resizefix
from resizefix.document.document import Document
from resizefix.shapes.size_quotients import SizeQuotients
from resizefix.shapes.stored_shapes import ModelView

PYRAMID = """(float[1,1,h,w] x) => (float[?,?,?,?] y)
    <float[1,1,3,3] k = {0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9}, int64[1] i0 = {0}, int64[1] i2 = {2}, int64[1] i4 = {4},
     float[2] ones = {1, 1}> {
      c1 = Conv <pads = [1, 1, 1, 1], strides = [FIRST]> (x, k)
      c2 = Conv <pads = [1, 1, 1, 1], strides = [SECOND]> (c1, k)
      s1 = Shape (WANTED) hw1 = Slice (s1, i2, i4, i0) f1 = Cast <to = 1> (hw1)
      s2 = Shape (c2) hw2 = Slice (s2, i2, i4, i0) f2 = Cast <to = 1> (hw2)
      ratio = Div (f1, f2) scales = Concat <axis = 0> (ones, ratio)
      [up] big = Resize <mode = "MODE"> (c2, scales) LAST }"""


def pyramid(mode: str = "nearest", **words: str) -> onnx.ModelProto:
    text = PYRAMID.replace("MODE", mode)
    usual = {"FIRST": "1, 1", "SECOND": "2, 2", "WANTED": "c1", "LAST": "y = Add (big, c1)"}
    for word, value in {**usual, **words}.items():
        text = text.replace(word, value)
    return onnx_text.model(text, 10, ir=6)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("target", ["tensorrt-8.0", "tensorrt-8.2"])
def test_the_node_reads_the_sizes_and_gives_every_bit(mode: str, target: str) -> None:
    before = pyramid(mode)
    result = resizefix.legalize(before, target=target)
    (node,) = [node for node in result.model.graph.node if node.op_type == "Resize"]
    assert node.input[3]
    assert result.model.opset_import[0].version == 11
    for height, width in ((7, 9), (64, 68), (1, 1), (35, 39), (101, 202)):
        x = np.random.default_rng(0).standard_normal((1, 1, height, width)).astype(np.float32)
        expected, found = (ort_runs.run(model, {"x": x})[0] for model in (before, result.model))
        np.testing.assert_array_equal(expected, found)


@pytest.mark.parametrize("words", [
    {"LAST": "y = Identity (big)"},  # meets nothing: a quotient that falls short is a size of its own
    {"FIRST": "3, 3", "SECOND": "1, 1", "WANTED": "x"},  # it is not as large as what it meets
], ids=["meets nothing", "meets another size"])  # fmt: skip
def test_where_it_is_not_certain_the_node_is_refused(words: dict[str, str]) -> None:
    result = resizefix.legalize(pyramid(**words), target="tensorrt-8.0", on_refusal="return")
    assert not result


BEHIND = """sum = Add (big, c1) c3 = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (sum, k)
      s3 = Shape (c3) hw3 = Slice (s3, i2, i4, i0) f3 = Cast <to = 1> (hw3)
      behind = Div (f1, f3) scales2 = Concat <axis = 0> (ones, behind)
      [last] bigger = Resize <mode = "linear"> (c3, scales2) y = Add (bigger, c1)"""


def test_scales_that_are_constant_once_the_ones_before_them_are_stay_scales() -> None:
    before = pyramid("linear", LAST=BEHIND, **{"1,1,h,w": "1,1,16,24"})
    after = resizefix.legalize(before, target="tensorrt-8.0").model
    assert after.opset_import[0].version == 10
    assert [len(node.input) for node in after.graph.node if node.op_type == "Resize"] == [2, 2]
    assert not any(node.op_type == "Shape" for node in after.graph.node)
    x = np.random.default_rng(0).standard_normal((1, 1, 16, 24)).astype(np.float32)
    assert np.array_equal(*(ort_runs.run(model, {"x": x})[0] for model in (before, after)))


def test_whether_an_axis_grows_is_seen_at_every_length() -> None:
    view = ModelView(Document.from_proto(pyramid()))
    quotients, main = SizeQuotients(view), view.scopes.main
    found = quotients.dividends(main, "c2", "scales")
    assert found is not None
    assert [None if size is None else (size.tensor[1], size.axis) for size in found] == [
        None,
        None,
        ("c1", 2),
        ("c1", 3),
    ]
    assert quotients.grow(main, "c2", found)
    smaller = pyramid(FIRST="2, 2", SECOND="1, 1", WANTED="c1", LAST="y = Identity (big)")
    view = ModelView(Document.from_proto(smaller))
    found = SizeQuotients(view).dividends(view.scopes.main, "c2", "scales")
    assert found is not None
    assert not SizeQuotients(view).grow(view.scopes.main, "x", found)
