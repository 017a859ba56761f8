"""The index map as a constant."""

import pytest
from lowering_cases import ROW, build, by_scales, by_sizes, linear, nearest, text
from onnx import numpy_helper


def test_the_axis_that_shrinks_goes_first():
    lowered = build("gather", by_scales(nearest(), (1, 1, 2, 3), 1.5, 0.7))
    assert text(lowered) == [
        "y_gather = Gather <axis: int = 3> (x, y_indices)",
        'y = Gather <axis: int = 2> (y_gather, "y_indices\'")',
    ]
    assert [numpy_helper.to_array(each).tolist() for each in lowered.initializers] == [[0, 1], [0, 0, 1]]
    assert lowered.error.exact


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (by_scales(linear(), (1, 1, 4, 4), 2, 2), "the mode is linear, not nearest"),
        (by_scales(nearest(), (1, 1, 4, None), 2, 1.5), "the size of axis 3 is not static"),
        (by_sizes(nearest(), (1, 1, None, 4), (1, 1, 8, 8)), "the size of axis 2 is not static"),
    ],
)
def test_what_has_no_constant_index_map_is_refused(subject, reason):
    assert reason in ROW["gather"].applies(subject, 13)


def test_only_the_scaled_axes_need_be_static():
    assert ROW["gather"].applies(by_scales(nearest(), (None, None, None, 4), 1, 1.5), 7) is None


def test_the_note_says_where_versions_of_onnxruntime_round_a_tie_differently():
    rounding = nearest("half_pixel", "round_prefer_ceil")
    subject = by_sizes(rounding, (1, 1, 20, 4), (1, 1, 6, 4))
    assert "on axis 2 the node itself rounds a tie the other way" in build("gather", subject).error.note
    assert "mid-2026" not in build("gather", by_scales(rounding, (1, 1, 10, 4), 0.3, 1)).error.note
