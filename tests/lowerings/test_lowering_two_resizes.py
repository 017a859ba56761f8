"""A volume by two resizes of four dimensions: which volumes, what is written, and how near it comes."""

import pytest
from lowering_cases import by_scales, by_sizes, cubic, linear, nearest
from lowering_runs import difference, native, run, sample

from resizefix.lowerings.two_resizes import TWO_4D_RESIZES

SHAPE = (2, 3, 4, 5, 6)


@pytest.mark.parametrize("opset", [8, 9, 10, 13, 18])
@pytest.mark.parametrize("scales", [(2, 2, 2), (1, 3, 2), (2, 1, 1), (1.5, 2, 1.25)])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_it_computes_what_the_node_does(opset, scales, mode):
    coordinates = "half_pixel" if opset > 10 else "asymmetric"
    meaning = nearest(coordinates, "floor" if opset > 10 else "simple") if mode == "nearest" else linear(coordinates)
    subject = by_scales(meaning, SHAPE, *scales)
    x = sample(subject, SHAPE)
    lowered, got = run(TWO_4D_RESIZES, subject, x, opset)
    assert lowered.error.exact == (mode == "nearest")
    assert difference(lowered, got, native(subject, x, opset)) is None
    planes = sum(node.op_type in ("Resize", "Upsample") for node in lowered.nodes)
    assert planes == (scales[0] != 1) + (scales[1:] != (1, 1))


@pytest.mark.parametrize("mode", [nearest("align_corners"), linear("align_corners"), linear("half_pixel")])
def test_sizes_stay_sizes(mode):
    subject = by_sizes(mode, SHAPE, (2, 3, 5, 9, 7))
    x = sample(subject, SHAPE)
    lowered, got = run(TWO_4D_RESIZES, subject, x, 13)
    assert difference(lowered, got, native(subject, x, 13)) is None


def test_an_open_batch_stays_open():
    subject = by_scales(linear(), (None, 3, 4, 5, 6), 2, 2, 2)
    for batch in (1, 3):
        x = sample(subject, (batch, 3, 4, 5, 6))
        lowered, got = run(TWO_4D_RESIZES, subject, x, 13)
        assert difference(lowered, got, native(subject, x, 13)) is None


@pytest.mark.parametrize(
    ("subject", "why"),
    [
        (by_scales(linear(), (1, 3, 4, 5), 2, 2), "the rank is 4, not 5"),
        (by_scales(linear(), (1, 3, None, 5, 6), 2, 2, 2), "the size of axis 2 is not static"),
        (by_scales(nearest(), (1, 3, 4, 5, 6), 2, 1, 1, 1), "axis 1 is scaled and is not a spatial axis"),
        (by_scales(nearest(), (1, 3, 4, 5, 6), 1.1, 2, 2), "axis 2 keeps its length at another scale than 1"),
        (by_scales(cubic(), SHAPE, 2, 2, 2), "no cubic kernel for rank 5"),
        (by_sizes(linear(), (None, 3, 5, 5, 6), (None, 3, 9, 10, 12)), "neither scales nor sizes are constant"),
    ],
)
def test_what_is_no_such_volume_is_reported(subject, why):
    assert why in TWO_4D_RESIZES.applies(subject, 13)
