"""What two models have in common at their borders."""

import numpy as np
import onnx_text
import pytest

from resizefix.diagnostics import UsageError
from resizefix.document.document import Document
from resizefix.verification.signatures import Feeding, NotComparableError, common_inputs, output_names


def document(inputs: str, outputs: str = "float y", initializers: str = "", ir: int = 8) -> Document:
    return onnx_text.document(f"({inputs}) => ({outputs}) {initializers} {{ }}", 17, ir=ir)


def missing(before: str, after: str, **feeding: object) -> UsageError:
    """What is said of inputs that have no value."""
    with pytest.raises(UsageError) as error:
        common_inputs(document(before), document(after), Feeding(**feeding))
    return error.value


DEFAULTED = document("float[2] s", initializers="<float[2] s = {2, 3}>")


def shapes(before: str, after: str) -> list[tuple[object, ...] | None]:
    inputs, _ = common_inputs(document(before), document(after), Feeding())
    return [entry.shape for entry in inputs]


@pytest.mark.parametrize(
    ("before", "after", "shape"),
    [
        ("float[n,3] x", "float[n,3] x", ("n", 3)),
        ("float[n,3] x", "float[1,3] x", (1, 3)),
        ("float[1,3] x", "float[n,m] x", (1, 3)),
        ("float[?,h] x", "float[n,w] x", ("n", "h")),
        ("float[] x", "float[4] x", (4,)),
        ("float[4] x", "float[] x", (4,)),
    ],
)
def test_an_input_of_both_satisfies_both(before, after, shape):
    assert shapes(before, after) == [shape]


@pytest.mark.parametrize("after", ["float16[1,3] x", "float[2,3] x", "float[1,3,1] x", "seq(float[1,3]) x"])
def test_an_input_of_another_type_cannot_be_compared(after):
    with pytest.raises(NotComparableError, match=r"Input 'x' is float\[1,3\] in BEFORE and .* in AFTER"):
        shapes("float[1,3] x", after)


def test_an_input_of_one_side_needs_a_value():
    before, after = "float[1] x", "float[1] x, float[4] x_scales"
    assert "Only AFTER has the input 'x_scales' (float[4])." in str(missing(before, after))
    assert "Only BEFORE has the input 'x_scales'" in str(missing(after, before))
    inputs, values = common_inputs(document(before), document(after), Feeding({"x_scales": [1, 1, 2, 2]}))
    assert [entry.name for entry in inputs] == ["x", "x_scales"]
    assert values == {"x_scales": [1, 1, 2, 2]}


@pytest.mark.parametrize(
    ("type_", "example"), [("float f", "f=3"), ("float[1] f", "f=3"), ("int64[2] f", "f=3,3"), ("float[n] f", "f=1,…")]
)
def test_the_example_has_as_many_numbers_as_the_input_wants(type_, example):
    assert str(missing("", type_)).endswith(f"--feed {example}")


def test_all_inputs_that_are_missing_are_named_with_what_to_type():
    error = missing("float[1] x, float[2] s", "float[1] x, float[4] t, int64[1] u")
    assert str(error) == (
        "Only BEFORE has the input 's' (float[2]). Only AFTER has the inputs 't' (float[4]), 'u' (int64[1]). "
        "Give them a value, for example --feed s=3,3 --feed t=1,1,3,3 --feed u=3"
    )
    assert error.retry_args == ("--feed", "s=3,3", "--feed", "t=1,1,3,3", "--feed", "u=3")


@pytest.mark.parametrize(
    ("type_", "known", "shown"),
    [
        ("float[2] f", (2.5, float(np.float32(1.8))), "2.5,1.8"),
        ("float[2] f", (4.0, 4.0), "4,4"),
        ("int64[2] f", (60.0, 72.0), "60,72"),
        ("int64[1] f", (2.5,), "3"),  # a divisor stands between, which is not known here
        ("float[2] f", (4.0,), "3,3"),
    ],
)
def test_what_is_known_of_the_other_model_is_proposed_where_the_input_can_hold_it(type_, known, shown):
    error = missing("", type_, examples=lambda: {"f": known})
    assert error.retry_args == ("--feed", f"f={shown}")


@pytest.mark.parametrize("type_", ["float[n] f", "float[2,3] f"])
def test_what_cannot_be_typed_is_not_proposed(type_):
    assert missing("", type_).retry_args == ()


def test_an_input_of_one_side_with_a_default_is_left_to_it():
    after = document("float[1] x, float[2] s", initializers="<float[2] s = {2, 3}>")
    inputs, values = common_inputs(document("float[1] x"), after, Feeding())
    assert [entry.name for entry in inputs] == ["x"]
    assert values == {}


def test_a_default_that_only_one_side_has_is_fed_to_both():
    for pair in ((document("float[2] s"), DEFAULTED), (DEFAULTED, document("float[2] s"))):
        inputs, values = common_inputs(*pair, Feeding())
        assert not inputs[0].has_default
        np.testing.assert_array_equal(values["s"], [2, 3])
        assert common_inputs(*pair, Feeding({"s": [4, 5]}))[1] == {"s": [4, 5]}


def test_a_default_on_both_sides_is_fed_to_neither():
    inputs, values = common_inputs(DEFAULTED, DEFAULTED, Feeding())
    assert (inputs[0].has_default, values) == (True, {})


def test_a_value_for_an_input_that_neither_has_is_a_wrong_argument():
    with pytest.raises(UsageError, match=r"Neither model has an input 'q'. Their inputs are: x, z"):
        common_inputs(document("float x"), document("float x, float z"), Feeding({"q": 1}))


def test_an_optional_of_one_side_may_stay_away():
    inputs, _ = common_inputs(document("float[1] x"), document("float[1] x, optional(float[1]) o"), Feeding())
    assert [entry.name for entry in inputs] == ["x"]


@pytest.mark.parametrize(
    ("after", "names"), [("float b, float a", {"a": "a", "b": "b"}), ("float c, float d", {"c": "a", "d": "b"})]
)
def test_outputs_go_by_name_in_any_order_and_by_position_where_all_were_renamed(after, names):
    assert output_names(document("", "float a, float b"), document("", after)) == names


@pytest.mark.parametrize("after", ["float a", "float a, float c", "float c", "float a, float b, float c"])
def test_other_sets_of_outputs_cannot_be_compared(after):
    with pytest.raises(NotComparableError, match="different outputs"):
        output_names(document("", "float a, float b"), document("", after))
