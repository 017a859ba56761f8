"""What the tensors of a run take, worked out from the file."""

import pytest
from onnx_text import document

from resizefix.runtimes.limits import peak_bytes


def test_a_tensor_counts_until_its_last_reader():
    nodes = "a = Relu (x) b = Relu (a) c = Relu (b) y = Relu (c)"
    chain = document(f"(float[1,1,h,10] x) => (float[1,1,h,10] y) {{ {nodes} }}")
    # x, which the caller holds, and two of the others at any time.
    assert peak_bytes(chain, {"x": (1, 1, 100, 10)}) == 3 * 100 * 10 * 4


def test_a_resize_counts_with_the_size_of_its_output():
    enlarged = document("(float[1,3,h,w] x) => (float[1,3,H,W] y) <float[4] s = {1, 1, 8, 8}> { y = Resize (x, , s) }")
    one = 3 * 100 * 100 * 4
    assert peak_bytes(enlarged, {"x": (1, 3, 100, 100)}) == one + 64 * one


def test_a_body_counts_beside_the_node_that_holds_it():
    branches = document(
        """(bool c, float[1,1,10,10] x) => (float[1,1,10,10] y)
        { y = If (c) <then_branch = t () => (float[1,1,10,10] a) { p = Relu (x) q = Relu (p) a = Relu (q) },
                      else_branch = e () => (float[1,1,10,10] b) { b = Relu (x) }> }"""
    )
    assert peak_bytes(branches, {"x": (1, 1, 10, 10), "c": ()}) >= 4 * 400


@pytest.mark.parametrize("place", ["main", "body"])
@pytest.mark.parametrize(
    "chain",
    [
        "m = Mul (r, r) v = ConstantOfShape (m)",
        "m = Div (n, two) v = ConstantOfShape (m)",
        "m = Max (n, two) v = Expand (f, m)",
        "m = Max (n, two) v = Tile (f, m)",
        "m = Squeeze (n) v = Range (zero, m, one)",
    ],
)
def test_a_size_that_is_computed_from_constants_counts(chain, place):
    made = f"{chain} w = Cast <to = 1> (v) z = Slice (w, o, two)"
    otherwise = "else_branch = e () => (float[?] u) { u = Identity (f) }"
    body = f"{made} y = Identity (z)"
    if place == "body":
        body = f"y = If (c) <then_branch = t () => (float[?] z) {{ {made} }}, {otherwise}>"
    large = document(
        f"""(bool c) => (float[?] y)
        <int64[1] r = {{20000}}, int64[1] n = {{400000000}}, int64[1] two = {{2}}, float[1] f = {{1}},
         int64[1] o = {{0}}, int64 zero = {{0}}, int64 one = {{1}}> {{ {body} }}"""
    )
    before = large.proto.SerializeToString()
    assert peak_bytes(large, {"c": ()}) > 4 * 200_000_000
    assert large.proto.SerializeToString() == before
