"""Interpolation matrices."""

import numpy as np
import pytest
from lowering_cases import ROW, build, by_scales, by_sizes, cubic, linear, nearest, text
from lowering_runs import difference, native, run, sample
from onnx import TensorProto

MATMUL = ROW["matmul"]


def test_height_and_width_are_a_product_from_the_left_and_from_the_right():
    lowered = build("matmul", by_scales(cubic(), (None, None, 3, 4), 2, 1.5))
    assert text(lowered) == ["y_matmul = MatMul (x, y_weights)", 'y = MatMul ("y_weights\'", y_matmul)']
    assert [list(each.dims) for each in lowered.initializers] == [[4, 6], [6, 3]]


def test_the_depth_of_a_volume_is_flattened_with_what_lies_behind_it():
    lowered = build("matmul", by_scales(linear(), (None, 2, 3, 4, 5), 2, 1, 1))
    assert text(lowered) == [
        "y_reshape = Reshape (x, y_shape)",
        "y_matmul = MatMul (y_weights, y_reshape)",
        'y = Reshape (y_matmul, "y_shape\'")',
    ]


def test_the_depth_of_a_volume_may_be_moved_behind_instead():
    subject = by_scales(linear(), (1, 2, 3, 4, 5), 2, 1.5, 2)
    lowered = build("transposed_matmul", subject)
    assert {node.op_type for node in lowered.nodes} == {"MatMul", "Transpose"}
    x = sample(subject, (1, 2, 3, 4, 5))
    for opset in (9, 13):
        assert difference(*run(ROW["transposed_matmul"], subject, x, opset), native(subject, x)) is None
    image = by_scales(linear(), (1, 2, 4, 5), 2, 2)
    assert ROW["transposed_matmul"].applies(image, 13).startswith("only the last two axes are scaled")


@pytest.mark.parametrize("interpolation", [linear("align_corners"), cubic(exclude_outside=True), cubic(antialias=True)])
def test_what_no_other_lowering_says_is_within_its_bound(interpolation):
    subject = by_scales(interpolation, (2, 3, 9, 7), 1.7, 0.4)
    x = sample(subject, (2, 3, 9, 7))
    assert difference(*run(MATMUL, subject, x, 7), native(subject, x)) is None
    assert [name for name, row in ROW.items() if row.applies(subject, 13) is None] == ["small_matmul", "matmul"]


def test_nearest_is_equal_for_finite_inputs_and_an_infinity_spreads():
    subject = by_scales(nearest(), (1, 1, 3, 4), 1.5, 1)
    x = sample(subject, (1, 1, 3, 4))
    lowered, got = run(MATMUL, subject, x, 13)
    assert lowered.error.bound == 0
    assert np.array_equal(got, native(subject, x))
    x[0, 0, 0, 0] = np.inf
    assert np.isnan(run(MATMUL, subject, x, 13)[1]).any()
    assert lowered.error.conditions == ("for finite inputs",)


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (by_scales(linear(), (1, 1, 4, None), 2, 1.5), "the size of axis 3 is not static"),
        (by_sizes(linear(), (1, 1, None, 4), (1, 1, 8, 8)), "the size of axis 2 is not static"),
        (by_scales(linear(), (1, 4, None, 3), 2, 1, 1), "the size of axis 2, behind the scaled axis 1, is not static"),
        (by_scales(nearest(), (1, 1, 4, 4), 2, 2, elem_type=TensorProto.INT8), "it computes with floats"),
        (by_scales(linear(), (1, 1, 4, 4096), 1, 1.5), "its weights would have 25165824 elements, more than 16777216"),
    ],
)
def test_what_has_no_constant_matrix_is_refused_with_the_reason(subject, reason):
    assert reason in MATMUL.applies(subject, 13)


def test_a_small_matrix_is_a_row_of_its_own():
    assert ROW["small_matmul"].applies(by_scales(linear(), (1, 1, 4, 128), 1, 1), 13) == "nothing is scaled"
    assert ROW["small_matmul"].applies(by_scales(linear("align_corners"), (1, 1, 64, 4), 4, 2), 13) is None
    large = by_scales(linear("align_corners"), (1, 1, 65, 4), 4, 2)
    assert ROW["small_matmul"].applies(large, 13) == "the matrix of axis 2 has 16900 elements, more than 16384"
    assert MATMUL.applies(large, 13) is None


def test_a_cubic_matrix_stays_small_longer_for_its_deconvolution_is_slower():
    assert ROW["small_matmul"].applies(by_scales(cubic(), (1, 1, 256, 256), 4, 4), 13) is None
    assert "more than 262144" in ROW["small_matmul"].applies(by_scales(cubic(), (1, 1, 257, 4), 4, 4), 13)
