"""Every k-th sample."""

import numpy as np
import pytest
from lowering_cases import ROW, build, by_scales, by_sizes, linear, nearest, text
from lowering_runs import difference, native, run, sample
from onnx import numpy_helper

STRIDED_SLICE = ROW["strided_slice"]
NEAREST = [
    ("asymmetric", "ceil"),
    ("half_pixel", "round_prefer_floor"),
    ("half_pixel", "ceil"),
    ("half_pixel", "floor"),
]


def test_one_slice_takes_every_kth_sample_of_all_axes():
    lowered = build("strided_slice", by_scales(nearest("half_pixel", "floor"), (1, 3, None, 8), 1 / 3, 1 / 4))
    assert text(lowered) == ["y = Slice (x, y_starts, y_ends, y_axes, y_steps)"]
    assert [numpy_helper.to_array(each).tolist() for each in lowered.initializers] == [[1, 1], [-1, -2], [2, 3], [3, 4]]


@pytest.mark.parametrize(("coordinates", "nearest_mode"), NEAREST)
@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_every_size_of_a_dynamic_axis_gives_what_the_node_gives(coordinates, nearest_mode, k):
    subject = by_scales(nearest(coordinates, nearest_mode), (1, 1, None, None), 1 / k, 1)
    applied = STRIDED_SLICE.applies(subject, 13) is None
    for size in range(k, 5 * k) if applied else ():
        x = sample(subject, (1, 1, size, 2))
        assert difference(*run(STRIDED_SLICE, subject, x, 13), native(subject, x)) is None, size
    assert applied or nearest_mode != "round_prefer_floor"


def test_an_axis_shorter_than_k_comes_out_empty_as_it_does_of_the_node():
    subject = by_scales(nearest("asymmetric", "ceil"), (1, 1, None, None), 1 / 4, 1 / 4)
    for size in (1, 3):
        x = sample(subject, (1, 1, size, 8))
        got, want = run(STRIDED_SLICE, subject, x, 13)[1], native(subject, x)
        assert got.shape == want.shape == (1, 1, 0, 2)


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (by_scales(linear(), (1, 1, 4, 4), 0.5, 0.5), "the mode is linear, not nearest"),
        (by_scales(nearest(), (1, 1, 4, 4), 0.5, 2), "axis 3 is not scaled by 1/k"),
        (by_scales(nearest(), (1, 1, 4, 4), 0.5, 0.4), "axis 3 is not scaled by 1/k"),
        (by_sizes(nearest(), (1, 1, 5, 4), (1, 1, 2, 2)), "axis 2 is not scaled by 1/k"),
        (by_scales(nearest(), (1, 1, 164, 4), 1 / 41, 1), "axis 2 of length 164 has another length than 4"),
        (by_scales(nearest(), (1, 1, None, 4), 1 / 41, 1), "axis 2 of length 41 has another length than 1"),
        (by_scales(nearest(), (1, 1, None, 4), 2**-20, 1), "axis 2 has no output at any length that is checked"),
        (by_scales(nearest("asymmetric", "floor"), (1, 1, 21, 4), 1 / 7, 1),
         "output 1 of axis 2 takes sample 6, not 7"),
        (by_scales(nearest("align_corners", "floor"), (1, 1, 9, 4), 1 / 3, 1),
         "output 1 of axis 2 takes sample 4, not 3"),
        (by_scales(nearest("align_corners", "floor"), (1, 1, None, 4), 1 / 3, 1), "and align_corners depends on it"),
        (by_scales(nearest("pytorch_half_pixel", "ceil"), (1, 1, None, 4), 0.5, 1),
         "axis 2 has or may have the output length 1, where pytorch_half_pixel takes the first sample"),
    ],
)  # fmt: skip
def test_what_is_not_every_kth_sample_is_refused_with_the_reason(subject, reason):
    assert reason in STRIDED_SLICE.applies(subject, 13)


def test_before_opset_10_slice_has_no_steps():
    assert (
        STRIDED_SLICE.applies(by_scales(nearest(), (1, 1, 4, 4), 0.5, 0.5), 9) == "it needs opset 10, the model has 9"
    )


def test_pytorch_half_pixel_of_dynamic_size_is_taken_where_the_first_sample_comes_first_anyway():
    subject = by_scales(nearest("pytorch_half_pixel", "round_prefer_floor"), (1, 1, None, None), 0.5, 0.5)
    for size in (2, 3, 7, 8):
        x = sample(subject, (1, 1, size, size))
        assert difference(*run(STRIDED_SLICE, subject, x, 13), native(subject, x)) is None


def test_a_floor_of_a_quotient_that_rounds_down_is_seen():
    subject = by_scales(nearest("asymmetric", "floor"), (1, 1, 21, 1), 1 / 7, 1)
    x = np.arange(21, dtype=np.float32).reshape(1, 1, 21, 1)
    assert native(subject, x).ravel().tolist() == [0, 6, 13]
