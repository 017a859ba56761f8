"""Numbers that activations and attention are scaled by are no sizes, whatever size of a map they are equal to."""

import numpy as np
import pytest
from size_networks import assert_follows, built, followed, grid, refused, run

# Of maps of 13 and 7, 1/6 is 2 / (13 - 1), and 6 is 7 - 1; of one of 9, 8 is 9 - 1; of one of 11, 1/5 is 2 / (11 - 1).
SIZES = [(52, 28), (36, 36), (44, 28), (48, 28)]


def hard_swish(n, h, w):
    y = n.conv("x", 3, 2, 4)
    return n.Div(n.Mul(y, n.Clip(n.Add(y, n.floats(3)), n.floats(0), n.floats(6))), n.floats([6]))


def hard_swish_of_opset_9(n, h, w):
    y = n.conv("x", 3, 2, 4)
    return n.Mul(n.Mul(n.Clip(n.Add(n.floats(3), y), min=0.0, max=6.0), n.floats(1 / 6)), y)


def hard_sigmoid(n, h, w):
    y = n.conv("x", 3, 2, 4)
    return n.Clip(n.Add(n.Mul(y, n.floats(0.2)), n.floats(0.5)), n.floats(0), n.floats(1))


def hard_sigmoid_of_positions(n, h, w):
    """They are clipped to 6, half of a map of 12 rows."""
    lines = n.floats(np.arange(h // 4).reshape(1, 1, h // 4, 1))
    y = n.Add(n.conv("x", 3, 2, 4), lines)
    return n.Div(n.Clip(n.Add(y, n.floats(3)), n.floats(0), n.floats(6)), n.floats(6))


def tokens(n, length):
    y = n.Reshape(n.conv("x", 3, length, 4), [0, length, -1])
    return n.Transpose(y, perm=[0, 2, 1]), y


def attention_scaled_behind(n, h, w):
    q, k = tokens(n, 64)
    return n.Softmax(n.Div(n.MatMul(q, k), n.floats(8)), axis=-1)


def attention_by_a_root(n, h, w):
    q, k = tokens(n, 36)
    return n.Softmax(n.Div(n.MatMul(q, k), n.Sqrt(n.floats(36))), axis=-1)


def attention_scaled_before(n, h, w):
    y = n.Reshape(n.conv("x", 3, 128, 4), [0, 2, 64, -1])
    q = n.Transpose(n.Mul(y, n.floats(0.125)), perm=[0, 1, 3, 2])
    return n.Softmax(n.MatMul(q, y), axis=-1)


def attention_of_positions(n, h, w):
    """Positions are added to what the map holds."""
    lines = np.broadcast_to(np.arange(w // 4, dtype=np.float32) / (w // 4 - 1), (1, 1, h // 4, w // 4))
    y = n.Reshape(n.Add(n.conv("x", 3, 64, 4), n.floats(lines)), [0, 64, -1])
    return n.Softmax(n.Mul(n.MatMul(n.Transpose(y, perm=[0, 2, 1]), y), n.floats(0.125)), axis=-1)


@pytest.mark.parametrize(
    "build",
    [
        hard_swish,
        hard_swish_of_opset_9,
        hard_sigmoid,
        hard_sigmoid_of_positions,
        attention_scaled_behind,
        attention_by_a_root,
        attention_scaled_before,
        attention_of_positions,
    ],
    ids=lambda build: build.__name__,
)
@pytest.mark.parametrize("old", SIZES, ids=str)
@pytest.mark.parametrize("size", [(32, 64), "any"], ids=["fixed", "any"])
def test_what_activations_and_attention_are_scaled_by_stays(build, old, size):
    opset = 9 if build is hard_swish_of_opset_9 else 13
    assert_follows(
        build, size, old=old, at=[(32, 64)], opset=opset, rtol=1e-5 if build is attention_of_positions else 0
    )


@pytest.mark.parametrize("size", [(32, 64), "any"], ids=["fixed", "any"])
def test_what_was_summed_and_its_channels_are_counted_where_positions_are_among_it(size):
    """The Gram matrix of a map that positions were added to, over the number of its values."""

    def gram(n, h, w):
        lines = np.broadcast_to(np.arange(w // 4, dtype=np.float32), (1, 1, h // 4, w // 4))
        y = n.Reshape(n.Add(n.conv("x", 3, 6, 4), n.floats(lines)), [0, 6, -1])
        return n.Div(n.MatMul(y, n.Transpose(y, perm=[0, 2, 1])), n.floats(6 * h * w // 16))

    assert_follows(gram, size, old=(52, 28), at=[(32, 64)], rtol=1e-5)


def test_what_divides_positions_is_the_width_of_their_map_also_where_the_image_is_so_high():
    def best_column(n, h, w):
        y = n.Transpose(n.Reshape(n.conv("x", 3, 4), [1, 1, 2, 2, h, w]), perm=[0, 1, 4, 2, 5, 3])
        best = n.ArgMax(n.Reshape(n.Reshape(y, [1, 1, 2 * h, 2 * w]), [1, 1, 4 * h * w]), axis=2)
        return n.Cast(n.Mod(best, [2 * w]), to=1)

    for new in ((32, 28), (32, 64)):
        assert_follows(best_column, new, old=(56, 28))


@pytest.mark.parametrize("share", [0.1, 0.2, 0.05, 1 / 12])
def test_a_share_that_somebody_may_have_written_is_refused_until_the_user_decides(share):
    """A residual is scaled by 0.1, or a flow by 2 / (W - 1) where W is 21."""

    def scaled(n, h, w):
        return n.Mul(n.conv("x", 3, 2, 4), n.floats(share))

    old = (84, 4 * round(2 / share + 1))
    assert refused(built(scaled, old), (32, 64)) == ("Mul_1", "origins.input-size-number")
    model = followed(built(scaled, old), (32, 64), keep=["Mul_1"])
    assert run(model, (32, 64)).tobytes() == run(built(scaled, (32, 64)), (32, 64)).tobytes()


def attention_of_nothing(n, h, w):
    """A product of matrices that sums over an axis without samples."""
    y = n.Transpose(n.Slice(n.conv("x", 3, 2), [0], [0], [1]), perm=[0, 2, 3, 1])
    return n.Mul(n.MatMul(y, n.Transpose(y, perm=[0, 1, 3, 2])), n.floats(1 / w))


def test_a_number_beside_a_sum_over_nothing_is_no_scale_of_attention():
    assert refused(built(attention_of_nothing, (32, 32)), (40, 48)) == ("Mul_5", "origins.input-size-number")


def test_two_shares_side_by_side_follow_both_sides():
    """A flow in pixels becomes shares of the map: times 2 / (W - 1) and 2 / (H - 1)."""

    def shares(n, h, w):
        y = n.Transpose(n.conv("x", 3, 2), perm=[0, 2, 3, 1])
        return n.Mul(y, n.floats([2 / (w - 1), 2 / (h - 1)]))

    assert_follows(shares, (48, 32), old=(36, 20))


def test_positions_on_an_enlarged_map_are_divided_by_its_size():
    def shares(n, h, w):
        y = n.ConvTranspose("x", n.weight(3, 2, 2, 2), strides=[2, 2])
        lines = n.Reshape(n.floats(np.arange(2 * h)), [1, 1, 2 * h, 1])
        return n.Add(y, n.Expand(n.Div(lines, n.floats(2 * h)), [1, 1, 2 * h, 2 * w]))

    assert_follows(shares, (32, 64), old=(28, 36))


def test_a_table_that_counts_samples_makes_no_steps_of_the_shares_of_another():
    """The middles of 32 parts of -1 to 1 are 1 / 16 apart."""

    def tables(n, h, w):
        counted = n.Add(n.conv("x", 3, 1), n.floats(np.broadcast_to(np.arange(w), (1, 1, h, w))))
        middles = (np.arange(w) + 0.5) * 2 / w - 1
        return n.Add(counted, n.floats(np.broadcast_to(middles, (1, 1, h, w))))

    assert_follows(tables, (48, 40), old=(32, 32))


def test_a_resized_map_that_is_taken_apart_by_turns_follows_the_input():
    """Of an even size, samples 0, 2, … are as many as 1, 3, …: so they are of a fixed one, which this is not."""

    def focus(n, h, w):
        up = n.Resize(n.conv("x", 3, 2), "", "", [1, 2, 2 * h, 2 * w], mode="nearest")
        turns = [n.Slice(up, [first], [2**31 - 1], [2], [2]) for first in (0, 1)]
        return n.Concat(*turns, axis=1)

    assert_follows(focus, (48, 40), old=(32, 28))


def test_two_halves_of_the_sides_of_an_enlarged_square_follow_it():
    """A flow in pixels of the map becomes one of -1 to 1."""

    def flow(n, h, w):
        y = n.Resize(n.conv("x", 3, 2), "", n.floats([1, 1, 2, 2]), mode="nearest")
        return n.Div(n.Transpose(y, perm=[0, 2, 3, 1]), n.floats([w - 0.5, h - 0.5]))

    assert_follows(flow, (48, 48), old=(32, 32))


def test_an_axis_of_one_and_itself_makes_no_windows_of_a_resize():
    def doubled(n, h, w):
        y = n.Resize(n.Conv("x", n.weight(2, 3, 3, 3), pads=[1] * 4), "", "", [1, 2, 2 * h, 2 * w], mode="nearest")
        rows = n.Reshape(n.floats(np.arange(2 * h)), [1, 1, 2 * h, 1])
        columns = n.Reshape(n.floats(np.arange(2 * w)), [1, 1, 1, 2 * w])
        both = [n.Expand(line, [1, 1, 2 * h, 2 * w]) for line in (rows, columns)]
        return n.Concat(y, *both, axis=1)

    assert_follows(doubled, (48, 40), old=(12, 16))


def test_a_side_that_is_resized_to_the_width_of_the_image_follows_its_own_side():
    """The map is taken apart by turns, whose counts are equal whatever the side is."""

    def turns(n, h, w):
        up = n.Resize(n.conv("x", 3, 2), "", "", [1, 2, 2 * h, 2 * w], mode="nearest")
        return n.Concat(*[n.Slice(up, [first], [2**31 - 1], [2], [2]) for first in (0, 1)], axis=1)

    assert_follows(turns, (36, 20), old=(32, 64))


def test_positions_on_a_map_that_was_made_smaller_and_enlarged_count_over_all_of_it():
    """Of a side of 32 each quarter of the positions counts in steps of 1 / 8, which no larger map has."""

    def places(n, h, w):
        y = n.Resize(n.conv("x", 3, 2, 4), "", n.floats([1, 1, 4, 4]), mode="nearest")
        table = grid((np.arange(h) + 0.5) / h, (np.arange(w) + 0.5) / w).reshape(1, 2, -1)
        return n.Add(n.Reshape(y, [1, 2, h * w]), n.floats(table))

    assert_follows(places, (48, 40), old=(32, 64))


def product_of_sizes(n, y, factor):
    """Height and width of a map times a number, as torch wrote `scale_factor` before it knew the sizes."""
    sides = (n.Cast(n.Gather(n.Shape(y), [axis]), to=1) for axis in (2, 3))
    return n.Cast(n.Concat(*(n.Floor(n.Mul(side, n.floats([factor]))) for side in sides), axis=0), to=7)


def enlarged_by_sizes(n, h, w):
    y = n.conv("x", 3, 2)
    sizes = n.Concat(n.Slice(n.Shape(y), [0], [2]), product_of_sizes(n, y, 3), axis=0)
    return n.Resize(y, "", "", sizes, mode="linear")


def enlarged_by_quotients(n, h, w):
    y = n.conv("x", 3, 2, 8)
    own = n.Cast(n.Slice(n.Shape(y), [2], [4]), to=1)
    quotients = n.Div(n.Cast(product_of_sizes(n, y, 8), to=1), own)
    return n.Resize(y, "", n.Concat(n.floats([1, 1]), quotients, axis=0), mode="linear")


@pytest.mark.parametrize("build", [enlarged_by_sizes, enlarged_by_quotients], ids=lambda build: build.__name__)
@pytest.mark.parametrize("old", [(16, 16), (64, 64)], ids=str)
@pytest.mark.parametrize("size", [(32, 48), "any"], ids=["fixed", "any"])
def test_a_number_by_which_sizes_of_a_resize_are_computed_is_a_scale(build, old, size):
    """3 is (16 - 1) / 5, and 8 is 64 / 8."""
    assert_follows(build, size, old=old, at=[(32, 48)])


def test_a_number_of_computed_sizes_that_more_than_resizes_read_is_asked_for():
    def cut(n, h, w):
        y = n.conv("x", 3, 2, 8)
        return n.Slice(n.Resize(y, "", n.floats([1, 1, 9, 9])), [0, 0], product_of_sizes(n, y, 8), [2, 3])

    assert refused(built(cut, (64, 64)), (32, 48))[1] == "origins.input-size-number"
