"""What each lowering writes, and that it computes what the node does."""

from itertools import product

import numpy as np
import pytest
from lowering_cases import ROW, build, by_scales, by_sizes, cubic, linear, nearest, text
from lowering_runs import difference, native, run, sample
from onnx import TensorProto, numpy_helper

from resizefix.equivalences.kernel_arithmetic import GROWS, nearest_indices
from resizefix.equivalences.resize_spec import Axis
from resizefix.interpolation import CoordinateTransformationMode, Interpolation, Mode, NearestMode
from resizefix.lowerings import LOWERINGS
from resizefix.lowerings.convolutions import kernel
from resizefix.lowerings.copies import repeats

OPEN, OPEN_IMAGE = (None, None, None, None), (None, 3, None, None)
WRITTEN = [
    ("average_pool", by_scales(linear(), OPEN, 1 / 2, 1 / 3), 7, """
        y_slice = Slice <axes: ints = [3], ends: ints = [-1], starts: ints = [1]> (x)
        y = AveragePool <kernel_shape: ints = [2, 1], strides: ints = [2, 3]> (y_slice)"""),
    # a triangle over one repeated sample at both ends
    ("conv_transpose", by_scales(linear(), OPEN_IMAGE, 2, 1), 7, """
        y_slice = Slice <axes: ints = [2], ends: ints = [1], starts: ints = [0]> (x)
        "y_slice'" = Slice <axes: ints = [2], ends: ints = [2147483647], starts: ints = [-1]> (x)
        y_concat = Concat <axis: int = 2> (y_slice, x, "y_slice'")
        y = ConvTranspose <group: int = 3, kernel_shape: ints = [4, 1], pads: ints = [3, 0, 3, 0], \
strides: ints = [2, 1]> (y_concat, y_weights)"""),
    ("depthwise_conv_transpose", by_scales(nearest(), OPEN_IMAGE, 2, 3), 7,
     "y = ConvTranspose <group: int = 3, kernel_shape: ints = [2, 3], strides: ints = [2, 3]> (x, y_ones)"),
    # the axis that shrinks goes first
    ("gather", by_scales(nearest(), (1, 1, 2, 3), 1.5, 0.7), 13, """
        y_gather = Gather <axis: int = 3> (x, y_indices)
        y = Gather <axis: int = 2> (y_gather, "y_indices'")"""),
    ("identity", by_scales(linear(), OPEN, 1, 1), 13, "y = Identity (x)"),
    ("matmul", by_scales(cubic(), (None, None, 3, 4), 2, 1.5), 13, """
        y_matmul = MatMul (x, y_weights)
        y = MatMul ("y_weights'", y_matmul)"""),
    # the depth of a volume is flattened with what lies behind it
    ("matmul", by_scales(linear(), (None, 2, 3, 4, 5), 2, 1, 1), 13, """
        y_reshape = Reshape (x, y_shape)
        y_matmul = MatMul (y_weights, y_reshape)
        y = Reshape (y_matmul, "y_shape'")"""),
    # an even factor takes means
    ("pad_upsample_slice", by_scales(linear(), OPEN, 2, 3), 7, """
        y_upsample = Upsample <mode: string = "linear", scales: floats = [1, 1, 2, 3]> ("y_concat'")
        y_averagepool = AveragePool <kernel_shape: ints = [2, 1], strides: ints = [1, 1]> (y_upsample)
        y = Slice <axes: ints = [2, 3], ends: ints = [-2, -4], starts: ints = [1, 2]> (y_averagepool)"""),
    ("repeat", by_scales(nearest(), (1, 3, 4, 5), 2, 3), 7, """
        y_unsqueeze = Unsqueeze <axes: ints = [3, 5]> (x)
        y_concat = Concat <axis: int = 5> (y_unsqueeze, y_unsqueeze, y_unsqueeze)
        "y_concat'" = Concat <axis: int = 3> (y_concat, y_concat)
        y = Reshape ("y_concat'", y_shape)"""),
    # two dynamic axes take the shape of the input
    ("repeat", by_scales(nearest(), OPEN_IMAGE, 2, 3), 13, """
        y_shape = Shape (x)
        y_mul = Mul (y_shape, y_factors)
        y = Reshape ("y_concat'", y_mul)"""),
    ("strided_slice", by_scales(nearest("half_pixel", "floor"), (1, 3, None, 8), 1 / 3, 1 / 4), 13,
     "y = Slice (x, y_starts, y_ends, y_axes, y_steps)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "subject", "opset", "nodes"), WRITTEN)
def test_the_last_nodes_that_a_lowering_writes(name, subject, opset, nodes):
    written = [line.strip() for line in nodes.strip().splitlines()]
    assert text(build(name, subject, opset))[-len(written) :] == written


@pytest.mark.parametrize(
    ("name", "subject", "constants"),
    [
        ("gather", by_scales(nearest(), (1, 1, 2, 3), 1.5, 0.7), [[0, 1], [0, 0, 1]]),
        ("repeat", by_scales(nearest(), (1, 3, 4, 5), 2, 3), [[0, 0, 8, 15]]),
        ("repeat", by_scales(nearest(), (None, 3, None, 5), 2, 2), [[0, 0, -1, 10]]),  # no shape arithmetic
        ("repeat", by_scales(nearest(), OPEN_IMAGE, 2, 3), [[1, 1, 2, 3]]),
        (
            "strided_slice",
            by_scales(nearest("half_pixel", "floor"), (1, 3, None, 8), 1 / 3, 1 / 4),
            [[1, 1], [-1, -2], [2, 3], [3, 4]],
        ),
    ],
)
def test_the_last_constants_that_a_lowering_writes(name, subject, constants):
    opset = 7 if name == "repeat" and subject.shape != OPEN_IMAGE else 13
    written = build(name, subject, opset).initializers[-len(constants) :]
    assert [numpy_helper.to_array(each).tolist() for each in written] == constants


@pytest.mark.parametrize(
    ("name", "subject", "dims"),
    [
        ("depthwise_conv_transpose", by_scales(nearest(), OPEN_IMAGE, 2, 3), [[3, 1, 2, 3]]),
        ("matmul", by_scales(cubic(), (None, None, 3, 4), 2, 1.5), [[4, 6], [6, 3]]),
    ],
)
def test_weights_have_the_shape_of_the_factors(name, subject, dims):
    assert [list(each.dims) for each in build(name, subject, 13).initializers] == dims


def same(name: str, subject, x: np.ndarray, opset: int = 13) -> bool:
    """Whether the lowering comes as near to the node as it promises."""
    return difference(*run(ROW[name], subject, x, opset), native(subject, x)) is None


SHRINKING = [("asymmetric", "ceil"), *(("half_pixel", mode) for mode in ("round_prefer_floor", "ceil", "floor"))]
AT_EVERY_SIZE = [
    *(("average_pool", linear(coordinates), 1 / k, range(k, 5 * k))
      for coordinates in ("half_pixel", "asymmetric", "tf_half_pixel_for_nn") for k in (2, 3, 4, 5, 7)),
    *(("conv_transpose", interpolation, factor, (1, 2, 3, 4, 9))
      for interpolation in (linear(), linear("asymmetric"), cubic(), cubic("tf_half_pixel_for_nn"))
      for factor in (2, 3, 4, 7)),
    *(("pad_upsample_slice", linear(coordinates), factor, (1, 2, 3, 6))
      for coordinates in ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric") for factor in (2, 3, 4, 5, 8)),
    *(("strided_slice", nearest(*form), 1 / k, range(k, 5 * k)) for form in SHRINKING for k in (2, 3, 4, 5, 6)),
    ("strided_slice", nearest("pytorch_half_pixel", "round_prefer_floor"), 1 / 2, (2, 3, 7, 8)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "interpolation", "scale", "sizes"), AT_EVERY_SIZE)
def test_every_size_of_a_dynamic_axis_gives_what_the_node_gives(name, interpolation, scale, sizes):
    subject = by_scales(interpolation, (None, 2, None, None), scale, 2 if name == "pad_upsample_slice" else 1)
    if ROW[name].applies(subject, 13) is not None:
        assert interpolation.nearest_mode in (NearestMode.CEIL, NearestMode.FLOOR)
        return
    opset = {"conv_transpose": 11, "pad_upsample_slice": 8}.get(name, 13)
    for size in sizes:
        assert same(name, subject, sample(subject, (1, 2, size, 3)), opset), size


VOLUME = (2, 3, 4, 5, 6)
ALIKE = [
    *(("identity", by_scales(interpolation, (1, 2, 4, 3), 1.2, 1.3), (1, 2, 4, 3), 7)
      for interpolation in (nearest(), linear(), cubic("asymmetric"))),  # too small a scale to change a length
    *(("transposed_matmul", by_scales(linear(), (1, 2, 3, 4, 5), 2, 1.5, 2), (1, 2, 3, 4, 5), opset)
      for opset in (9, 13)),
    *(("matmul", by_scales(interpolation, (2, 3, 9, 7), 1.7, 0.4), (2, 3, 9, 7), 7)
      for interpolation in (linear("align_corners"), cubic(exclude_outside=True), cubic(antialias=True))),
    *(("pad_upsample_slice", by_scales(linear(), (1, 1, 4, 4), 2, 2), (1, 1, 4, 4), opset) for opset in (7, 9, 10, 13)),
    *(("repeat", by_scales(nearest(), (1, 2, None, None), 2, 3, elem_type=elem_type), (1, 2, 3, 4), opset)
      for opset in (7, 11, 13)
      for elem_type in (TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32, TensorProto.FLOAT16)),
    ("repeat", by_scales(nearest("half_pixel", "round_prefer_ceil"), (1, 1, 500, 3), 31, 64), (1, 1, 500, 3), 13),
    *(("two_4d_resizes", by_sizes(mode, VOLUME, (2, 3, 5, 9, 7)), VOLUME, 13)
      for mode in (nearest("align_corners"), linear("align_corners"), linear("half_pixel"))),
    *(("two_4d_resizes", by_scales(linear(), (None, 3, 4, 5, 6), 2, 2, 2), (batch, 3, 4, 5, 6), 13)
      for batch in (1, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "subject", "shape", "opset"), ALIKE)
def test_a_lowering_gives_what_the_node_gives(name, subject, shape, opset):
    assert same(name, subject, sample(subject, shape), opset)


def operators(name: str, subject, opset: int = 13) -> list[str]:
    return [node.op_type for node in build(name, subject, opset).nodes]


def test_the_refused_neighbours_of_a_pool_do_differ():
    for coordinates, shape in (("pytorch_half_pixel", (1, 1, 4, 3)), ("half_pixel_symmetric", (1, 1, 5, 4))):
        subject = by_scales(linear(coordinates), shape, 0.5, 0.5)
        x = sample(subject, shape)
        pooled = run(ROW["average_pool"], by_scales(linear(), shape, 0.5, 0.5), x, 13)[1]
        assert np.abs(pooled - native(subject, x)).max() > 0.01


def test_the_bound_of_a_dynamic_axis_says_for_which_sizes_it_holds():
    conditions = build("average_pool", by_scales(linear(), (1, 1, None, None), 1 / 2, 1 / 3)).error.conditions
    assert "for axes of 3 to 65536, where the output is not empty" in conditions
    conditions = build("average_pool", by_scales(linear(), (1, 1, 6, 6), 1 / 2, 1 / 3)).error.conditions
    assert conditions == ("for finite inputs",)
    for height, scales, grows in ((None, (3, 3), True), (None, (2, 4), False), (4, (3, 3), False)):
        conditions = build("conv_transpose", by_scales(linear(), (1, 1, height, 4), *scales)).error.conditions
        assert (GROWS in conditions) is grows


@pytest.mark.parametrize(
    ("interpolation", "factor", "taps", "first"),
    [
        (linear(), 2, [0.25, 0.75, 0.75, 0.25], -1),
        (linear(), 3, [1 / 3, 2 / 3, 1, 2 / 3, 1 / 3], -1),
        (linear("asymmetric"), 2, [0.5, 1, 0.5], -1),
        (linear("tf_half_pixel_for_nn"), 2, [0.25, 0.75, 0.75, 0.25], -2),
    ],
)
def test_a_kernel_holds_the_weights_of_one_input_for_the_outputs_around_it(interpolation, factor, taps, first):
    found = kernel(interpolation, factor)
    np.testing.assert_allclose(found.taps, taps, rtol=1e-6)
    assert (found.first, found.stride) == (first, factor)


def test_an_asymmetric_kernel_repeats_fewer_samples_before_than_after():
    for interpolation, repeated in ((linear("asymmetric"), (0, 1)), (cubic("asymmetric"), (1, 2))):
        found = kernel(interpolation, 4)
        assert (found.before, found.after) == repeated


def test_every_input_of_slice_is_written_for_parsers_that_read_all_five():
    nodes = build("conv_transpose", by_scales(linear(), (1, 1, 4, 4), 2, 2), opset=11).nodes
    assert {len(node.input) for node in nodes if node.op_type == "Slice"} == {5}


SPECIAL = np.array([np.inf, -np.inf, np.nan, -0.0, 1.5, 1e-45], np.float32)


@pytest.mark.parametrize(("shape", "scales"), [((1, 2, 3), [3]), ((1, 2, 3, 1), [2, 2]), ((1, 2, 1, 1, 3), [2, 1, 2])])
def test_infinities_and_nan_come_through_ones_but_a_negative_zero_loses_its_sign(shape, scales):
    subject, x = by_scales(nearest(), shape, *scales), SPECIAL.reshape(shape)
    lowered, got = run(ROW["depthwise_conv_transpose"], subject, x, 8)
    want = native(subject, x)
    assert np.array_equal(got, want, equal_nan=True)
    assert got.tobytes() != want.tobytes()
    assert (lowered.error.exact, lowered.error.bound) == (False, 0.0)


@pytest.mark.parametrize("opset", [7, 13])
def test_infinities_nan_and_negative_zero_are_repeated(opset):
    subject, x = by_scales(nearest(), (None, 1, None, None), 3, 2), SPECIAL.reshape(1, 1, 2, 3)
    lowered, got = run(ROW["repeat"], subject, x, opset)
    assert lowered.error.exact
    assert got.tobytes() == native(subject, x).tobytes()


def test_the_note_says_where_versions_of_onnxruntime_round_a_tie_differently():
    rounding = nearest("half_pixel", "round_prefer_ceil")
    assert build("gather", by_scales(nearest(), (1, 1, 2, 3), 1.5, 0.7)).error.exact
    subject = by_sizes(rounding, (1, 1, 20, 4), (1, 1, 6, 4))
    assert "on axis 2 the node itself rounds a tie the other way" in build("gather", subject).error.note
    assert "mid-2026" not in build("gather", by_scales(rounding, (1, 1, 10, 4), 0.3, 1)).error.note


def test_a_copy_is_lowered_to_nothing_else():
    subject = by_scales(nearest(), (1, 2, 4, 3), 1.2, 1.3)
    assert {low.applies(subject, 13) for low in LOWERINGS[1:]} == {"nothing is scaled"}


def test_the_depth_of_a_volume_may_be_moved_behind():
    assert {*operators("transposed_matmul", by_scales(linear(), (1, 2, 3, 4, 5), 2, 1.5, 2))} == {"MatMul", "Transpose"}


@pytest.mark.parametrize("interpolation", [linear("align_corners"), cubic(exclude_outside=True), cubic(antialias=True)])
def test_what_no_other_lowering_says_is_a_product(interpolation):
    subject = by_scales(interpolation, (2, 3, 9, 7), 1.7, 0.4)
    assert [row.name for row in LOWERINGS if row.applies(subject, 13) is None] == ["small_matmul", "matmul"]


def test_nearest_as_a_product_is_equal_for_finite_inputs_and_an_infinity_spreads():
    subject = by_scales(nearest(), (1, 1, 3, 4), 1.5, 1)
    x = sample(subject, (1, 1, 3, 4))
    lowered, got = run(ROW["matmul"], subject, x, 13)
    assert (lowered.error.bound, lowered.error.conditions) == (0, ("for finite inputs",))
    assert np.array_equal(got, native(subject, x))
    x[0, 0, 0, 0] = np.inf
    assert np.isnan(run(ROW["matmul"], subject, x, 13)[1]).any()


def test_an_odd_factor_takes_no_means_and_the_node_speaks_the_dialect_of_the_opset():
    assert "AveragePool" not in operators("pad_upsample_slice", by_scales(linear(), (1, 1, 4, 4), 3, 5))
    for opset, op_type in ((7, "Upsample"), (9, "Upsample"), (10, "Resize"), (13, "Resize")):
        assert op_type in operators("pad_upsample_slice", by_scales(linear(), (1, 1, 4, 4), 2, 2), opset)


def test_a_rounding_repeats_at_any_size_exactly_where_the_index_map_does():
    for coordinates, nearest_mode, factor in product(CoordinateTransformationMode, NearestMode, range(2, 12)):
        crop = coordinates is CoordinateTransformationMode.TF_CROP_AND_RESIZE
        simple = nearest_mode is NearestMode.SIMPLE and coordinates is not CoordinateTransformationMode.ASYMMETRIC
        if crop or simple:
            continue
        interpolation = Interpolation(Mode.NEAREST, coordinates, nearest_mode)
        maps = (nearest_indices((coordinates, nearest_mode), factor, n, n * factor) for n in (*range(1, 70), 100_000))
        truth = all(np.array_equal(each, np.arange(len(each)) // factor) for each in maps)
        assert repeats(interpolation, Axis(None, None, float(factor))) == truth, (interpolation, factor)


@pytest.mark.parametrize("opset", [8, 10, 13, 18])
@pytest.mark.parametrize("scales", [(2, 2), (1, 1.5), (0.5, 3), (0.4, 0.7)])
@pytest.mark.parametrize("elem_type", [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.UINT8])
def test_split_and_concat_copy_what_the_node_copies(opset, scales, elem_type):
    if opset < 10 and (min(scales) < 1 or elem_type == TensorProto.FLOAT16):
        pytest.skip("Upsample grows")
    meaning = nearest("half_pixel", "round_prefer_ceil") if opset > 10 else nearest("asymmetric", "simple")
    subject = by_scales(meaning, (1, 2, 5, 6), *scales, elem_type=elem_type)
    x = sample(subject, (1, 2, 5, 6))
    lowered, got = run(ROW["split_concat"], subject, x, opset)
    assert lowered.error.exact
    assert difference(lowered, got, native(subject, x, opset)) is None


def test_an_axis_of_one_sample_is_not_split():
    assert operators("split_concat", by_scales(nearest(), (1, 2, 1, 3), 2, 2)) == ["Concat", "Split", "Concat"]


def test_an_axis_shorter_than_k_comes_out_empty_as_it_does_of_the_node():
    subject = by_scales(nearest("asymmetric", "ceil"), (1, 1, None, None), 1 / 4, 1 / 4)
    for size in (1, 3):
        x = sample(subject, (1, 1, size, 8))
        got, want = run(ROW["strided_slice"], subject, x, 13)[1], native(subject, x)
        assert got.shape == want.shape == (1, 1, 0, 2)


def test_a_floor_of_a_quotient_that_rounds_down_is_seen():
    subject = by_scales(nearest("asymmetric", "floor"), (1, 1, 21, 1), 1 / 7, 1)
    x = np.arange(21, dtype=np.float32).reshape(1, 1, 21, 1)
    assert native(subject, x).ravel().tolist() == [0, 6, 13]


@pytest.mark.parametrize("opset", [8, 9, 10, 13, 18])
@pytest.mark.parametrize("scales", [(2, 2, 2), (1, 3, 2), (2, 1, 1), (1.5, 2, 1.25)])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_two_resizes_of_four_dimensions_compute_what_that_of_a_volume_does(opset, scales, mode):
    coordinates = "half_pixel" if opset > 10 else "asymmetric"
    meaning = nearest(coordinates, "floor" if opset > 10 else "simple") if mode == "nearest" else linear(coordinates)
    subject = by_scales(meaning, VOLUME, *scales)
    x = sample(subject, VOLUME)
    lowered, got = run(ROW["two_4d_resizes"], subject, x, opset)
    assert lowered.error.exact == (mode == "nearest")
    assert difference(lowered, got, native(subject, x, opset)) is None
    planes = sum(node.op_type in ("Resize", "Upsample") for node in lowered.nodes)
    assert planes == (scales[0] != 1) + (scales[1:] != (1, 1))
