"""Recovered scales are promoted like written ones: the chain goes, and fed the old scales the model is the old one."""

import onnx.parser
import pytest

from resizefix.document.document import Document
from resizefix.operations.freeze_scales import freeze_scales
from resizefix.operations.promote_scales import NewInputs, promote_scales
from resizefix.operations.sites import find_sites
from resizefix.outcome import Status
from resizefix.promotion import Form
from resizefix.verification.conditions import Conditions
from resizefix.verification.signatures import Feeding
from resizefix.verification.verify import verify


def model(nodes: str, extra: str, inputs: str = "float[n,3,h,w] x", output: str = "float[n,3,u,v] y") -> Document:
    text = f'<ir_version: 8, opset_import: ["" : 13]> g ({inputs}) => ({output}) <{extra}> {{ {nodes} }}'
    return Document.from_proto(onnx.parser.parse_model(text))


DOUBLED = "h = Shape (x) k = Mul (h, f) y = Resize (x, , , k)", "int64[4] f = {1, 1, 2, 2}"


@pytest.mark.parametrize("form", [Form.SCALES, Form.SPATIAL, Form.FACTOR])
def test_a_chain_that_doubles_is_promoted_and_goes(form):
    before = model(*DOUBLED)
    promotion = promote_scales(before, find_sites(before), NewInputs(form))
    assert [outcome.status for outcome in promotion.outcomes] == [Status.CHANGED]
    (source,) = promotion.inputs
    operators = [node.op_type for node in promotion.document.proto.graph.node]
    assert operators == (["Resize"] if form is Form.SCALES else ["Constant", "Concat", "Resize"])
    assert not promotion.document.proto.graph.initializer
    found = verify(
        before, promotion.document, Conditions({"x": (2, 3, 7, 11)}), feeding=Feeding({source.name: source.value})
    )
    assert found.passed
    assert all(run.bitwise for run in found.runs)


def test_promoted_and_frozen_it_computes_the_original():
    before = model(*DOUBLED)
    promotion = promote_scales(before, find_sites(before))
    (source,) = promotion.inputs
    after = freeze_scales(promotion.document, find_sites(promotion.document), values={source.name: source.value})
    for height in (1, 5, 8):
        found = verify(before, after.document, Conditions({"x": (1, 3, height, 9)}))
        assert found.passed
        assert all(run.bitwise for run in found.runs)


def test_a_chain_that_something_else_reads_stays_for_it():
    before = model(DOUBLED[0] + " z = Identity (k)", DOUBLED[1], output="float[n,3,u,v] y, int64[4] z")
    promotion = promote_scales(before, find_sites(before))
    assert [node.op_type for node in promotion.document.proto.graph.node] == ["Shape", "Mul", "Resize", "Identity"]


def test_at_a_fixed_input_size_the_sizes_of_the_chain_are_promoted():
    before = model("h = Shape (x) k = Add (h, f) y = Resize (x, , , k)", "int64[4] f = {0, 0, 8, 16}",
                   "float[1,3,8,8] x", "float[1,3,16,24] y")  # fmt: skip
    as_scales = promote_scales(before, find_sites(before))
    assert as_scales.inputs[0].value == (1, 1, 2, 3)
    as_sizes = promote_scales(before, find_sites(before), NewInputs(Form.SIZES))
    assert as_sizes.inputs[0].value == (1, 3, 16, 24)


@pytest.mark.parametrize(
    ("nodes", "extra", "inputs", "reason"),
    [
        ("k = Shape (z) y = Resize (x, , , k)", "int64[4] f = {0, 0, 0, 0}", "float[n,3,h,w] x, float[n,3,u,v] z",
         "its sizes follow the size of 'z', so no constant can replace them"),
        ("h = Shape (x) k = Add (h, f) y = Resize (x, , , k)", "int64[4] f = {0, 0, 5, 5}", "float[n,3,h,w] x",
         "its sizes make its height the input's + 5, which is no constant multiple of the input's size"),
        ("h = Shape (x) a = Mul (h, f) k = Div (a, d) y = Resize (x, , , k)",
         "int64[4] f = {1, 1, 3, 3}, int64[4] d = {1, 1, 2, 2}", "float[n,3,h,w] x",
         "onnxruntime samples by 49/33"),
    ],
)  # fmt: skip
def test_where_a_constant_would_compute_something_else_the_reason_is_given(nodes, extra, inputs, reason):
    before = model(nodes, extra, inputs)
    (outcome,) = promote_scales(before, find_sites(before)).outcomes
    assert outcome.status is Status.REFUSED
    assert outcome.reason is not None
    assert reason in outcome.reason
