import re

import onnx
import pytest
from fixture_models import FIXTURES
from onnx_text import model
from resize_texts import BY_2, ONE, X, inputs, operators, refusal, resizing, statuses

import resizefix
from resizefix.document.document import Document
from resizefix.operations.replacement import Allowance
from resizefix.operations.trt_legacy import trt_legacy
from resizefix.outcome import ModelOutcome, Status
from resizefix.targets.tensorrt import LEGACY_TARGETS

LINEAR = 'y = Resize <mode = "linear"> (x, , s)'


def legacy(model: onnx.ModelProto, **options):
    document = Document.from_proto(model)
    before = document.light_bytes()
    made = trt_legacy(document, **options)
    assert document.light_bytes() == before, "the original was touched"
    if made.complete:
        onnx.checker.check_model(made.document.proto, full_check=True)
        imports = {entry.domain: entry.version for entry in made.document.proto.opset_import}
        assert imports[""] <= 8
        assert made.document.proto.ir_version == 3
    return made


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
    made = legacy(resizing(f"[up] y = {node}", BY_2, opset=opset))
    (outcome,) = made.outcomes
    assert (outcome.status, outcome.exact, outcome.node) == (Status.CHANGED, True, "up")
    (only,) = made.document.proto.graph.node
    assert only.op_type == "Upsample"
    assert [attribute.name for attribute in only.attribute] == ["mode", "scales"]
    assert outcome.bound == 0


UNSORTED = """(float[1,3,8,8] x) => (float[1,3,32,32] z, float[1,3,16,16] q) <float[4] s = {1, 1, 2, 2}> {
    z = Neg (r)
    r = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (a, , s)
    a = Relu (y)
    q = If (c) <then_branch = t () => (float[1,3,16,16] u) { u = Neg (v) v = Relu (y) },
        else_branch = e () => (float[1,3,16,16] w) { w = Relu (y) }>
    c = Not (d)
    d = Constant <value = bool {0}> ()
    y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, , s)
}"""


def test_nodes_that_stand_in_no_order_are_put_in_one_before_what_is_not_read_is_removed():
    model_ = model(UNSORTED, 13)
    made = legacy(model_)
    assert [(outcome.index, outcome.node, outcome.status) for outcome in made.outcomes] == [
        (0, "#0", Status.CHANGED),
        (1, "#1", Status.CHANGED),
    ]
    assert [outcome.before[0] for outcome in made.outcomes] == ["r", "y"]
    assert resizefix.trt_legacy(model_).verification.passed


def test_half_pixel_linear_is_no_upsample_and_becomes_other_operators_within_a_bound():
    made = legacy(resizing(LINEAR, BY_2))
    (outcome,) = made.outcomes
    assert (outcome.status, outcome.exact) == (Status.CHANGED, False)
    assert 0 < (outcome.bound or 0) < 1e-5
    assert not {"Upsample", "Resize"} & set(operators(made))


def test_without_lowerings_the_refusal_says_what_upsample_7_computes():
    reason = refusal(legacy(resizing(LINEAR, BY_2), allowance=Allowance(lowered=False)))
    assert "asymmetric coordinates" in reason
    assert "lower=False" in reason


@pytest.mark.parametrize("lowered", [True, False])
def test_no_lower_is_not_blamed_where_no_other_operators_replace_the_node(lowered):
    before = resizing(LINEAR, "float[4] s = {1, 1, 1.3, 1.3}", "float[1,3,h,w] x")
    assert "lower=False" not in refusal(legacy(before, allowance=Allowance(lowered=lowered)))


def test_sizes_computed_from_a_fixed_shape_are_constants():
    made = legacy(resizing("h = Shape (x) k = Mul (h, f) y = Resize (x, , , k)", "int64[4] f = {1, 1, 2, 2}"))
    assert statuses(made) == [Status.CHANGED]


def test_a_scale_that_is_fed_cannot_be_an_attribute():
    reason = refusal(legacy(resizing(x=f"{X}, float[4] s")))
    assert "are fed at run time, through 's'; freeze them first with freeze-scales" in reason


def test_a_default_is_a_constant_in_the_old_form():
    made = legacy(resizing(ONE, BY_2, f"{X}, float[4] s"))
    assert statuses(made) == [Status.CHANGED]
    assert inputs(made) == ["x"]


def test_every_blocker_is_named_at_once_beside_the_sites():
    nodes = 'a = Resize <mode = "cubic"> (x, , s) b = NonZero (a) y = CumSum (a, k)'
    made = legacy(resizing(nodes, f"{BY_2}, int64 k = {{1}}", "float[n,c,h,w] x"))
    assert not made.complete
    assert refusal(made)
    assert {blocker.op_type for blocker in made.blockers} >= {"NonZero", "CumSum"}


def test_functions_are_inlined_because_opset_8_has_none():
    text = """(float[1,3,8,8] x) => (float[?,?,?,?] y) { a = d.F (x) y = d.F (a) }
        <domain: "d", opset_import: ["" : 13]>
        F (v) => (w) { s = Constant <value = float[4] {1, 1, 2, 2}> () w = Resize (v, , s) }"""
    made = legacy(model(text, 13, "d"))
    assert statuses(made) == [Status.CHANGED, Status.CHANGED]
    assert not made.document.proto.functions


def test_the_hybrid_of_old_tutorials_imports_opset_9_and_is_said_to_be_invalid():
    result = resizefix.trt_legacy(resizing(constants=BY_2), hybrid=True)
    assert [entry.version for entry in result.model.opset_import] == [9]
    assert [node.op_type for node in result.model.graph.node] == ["Upsample"]
    assert result.verification.passed
    assert "no valid ONNX" in (result.verification.reason or "")
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(result.model)


def test_a_site_that_is_not_named_stands_in_the_way():
    made = legacy(resizing("[a] b = Resize (x, , s) [c] y = Resize (b, , s)", BY_2), patterns=["a"])
    assert statuses(made) == [Status.CHANGED, Status.REFUSED]
    assert "not named" in (made.outcomes[1].reason or "")


def test_a_node_that_no_runtime_takes_stands_in_the_way():
    made = legacy(resizing("[a] t = Mul (x) [b] u = Cast (t) y = Resize (u, , s)", BY_2))
    assert not made.complete
    assert [(blocker.node, blocker.reason) for blocker in made.blockers] == [
        ("a", "it has 1 input, and Mul-13 takes 2"),
        ("b", "it lacks the attribute 'to' of Cast-13"),
    ]
    assert statuses(made) == [Status.UNCHANGED]


def test_a_site_in_a_scan_body_ends_in_a_blocker_or_in_a_valid_model():
    text = """(float[a,b] x) => (float[p,q,r] y) {
        unread, y = Scan <num_scan_inputs = 1, body = b (float[w] r) => (float[w] c, float[h,w2] z)
            <float[2] s = {2, 1}> { c = Identity (r) z = Upsample (x, s) }> (x) }"""
    made = legacy(model(text, 9, ir=4))
    assert made.complete or made.blockers


def test_sizes_behind_a_node_that_is_in_the_old_form_already_stay_in_a_second_conversion():
    text = """(float[3] x) => (float[3,6] y) {
        unread, y = Scan <num_scan_inputs = 1, body = b (float row) => (float copy, float[6] z)
            <float[1] s = {2}> { copy = Identity (row) z = Upsample (x, s) }> (x) }"""
    once = legacy(model(text, 9, ir=4))
    assert once.complete
    twice = trt_legacy(once.document)
    assert twice.complete
    assert twice.document.light_bytes() == once.document.light_bytes()


def test_a_resize_in_a_branch_is_converted_where_the_nodes_before_the_if_become_fewer():
    text = """(float[n,3,8,8] x, bool c) => (float[n,3,a,b] y)
    <float[4] k = {1, 1, 2, 2}, int64[1] i = {0}, int64[3] rest = {3, 8, 8}> {
      shape = Shape (x)
      batch = Gather (shape, i)
      sizes = Concat <axis = 0> (batch, rest)
      z = Resize (x, , , sizes)
      y = If (c) <then_branch = t () => (float[n,3,16,16] p) { p = Resize (z, , k) },
        else_branch = e () => (float[n,3,16,16] q) { q = Resize (z, , k) }> }"""
    made = legacy(model(text))
    assert made.complete
    assert statuses(made) == [Status.CHANGED] * 3


@pytest.mark.parametrize("target", [target.name for target in LEGACY_TARGETS])
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.onnx")), ids=lambda path: path.stem)
def test_the_target_accepts_every_file_that_is_written_for_it(path, target):
    result = resizefix.trt_legacy(path, target=target, verify=False, on_refusal="return")
    if result:
        assert resizefix.check(result.model, target=target).accepted


# Upsample-7 says it, and the first parsers refuse it or compute something else.
REFUSED_AS_UPSAMPLE = {
    "three dimensions": ("y = Resize (x, , s)", "float[1,3,8] x", "float[3] s = {1, 1, 2}"),
    "channels": ("y = Resize (x, , s)", "float[1,3,8,8] x", "float[4] s = {1, 2, 2, 2}"),
    "by 1.5": (
        'y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, , s)',
        "float[1,3,8,8] x", "float[4] s = {1, 1, 1.5, 1.5}"),
    "linear": (
        'y = Resize <coordinate_transformation_mode = "asymmetric", mode = "linear"> (x, , s)',
        "float[1,3,8,8] x", "float[4] s = {1, 1, 2, 2}"),
    "an Upsample-7 already": ('y = Upsample <scales = [1.0, 2.0, 2.0, 2.0]> (x)', "float[1,3,8,8] x", ""),
}  # fmt: skip


@pytest.mark.parametrize("target", ["tensorrt-5.0", "tensorrt-7.0"])
@pytest.mark.parametrize("name", REFUSED_AS_UPSAMPLE)
def test_what_the_target_does_not_take_as_upsample_7_is_lowered_or_not_written(name, target):
    nodes, x, constants = REFUSED_AS_UPSAMPLE[name]
    given = resizing(nodes, constants, x, opset=8 if not constants else 13)
    result = resizefix.trt_legacy(given, target=target, on_refusal="return")
    if result:
        assert resizefix.check(result.model, target=target).accepted
        assert result.verification.passed
    else:
        assert result.outcomes[0].reason
    legal = resizefix.legalize(given, target=target, verify=False, on_refusal="return")
    accepted = resizefix.check(legal.model, target=target).accepted
    assert result.outcome is ModelOutcome.ALREADY or bool(result) == accepted


def test_a_newer_target_is_the_callers_mistake():
    with pytest.raises(resizefix.UsageError, match="not for tensorrt-8"):
        resizefix.trt_legacy(resizing(ONE, BY_2), target="tensorrt-8.0")


def test_what_is_equal_to_what_is_said_in_words_and_not_by_a_number():
    (outcome,) = resizefix.trt_legacy(resizing(ONE, BY_2), verify=False).outcomes
    assert "the same node, written in another form (" in outcome.reason
    assert re.search(r"\bE\d", outcome.reason) is None


def test_tensors_that_two_nodes_make_stand_in_the_way():
    """As converters to float16 write them: what is read last would decide what is read at all."""
    made = legacy(model("(float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1,1,2,2}>"
                        " { a = Relu (x) b = Upsample (a, s) a = Identity (b) y = Relu (a) }", 9))  # fmt: skip
    assert [blocker.op_type for blocker in made.blockers] == ["Relu", "Identity"]
    assert all("gets its value elsewhere" in blocker.reason for blocker in made.blockers)
    assert [outcome.status for outcome in made.outcomes] == [Status.UNCHANGED]
