"""Lists of boxes over several maps, as detectors have them: their sizes and centres are asked for where the file does
not say what they follow, and the right answer is among the offers."""

from functools import partial

import numpy as np
import pytest
from size_networks import OLD, built, called, run

import resizefix

EVEN, ODD = (64, 96), (40, 56)
"""Sizes that the strides divide, and do not divide."""
LEVELS = ((8, ((6, 6), (10, 10))), (16, ((14, 14), (20, 20), (40, 40))))


def list_of(n, levels):
    """What a convolution finds on each of the maps of these strides, a row of four for each of so many boxes a cell."""
    y, reached, found = n.conv("x", 3, 4, 2), 2, []
    for stride, count in levels:
        while reached < stride:
            y, reached = n.conv(y, 4, 4, 2), reached * 2
        heads = n.Transpose(n.conv(y, 4, 4 * count), perm=[0, 2, 3, 1])
        found.append(n.Reshape(heads, [1, -1, 4]))
    return found[0] if len(found) == 1 else n.Concat(*found, axis=1)


def priors(h, w, levels=LEVELS, cut=False, centre="map", turned=False, share=False):
    """A row for each box: the centre, and the sizes in pixels over the image's, or in shares of the old image."""
    rows = []
    for stride, boxes in levels:
        high, wide = -(-h // stride), -(-w // stride)
        down, across = (high, wide) if centre == "map" else (h / stride, w / stride)
        sides = (OLD[1], OLD[0]) if share else (w, h)
        for row in range(high):
            for column in range(wide):
                for width, height in boxes:
                    place = [(column + 0.5) / across, (row + 0.5) / down]
                    sizes = [width / sides[0], height / sides[1]]
                    rows.append([*place[::-1], *sizes[::-1]] if turned else [*place, *sizes])
    table = np.array([rows])
    return np.minimum(table, 1) if cut else table


def detector(n, h, w, levels=LEVELS, apart=False, **ways):
    boxes = priors(h, w, levels, **ways)
    y = list_of(n, [(stride, len(sizes)) for stride, sizes in levels])
    if not apart:
        return n.Add(y, n.floats(boxes))
    places, sizes = (n.Slice(y, [start], [start + 2], [2]) for start in (0, 2))
    places = n.Add(n.Mul(places, n.floats(boxes[..., 2:])), n.floats(boxes[..., :2]))
    return n.Concat(places, n.Mul(n.Exp(sizes), n.floats(boxes[..., 2:])), axis=2)


def answer(build, old, new, wanted):
    """The model where every question that offers it is answered so."""
    model = built(build, old)
    asked = resizefix.input_size(model, size=new, on_refusal="return")
    assert not asked, "nothing was asked"
    args = []
    for question in asked.resolution.choices:
        names = [one.name for one in question.readings]
        name = next(name for name in names if name in wanted)
        args += question.args(name)
    result = called(model, args, new)
    assert result, [str(one.reason) for one in result.outcomes]
    return result.model


def assert_right(build, old, new, wanted, at=None):
    after = answer(build, old, new, wanted)
    for size in at or [new]:
        found, truth = run(after, size), run(built(build, size), size)
        assert found.tobytes() == truth.tobytes()


SIDES = [(OLD, (64, 96)), (OLD, (96, 64)), ((48, 48), (64, 96))]


@pytest.mark.parametrize("apart", [False, True], ids=["one-table", "tables"])
@pytest.mark.parametrize(("old", "new"), SIDES)
@pytest.mark.parametrize("turned", [False, True], ids=["width-first", "height-first"])
@pytest.mark.parametrize("cut", [False, True], ids=["uncut", "cut"])
def test_boxes_of_pixels_follow_both_sides(old, new, turned, cut, apart):
    """A box of 40 pixels is larger than an image of 32: the file says whether it is cut."""
    build = partial(detector, cut=cut, turned=turned, apart=apart)
    order, end = "-height-first" if turned else "", "-cut" if cut else ""
    name = f"pixels{order}{end}"
    assert_right(build, old, new, {name, f"{name}+of-map"})


def test_a_list_where_no_box_is_larger_than_the_image_offers_both():
    levels = ((8, ((6, 6), (10, 10))), (16, ((14, 14),)))
    for cut in (False, True):
        build = partial(detector, levels=levels, cut=cut, apart=True)
        for new in (ODD, (16, 16)):
            name = "pixels-cut" if cut else "pixels"
            assert_right(partial(build, centre="image"), OLD, new, {name, "of-image"})
            assert_right(build, OLD, new, {name, "of-map"})


@pytest.mark.parametrize("centre", ["map", "image"])
@pytest.mark.parametrize("apart", [False, True], ids=["one-table", "tables"])
def test_centres_are_asked_for_where_the_strides_do_not_divide_the_input(centre, apart):
    build = partial(detector, centre=centre, apart=apart)
    for size in (ODD, "any"):
        wanted = {"pixels", f"of-{centre}", f"pixels+of-{centre}"}
        assert_right(build, OLD, size, wanted, [ODD, EVEN, OLD, (33, 70)] if size == "any" else None)


@pytest.mark.parametrize("centre", ["map", "image"])
@pytest.mark.parametrize("size", [EVEN, (32, 48), "any"])
def test_a_map_that_its_stride_does_not_divide_says_what_the_centres_are(centre, size):
    build = partial(detector, centre=centre)
    assert_right(build, ODD, size, {"pixels"}, [ODD, EVEN, (33, 70)] if size == "any" else None)


def test_sizes_are_chosen_alone_where_the_strides_divide_the_input():
    model = built(detector, OLD)
    after = called(model, ("--read", "Add_11=pixels"), EVEN)
    assert run(after.model, EVEN).tobytes() == run(built(detector, EVEN), EVEN).tobytes()
    assert not called(model, ("--read", "Add_11=pixels"), ODD)


def test_shares_that_stay_are_offered_too():
    build = partial(detector, share=True, apart=True)
    assert_right(build, OLD, EVEN, {"keep"})


def test_a_map_of_one_cell_counts_it_as_the_others_do():
    levels = ((8, ((6, 6), (10, 10))), (32, ((20, 20),)))
    build = partial(detector, levels=levels, apart=True)
    assert_right(build, OLD, (64, 96), {"pixels"})


def test_a_box_whose_both_sides_are_the_whole_image_may_be_larger():
    """Cut on both sides it has no pixels that anyone knows."""
    levels = ((8, ((6, 6),)), (16, ((60, 60),)))
    build = partial(detector, levels=levels, cut=True, apart=True)
    result = resizefix.input_size(built(build, OLD), size=EVEN, on_refusal="return")
    assert not result
    assert not result.resolution.choices
