import onnx
import pytest
from onnx_text import document
from resize_texts import BY_2, ONE, inputs, operators, refusal, resizing, statuses

import resizefix
from resizefix.diagnostics import UsageError
from resizefix.document.document import Document
from resizefix.operations.freeze_scales import freeze_scales
from resizefix.operations.promote_scales import promote_scales
from resizefix.operations.sites import find_sites
from resizefix.origins.classify import OriginKind
from resizefix.outcome import Status
from resizefix.promotion import Form, NewInputs
from resizefix.verification.signatures import Feeding
from resizefix.verification.verification import Conditions
from resizefix.verification.verify import verify


def promoted(model: onnx.ModelProto, wanted: NewInputs | None = None):
    document = Document.from_proto(model)
    before = document.light_bytes()
    result = promote_scales(document, find_sites(document), wanted)
    assert document.light_bytes() == before, "the original was touched"
    onnx.checker.check_model(result.document.proto, full_check=True)
    return result


def text_of(result) -> str:
    return " ".join(onnx.printer.to_text(result.document.proto.graph).split())


def names(result) -> list[str]:
    return [source.name for source in result.inputs]


UP = f"[up] {ONE}"
BY_SIZES = "y = Resize (x, , , k)"
SIZES = "int64[4] k = {1, 3, 16, 24}"
UP_18 = resizing("[up] y = Resize <axes = [2, 3]> (x, , s)", "float[2] s = {2, 3}", opset=18)
BACK_18 = resizing("y = Resize <axes = [-1, -2]> (x, , s)", "float[2] s = {3, 2}", opset=18)
UP_11 = resizing("y = Resize (x, r, s)", f"{BY_2}, float[0] r = {{}}", opset=11)
OPEN = "float[n,3,h,w] x"


def test_scales_are_fed_straight_to_the_node():
    result = promoted(resizing(UP, BY_2))
    assert text_of(result) == (
        "g (float[1,3,8,8] x, float[4] up_scales) => (float[1,3,y_dim_2,y_dim_3] y) "
        '{ [up] y = Resize (x, "", up_scales) }'
    )
    (source,) = result.inputs
    assert (source.name, source.elem_type, source.value, source.optional) == ("up_scales", "float", (1, 1, 2, 2), False)


@pytest.mark.parametrize(
    ("model", "form", "value", "text"),
    [
        # spatial scales are joined with ones
        (resizing(UP, BY_2), Form.SPATIAL, (2, 2), "_vector = Concat <axis: int = 0> (up_scales_ones, up_scales)"),
        # one factor stands for every scaled axis
        (resizing(UP, BY_2), Form.FACTOR, (2,), "Concat <axis: int = 0> (up_scales_ones, up_scales, up_scales)"),
        # scaled axes that are not neighbours are gathered
        (resizing(ONE, "float[4] s = {1, 2, 1, 3}"), Form.SPATIAL, (2, 3), "Gather <axis: int = 0>"),
        # channels last keep batch and channels
        (resizing(ONE, "float[4] s = {1, 2, 2, 1}"), Form.FACTOR, (2,), "(float[1,y_dim_1,y_dim_2,8] y)"),
        # the axes form takes a number for each axis that it names
        (UP_18, Form.SCALES, (2, 3), "(float[1,3,y_dim_2,y_dim_3] y)"),
        (UP_18, Form.SPATIAL, (2, 3), 'Resize <axes: ints = [2, 3]> (x, "", up_scales)'),
        # negative axes count from the end
        (BACK_18, Form.SCALES, (3, 2), "(float[1,3,y_dim_2,y_dim_3] y)"),
        # sizes of a fixed input can be promoted as scales
        (resizing(BY_SIZES, SIZES), Form.SCALES, (1, 1, 2, 3), 'Resize (x, "", Resize_0_scales)'),
    ],
)
def test_each_form_takes_its_numbers_and_makes_its_operand(model, form, value, text):
    result = promoted(model, NewInputs(form))
    assert result.inputs[0].value == value
    assert text in text_of(result)


@pytest.mark.parametrize(
    ("model", "value", "text"),
    [
        (resizing(UP, BY_2), (1, 3, 16, 16), 'Resize (x, "", "", up_scales)'),
        (resizing(BY_SIZES, SIZES), (1, 3, 16, 24), 'Resize (x, "", "", Resize_0_scales)'),
        (resizing(BY_SIZES, SIZES, "float[1,3,h,w] x"), (1, 3, 16, 24), 'Resize (x, "", "", Resize_0_scales)'),
        # Resize-11 gets the empty scales that it demands beside sizes
        (UP_11, (1, 3, 16, 16), "Resize (x, r, no_scales, Resize_0_scales)"),
    ],
)
def test_sizes_are_fed_where_they_are_asked_for(model, value, text):
    result = promoted(model, NewInputs(Form.SIZES))
    assert (result.inputs[0].elem_type, result.inputs[0].value) == ("int64", value)
    assert text in text_of(result)


SUM = f"h = Shape (x) k = Add (h, f) {BY_SIZES}"
OF_ANOTHER = resizing(f"k = Shape (z) {BY_SIZES}", "", f"{OPEN}, float[n,3,u,v] z")
PLUS_5 = resizing(SUM, "int64[4] f = {0, 0, 5, 5}", OPEN)
RATIO = f"h = Shape (x) a = Mul (h, f) k = Div (a, d) {BY_SIZES}"
HALVES = resizing(RATIO, "int64[4] f = {1, 1, 3, 3}, int64[4] d = {1, 1, 2, 2}", OPEN)
OTHER_SIZE = "its sizes follow the size of 'z', so no constant can replace them"
NO_MULTIPLE = "its sizes make its height the input's + 5, which is no constant multiple of the input's size"
LARGER = "makes 8 into more than any runtime holds"


@pytest.mark.parametrize(
    ("model", "form", "reason", "retry"),
    [
        (resizing(ONE, "float[4] s = {1, 1, 2, 3}"), Form.FACTOR, "", ("--form", "spatial")),
        (resizing(BY_SIZES, SIZES, "float[1,3,h,w] x"), Form.SCALES, "", ("--form", "sizes")),
        (resizing(ONE, "float[4] s = {1, 1, 1.3, 1.3}"), Form.SIZES, "other points are sampled", None),
        *((resizing(ONE, f"float[4] s = {{1, 1, 2, {scale}}}"), Form.SIZES, LARGER, None) for scale in (1e30, 3e38)),
        # a constant would compute something else than the chain
        (OF_ANOTHER, Form.SCALES, OTHER_SIZE, None),
        (PLUS_5, Form.SCALES, NO_MULTIPLE, None),
        (HALVES, Form.SCALES, "onnxruntime samples by 49/33", None),
    ],
)
def test_what_a_form_cannot_say_is_refused_with_the_reason_or_the_form_that_can(model, form, reason, retry):
    result = promoted(model, NewInputs(form))
    assert reason in refusal(result)
    assert retry in (None, result.outcomes[0].retry_args)


def test_a_shared_constant_stays_for_its_other_readers():
    result = promoted(resizing("a = Resize (x, , s) b = ReduceSum <keepdims = 0> (s) y = Add (a, b)", BY_2))
    assert [tensor.name for tensor in result.document.proto.graph.initializer] == ["s"]


def test_two_readers_promoted_together_leave_no_constant_behind():
    result = promoted(resizing("[a] a = Resize (x, , s) [b] y = Resize (a, , s)", BY_2))
    assert names(result) == ["a_scales", "b_scales"]
    assert not result.document.proto.graph.initializer


def test_one_shared_input_drives_all_sites_and_refuses_another_value():
    nodes = "[a] a = Resize (x, , s) [b] b = Resize (a, , t) [c] y = Resize (b, , s)"
    result = promoted(resizing(nodes, f"{BY_2}, float[4] t = {{1, 1, 3, 3}}"), NewInputs(name="zoom", shared=True))
    assert names(result) == ["zoom"]
    assert statuses(result) == [Status.CHANGED, Status.REFUSED, Status.CHANGED]
    assert "cannot serve both" in (result.outcomes[1].reason or "")


def test_a_given_name_is_used_as_it_is_for_one_input_and_numbered_for_more():
    assert names(promoted(resizing(UP, BY_2), NewInputs(name="zoom"))) == ["zoom"]
    two = resizing("a = Resize (x, , s) y = Resize (a, , s)", BY_2)
    assert names(promoted(two, NewInputs(name="zoom"))) == ["zoom_0", "zoom_1"]


def test_a_name_that_is_taken_is_an_error_and_a_default_name_gives_way():
    with pytest.raises(UsageError, match="already uses"):
        promoted(resizing(UP, BY_2), NewInputs(name="x"))
    taken = resizing("[up] a = Resize (x, , s) up_scales = Relu (a) y = Relu (up_scales)", BY_2)
    assert names(promoted(taken)) == ["up_scales_1"]


@pytest.mark.parametrize(("keep_default", "ir_version"), [(False, 3), (True, 4)])
def test_a_kept_default_needs_ir_4_and_nothing_else_does(keep_default, ir_version):
    old = Document.from_proto(resizing(ONE, BY_2, "float[1,3,8,8] x, float[4] s", ir=3))
    result = promote_scales(old, find_sites(old), NewInputs(keep_default=keep_default))
    assert result.document.proto.ir_version == ir_version
    assert inputs(result) == ["x", "Resize_0_scales"]
    assert [tensor.name for tensor in result.document.proto.graph.initializer] == ["Resize_0_scales"] * keep_default


def test_sites_in_bodies_read_the_input_from_the_outer_scope():
    nodes = """y = If (c) <
        then_branch = t () => (float[1,3,16,16] p) <float[4] s = {1, 1, 2, 2}> { [a] p = Resize (x, , s) },
        else_branch = e () => (float[1,3,24,24] q) <float[4] s = {1, 1, 3, 3}> { [b] q = Resize (x, , s) }>"""
    result = promoted(resizing(nodes, "", "float[1,3,8,8] x, bool c"), NewInputs(Form.FACTOR))
    assert [(source.name, source.value) for source in result.inputs] == [("a_scales", (2,)), ("b_scales", (3,))]
    assert operators(result) == ["Constant", "Concat", "Constant", "Concat", "If"]
    branches = [attribute.g for attribute in result.document.proto.graph.node[-1].attribute]
    read = [list(branch.node[0].input) for branch in branches]
    assert read == [["x", "", "a_scales_vector"], ["x", "", "b_scales_vector"]]
    assert not any(branch.initializer for branch in branches)


@pytest.mark.parametrize("form", Form)
def test_a_promoted_model_has_nothing_left_to_do(form):
    once = promoted(resizing(UP, BY_2), NewInputs(form))
    again = promote_scales(once.document, find_sites(once.document))
    assert statuses(again) == [Status.UNCHANGED]
    assert again.document.light_bytes() == once.document.light_bytes()


CALLS = """
<ir_version: 8, opset_import: ["" : 13, "d" : 1]>
g (float[1,3,8,8] x, bool c) => (float[1,3,?,?] y)
{
  a = d.Outer (x)
  y = If (c) <
    then_branch = t () => (float[1,3,?,?] p) { p = d.Up (a) },
    else_branch = e () => (float[1,3,?,?] q) { q = Relu (a) }
  >
}
<domain: "d", opset_import: ["" : 13]>
Up (v) => (w) { s = Constant <value = float[4] {1, 1, 2, 2}> () [up] w = Resize (v, , s) }
<domain: "d", opset_import: ["" : 13, "d" : 1]>
Outer (v) => (w) { u = d.Up (v) w = Relu (u) }
"""


@pytest.mark.parametrize(("form", "value"), [(Form.SCALES, [1, 1, 2, 2]), (Form.FACTOR, [2.0])])
def test_a_site_in_a_function_is_driven_by_an_argument_that_every_call_passes_on(form, value):
    model = promoted(onnx.parser.parse_model(CALLS), NewInputs(form)).document.proto
    assert [list(function.input) for function in model.functions] == [["v", "up_scales"], ["v", "up_scales"]]
    assert list(model.graph.node[0].input) == ["x", "up_scales"]
    assert list(model.graph.node[1].attribute[0].g.node[0].input) == ["a", "up_scales"]
    assert list(model.functions[1].node[0].input) == ["v", "up_scales"]
    document = Document.from_proto(model)
    sites = find_sites(document)
    assert [site.origin.kind for site in sites] == [OriginKind.GRAPH_INPUT]
    back, _ = freeze_scales(document, sites, values={"up_scales": value})
    assert [list(function.input) for function in back.document.proto.functions] == [["v"], ["v"]]
    assert inputs(back) == ["x", "c"]
    onnx.checker.check_model(back.document.proto, full_check=True)


@pytest.mark.parametrize("opset", [11, 13, 18, 21])
def test_a_model_is_raised_to_the_opset_that_was_asked_for_before_it_is_promoted(opset):
    old = resizing('y = Upsample <mode = "nearest", scales = [1.0, 1.0, 2.0, 2.0]> (x)', opset=8, ir=3)
    result = resizefix.promote_scales(old, opset=opset)
    assert result.verification.passed
    assert result.model.opset_import[0].version == opset
    assert [node.op_type for node in result.model.graph.node] == ["Resize"]
    with pytest.raises(resizefix.UsageError, match="can only be raised"):
        resizefix.promote_scales(result.model, opset=opset - 1)


def test_a_node_that_is_not_valid_is_refused_though_a_graph_input_feeds_it():
    """tf2onnx 1.9.3 at opset 7 leaves sizes as the second input of Upsample: no scales that are an input already."""
    model = resizing("y = Upsample (x, s)", x="float[1,3,8,8] x, int32[2] s", opset=7)
    assert "two inputs of Upsample-9" in refusal(resizefix.promote_scales(model, on_refusal="return"))


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller", "stretch"])
def test_an_aspect_ratio_policy_that_says_nothing_beside_scales_goes_where_sizes_are_fed(policy):
    text = f'keep_aspect_ratio_policy: string = "{policy}"'
    fed = text_of(promoted(resizing(f"y = Resize <{text}> (x, , s)", BY_2, opset=18), NewInputs(Form.SIZES)))
    assert ("keep_aspect_ratio_policy" in fed) == (text in fed) == (policy == "stretch")  # what is written out stays


DOUBLED = document(
    """(float[n,3,h,w] x) => (float[n,3,u,v] y) <int64[4] f = {1, 1, 2, 2}>
    { h = Shape (x) k = Mul (h, f) y = Resize (x, , , k) }"""
)


@pytest.mark.parametrize("form", [Form.SCALES, Form.SPATIAL, Form.FACTOR])
def test_a_chain_that_doubles_is_promoted_and_goes(form):
    result = promote_scales(DOUBLED, find_sites(DOUBLED), NewInputs(form))
    assert statuses(result) == [Status.CHANGED]
    (source,) = result.inputs
    assert operators(result) == (["Resize"] if form is Form.SCALES else ["Constant", "Concat", "Resize"])
    assert not result.document.proto.graph.initializer
    feeding = Feeding({source.name: source.value})
    found = verify(DOUBLED, result.document, Conditions({"x": (2, 3, 7, 11)}), feeding=feeding)
    assert found.passed
    assert all(run.bitwise for run in found.runs)


@pytest.mark.parametrize("height", [1, 5, 8])
def test_a_chain_that_is_promoted_and_frozen_computes_the_original(height):
    result = promote_scales(DOUBLED, find_sites(DOUBLED))
    (source,) = result.inputs
    after, _ = freeze_scales(result.document, find_sites(result.document), values={source.name: source.value})
    found = verify(DOUBLED, after.document, Conditions({"x": (1, 3, height, 9)}))
    assert found.passed
    assert all(run.bitwise for run in found.runs)


def test_a_chain_that_something_else_reads_stays_for_it():
    nodes = f"h = Shape (x) k = Mul (h, f) {BY_SIZES} z = Identity (k)"
    result = promoted(resizing(nodes, "int64[4] f = {1, 1, 2, 2}", OPEN, "float[n,3,u,v] y, int64[4] z"))
    assert operators(result) == ["Shape", "Mul", "Resize", "Identity"]


@pytest.mark.parametrize(("form", "value"), [(Form.SCALES, (1, 1, 2, 3)), (Form.SIZES, (1, 3, 16, 24))])
def test_at_a_fixed_input_size_the_sizes_of_the_chain_are_promoted(form, value):
    result = promoted(resizing(SUM, "int64[4] f = {0, 0, 8, 16}", y="float[1,3,16,24] y"), NewInputs(form))
    assert result.inputs[0].value == value


ROW = """(float[4,3,8] x) => (float[h,w,d] y) <float[3] s = {3, 1, 1}, float[3] t = {1, 1, 2},
    float[12,3,8] a, float[12,3,16] b> { [first] a = Resize (x, , s) [second] b = Resize (a, , t) y = Relu (b) }"""


def test_an_axis_that_a_promoted_site_before_moves_is_open_behind_the_next_one_too():
    text = text_of(promoted(document(ROW, 18).proto, NewInputs(Form.SPATIAL)))
    assert "float[a_dim_0,3,8] a" in text
    assert "[b_dim_0,3,b_dim_2] b" in text
