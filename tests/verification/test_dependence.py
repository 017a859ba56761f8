"""Which of several sites a node depends on, and how far growth adds up along a path."""

import pytest
from onnx_text import model

from resizefix.scope_path import FunctionName, ScopePath
from resizefix.verification.upstream import Dependence

TWO_BRANCHES = """(float[1,1,8,8] x) => (float[1,1,"h","w"] y) <float[4] s = {1, 1, 2, 2}> {
        [up_a] a = Resize (x, , s)
        [up_b] b = Resize (a, , s)
        [up_c] c = Resize (x, , s)
        [add] d = Add (a, c)
        [end] e = Relu (b)
        y = GlobalAveragePool (d)
    }"""


@pytest.fixture
def dependence():
    return Dependence(model(TWO_BRANCHES))


SITES = [((), "a"), ((), "b"), ((), "c")]


def test_a_node_depends_on_the_sites_above_it_alone(dependence):
    assert dependence.above("add", SITES) == {((), "a"), ((), "c")}
    assert dependence.above("end", SITES) == {((), "a"), ((), "b")}
    assert dependence.above("end", SITES[2:]) == set()


def test_of_an_unknown_node_nothing_is_said(dependence):
    assert dependence.above("elsewhere", SITES) is None


def test_growth_is_the_largest_product_along_a_path(dependence):
    assert dependence.growth({((), "a"): 2.0, ((), "b"): 3.0, ((), "c"): 5.0}) == 6.0
    assert dependence.growth({((), "a"): 2.0, ((), "b"): 0.5}) == 2.0
    assert dependence.growth({}) == 1.0


def test_a_site_in_a_function_is_not_followed(dependence):
    assert dependence.growth({(ScopePath([FunctionName("d", "f")]), "a"): 2.0}) is None
    assert dependence.above("add", [(ScopePath([FunctionName("d", "f")]), "a")]) is None
