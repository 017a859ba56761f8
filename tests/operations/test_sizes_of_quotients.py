"""`set form=sizes` of scales that are the size of another tensor divided by the own."""

from functools import cache

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx_text import model
from ort_runs import run
from resize_texts import refusal

import resizefix
from resizefix.shapes.output_size import kernel_length

TEXT = """(float[1,1,2,w] x) => (float[?,?,?,?] y)
    <float[1,1,1,1] k = {1}, int64[1] two = {2}, int64[1] four = {4}, float[2] ones = {1, 1}> {
      a = Conv <strides = [1, STRIDE]> (x, k)
      s0 = Shape (x) hw = Slice (s0, two, four) hwf = Cast <to = 1> (hw)
      s1 = Shape (a) hw1 = Slice (s1, two, four) hw1f = Cast <to = 1> (hw1)
      ratio = Div (hwf, hw1f) sc = Concat <axis = 0> (ones, ratio)
      [up] big = Resize <mode = "MODE"> (a, ROI sc) LAST }"""


def decoder(stride: int, mode: str = "linear", last: str = "y = Identity (big)", opset: int = 13) -> onnx.ModelProto:
    words = {"STRIDE": str(stride), "MODE": mode, "LAST": last, "ROI": "," if opset > 10 else ""}
    text = TEXT
    for word, value in words.items():
        text = text.replace(word, value)
    return model(text, opset, ir=6)


def line(length: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(length).standard_normal((1, 1, 2, length)).astype(np.float32)}


def short_lengths(stride: int, longest: int = 2**14) -> list[int]:
    """Where the float32 quotient times the own size is not the size that it aims at."""
    sizes = {length: (length - 1) // stride + 1 for length in range(1, longest + 1)}
    quotient = {length: np.float32(length) / np.float32(size) for length, size in sizes.items()}
    return [length for length, size in sizes.items() if kernel_length(float(quotient[length]), size) != length]


STRIDES = (2, 3, 4, 5, 7)


@cache
def made_of(stride: int) -> resizefix.Result[onnx.ModelProto]:
    return resizefix.set_interpolation(decoder(stride), form="sizes", shape={"x": (1, 1, 2, 24)})


@pytest.mark.parametrize("stride", STRIDES)
def test_the_answer_says_whether_a_quotient_falls_short_anywhere(stride):
    (outcome,) = made_of(stride).outcomes
    assert outcome.exact is not bool(short_lengths(stride))
    assert ("make one pixel less" in outcome.reason) is bool(short_lengths(stride))
    assert made_of(stride).verification.passed


def test_the_strides_hold_both_cases():
    assert len({bool(short_lengths(stride)) for stride in STRIDES}) == 2


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(STRIDES), st.integers(1, 3000))
def test_the_node_has_every_bit_wherever_the_quotient_gives_the_size_and_else_the_size(stride, length):
    before, after = (run(one, line(length))[0] for one in (decoder(stride), made_of(stride).model))
    assert after.shape[3] == length
    if before.shape == after.shape:
        assert np.array_equal(before, after)
    else:
        assert length in short_lengths(stride, length)


def test_where_the_result_meets_a_tensor_of_that_size_it_is_exact_though_a_quotient_falls_short():
    stride = next(stride for stride in STRIDES if short_lengths(stride))
    model_ = decoder(stride, last="y = Add (big, x)")
    (outcome,) = resizefix.set_interpolation(model_, form="sizes", shape={"x": (1, 1, 2, 24)}).outcomes
    assert outcome.exact


def test_opset_10_is_raised_first_on_request():
    before = decoder(2, opset=10)
    assert "opset 11 has" in refusal(resizefix.set_interpolation(before, form="sizes", on_refusal="return"))
    after = resizefix.set_interpolation(before, form="sizes", opset=11, shape={"x": (1, 1, 2, 24)}).model
    for length in (1, 8, 37):
        assert np.array_equal(run(before, line(length))[0], run(after, line(length))[0])


def test_scales_that_are_no_quotients_are_refused_as_before():
    other = decoder(2)
    for node in other.graph.node:
        node.op_type = "Mul" if node.op_type == "Div" else node.op_type
    result = resizefix.set_interpolation(other, form="sizes", on_refusal="return")
    assert "not constant" in refusal(result)
