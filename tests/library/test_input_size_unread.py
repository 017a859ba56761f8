"""Numbers that sizes made by a formula that nobody reads, and sizes of 1: they are asked for, never left in silence."""

import numpy as np
import onnx
import ort_runs
import pytest
from size_networks import NEW, OLD, Net, assert_follows, built, grid, refused

import resizefix


def unbiased_variance(n, h, w):
    y = n.Sub("x", n.ReduceMean("x", axes=[2, 3]))
    return n.Mul(n.ReduceMean(n.Mul(y, y), axes=[2, 3]), n.floats(h * w / (h * w - 1)))


def over_unbiased(n, h, w):
    y = n.Sub("x", n.ReduceMean("x", axes=[2, 3]))
    return n.Div(n.ReduceMean(n.Mul(y, y), axes=[2, 3]), n.floats((h * w - 1) / (h * w)))


def flow_of_a_fixed_map(n, h, w):
    """Motion found on a map of 20 by 20, in pixels of the whole one."""
    small = n.Resize("x", "", "", [1, 3, 20, 20], mode="linear", coordinate_transformation_mode="asymmetric")
    motion = n.Resize(n.conv(small, 3, 2), "", "", [1, 2, h, w], mode="linear")
    return n.Mul(motion, n.floats(np.array([w / 20, h / 20]).reshape(1, 2, 1, 1)))


def corners_of_two_levels(n, h, w):
    y = n.Resize(n.conv("x", 3, 2, 2), "", "", [1, 2, h, w], mode="linear")
    return n.Mul(y, n.floats(np.array([(w - 1) / (w // 2 - 1), (h - 1) / (h // 2 - 1)]).reshape(1, 2, 1, 1)))


def over_the_diagonal(n, h, w):
    """A grid and what the network moves it by, over the diagonal of the map."""
    places = n.Add(n.floats(grid(np.arange(h), np.arange(w))), n.Tanh(n.conv("x", 3, 2)))
    return n.Div(places, n.floats(np.hypot(h, w)))


def camera(n, h, w):
    points = n.Reshape(n.conv("x", 3, 3), [1, 3, h * w])
    return n.MatMul(n.floats([[0.58 * w, 0, 0.5 * w], [0, 1.92 * h, 0.5 * h], [0, 0, 1]]), points)


def camera_of_halves(n, h, w):
    points = n.Reshape(n.conv("x", 3, 3), [1, 3, h * w])
    return n.MatMul(n.floats([[w / 2, 0, (w - 1) / 2], [0, h / 2, (h - 1) / 2], [0, 0, 1]]), points)


def halves_on_a_diagonal(n, h, w):
    """Shares of -1 to 1 become pixels by a product of matrices."""
    points = n.Transpose(n.Reshape(n.conv("x", 3, 2), [1, 2, h * w]), perm=[0, 2, 1])
    return n.MatMul(points, n.floats([[w / 2, 0], [0, h / 2]]))


def projection_by_einsum(n, h, w):
    points = n.Reshape(n.conv("x", 3, 3), [1, 3, h * w])
    camera = [[w / 2, 0, w / 2], [0, h / 2, h / 2], [0, 0, 1]]
    return n.Einsum(n.floats(camera), points, equation="ij,bjn->bin")


def positions_on_a_coarser_map(n, h, w):
    """Columns that the network moves, as shares of a map of half the width."""
    columns = n.Add(n.floats(np.arange(w).reshape(1, 1, 1, w)), n.Tanh(n.conv("x", 3, 1)))
    columns = n.Reshape(n.Div(columns, n.floats(2)), [1, h * w, 1, 1])
    coarse = n.AveragePool("x", kernel_shape=[2, 2], strides=[2, 2])
    return n.Add(n.Div(columns, n.floats(w // 2 - 1)), n.ReduceMax(coarse, axes=[1, 2, 3]))


def root_mean_square(n, h, w):
    """As many channels as rows, and only the columns become more."""
    return n.Div(n.ReduceL2(n.conv("x", 3, 32), axes=[2, 3]), n.floats(np.sqrt(h * w)))


def as_many_columns_everywhere(n, h, w):
    return n.Mul(n.conv("x", 3, 2), n.floats(np.full((1, 1, h, w), w)))


def steps_everywhere(n, h, w):
    """The stride of the map, which is also as long as a side of it."""
    y = n.conv(n.conv("x", 3, 2, 2), 2, 2, 4)
    return n.Mul(y, n.floats(np.full((1, 1, h // 8, w // 8), 8)))


def fixed_camera(n, h, w):
    """Nothing in the matrix is a size, and each number is one that somebody wrote."""
    points = n.Reshape(n.conv("x", 3, 3), [1, 3, h * w])
    return n.MatMul(n.floats([[0.5, 0, -1], [0, 0.25, 2], [0, 0, 1]]), points)


def overlapping_quarters(n, h, w):
    y = n.conv("x", 3, 2)
    parts = [n.Slice(y, [first], [first + 3 * h // 4], [2]) for first in (0, h // 4)]
    return n.Concat(*parts, axis=1)


def all_but_the_last(n, h, w):
    return n.Slice(n.conv("x", 3, 2), [0], [h - 1], [2])


def three_quarters(n, h, w):
    return n.Slice(n.conv("x", 3, 2), [0], [3 * w // 4], [3])


def variances_of_boxes(n, h, w):
    """The usual factors 0.1 and 0.2, which are quotients of sizes here as well."""
    y = n.Transpose(n.conv(n.conv("x", 3, 4, 2), 4, 4, 2), perm=[0, 2, 3, 1])
    return n.Mul(n.Reshape(y, [1, h * w // 16, 4]), n.floats([0.1, 0.1, 0.2, 0.2]))


def whole_sequences(n, h, w):
    """How long the sequence is stands in the file: as long as the map is wide."""
    y = n.Transpose(n.ReduceMax(n.conv("x", 3, 4), axes=[2], keepdims=0), perm=[2, 0, 1])
    return n.GRU(y, n.weight(1, 6, 4), n.weight(1, 6, 2), n.weight(1, 12), n.const([w], np.int32), hidden_size=2)


def samples_of_a_mask(n, h, w):
    """Every second sample, as a mask of the file says."""
    mask = np.zeros((h, w), bool)
    mask[::2, ::2] = True
    places = n.Transpose(n.NonZero(n.const(mask, np.bool_)), perm=[1, 0])
    y = n.Reshape(n.Transpose(n.conv("x", 3, 4), perm=[2, 3, 0, 1]), [h, w, 4])
    return n.GatherND(y, places)


ASKED = [
    (unbiased_variance, "Mul_4", "origins.input-size-number"),
    (over_unbiased, "Div_4", "origins.input-size-number"),
    (flow_of_a_fixed_map, "Mul_3", "origins.input-size-quotients"),
    (corners_of_two_levels, "Mul_2", "origins.input-size-quotients"),
    (over_the_diagonal, "Div_3", "origins.input-size-number"),
    (camera, "MatMul_2", "origins.input-size-matrix"),
    (camera_of_halves, "MatMul_2", "origins.input-size-matrix"),
    (halves_on_a_diagonal, "MatMul_3", "origins.input-size-matrix"),
    (projection_by_einsum, "Einsum_2", "origins.input-size-matrix"),
    (positions_on_a_coarser_map, "Div_6", "origins.input-size-number"),
    (root_mean_square, "Div_2", "origins.input-size-number"),
    (as_many_columns_everywhere, "Mul_1", "origins.input-size-number"),
    (overlapping_quarters, "Slice_1", "origins.input-size-cut"),
    (whole_sequences, "GRU_3", "origins.input-size-all-of-axis"),
    (samples_of_a_mask, "GatherND_5", "origins.input-size-indices"),
]


@pytest.mark.parametrize("size", [NEW, "any"], ids=["fixed", "any"])
@pytest.mark.parametrize(("build", "node", "code"), ASKED, ids=[build.__name__ for build, *_ in ASKED])
def test_what_sizes_made_is_asked_for_at_its_node(build, node, code, size):
    assert refused(built(build, OLD), size, keep=["Resize_0"] if build is flow_of_a_fixed_map else []) == (node, code)


@pytest.mark.parametrize("size", [NEW, "any"], ids=["fixed", "any"])
@pytest.mark.parametrize("build", [unbiased_variance, over_unbiased])
def test_an_unbiased_variance_follows(build, size):
    assert_follows(build, size, follow_input=["*_4"], rtol=1e-6)


@pytest.mark.parametrize("size", [NEW, "any"], ids=["fixed", "any"])
def test_the_length_of_sequences_and_the_first_samples_may_follow(size):
    assert_follows(whole_sequences, size, follow_input=["GRU_3"], rtol=1e-6)
    assert_follows(all_but_the_last, size, follow_input=["Slice_1"])
    assert_follows(three_quarters, size, follow_input=["Slice_1"])


@pytest.mark.parametrize("build", [fixed_camera, variances_of_boxes])
def test_numbers_that_somebody_wrote_are_left_alone(build):
    assert_follows(build)


def test_the_stride_of_a_map_in_a_table_is_left_alone():
    assert_follows(steps_everywhere, (64, 128), old=(64, 64))


def test_the_middle_of_a_map_is_added_in_both_places():
    """Shares of -1 to 1 become pixels: half of the map, and half of it again."""

    def pixels(n, h, w):
        y = n.Transpose(n.conv(n.conv("x", 3, 2, 2), 2, 2, 2), perm=[0, 2, 3, 1])
        middle = [w / 8, h / 8]
        return n.Add(n.Mul(n.Tanh(n.Reshape(y, [1, h * w // 16, 2])), n.floats(middle)), n.floats(middle))

    assert_follows(pixels)


@pytest.mark.parametrize("new", [(32, 48), (48, 32)], ids=["wider", "higher"])
def test_column_and_row_of_an_index_divide_by_their_own_sides_where_one_side_alone_changes(new):
    """On a square map both numbers of the list are the same: the reading in turn is among those asked for."""

    def best(n, h, w):
        at = n.ArgMax(n.Reshape(n.conv("x", 3, 1), [1, h * w]), axis=1)
        sides = [n.Cast(one, to=1) for one in (n.Mod(at, w), n.Div(at, w))]
        return n.Div(n.Concat(*sides, axis=1), n.floats([w - 1, h - 1]))

    result = resizefix.input_size(built(best, (32, 32)), size=new, on_refusal="return")
    names = [reading.name for question in result.resolution.choices for reading in question.readings]
    assert "(width-1),(height-1)" in names
    assert_follows(best, new, old=(32, 32), read=[("Div_8", "(width-1),(height-1)")])
    assert_follows(best, (32, 64), old=(32, 48))


def volume(depth: int, height: int, width: int) -> onnx.ModelProto:
    """Patches of 8 by 8 by 8 in a row: a single one deep at a depth of 8."""
    n = Net(height, width)
    n.shape = (1, 1, depth, height, width)
    y = n.Conv("x", n.weight(6, 1, 8, 8, 8), strides=[8] * 3)
    y = n.Reshape(y, [1, 6, depth * height * width // 512])
    return n.model(n.Softmax(n.MatMul(n.Transpose(y, perm=[0, 2, 1]), y), axis=-1))


def test_a_size_of_one_may_be_part_of_what_stands_before_or_behind_it():
    model, wanted = volume(8, 16, 24), volume(16, 24, 24)
    result = resizefix.input_size(model, size=(16, 24, 24), on_refusal="return")
    (question,) = result.resolution.choices
    assert question.nodes == ("Reshape_1",)
    assert [reading.name for reading in question.readings] == ["outer-follows", "inner-follows"]
    made = resizefix.input_size(model, size=(16, 24, 24), read=[("Reshape_1", "inner-follows")]).model
    feeds = {"x": np.random.default_rng(1).random((1, 1, 16, 24, 24), np.float32)}
    (found,), (right,) = ort_runs.run(made, feeds), ort_runs.run(wanted, feeds)
    np.testing.assert_array_equal(found, right)


def voxels(depth: int, height: int, width: int) -> onnx.ModelProto:
    """Motion as shares of half of each side, side by side."""
    n = Net(height, width)
    n.shape = (1, 1, depth, height, width)
    y = n.Conv("x", n.weight(3, 1, 3, 3, 3), pads=[1] * 6)
    return n.model(n.Div(y, n.floats(np.array([depth, height, width]).reshape(1, 3, 1, 1, 1) / 2)))


@pytest.mark.parametrize("size", [(16, 24, 16), "any"], ids=["fixed", "any"])
def test_the_sides_of_a_volume_in_a_list_may_follow(size):
    model, feeds = voxels(8, 16, 24), {"x": np.random.default_rng(1).random((1, 1, 16, 24, 16), np.float32)}
    (question,) = resizefix.input_size(model, size=size, on_refusal="return").resolution.choices
    assert [reading.name for reading in question.readings] == ["keep", "follow"]
    made = resizefix.input_size(model, size=size, follow_input=question.nodes).model
    (found,), (right,) = ort_runs.run(made, feeds), ort_runs.run(voxels(16, 24, 16), feeds)
    np.testing.assert_array_equal(found, right)


def points_of_a_fixed_map(n, h, w):
    """Points in pixels of the image, a cell of a map of 20 by 28 apart, as shares of the image."""
    small = n.Resize("x", "", "", [1, 3, 20, 28], mode="linear")
    moved = n.Reshape(n.Transpose(n.conv(small, 3, 2), perm=[0, 2, 3, 1]), [1, -1, 2])
    points = grid(np.arange(20) * (h // 20), np.arange(28) * (w // 28)).reshape(2, -1).T[None]
    return n.Div(n.Sub(n.floats(points), moved), n.floats([w, h]))


@pytest.mark.parametrize("size", [NEW, "any"])
def test_shares_of_points_on_a_map_of_fixed_size_are_asked_for(size):
    assert refused(built(points_of_a_fixed_map, OLD), size) == ("Div_5", "origins.input-size-numbers")


def mirrored_by_elements(n, h, w):
    """All of a row, backwards, by a table of indices."""
    columns = np.broadcast_to(np.arange(w)[::-1], (1, 3, h, w)).astype(np.int64)
    return n.GatherElements(n.conv("x", 3, 3), columns, axis=3)


def columns_before_a_quarter(n, h, w):
    """Columns before the fourth of sixteen."""
    y = n.AveragePool(n.conv("x", 3, 2), kernel_shape=[4, 3], strides=[4, 3])
    before = n.Less(n.Range(n.floats(0), n.floats(w // 3), n.floats(1)), n.floats(w // 12))
    return n.Where(before, y, n.floats(0))


@pytest.mark.parametrize("build", [mirrored_by_elements, columns_before_a_quarter])
def test_indices_of_whole_rows_and_small_bounds_of_positions_are_asked_for_where_one_side_alone_changes(build):
    model = built(build, OLD)
    result = resizefix.input_size(model, size=(OLD[0], 96), on_refusal="return")
    assert result.resolution.choices
