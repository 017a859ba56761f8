"""Comparison of outputs: bits, numbers, kinds."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from onnx import TensorProto, helper

from resizefix.outcome import Differences
from resizefix.verification.compare import allclose, compare

NAN, INF = math.nan, math.inf
OTHER_NAN = np.array([0x7FC00001], np.uint32).view(np.float32)[0]


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def difference(before: object, after: object) -> Differences:
    return compare({"y": before}, {"y": after})


BITS = hnp.arrays(np.uint32, hnp.array_shapes(min_dims=0, max_dims=3, max_side=4))


@settings(max_examples=60)
@given(BITS)
def test_any_bits_equal_themselves(bits):
    value = bits.view(np.float32)
    found = difference(value, value.copy())
    assert (found.bitwise, found.max_abs_diff, found.max_rel_diff, found.reason) == (True, 0, 0, None)


@settings(max_examples=60)
@given(BITS, st.data())
def test_bitwise_is_equality_of_bytes(bits, data):
    other = data.draw(hnp.arrays(np.uint32, bits.shape, elements=st.sampled_from([0, 1, 0x80000000, 0x7FC00000])))
    found = difference(bits.view(np.float32), other.view(np.float32))
    assert found.bitwise == (bits.tobytes() == other.tobytes())
    assert (found.reason is None) == found.bitwise


@settings(max_examples=60)
@given(hnp.arrays(np.float32, 5), hnp.arrays(np.float32, 5))
def test_the_absolute_difference_does_not_depend_on_the_order(a, b):
    assert difference(a, b).max_abs_diff == difference(b, a).max_abs_diff


@pytest.mark.parametrize(
    ("before", "after", "max_abs_diff"),
    [
        (floats(1, 2), floats(1, 2.5), 0.5),
        (floats(INF, 1), floats(INF, 1.25), 0.25),  # infinities of one sign agree
        (floats(INF), floats(-INF), INF),
        (floats(INF), floats(1), INF),
        (floats(NAN, 1), floats(NAN, 3), 2),
        (floats(NAN), floats(1), INF),
        (floats(1), floats(NAN), INF),
        (np.array([250], np.uint8), np.array([3], np.uint8), 247),
        (np.array([-128], np.int8), np.array([127], np.int8), 255),
        (np.array([-(2**63)]), np.array([2**63 - 1]), 2.0**64),
        (np.array([True]), np.array([False]), 1),
        (np.array([3 + 4j]), np.array([0j]), 5),
        (np.array([65504], np.float16), np.array([-65504], np.float16), 131008),
        (np.array([1e308]), np.array([-1e308]), INF),
        (np.array(1.0), np.array(2.0), 1),
    ],
)
def test_the_largest_difference_is_found(before, after, max_abs_diff):
    found = difference(before, after)
    assert not found.bitwise
    assert found.max_abs_diff == max_abs_diff


def test_the_relative_difference_is_that_to_the_largest_finite_value_before_and_the_reason_says_where():
    assert difference(floats(INF, -8, 1), floats(INF, -8, 3)).max_rel_diff == 0.25
    assert difference(floats(0, 0), floats(0, 1e-30)).max_rel_diff == INF
    found = difference(floats(1, 2, 3).reshape(1, 3), floats(1, 2.5, 4).reshape(1, 3))
    assert found.reason == "output 'y' differs in 2 of 3 elements, by at most 1: 3.0 before and 4.0 after at [0, 2]"
    assert compare({"y": floats(1)}, {}).reason == "output 'y' exists only before"
    assert compare({}, {"y": floats(1)}).reason == "output 'y' exists only after"


@pytest.mark.parametrize(
    ("before", "after"), [(floats(0.0, 1), floats(-0.0, 1)), (floats(NAN, 1), np.array([OTHER_NAN, 1], np.float32))]
)
def test_the_sign_of_zero_and_the_payload_of_nan_are_differences_of_bits_alone(before, after):
    found = difference(before, after)
    assert (found.bitwise, found.max_abs_diff, found.max_rel_diff) == (False, 0, 0)
    assert found.reason == "output 'y' differs in the sign of zeros or the payload of NaNs alone (1 of 2 elements)"


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (np.zeros((1, 8)), np.zeros((8, 1)), "output 'y' is float64[1, 8] before and float64[8, 1] after"),
        (floats(1), np.array([1.0]), "output 'y' is float32[1] before and float64[1] after"),
        ([floats(1)], [floats(1), floats(2)], "output 'y' is a sequence of 1 before and a sequence of 2 after"),
        ([floats(1)], [floats(1, 2)], "output 'y' is at [0] float32[1] before and float32[2] after"),
        (floats(1), [floats(1)], "output 'y' is a tensor before and a sequence of 1 after"),
        (floats(1), None, "output 'y' is a tensor before and absent after"),
        (None, floats(1), "output 'y' is absent before and a tensor after"),
        ([], None, "output 'y' is a sequence of 0 before and absent after"),
        ({}, [], "output 'y' is an empty map before and a sequence of 0 after"),
        ({0: floats(1)}, [floats(1)], "output 'y' is a map of 0 before and a sequence of 1 after"),
        ([[], []], [[], None], "output 'y' is at [1] a sequence of 0 before and absent after"),
        ({1: 1.0}, {True: 1.0}, "output 'y' is a map of 1 before and a map of True after"),
        ({"a": 1.0}, {"b": 1.0}, "output 'y' is a map of 'a' before and a map of 'b' after"),
        (np.array([["a", "b"]], object), np.array([["a", "c"]], object),
         "output 'y' differs: 'b' before and 'c' after at [0, 1]"),
    ],
)  # fmt: skip
def test_values_of_another_kind_cannot_be_told_apart_by_a_number(before, after, reason):
    found = difference(before, after)
    assert not found.bitwise
    assert found.max_abs_diff == found.max_rel_diff == INF
    assert found.reason == reason


@pytest.mark.parametrize(
    "value", [None, [], [floats(1), None], {"a": 1.0, "b": 2.0}, np.array(["a"], object), np.zeros((0, 3), np.float32)]
)
def test_values_without_numbers_equal_themselves(value):
    assert difference(value, value).bitwise


def test_sequences_and_maps_are_compared_piece_by_piece():
    found = difference([floats(1), floats(2)], [floats(1), floats(4)])
    assert found.max_abs_diff == 2
    assert found.reason.startswith("output 'y'[1] differs in 1 of 1 element")
    assert difference([{"a": 1.0}], [{"a": 1.5}]).max_abs_diff == 0.5


def test_the_reason_is_that_of_the_output_that_differs_most():
    found = compare({"a": floats(100), "b": floats(1)}, {"a": floats(101), "b": floats(1.5)})
    assert found.max_abs_diff == 1
    assert found.max_rel_diff == 0.5
    assert found.reason.startswith("output 'b'")


@pytest.mark.parametrize("elem_type", [TensorProto.BFLOAT16, TensorProto.FLOAT8E5M2, TensorProto.INT4])
def test_types_that_numpy_lacks_are_compared_as_numbers(elem_type):
    dtype = helper.tensor_dtype_to_np_dtype(elem_type)
    before, after = floats(1, 2).astype(dtype), floats(1, 4).astype(dtype)
    assert difference(before, before.copy()).bitwise
    assert difference(before, after).max_abs_diff == 2
    assert difference(before, after.astype(np.float32)).max_abs_diff == INF


@pytest.mark.parametrize(
    ("before", "after", "atol", "rtol", "close"),
    [
        (floats(1, 100), floats(1, 101), 1, 0, True),
        (floats(1, 100), floats(1, 101), 0.9, 0, False),
        (floats(1, 100), floats(1, 101), 0, 0.01, True),
        (floats(1, 100), floats(1.5, 100), 0, 0.01, False),  # of its own value, not of the largest
        (floats(INF, NAN), floats(INF, NAN), 0, 0, True),
        (floats(INF), floats(1), 1e30, 1, False),
        (floats(1), floats(NAN), 1e30, 1, False),
        (floats(0.0), floats(-0.0), 0, 0, True),
        (np.array([5], np.uint8), np.array([4], np.uint8), 1, 0, True),
        (np.array(["a"], object), np.array(["b"], object), 9, 9, False),
        (floats(1), floats(1, 1), 9, 9, False),
        ([floats(1)], [floats(2)], 1, 0, True),
    ],
)
def test_closeness_is_elementwise(before, after, atol, rtol, close):
    assert allclose(before, after, atol=atol, rtol=rtol) is close
