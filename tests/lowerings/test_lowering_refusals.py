"""What no lowering of a name can say: the reason that it gives."""

import pytest
from lowering_cases import ROW, by_scales, by_sizes, cubic, linear, nearest
from onnx import TensorProto

IMAGE, VOLUME, INT8 = (1, 1, 4, 4), (1, 3, 4, 5, 6), TensorProto.INT8
CORNERS = nearest("align_corners", "round_prefer_floor")
REFUSED = {
    "average_pool": [
        (by_scales(nearest(), IMAGE, 0.5, 0.5), "the mode is nearest, not linear"),
        (by_scales(cubic(), IMAGE, 0.5, 0.5), "the mode is cubic, not linear"),
        (by_scales(linear(antialias=True), IMAGE, 0.5, 0.5), "the mode is linear with antialias, not linear"),
        (by_scales(linear("align_corners"), IMAGE, 0.5, 0.5), "align_corners has other weights"),
        (by_scales(linear(), IMAGE, 0.5, 0.75), "axis 3 is not scaled by 1/k"),
        (by_scales(linear(), (1, 1, 164, 4), 1 / 41, 1), "axis 2 of length 164 has another length than 4"),
        (by_scales(linear(), (4, 4), 0.5, 0.5), "the rank is 2"),
        (by_scales(linear(), (1, 4, 4, 3), 0.5, 0.5, 1), "axis 1 is scaled and is not a spatial axis"),
        (by_scales(linear("pytorch_half_pixel"), (1, 1, None, 4), 0.5, 0.5), "axis 2 has or may have the output len"),
        (by_scales(linear("pytorch_half_pixel"), (1, 1, 4, 3), 0.5, 0.5), "axis 3 has or may have the output length 1"),
        (by_scales(linear("half_pixel_symmetric"), (1, 1, 5, 4), 0.5, 0.5), "axis 2 is or may be no multiple of 2"),
        (by_scales(linear("half_pixel_symmetric"), (1, 1, None, 4), 0.5, 0.5), "axis 2 is or may be no multiple of 2"),
    ],
    "conv_transpose": [
        (by_scales(nearest(), IMAGE, 2, 2), "the mode is nearest"),
        (by_scales(linear(antialias=True), IMAGE, 2, 2), "antialias normalises the weights at the border"),
        (by_scales(cubic(exclude_outside=True), IMAGE, 2, 2), "exclude_outside normalises the weights"),
        (by_scales(linear("align_corners"), IMAGE, 2, 2), "align_corners has other weights for every output"),
        (by_scales(linear(), IMAGE, 2, 2.5), "axis 3 is not scaled by a whole number"),
        (by_scales(linear(), IMAGE, 2, 0.5), "axis 3 is not scaled by a whole number"),
        (by_scales(linear(), (1, None, 4, 4), 2, 2), "the number of channels is not static"),
        (by_scales(linear(), (4, 4), 2, 2), "the rank is 2"),
        (by_scales(linear(), (1, 64, 4, 4), 512, 512), "its weights would have 67108864 elements, more than 16777216"),
        (by_scales(linear(), (1, 4, 4, 3), 2, 2, 1), "axis 1 is scaled and is not a spatial axis"),
        (by_scales(linear(), IMAGE, 2, 2, elem_type=INT8), "linear on int8 drops fractions"),
    ],
    "depthwise_conv_transpose": [
        (by_scales(linear(), IMAGE, 2, 2), "the mode is linear, not nearest"),
        (by_scales(nearest(), IMAGE, 2, 1.5), "axis 3 is not scaled by a whole number"),
        (by_scales(nearest(), (1, None, 4, 4), 2, 2), "the number of channels is not static"),
        (by_scales(nearest(), (4, 4), 2, 2), "the rank is 2"),
        (by_scales(nearest(), (1, 64, 4, 4), 1024, 512), "its weights would have 33554432 elements"),
        (by_scales(nearest(), (1, 1, 1, 1, 4, 4), 2, 2), "the rank is 6"),
        (by_scales(nearest(), (1, 3, 4, 4), 2, 2, 2), "axis 1 is scaled and is not a spatial axis"),
        (by_scales(nearest(), IMAGE, 2, 2, elem_type=INT8), "it computes with floats, the tensor is int8"),
    ],
    "gather": [
        (by_scales(linear(), IMAGE, 2, 2), "the mode is linear, not nearest"),
        (by_scales(nearest(), (1, 1, 4, None), 2, 1.5), "the size of axis 3 is not static"),
        (by_sizes(nearest(), (1, 1, None, 4), (1, 1, 8, 8)), "the size of axis 2 is not static"),
    ],
    "identity": [
        (by_scales(nearest(), (1, 2, None, 3), 1.2, 1), "the size changes, or may change"),
        (by_scales(nearest(), (1, 2, 5, 3), 1.2, 1), "the size changes, or may change"),
    ],
    "matmul": [
        (by_scales(linear(), (1, 1, 4, None), 2, 1.5), "the size of axis 3 is not static"),
        (by_sizes(linear(), (1, 1, None, 4), (1, 1, 8, 8)), "the size of axis 2 is not static"),
        (by_scales(linear(), (1, 4, None, 3), 2, 1, 1), "the size of axis 2, behind the scaled axis 1, is not static"),
        (by_scales(nearest(), IMAGE, 2, 2, elem_type=INT8), "it computes with floats"),
        (by_scales(linear(), (1, 1, 4, 4096), 1, 1.5), "its weights would have 25165824 elements, more than 16777216"),
    ],
    "small_matmul": [
        (by_scales(linear(), (1, 1, 4, 128), 1, 1), "nothing is scaled"),
        (by_scales(linear("align_corners"), (1, 1, 65, 4), 4, 2), "the matrix of axis 2 has 16900 elements, more than"),
        (by_scales(cubic(), (1, 1, 257, 4), 4, 4), "more than 262144"),  # its deconvolution is slower
    ],
    "transposed_matmul": [(by_scales(linear(), IMAGE, 2, 2), "only the last two axes are scaled")],
    "pad_upsample_slice": [
        (by_scales(nearest(), IMAGE, 2, 2), "the mode is nearest, not linear"),
        (by_scales(cubic(), IMAGE, 2, 2), "the mode is cubic, not linear"),
        (by_scales(linear(antialias=True), IMAGE, 2, 2), "the mode is linear with antialias, not linear"),
        (by_scales(linear("align_corners"), IMAGE, 2, 2), "align_corners does not sample at pixel centres"),
        (by_scales(linear("asymmetric"), IMAGE, 2, 2), "asymmetric does not sample at pixel centres"),
        (by_scales(linear(), IMAGE, 2, 1.5), "axis 3 is not scaled by a whole number"),
        (by_scales(linear(), (4, 4), 2, 2), "the rank is 2"),
        (by_scales(linear(), (1, 4, 4, 3), 2, 2, 1), "axis 1 is scaled and is not a spatial axis"),
    ],
    "repeat": [
        (by_scales(linear(), IMAGE, 2, 2), "the mode is linear, not nearest"),
        (by_scales(nearest(), IMAGE, 2, 1.5), "axis 3 is not scaled by a whole number"),
        (by_scales(nearest(), IMAGE, 0.5, 2), "axis 2 is not scaled by a whole number"),
        (by_sizes(nearest(), IMAGE, (1, 1, 8, 9)), "axis 3 is not scaled by a whole"),
        (by_sizes(nearest(), (1, 1, None, 4), (1, 1, 8, 8)), "axis 2 is not scaled by a whole"),
        (by_scales(nearest("asymmetric", "round_prefer_floor"), IMAGE, 2, 3),
         "asymmetric with round_prefer_floor does not repeat the samples of axis 3 3 times"),
        (by_scales(nearest("half_pixel", "floor"), IMAGE, 2, 2),
         "half_pixel with floor does not repeat the samples of axis 2 2 times"),
        (by_scales(nearest("align_corners", "floor"), IMAGE, 2, 2), "align_corners with floor does not repeat"),
        (by_scales(CORNERS, (1, 1, None, 4), 2, 2), "round_prefer_floor does not repeat the samples of axis 2 2 times"),
        (by_scales(CORNERS, (1, 1, 4, 2050), 2, 2), "round_prefer_floor does not repeat the samples of axis 3 2 times"),
    ],
    "split_concat": [
        (by_scales(linear(), (1, 3, 4, 5), 2, 2), "the mode is linear, not nearest"),
        (by_scales(nearest(), (1, 3, None, 5), 2, 2), "the size of axis 2 is not static"),
        (by_sizes(nearest(), (1, 3, 4, 5), (1, 3, 4, 5)), "nothing is scaled"),
        (by_scales(nearest(), (1, 3, 4, 5), 0.2, 2), "the output has no elements"),
    ],
    "strided_slice": [
        (by_scales(linear(), IMAGE, 0.5, 0.5), "the mode is linear, not nearest"),
        (by_scales(nearest(), IMAGE, 0.5, 2), "axis 3 is not scaled by 1/k"),
        (by_scales(nearest(), IMAGE, 0.5, 0.4), "axis 3 is not scaled by 1/k"),
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
    "two_4d_resizes": [
        (by_scales(linear(), (1, 3, 4, 5), 2, 2), "the rank is 4, not 5"),
        (by_scales(linear(), (1, 3, None, 5, 6), 2, 2, 2), "the size of axis 2 is not static"),
        (by_scales(nearest(), VOLUME, 2, 1, 1, 1), "axis 1 is scaled and is not a spatial axis"),
        (by_scales(nearest(), VOLUME, 1.1, 2, 2), "axis 2 keeps its length at another scale than 1"),
        (by_scales(cubic(), VOLUME, 2, 2, 2), "no cubic kernel for rank 5"),
        (by_sizes(linear(), (None, 3, 5, 5, 6), (None, 3, 9, 10, 12)), "neither scales nor sizes are constant"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "subject", "reason"), [(name, *row) for name in REFUSED for row in REFUSED[name]])
def test_what_a_lowering_cannot_say_is_refused_with_the_reason(name, subject, reason):
    assert reason in ROW[name].applies(subject, 13)


def test_before_opset_10_slice_has_no_steps():
    refused = ROW["strided_slice"].applies(by_scales(nearest(), IMAGE, 0.5, 0.5), 9)
    assert refused == "it needs opset 10, the model has 9"


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("gather", by_scales(nearest(), (None, None, None, 4), 1, 1.5)),
        ("matmul", by_scales(linear("align_corners"), (1, 1, 65, 4), 4, 2)),
        ("repeat", by_scales(nearest("asymmetric", "round_prefer_floor"), IMAGE, 2, 2)),
        ("repeat", by_sizes(nearest(), IMAGE, (1, 1, 8, 12))),
        ("repeat", by_scales(CORNERS, (1, 1, 4, 2049), 2, 2)),
        ("small_matmul", by_scales(linear("align_corners"), (1, 1, 64, 4), 4, 2)),
        ("small_matmul", by_scales(cubic(), (1, 1, 256, 256), 4, 4)),
    ],
)
def test_just_inside_its_conditions_it_applies(name, subject):
    assert ROW[name].applies(subject, 13) is None
