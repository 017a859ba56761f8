"""Half-pixel linear through asymmetric linear."""

import pytest
from lowering_cases import ROW, build, by_scales, cubic, linear, nearest, text
from lowering_runs import difference, native, run, sample

ROUTE = ROW["pad_upsample_slice"]


def test_an_even_factor_takes_means_and_an_odd_one_does_not():
    lowered = build("pad_upsample_slice", by_scales(linear(), (None, None, None, None), 2, 3), opset=7)
    assert text(lowered)[-3:] == [
        'y_upsample = Upsample <mode: string = "linear", scales: floats = [1, 1, 2, 3]> ("y_concat\'")',
        "y_averagepool = AveragePool <kernel_shape: ints = [2, 1], strides: ints = [1, 1]> (y_upsample)",
        "y = Slice <axes: ints = [2, 3], ends: ints = [-2, -4], starts: ints = [1, 2]> (y_averagepool)",
    ]
    assert "AveragePool" not in {
        node.op_type for node in build("pad_upsample_slice", by_scales(linear(), (1, 1, 4, 4), 3, 5)).nodes
    }


@pytest.mark.parametrize(("opset", "op_type"), [(7, "Upsample"), (9, "Upsample"), (10, "Resize"), (13, "Resize")])
def test_the_node_speaks_the_dialect_of_the_opset(opset, op_type):
    subject = by_scales(linear(), (1, 1, 4, 4), 2, 2)
    lowered, got = run(ROUTE, subject, sample(subject, (1, 1, 4, 4)), opset)
    assert op_type in {node.op_type for node in lowered.nodes}
    assert difference(lowered, got, native(subject, sample(subject, (1, 1, 4, 4)))) is None


@pytest.mark.parametrize("coordinates", ["half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"])
@pytest.mark.parametrize("factor", [2, 3, 4, 5, 8])
def test_every_size_of_a_dynamic_axis_gives_what_the_node_gives(coordinates, factor):
    subject = by_scales(linear(coordinates), (None, None, None, None), factor, 2)
    for size in (1, 2, 3, 6):
        x = sample(subject, (1, 2, size, 3))
        assert difference(*run(ROUTE, subject, x, 8), native(subject, x)) is None, size


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (by_scales(nearest(), (1, 1, 4, 4), 2, 2), "the mode is nearest, not linear"),
        (by_scales(cubic(), (1, 1, 4, 4), 2, 2), "the mode is cubic, not linear"),
        (by_scales(linear(antialias=True), (1, 1, 4, 4), 2, 2), "the mode is linear with antialias, not linear"),
        (by_scales(linear("align_corners"), (1, 1, 4, 4), 2, 2), "align_corners does not sample at pixel centres"),
        (by_scales(linear("asymmetric"), (1, 1, 4, 4), 2, 2), "asymmetric does not sample at pixel centres"),
        (by_scales(linear(), (1, 1, 4, 4), 2, 1.5), "axis 3 is not scaled by a whole number"),
        (by_scales(linear(), (4, 4), 2, 2), "the rank is 2"),
        (by_scales(linear(), (1, 4, 4, 3), 2, 2, 1), "axis 1 is scaled and is not a spatial axis"),
    ],
)
def test_what_no_upsample_leads_to_is_refused_with_the_reason(subject, reason):
    assert reason in ROUTE.applies(subject, 13)
