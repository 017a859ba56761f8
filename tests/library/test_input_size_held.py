"""Numbers that what stands behind them holds, though the map that they are made for moves: asked for, never left."""

import numpy as np
import pytest
from size_networks import NEW, OLD, assert_follows, built, refused

import resizefix


def strips_spread(n, h, w):
    """The mean of each of four strips, spread over it again; a matrix over the columns stands behind."""
    strips = n.Reshape(n.conv("x", 3, 2), [1, 2, h, 4, w // 4])
    y = n.Expand(n.ReduceMean(strips, axes=[4]), [1, 2, h, 4, w // 4])
    return n.MatMul(n.Reshape(y, [1, 2, h, w]), n.weight(w, w))


def shifted_and_cut_in_halves(n, h, w):
    """A row of zeros above, the last row gone; then two halves change their places."""
    zeros = n.const(np.zeros((1, 2, 1, w)), np.float32)
    y = n.Concat(zeros, n.Slice(n.conv("x", 3, 2), [0], [h - 1], [2]), axis=2)
    n.Split(y, [h // 2, h // 2], outputs=["upper", "lower"], axis=2)
    return n.Concat("lower", "upper", axis=2)


def cut_of_all_with_a_strip(n, h, w):
    y = n.Slice(n.Resize(n.conv("x", 3, 2, 2), "", "", [1, 2, h, w]), [0, 0], [h, w], [2, 3])
    n.Split(y, [8, h - 8], outputs=["strip", "rest"], axis=2)
    return n.Concat(n.Relu("strip"), "rest", axis=2)


def back_from_a_size_of_its_own(n, h, w):
    """A map of fixed size, resized to the image's: a filter over all of it stands behind."""
    y = n.Resize(n.conv("x", 3, 2), "", "", [1, 2, 40, 40])
    y = n.Resize(y, "", "", [1, 2, h, w])
    return n.Mul(n.conv("x", 3, 2), n.Conv(y, n.weight(2, 1, h, w), group=2))


def squared_and_back(n, h, w):
    """The longer side is the square's."""
    side = max(h, w)
    y = n.Relu(n.Resize(n.conv("x", 3, 2), "", "", [1, 2, side, side], mode="nearest"))
    return n.Resize(y, "", "", [1, 2, h, w], mode="nearest")


def rows_with_an_axis_of_one(n, h, w):
    """Two halves of the rows, behind an axis of their own."""
    y = n.Reshape(n.Transpose(n.conv("x", 3, 4), perm=[3, 0, 2, 1]), [w, h, 4])
    y = n.Reshape(n.Relu(y), [w, 1, h, 4])
    n.Split(n.Transpose(y, perm=[1, 3, 2, 0]), [h // 2, h // 2], outputs=["upper", "lower"], axis=2)
    return n.Concat("lower", "upper", axis=2)


def middle_of_a_map(n, h, w):
    return n.ReduceMax(n.Slice(n.conv("x", 3, 2, 2), [h // 16], [h // 2 - h // 16], [2]), axes=[2])


def largest_eighth_of_a_valid_map(n, h, w):
    y = n.Conv("x", n.weight(2, 3, 3, 3))
    area = (h - 2) * (w - 2)
    return n.TopK(n.Reshape(y, [1, 2, area]), [area // 8], outputs=["best", "places"])


ASKED = [
    (strips_spread, "Expand_3", "origins.input-size-all-of-axis"),
    (shifted_and_cut_in_halves, "Slice_1", "origins.input-size-cut"),
    (cut_of_all_with_a_strip, "Slice_2", "origins.input-size-cut"),
    (middle_of_a_map, "Slice_1", "origins.input-size-cut"),
    (rows_with_an_axis_of_one, "Reshape_4", "origins.input-size-split"),
]


@pytest.mark.parametrize("size", [NEW, "any"], ids=["fixed", "any"])
@pytest.mark.parametrize(("build", "node", "code"), ASKED, ids=[build.__name__ for build, *_ in ASKED])
def test_a_number_that_is_held_behind_its_node_is_asked_for_there(build, node, code, size):
    assert refused(built(build, OLD), size) == (node, code)


def test_a_resize_back_to_the_images_size_is_asked_for_where_a_filter_over_the_map_holds_it():
    assert refused(built(back_from_a_size_of_its_own, OLD), NEW) == ("Resize_2", "origins.input-size-resize-held")


def test_a_resize_to_a_square_of_one_of_the_sides_is_asked_for_where_the_other_one_changes():
    assert refused(built(squared_and_back, (48, 32)), (48, 80)) == ("Resize_1", "origins.input-size-resize-map")


def test_a_rounded_share_of_all_values_is_asked_for():
    model = built(lambda n, h, w: (largest_eighth_of_a_valid_map(n, h, w), "best")[1], OLD)
    assert refused(model, NEW) == ("TopK_2", "origins.input-size-share-of-axis")


def test_a_margin_that_a_window_leaves_is_cut_off_at_any_size():
    assert_follows(lambda n, h, w: n.Slice(n.conv("x", 3, 2), [1, 1], [h - 1, w - 1], [2, 3]))


def test_a_bias_that_is_filled_with_one_number_holds_no_size():
    """As many channels as the map has columns."""

    def biased(n, h, w):
        bias = n.ConstantOfShape([48], value=n.tensor(np.array([0.02], np.float32)))
        return n.Add(n.conv("x", 3, 48), n.Unsqueeze(bias, [1, 2]))

    assert_follows(biased)


def test_the_square_of_a_side_is_a_reading_of_what_a_sum_over_a_square_map_is_divided_by():
    def over_the_square(n, h, w):
        y = n.ReduceSum(n.conv("x", 3, 2), [2, 3])
        return n.Div(y, n.floats(w * w))

    result = resizefix.input_size(built(over_the_square, (32, 32)), size=(32, 64), verify=False)
    assert {use.args for use in result.resolution.assumed} == {
        ("--keep", "Div_2"),
        ("--read", "Div_2=height**2"),
        ("--read", "Div_2=width**2"),
    }
    assert_follows(over_the_square, (32, 64), old=(32, 32), read=[("Div_2", "width**2")], rtol=1e-6)
