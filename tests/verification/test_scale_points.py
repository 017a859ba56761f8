"""Which other scales are tried."""

import numpy as np
import onnx_text
import pytest

from resizefix.document.document import Document
from resizefix.operations.promote_scales import promote_scales
from resizefix.operations.sites import find_sites
from resizefix.promotion import Form, NewInputs, PromotedInput
from resizefix.shapes.output_size import kernel_length
from resizefix.verification.scale_points import alike_points, even_value, moved_points, other_values


def inputs(scale: float, count: int = 1, dims: str = "1,1,h,w", form: Form | None = None) -> tuple[PromotedInput, ...]:
    """Those of so many resizes in series."""
    nodes = " ".join(f"y{place + 1} = Resize (y{place}, , s)" for place in range(count))
    text = f"(float[{dims}] y0) => (float[?,?,?,?] y{count}) <float[4] s = {{1, 1, {scale}, {scale}}}> {{ {nodes} }}"
    document = Document.from_proto(onnx_text.model(text))
    return promote_scales(document, find_sites(document), NewInputs(form)).inputs


@pytest.mark.parametrize("scale", [0.3333333432674408, 0.4, 0.6, 1.8, 2.3333332538604736])
def test_no_runtime_rounds_the_product_of_a_size_and_a_scale_that_is_tried(scale):
    (source,) = inputs(scale)
    for moved in {value for point in moved_points([source]) for _, values in point.values for value in values[2:]}:
        assert moved != scale
        sizes = np.arange(1, 5000)
        assert np.array_equal(np.float32(moved) * sizes.astype(np.float32), np.float64(moved) * sizes)


@pytest.mark.parametrize("form", [None, Form.FACTOR, Form.SPATIAL])
@pytest.mark.parametrize("scale", [0.5, 1.5, 2.0, 4.0])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
def test_however_many_follow_each_other_none_makes_much_more_than_before(count, scale, form):
    for point in moved_points(inputs(scale, count, form=form)):
        assert len(point.values) == count
        area = 1.0
        for source, value in point.values:
            assert value != source.value
            made = source.sites[0].operand(value)
            area *= made[2] * made[3] / scale**2
            assert 0.1 < area < (2.3 if form is Form.FACTOR else 1.3)


def test_height_and_width_move_apart_and_neighbours_do_not_undo_each_other():
    for point in moved_points(inputs(2.0, 6)):
        high, wide = 1.0, 1.0
        for _, value in point.values:
            assert value[2] != value[3]
            high, wide = high * value[2] / 2, wide * value[3] / 2
            assert high != 1 != wide


def test_what_grows_in_one_point_shrinks_in_the_other():
    first, second = moved_points(inputs(2.0))
    (one,), (other,) = ([value for _, value in point.values] for point in (first, second))
    assert one[2] > 2 > one[3]
    assert other[3] > 2 > other[2]


def test_on_a_short_axis_no_move_is_lost_in_rounding():
    for point in moved_points(inputs(2.0, dims="1,1,1,3")):
        ((_source, value),) = point.values
        assert [int(scale * size) for scale, size in zip(value[2:], (1, 3), strict=True)] != [2, 6]


def test_a_fit_that_nothing_passes_leaves_no_point():
    assert moved_points(inputs(2.0), lambda point: False) == []


@pytest.mark.parametrize("scale", [0.125, 0.5, 0.25, 2.0])
def test_no_value_that_is_tried_leaves_nothing_of_an_axis(scale):
    (source,) = inputs(scale, dims="1,1,8,9")
    points = [*moved_points([source]), *alike_points([source])]
    values = [value for point in points for _, value in point.values] + even_value(source) + list(other_values(source))
    assert len(set(values)) > 2
    for value in values:
        assert all(kernel_length(number, size) > 0 for number, size in zip(value[2:], (8, 9), strict=True))


@pytest.mark.parametrize("form", list(Form))
def test_inputs_that_move_alike_keep_equal_sizes_equal(form):
    text = """(float[1,1,8,12] x, float[1,1,4,6] z) => (float[?,?,?,?] y) <float[4] s = {1, 1, 2, 2},
        float[4] t = {1, 1, 4, 4}> { a = Resize (x, , s) b = Resize (z, , t) y = Concat <axis = 1> (a, b) }"""
    document = Document.from_proto(onnx_text.model(text))
    made = promote_scales(document, find_sites(document), NewInputs(form)).inputs
    for point in alike_points(made):
        a, b = (source.sites[0].operand(value)[2:] for source, value in point.values)
        if form is not Form.SIZES:
            a, b = ([n * size for n, size in zip(*pair, strict=True)] for pair in ((a, (8, 12)), (b, (4, 6))))
        assert list(a) == list(b)
