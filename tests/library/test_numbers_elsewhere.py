"""A number that a formula makes of a size is asked for wherever the file holds it: no place or kind hides it."""

import numpy as np
import pytest
from size_networks import NEW, OLD, built

import resizefix


def _map(n):
    return n.conv("x", 3, 2)


def _fixed(n):
    return n.Resize(_map(n), "", "", [1, 2, 20, 28], mode="linear")


def _last(n):
    return n.Transpose(_map(n), perm=[0, 2, 3, 1])


def _counted(n, w):
    ones = n.ConstantOfShape([1, 1, 20, 28], value=n.tensor(np.ones(1, np.float32)))
    return n.Div(n.CumSum(ones, 3), n.floats(w))


HIDDEN = {
    "expanded": lambda n, h, w: n.Mul(_map(n), n.Expand(n.floats([w]), [2, 1, 1])),
    "joined": lambda n, h, w: n.Mul(_map(n), n.Reshape(n.Concat(n.floats([w]), n.floats([h]), axis=0), [1, 2, 1, 1])),
    "filled": lambda n, h, w: n.Mul(_map(n), n.ConstantOfShape([2, 1, 1], value=n.tensor(np.array([w], np.float32)))),
    "summed": lambda n, h, w: n.Sum(_map(n), n.floats(w - 1)),
    "padded": lambda n, h, w: n.Pad(_map(n), [0, 0, 1, 1, 0, 0, 1, 1], n.floats(w)),
    "an attribute": lambda n, h, w: n.ThresholdedRelu(_map(n), alpha=float(w)),
    "through exp": lambda n, h, w: n.Mul(_map(n), n.Exp(n.floats(np.log(w)))),
    "two less": lambda n, h, w: n.Mul(_map(n), n.floats(w - 2)),
    "one more": lambda n, h, w: n.Mul(_map(n), n.floats(w + 1)),
    "twice less one": lambda n, h, w: n.Mul(_map(n), n.floats(2 * w - 1)),
    "diagonal": lambda n, h, w: n.Div(_map(n), n.floats(np.hypot(h, w))),
    "nine tenths": lambda n, h, w: n.Mul(_map(n), n.floats(w * 0.9)),
    "a list": lambda n, h, w: n.Add(_last(n), n.floats([w - 2, h - 2])),
    "a list of shares": lambda n, h, w: n.Sub(_last(n), n.floats([w / 4, h / 4])),
    "a matrix": lambda n, h, w: n.MatMul(_last(n), n.floats(np.full((2, 2), 1 / w))),
    "a ramp on a fixed map": lambda n, h, w: n.Add(_fixed(n), n.floats((np.arange(28) * w / 28).reshape(1, 1, 1, 28))),
    "counts on a fixed map": lambda n, h, w: n.Add(_fixed(n), _counted(n, w)),
    "a uniform fixed map": lambda n, h, w: n.Mul(_fixed(n), n.floats(np.full((20, 28), h))),
    "a uniform table": lambda n, h, w: n.Mul(_map(n), n.floats(np.full((1, 1, h, w), w))),
    "steps of a table": lambda n, h, w: n.Mul(_map(n), n.floats((np.arange(w) * w).reshape(1, 1, 1, w))),
    "pixels": lambda n, h, w: n.Conv(n.Div("x", n.floats(w)), n.weight(2, 3, 1, 1)),
    "values of OneHot": lambda n, h, w: n.Add(_map(n), n.Reshape(n.OneHot([1], [2], n.floats([0, w])), [1, 2, 1, 1])),
}


@pytest.mark.parametrize("where", HIDDEN)
def test_a_size_is_asked_for_wherever_the_file_holds_it(where):
    result = resizefix.input_size(built(HIDDEN[where], OLD), size=NEW, on_refusal="return", verify=False)
    assert not result
    assert result.resolution.choices


def test_weights_do_not_bend_a_scale_of_the_file():
    """A matrix as long as an enlarged map holds its size; the scale before it would become another."""

    def build(n, h, w):
        y = n.conv("x", 3, 2)
        y = n.Concat(n.Slice(y, [2], [w], [3]), n.Slice(y, [0], [2], [3]), axis=3)
        y = n.Resize(y, "", n.floats([1, 1, 2, 2]), mode="nearest")
        return n.MatMul(y, n.weight(2 * w, 2 * w))

    result = resizefix.input_size(built(build, OLD), size=(48, 32), on_refusal="return", verify=False)
    assert not result
    assert result.outcomes[0].node == "Resize_4"
