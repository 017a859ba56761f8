"""Models whose outputs have no element at the only shapes that the file allows: what the nodes make is compared."""

import pytest
from onnx import parser

import resizefix
from resizefix.document.document import Document
from resizefix.operations.sites import find_sites
from resizefix.verification.conditions import conditions
from resizefix.verification.verification import Verification
from resizefix.verification.verify import prove_rewrite

HEADER = '<ir_version: 8, opset_import: ["":13]>'
COMPUTED = """{ s = Mul(s0, one) y = Resize<mode="nearest">(x, , s) }"""
CASES = {
    "to length 0": f"{HEADER} g (float[1,1,2,2] x) => (float[n,c,h,w] y) "
    f"<float[4] s0 = {{1,1,0.1,0.1}}, float[1] one = {{1}}> {COMPUTED}",
    "from length 0": f"{HEADER} g (float[1,1,0,2] x) => (float[n,c,h,w] y) "
    f"<float[4] s0 = {{1,1,2,2}}, float[1] one = {{1}}> {COMPUTED}",
    "another axis is open": f"{HEADER} g (float[n,1,2,2] x) => (float[n,c,h,w] y) "
    f"<float[4] s0 = {{1,1,0.1,0.1}}, float[1] one = {{1}}> {COMPUTED}",
    "no batch": f"{HEADER} g (float[0,1,3,2] x) => (float[n,c,h,w] y) "
    f"<float[4] s0 = {{1,1,2,2}}, float[1] one = {{1}}> {COMPUTED}",
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_scales_that_leave_nothing_are_frozen_and_the_verdict_says_what_was_compared(text):
    result = resizefix.freeze_scales(parser.parse_model(text))
    assert result.verification.passed
    assert "types and shapes were compared" in (result.verification.reason or "")


def test_a_node_that_leaves_nothing_is_legalized():
    text = f"""{HEADER} g (float[1,1,2,2] x) => (float[n,c,h,w] y) <float[4] s = {{1,1,0.1,0.1}}>
        {{ y = Resize<mode="nearest", coordinate_transformation_mode="align_corners", nearest_mode="ceil">(x, , s) }}"""
    result = resizefix.legalize(parser.parse_model(text), target="tensorrt-7.0")
    assert result.changed
    assert result.verification.passed


def proven(scale_after: float) -> Verification:
    """Of a node with elements, behind which the model keeps none of them."""
    texts = [
        f"""{HEADER} g (float[1,1,4,4] x) => (float[n,c,h,w] y) <float[4] s = {{1,1,2,{scale}}}, int64[1] a = {{0}},
        int64[1] b = {{2}}> {{ r = Resize<mode="nearest">(x, , s) y = Slice(r, a, a, b) }}"""
        for scale in (2.0, scale_after)
    ]
    before, after = (Document.from_proto(parser.parse_model(text)) for text in texts)
    sites = {site.key: site.input for site in find_sites(before)}
    return prove_rewrite(before, after, sites, 0.0, conditions())


def test_where_only_the_outputs_are_empty_the_nodes_are_compared():
    assert proven(2.0).passed
    assert not proven(3.0).passed
