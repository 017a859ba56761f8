"""Shifts, sampling grids, branches, masks of windows and decoded indices, as torch and TensorFlow write them."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from size_networks import NEW, OLD, assert_follows, built, followed, refused, run


def rolled(n, h, w):
    """torch.roll by two as dynamo writes it: the last two rows, before all others."""
    y = n.conv("x", 3, 4)
    ends = [n.add("Slice", y, n.const([a]), n.const([b]), n.const([2])) for a, b in ((h - 2, h), (0, h - 2))]
    return n.add("Concat", *ends, axis=2)


def affine_grid(n, h, w):
    """Positions between the middles of the first and last sample, as torch's affine_grid makes them."""

    def line(size):
        end = np.float32(size - 1) / np.float32(size)
        step = (end + end) / np.float32(size - 1)
        i = np.arange(size, dtype=np.float32)
        return np.where(i < size // 2, -end + step * i, end - step * (size - 1 - i)).astype(np.float32)

    ys, xs = np.meshgrid(line(h), line(w), indexing="ij")
    table = n.const(np.stack([xs, ys])[None], np.float32)
    return n.add("Add", n.conv("x", 3, 2), n.add("Mul", table, n.const(3, np.float32)))


def squeezed(n, h, w):
    """torch writes squeeze(1) as an If where it does not know the axis."""
    y = n.conv("x", 3, 1)
    channels = n.add("Gather", n.add("Shape", y), n.const([1]), axis=0)
    then = helper.make_graph(
        [helper.make_node("Constant", [], ["axes"], value=n.tensor([1])),
         helper.make_node("Squeeze", [y, "axes"], ["squeezed"])],
        "then", [], [helper.make_empty_tensor_value_info("squeezed")])  # fmt: skip
    same = helper.make_node("Identity", [y], ["same"])
    other = helper.make_graph([same], "else", [], [helper.make_empty_tensor_value_info("same")])
    z = n.add("If", n.add("Equal", channels, n.const([1])), then_branch=then, else_branch=other)
    return n.add("Reshape", z, n.const([1, h * w]))


def maps_of_one_size(n, h, w):
    """Maps are resized to the size that the first has already, and joined."""
    first = n.conv(n.conv("x", 3, 4, 2), 4, 4, 2)
    size = n.const([1, 4, h // 4, w // 4])
    made = [n.add("Resize", y, "", "", size, mode="linear") for y in (first, n.conv(first, 4, 4, 2))]
    return n.add("Concat", *made, axis=1)


def prior_shares(n, h, w):
    """Sizes of boxes as shares of the image that are no whole number of pixels."""
    ys, xs = np.meshgrid((np.arange(h) + 0.5) / h, (np.arange(w) + 0.5) / w, indexing="ij")
    boxes = np.stack([xs, ys, np.full((h, w), 0.13), np.full((h, w), 0.21)])
    return n.add("Add", n.conv("x", 3, 4), n.const(boxes[None], np.float32))


@pytest.mark.parametrize("build", [rolled, affine_grid, squeezed, maps_of_one_size, prior_shares])
def test_more_that_follows(build):
    old = (32, 32) if build is maps_of_one_size else OLD
    for size in (NEW, "any"):
        assert_follows(build, size, old=old)


def test_shares_of_whole_pixels_are_refused():
    def pixels(n, h, w):
        boxes = np.stack([np.full((h, w), 12 / h), np.full((h, w), 0.13)])
        ys = np.broadcast_to(np.arange(h, dtype=np.float32)[:, None], (h, w))
        return n.add("Add", n.conv("x", 3, 3), n.const(np.concatenate([boxes, ys[None]])[None], np.float32))

    assert refused(built(pixels, OLD), NEW)[1] in ("origins.input-size-table", "library.input-size-positions")


def test_scales_that_are_not_followed_are_refused():
    """Scales of an unknown formula made the sizes after them unknown, and what follows kept its numbers in silence."""

    def unknown(n, h, w):
        y = n.conv("x", 3, 2)
        sides = n.add("Cast", n.add("Slice", n.add("Shape", y), n.const([2]), n.const([4])), to=TensorProto.FLOAT)
        scales = n.add("Div", n.add("Mul", sides, sides), n.const([h * h, w * w], np.float32))
        scales = n.add("Concat", n.const([1, 1], np.float32), scales, axis=0)
        up = n.add("Resize", y, "", scales, mode="nearest")
        return n.add("Reshape", up, n.const([1, 2, h * w]))

    assert refused(built(unknown, OLD), NEW)[0].startswith(("Resize", "Div"))


# ---- masks of shifted windows ----


def window_mask(h, w, window):
    """As Swin makes it: samples of a window that come from other ends of the map do not see each other."""
    regions = np.zeros((h, w))
    cuts = [slice(0, -window), slice(-window, -window // 2), slice(-window // 2, None)]
    for at, (rows, columns) in enumerate((a, b) for a in cuts for b in cuts):
        regions[rows, columns] = at
    windows = regions.reshape(h // window, window, w // window, window).transpose(0, 2, 1, 3).reshape(-1, window**2)
    return np.where(windows[:, None] != windows[:, :, None], -100, 0).astype(np.float32)


def shifted_windows(n, h, w):
    h, w, window = h // 4, w // 4, 4
    windows = h // window * (w // window)
    y = n.add("Transpose", n.conv(n.conv("x", 3, 4, 2), 4, 4, 2), perm=[0, 2, 3, 1])
    y = n.add("Reshape", y, n.const([1, h // window, window, w // window, window, 4]))
    y = n.add("Reshape", n.add("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), n.const([windows, window**2, 4]))
    score = n.add("MatMul", y, n.add("Transpose", y, perm=[0, 2, 1]))
    score = n.add("Reshape", score, n.const([1, windows, window**2, window**2]))
    score = n.add("Softmax", n.add("Add", score, n.const(window_mask(h, w, window)[None], np.float32)), axis=3)
    y = n.add("MatMul", n.add("Reshape", score, n.const([windows, window**2, window**2])), y)
    y = n.add("Reshape", y, n.const([1, h // window, w // window, window, window, 4]))
    return n.add("Reshape", n.add("Transpose", y, perm=[0, 1, 3, 2, 4, 5]), n.const([1, h, w, 4]))


def test_masks_of_shifted_windows():
    old, new = (48, 64), (80, 96)
    for size in (new, "any"):
        assert_follows(shifted_windows, size, old=old, at=[new])


def test_masks_of_two_rows_of_windows_are_refused():
    """Which of two rows is like the others of a larger map is not in the file."""
    assert refused(built(shifted_windows, (32, 64)), (48, 64))[1] != "origins.input-size-split"


def small_pool(n, h, w):
    """What a pool of two by two samples meets is always so large: it would have to be an adaptive pool."""
    corner = n.add("Slice", "x", n.const([0, 0]), n.const([4, 6]), n.const([2, 3]))
    sides = n.add("Slice", n.add("Shape", corner), n.const([2]), n.const([4]))
    size = n.add("Concat", n.const([1, 3]), n.add("Mul", sides, n.const([4])), axis=0)
    corner = n.add("Resize", corner, "", "", size, mode="nearest")
    return n.add("Add", n.add("AveragePool", "x", kernel_shape=[2, 2], strides=[2, 2]), corner)


def test_a_step_down_is_no_adaptive_pool_unless_the_user_says_so():
    assert refused(built(small_pool, OLD), NEW) == ("AveragePool_6", "origins.input-size-pool")
    found = followed(built(small_pool, OLD), (64, 96), follow_input=["AveragePool_6"])
    assert run(found, (64, 96)).shape == (1, 3, OLD[0] // 2, OLD[1] // 2)


def doubled(n, h, w):
    """Twice the input, which is four times the map at even sizes."""
    small = n.add("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2])
    return n.add("Resize", small, "", "", n.const([1, 3, 2 * h, 2 * w]), mode="nearest")


def test_two_shares_are_taken_where_they_agree():
    odd = (33, 49)
    assert_follows(doubled)
    assert refused(built(doubled, OLD), odd) == ("Resize_1", "origins.input-size-misfit")
    assert_follows(doubled, odd, follow_input=["Resize_1"])


# ---- what TensorFlow folds ----


def best_cell(n, h, w):
    """The largest sample of a map with channels last: its row and column, as shares of the map."""
    h, w = h // 2, w // 2
    y = n.add("Transpose", n.conv("x", 3, 2, 2), perm=[0, 2, 3, 1])
    at = n.add("ArgMax", n.add("Reshape", y, n.const([1, h * w * 2])), axis=1)
    cell = n.add("Div", at, n.const(2))
    row = n.add("Div", cell, n.const(w))
    column = n.add("Sub", cell, n.add("Mul", row, n.const(w)))
    shares = [n.add("Mul", n.add("Cast", one, to=1), n.const(np.float32(1) / np.float32(size), np.float32))
              for one, size in ((row, h), (column, w))]  # fmt: skip
    return n.add("Concat", *shares, axis=1)


@pytest.mark.parametrize("size", [NEW, "any"])
def test_rows_and_columns_of_indices(size):
    assert_follows(best_cell, size)


def test_indices_that_are_divided_by_another_maps_size():
    def other(n, h, w):
        y = n.add("Reshape", n.conv("x", 3, 1), n.const([1, h * w]))
        beside = n.add("ReduceMean", n.conv("x", 3, 1, 2), axes=[2], keepdims=0)
        column = n.add("Div", n.add("ArgMax", y, axis=1), n.const(w // 2))
        return n.add("Add", n.add("Cast", column, to=1), beside)

    assert refused(built(other, OLD), NEW) == ("Div_5", "origins.input-size-scalar-or")


def test_boxes_in_shares_of_the_image_are_refused():
    """Anchors in pixels over the image's size, folded to shares."""

    def boxes(n, h, w):
        shares = np.array([[10, 13], [16, 30]], np.float32).reshape(4, 1, 1) / np.float32(OLD[0])
        return n.add("Mul", n.add("Exp", n.conv("x", 3, 4)), n.const(shares, np.float32))

    assert refused(built(boxes, OLD), NEW) == ("Mul_2", "origins.input-size-numbers")
    assert_follows(boxes, keep=["Mul_2"])


def test_two_nodes_of_one_name_are_told_apart():
    """A converter gave two casts one output: onnxruntime refuses the model, and so does input-size, with its reason."""

    def casts(n, h, w):
        y = n.add("Cast", n.conv("x", 3, 2), to=TensorProto.FLOAT)
        n.add("Cast", n.conv("x", 3, 2), to=TensorProto.FLOAT)
        n.nodes[-1].output[0], n.nodes[-1].name = y, n.nodes[-3].name
        return n.add("Reshape", y, n.const([1, 2 * h * w]))

    assert refused(built(casts, OLD), NEW)[1] == "verification.input-size-original"


def test_an_operator_of_another_domain_is_no_function():
    def custom(n, h, w):
        n.nodes.append(helper.make_node("Swish", [n.conv("x", 3, 2)], ["y"], name="swish", domain="custom"))
        return "y"

    model = built(custom, OLD)
    model.opset_import.append(helper.make_opsetid("custom", 1))
    assert refused(model, NEW) == ("swish", "origins.input-size-operator")
