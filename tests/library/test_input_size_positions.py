"""Numbers that scale or shift positions, or that sums meet: usual ones stay, all others are asked for."""

import numpy as np
import onnx
import pytest
from size_networks import NEW, OLD, assert_follows, built, grid, refused

import resizefix


def moved_pixels(n, h, w, stride=4):
    """Centres of cells in pixels of the image, moved by what a layer makes."""
    cells = n.floats(grid(np.arange(h // stride) + 0.5, np.arange(w // stride) + 0.5))
    return n.Add(n.Mul(cells, n.floats(stride)), n.conv("x", 3, 2, stride))


def on_another_screen(n, h, w):
    return n.Mul(moved_pixels(n, h, w), n.floats(np.array([1920 / w, 1080 / h]).reshape(1, 2, 1, 1)))


def without_bars(n, h, w):
    """A letterbox of 640 by 480."""
    ratio = min(h / 480, w / 640)  # bars are half of what is left
    bars = np.array([(w - 640 * ratio) / 2, (h - 480 * ratio) / 2]).reshape(1, 2, 1, 1)
    return n.Sub(moved_pixels(n, h, w), n.floats(bars))


def wide_as_the_image(n, h, w):
    return n.Mul(moved_pixels(n, h, w), n.floats(np.array([w / h, 1]).reshape(1, 2, 1, 1)))


def clipped_before_the_end(n, h, w):
    columns = n.floats((np.arange(w // 4) * 4.0).reshape(1, 1, 1, -1))
    return n.Clip(n.Add(columns, n.conv("x", 3, 1, 4)), n.floats(0), n.floats(w - 0.5))


def around_the_middle_by_sum(n, h, w):
    columns = n.floats(np.arange(w).reshape(1, 1, 1, w))
    return n.Sum(n.conv("x", 3, 1), columns, n.floats(-(w + 1) / 2))


def sampled_without_half_a_stride(n, h, w):
    """As SuperPoint samples its descriptors: points of the image become -1 to 1 of a map."""
    points = n.Mul(n.Sigmoid(n.conv("x", 3, 2, 8)), n.floats(13))
    points = n.Transpose(points, perm=[0, 2, 3, 1])
    shares = n.Div(n.Sub(points, n.floats(3.5)), n.floats([w - 4.5, h - 4.5]))
    places = n.Sub(n.Mul(shares, n.floats(2)), n.floats(1))
    return n.GridSample(n.conv("x", 3, 2, 8), places)


def weighed_mean(n, h, w):
    """The sum of 1 to the width is what the weights add up to."""
    weights = n.floats(np.arange(1, w + 1).reshape(1, 1, 1, w))
    return n.Div(n.ReduceSum(n.Mul(n.conv("x", 3, 2), weights), [3]), n.floats(w * (w + 1) / 2))


def counted(n, h, w):
    """Whether three tenths of the map are above a threshold."""
    above = n.Cast(n.Greater(n.conv("x", 3, 1), n.floats(0)), to=1)
    return n.Greater(n.ReduceSum(above, [2, 3]), n.floats(int(0.3 * h * w)))


def summed_by_a_layer(n, h, w):
    flat = n.Reshape(n.conv("x", 3, 4), [4, h * w])
    return n.Gemm(flat, n.Transpose(flat, perm=[1, 0]), n.weight(4, 4), alpha=1 / (h * w))


def padded_with_its_width(n, h, w):
    return n.Pad(n.conv("x", 3, 1), [0, 0, 0, 1, 0, 0, 0, 1], n.floats(w))


def levels(n, h, w):
    """Offsets over the sides of two levels, as a deformable transformer has them."""
    offsets = n.Reshape(n.conv("x", 3, 4, 4), [1, 2, 2, h * w // 16])
    sides = np.array([[w // 4, h // 4], [w // 8, h // 8]]).reshape(1, 2, 2, 1)
    coarse = n.ReduceMean(n.conv("x", 3, 1, 8), axes=[1, 2, 3])
    return n.Add(n.Div(offsets, n.floats(sides)), coarse)


def padded_to_a_square(n, h, w):
    return n.Pad(n.conv("x", 3, 2), pads=[0, 0, 0, 0, 0, 0, w - h, 0])


def pooled_in_halves(n, h, w):
    return n.MaxPool(n.Conv("x", n.weight(2, 3, 3, 3)), kernel_shape=[15, 15], strides=[15, 15])


def pixels_on_a_fixed_map(n, h, w):
    """So many pixels of the image to each of 16 columns."""
    y = n.Resize(n.conv("x", 3, 2), "", "", [1, 2, 20, 16], mode="linear")
    return n.Add(y, n.floats((np.arange(16) * (w // 16)).reshape(1, 1, 1, 16)))


def scores_over_a_root(n, h, w):
    """Rows against rows, over the root of half of the width."""
    y = n.conv("x", 3, 2)
    return n.Softmax(n.Mul(n.MatMul(y, n.Transpose(y, perm=[0, 1, 3, 2])), n.floats(np.sqrt(8 / 48))), axis=3)


def columns_by_fives(n, h, w):
    return n.Add(n.conv("x", 3, 2), n.floats(np.arange(w).reshape(1, 1, 1, w) * 5.0))


def divided_in_fours(n, h, w):
    """Four by four groups of far samples, of a map that is as wide as there are groups."""
    y = n.Transpose(n.conv("x", 3, 2, 4), perm=[0, 2, 3, 1])
    y = n.Reshape(y, [1, 4, h // 16, 4, w // 16, 2])
    return n.ReduceMean(y, axes=[1, 3])


POSITIONS, NUMBER, NUMBERS = (f"origins.input-size-{name}" for name in ("divides-positions", "number", "numbers"))
ASKED = [
    (on_another_screen, "Mul_3", POSITIONS),
    (without_bars, "Sub_3", POSITIONS),
    (wide_as_the_image, "Mul_3", POSITIONS),
    (clipped_before_the_end, "Clip_2", NUMBER),
    (around_the_middle_by_sum, "Sum_1", POSITIONS),
    (sampled_without_half_a_stride, "Mul_2", POSITIONS),
    (weighed_mean, "Div_3", POSITIONS),
    (counted, "Greater_4", POSITIONS),
    (summed_by_a_layer, "Gemm_3", NUMBER),
    (padded_with_its_width, "Pad_1", NUMBER),
    (levels, "Div_4", NUMBERS),
    (columns_by_fives, "Add_1", "origins.input-size-ramp-step"),
    (pixels_on_a_fixed_map, "Add_2", "origins.input-size-ramp-step"),
    (scores_over_a_root, "Mul_3", POSITIONS),
]


@pytest.mark.parametrize("size", [NEW, "any"], ids=["fixed", "any"])
@pytest.mark.parametrize(("build", "node", "code"), ASKED, ids=[build.__name__ for build, *_ in ASKED])
def test_a_number_that_meets_positions_or_a_sum_is_asked_for(build, node, code, size):
    assert refused(built(build, OLD), size) == (node, code)


@pytest.mark.parametrize(
    ("build", "old", "new", "node", "code"),
    [
        (padded_to_a_square, (32, 48), (32, 64), "Pad_1", "origins.input-size-padding"),
        (pooled_in_halves, (32, 33), (48, 64), "MaxPool_1", "origins.input-size-pool"),
        (divided_in_fours, (32, 16), (32, 32), "Reshape_2", "origins.input-size-split"),
    ],
)
def test_what_one_side_alone_shows_is_asked_for(build, old, new, node, code):
    assert refused(built(build, old, 10), new) == (node, code)


def test_pixels_cells_and_angles_are_left_alone():
    def usual(n, h, w):
        return n.Mul(n.Add(n.Sub(moved_pixels(n, h, w), n.floats(2)), n.floats(0.5)), n.floats(2))

    assert_follows(usual)


def test_one_window_becomes_two_where_the_parts_of_a_side_meet_again():
    """Windows of four on a map that is as wide as one: cut, and put together again."""

    def windows(n, h, w):
        y = n.Transpose(n.conv("x", 3, 2, 4), perm=[0, 2, 3, 1])
        y = n.Reshape(y, [1, h // 16, 4, w // 16, 4, 2])
        y = n.Reshape(n.Transpose(y, perm=[0, 1, 3, 2, 4, 5]), [h * w // 256, 16, 2])
        y = n.Reshape(n.Softmax(y, axis=1), [1, h // 16, w // 16, 4, 4, 2])
        return n.Reshape(n.Transpose(y, perm=[0, 1, 3, 2, 4, 5]), [1, h // 4, w // 4, 2])

    assert_follows(windows, (64, 32), old=(80, 16), rtol=1e-6)


@pytest.mark.parametrize("was", [(192,), 192, "192"], ids=["tuple", "number", "text"])
def test_the_old_length_of_a_line_that_is_declared_open_may_be_said(was):
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, "length"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [
        helper.make_node("Conv", ["x", "weights"], ["c"], pads=[1, 1]),
        helper.make_node("ReduceSum", ["c", "axes"], ["s"], keepdims=1),
        helper.make_node("Div", ["s", "n"], ["y"], name="mean"),
    ]
    constants = [
        helper.make_tensor("axes", TensorProto.INT64, [1], [2]),
        helper.make_tensor("n", TensorProto.FLOAT, [], [192.0]),
        helper.make_tensor("weights", TensorProto.FLOAT, [4, 3, 3], np.ones(36)),
    ]
    graph = helper.make_graph(nodes, "net", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    if isinstance(was, str):
        with pytest.raises(resizefix.UsageError):
            resizefix.input_size(model, size=(240,), was=was)
        return
    made = resizefix.input_size(model, size=(240,), was=was).model
    numbers = {one.name: onnx.numpy_helper.to_array(one) for one in made.graph.initializer}
    (divisor,) = [numbers[node.input[1]] for node in made.graph.node if node.name == "mean"]
    assert divisor == 240
