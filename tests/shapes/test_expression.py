import numpy as np
import pytest

from resizefix.shapes.expression import (
    Number,
    Size,
    UntraceableError,
    computed,
    evaluate,
    numbers_in,
    sizes_in,
    substituted,
)

H = Size(((), "x"), 2)


def integer(value: int) -> Number:
    return Number(value, "int64")


def test_what_is_made_of_numbers_alone_is_a_number():
    assert computed("Add", "int64", integer(2), integer(3)) == integer(5)
    assert computed("Less", "bool", integer(2), integer(3)) == Number(True, "bool")


def test_integers_are_divided_and_cast_towards_zero():
    assert computed("Div", "int64", integer(-7), integer(2)) == integer(-3)
    assert computed("Div", "int64", integer(7), integer(-2)) == integer(-3)
    assert computed("Cast", "int64", Number(-2.9, "float32")) == integer(-2)


def test_halves_are_rounded_to_even():
    rounded = [computed("Round", "float32", Number(value, "float32")) for value in (0.5, 1.5, 2.5)]
    assert [number.value for number in rounded] == [0, 2, 2]


def test_each_step_is_rounded_to_its_own_type():
    # float32(1.8) is below 1.8: exactly, five of it are less than 9. The float32 product is rounded to 9.
    def floor_of_product(dtype: str) -> int:
        factor = computed("Cast", dtype, Number(float(np.float32(1.8)), "float32"))
        product = computed("Mul", dtype, computed("Cast", dtype, H), factor)
        return int(evaluate(computed("Floor", dtype, product), {H: np.array(5)}))

    assert floor_of_product("float32") == 9
    assert floor_of_product("float64") == 8


def test_many_sizes_are_evaluated_at_once():
    doubled = computed("Mul", "int64", H, integer(2))
    np.testing.assert_array_equal(evaluate(doubled, {H: np.array([1, 5, 9])}), [2, 10, 18])


def test_a_choice_follows_its_condition():
    larger = computed("Where", "int64", computed("Less", "bool", H, integer(10)), integer(10), H)
    np.testing.assert_array_equal(evaluate(larger, {H: np.array([3, 30])}), [10, 30])


def test_a_cast_to_the_type_it_has_changes_nothing():
    assert computed("Cast", "int64", H) is H


def test_a_size_can_be_given_another_meaning():
    other = Size(((), "z"), 1)
    doubled = computed("Mul", "int64", H, integer(2))
    assert sizes_in(substituted(doubled, {H: other})) == {other}
    assert substituted(doubled, {H: integer(4)}) == integer(8)


def test_constants_are_found_from_the_outside_in():
    expression = computed("Add", "int64", computed("Mul", "int64", H, integer(2)), integer(1))
    assert [number.value for number in numbers_in(expression)] == [1, 2]


def test_an_expression_that_doubles_at_every_step_ends_the_walk_in_time():
    def doubled(times: int):
        return computed("Add", "int64", *[doubled(times - 1)] * 2) if times else H

    assert sizes_in(doubled(5)) == {H}
    with pytest.raises(UntraceableError, match="too long"):
        doubled(60)
