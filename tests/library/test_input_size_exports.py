"""What exporters write for networks of other kinds: unfold, windows, anchors with centres, norms of Keras, shifts."""

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from size_networks import NEW, OLD, Net, built, run

import resizefix
from resizefix.outcome import Status


def anchors(n: Net, h: int, w: int) -> str:
    """Positions times the stride plus its half, which is also half of the map's height here."""
    h, w = h // 4, w // 4
    ys, xs = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    grid = n.add("Identity", n.const(np.stack([xs, ys])[None], np.float32))
    pixels = n.add("Add", n.add("Mul", grid, n.const(4, np.float32)), n.const(OLD[0] // 8, np.float32))
    return n.add("Add", n.conv(n.conv("x", 3, 4, 2), 4, 2, 2), pixels)


def patches(n: Net, h: int, w: int) -> str:
    """Windows of 2 x 2 as MobileViT takes them: channels and rows of windows become one axis."""
    h, w = h // 4, w // 4
    y = n.conv(n.conv("x", 3, 8, 2), 8, 8, 2)
    y = n.add("Reshape", y, n.const([8 * h // 2, 2, w // 2, 2]))
    y = n.add("Reshape", n.add("Transpose", y, perm=[0, 2, 1, 3]), n.const([1, 8, h * w // 4, 4]))
    y = n.add("Softmax", n.add("Transpose", y, perm=[0, 3, 2, 1]), axis=2)
    y = n.add("Reshape", n.add("Transpose", y, perm=[0, 3, 2, 1]), n.const([8 * h // 2, w // 2, 2, 2]))
    return n.add("Reshape", n.add("Transpose", y, perm=[0, 2, 1, 3]), n.const([1, 8, h, w]))


def tiled_pattern(n: Net, h: int, w: int) -> str:
    """The sizes of two boxes, repeated for each position."""
    boxes = n.add("Tile", n.const([[0.1, 0.1], [0.2, 0.3]], np.float32), n.const([h * w, 1]))
    y = n.add("Transpose", n.conv("x", 3, 4), perm=[0, 2, 3, 1])
    return n.add("Mul", n.add("Reshape", y, n.const([h * w * 2, 2])), boxes)


def shifted(n: Net, h: int, w: int) -> str:
    """A cost volume: the map without its first column, padded in front to its old width."""
    y = n.conv("x", 3, 4)
    cut = n.add("Slice", y, n.const([0]), n.const([-1]), n.const([3]))
    return n.add("Concat", y, n.add("Pad", cut, n.const([0, 0, 0, 1, 0, 0, 0, 0])), axis=1)


def padded_pool(n: Net, h: int, w: int) -> str:
    """torch before 2.0 writes a Pad in front of every average pool."""
    return n.add("AveragePool", n.add("Pad", "x", n.const([0] * 8)), kernel_shape=[2, 2], strides=[2, 2])


def keras_layer_norm(n: Net, h: int, w: int) -> str:
    """Positions are normalised as if each were a channel, with weights of 1 and 0."""
    y = n.add("Reshape", n.add("Transpose", n.conv("x", 3, 4), perm=[0, 2, 3, 1]), n.const([1, h * w, 4, 1]))
    mean = n.add("Squeeze", n.add("ReduceMean", y, axes=[0, 2, 3], keepdims=1), n.const([0, 2, 3]))
    spread = n.add("ReduceMean", n.add("Mul", y, y), axes=[0, 2, 3], keepdims=0)
    one, none = n.const(np.ones(h * w), np.float32), n.const(np.zeros(h * w), np.float32)
    return n.add("Reshape", n.add("BatchNormalization", y, one, none, mean, spread), n.const([1, h, w, 4]))


def unfold_by_range(n: Net, h: int, w: int) -> str:
    """Positions in steps of two, up to a limit that torch computes."""
    y = n.conv("x", 3, 4)
    line = n.add(
        "Range", n.const(0), n.add("Sub", n.add("Gather", n.add("Shape", y), n.const(2)), n.const(1)), n.const(2)
    )
    rows = n.add("Gather", y, n.add("Add", n.add("Unsqueeze", line, n.const([0])), n.const([[0], [1]])), axis=2)
    return n.add("Reshape", rows, n.const([1, 8, h // 2, w]))


def unfold_by_table(n: Net, h: int, w: int) -> str:
    """The same with the positions as a table."""
    y = n.conv("x", 3, 4)
    rows = n.add("Gather", y, n.const(np.arange(0, h - 1, 2)[None] + [[0], [1]]), axis=2)
    half = n.add("MaxPool", y, kernel_shape=[2, 1], strides=[2, 1])
    return n.add("Concat", n.add("Reshape", rows, n.const([1, 8, h // 2, w])), half, axis=1)


def two_shares(n: Net, h: int, w: int) -> str:
    """Each of two coordinates is multiplied by one over its own size, both in one list."""
    h, w = h // 8, w // 8
    ys, xs = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    y = n.conv(n.conv(n.conv("x", 3, 4, 2), 4, 4, 2), 4, 2, 2)
    y = n.add("Add", n.add("Transpose", y, perm=[0, 2, 3, 1]), n.const(np.stack([xs, ys], -1)[None], np.float32))
    return n.add("Mul", y, n.const([np.float32(1) / np.float32(w), np.float32(1) / np.float32(h)], np.float32))


def counted(n: Net, h: int, w: int) -> str:
    """A sum over a map and its channels, divided by as many as there are: half of the image's pixels, too."""
    y = n.add("Reshape", n.conv("x", 3, 8, 4), n.const([1, 8, h * w // 16]))
    return n.add("Div", n.add("MatMul", y, n.add("Transpose", y, perm=[0, 2, 1])), n.const(h * w // 2, np.float32))


FOLLOWING = [
    anchors, patches, tiled_pattern, shifted, padded_pool, keras_layer_norm, unfold_by_range, unfold_by_table,
    two_shares, counted,
]  # fmt: skip


def followed(model: ModelProto, size: tuple[int, int] | str, **options) -> ModelProto:
    result = resizefix.input_size(model, size=size, **options)
    assert all(outcome.status is Status.CHANGED for outcome in result.outcomes), result.outcomes
    assert result.verification.passed
    return result.model


@pytest.mark.parametrize("build", FOLLOWING)
def test_a_fixed_size(build) -> None:
    found = followed(built(build, OLD), NEW)
    np.testing.assert_array_equal(run(found, NEW), run(built(build, NEW), NEW))


@pytest.mark.parametrize("build", FOLLOWING)
def test_any_size(build) -> None:
    found = followed(built(build, OLD), "any")
    for size in (OLD, NEW, (64, 32)):
        np.testing.assert_array_equal(run(found, size), run(built(build, size), size))


def test_any_size_before_range() -> None:
    """Opset 9 has no Range: positions are those of the ones in a list of ones."""

    def table(n: Net, h: int, w: int) -> str:
        ys, xs = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
        return n.add("Add", n.conv("x", 3, 2), n.const(np.stack([xs, ys])[None], np.float32))

    model = built(table, OLD)
    model.opset_import[0].version, model.ir_version = 9, 4
    found = followed(model, "any")
    assert found.opset_import[0].version == 9
    np.testing.assert_array_equal(run(found, NEW), run(built(table, NEW), NEW))


def refused(model: ModelProto, size: tuple[int, int] | str, **options) -> tuple[str, str]:
    result = resizefix.input_size(model, size=size, **options)
    (outcome,) = result.outcomes
    assert outcome.status is Status.REFUSED
    return outcome.node, outcome.reason.code


def same_by_hand(n: Net, h: int, w: int) -> str:
    """An odd size is padded by one on both sides in front of strides of 2: as torch writes "SAME", or always."""
    y = n.add("Pad", "x", n.const([0, 0, 1, 1, 0, 0, 1, 1]))
    return n.add("Conv", y, n.weight(4, 3, 3, 3), kernel_shape=[3, 3], strides=[2, 2])


def test_pads_that_same_may_have_made() -> None:
    odd, even = (33, 49), (48, 64)
    model = built(same_by_hand, odd)
    assert refused(model, even)[1] == "origins.input-size-misfit"
    found = followed(model, (49, 65))
    np.testing.assert_array_equal(run(found, (49, 65)), run(built(same_by_hand, (49, 65)), (49, 65)))
    found = followed(model, even, keep=["Pad_0"])
    np.testing.assert_array_equal(run(found, even), run(built(same_by_hand, even), even))


def offset(n: Net, h: int, w: int) -> str:
    line = n.const(np.arange(w).reshape(1, 1, 1, w), np.float32)
    return n.add("Add", n.conv("x", 3, 2), n.add("Add", n.add("Neg", line), n.const(w // 2, np.float32)))


def test_a_number_that_moves_positions_may_be_its_own() -> None:
    assert refused(built(offset, OLD), NEW) == ("Add_2", "origins.input-size-scalar-or")
    found = followed(built(offset, OLD), NEW, follow_input=["Add_2"])
    np.testing.assert_array_equal(run(found, NEW), run(built(offset, NEW), NEW))


def test_positions_that_nothing_explains() -> None:
    def picked(n: Net, h: int, w: int) -> str:
        return n.add("Gather", n.conv("x", 3, 2), n.const([3, 5, 9]), axis=3)

    assert refused(built(picked, OLD), NEW) == ("Gather_1", "origins.input-size-indices")


def test_a_learned_norm_stays_fixed() -> None:
    def normed(n: Net, h: int, w: int) -> str:
        y = n.add("Reshape", n.conv("x", 3, 4), n.const([1, h * w, 4, 1]))
        return n.add("BatchNormalization", y, *(n.const(np.arange(h * w) % 7 + 1, np.float32) for _ in range(4)))

    node, code = refused(built(normed, OLD), NEW)
    assert node == "BatchNormalization_2"
    assert code == "origins.input-size-weights"


# ---- older opsets ----


def at_opset(build, size: tuple[int, int], opset: int) -> ModelProto:
    model = built(build, size)
    model.opset_import[0].version, model.ir_version = opset, 4
    return model


def cropped(n: Net, h: int, w: int) -> str:
    """The middle of a skip connection, as large as what it meets."""
    y = n.conv("x", 3, 4)
    deep = n.add("ConvTranspose", n.add("Conv", n.add("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2]),
                 n.weight(4, 4, 3, 3)), n.weight(4, 4, 2, 2), strides=[2, 2])  # fmt: skip
    y = n.add("Slice", y, axes=[2, 3], starts=[2, 2], ends=[h - 2, w - 2])
    return n.add("Concat", y, deep, axis=1)


def halves(n: Net, h: int, w: int) -> str:
    y = n.conv("x", 3, 4)
    top = n.add("Slice", y, axes=[2], starts=[0], ends=[h // 2])
    return n.add("Sub", top, n.add("Slice", y, axes=[2], starts=[h // 2], ends=[2**62]))


def padded_back(n: Net, h: int, w: int) -> str:
    """A map is cut to pairs of columns and padded to its old width."""
    y = n.conv("x", 3, 4)
    cut = n.add("Slice", y, axes=[3], starts=[0], ends=[-1])
    return n.add("Concat", y, n.add("Pad", cut, pads=[0, 0, 0, 1, 0, 0, 0, 0], mode="constant"), axis=1)


@pytest.mark.parametrize("build", [cropped, halves, padded_back])
def test_sizes_in_attributes(build) -> None:
    """Before opset 10 the numbers of Slice and Pad are attributes: they follow the input as operands do."""
    found = followed(at_opset(build, OLD, 9), NEW)
    np.testing.assert_array_equal(run(found, NEW), run(at_opset(build, NEW, 9), NEW))


@pytest.mark.parametrize("build", [cropped, halves])
def test_no_input_holds_sizes_of_attributes(build) -> None:
    assert refused(at_opset(build, OLD, 9), "any")[1] == "origins.input-size-attribute"


def crop_to_the_image(n: Net, h: int, w: int) -> str:
    """Padded to a multiple of 32, and cut to the image again."""
    y = n.add("Pad", "x", pads=[0, 0, 0, 0, 0, 0, -h % 32, -w % 32], mode="constant")
    return n.add("Slice", n.conv(y, 3, 2), axes=[2, 3], starts=[0, 0], ends=[h, w])


def test_a_crop_to_the_image_is_not_kept_in_silence() -> None:
    model = at_opset(crop_to_the_image, (28, 44), 9)
    assert refused(model, (60, 76))[1] == "origins.input-size-padding"
    found = followed(model, (60, 76), keep=["Pad_0"])
    np.testing.assert_array_equal(run(found, (60, 76)), run(at_opset(crop_to_the_image, (60, 76), 9), (60, 76)))


def counted_up(n: Net, h: int, w: int) -> str:
    """torch's arange before opset 11: the positions of the ones in a list of ceil(32.0), one axis of a table."""
    made = []
    for size, shape in ((h // 4, [h // 4, 1]), (w // 4, [1, w // 4])):
        length = n.add("Cast", n.add("Ceil", n.const([size], np.float32)), to=7)
        ones = n.add("ConstantOfShape", length, value=n.tensor([1]))
        line = n.add("Squeeze", n.add("Transpose", n.add("NonZero", ones), perm=[1, 0]), axes=[1])
        line = n.add("Reshape", n.add("Cast", line, to=1), n.const(shape))
        made.append(n.add("Unsqueeze", n.add("Expand", line, n.const([h // 4, w // 4])), axes=[0, 1]))
    return n.add("Concat", n.conv(n.conv("x", 3, 2, 2), 2, 2, 2), *made, axis=1)


@pytest.mark.parametrize("opset", [9, 11])
def test_positions_counted_up_to_a_float(opset) -> None:
    found = followed(at_opset(counted_up, OLD, opset), NEW)
    np.testing.assert_array_equal(run(found, NEW), run(at_opset(counted_up, NEW, opset), NEW))


def paddle_range(n: Net, h: int, w: int) -> str:
    """Positions of floats, divided by the size in one number with the weights' order changed beside them."""
    start, limit, step = (n.add("Squeeze", n.const([number], np.float32)) for number in (0, w, 1))
    line = n.add("Reshape", n.add("Range", start, limit, step), n.const([1, 1, 1, w]))
    share = n.add("Mul", n.add("Add", n.conv("x", 3, 2), line), n.const(np.float32(1) / np.float32(w), np.float32))
    weights = n.weight(24, 2)
    parts = [n.add("Slice", weights, n.const([a]), n.const([b]), n.const([0])) for a, b in ((0, 6), (18, 24), (6, 18))]
    return n.add("MatMul", n.add("Transpose", share, perm=[0, 2, 3, 1]),
                 n.add("Transpose", n.add("Concat", *parts, axis=0), perm=[1, 0]))  # fmt: skip


@pytest.mark.parametrize("size", [NEW, "any"])
def test_positions_of_floats(size) -> None:
    found = followed(built(paddle_range, OLD), size)
    np.testing.assert_array_equal(run(found, NEW), run(built(paddle_range, NEW), NEW))


def joined_scales(n: Net, h: int, w: int) -> str:
    """Scales put together when the model runs, as torch leaves them without folding."""
    scales = n.add("Concat", n.const([1, 1], np.float32), n.const([0.5, 0.5], np.float32), axis=0)
    small = n.add("Resize", "x", "", scales, mode="linear")
    size = n.add("Concat", n.const([1, 3]), n.add("Unsqueeze", n.const(h), n.const([0])), n.const([w]), axis=0)
    return n.add("Sub", "x", n.add("Resize", small, "", "", size, mode="linear"))


@pytest.mark.parametrize("size", [NEW, "any"])
def test_scales_that_are_joined(size) -> None:
    found = followed(built(joined_scales, OLD), size)
    np.testing.assert_array_equal(run(found, NEW), run(built(joined_scales, NEW), NEW))


# ---- shifts, grids, branches, maps of one size ----


def rolled(n: Net, h: int, w: int) -> str:
    """torch.roll by two as dynamo writes it: the last two rows, before all others."""
    y = n.conv("x", 3, 4)
    ends = [n.add("Slice", y, n.const([a]), n.const([b]), n.const([2])) for a, b in ((h - 2, h), (0, h - 2))]
    return n.add("Concat", *ends, axis=2)


def affine_grid(n: Net, h: int, w: int) -> str:
    """Positions between the middles of the first and last sample, as torch's affine_grid makes them."""

    def line(size: int) -> np.ndarray:
        end = np.float32(size - 1) / np.float32(size)
        step = (end + end) / np.float32(size - 1)
        i = np.arange(size, dtype=np.float32)
        return np.where(i < size // 2, -end + step * i, end - step * (size - 1 - i)).astype(np.float32)

    ys, xs = np.meshgrid(line(h), line(w), indexing="ij")
    table = n.const(np.stack([xs, ys])[None], np.float32)
    return n.add("Add", n.conv("x", 3, 2), n.add("Mul", table, n.const(3, np.float32)))


def squeezed(n: Net, h: int, w: int) -> str:
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


def maps_of_one_size(n: Net, h: int, w: int) -> str:
    """Maps are resized to the size that the first has already, and joined."""
    first = n.conv(n.conv("x", 3, 4, 2), 4, 4, 2)
    size = n.const([1, 4, h // 4, w // 4])
    made = [n.add("Resize", y, "", "", size, mode="linear") for y in (first, n.conv(first, 4, 4, 2))]
    return n.add("Concat", *made, axis=1)


def prior_shares(n: Net, h: int, w: int) -> str:
    """Sizes of boxes as shares of the image that are no whole number of pixels."""
    ys, xs = np.meshgrid((np.arange(h) + 0.5) / h, (np.arange(w) + 0.5) / w, indexing="ij")
    boxes = np.stack([xs, ys, np.full((h, w), 0.13), np.full((h, w), 0.21)])
    return n.add("Add", n.conv("x", 3, 4), n.const(boxes[None], np.float32))


@pytest.mark.parametrize("build", [rolled, affine_grid, squeezed, maps_of_one_size, prior_shares])
def test_more_that_follows(build) -> None:
    old = (32, 32) if build is maps_of_one_size else OLD
    for asked in (NEW, "any"):
        found = followed(built(build, old), asked)
        np.testing.assert_array_equal(run(found, NEW), run(built(build, NEW), NEW))


def test_shares_of_whole_pixels_are_refused() -> None:
    def pixels(n: Net, h: int, w: int) -> str:
        boxes = np.stack([np.full((h, w), 12 / h), np.full((h, w), 0.13)])
        ys = np.broadcast_to(np.arange(h, dtype=np.float32)[:, None], (h, w))
        return n.add("Add", n.conv("x", 3, 3), n.const(np.concatenate([boxes, ys[None]])[None], np.float32))

    assert refused(built(pixels, OLD), NEW)[1] in ("origins.input-size-table", "library.input-size-positions")


def test_scales_that_are_not_followed_are_refused() -> None:
    """Scales of an unknown formula made the sizes after them unknown, and what follows kept its numbers in silence."""

    def unknown(n: Net, h: int, w: int) -> str:
        y = n.conv("x", 3, 2)
        sides = n.add("Cast", n.add("Slice", n.add("Shape", y), n.const([2]), n.const([4])), to=TensorProto.FLOAT)
        scales = n.add("Div", n.add("Mul", sides, sides), n.const([h * h, w * w], np.float32))
        scales = n.add("Concat", n.const([1, 1], np.float32), scales, axis=0)
        up = n.add("Resize", y, "", scales, mode="nearest")
        return n.add("Reshape", up, n.const([1, 2, h * w]))

    assert refused(built(unknown, OLD), NEW)[0].startswith(("Resize", "Div"))


# ---- masks of shifted windows ----


def window_mask(h: int, w: int, window: int) -> np.ndarray:
    """As Swin makes it: samples of a window that come from other ends of the map do not see each other."""
    regions = np.zeros((h, w))
    cuts = [slice(0, -window), slice(-window, -window // 2), slice(-window // 2, None)]
    for at, (rows, columns) in enumerate((a, b) for a in cuts for b in cuts):
        regions[rows, columns] = at
    windows = regions.reshape(h // window, window, w // window, window).transpose(0, 2, 1, 3).reshape(-1, window**2)
    return np.where(windows[:, None] != windows[:, :, None], -100, 0).astype(np.float32)


def shifted_windows(n: Net, h: int, w: int) -> str:
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


def test_masks_of_shifted_windows() -> None:
    old, new = (48, 64), (80, 96)
    for asked in (new, "any"):
        found = followed(built(shifted_windows, old), asked)
        np.testing.assert_array_equal(run(found, new), run(built(shifted_windows, new), new))


def test_masks_of_two_rows_of_windows_are_refused() -> None:
    """Which of two rows is like the others of a larger map is not in the file."""
    assert refused(built(shifted_windows, (32, 64)), (48, 64))[1] != "origins.input-size-split"


def small_pool(n: Net, h: int, w: int) -> str:
    """What a pool of two by two samples meets is always so large: it would have to be an adaptive pool."""
    corner = n.add("Slice", "x", n.const([0, 0]), n.const([4, 6]), n.const([2, 3]))
    sides = n.add("Slice", n.add("Shape", corner), n.const([2]), n.const([4]))
    size = n.add("Concat", n.const([1, 3]), n.add("Mul", sides, n.const([4])), axis=0)
    corner = n.add("Resize", corner, "", "", size, mode="nearest")
    return n.add("Add", n.add("AveragePool", "x", kernel_shape=[2, 2], strides=[2, 2]), corner)


def test_a_step_down_is_no_adaptive_pool_unless_the_user_says_so() -> None:
    assert refused(built(small_pool, OLD), NEW) == ("AveragePool_6", "origins.input-size-pool")
    found = followed(built(small_pool, OLD), (64, 96), follow_input=["AveragePool_6"])
    assert run(found, (64, 96)).shape == (1, 3, OLD[0] // 2, OLD[1] // 2)


def doubled(n: Net, h: int, w: int) -> str:
    """Twice the input, which is four times the map at even sizes."""
    small = n.add("MaxPool", "x", kernel_shape=[2, 2], strides=[2, 2])
    return n.add("Resize", small, "", "", n.const([1, 3, 2 * h, 2 * w]), mode="nearest")


def test_two_shares_are_taken_where_they_agree() -> None:
    odd = (33, 49)
    found = followed(built(doubled, OLD), NEW)
    np.testing.assert_array_equal(run(found, NEW), run(built(doubled, NEW), NEW))
    assert refused(built(doubled, OLD), odd) == ("Resize_1", "origins.input-size-misfit")
    found = followed(built(doubled, OLD), odd, follow_input=["Resize_1"])
    np.testing.assert_array_equal(run(found, odd), run(built(doubled, odd), odd))


# ---- what TensorFlow folds ----


def best_cell(n: Net, h: int, w: int) -> str:
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
def test_rows_and_columns_of_indices(size) -> None:
    found = followed(built(best_cell, OLD), size)
    np.testing.assert_array_equal(run(found, NEW), run(built(best_cell, NEW), NEW))


def test_indices_that_are_divided_by_another_maps_size() -> None:
    def other(n: Net, h: int, w: int) -> str:
        y = n.add("Reshape", n.conv("x", 3, 1), n.const([1, h * w]))
        beside = n.add("ReduceMean", n.conv("x", 3, 1, 2), axes=[2], keepdims=0)
        column = n.add("Div", n.add("ArgMax", y, axis=1), n.const(w // 2))
        return n.add("Add", n.add("Cast", column, to=1), beside)

    assert refused(built(other, OLD), NEW) == ("Div_5", "origins.input-size-scalar-or")


def test_boxes_in_shares_of_the_image_are_refused() -> None:
    """Anchors in pixels over the image's size, folded to shares."""

    def boxes(n: Net, h: int, w: int) -> str:
        shares = np.array([[10, 13], [16, 30]], np.float32).reshape(4, 1, 1) / np.float32(OLD[0])
        return n.add("Mul", n.add("Exp", n.conv("x", 3, 4)), n.const(shares, np.float32))

    assert refused(built(boxes, OLD), NEW) == ("Mul_2", "origins.input-size-numbers")
    found = followed(built(boxes, OLD), NEW, keep=["Mul_2"])
    np.testing.assert_array_equal(run(found, NEW), run(built(boxes, NEW), NEW))


def test_two_nodes_of_one_name_are_told_apart() -> None:
    """A converter gave two casts one output: onnxruntime refuses the model, and so does input-size, with its reason."""

    def casts(n: Net, h: int, w: int) -> str:
        y = n.add("Cast", n.conv("x", 3, 2), to=TensorProto.FLOAT)
        n.add("Cast", n.conv("x", 3, 2), to=TensorProto.FLOAT)
        n.nodes[-1].output[0], n.nodes[-1].name = y, n.nodes[-3].name
        return n.add("Reshape", y, n.const([1, 2 * h * w]))

    assert refused(built(casts, OLD), NEW)[1] == "verification.input-size-original"
