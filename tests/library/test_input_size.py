"""`resizefix.input_size` over small networks: the same network built at two sizes is the truth."""

import following_numbers
import following_shapes
import numpy as np
import onnx_text
import pytest
from fixture_models import FIXTURES
from following_shapes import IN_ATTRIBUTES, same_padded, unet, windows
from size_networks import NEW, OLD, assert_follows, built, data_over_width, followed, grid, refused, run

import resizefix
from resizefix.diagnostics import UsageError
from resizefix.input_sizes.sequences import readings
from resizefix.outcome import Status

FOLLOWING = {**following_shapes.FOLLOWING, **following_numbers.FOLLOWING}


@pytest.mark.parametrize("build", FOLLOWING, ids=lambda build: build.__name__)
@pytest.mark.parametrize("size", ["fixed", "any"])
def test_a_model_of_another_size_is_what_is_built_at_that_size(build, size):
    said = dict(FOLLOWING[build])
    new = said.pop("new", NEW)
    at = [new] if said else [OLD, new, (64, 32)]
    assert_follows(build, **said, **({"size": "any", "at": at} if size == "any" else {"size": new}))


@pytest.mark.parametrize("build", IN_ATTRIBUTES)
def test_sizes_in_attributes_follow_to_a_fixed_size_and_not_to_any(build):
    assert_follows(build, opset=IN_ATTRIBUTES[build])
    assert refused(built(build, OLD, IN_ATTRIBUTES[build]), "any")[1] == "origins.input-size-attribute"


@pytest.mark.parametrize("new", [(32, 48), (48, 32)])
def test_a_square_of_which_one_side_changes_keeps_the_numbers_of_the_other(new):
    assert_follows(following_numbers.warped, new, old=(32, 32))


def test_odd_sizes_follow_the_map_that_is_met():
    assert_follows(unet, "any", at=[(33, 47), (35, 52)])


def test_pads_of_same_follow_to_an_odd_size():
    odd = (33, 49), (64, 51)
    assert_follows(same_padded, "any", at=odd)
    for size in odd:
        assert_follows(same_padded, size)


def test_any_batch_or_another_with_a_fixed_size():
    model = resizefix.input_size(built(windows, OLD), size=NEW, batch="any").model
    assert [run(model, NEW, batch).shape[0] for batch in (1, 4)] == [1, 4]
    shape = model.graph.input[0].type.tensor_type.shape
    assert [dim.dim_param or dim.dim_value for dim in shape.dim] == ["batch", 3, *NEW]
    assert run(resizefix.input_size(built(windows, OLD), size=NEW, batch=3).model, NEW, 3).shape == (3, 24, 32, 4)


def open_batch(n, h, w):
    """An axis that is taken apart into windows and put together again, with a batch that the file leaves open."""
    n.shape = ("batch", 3, h, w)
    y = n.Reshape("x", [-1, 3, h // 4, 4, w // 4, 4])
    y = n.Reshape(n.Transpose(y, perm=[0, 2, 4, 1, 3, 5]), [-1, 3, 4, 4])
    y = n.Reshape(n.conv(y, 3, 2), [-1, h // 4, w // 4, 2, 4, 4])
    return n.Reshape(n.Transpose(y, perm=[0, 3, 1, 4, 2, 5]), [-1, 2, h, w])


@pytest.mark.parametrize("size", [NEW, "any"], ids=["fixed", "any"])
def test_an_open_batch_hides_no_size(size):
    found = followed(built(open_batch, OLD), size)
    for batch in (1, 2):
        np.testing.assert_array_equal(run(found, NEW, batch), run(built(open_batch, NEW), NEW, batch))


def decimal(n, h, w):
    """interpolate(scale_factor=1.7, recompute_scale_factor=True) leaves nothing but sizes in the file."""
    y = n.conv("x", 3, 2)
    return n.Resize(y, "", "", [1, 2, h * 17 // 10, w * 17 // 10], mode="linear")


def halved(n, h, w):
    """A resize to 16x16 of 32x32: a fixed thumbnail, or half of the image."""
    return n.Resize(n.conv("x", 3, 2), "", "", [1, 2, h // 2, w // 2], mode="linear")


@pytest.mark.parametrize(("build", "old"), [(decimal, OLD), (halved, (32, 32))], ids=["decimal", "halved"])
def test_two_readings_are_refused_until_the_user_chooses_one(build, old):
    model = built(build, old)
    (outcome,) = resizefix.input_size(model, size=NEW, on_refusal="return").outcomes
    assert (outcome.status, outcome.node) == (Status.REFUSED, "Resize_1")
    assert 'keep="NODE"' in (outcome.reason or "")
    assert 'follow_input="NODE"' in (outcome.reason or "")
    assert run(followed(model, NEW, keep=["Resize_*"]), NEW).shape == run(model, old).shape
    assert_follows(build, old=old, follow_input=["Resize_*"])


@pytest.mark.parametrize("choice", ["keep", "follow_input"])
def test_the_user_decides_what_a_number_is(choice):
    result = resizefix.input_size(built(data_over_width, OLD), size=NEW, **{choice: ["Div_*"]})
    kept = run(built(lambda n, h, w: data_over_width(n, h, OLD[1]), NEW), NEW)
    wanted = kept if choice == "keep" else run(built(data_over_width, NEW), NEW)
    assert run(result.model, NEW).tobytes() == wanted.tobytes()


def test_pixels_divided_by_255_are_no_shares_of_an_image_of_256():
    def normalized(n, h, w):
        return n.Relu(n.Div("x", n.floats(255)))

    assert_follows(normalized, old=(256, 256))


def test_a_shared_constant_is_left_to_those_who_keep_it():
    def both(n, h, w):
        shape = [1, 4, 24]  # the sizes of a map, and a split of channels that has the same numbers
        y = n.ReduceMean(n.conv("x", 3, 4), axes=[2])
        y = n.Reshape(y, shape if w == 24 else [1, 4, w])
        z = n.Reshape(n.GlobalAveragePool(n.conv("x", 3, 96)), shape)
        return n.Concat(y, z, axis=2)

    assert_follows(both, (32, 48), old=(32, 24))


def test_as_many_windows_of_unequal_sides_are_bins_of_an_adaptive_pool():
    """Also where weights behind the pool already say how many there are."""

    def pooled(n, h, w):
        side = h // 16, w // 16
        y = n.MaxPool(n.conv("x", 3, 2, 4), kernel_shape=side, strides=side)
        return n.MatMul(n.Flatten(y), n.weight(32, 3))

    assert_follows(pooled)


def sampled(n, h, w):
    """A grid as large as the map that is sampled at it has a position for each sample of the map."""
    places = grid((np.arange(h) * 2 + 1) / h - 1, (np.arange(w) * 2 + 1) / w - 1).transpose(0, 2, 3, 1)
    return n.GridSample("x", n.floats(places), mode="bilinear")


@pytest.mark.parametrize("size", [NEW, "any"])
def test_a_grid_as_large_as_the_image_follows_it_unless_the_user_keeps_it(size):
    model = built(sampled, OLD, 16)
    (assumed,) = resizefix.input_size(model, size=size, verify=False).resolution.assumed
    assert (assumed.node, assumed.convention) == ("GridSample_0", "grid-as-large-as-its-map")
    assert assumed.args == ("--keep", "GridSample_0")
    assert_follows(sampled, size, opset=16, rtol=1e-5)
    assert run(followed(model, NEW, keep=["GridSample_0"]), NEW).shape == (1, 3, *OLD)


def test_a_box_as_large_as_the_image_by_chance_is_asked_for():
    """The width of a prior box as a share of the image: 48 pixels of it, whatever its size."""

    def prior(n, h, w):
        share = n.Mul(n.Reciprocal(n.floats(w)), n.floats(OLD[1]))
        boxes = n.Add(n.floats(np.zeros((1, 1, h, w))), share)
        return n.Add(n.conv("x", 3, 2), boxes)

    assert refused(built(prior, OLD), NEW) == ("Mul_1", "origins.input-size-number")
    assert_follows(prior, keep=["Mul_1"])


def scaled_by_fractions(n, h, w):
    """The scales of 32×48 → 83×134, as tf2onnx writes a resize to a fixed size: one over the other."""
    scales = [1, 1, 83 / 32, 134 / 48]
    none = n.floats([])
    return n.Resize(n.conv("x", 3, 2), none, n.floats(scales), mode="linear")


@pytest.mark.parametrize(
    ("choice", "made"),
    [("keep", (83, 134)), ("follow_input", (124, 178))],
)
def test_fractional_scales_make_their_size_or_scale_as_the_user_says(choice, made):
    assert refused(built(scaled_by_fractions, OLD), NEW)[0] == "Resize_1"
    result = resizefix.input_size(built(scaled_by_fractions, OLD), size=NEW, **{choice: ["Resize_1"]})
    assert run(result.model, NEW).shape == (1, 2, *made)
    assert result.resolution.assumed == ()


def to_a_fixed_size(n, h, w):
    none = n.floats([])
    return n.Resize(n.conv("x", 3, 2), none, none, [1, 2, 37, 41], mode="linear")


def test_a_size_that_no_factor_makes_stays_and_cannot_be_asked_to_follow():
    assert run(resizefix.input_size(built(to_a_fixed_size, OLD), size=NEW).model, NEW).shape == (1, 2, 37, 41)
    (outcome,) = resizefix.input_size(
        built(to_a_fixed_size, OLD), size=NEW, follow_input=["Resize_1"], on_refusal="return"
    ).outcomes
    assert "no factor makes these numbers" in (outcome.reason or "")


INVALID = """(float[1, 1, 8, 8] x) => (float[1, 1, h, w] y) <float[4] s = {1, 1, 1.5, 1.5}, float[0] none = {}>
{ [up] y = OPERATOR <mode = "linear"> (x, s) }"""


@pytest.mark.parametrize(
    ("operator", "keep", "why"),
    [
        ("Resize", [], "the node is not valid"),  # an operator of opset 10
    ],
)
def test_a_resize_that_its_opset_does_not_have_is_refused_with_the_rule(operator, keep, why):
    model = onnx_text.model(INVALID.replace("OPERATOR", operator), 9)
    result = resizefix.input_size(model, size=(16, 16), keep=keep, verify=False, on_refusal="return")
    assert [(outcome.status, outcome.node) for outcome in result.outcomes] == [(Status.REFUSED, "up")]
    assert why in (result.outcomes[0].reason or "")


def test_a_table_that_does_not_fit_the_new_size_is_refused():
    values = ", ".join(str(number * number % 37 / 8) for number in range(32))
    text = f"""(float[n, 2, h, 2] x) => (float[n, 2, k, w] y)
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
    (outcome,) = resizefix.input_size(onnx_text.model(text), size=(64, 48), verify=False, on_refusal="return").outcomes
    assert (outcome.status, outcome.node) == (Status.REFUSED, "add")
    assert "learned or unknown table of positions" in outcome.reason


def test_a_size_that_scales_make_and_a_constant_fixes_stays():
    values = ", ".join(map(str, range(20)))
    text = f"""(float[1, 1, 3, 6] x) => (float[1, 1, 1, 20] y)
        <int64[4] sizes = {{1, 1, 1, 10}}, float[4] scales = {{1, 1, 1, 2}}, float[1, 1, 1, 20] skip = {{{values}}}> {{
        [first] up = Resize <mode: string = "nearest"> (x, , , sizes)
        [second] wide = Resize <mode: string = "nearest"> (up, , scales)
        y = Add (wide, skip)
    }}"""
    result = resizefix.input_size(onnx_text.model(text), size=(24, 32))
    assert result.verification.status == "unrefuted"
    assert [use.node for use in result.resolution.assumed] == ["first"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("axes-beyond-the-rank", "its axes [9] are not distinct axes of its input, which has 4"),
        ("scale-of-infinity", "its scales [1.0, inf, 2.0, 2.0] are not all finite and above 0"),
    ],
)
def test_a_resize_without_a_size_is_refused_with_what_is_wrong(name, why):
    result = resizefix.input_size(FIXTURES / "hostile" / f"{name}.hostile", size=(24, 32), on_refusal="return")
    assert [str(outcome.reason) for outcome in result.outcomes] == [why]


def strided(n, h, w):
    """A skip connection around a halving: at odd sizes it does not fit."""
    skip = n.conv("x", 3, 4)
    up = n.Resize(n.conv(skip, 4, 4, 2), "", n.floats([1, 1, 2, 2]), mode="nearest")
    return n.Add(up, skip)


def test_sizes_that_do_not_fit_are_refused_with_the_nearest_that_do():
    (outcome,) = resizefix.input_size(built(strided, OLD), size=(33, 48), on_refusal="return").outcomes
    assert (outcome.status, outcome.node) == (Status.REFUSED, "Add_3")
    assert "multiple of 2" in (outcome.reason or "")
    assert "32 and 34" in (outcome.reason or "")


def test_a_choice_for_no_node_and_two_for_one_are_wrong_arguments():
    model = onnx_text.model("(float[1,3,8,8] x) => (float[1,3,8,8] y) { [act] y = Relu (x) }")
    for choices in ({"keep": ["atc"]}, {"follow_input": ["Resize_*"]}, {"keep": ["*"], "follow_input": ["act"]}):
        with pytest.raises(UsageError, match=r"no node has such a name|both name act"):
            resizefix.input_size(model, size=(16, 16), verify=False, **choices)


def test_the_answer_has_the_shapes_and_sizes_that_stay_keep_their_names():
    model = onnx_text.model("(float[n,3,h,w] x) => (float[n,3,h,w] y) { y = Relu (x) }")
    result = resizefix.input_size(model, size=(24, 32))
    assert result.resolution.shapes[0] == ("x", ("n", 3, "h", "w"), ("n", 3, 24, 32))
    (output,) = result.model.graph.output
    assert [dim.dim_param or dim.dim_value for dim in output.type.tensor_type.shape.dim] == ["n", 3, 24, 32]


def test_an_image_of_another_size_that_stays_is_named_unless_the_inputs_were():
    model = onnx_text.model("""(float[1,3,32,48] x, float[1,3,8,12] low) => (float[1,3,16,24] y, float[1,3,8,12] z)
        { y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) z = Relu (low) }""")
    resolution = resizefix.input_size(model, size=(64, 96)).resolution
    assert resolution.inferred == ("low: its size 8 x 12 stays; input names the inputs that change",)
    assert resizefix.input_size(model, size=(64, 96), input="x").resolution.inferred == ()


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
