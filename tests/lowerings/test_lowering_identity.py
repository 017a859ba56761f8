"""A node that changes no size."""

import pytest
from lowering_cases import ROW, build, by_scales, cubic, linear, nearest, text
from lowering_runs import difference, native, run, sample

from resizefix.lowerings import LOWERINGS


def test_scales_of_1_make_a_copy_of_any_size():
    assert text(build("identity", by_scales(linear(), (None, None, None, None), 1, 1))) == ["y = Identity (x)"]


@pytest.mark.parametrize("interpolation", [nearest(), linear(), cubic("asymmetric")])
def test_a_scale_too_small_to_change_a_length_makes_a_copy(interpolation):
    subject = by_scales(interpolation, (1, 2, 4, 3), 1.2, 1.3)
    x = sample(subject, (1, 2, 4, 3))
    assert difference(*run(ROW["identity"], subject, x, 7), native(subject, x)) is None


def test_a_copy_is_lowered_to_nothing_else():
    subject = by_scales(nearest(), (1, 2, 4, 3), 1.2, 1.3)
    assert {low.applies(subject, 13) for low in LOWERINGS[1:]} == {"nothing is scaled"}


def test_a_dynamic_axis_with_another_scale_may_change():
    assert (
        ROW["identity"].applies(by_scales(nearest(), (1, 2, None, 3), 1.2, 1), 13) == "the size changes, or may change"
    )
    assert ROW["identity"].applies(by_scales(nearest(), (1, 2, 5, 3), 1.2, 1), 13) == "the size changes, or may change"
