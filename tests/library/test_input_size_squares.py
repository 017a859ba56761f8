"""Numbers of square maps, which do not tell the height from the width."""

from itertools import product

import numpy as np
import pytest
from exhaustive import EXHAUSTIVE
from size_networks import NEW, assert_follows, built, called, refused, run

import resizefix

SQUARE = (32, 32)


def test_a_square_that_stays_one_need_not_say_which_side_a_number_follows():
    def diagonal(n, h, w):
        both = n.Add(n.floats(np.arange(w).reshape(1, 1, 1, w)), n.floats(np.arange(h).reshape(1, 1, h, 1)))
        return n.Add(n.conv("x", 3, 2), n.Div(both, n.floats(w - 1)))

    assert_follows(diagonal, (48, 48), old=SQUARE)
    assert refused(built(diagonal, SQUARE), NEW)


def test_a_number_that_divides_columns_does_not_say_which_side_of_a_square_another_is():
    def counted(n, h, w):
        y = n.conv("x", 3, 1)
        columns = n.Div(n.floats(np.arange(w).reshape(1, 1, 1, w)), n.floats(w))
        rows = n.CumSum(n.floats(np.ones((1, 1, h, w))), n.Identity(np.array(2)))
        return n.Add(n.Add(y, columns), n.Div(rows, n.floats(h)))

    assert refused(built(counted, SQUARE), NEW) == ("Div_5", "origins.input-size-number")


def test_two_equal_numbers_that_divide_values_on_a_square_map_are_its_sides():
    def tokens(n, h, w):
        y = n.Transpose(n.Reshape(n.conv("x", 3, 2, 2), [1, 2, h * w // 4]), perm=[0, 2, 1])
        return n.Div(y, n.floats([w // 2, h // 2]))

    def enlarged(n, h, w):
        y = n.ConvTranspose("x", n.weight(3, 2, 2, 2), strides=[2, 2])
        y = n.Transpose(n.Reshape(y, [1, 2, 4 * h * w]), perm=[0, 2, 1])
        return n.Div(y, n.floats([2 * w, 2 * h]))

    for build in (tokens, enlarged):
        assert refused(built(build, (28, 28)), (48, 32)) == ("Div_3", "origins.input-size-numbers")
        assert_follows(build, (48, 48), old=(28, 28))


def positions(n, h, w):
    return n.Cast(n.ArgMax(n.conv("x", 3, 2), axis=3, keepdims=1), to=1)


def sums(n, h, w):
    return n.ReduceSum(n.conv("x", 3, 2), [3], keepdims=1)


def scores_of_positions(n, h, w):
    """Each sample beside each other one, of a map to which the best column was added."""
    y = n.Reshape(n.Add(n.conv("x", 3, 2), positions(n, h, w)), [1, 2, h * w])
    return n.MatMul(n.Transpose(y, perm=[0, 2, 1]), y)


def gated_positions(n, h, w):
    return n.Mul(positions(n, h, w), n.Sigmoid(n.conv("x", 3, 2)))


def data(n, h, w):
    return n.conv("x", 3, 2)


MEANINGS = {"width": lambda h, w: w, "root": lambda h, w: (h * w) ** 0.5, "itself": lambda h, w: SQUARE[1]}


CASES = list(product([positions, sums, scores_of_positions, gated_positions, data], [True, False], MEANINGS))


@pytest.mark.parametrize(("values", "divides", "meaning"), CASES if EXHAUSTIVE else CASES[::7])
def test_of_a_square_map_a_side_the_root_of_its_area_and_a_plain_number_are_never_taken_for_each_other(
    values, divides, meaning
):
    """Whatever the network means, what is written is it, or an argument that is printed or offered gives it."""

    def build(n, h, w):
        number = MEANINGS[meaning](h, w)
        y = values(n, h, w)
        return n.Div(y, n.floats(number)) if divides else n.Mul(y, n.floats(1 / number))

    model, wanted = built(build, SQUARE), run(built(build, NEW), NEW)
    result = resizefix.input_size(model, size=NEW, on_refusal="return")
    ways = [use.args for use in result.resolution.assumed]
    ways += [one.args(reading.name) for one in result.resolution.choices for reading in one.readings]
    results = [result, *(called(model, args) for args in ways)]
    assert any(bool(one) and np.allclose(run(one.model, NEW), wanted, rtol=1e-5, atol=1e-6) for one in results)
