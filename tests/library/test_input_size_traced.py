"""Numbers that tracing leaves of arithmetic on sizes (`H // 2 + 1`, `int(n * 0.1)`, `W // 4`): they are asked for."""

import numpy as np
import pytest
from size_networks import assert_follows, built, followed, refused, run

OLD, NEW = (32, 48), (48, 64)


def resized_to_half_and_one(n, h, w):
    y = n.Resize(n.conv("x", 3, 2), "", "", [1, 2, h // 2 + 1, w // 2 + 1], mode="linear")
    return n.Resize(y, "", "", [1, 2, h, w], mode="linear")


def resized_to_one_less(n, h, w):
    y = n.Resize(n.conv("x", 3, 2), "", "", [1, 2, h - 1, w - 1], mode="nearest")
    return n.Resize(y, "", "", [1, 2, h, w], mode="linear")


def resized_to_its_own(n, h, w):
    return n.Resize(n.conv("x", 3, 2), "", "", [1, 2, 20, 20], mode="linear")


def rolled_by_a_quarter(n, h, w):
    y = n.conv("x", 3, 2)
    return n.Concat(n.Slice(y, [w // 4], [2**62], [3]), n.Slice(y, [0], [w // 4], [3]), axis=3)


def rolled_windows(n, h, w):
    """By half a window, which is an eighth of the rows here."""
    y = n.conv("x", 3, 2)
    y = n.Concat(n.Slice(y, [4], [2**62], [2]), n.Slice(y, [0], [4], [2]), axis=2)
    y = n.Reshape(y, [1, 2, h // 8, 8, w // 8, 8])
    return n.Reshape(n.Transpose(y, perm=[0, 2, 4, 1, 3, 5]), [-1, 2, 64])


def highest(count):
    def build(n, h, w):
        y = n.Reshape(n.conv(n.conv("x", 3, 2, 2), 2, 1, 2), [1, h * w // 16])
        return n.TopK(y, [count(h // 4, w // 4)], axis=1, outputs=["values", "places"])

    return build


tenth, side, own = highest(lambda h, w: int(h * w * 0.1)), highest(lambda h, w: w), highest(lambda h, w: 20)


def corners_by_one_number(n, h, w):
    y = n.Resize(n.conv("x", 3, 2, 2), "", "", [1, 2, h, w], mode="linear")
    return n.Mul(y, n.floats((w - 1) / (w // 2 - 1)))


def points_of_a_camera(n, h, w):
    """Pixels from the middle over a focal length of 0.8 times the width."""
    columns = np.broadcast_to((np.arange(w) - w / 2) / (0.8 * w), (1, 1, h, w))
    return n.Mul(n.conv("x", 3, 1), n.floats(columns))


def grid_of_single_cells(n, h, w):
    """8 by 8 cells of the map's share each: of one sample here."""
    y = n.conv(n.conv("x", 3, 4, 2), 4, 4, 2)
    y = n.Reshape(y, [1, 4, 8, h // 32, 8, w // 32])
    y = n.Reshape(n.Transpose(y, perm=[0, 3, 5, 2, 4, 1]), [-1, 64, 4])
    return n.Softmax(n.MatMul(y, n.Transpose(y, perm=[0, 2, 1])), axis=-1)


def over_the_diagonal(n, h, w):
    return n.Div(n.conv("x", 3, 2), n.floats(np.hypot(h, w)))


def cube_root_of_an_area(n, h, w):
    return n.Div(n.Pow(n.ReduceSum(n.Abs(n.conv("x", 3, 2)), [2, 3]), n.floats(1 / 3)), n.floats((h * w) ** (1 / 3)))


def count_in_thousandths(n, h, w):
    return n.Log(n.Add(n.ReduceSum(n.Abs(n.conv("x", 3, 2)), [2, 3]), n.floats(h * w * 1e-3)))


def level_of_a_pyramid(n, h, w):
    return n.Add(n.conv("x", 3, 2), n.floats(np.log2(w / 7)))


def every_fourth_of_the_width(n, h, w):
    return n.Slice(n.conv("x", 3, 2), [0], [2**62], [3], [w // 4])


def overlapping_halves(n, h, w):
    return n.AveragePool(n.conv("x", 3, 2), kernel_shape=[h // 2, w // 2], strides=[h // 4, w // 4])


def turns_of_the_width(n, h, w):
    return n.Sin(n.Mul(n.CumSum(n.conv("x", 3, 2), n.const(3)), n.floats(2 * np.pi / w)))


ASKED = [
    (every_fourth_of_the_width, OLD, "Slice_1", "origins.input-size-cut"),
    (overlapping_halves, OLD, "AveragePool_1", "origins.input-size-pool"),
    (turns_of_the_width, OLD, "Mul_2", "origins.input-size-number"),
    (rolled_by_a_quarter, OLD, "Slice_2", "origins.input-size-cut"),
    (tenth, (48, 64), "TopK_3", "origins.input-size-share-of-axis"),
    (side, OLD, "TopK_3", "origins.input-size-share-of-axis"),
    (corners_by_one_number, OLD, "Mul_2", "origins.input-size-quotients"),
    (points_of_a_camera, OLD, "Mul_1", "origins.input-size-ramp-step"),
    (grid_of_single_cells, (32, 32), "Reshape_2", "origins.input-size-split"),
    (over_the_diagonal, OLD, "Div_1", "origins.input-size-number"),
    (cube_root_of_an_area, OLD, "Div_4", "origins.input-size-number"),
    (count_in_thousandths, OLD, "Add_3", "origins.input-size-number"),
    (level_of_a_pyramid, OLD, "Add_1", "origins.input-size-number"),
]


@pytest.mark.parametrize("size", [(96, 64), "any"], ids=["fixed", "any"])
@pytest.mark.parametrize(("build", "old", "node", "code"), ASKED, ids=[f"{row[2]}-{row[0].__name__}" for row in ASKED])
def test_what_arithmetic_on_sizes_left_is_asked_for(build, old, node, code, size):
    assert refused(built(build, old), size) == (node, code)


@pytest.mark.parametrize("build", [resized_to_its_own, rolled_windows, own])
def test_what_stands_for_itself_is_left_alone(build):
    assert_follows(build, (64, 96), old=OLD)


def twice_as_large(n, h, w):
    """Rows that a table of the file puts in another order do not follow."""
    y = n.Gather(n.conv("x", 3, 2), n.const(np.arange(h)[::-1]), axis=2)
    return n.Resize(y, "", "", [1, 2, 2 * h, 2 * w], mode="linear")


@pytest.mark.parametrize("build", [resized_to_half_and_one, resized_to_one_less, twice_as_large])
def test_a_resize_to_one_off_a_share_is_asked_for_where_one_side_alone_changes(build):
    """No factor makes both sizes: the other side stays."""
    node = "Resize_2" if build is twice_as_large else "Resize_1"
    assert refused(built(build, (64, 96)), (64, 128)) == (node, "origins.input-size-resize-one-off")


def test_a_kept_resize_or_count_stays():
    assert run(followed(built(resized_to_half_and_one, OLD), NEW, keep=["Resize_1"]), NEW).shape == (1, 2, 48, 64)
    assert run(followed(built(tenth, (48, 64)), (64, 96), keep=["TopK_3"]), (64, 96)).shape == (1, 19)


def test_shares_of_the_width_may_follow_it():
    assert_follows(points_of_a_camera, NEW, old=OLD, read=[("Mul_1", "of-map")], rtol=1e-5)
