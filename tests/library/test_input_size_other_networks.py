"""Networks whose numbers were once taken for sizes, or not: each must follow as it is built, or be refused."""

import numpy as np
import pytest
from onnx import helper
from size_networks import NEW, OLD, assert_follows, built, followed, refused, run

from resizefix.origins.input_sizes.sequences import readings


def middles_of_boxes(n, h, w):
    """Two corners at positions of a map of 4 rows, added and halved: 2 is no half of the map."""
    fh, fw = h // 8, w // 8
    y = n.add("Reshape", n.conv("x", 3, 4, 8), n.const([1, 4, fh * fw]))
    ys, xs = np.meshgrid(np.arange(fh) + 0.5, np.arange(fw) + 0.5, indexing="ij")
    points = n.const(np.stack([xs.ravel(), ys.ravel()])[None], np.float32)
    first = n.add("Sub", points, n.add("Slice", y, n.const([0]), n.const([2]), n.const([1])))
    last = n.add("Add", points, n.add("Slice", y, n.const([2]), n.const([4]), n.const([1])))
    return n.add("Div", n.add("Add", first, last), n.const(2, np.float32))


def linear_attention(n, h, w):
    """Values are divided by how many there are before they are summed, and the sum is multiplied again."""
    y = n.add("Reshape", n.conv("x", 3, 4, 4), n.const([1, 4, h * w // 16]))
    count = n.const(h * w // 16, np.float32)
    kv = n.add("MatMul", n.add("Div", y, count), n.add("Transpose", y, perm=[0, 2, 1]))
    return n.add("Mul", n.add("MatMul", kv, y), count)


def offsets_in_shares(n, h, w):
    """Offsets that a layer computes, over the width and height of their map."""
    y = n.add("Transpose", n.conv("x", 3, 2, 4), perm=[0, 2, 3, 1])
    return n.add("Div", y, n.const([w // 4, h // 4], np.float32))


def boxes_on_a_map(n, h, w):
    """Boxes of a few queries, scaled to a map: nothing that they are computed of follows the input."""
    y = n.conv("x", 3, 4, 4)
    few = n.add("Transpose", n.add("Reshape", n.add("GlobalAveragePool", y), n.const([1, 4])), perm=[0, 1])
    boxes = n.add("Mul", few, n.const([w // 4, h // 4, w // 4, h // 4], np.float32))
    return n.add("Add", n.add("Transpose", y, perm=[0, 2, 3, 1]), boxes)


def attention_with_waves(n, h, w):
    """Sines of positions are no positions: what similarities are multiplied by, 1/4, is no 2 over 8 rows."""
    fh, fw = h // 4, w // 4
    ys = np.repeat(np.arange(fh), fw)[:, None]
    line = n.const(np.concatenate([ys, ys], 1)[None], np.float32)
    waves = n.add("Sin", n.add("Mul", line, n.const([1, 0.1], np.float32)))
    y = n.add("Transpose", n.add("Reshape", n.conv("x", 3, 2, 4), n.const([1, 2, fh * fw])), perm=[0, 2, 1])
    y = n.add("Add", y, waves)
    return n.add("Mul", n.add("MatMul", y, n.add("Transpose", y, perm=[0, 2, 1])), n.const(0.25, np.float32))


def unbiased(n, h, w):
    """A variance as torch wrote it before 2.0: the mean times n, over n - 1."""
    y = n.add("Reshape", n.conv("x", 3, 4), n.const([1, 4, -1]))
    power = n.add("Abs", n.add("ReduceMean", n.add("Mul", y, y), axes=[2]))
    count = n.add("Mul", power, n.const(h * w, np.float32))
    return n.add("Div", count, n.const(h * w - 1, np.float32))


def halves_by_split(n, h, w):
    """torch.chunk(2) of an axis, with the lengths listed."""
    y = n.conv("x", 3, 2)
    parts = n.const([w // 2, w // 2])
    n.nodes.append(helper.make_node("Split", [y, parts], ["left", "right"], axis=3))
    return n.add("Mul", "left", "right")


def linspace_of(lanes):
    """torch.linspace(-1, 1, n) with products that are fused with their sum, in vectors of `lanes`."""

    def spaced(size):
        step, made = np.float32(2) / np.float32(size - 1), []
        for i in range(size):
            first = i // lanes * lanes if i < size - size % (2 * lanes) and lanes > 1 else i
            up, down = -1 + float(step) * first, 1 - float(step) * (size - 1 - first)
            made.append(np.float32(up if first < size // 2 else down) + step * np.float32(i - first))
        return np.array(made, np.float32)

    def build(n, h, w):
        ys, xs = np.meshgrid(spaced(h), spaced(w), indexing="ij")
        return n.conv(n.add("Concat", "x", n.const(np.stack([xs, ys])[None], np.float32), axis=1), 5, 2)

    build.__name__ = f"linspace_{lanes}"
    return build


def shifted_copies(n, h, w):
    """A cost volume: slices of a padded map, of which the last begins 8 samples in."""
    y = n.conv("x", 3, 2, 2)
    wide = n.add("Pad", y, n.const([0, 0, 4, 0, 0, 0, 4, 0]))
    made = []
    for first in (0, 4, 8):
        part = n.add("Slice", wide, n.const([first]), n.const([first + h // 2]), n.const([2]))
        made.append(n.add("Mul", y, part))
    return n.add("Concat", *made, axis=1)


def rays(n, h, w):
    """Pixels turned by a camera's matrix, times a depth: both are constants."""
    ys, xs = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    pixels = np.stack([xs.ravel(), ys.ravel(), np.ones(h * w)])
    turned = n.add("MatMul", n.const([[0.5, 0, -1], [0, 0.25, 2], [0, 0, 1]], np.float32), n.const(pixels, np.float32))
    depth = n.add("Reshape", n.conv("x", 3, 1), n.const([1, 1, h * w]))
    return n.add("Mul", turned, depth)


def windows_behind_no_pad(n, h, w):
    """A pad up to whole windows, which adds nothing here and at every size that has whole windows."""
    y = n.add("Pad", n.conv("x", 3, 4), n.const([0] * 8))
    y = n.add("Reshape", y, n.const([1, 4, h // 8, 8, w // 8, 8]))
    return n.add("ReduceMean", y, axes=[3, 5])


def root_computed(n, h, w):
    """Sums over a map, over the root of how many there were, which the file computes."""
    y = n.add("Reshape", n.conv("x", 3, 2, 4), n.const([1, 2, h * w // 16]))
    alike = n.add("MatMul", y, n.add("Transpose", y, perm=[0, 2, 1]))
    root = n.add("Pow", n.const(h * w // 16, np.float32), n.const(-0.5, np.float32))
    return n.add("Mul", alike, root)


def lacking(n, size):
    """What a size lacks to whole windows, as torch traces (8 - size % 8) % 8."""
    rest = n.add("Sub", n.const(8), n.add("Mod", n.const(size), n.const(8)))
    return n.add("Unsqueeze", n.add("Mod", rest, n.const(8)), n.const([0]))


def padded_to_windows(n, h, w):
    h, w, zeros = h // 2, w // 2, n.const([0, 0, 0, 0])
    y = n.conv("x", 3, 4, 2)
    lack = {size: lacking(n, size) for size in (h, w)}
    y = n.add("Pad", y, n.add("Concat", zeros, n.const([0, 0]), lack[h], lack[w], axis=0))
    sides = [n.add("Div", n.add("Add", n.const([size]), lack[size]), n.const([8])) for size in (h, w)]
    apart = n.add("Concat", n.const([1, 4]), sides[0], n.const([8]), sides[1], n.const([8]), axis=0)
    return n.add("ReduceMean", n.add("Reshape", y, apart), axes=[3, 5])


def keypoints(n, h, w):
    """Six values each of the best positions, looked up and taken apart into three pairs."""
    y = n.add("Reshape", n.conv("x", 3, 6, 4), n.const([1, 6, h * w // 16]))
    score = n.add("Slice", y, n.const([0]), n.const([1]), n.const([1]))
    n.nodes.append(helper.make_node("TopK", [score, n.const([8])], ["best", "places"]))
    found = n.add("GatherElements", y, n.add("Expand", "places", n.const([1, 6, 8])), axis=2)
    return n.add("Reshape", found, n.const([1, 3, 2, 8]))


def larger_table(n, h, w):
    """Learned positions for maps of up to 20 x 20, of which the first are added."""
    table = n.weight(1, 2, 20, 20)
    for axis, size in ((2, h // 4), (3, w // 4)):
        table = n.add("Slice", table, n.const([0]), n.const([size]), n.const([axis]))
    return n.add("Add", n.conv("x", 3, 2, 4), table)


FOLLOWING = [
    middles_of_boxes, linear_attention, offsets_in_shares, boxes_on_a_map, attention_with_waves, unbiased,
    halves_by_split, shifted_copies, rays, windows_behind_no_pad, root_computed, padded_to_windows, keypoints,
    larger_table, linspace_of(1), linspace_of(8),
]  # fmt: skip


@pytest.mark.parametrize("build", FOLLOWING, ids=lambda build: build.__name__)
@pytest.mark.parametrize("size", [NEW, "any"], ids=["fixed", "any"])
def test_follows_as_it_is_built(build, size):
    assert_follows(build, size, at=[NEW] if size == NEW else [OLD, NEW, (64, 32)])


# torch.linspace(-1, 1, 19), as float32 bits, on a CPU with AVX2.
TORCH = {
    "torch 2.13": (
        3212836864, 3210972729, 3209108594, 3207244459, 3205380324, 3202584121, 3198855850, 3194195512, 3185806904,
        2986344448, 1038323256, 1046711864, 1051372202, 1055100473, 1057896676, 1059760811, 1061624946, 1063489081,
        1065353216,
    ),
    "torch 1.7": (
        3212836864, 3210972729, 3209108594, 3207244458, 3205380324, 3202584120, 3198855850, 3194195512, 3185806904,
        838860800, 1038323258, 1046711866, 1051372203, 1055100474, 1057896676, 1059760811, 1061624946, 1063489081,
        1065353216,
    ),
}  # fmt: skip


@pytest.mark.parametrize("release", TORCH)
def test_a_linspace_is_read_off_its_bits(release):
    assert readings(np.array(TORCH[release], np.uint32).view(np.float32))


def root_of_all(n, h, w):
    """Similarities over the root of how many positions there are."""
    y = n.add("Reshape", n.conv("x", 3, 2, 4), n.const([1, 2, h * w // 16]))
    alike = n.add("MatMul", y, n.add("Transpose", y, perm=[0, 2, 1]))
    return n.add("Mul", alike, n.const((h * w // 16) ** -0.5, np.float32))


def middle_crop(n, h, w):
    y = n.conv("x", 3, 2)
    for axis, size in ((2, h), (3, w)):
        first = (size - 16) // 2
        y = n.add("Slice", y, n.const([first]), n.const([first + 16]), n.const([axis]))
    return n.add("MatMul", n.add("Reshape", y, n.const([1, 512])), n.weight(512, 3))


def framed(n, h, w):
    """A frame of zeros, made by writing ones in the middle."""
    where = np.stack(np.meshgrid(np.arange(2, h - 2), np.arange(2, w - 2), indexing="ij"), -1)
    where = n.add("Identity", n.const(where))
    ones = n.const(np.ones((h - 4, w - 4)), np.float32)
    return n.add("Mul", n.conv("x", 3, 2), n.add("ScatterND", n.const(np.zeros((h, w)), np.float32), where, ones))


def best_quarter(n, h, w):
    y = n.add("Reshape", n.conv("x", 3, 2, 4), n.const([1, 2, h * w // 16]))
    n.nodes.append(helper.make_node("TopK", [y, n.const([h * w // 64])], ["best", "places"], name="TopK_best"))
    return n.add("Identity", "best")


def even_parts(n, h, w):
    y = n.conv("x", 3, 2)
    n.nodes.append(helper.make_node("Split", [y], ["a", "b", "c", "d"], name="Split_4", axis=2))
    return n.add("Sum", "a", "b", "c", "d")


def size_given_out(n, h, w):
    n.conv("x", 3, 2)
    return n.add("Cast", n.const([h, w]), to=1)


def rounded_product(n, h, w):
    """interpolate(scale_factor=0.6, recompute_scale_factor=True): floor of a product of the size."""
    made = [n.add("Floor", n.const([size * 0.6], np.float32)) for size in (h, w)]
    sizes = n.add("Cast", n.add("Concat", *made, axis=0), to=7)
    sizes = n.add("Concat", n.const([1, 2]), sizes, axis=0)
    return n.add("Resize", n.conv("x", 3, 2), "", "", sizes, mode="linear")


def anchors_in_shares(n, h, w):
    """Anchors in pixels over width and height in turn."""
    y = n.add("Reshape", n.conv("x", 3, 4), n.const([1, 2, 2, h * w]))
    y = n.add("Transpose", y, perm=[0, 3, 1, 2])
    return n.add("Mul", y, n.const([[10 / w, 13 / h], [33 / w, 23 / h]], np.float32))


def pixels_of_samples(n, h, w):
    """The image's columns at which the samples of a map stand: linspace(0, w - 1, w / 4)."""
    columns = np.linspace(0, w - 1, w // 4, dtype=np.float32)
    return n.add("Mul", n.conv("x", 3, 2, 4), n.const(columns.reshape(1, 1, 1, -1), np.float32))


@pytest.mark.parametrize(
    ("build", "node", "code"),
    [
        (pixels_of_samples, "Mul_1", "origins.input-size-table"),
        (rounded_product, "Resize_6", "origins.input-size-resize-factor"),
        (anchors_in_shares, "Mul_3", "origins.input-size-numbers"),
        (root_of_all, "Mul_4", "origins.input-size-root"),
        (middle_crop, "Slice_1", "origins.input-size-cut"),
        (framed, "ScatterND_2", "origins.input-size-indices"),
        (best_quarter, "TopK_best", "origins.input-size-share-of-axis"),
        (even_parts, "Split_4", "origins.input-size-parts"),
        (size_given_out, "Cast_1", "origins.input-size-output"),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
@pytest.mark.parametrize("size", [NEW, "any"], ids=["fixed", "any"])
def test_two_readings_are_refused(build, node, code, size):
    old = (32, 32) if build is middle_crop else OLD
    model = built(build, old)
    assert refused(model, size) == (node, code)
    if code == "origins.input-size-table":
        return
    kept = followed(model, size, keep=[node]) if build is not middle_crop else followed(model, size, keep=["Slice_*"])
    assert run(kept, old).tobytes() == run(model, old).tobytes() if size == "any" else run(kept, NEW).size


def test_a_norm_without_weights_follows():
    """torch writes the weights that it does not have as ones and zeros, as large as the map."""

    def normed(n, h, w):
        ones, zeros = (n.const(np.full((4, h, w), value), np.float32) for value in (1, 0))
        return n.add("LayerNormalization", n.conv("x", 3, 4), ones, zeros, axis=1)

    for size in (NEW, "any"):
        assert_follows(normed, size, opset=17)


def test_a_scale_of_three_halves_stays_one_where_it_makes_half_samples():
    def scaled(n, h, w):
        empty = n.const([], np.float32)
        return n.add("Resize", n.conv("x", 3, 2), empty, n.const([1, 1, 1.5, 1.5], np.float32), mode="linear")

    old, new = (33, 49), (50, 64)
    for size in (new, "any"):
        assert_follows(scaled, size, old=old, at=[new])


def open_batch(n, h, w):
    """An axis that is taken apart into windows and put together again, with a batch that the file leaves open."""
    n.shape = ("batch", 3, h, w)
    y = n.add("Reshape", "x", n.const([-1, 3, h // 4, 4, w // 4, 4]))
    y = n.add("Reshape", n.add("Transpose", y, perm=[0, 2, 4, 1, 3, 5]), n.const([-1, 3, 4, 4]))
    y = n.add("Reshape", n.conv(y, 3, 2), n.const([-1, h // 4, w // 4, 2, 4, 4]))
    return n.add("Reshape", n.add("Transpose", y, perm=[0, 3, 1, 4, 2, 5]), n.const([-1, 2, h, w]))


@pytest.mark.parametrize("size", [NEW, "any"], ids=["fixed", "any"])
def test_an_open_batch_hides_no_size(size):
    found = followed(built(open_batch, OLD), size)
    for batch in (1, 2):
        np.testing.assert_array_equal(run(found, NEW, batch), run(built(open_batch, NEW), NEW, batch))


def test_as_many_windows_of_unequal_sides_are_bins_of_an_adaptive_pool():
    """Also where weights behind the pool already say how many there are."""

    def pooled(n, h, w):
        side = h // 16, w // 16
        y = n.add("MaxPool", n.conv("x", 3, 2, 4), kernel_shape=side, strides=side)
        return n.add("MatMul", n.add("Flatten", y), n.weight(32, 3))

    assert_follows(pooled)


def test_an_output_padding_for_one_side_holds_for_sizes_that_want_it():
    """ConvTranspose2d with `output_size`: an odd side needs no padding, and an even one does."""

    def back(n, h, w):
        padding = [1 - size % 2 for size in (h, w)]
        y = n.conv("x", 3, 2, 2)
        return n.add("ConvTranspose", y, n.weight(2, 3, 3, 3), strides=[2, 2], pads=[1] * 4, output_padding=padding)

    model = built(back, (45, 66))
    assert refused(model, (64, 51)) == ("ConvTranspose_1", "origins.input-size-misfit")
    assert_follows(back, (37, 58), old=(45, 66))
    assert followed(model, (64, 51), keep=["ConvTranspose_1"])


def test_a_pad_that_torch_puts_into_a_window_holds_for_the_same_remainder():
    model = built(lambda n, h, w: n.add("Conv", "x", n.weight(2, 3, 3, 3), pads=[1, 2, 3, 2], strides=[2, 2]), OLD)
    model.producer_name = "pytorch"
    assert refused(model, NEW) == ("Conv_0", "origins.input-size-misfit")
    assert followed(model, (64, 80))
    assert followed(model, NEW, keep=["Conv_0"])


def test_a_pool_without_strides_is_refused_with_the_runtimes_reason():
    """torch 1.4 leaves the strides of a pool empty, which onnxruntime does not load."""
    model = built(lambda n, h, w: n.add("AveragePool", "x", kernel_shape=[2, 2]), OLD)
    attribute = model.graph.node[0].attribute.add()
    attribute.name, attribute.type = "strides", 7
    assert refused(model, NEW) == ("AveragePool_0", "verification.input-size-original")
