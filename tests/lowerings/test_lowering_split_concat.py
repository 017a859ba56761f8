"""Nearest by Split and Concat: the samples that Gather would copy, of every type and at every opset."""

import pytest
from lowering_cases import by_scales, by_sizes, linear, nearest, text
from lowering_runs import Batch, difference, native, run, sample
from onnx import TensorProto

from resizefix.lowerings.split_concat import SPLIT_CONCAT


@pytest.mark.parametrize("opset", [8, 10, 13, 18])
@pytest.mark.parametrize("scales", [(2, 2), (1, 1.5), (0.5, 3), (0.4, 0.7)])
@pytest.mark.parametrize("elem_type", [TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.UINT8])
def test_it_copies_what_the_node_copies(opset, scales, elem_type):
    if opset < 10 and (min(scales) < 1 or elem_type == TensorProto.FLOAT16):
        pytest.skip("Upsample grows")
    meaning = nearest("half_pixel", "round_prefer_ceil") if opset > 10 else nearest("asymmetric", "simple")
    subject = by_scales(meaning, (1, 2, 5, 6), *scales, elem_type=elem_type)
    x = sample(subject, (1, 2, 5, 6))
    lowered, got = run(SPLIT_CONCAT, subject, x, opset)
    assert lowered.error.exact
    assert difference(lowered, got, native(subject, x, opset)) is None


def test_an_axis_of_one_sample_is_not_split():
    subject = by_scales(nearest(), (1, 2, 1, 3), 2, 2)
    lowered = SPLIT_CONCAT.build(subject, x="x", y="y", opset=13, fresh=Batch(13).fresh)
    assert [line.split(" = ")[1].split(" ")[0] for line in text(lowered)] == ["Concat", "Split", "Concat"]


@pytest.mark.parametrize(
    ("subject", "why"),
    [
        (by_scales(linear(), (1, 3, 4, 5), 2, 2), "the mode is linear, not nearest"),
        (by_scales(nearest(), (1, 3, None, 5), 2, 2), "the size of axis 2 is not static"),
        (by_sizes(nearest(), (1, 3, 4, 5), (1, 3, 4, 5)), "nothing is scaled"),
        (by_scales(nearest(), (1, 3, 4, 5), 0.2, 2), "the output has no elements"),
    ],
)
def test_what_has_no_list_of_samples_is_refused(subject, why):
    assert why in SPLIT_CONCAT.applies(subject, 13)
