"""Linear and cubic as a deconvolution: its kernels, its edges, what it cannot say."""

import numpy as np
import pytest
from lowering_cases import ROW, build, by_scales, cubic, linear, nearest, text
from lowering_runs import difference, native, run, sample
from onnx import TensorProto

from resizefix.equivalences.error_bound import GROWS
from resizefix.lowerings.conv_transpose import kernel

CONV = ROW["conv_transpose"]


def test_linear_has_a_triangle_over_one_repeated_sample_at_both_ends():
    lowered = build("conv_transpose", by_scales(linear(), (None, 3, None, None), 2, 1), opset=7)
    assert text(lowered) == [
        "y_slice = Slice <axes: ints = [2], ends: ints = [1], starts: ints = [0]> (x)",
        '"y_slice\'" = Slice <axes: ints = [2], ends: ints = [2147483647], starts: ints = [-1]> (x)',
        'y_concat = Concat <axis: int = 2> (y_slice, x, "y_slice\'")',
        "y = ConvTranspose <group: int = 3, kernel_shape: ints = [4, 1], pads: ints = [3, 0, 3, 0], "
        "strides: ints = [2, 1]> (y_concat, y_weights)",
    ]


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


def test_asymmetric_linear_repeats_no_first_sample():
    found = kernel(linear("asymmetric"), 4)
    assert (found.before, found.after) == (0, 1)
    found = kernel(cubic("asymmetric"), 4)
    assert (found.before, found.after) == (1, 2)


@pytest.mark.parametrize("interpolation", [linear(), linear("asymmetric"), cubic(), cubic("tf_half_pixel_for_nn")])
@pytest.mark.parametrize("factor", [2, 3, 4, 7])
def test_every_size_of_a_dynamic_axis_gives_what_the_node_gives(interpolation, factor):
    subject = by_scales(interpolation, (None, 2, None, None), factor, 1)
    for size in (1, 2, 3, 4, 9):
        x = sample(subject, (1, 2, size, 2))
        assert difference(*run(CONV, subject, x, 11), native(subject, x)) is None, size


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (by_scales(nearest(), (1, 3, 4, 4), 2, 2), "the mode is nearest"),
        (by_scales(linear(antialias=True), (1, 3, 4, 4), 2, 2), "antialias normalises the weights at the border"),
        (by_scales(cubic(exclude_outside=True), (1, 3, 4, 4), 2, 2), "exclude_outside normalises the weights"),
        (by_scales(linear("align_corners"), (1, 3, 4, 4), 2, 2), "align_corners has other weights for every output"),
        (by_scales(linear(), (1, 3, 4, 4), 2, 2.5), "axis 3 is not scaled by a whole number"),
        (by_scales(linear(), (1, 3, 4, 4), 2, 0.5), "axis 3 is not scaled by a whole number"),
        (by_scales(linear(), (1, None, 4, 4), 2, 2), "the number of channels is not static"),
        (by_scales(linear(), (4, 4), 2, 2), "the rank is 2"),
        (by_scales(linear(), (1, 64, 4, 4), 512, 512), "its weights would have 67108864 elements, more than 16777216"),
        (by_scales(linear(), (1, 4, 4, 3), 2, 2, 1), "axis 1 is scaled and is not a spatial axis"),
        (by_scales(linear(), (1, 3, 4, 4), 2, 2, elem_type=TensorProto.INT8), "linear on int8 drops fractions"),
    ],
)
def test_what_no_deconvolution_says_is_refused_with_the_reason(subject, reason):
    assert reason in CONV.applies(subject, 13)


def test_the_bound_of_a_dynamic_axis_says_for_which_sizes_it_holds():
    assert GROWS in build("conv_transpose", by_scales(linear(), (1, 1, None, 4), 3, 3)).error.conditions
    assert GROWS not in build("conv_transpose", by_scales(linear(), (1, 1, None, 4), 2, 4)).error.conditions
    assert GROWS not in build("conv_transpose", by_scales(linear(), (1, 1, 4, 4), 3, 3)).error.conditions


def test_every_input_of_slice_is_written_for_parsers_that_read_all_five():
    nodes = build("conv_transpose", by_scales(linear(), (1, 1, 4, 4), 2, 2), opset=11).nodes
    assert {len(node.input) for node in nodes if node.op_type == "Slice"} == {5}
