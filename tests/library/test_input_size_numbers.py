"""Numbers of a network that are as large as its image or its map: which follow the input, and which are refused."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from size_networks import NEW, OLD, assert_follows, built, followed, refused, run

import resizefix
from resizefix.outcome import Status

HOSTILE = Path(__file__).parents[2] / "fixtures" / "hostile"


def line(n, size, along):
    shape = [1, 1, 1, 1]
    shape[along] = size
    return n.const(np.arange(size).reshape(shape), np.float32)


def box_head(n, h, w):
    """Centres of boxes count positions and are divided by the size of the map; so are their widths."""
    y = n.conv("x", 3, 4)
    centre = n.add("Div", n.add("Add", n.add("Sigmoid", y), line(n, w, 3)), n.const(w, np.float32))
    width = n.add("Div", n.add("Exp", y), n.const(w, np.float32))
    return n.add("Concat", centre, width, axis=1)


def flow_in_shares(n, h, w):
    return n.add("Div", n.conv("x", 3, 2), n.const((w - 1) / 2, np.float32))


def gram(n, h, w):
    y = n.add("Reshape", n.conv("x", 3, 6), n.const([1, 6, h * w]))
    return n.add("Div", n.add("MatMul", y, n.add("Transpose", y, perm=[0, 2, 1])), n.const(6 * h * w, np.float32))


def best_positions(n, h, w):
    y = n.add("Reshape", n.conv("x", 3, 1), n.const([1, h * w]))
    best = n.add("ArgMax", y, axis=1)
    row, column = n.add("Div", best, n.const(w)), n.add("Mod", best, n.const(w))
    return n.add("Cast", n.add("Concat", row, column, axis=1), to=TensorProto.FLOAT)


def two_coordinates(n, h, w):
    """Each of two coordinates is divided by its own size, also where the image is square."""
    ys, xs = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    grid = n.add("Add", n.conv("x", 3, 2), n.const(np.stack([xs, ys])[None], np.float32))
    made = []
    for channel, size in enumerate((w, h)):
        one = n.add("Slice", grid, n.const([channel]), n.const([channel + 1]), n.const([1]))
        made.append(n.add("Div", one, n.const(size - 1, np.float32)))
    return n.add("Concat", *made, axis=1)


def boxes_in_pixels(n, h, w):
    y = n.add("Transpose", n.add("Reshape", n.conv("x", 3, 4), n.const([1, 4, h * w])), perm=[0, 2, 1])
    return n.add("Mul", y, n.const([w, h, w, h], np.float32))


def spatial_maximum(n, h, w):
    return n.add("MaxPool", n.conv("x", 3, 4), kernel_shape=[h, w], strides=[h, w])


def strip(n, h, w):
    y = n.conv("x", 3, 4)
    return n.add("Add", y, n.add("AveragePool", y, kernel_shape=[1, w], strides=[1, w]))


def old_arange(n, h, w):
    """How torch wrote arange before opset 11: the positions of the ones in a list of ones."""
    ones = n.add("ConstantOfShape", n.const([w]), value=n.tensor([1]))
    positions = n.add("Cast", n.add("NonZero", ones), to=TensorProto.FLOAT)
    return n.add("Add", n.conv("x", 3, 2), n.add("Div", positions, n.const(w - 1, np.float32)))


def uneven_pads(n, h, w):
    return n.add("Pad", n.conv("x", 3, 2), n.const([0, 0, 2, 3, 0, 0, 4, 1]))


FOLLOWING = [
    box_head, flow_in_shares, gram, best_positions, two_coordinates, boxes_in_pixels, spatial_maximum, strip,
    old_arange, uneven_pads,
]  # fmt: skip
SQUARE = (32, 32)


@pytest.mark.parametrize("build", FOLLOWING, ids=lambda build: build.__name__)
@pytest.mark.parametrize("size", [NEW, "any"], ids=["fixed", "any"])
def test_numbers_follow_as_they_are_built_at_that_size(build, size):
    inexact = build in (strip, gram)  # a sum in another order, and a product in another type
    assert_follows(build, size, old=SQUARE if build is two_coordinates else OLD, rtol=1e-5 if inexact else 0)


def data_over_width(n, h, w):
    return n.add("Div", n.conv("x", 3, 2), n.const(w, np.float32))


def half_a_roll(n, h, w):
    y = n.conv("x", 3, 2)
    last = n.add("Slice", y, n.const([-(h // 2)]), n.const([2**62]), n.const([2]))
    return n.add("Concat", last, n.add("Slice", y, n.const([0]), n.const([-(h // 2)]), n.const([2])), axis=2)


def bins_of_maxima(n, h, w):
    return n.add("MaxPool", n.conv("x", 3, 2), kernel_shape=[8, 8], strides=[8, 8])


@pytest.mark.parametrize(
    ("build", "node"), [(data_over_width, "Div_1"), (half_a_roll, "Slice_1"), (bins_of_maxima, "MaxPool_1")],
    ids=lambda given: getattr(given, "__name__", ""),
)  # fmt: skip
def test_numbers_with_two_readings_are_refused_with_their_node(build, node):
    assert refused(built(build, SQUARE if build is bins_of_maxima else OLD), NEW)[0] == node


@pytest.mark.parametrize("choice", ["keep", "follow_input"])
def test_the_user_decides_what_a_number_is(choice):
    result = resizefix.input_size(built(data_over_width, OLD), size=NEW, **{choice: ["Div_*"]})
    kept = run(built(lambda n, h, w: data_over_width(n, h, OLD[1]), NEW), NEW)
    wanted = kept if choice == "keep" else run(built(data_over_width, NEW), NEW)
    assert run(result.model, NEW).tobytes() == wanted.tobytes()


def test_pixels_divided_by_255_are_no_shares_of_an_image_of_256():
    def normalized(n, h, w):
        return n.add("Relu", n.add("Div", "x", n.const(255, np.float32)))

    assert_follows(normalized, old=(256, 256))


def test_a_model_that_does_not_run_at_its_own_size_is_refused_with_the_reason():
    def doubled(n, h, w):
        return n.add("Resize", n.conv("x", 3, 2), "", n.const([1, 1, 2, 2], np.float64), mode="linear")

    result = resizefix.input_size(built(doubled, OLD), size=NEW)
    (outcome,) = result.outcomes
    assert outcome.status is Status.REFUSED
    assert "own size either" in (outcome.reason or "")


def test_a_square_that_stays_one_need_not_say_which_side_a_number_follows():
    def diagonal(n, h, w):
        both = n.add("Add", line(n, w, 3), line(n, h, 2))
        return n.add("Add", n.conv("x", 3, 2), n.add("Div", both, n.const(w - 1, np.float32)))

    assert_follows(diagonal, (48, 48), old=SQUARE)
    assert refused(built(diagonal, SQUARE), NEW)


def linspaced(n, h, w):
    """torch.linspace(-1, 1, n): the first half counted from the start, the second from the end."""

    def spaced(size):
        step, i = np.float32(2) / np.float32(size - 1), np.arange(size, dtype=np.float32)
        return np.where(np.arange(size) < size // 2, -1 + step * i, 1 - step * (np.float32(size - 1) - i))

    ys, xs = np.meshgrid(spaced(h), spaced(w), indexing="ij")
    return n.conv(n.add("Concat", "x", n.const(np.stack([xs, ys])[None], np.float32), axis=1), 5, 2)


def test_a_table_as_torch_spaces_it_is_computed_for_any_size():
    assert_follows(linspaced, "any", at=[OLD, NEW, (33, 47)])


def test_positions_times_frequencies_are_a_grid():
    def frequencies(n, h, w):
        rows = np.arange(h, dtype=np.float32)[:, None] * np.array([1, 0.31622776], np.float32)
        y = n.add("Transpose", n.conv("x", 3, 2), perm=[0, 3, 2, 1])
        return n.add("Mul", y, n.add("Cos", n.const(rows, np.float32)))

    for size in (NEW, "any"):
        assert_follows(frequencies, size)


def sampled(n, h, w):
    """A grid as large as the map that is sampled at it has a position for each sample of the map."""
    ys, xs = np.meshgrid((np.arange(h) * 2 + 1) / h - 1, (np.arange(w) * 2 + 1) / w - 1, indexing="ij")
    return n.add("GridSample", "x", n.const(np.stack([xs, ys], -1)[None], np.float32), mode="bilinear")


@pytest.mark.parametrize("size", [NEW, "any"])
def test_a_grid_as_large_as_the_image_follows_it_unless_the_user_keeps_it(size):
    model = built(sampled, OLD, 16)
    inferred = resizefix.input_size(model, size=size, verify=False).resolution.inferred
    assert any("GridSample_0" in str(sentence) for sentence in inferred)
    assert_follows(sampled, size, opset=16, rtol=1e-5)
    assert run(followed(model, NEW, keep=["GridSample_0"]), NEW).shape == (1, 3, *OLD)


def test_a_grid_of_another_size_than_the_map_is_refused_until_the_user_keeps_it():
    def halved(n, h, w):
        ys, xs = np.meshgrid(np.linspace(-1, 1, h // 2), np.linspace(-1, 1, w // 2), indexing="ij")
        return n.add("GridSample", "x", n.const(np.stack([xs, ys], -1)[None], np.float32), mode="bilinear")

    model = built(halved, OLD, 16)
    assert refused(model, NEW)[0] == "GridSample_0"
    assert run(followed(model, NEW, keep=["GridSample_0"]), NEW).shape == (1, 3, OLD[0] // 2, OLD[1] // 2)


def test_a_box_as_large_as_the_image_by_chance_keeps_its_pixels():
    """The width of a prior box as a share of the image: 48 pixels of it, whatever its size."""

    def prior(n, h, w):
        share = n.add("Mul", n.add("Reciprocal", n.const(w, np.float32)), n.const(OLD[1], np.float32))
        boxes = n.add("Add", n.const(np.zeros((1, 1, h, w)), np.float32), share)
        return n.add("Add", n.conv("x", 3, 2), boxes)

    assert_follows(prior)


def scaled_by_fractions(n, h, w):
    """The scales of 32×48 → 83×134, as tf2onnx writes a resize to a fixed size: one over the other."""
    scales = [1, 1, 83 / 32, 134 / 48]
    none = n.const([], np.float32)
    return n.add("Resize", n.conv("x", 3, 2), none, n.const(scales, np.float32), mode="linear")


@pytest.mark.parametrize(
    ("choice", "made", "inference"),
    [
        ("keep", (83, 134), "its size 83 x 134 stays"),
        ("follow_input", (124, 178), "its size 83 x 134 follows the input"),
    ],
)
def test_fractional_scales_make_their_size_or_scale_as_the_user_says(choice, made, inference):
    assert refused(built(scaled_by_fractions, OLD), NEW)[0] == "Resize_1"
    result = resizefix.input_size(built(scaled_by_fractions, OLD), size=NEW, **{choice: ["Resize_1"]})
    assert run(result.model, NEW).shape == (1, 2, *made)
    assert result.resolution.inferred == (f"Resize_1: {inference}",)


def to_a_fixed_size(n, h, w):
    none = n.const([], np.float32)
    return n.add("Resize", n.conv("x", 3, 2), none, none, n.const([1, 2, 37, 41]), mode="linear")


def test_a_size_that_no_factor_makes_stays_and_cannot_be_asked_to_follow():
    assert run(resizefix.input_size(built(to_a_fixed_size, OLD), size=NEW).model, NEW).shape == (1, 2, 37, 41)
    (outcome,) = resizefix.input_size(built(to_a_fixed_size, OLD), size=NEW, follow_input=["Resize_1"]).outcomes
    assert "no factor makes these numbers" in (outcome.reason or "")


INVALID = """<ir_version: 8, opset_import: ["" : 9]>
g (float[1, 1, 8, 8] x) => (float[1, 1, h, w] y) <float[4] s = {1, 1, 1.5, 1.5}, float[0] none = {}> {
  [up] y = OPERATOR <mode = "linear"> (x, s)
}"""


@pytest.mark.parametrize(
    ("operator", "keep", "why"),
    [
        ("Resize", [], "the node is not valid"),  # an operator of opset 10
        ("Upsample", ["up"], "Upsample cannot shrink"),  # 12 of 16
    ],
)
def test_a_resize_that_its_opset_does_not_have_is_refused_with_the_rule(operator, keep, why):
    model = onnx.parser.parse_model(INVALID.replace("OPERATOR", operator))
    result = resizefix.input_size(model, size=(16, 16), keep=keep, verify=False)
    assert [(outcome.status, outcome.node) for outcome in result.outcomes] == [(Status.REFUSED, "up")]
    assert why in (result.outcomes[0].reason or "")


def test_a_table_that_does_not_fit_the_new_size_is_refused():
    values = ", ".join(str(number * number % 7) for number in range(32))
    model = f"""<ir_version: 8, opset_import: ["" : 13]> g (float[n, 2, h, 2] x) => (float[n, 2, k, w] y)
        <int64[1] two = {{2}}, int64[1] four = {{4}}, int64[1] zero = {{0}}, int64[2] twice = {{2, 1}},
         float[1, 2, 8, 2] table = {{{values}}}> {{
        size = Shape (x)
        image = Slice (size, two, four, zero)
        larger = Mul (image, twice)
        front = Slice (size, zero, two, zero)
        sizes = Concat <axis: int = 0> (front, larger)
        up = Resize <mode: string = "nearest"> (x, , , sizes)
        [add] y = Add (up, table)
    }}"""
    result = resizefix.input_size(onnx.parser.parse_model(model), size=(64, 48), verify=False)
    (outcome,) = result.outcomes
    assert (outcome.status, outcome.node) == (Status.REFUSED, "add")
    assert "learned or unknown table of positions" in outcome.reason


def test_a_size_that_scales_make_and_a_constant_fixes_stays():
    values = ", ".join(map(str, range(20)))
    model = f"""<ir_version: 8, opset_import: ["" : 13]> g (float[1, 1, 3, 6] x) => (float[1, 1, 1, 20] y)
        <int64[4] sizes = {{1, 1, 1, 10}}, float[4] scales = {{1, 1, 1, 2}}, float[1, 1, 1, 20] skip = {{{values}}}> {{
        [first] up = Resize <mode: string = "nearest"> (x, , , sizes)
        [second] wide = Resize <mode: string = "nearest"> (up, , scales)
        y = Add (wide, skip)
    }}"""
    result = resizefix.input_size(onnx.parser.parse_model(model), size=(24, 32))
    assert result.verification.passed
    assert [str(said) for said in result.resolution.inferred] == [
        "first: its size 1 x 10 stays",
        "second: its size 20 stays",
    ]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("axes-beyond-the-rank", "its axes [9] are not distinct axes of its input, which has 4"),
        ("scale-of-infinity", "its scales [1.0, inf, 2.0, 2.0] are not all finite and above 0"),
    ],
)
def test_a_resize_without_a_size_is_refused_with_what_is_wrong(name, why):
    result = resizefix.input_size(HOSTILE / f"{name}.hostile", size=(24, 32))
    assert [str(outcome.reason) for outcome in result.outcomes] == [why]
