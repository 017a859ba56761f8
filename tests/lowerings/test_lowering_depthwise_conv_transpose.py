"""A deconvolution with ones."""

import numpy as np
import pytest
from lowering_cases import ROW, build, by_scales, linear, nearest, text
from lowering_runs import native, run
from onnx import TensorProto

CONV = ROW["depthwise_conv_transpose"]


def test_each_channel_has_a_kernel_of_ones_as_large_as_the_factors():
    lowered = build("depthwise_conv_transpose", by_scales(nearest(), (None, 3, None, None), 2, 3), opset=7)
    assert text(lowered) == [
        "y = ConvTranspose <group: int = 3, kernel_shape: ints = [2, 3], strides: ints = [2, 3]> (x, y_ones)"
    ]
    assert list(lowered.initializers[0].dims) == [3, 1, 2, 3]


@pytest.mark.parametrize(("shape", "scales"), [((1, 2, 3), [3]), ((1, 2, 3, 1), [2, 2]), ((1, 2, 1, 1, 3), [2, 1, 2])])
def test_infinities_and_nan_come_through_but_a_negative_zero_loses_its_sign(shape, scales):
    subject = by_scales(nearest(), shape, *scales)
    x = np.array([np.inf, -np.inf, np.nan, -0.0, 1.5, 1e-45], np.float32).reshape(shape)
    lowered, got = run(CONV, subject, x, 8)
    want = native(subject, x)
    assert np.array_equal(got, want, equal_nan=True)
    assert got.tobytes() != want.tobytes()
    assert (lowered.error.exact, lowered.error.bound) == (False, 0.0)


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (by_scales(linear(), (1, 3, 4, 4), 2, 2), "the mode is linear, not nearest"),
        (by_scales(nearest(), (1, 3, 4, 4), 2, 1.5), "axis 3 is not scaled by a whole number"),
        (by_scales(nearest(), (1, None, 4, 4), 2, 2), "the number of channels is not static"),
        (by_scales(nearest(), (4, 4), 2, 2), "the rank is 2"),
        (by_scales(nearest(), (1, 64, 4, 4), 1024, 512), "its weights would have 33554432 elements"),
        (by_scales(nearest(), (1, 1, 1, 1, 4, 4), 2, 2), "the rank is 6"),
        (by_scales(nearest(), (1, 3, 4, 4), 2, 2, 2), "axis 1 is scaled and is not a spatial axis"),
        (by_scales(nearest(), (1, 3, 4, 4), 2, 2, elem_type=TensorProto.INT8),
         "it computes with floats, the tensor is int8"),
    ],
)  # fmt: skip
def test_what_no_deconvolution_with_ones_says_is_refused_with_the_reason(subject, reason):
    assert reason in CONV.applies(subject, 13)
