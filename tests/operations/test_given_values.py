import numpy as np
import pytest
from onnx_text import document

from resizefix.operations.given_values import GivenValues
from resizefix.operations.sites import find_sites
from resizefix.shapes.stored_shapes import ModelView


def given(graph: str, **values):
    opened = document(graph)
    sites = find_sites(opened)
    return GivenValues(ModelView(opened), sites, values), sites


SHARED = """(float[n,3,h,w] x, int64[4] f, int64[4] a) => (float[?,?,?,?] y, int64[4] z)
<int64[4] a = {0, 0, 1, 1}>
{ s = Shape (x) m = Mul (s, f) k = Add (m, a) [up] y = Resize (x, , , k) %s }"""


def test_every_input_behind_an_operand_is_found_and_defaults_are_values():
    values, (site,) = given(SHARED % "z = Neg (s)", f=[1, 1, 2, 2])
    assert values.behind(site.index) == ("f", "a")
    np.testing.assert_array_equal(values.arrays["f"], [1, 1, 2, 2])
    assert values.numbers("a") == (0, 0, 1, 1)
    assert values.defaults == {"a"}


@pytest.mark.parametrize(
    ("node", "reader"),
    [
        ("[else] z = Neg (f)", "the node 'else' (Neg)"),
        ("z = Identity (m)", "the node 'z' (Identity)"),
        ("z = Neg (s)", None),  # of sizes alone
    ],
)
def test_what_reads_an_input_beside_the_chain_is_named(node, reader):
    values, (site,) = given(SHARED % node)
    assert values.other_reader(site) == reader


def test_the_operand_of_a_computed_site_is_the_one_that_is_computed():
    _, (site,) = given("""(float[n,3,h,w] x) => (float[?,?,?,?] y) <int64[4] f = {1, 1, 2, 2}, float[0] e = {}>
                          { s = Shape (x) k = Mul (s, f) y = Resize (x, , e, k) }""")
    assert site.extent.kind.value == "scales"
    assert site.operand == (3, "k")
