"""Models whose outputs have no element at the only shapes that the file allows: what the nodes make is compared."""

import pytest
from onnx_text import document, model

import resizefix
from resizefix.operations.sites import find_sites
from resizefix.verification.verification import Verification, conditions
from resizefix.verification.verify import prove_rewrite

COMPUTED = """(float[%s] x) => (float[n,c,h,w] y) <float[4] s0 = {%s}, float[1] one = {1}> {
    s = Mul(s0, one) y = Resize<mode="nearest">(x, , s) }"""
CASES = {
    "to length 0": COMPUTED % ("1,1,2,2", "1,1,0.1,0.1"),
    "from length 0": COMPUTED % ("1,1,0,2", "1,1,2,2"),
    "another axis is open": COMPUTED % ("n,1,2,2", "1,1,0.1,0.1"),
    "no batch": COMPUTED % ("0,1,3,2", "1,1,2,2"),
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_scales_that_leave_nothing_are_frozen_and_the_verdict_says_what_was_compared(text):
    result = resizefix.freeze_scales(model(text))
    assert result.verification.passed
    assert "types and shapes were compared" in (result.verification.reason or "")


def test_a_node_that_leaves_nothing_is_legalized():
    text = """(float[1,1,2,2] x) => (float[n,c,h,w] y) <float[4] s = {1,1,0.1,0.1}>
        { y = Resize<mode="nearest", coordinate_transformation_mode="align_corners", nearest_mode="ceil">(x, , s) }"""
    result = resizefix.legalize(model(text), target="tensorrt-7.0")
    assert result.changed
    assert result.verification.passed


def proven(scale_after: float) -> Verification:
    """Of a node with elements, behind which the model keeps none of them."""
    text = """(float[1,1,4,4] x) => (float[n,c,h,w] y) <float[4] s = {1,1,2,%s}, int64[1] a = {0}, int64[1] b = {2}>
        { r = Resize<mode="nearest">(x, , s) y = Slice(r, a, a, b) }"""
    before, after = (document(text % scale) for scale in (2.0, scale_after))
    sites = {site.key: site.input for site in find_sites(before)}
    return prove_rewrite(before, after, sites, 0.0, conditions())


def test_where_only_the_outputs_are_empty_the_nodes_are_compared():
    assert proven(2.0).passed
    assert not proven(3.0).passed
