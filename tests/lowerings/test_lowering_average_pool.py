"""Linear by 1/k."""

import numpy as np
import pytest
from lowering_cases import ROW, build, by_scales, cubic, linear, nearest, text
from lowering_runs import difference, native, run, sample

POOL = ROW["average_pool"]


def test_a_half_is_the_mean_of_two_and_a_third_the_middle_of_three():
    lowered = build("average_pool", by_scales(linear(), (None, None, None, None), 1 / 2, 1 / 3), opset=7)
    assert text(lowered) == [
        "y_slice = Slice <axes: ints = [3], ends: ints = [-1], starts: ints = [1]> (x)",
        "y = AveragePool <kernel_shape: ints = [2, 1], strides: ints = [2, 3]> (y_slice)",
    ]


@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric", "tf_half_pixel_for_nn"])
@pytest.mark.parametrize("k", [2, 3, 4, 5, 7])
def test_every_size_of_a_dynamic_axis_gives_what_the_node_gives(coordinates, k):
    subject = by_scales(linear(coordinates), (1, 1, None, None), 1 / k, 1)
    for size in range(k, 5 * k):
        x = sample(subject, (1, 1, size, 3))
        assert difference(*run(POOL, subject, x, 13), native(subject, x)) is None, size


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (by_scales(nearest(), (1, 1, 4, 4), 0.5, 0.5), "the mode is nearest, not linear"),
        (by_scales(cubic(), (1, 1, 4, 4), 0.5, 0.5), "the mode is cubic, not linear"),
        (by_scales(linear(antialias=True), (1, 1, 4, 4), 0.5, 0.5), "the mode is linear with antialias, not linear"),
        (by_scales(linear("align_corners"), (1, 1, 4, 4), 0.5, 0.5), "align_corners has other weights"),
        (by_scales(linear(), (1, 1, 4, 4), 0.5, 0.75), "axis 3 is not scaled by 1/k"),
        (by_scales(linear(), (1, 1, 164, 4), 1 / 41, 1), "axis 2 of length 164 has another length than 4"),
        (by_scales(linear(), (4, 4), 0.5, 0.5), "the rank is 2"),
        (by_scales(linear(), (1, 4, 4, 3), 0.5, 0.5, 1), "axis 1 is scaled and is not a spatial axis"),
        (by_scales(linear("pytorch_half_pixel"), (1, 1, None, 4), 0.5, 0.5),
         "axis 2 has or may have the output length 1"),
        (by_scales(linear("pytorch_half_pixel"), (1, 1, 4, 3), 0.5, 0.5), "axis 3 has or may have the output length 1"),
        (by_scales(linear("half_pixel_symmetric"), (1, 1, 5, 4), 0.5, 0.5), "axis 2 is or may be no multiple of 2"),
        (by_scales(linear("half_pixel_symmetric"), (1, 1, None, 4), 0.5, 0.5), "axis 2 is or may be no multiple of 2"),
    ],
)  # fmt: skip
def test_what_no_pool_says_is_refused_with_the_reason(subject, reason):
    assert reason in POOL.applies(subject, 13)


def test_the_refused_neighbours_do_differ():
    for subject in (
        by_scales(linear("pytorch_half_pixel"), (1, 1, 4, 3), 0.5, 0.5),
        by_scales(linear("half_pixel_symmetric"), (1, 1, 5, 4), 0.5, 0.5),
    ):
        x = sample(subject, subject.shape)
        pooled = run(POOL, by_scales(linear(), subject.shape, 0.5, 0.5), x, 13)[1]
        assert np.abs(pooled - native(subject, x)).max() > 0.01


def test_the_conditions_say_from_which_size_on_a_dynamic_axis_may_be():
    conditions = build("average_pool", by_scales(linear(), (1, 1, None, None), 1 / 2, 1 / 3)).error.conditions
    assert "for axes of 3 to 65536, where the output is not empty" in conditions
    assert build("average_pool", by_scales(linear(), (1, 1, 6, 6), 1 / 2, 1 / 3)).error.conditions == (
        "for finite inputs",
    )
