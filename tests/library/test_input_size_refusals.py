"""Networks whose sizes or numbers have two readings, or none: refused at the node, until the user says which it is."""

import numpy as np
import pytest
from following_shapes import shifted_windows
from onnx import TensorProto, helper
from size_networks import NEW, OLD, assert_follows, built, data_over_width, dense, followed, grid, refused, run

SQUARE = (32, 32)


def root_of_all(n, h, w):
    """Similarities over the root of how many positions there are."""
    y = n.Reshape(n.conv("x", 3, 2, 4), [1, 2, h * w // 16])
    return n.Mul(n.MatMul(y, n.Transpose(y, perm=[0, 2, 1])), n.floats((h * w // 16) ** -0.5))


def middle_crop(n, h, w):
    y = n.conv("x", 3, 2)
    for axis, size in ((2, h), (3, w)):
        y = n.Slice(y, [(size - 16) // 2], [(size - 16) // 2 + 16], [axis])
    return n.MatMul(n.Reshape(y, [1, 512]), n.weight(512, 3))


def middle_half(n, h, w):
    """Half of a map, around its middle: or all but 8 samples on each side."""
    return n.Slice(n.conv("x", 3, 2), [h // 4], [h // 4 + h // 2], [2])


def middle_half_of_known_length(n, h, w):
    """Another node says how long the half is, and none where it begins."""
    half = n.Slice(n.conv("x", 3, 2), [h // 4], [h // 4 + h // 2], [2])
    return n.Add(half, n.Conv("x", n.weight(2, 3, 3, 3), pads=[1] * 4, strides=[2, 1]))


def nothing_padded_and_cut_back(n, h, w):
    """A pad up to a multiple of 16 that is cut off again before windows of 2 are taken apart."""
    y = n.conv(n.Pad(n.conv("x", 3, 4), [0] * 8), 4, 4)
    y = n.Slice(y, [0, 0], [h, w], [2, 3])
    return n.ReduceMean(n.Reshape(y, [1, 4, h // 2, 2, w // 2, 2]), axes=[3, 5])


def end_cut_off(n, h, w):
    """All but two rows, joined with what is resized to as many."""
    y = n.Slice(n.conv("x", 3, 2), [0], [h - 2], [2])
    bins = n.GlobalAveragePool(y)
    return n.Concat(y, n.Resize(bins, "", "", [1, 2, h - 2, w], mode="nearest"), axis=1)


def framed(n, h, w):
    """A frame of zeros, made by writing ones in the middle."""
    where = n.Identity(np.stack(np.meshgrid(np.arange(2, h - 2), np.arange(2, w - 2), indexing="ij"), -1))
    zeros, ones = n.floats(np.zeros((h, w))), n.floats(np.ones((h - 4, w - 4)))
    return n.Mul(n.conv("x", 3, 2), n.ScatterND(zeros, where, ones))


def best_quarter(n, h, w):
    y = n.Reshape(n.conv("x", 3, 2, 4), [1, 2, h * w // 16])
    return n.Identity(n.TopK(y, [h * w // 64], outputs=["best", "places"]))


def even_parts(n, h, w):
    n.Split(n.conv("x", 3, 2), outputs=["a", "b", "c", "d"], axis=2)
    return n.Sum("a", "b", "c", "d")


def size_given_out(n, h, w):
    n.conv("x", 3, 2)
    return n.Cast([h, w], to=1)


def rounded_product(n, h, w):
    """interpolate(scale_factor=0.6, recompute_scale_factor=True): floor of a product of the size."""
    made = [n.Floor(n.floats([size * 0.6])) for size in (h, w)]
    sizes = n.Concat([1, 2], n.Cast(n.Concat(*made, axis=0), to=7), axis=0)
    return n.Resize(n.conv("x", 3, 2), "", "", sizes, mode="linear")


def anchors_in_shares(n, h, w):
    """Anchors in pixels over width and height in turn."""
    y = n.Transpose(n.Reshape(n.conv("x", 3, 4), [1, 2, 2, h * w]), perm=[0, 3, 1, 2])
    return n.Mul(y, n.floats([[10 / w, 13 / h], [33 / w, 23 / h]]))


def pixels_of_samples(n, h, w):
    """The image's columns at which the samples of a map stand: linspace(0, w - 1, w / 4)."""
    columns = np.linspace(0, w - 1, w // 4, dtype=np.float32)
    return n.Mul(n.conv("x", 3, 2, 4), n.floats(columns.reshape(1, 1, 1, -1)))


def half_a_roll(n, h, w):
    y = n.conv("x", 3, 2)
    last = n.Slice(y, [-(h // 2)], [2**62], [2])
    return n.Concat(last, n.Slice(y, [0], [-(h // 2)], [2]), axis=2)


def bins_of_maxima(n, h, w):
    return n.MaxPool(n.conv("x", 3, 2), kernel_shape=[8, 8], strides=[8, 8])


def picked_positions(n, h, w):
    return n.Gather(n.conv("x", 3, 2), [3, 5, 9], axis=3)


def doubled_rows(n, h, w):
    """Each of the few rows of a map is taken twice."""
    y = n.conv(n.conv(n.conv("x", 3, 2, 2), 2, 2, 2), 2, 2, 2)
    return n.Gather(y, np.repeat(np.arange(h // 8), 2), axis=2)


def one_side_held(n, h, w):
    """A resize by 2 of which a split of the width into unequal parts holds one side."""
    y = n.Resize(n.conv("x", 3, 2), "", "", [1, 2, 2 * h, 2 * w], mode="nearest")
    n.Split(y, [w - 9, w + 9], outputs=["left", "right"], axis=3)
    return n.Concat("right", "left", axis=3)


def root_of_positions(n, h, w):
    return n.Mul(n.Add(n.conv("x", 3, 2), n.floats(grid(np.arange(h), np.arange(w)))), n.floats((h * w) ** -0.5))


def learned_norm(n, h, w):
    y = n.Reshape(n.conv("x", 3, 4), [1, h * w, 4, 1])
    return n.BatchNormalization(y, *(n.floats(np.arange(h * w) % 7 + 1) for _ in range(4)))


def learned_table(n, h, w):
    return n.Add(n.conv("x", 3, 2, 2), n.weight(1, 2, h // 2, w // 2))


def other_maps_width(n, h, w):
    """Indices that are divided by another map's width."""
    y = n.Reshape(n.conv("x", 3, 1), [1, h * w])
    beside = n.ReduceMean(n.conv("x", 3, 1, 2), axes=[2], keepdims=0)
    return n.Add(n.Cast(n.Div(n.ArgMax(y, axis=1), w // 2), to=1), beside)


def smaller_grid(n, h, w):
    """Samples of a map at a grid of another size."""
    places = grid(np.linspace(-1, 1, h // 2), np.linspace(-1, 1, w // 2)).transpose(0, 2, 3, 1)
    return n.GridSample("x", n.floats(places), mode="bilinear")


def whole_pixels(n, h, w):
    """Shares of the map that are whole pixels here."""
    boxes = np.stack([np.full((h, w), 12 / h), np.full((h, w), 0.13), np.arange(h)[:, None].repeat(w, 1)])
    return n.Add(n.conv("x", 3, 3), n.floats(boxes[None]))


def unknown_scales(n, h, w):
    """Scales of an unknown formula made the sizes after them unknown, and what follows kept its numbers in silence."""
    y = n.conv("x", 3, 2)
    sides = n.Cast(n.Slice(n.Shape(y), [2], [4]), to=1)
    scales = n.Div(n.Mul(sides, sides), n.floats([h * h, w * w]))
    up = n.Resize(y, "", n.Concat(n.floats([1, 1]), scales, axis=0), mode="nearest")
    return n.Reshape(up, [1, 2, h * w])


def two_of_one_name(n, h, w):
    """A converter gave two casts one output: onnxruntime refuses the model, and so does input-size."""
    y = n.Cast(n.conv("x", 3, 2), to=1)
    n.Cast(n.conv("x", 3, 2), to=1)
    n.nodes[-1].output[0], n.nodes[-1].name = y, n.nodes[-3].name
    return n.Reshape(y, [1, 2 * h * w])


# The node that is refused, the code of the reason, and what to keep so that the others go along.
REFUSED = {
    root_of_all: ("Mul_4", "number", "Mul_4"),
    middle_crop: ("Slice_1", "cut", "Slice_*"),
    middle_half: ("Slice_1", "cut", "Slice_1"),
    middle_half_of_known_length: ("Slice_1", "cut", ""),
    nothing_padded_and_cut_back: ("Pad_1", "no-padding", "Pad_1"),
    half_a_roll: ("Slice_1", "cut", ""),
    end_cut_off: ("Slice_1", "cut", ""),
    framed: ("ScatterND_2", "indices", "ScatterND_2"),
    picked_positions: ("Gather_1", "indices", "Gather_1"),
    doubled_rows: ("Gather_3", "indices", "Gather_3"),
    one_side_held: ("Resize_1", "resize-held", "Resize_1"),
    root_of_positions: ("Mul_2", "number", "Mul_2"),
    best_quarter: ("TopK_2", "share-of-axis", "TopK_2"),
    even_parts: ("Split_1", "parts", "Split_1"),
    size_given_out: ("Cast_1", "output", "Cast_1"),
    rounded_product: ("Resize_6", "resize-factor", "Resize_6"),
    anchors_in_shares: ("Mul_3", "numbers", "Mul_3"),
    data_over_width: ("Div_1", "number", "Div_1"),
    other_maps_width: ("Div_5", "number", "Div_5"),
    smaller_grid: ("GridSample_0", "loose-table", "GridSample_0"),
    bins_of_maxima: ("MaxPool_1", "pool", ""),
    pixels_of_samples: ("Mul_1", "table", ""),
    learned_norm: ("BatchNormalization_2", "weights", ""),
    dense: ("Gemm_2", "weights", ""),
    unknown_scales: ("Resize_7", "scales", ""),
}


@pytest.mark.parametrize("build", REFUSED, ids=lambda build: build.__name__)
@pytest.mark.parametrize("size", [NEW, "any"], ids=["fixed", "any"])
def test_what_has_two_readings_or_none_is_refused_at_its_node_until_the_user_keeps_it(build, size):
    old = SQUARE if build in (middle_crop, bins_of_maxima) else OLD
    node, code, kept = REFUSED[build]
    model = built(build, old, 16 if build is smaller_grid else 13)
    assert refused(model, size) == (node, f"origins.input-size-{code}")
    if kept:
        found = followed(model, size, keep=[kept])
        assert run(found, old).tobytes() == run(model, old).tobytes() if size == "any" else run(found, NEW).size


@pytest.mark.parametrize(
    ("build", "code"),
    [(learned_table, "library.input-size-positions"), (whole_pixels, "origins.input-size-table")],
    ids=["learned", "few-numbers"],
)
def test_a_table_of_unknown_positions_is_refused(build, code):
    """One of few different numbers is none that was learned: no interpolation is offered."""
    assert refused(built(build, OLD), NEW) == ("Add_1", code)


def test_a_table_of_positions_behind_shuffled_pixels_or_patches_fixes_no_size_before_it():
    def shuffled(n, h, w):
        y = n.Resize("x", "", "", [1, 3, h // 2, w // 2], mode="nearest")
        y = n.Transpose(n.Reshape(n.conv(y, 3, 8), [1, 2, 2, 2, h // 2, w // 2]), perm=[0, 1, 4, 2, 5, 3])
        y = n.Reshape(n.Reshape(y, [1, 2, h, w]), [1, 2, h * w])
        places = grid((np.arange(h) + 0.5) / h, (np.arange(w) + 0.5) / w)
        return n.Add(y, n.floats(places.reshape(1, 2, -1)))

    def patches(n, h, w):
        y = n.Transpose(n.Reshape(n.conv("x", 3, 2), [h, 2, w // 2, 2]), perm=[0, 2, 1, 3])
        y = n.Reshape(n.Transpose(n.Relu(y), perm=[0, 2, 1, 3]), [1, 2, h * w])
        places = grid((np.arange(h) + 0.5) / h, (np.arange(w) + 0.5) / w)
        return n.Add(y, n.floats(places.reshape(1, 2, -1)))

    assert_follows(shuffled)
    assert_follows(patches)


def test_a_model_that_does_not_run_at_its_own_size_is_refused():
    def two_types(n, h, w):
        y = n.conv("x", 3, 2)
        return n.Add(y, n.Cast(y, to=TensorProto.INT64))

    assert refused(built(two_types, OLD), NEW)[1] == "verification.input-size-original"


def test_a_name_that_two_nodes_make_is_refused():
    assert refused(built(two_of_one_name, OLD), NEW)[1] == "origins.input-size-made-twice"


@pytest.mark.parametrize("number", [lambda h, w: 1 / (h * w), lambda h, w: (h * w) ** -0.5])
def test_the_area_of_a_map_is_known_where_one_side_alone_changes(number):
    """One over an area or over its root: no number that stays, where height or width does."""

    def shared_out(n, h, w):
        return n.Mul(n.conv("x", 3, 2), n.floats(number(h, w)))

    for new in ((64, 48), (32, 64)):
        assert refused(built(shared_out, OLD), new) == ("Mul_1", refused(built(shared_out, OLD), NEW)[1])


def test_the_root_of_all_positions_of_a_square_is_not_taken_for_the_side_that_changes():
    def scaled(n, h, w):
        y = n.Reshape(n.conv("x", 3, 2), [1, 2, h * w])
        return n.Mul(n.MatMul(y, n.Transpose(y, perm=[0, 2, 1])), n.floats((h * w) ** -0.5))

    assert refused(built(scaled, SQUARE), (32, 64)) == ("Mul_4", "origins.input-size-number")


def same_by_hand(n, h, w):
    """An odd size is padded by one on both sides in front of strides of 2: as torch writes "SAME", or always."""
    y = n.Pad("x", [0, 0, 1, 1, 0, 0, 1, 1])
    return n.Conv(y, n.weight(4, 3, 3, 3), kernel_shape=[3, 3], strides=[2, 2])


def test_pads_that_same_may_have_made_hold_for_odd_sizes():
    odd, even = (33, 49), (48, 64)
    assert refused(built(same_by_hand, odd), even)[1] == "origins.input-size-misfit"
    assert_follows(same_by_hand, (49, 65), old=odd)
    assert_follows(same_by_hand, even, old=odd, keep=["Pad_0"])


def test_a_number_that_moves_positions_may_be_its_own():
    def offset(n, h, w):
        line = n.floats(np.arange(w).reshape(1, 1, 1, w))
        return n.Add(n.conv("x", 3, 2), n.Add(n.Neg(line), n.floats(w // 2)))

    assert refused(built(offset, OLD), NEW) == ("Add_2", "origins.input-size-number")
    assert_follows(offset, follow_input=["Add_2"])


def test_a_crop_to_the_image_is_not_kept_in_silence():
    """Padded to a multiple of 32, and cut to the image again."""

    def cropped(n, h, w):
        y = n.Pad("x", pads=[0, 0, 0, 0, 0, 0, -h % 32, -w % 32], mode="constant")
        return n.Slice(n.conv(y, 3, 2), axes=[2, 3], starts=[0, 0], ends=[h, w])

    assert refused(built(cropped, (28, 44), 9), (60, 76))[1] == "origins.input-size-padding"
    assert_follows(cropped, (60, 76), old=(28, 44), opset=9, keep=["Pad_0"])


@pytest.mark.parametrize("old", [(28, 44), (26, 38), (32, 24)])
def test_as_much_on_both_sides_up_to_a_multiple_is_no_margin(old):
    def centred(n, h, w):
        top, left = -h % 16 // 2, -w % 16 // 2
        y = n.Expand(n.ReduceMean("x", axes=[2]), [1, 3, h, w])  # which may enlarge the batch, too
        y = n.Pad(y, [0, 0, top, left, 0, 0, -h % 16 - top, -w % 16 - left])
        return n.Slice(n.conv(y, 3, 2), [top, left], [top + h, left + w], [2, 3])

    def reflected(n, h, w):
        return n.Conv(n.Pad("x", [0, 0, 4, 4] * 2, mode="reflect"), n.weight(2, 3, 9, 9))

    assert refused(built(centred, old), (60, 76)) == ("Pad_2", "origins.input-size-padding")
    assert_follows(reflected, (60, 76), old=old)


def test_samples_of_patches_that_become_one_with_the_batch_do_not_say_which_factor_is_fixed():
    """As in MobileViT, whose patches have 4 samples a side; in MaxViT, 8 cells of a grid would be fixed."""

    def patches(n, h, w):
        y = n.Transpose(n.Reshape(n.conv("x", 3, 4), [h, 4, w // 4, 4]), perm=[0, 2, 1, 3])
        y = n.Transpose(n.Reshape(y, [1, 4, h * w // 16, 16]), perm=[0, 3, 2, 1])
        return n.Softmax(n.Reshape(y, [16, h * w // 16, 4]), axis=1)

    assert refused(built(patches, SQUARE), (32, 48)) == ("Reshape_1", "origins.input-size-split")


def test_masks_of_two_rows_of_windows_are_refused():
    """Which of two rows is like the others of a larger map is not in the file."""
    assert refused(built(shifted_windows, (32, 64)), (48, 64))[1] != "origins.input-size-split"


def test_a_step_down_is_no_adaptive_pool_unless_the_user_says_so():
    """What a pool of two by two samples meets is always so large: it would have to be an adaptive pool."""

    def small_pool(n, h, w):
        corner = n.Slice("x", [0, 0], [4, 6], [2, 3])
        size = n.Concat([1, 3], n.Mul(n.Slice(n.Shape(corner), [2], [4]), [4]), axis=0)
        corner = n.Resize(corner, "", "", size, mode="nearest")
        return n.Add(n.AveragePool("x", kernel_shape=[2, 2], strides=[2, 2]), corner)

    assert refused(built(small_pool, OLD), NEW, keep=["Mul_3"]) == ("Add_7", "origins.input-size-fixed-partner")
    found = followed(built(small_pool, OLD), (64, 96), follow_input=["AveragePool_6"], keep=["Mul_3"])
    assert run(found, (64, 96)).shape == (1, 3, OLD[0] // 2, OLD[1] // 2)


def test_two_shares_are_taken_where_they_agree():
    """Twice the input, which is four times the map at even sizes."""

    def doubled(n, h, w):
        small = n.MaxPool("x", kernel_shape=[2, 2], strides=[2, 2])
        return n.Resize(small, "", "", [1, 3, 2 * h, 2 * w], mode="nearest")

    odd = (33, 49)
    assert_follows(doubled)
    assert refused(built(doubled, OLD), odd) == ("Resize_1", "origins.input-size-misfit")
    assert_follows(doubled, odd, follow_input=["Resize_1"])


def test_an_output_padding_for_one_side_holds_for_sizes_that_want_it():
    """ConvTranspose2d with `output_size`: an odd side needs no padding, and an even one does."""

    def back(n, h, w):
        padding = [1 - size % 2 for size in (h, w)]
        y = n.conv("x", 3, 2, 2)
        return n.ConvTranspose(y, n.weight(2, 3, 3, 3), strides=[2, 2], pads=[1] * 4, output_padding=padding)

    model = built(back, (45, 66))
    assert refused(model, (64, 51)) == ("ConvTranspose_1", "origins.input-size-misfit")
    assert_follows(back, (37, 58), old=(45, 66))
    assert followed(model, (64, 51), keep=["ConvTranspose_1"])


def test_a_pad_that_torch_puts_into_a_window_holds_for_the_same_remainder():
    model = built(lambda n, h, w: n.Conv("x", n.weight(2, 3, 3, 3), pads=[1, 2, 3, 2], strides=[2, 2]), OLD)
    model.producer_name = "pytorch"
    assert refused(model, NEW) == ("Conv_0", "origins.input-size-misfit")
    assert followed(model, (64, 80))
    assert followed(model, NEW, keep=["Conv_0"])


def test_an_operator_of_another_domain_is_no_function():
    def custom(n, h, w):
        n.nodes.append(helper.make_node("Swish", [n.conv("x", 3, 2)], ["y"], name="swish", domain="custom"))
        return "y"

    model = built(custom, OLD)
    model.opset_import.append(helper.make_opsetid("custom", 1))
    assert refused(model, NEW) == ("swish", "origins.input-size-operator")


def test_a_node_that_does_not_take_its_sizes_is_said_to_be_invalid():
    def halved(n, h, w):
        return n.Upsample(n.conv("x", 3, 2), n.floats([1, 1, 0.5, 0.5]), mode="linear")

    assert refused(built(halved, (32, 48), opset=9), NEW) == ("Upsample_1", "origins.input-size-misfit-node")
