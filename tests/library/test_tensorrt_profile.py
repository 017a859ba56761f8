"""The range of every input that an engine is built for: as the user says, or around sizes that the model runs at."""

import pytest
from onnx_text import document

from resizefix.diagnostics import UsageError
from resizefix.library.tensorrt_profile import Range, checked, planned
from resizefix.runtimes.tensorrt import NetworkInput

X = NetworkInput("x", (1, 3, None, None))


PLAIN = document("(float[1,3,h,w] x, int64[1] f) => (float[a,b,c,d] y) { y = Relu (x) }")


def test_opt_alone_stands_for_all_three_as_in_trtexec():
    assert checked({"x": {"opt": (1, 3, 8, 8)}}, PLAIN) == {
        "x": {"min": [1, 3, 8, 8], "opt": [1, 3, 8, 8], "max": [1, 3, 8, 8]}
    }


def test_the_profile_of_a_promotion_is_one():
    assert checked({"f": Range((1,), (2,), (4,))}, PLAIN) == {"f": {"min": [1], "opt": [2], "max": [4]}}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"k": {"opt": [1]}}, "there is no input 'k' to give a range; the inputs are x, f"),
        ({"x": {"min": [1, 3, 8, 8]}}, "opt, max is missing"),
        ({"x": {"min": [1, 3, 8, 8], "opt": [1, 3, 4, 8], "max": [1, 3, 8, 8]}}, "min ≤ opt ≤ max"),
        ({"x": {"min": [1, 3, 8, 8], "opt": [1, 3, 8, 8], "max": [1, 3, 8, 4]}}, "min ≤ opt ≤ max"),
        ({"x": {"min": [1, 3, 8], "opt": [1, 3, 8, 8], "max": [1, 3, 8, 8]}}, "min ≤ opt ≤ max"),
    ],
)
def test_a_profile_that_is_none_is_a_usage_error(given, says):
    with pytest.raises(UsageError, match=says):
        checked(given, PLAIN)


@pytest.mark.parametrize(
    ("entry", "opt", "says"),
    [
        (X, [1, 3, 8], "has shape 1x3x\\?x\\?; 1x3x8 does not fit"),
        (X, [1, 4, 8, 8], "1x4x8x8 does not fit"),
        (NetworkInput("x", (1,), decides_shapes=True), [1, 2], "range is of its 1 value"),
        (NetworkInput("other", ()), [1, 3, 8, 8], "'x' has a default, which TensorRT treats as a constant"),
    ],
)
def test_a_range_that_does_not_fit_its_input_is_a_usage_error(entry, opt, says):
    with pytest.raises(UsageError, match=says):
        planned(PLAIN, [entry], checked({"x": {"opt": opt}}, PLAIN))


def test_nothing_is_chosen_where_every_size_is_known():
    plan = planned(PLAIN, [NetworkInput("x", (1, 3, 8, 8))], {})
    assert (plan.wide, plan.narrow, plan.chosen) == ({}, {}, ())


def test_heights_and_widths_grow_and_batch_and_channels_do_not():
    any_size = NetworkInput("x", (None,) * 4)
    plan = planned(document("(float[n,c,h,w] x) => (float[n,c,h,w] y) { y = Relu (x) }"), [any_size], {})
    assert plan.wide["x"] == {"min": [1, 3, 32, 48], "opt": [1, 3, 64, 96], "max": [1, 3, 128, 192]}
    assert plan.narrow["x"]["max"] == [1, 3, 32, 48]


def test_what_the_user_gave_of_one_input_holds_for_the_others():
    given = document("(float[1,3,h,w] x, float[1,3,h,w] z) => (float[1,3,h,w] y) { y = Add (x, z) }")
    z = NetworkInput("z", (1, 3, None, None))
    plan = planned(given, [X, z], checked({"x": {"opt": [1, 3, 10, 20]}}, given))
    assert plan.chosen == ("z",)
    assert plan.narrow["z"]["opt"] == [1, 3, 10, 20]


def test_the_sizes_are_such_that_the_model_runs():
    """A skip connection over five halvings fits multiples of 32 alone."""
    given = document(
        "(float[1,1,h,w] x) => (float[a,b,c,d] y) <float[4] s = {1,1,64,64}> {"
        " p = AveragePool <kernel_shape = [64, 64], strides = [64, 64]> (x) u = Resize (p, , s) y = Add (u, x) }"
    )
    plan = planned(given, [NetworkInput("x", (1, 1, None, None))], {})
    assert plan.narrow["x"]["opt"] == [1, 1, 64, 64]
    assert plan.wide["x"]["max"] == [1, 1, 256, 256]


def test_a_model_that_onnxruntime_cannot_run_gets_the_likeliest_sizes():
    given = document("(float[1,3,h,w] x) => (float[1,3,h,w] y) { y = Relu (x) z = acme.Unknown (x) }", 13, "acme")
    assert planned(given, [X], {}).narrow["x"]["opt"] == [1, 3, 32, 48]


FACTOR = "shape = Shape (x) all = Concat <axis = 0> (d, d, f, f) more = Mul (shape, all)"


@pytest.mark.parametrize(
    ("inputs", "body", "expected"),
    [
        # times the shape: a factor; over a denominator: in its units
        ("int64[1] f", f"{FACTOR} y = Resize (x, , , more)", [[1], [2], [4]]),
        ("int64[1] f", f"{FACTOR} z = Div (more, k) y = Resize (x, , , z)", [[1000], [2000], [4000]]),
        # a factor for every axis: batch and channels stay
        ("int64[4] f", "s = Cast <to = 1> (f) y = Resize (x, , s)", [[1, 1, 1, 1], [1, 1, 2, 2], [1, 1, 4, 4]]),
        # sizes
        ("int64[4] f", "y = Resize (x, , , f)", [[1, 3, 16, 16], [1, 3, 32, 32], [1, 3, 64, 64]]),
        # neither: what it runs with, and nothing else
        ("int64[4] f", "y = Reshape (x, f)", [[1, 3, 8, 8]] * 3),
    ],
)
def test_an_input_that_decides_shapes_is_given_values_by_what_it_is_used_for(inputs, body, expected):
    unit = 1000 if "(more, k)" in body else 1
    given = document(
        f"(float[1,3,8,8] x, {inputs}) => (float[a,b,c,d] y) <int64[1] d = {{{unit}}}, int64[1] k = {{1000}}>"
        f" {{ {body} }}"
    )
    length = 4 if "[4]" in inputs else 1
    plan = planned(given, [NetworkInput("f", (length,), decides_shapes=True)], {})
    assert [plan.wide["f"][bound] for bound in ("min", "opt", "max")] == expected
