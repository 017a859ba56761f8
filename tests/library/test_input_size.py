"""`resizefix.input_size` over small models of each kind: the same network built at two sizes is the truth."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from size_networks import NEW, OLD, assert_follows, built, followed, refused, run

import resizefix
from resizefix.errors import UsageError
from resizefix.outcome import Status


def unet(n, h, w):
    skip = n.conv("x", 3, 4)
    deep = n.conv(skip, 4, 4, 2)
    up = n.add("Resize", deep, "", "", n.const([1, 4, h, w]), mode="nearest")
    return n.conv(n.add("Concat", up, skip, axis=1), 8, 2)


def to_input(n, h, w):
    return n.add("Resize", n.conv("x", 3, 2, 2), "", "", n.const([1, 2, h, w]), mode="linear")


def flat(n, h, w):
    return n.add("Reshape", n.conv("x", 3, 4, 2), n.const([1, 4, h // 2 * (w // 2)]))


def shuffle(n, h, w):
    y = n.add("Reshape", n.conv("x", 3, 8, 2), n.const([1, 2, 4, h // 2, w // 2]))
    y = n.add("Transpose", y, perm=[0, 2, 1, 3, 4])
    return n.add("Reshape", y, n.const([1, 8, h // 2, w // 2]))


def heads(n, h, w):
    made = []
    x, ins = "x", 3
    for level in (2, 4):
        x, ins = n.conv(x, ins, 4, 2), 4
        head = n.add("Transpose", n.conv(x, 4, 6), perm=[0, 2, 3, 1])
        made.append(n.add("Reshape", head, n.const([1, h // level * (w // level) * 2, 3])))
    return n.add("Concat", *made, axis=1)


def global_pool(n, h, w):
    return n.add("AveragePool", n.conv("x", 3, 4, 2), kernel_shape=[h // 2, w // 2], strides=[h // 2, w // 2])


def grid(n, h, w):
    ys, xs = np.meshgrid(np.arange(h // 2), np.arange(w // 2), indexing="ij")
    return n.add("Add", n.conv("x", 3, 2, 2), n.const(np.stack([xs, ys])[None], np.float32))


def linspace_channels(n, h, w):
    def line(size):
        i = np.arange(size, dtype=np.float32)
        return i / np.float32(size - 1) * np.float32(2) - np.float32(1)

    ys, xs = np.meshgrid(line(h), line(w), indexing="ij")
    return n.conv(n.add("Concat", "x", n.const(np.stack([xs, ys])[None], np.float32), axis=1), 5, 2)


def divided(n, h, w):
    line = n.add("Div", n.const(np.arange(w).reshape(1, 1, 1, w), np.float32), n.const(w - 1, np.float32))
    return n.add("Add", n.conv("x", 3, 2), line)


def mean(n, h, w):
    total = n.add("ReduceSum", n.conv("x", 3, 4, 2), n.const([2, 3]))
    return n.add("Div", total, n.const(h // 2 * (w // 2), np.float32))


def windows(n, h, w):
    y = n.add("Transpose", n.conv("x", 3, 4, 2), perm=[0, 2, 3, 1])
    y = n.add("Reshape", y, n.const([1, h // 8, 4, w // 8, 4, 4]))
    y = n.add("Transpose", y, perm=[0, 1, 3, 2, 4, 5])
    y = n.add("Softmax", n.add("Reshape", y, n.const([-1, 16, 4])), axis=1)
    y = n.add("Reshape", y, n.const([1, h // 8, w // 8, 4, 4, 4]))
    y = n.add("Transpose", y, perm=[0, 1, 3, 2, 4, 5])
    return n.add("Reshape", y, n.const([1, h // 2, w // 2, 4]))


def pixel_unshuffle(n, h, w):
    y = n.add("Reshape", "x", n.const([1, 3, h // 2, 2, w // 2, 2]))
    y = n.add("Transpose", y, perm=[0, 1, 3, 5, 2, 4])
    return n.conv(n.add("Reshape", y, n.const([1, 12, h // 2, w // 2])), 12, 4)


def fixed_target(n, h, w):
    return n.add("Resize", n.conv("x", 3, 2), "", "", n.const([1, 2, 37, 41]), mode="linear")


def pyramid(n, h, w):
    y = n.conv("x", 3, 4, 2)
    made = [y]
    for bins in (2, 4):
        window = [h // 2 // bins, w // 2 // bins]
        pooled = n.add("AveragePool", y, kernel_shape=window, strides=window)
        made.append(n.add("Resize", pooled, "", "", n.const([1, 4, h // 2, w // 2]), mode="linear"))
    return n.add("Concat", *made, axis=1)


def sizes_of_parts(n, h, w):
    one = n.add("Reshape", n.conv("x", 3, 4), n.const([1, 4, h * w]))
    two = n.add("Reshape", n.conv("x", 3, 4, 2), n.const([1, 4, h * w // 4]))
    both = n.add("Concat", one, two, axis=2)
    small = n.add("Slice", both, n.const([h * w]), n.const([h * w + h * w // 4]), n.const([2]))
    return n.add("Reshape", small, n.const([1, 4, h // 2, w // 2]))


def frozen_scales(n, h, w):
    """Sizes over the shape at run time: what torch writes for interpolate(size=...) before opset 11."""
    skip = n.conv("x", 3, 4)
    deep = n.conv(skip, 4, 4, 2)
    shape = n.add("Slice", n.add("Shape", deep), n.const([2]), n.const([4]), n.const([0]))
    scales = n.add("Div", n.const([h, w], np.float32), n.add("Cast", shape, to=TensorProto.FLOAT))
    scales = n.add("Concat", n.const([1, 1], np.float32), scales, axis=0)
    return n.add("Add", n.add("Resize", deep, "", scales, mode="nearest"), skip)


def same_padded(n, h, w):
    """Pads of "SAME" that tf2onnx wrote as numbers: an even size is padded behind alone, an odd one on both sides."""
    pads = [(0 if size % 2 == 0 else 1) for size in (h, w)] + [1, 1]
    y = n.add("Conv", "x", n.weight(4, 3, 3, 3), pads=pads, strides=[2, 2])
    return n.add("Relu", y)


def stretched(n, h, w):
    """A global pool that is stretched over a map by scales, at an opset without sizes."""
    y = n.conv("x", 3, 4, 2)
    pooled = n.add("GlobalAveragePool", y)
    back = n.add("Resize", pooled, "", n.const([1, 1, h // 2, w // 2], np.float32), mode="nearest")
    return n.add("Concat", y, back, axis=1)


FOLLOWING = [
    unet, to_input, flat, shuffle, heads, global_pool, grid, linspace_channels, divided, mean, windows,
    pixel_unshuffle, fixed_target, pyramid, sizes_of_parts, frozen_scales,
    same_padded, stretched,
]  # fmt: skip


@pytest.mark.parametrize("build", FOLLOWING, ids=lambda build: build.__name__)
def test_a_model_of_another_size_is_what_is_built_at_that_size(build):
    assert_follows(build)


@pytest.mark.parametrize("build", FOLLOWING, ids=lambda build: build.__name__)
def test_a_model_of_any_size_is_at_each_what_is_built_for_it(build):
    if build is pyramid:
        assert refused(built(build, OLD), "any")[0] == "AveragePool_1", "a kernel is an attribute"
    else:
        assert_follows(build, "any", at=[OLD, NEW, (64, 32), (80, 96)], rtol=1e-5 if build is global_pool else 0)


def test_odd_sizes_follow_the_map_that_is_met():
    assert_follows(unet, "any", at=[(33, 47), (35, 52)])


def test_pads_of_same_follow_to_an_odd_size():
    odd = (33, 49), (64, 51)
    assert_follows(same_padded, "any", at=odd)
    for size in odd:
        assert_follows(same_padded, size)


def test_scales_before_opset_11_are_computed():
    def stretched_by_scales(n, h, w):
        y = n.conv("x", 3, 4, 2)
        scales = n.const([1, 1, h // 2, w // 2], np.float32)
        return n.add("Concat", y, n.add("Resize", n.add("GlobalAveragePool", y), scales, mode="nearest"), axis=1)

    assert_follows(stretched_by_scales, "any", at=[OLD, NEW, (64, 32)], opset=10)


def test_any_batch_with_a_fixed_size():
    result = resizefix.input_size(built(windows, OLD), size=NEW, batch="any")
    assert [run(result.model, NEW, batch).shape[0] for batch in (1, 4)] == [1, 4]
    shape = result.model.graph.input[0].type.tensor_type.shape
    assert [dim.dim_param or dim.dim_value for dim in shape.dim] == ["batch", 3, *NEW]


def decimal(n, h, w):
    """interpolate(scale_factor=1.7, recompute_scale_factor=True) leaves nothing but sizes in the file."""
    y = n.conv("x", 3, 2)
    return n.add("Resize", y, "", "", n.const([1, 2, h * 17 // 10, w * 17 // 10]), mode="linear")


def halved(n, h, w):
    """A resize to 16x16 of 32x32: a fixed thumbnail, or half of the image."""
    return n.add("Resize", n.conv("x", 3, 2), "", "", n.const([1, 2, h // 2, w // 2]), mode="linear")


@pytest.mark.parametrize(("build", "old"), [(decimal, OLD), (halved, (32, 32))], ids=["decimal", "halved"])
def test_two_readings_are_refused_until_the_user_chooses_one(build, old):
    model = built(build, old)
    (outcome,) = resizefix.input_size(model, size=NEW).outcomes
    assert (outcome.status, outcome.node) == (Status.REFUSED, "Resize_1")
    assert "--keep NODE" in (outcome.reason or "")
    assert "--follow NODE" in (outcome.reason or "")
    assert run(followed(model, NEW, keep=["Resize_*"]), NEW).shape == run(model, old).shape
    assert_follows(build, old=old, follow_input=["Resize_*"])


def dense(n, h, w):
    return n.add("Gemm", n.add("Flatten", n.conv("x", 3, 2, 2)), n.weight(h * w // 2, 5))


def learned(n, h, w):
    return n.add("Add", n.conv("x", 3, 2, 2), n.weight(1, 2, h // 2, w // 2))


def normalized_map(n, h, w):
    return n.add("LayerNormalization", n.conv("x", 3, 2, 2), n.weight(h // 2, w // 2), axis=-2)


@pytest.mark.parametrize(
    ("build", "node", "why"),
    [(dense, "Gemm_2", "weights fix"), (learned, "Add_1", "learned or unknown table")],
    ids=["dense", "learned"],
)
def test_weights_that_depend_on_the_size_are_refused_with_their_node(build, node, why):
    model = built(build, OLD)
    result = resizefix.input_size(model, size=NEW)
    (outcome,) = result.outcomes
    assert (outcome.status, outcome.node) == (Status.REFUSED, node)
    assert why in (outcome.reason or "")
    assert result.model == model


def test_a_batch_goes_along():
    result = resizefix.input_size(built(windows, OLD), size=NEW, batch=3)
    assert run(result.model, NEW, 3).shape == (3, 24, 32, 4)


def test_a_shared_constant_is_left_to_those_who_keep_it():
    def both(n, h, w):
        shape = n.const([1, 4, 24])  # the sizes of a map, and a split of channels that has the same numbers
        y = n.add("ReduceMean", n.conv("x", 3, 4), axes=[2])
        y = n.add("Reshape", y, shape if w == 24 else n.const([1, 4, w]))
        z = n.add("Reshape", n.add("GlobalAveragePool", n.conv("x", 3, 96)), shape)
        return n.add("Concat", y, z, axis=2)

    assert_follows(both, (32, 48), old=(32, 24))


def test_sizes_that_do_not_fit_are_refused_with_the_nearest_that_do():
    def strided(n, h, w):
        skip = n.conv("x", 3, 4)
        up = n.add("Resize", n.conv(skip, 4, 4, 2), "", n.const([1, 1, 2, 2], np.float32), mode="nearest")
        return n.add("Add", up, skip)

    result = resizefix.input_size(built(strided, OLD), size=(33, 48))
    (outcome,) = result.outcomes
    assert (outcome.status, outcome.node) == (Status.REFUSED, "Add_3")
    assert "multiple of 2" in (outcome.reason or "")
    assert "32 and 34" in (outcome.reason or "")


def test_a_choice_for_no_node_and_two_for_one_are_wrong_arguments():
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[1,3,8,8] x) => (float[1,3,8,8] y) { [act] y = Relu (x) }'
    )
    for choices in ({"keep": ["atc"]}, {"follow_input": ["Resize_*"]}, {"keep": ["*"], "follow_input": ["act"]}):
        with pytest.raises(UsageError, match=r"no node has such a name|both name act"):
            resizefix.input_size(model, size=(16, 16), verify=False, **choices)


def test_the_answer_has_the_shapes_and_sizes_that_stay_keep_their_names():
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[n,3,h,w] x) => (float[n,3,h,w] y) { y = Relu (x) }'
    )
    result = resizefix.input_size(model, size=(24, 32))
    assert result.resolution.shapes[0] == ("x", ("n", 3, "h", "w"), ("n", 3, 24, 32))
    (output,) = result.model.graph.output
    assert [dim.dim_param or dim.dim_value for dim in output.type.tensor_type.shape.dim] == ["n", 3, 24, 32]


def test_an_image_of_another_size_that_stays_is_named_unless_the_inputs_were():
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[1,3,32,48] x, float[1,3,8,12] low)'
        " => (float[1,3,16,24] y, float[1,3,8,12] z)"
        " { y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) z = Relu (low) }"
    )
    resolution = resizefix.input_size(model, size=(64, 96)).resolution
    assert resolution.inferred == ("low: its size 8 x 12 stays; --input names the inputs that change",)
    assert resizefix.input_size(model, size=(64, 96), input="x").resolution.inferred == ()
