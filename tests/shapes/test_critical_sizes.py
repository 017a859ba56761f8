"""The sizes at which a model begins to do something else are found, whatever stands before what compares them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx_text import document

from resizefix.shapes.critical_sizes import critical_sizes
from resizefix.shapes.stored_shapes import ModelView

# What makes the axis that is compared, and the first size of the input at which it is at least `c`.
BEFORE = {
    "t = Identity(x)": lambda c: c,
    "t = Concat<axis = 2>(x, x)": lambda c: -(-c // 2),
    "t = Slice(x, three, last, one)": lambda c: c + 3,
    "t = MaxPool<kernel_shape = [2], strides = [2]>(x)": lambda c: 2 * c,
    "t = Resize(x, , twice)": lambda c: -(-c // 2),
}
COMPARING = (
    "y = Slice(t, zero, k, two)",
    "y = Slice(t, k, last, two)",
    "y, i = TopK<axis = 2>(t, k)",
    "s = Shape<start = 2>(t) y = Less(s, k)",
    "s = Shape<start = 2>(t) y = Min(s, k)",
    "s = Shape<start = 2>(t) f = Cast<to = 1>(s) g = Cast<to = 1>(k) d = Sub(f, g) y = Relu(d)",
    "s = Shape<start = 2>(t) d = Mod(s, k) y = Expand(d, k)",
    "r = Shape<start = 2>(t) p = Greater(r, k) q = Squeeze(p) "
    "y = If(q) <then_branch = a () => (u) { u = Neg(x) }, else_branch = b () => (v) { v = Abs(x) }>",
)
GRAPH = """(float[1,1,n] x) => (y) <int64[1] k = {%d}, int64[1] zero = {0}, int64[1] one = {2}, int64[1] two = {2},
    int64[1] three = {3}, int64[1] last = {9223372036854775807}, float[3] twice = {1.0, 1.0, 2.0}> { %s %s }"""


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 2000), st.sampled_from(sorted(BEFORE)), st.sampled_from(COMPARING))
def test_a_number_that_is_compared_with_a_size_has_the_size_at_which_it_is_met(c, before, comparing):
    model = document(GRAPH % (c, before, comparing), 18)
    axis = (("x", 2),)
    found = list(critical_sizes(ModelView(model), {"x": (1, 1, 48)}, axis, 2**18))
    wanted = {BEFORE[before](c), BEFORE[before](c + 1)}
    # Beyond: the first size at which more than c are there. Mod and Min begin at c itself.
    assert wanted & {high for _, high in found}
    assert all(high - low == 1 for low, high in found)


def test_without_any_such_number_there_is_none_and_sizes_stay_within_what_inputs_may_hold():
    model = document("(float[n,3] x) => (y) { y = Neg(x) }", 18)
    axis = (("x", 0),)
    assert not list(critical_sizes(ModelView(model), {"x": (5, 3)}, axis, 2**18))
    cut = document("(float[n,3] x) => (y) <int64[1] z = {0}, int64[1] e = {1000}> { y = Slice(x, z, e) }", 18)
    assert max(high for _, high in critical_sizes(ModelView(cut), {"x": (5, 3)}, axis, 2**18)) == 1001
    assert list(critical_sizes(ModelView(cut), {"x": (5, 3)}, axis, 3 * 900)) == [(0, 1)], "where nothing is cut off"


@pytest.mark.parametrize("count", [1, 40])
def test_a_chain_of_many_cuts_is_followed_in_bounded_time(count):
    nodes = " ".join(f"t{at + 1} = Slice(t{at}, one, last)" for at in range(count))
    text = """(float[n] x) => (y) <int64[1] one = {1}, int64[1] last = {9223372036854775807}, int64[1] e = {77},
        int64[1] z = {0}> { t0 = Identity(x) %s y = Slice(t%d, z, e) }"""
    model = document(text % (nodes, count), 18)
    found = list(critical_sizes(ModelView(model), {"x": (48,)}, (("x", 0),), 2**18))
    assert (77 + count, 78 + count) in found
