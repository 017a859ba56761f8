"""Numbers of square maps, which do not tell the height from the width."""

import numpy as np
from size_networks import NEW, assert_follows, built, refused

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
