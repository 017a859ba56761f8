"""The tensor that a resize's result meets is found, and where its size can be read; what may differ is refused."""

import pytest
from onnx_text import document

from resizefix.diagnostics import RefusedError
from resizefix.operations.sites import sites_in
from resizefix.shapes.partners import Partners
from resizefix.shapes.stored_shapes import ModelView

UP = """down = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (skip)
  up = Resize <mode = "nearest"> (down, , scales)"""
SCALES = "<float[4] scales = {1, 1, 2, 2}>"


def partner(nodes: str, constants: str = SCALES, inputs: str = "float[1, 3, H, W] x", site: int = 0):
    view = ModelView(document(f"({inputs}) => (float[A, B, C, D] y) {constants} {{ {nodes} }}"))
    found = sites_in(view)[site]
    return Partners(view).of(found.scope, found.output, (2, 3))


@pytest.mark.parametrize(
    "meeting",
    [
        "y = Add(up, skip)",
        "y = Sub(skip, up)",
        "y = Mul(up, skip)",
        "y = Concat <axis = 1> (up, skip)",
        "mask = Greater(skip, skip) y = Where(mask, up, up)",
        "near = Relu(up) y = Add(skip, near)",
    ],
)
def test_the_tensor_that_it_meets(meeting):
    found = partner(f"skip = Relu(x) {UP} {meeting}")
    assert found is not None
    assert (found.name, found.axes) == ("mask" if "mask" in meeting else "skip", (2, 3))


def test_what_keeps_the_size_is_followed_and_what_changes_it_is_not():
    same = "t = Conv <pads = [1, 1, 1, 1]> (up, w) y = Add(t, skip)"
    smaller = "t = Conv (up, w) y = Add(t, skip)"
    inputs = "float[1, 3, H, W] x, float[3, 3, 3, 3] w"
    assert partner(f"skip = Relu(x) {UP} {same}", inputs=inputs) is not None
    assert partner(f"skip = Relu(x) {UP} {smaller}", inputs=inputs) is None


@pytest.mark.parametrize("one", ["float[1, 3, 1, 1] g", "float[3, 1, 1] g", "float[1] g", "float g"])
def test_what_is_broadcast_is_no_partner(one):
    assert partner(f"skip = Relu(x) {UP} y = Mul(up, g)", inputs=f"float[1, 3, H, W] x, {one}") is None


def test_along_the_joined_axis_nothing_has_to_fit():
    assert partner(f"skip = Relu(x) {UP} y = Concat <axis = 2> (up, skip)") is None


def test_several_partners_of_one_size_are_one():
    found = partner(f"skip = Relu(x) {UP} a = Add(up, skip) b = Concat <axis = 1> (up, x) y = Concat <axis = 1> (a, b)")
    assert found is not None
    assert found.name == "skip"


def test_several_partners_of_other_sizes_are_refused():
    with pytest.raises(RefusedError, match=r"'skip' at .* and 'z' at .* may be of different sizes"):
        partner(
            f"skip = Relu(x) {UP} a = Add(up, skip) y = Add(up, z)", inputs="float[1, 3, H, W] x, float[1, 3, H, W] z"
        )


def test_a_partner_that_comes_from_the_node_is_refused():
    with pytest.raises(RefusedError, match="itself computed from this node"):
        partner(
            'up = Resize <mode = "nearest"> (x, , scales) '
            "half = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (up) "
            'again = Resize <mode = "nearest"> (half, , scales) y = Add(again, up)'
        )


def test_a_partner_that_is_made_later_is_read_where_its_size_is_there():
    found = partner(f"skip = Relu(x) {UP} late = Sigmoid(skip) y = Add(up, late)")
    assert found is not None
    assert (found.name, found.read) == ("late", "skip")


def test_of_a_sum_the_size_is_that_of_what_was_added():
    first = """a = Relu(x) d = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
      e = MaxPool <kernel_shape = [4, 4], strides = [4, 4]> (x)
      u = Resize <mode = "nearest"> (d, , scales) v = Resize <mode = "nearest"> (e, , four)
      s = Add(a, u) y = Add(s, v)"""
    found = partner(first, "<float[4] scales = {1, 1, 2, 2}, float[4] four = {1, 1, 4, 4}>", site=1)
    assert found is not None
    assert (found.name, found.read) == ("s", "a")


def test_what_is_made_later_alone_is_refused():
    inputs = "float[1, 3, H, W] x, float[1, 3, I, J] z"
    with pytest.raises(RefusedError, match="nothing that is computed before it"):
        partner(
            'up = Resize <mode = "nearest"> (x, , scales) other = Resize <mode = "nearest"> (z, , scales) '
            "y = Add(up, other)",
            inputs=inputs,
        )
