"""What is said of a file's resolution: free, frozen by which nodes, or impossible."""

import numpy as np
import pytest
from size_networks import OLD, built, dense

from resizefix.input_sizes.following import follow
from resizefix.input_sizes.refusal import Choices
from resizefix.interop import opened
from resizefix.library.resolution import SizeFreedom, resolution_of
from resizefix.reports.json import resolution_json
from resizefix.reports.terminal import resolution_line
from resizefix.shapes.image_axes import image_inputs
from resizefix.shapes.maps_alone import is_maps_alone
from resizefix.shapes.stored_shapes import ModelView


def seen(model):
    return resolution_of(ModelView(opened(model)))


def to_input(n, h, w):
    return n.Resize(n.conv("x", 3, 2, 2), "", "", [1, 2, h, w], mode="linear")


def plain(n, h, w):
    return n.conv("x", 3, 2)


@pytest.mark.parametrize(
    ("build", "freedom", "nodes", "line"),
    [
        (to_input, SizeFreedom.FROZEN, ("Resize_1",), "frozen at 32x48, held by Resize_1"),
        (plain, SizeFreedom.FROZEN, (), "frozen at 32x48 by the input's shape alone"),
        (
            dense,
            SizeFreedom.IMPOSSIBLE,
            ("Gemm_2",),
            "32x48; resizefix input-size refuses another at Gemm_2: its weights",
        ),
    ],
    ids=["frozen", "by shape", "impossible"],
)
def test_one_line_says_what_holds_the_resolution(build, freedom, nodes, line):
    found = seen(built(build, OLD))
    assert (found.freedom, found.nodes, found.size) == (freedom, nodes, OLD)
    assert line in (resolution_line(found) or "")
    assert resolution_json(found)["node_count"] == len(nodes)


def test_an_open_input_is_free():
    model = built(plain, OLD)
    for axis, name in ((2, "h"), (3, "w")):
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
    assert resolution_line(seen(model)) == "resolution: not fixed by the file"


def test_a_large_model_is_not_followed():
    def deep(n, h, w):
        y = "x"
        for _ in range(601):
            y = n.Relu(y)
        return y

    assert seen(built(deep, OLD)).freedom is SizeFreedom.FIXED


def shrunk_and_grown(n, h, w):
    y = n.Relu(n.conv("x", 3, 4, 2))
    return n.Resize(y, "", n.floats([1, 1, 4, 2]), mode="nearest")


def by_a_fraction(n, h, w):
    return n.Resize("x", "", n.floats([1, 1, 1.5, 1.5]), mode="nearest")


def infinite(n, h, w):
    return n.Resize("x", "", n.floats([1, 1, np.inf, 2]), mode="nearest")


def of_truths(n, h, w):
    return n.Resize("x", "", n.const([True, True, True, True], np.bool_), mode="nearest")


def unevenly_padded(n, h, w):
    return n.Conv("x", n.weight(4, 3, 3, 3), pads=[0, 0, 1, 1], strides=[2, 2])


def shifted(n, h, w):
    return n.Add(n.conv("x", 3, 4), n.weight(1, 4, h, w))


@pytest.mark.parametrize(
    ("build", "alone"),
    [
        (plain, True),
        (shrunk_and_grown, True),
        (by_a_fraction, False),
        (infinite, False),
        (of_truths, False),
        (unevenly_padded, False),
        (shifted, False),
    ],
)
def test_of_maps_alone_it_is_known_without_following_sizes_that_no_number_follows_them(build, alone):
    view = ModelView(opened(built(build, OLD)))
    images = image_inputs(view.model, ())
    assert is_maps_alone(view, images[0]) is alone
    if alone:
        found = follow(view, images, {"height": OLD[0], "width": OLD[1]}, Choices()).numbers(
            {"height": 2 * OLD[0], "width": 2 * OLD[1]}
        )
        assert not found.constants
        assert not found.attributes
