import onnx
import onnx.parser
import pytest

import resizefix
from resizefix.document.document import Document
from resizefix.operations.replacement import Allowance
from resizefix.operations.trt_legacy import trt_legacy
from resizefix.outcome import Status


def model(nodes: str, extra: str = "", *, opset: int = 13, x: str = "float[1,3,8,8]") -> str:
    return f'<ir_version: 8, opset_import: ["" : {opset}]> g ({x} x) => (float[?,?,?,?] y) {extra} {{ {nodes} }}'


def legacy(text: str, **allowance):
    document = Document.from_proto(onnx.parser.parse_model(text))
    before = document.light_bytes()
    made = trt_legacy(document, allowance=Allowance(**allowance))
    assert document.light_bytes() == before, "the original was touched"
    if made.complete:
        onnx.checker.check_model(made.document.proto, full_check=True)
        imports = {entry.domain: entry.version for entry in made.document.proto.opset_import}
        assert imports[""] <= 8
        assert made.document.proto.ir_version == 3
    return made


SCALES = "<float[4] s = {1, 1, 2, 2}>"


@pytest.mark.parametrize(
    ("opset", "node"),
    [
        (9, "Upsample (x, s)"),
        (9, 'Upsample <mode = "linear"> (x, s)'),
        (10, "Resize (x, s)"),
        (13, "Resize (x, , s)"),
        (13, 'Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, , s)'),
        (13, 'Resize <coordinate_transformation_mode = "asymmetric", mode = "linear"> (x, , s)'),
        (19, 'Resize <coordinate_transformation_mode = "half_pixel_symmetric"> (x, , s)'),
    ],
)
def test_what_upsample_7_can_say_is_said_exactly(opset, node):
    made = legacy(model(f"[up] y = {node}", SCALES, opset=opset))
    (outcome,) = made.outcomes
    assert (outcome.status, outcome.exact, outcome.node) == (Status.CHANGED, True, "up")
    (only,) = made.document.proto.graph.node
    assert only.op_type == "Upsample"
    assert [attribute.name for attribute in only.attribute] == ["mode", "scales"]
    assert outcome.bound == 0


def test_half_pixel_linear_is_no_upsample_and_becomes_other_operators_within_a_bound():
    made = legacy(model('y = Resize <mode = "linear"> (x, , s)', SCALES))
    (outcome,) = made.outcomes
    assert (outcome.status, outcome.exact) == (Status.CHANGED, False)
    assert outcome.bound is not None
    assert 0 < outcome.bound < 1e-5
    assert not any(node.op_type in ("Upsample", "Resize") for node in made.document.proto.graph.node)


def test_without_lowerings_the_refusal_says_what_upsample_7_computes():
    (outcome,) = legacy(model('y = Resize <mode = "linear"> (x, , s)', SCALES), lowered=False).outcomes
    assert outcome.status is Status.REFUSED
    assert "asymmetric coordinates" in (outcome.reason or "")
    assert "--no-lower" in (outcome.reason or "")


def test_no_lower_is_not_blamed_where_no_other_operators_replace_the_node():
    text = model('y = Resize <mode = "linear"> (x, , s)', "<float[4] s = {1, 1, 1.3, 1.3}>", x="float[1,3,h,w]")
    for lowered in (True, False):
        (outcome,) = legacy(text, lowered=lowered).outcomes
        assert outcome.status is Status.REFUSED
        assert "--no-lower" not in (outcome.reason or "")


def test_sizes_computed_from_a_fixed_shape_are_constants():
    text = model("h = Shape (x) k = Mul (h, f) y = Resize (x, , , k)", "<int64[4] f = {1, 1, 2, 2}>")
    (outcome,) = legacy(text).outcomes
    assert outcome.status is Status.CHANGED


def test_a_scale_that_is_fed_cannot_be_an_attribute():
    text = model("y = Resize (x, , s)").replace("float[1,3,8,8] x)", "float[1,3,8,8] x, float[4] s)")
    (outcome,) = legacy(text).outcomes
    assert outcome.status is Status.REFUSED
    assert "are fed at run time, through 's'; freeze them first with freeze-scales" in (outcome.reason or "")


def test_a_default_is_a_constant_in_the_old_form():
    parsed = onnx.parser.parse_model(
        model("y = Resize (x, , s)").replace("float[1,3,8,8] x)", "float[1,3,8,8] x, float[4] s)")
    )
    parsed.graph.initializer.append(onnx.helper.make_tensor("s", 1, [4], [1, 1, 2, 2]))
    made = trt_legacy(Document.from_proto(parsed))
    assert [outcome.status for outcome in made.outcomes] == [Status.CHANGED]
    assert [value.name for value in made.document.proto.graph.input] == ["x"]


def test_every_blocker_is_named_at_once_beside_the_sites():
    text = model('a = Resize <mode = "cubic"> (x, , s) b = NonZero (a) y = CumSum (a, k)',
                 "<float[4] s = {1, 1, 2, 2}, int64 k = {1}>", x="float[n,c,h,w]")  # fmt: skip
    made = legacy(text)
    assert not made.complete
    assert made.outcomes[0].status is Status.REFUSED
    assert {blocker.op_type for blocker in made.blockers} >= {"NonZero", "CumSum"}


def test_functions_are_inlined_because_opset_8_has_none():
    made = legacy("""
    <ir_version: 8, opset_import: ["" : 13, "d" : 1]>
    g (float[1,3,8,8] x) => (float[?,?,?,?] y) { a = d.F (x) y = d.F (a) }
    <domain: "d", opset_import: ["" : 13]>
    F (v) => (w) { s = Constant <value = float[4] {1, 1, 2, 2}> () w = Resize (v, , s) }
    """)
    assert [outcome.status for outcome in made.outcomes] == [Status.CHANGED, Status.CHANGED]
    assert not made.document.proto.functions


def test_the_hybrid_of_old_tutorials_imports_opset_9_and_is_said_to_be_invalid():
    text = model("[up] y = Resize (x, , s)", SCALES)
    result = resizefix.trt_legacy(onnx.parser.parse_model(text), hybrid=True)
    assert [entry.version for entry in result.model.opset_import] == [9]
    assert [node.op_type for node in result.model.graph.node] == ["Upsample"]
    assert result.verification.passed
    assert "no valid ONNX" in (result.verification.reason or "")
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(result.model)


def test_a_site_that_is_not_named_stands_in_the_way():
    text = model("[a] b = Resize (x, , s) [c] y = Resize (b, , s)", SCALES)
    made = trt_legacy(Document.from_proto(onnx.parser.parse_model(text)), patterns=["a"])
    assert [outcome.status for outcome in made.outcomes] == [Status.CHANGED, Status.REFUSED]
    assert "not named" in (made.outcomes[1].reason or "")


def test_a_node_that_no_runtime_takes_stands_in_the_way():
    made = legacy(model("[a] t = Mul (x) [b] u = Cast (t) y = Resize (u, , s)", SCALES))
    assert not made.complete
    assert [(blocker.node, blocker.reason) for blocker in made.blockers] == [
        ("a", "it has 1 input, and Mul-13 takes 2"),
        ("b", "it lacks the attribute 'to' of Cast-13"),
    ]
    assert [outcome.status for outcome in made.outcomes] == [Status.UNCHANGED]


def test_a_site_in_a_scan_body_ends_in_a_blocker_or_in_a_valid_model():
    body = (
        "b (float[w] r) => (float[w] c, float[h,w2] z) <float[2] s = {2, 1}> { c = Identity (r) z = Upsample (x, s) }"
    )
    text = f"""<ir_version: 4, opset_import: ["" : 9]> g (float[a,b] x) => (float[p,q,r] y)
        {{ unread, y = Scan <num_scan_inputs = 1, body = graph = {body}> (x) }}"""
    made = legacy(text.replace("body = graph = ", "body = "))
    assert made.complete or made.blockers


def test_sizes_behind_a_node_that_is_in_the_old_form_already_stay_in_a_second_conversion():
    text = """<ir_version: 4, opset_import: ["" : 9]> g (float[3] x) => (float[3,6] y) {
      unread, y = Scan <num_scan_inputs = 1, body = b (float row) => (float copy, float[6] z) <float[1] s = {2}>
        { copy = Identity (row) z = Upsample (x, s) }> (x)
    }"""
    once = legacy(text)
    assert once.complete
    twice = trt_legacy(once.document)
    assert twice.complete
    assert twice.document.light_bytes() == once.document.light_bytes()


def test_a_resize_in_a_branch_is_converted_where_the_nodes_before_the_if_become_fewer():
    text = """<ir_version: 8, opset_import: ["" : 13]> g (float[n,3,8,8] x, bool c) => (float[n,3,a,b] y)
    <float[4] k = {1, 1, 2, 2}, int64[1] i = {0}, int64[3] rest = {3, 8, 8}> {
      shape = Shape (x)
      batch = Gather (shape, i)
      sizes = Concat <axis = 0> (batch, rest)
      z = Resize (x, , , sizes)
      y = If (c) <then_branch = t () => (float[n,3,16,16] p) { p = Resize (z, , k) },
        else_branch = e () => (float[n,3,16,16] q) { q = Resize (z, , k) }> }"""
    made = legacy(text)
    assert made.complete
    assert [outcome.status for outcome in made.outcomes] == [Status.CHANGED] * 3
