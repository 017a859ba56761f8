import onnx
import onnx.parser
import pytest

import resizefix
from resizefix.document.document import Document
from resizefix.errors import UsageError
from resizefix.operations.freeze_scales import freeze_scales
from resizefix.operations.promote_scales import NewInputs, promote_scales
from resizefix.operations.sites import find_sites
from resizefix.origins.origin import OriginKind
from resizefix.outcome import Status
from resizefix.promotion import Form


def promoted(text: str, wanted: NewInputs | None = None, **options):
    document = Document.from_proto(onnx.parser.parse_model(text))
    before = document.light_bytes()
    result = promote_scales(document, find_sites(document), wanted, **options)
    assert document.light_bytes() == before, "the original was touched"
    onnx.checker.check_model(result.document.proto, full_check=True)
    return result


def text_of(result) -> str:
    return " ".join(onnx.printer.to_text(result.document.proto.graph).split())


def model(nodes: str, extra: str = "", *, opset: int = 13, ir: int = 8, x: str = "float[1,3,8,8]") -> str:
    return f'<ir_version: {ir}, opset_import: ["" : {opset}]> g ({x} x) => (float[?,?,?,?] y) {extra} {{ {nodes} }}'


POLICIES = ("not_larger", "not_smaller", "stretch")
ONE = model("[up] y = Resize (x, , s)", "<float[4] s = {1, 1, 2, 2}>")


def test_scales_are_fed_straight_to_the_node():
    result = promoted(ONE)
    assert text_of(result) == (
        "g (float[1,3,8,8] x, float[4] up_scales) => (float[1,3,y_dim_2,y_dim_3] y) "
        '{ [up] y = Resize (x, "", up_scales) }'
    )
    (source,) = result.inputs
    assert (source.name, source.elem_type, source.value, source.optional) == ("up_scales", "float", (1, 1, 2, 2), False)


def test_spatial_scales_are_joined_with_ones():
    result = promoted(ONE, NewInputs(Form.SPATIAL))
    assert result.inputs[0].value == (2, 2)
    assert "up_scales_vector = Concat <axis: int = 0> (up_scales_ones, up_scales)" in text_of(result)


def test_one_factor_stands_for_every_scaled_axis():
    result = promoted(ONE, NewInputs(Form.FACTOR))
    assert result.inputs[0].value == (2,)
    assert "Concat <axis: int = 0> (up_scales_ones, up_scales, up_scales)" in text_of(result)


def test_scaled_axes_that_are_not_neighbours_are_gathered():
    result = promoted(model("y = Resize (x, , s)", "<float[4] s = {1, 2, 1, 3}>"), NewInputs(Form.SPATIAL))
    assert result.inputs[0].value == (2, 3)
    assert "Gather <axis: int = 0>" in text_of(result)


def test_channels_last_keeps_batch_and_channels():
    result = promoted(model("y = Resize (x, , s)", "<float[4] s = {1, 2, 2, 1}>"), NewInputs(Form.FACTOR))
    assert "(float[1,y_dim_1,y_dim_2,8] y)" in text_of(result)


def test_different_scales_are_no_single_factor():
    result = promoted(model("y = Resize (x, , s)", "<float[4] s = {1, 1, 2, 3}>"), NewInputs(Form.FACTOR))
    assert result.outcomes[0].status is Status.REFUSED
    assert result.outcomes[0].retry_args == ("--form", "spatial")


def test_scales_of_a_fixed_input_can_be_promoted_as_sizes():
    result = promoted(ONE, NewInputs(Form.SIZES))
    assert (result.inputs[0].elem_type, result.inputs[0].value) == ("int64", (1, 3, 16, 16))
    assert 'Resize (x, "", "", up_scales)' in text_of(result)


def test_resize_11_gets_the_empty_scales_it_demands_beside_sizes():
    text = model("y = Resize (x, r, s)", "<float[4] s = {1, 1, 2, 2}, float[0] r = {}>", opset=11)
    assert "Resize (x, r, no_scales, Resize_0_scales)" in text_of(promoted(text, NewInputs(Form.SIZES)))


def test_scales_that_no_size_says_are_not_promoted_as_sizes():
    text = model("y = Resize (x, , s)", "<float[4] s = {1, 1, 1.3, 1.3}>")
    result = promoted(text, NewInputs(Form.SIZES))
    assert "other points are sampled" in (result.outcomes[0].reason or "")


@pytest.mark.parametrize("form", [Form.SCALES, Form.SIZES])
def test_sizes_of_a_fixed_input_can_be_promoted_as_either(form):
    result = promoted(model("y = Resize (x, , , k)", "<int64[4] k = {1, 3, 16, 24}>"), NewInputs(form))
    assert result.inputs[0].value == ((1, 1, 2, 3) if form is Form.SCALES else (1, 3, 16, 24))


def test_sizes_of_a_dynamic_input_are_promoted_as_sizes_only():
    text = model("y = Resize (x, , , k)", "<int64[4] k = {1, 3, 16, 24}>", x="float[1,3,h,w]")
    assert promoted(text).outcomes[0].retry_args == ("--form", "sizes")
    assert promoted(text, NewInputs(Form.SIZES)).inputs


def test_a_shared_constant_stays_for_its_other_readers():
    result = promoted(
        model("[up] a = Resize (x, , s) b = ReduceSum <keepdims = 0> (s) y = Add (a, b)", "<float[4] s = {1, 1, 2, 2}>")
    )
    assert [tensor.name for tensor in result.document.proto.graph.initializer] == ["s"]


def test_two_readers_promoted_together_leave_no_constant_behind():
    result = promoted(model("[a] a = Resize (x, , s) [b] y = Resize (a, , s)", "<float[4] s = {1, 1, 2, 2}>"))
    assert [source.name for source in result.inputs] == ["a_scales", "b_scales"]
    assert not result.document.proto.graph.initializer


def test_one_shared_input_drives_all_sites_and_refuses_another_value():
    text = model("[a] a = Resize (x, , s) [b] b = Resize (a, , t) [c] y = Resize (b, , s)",
                 "<float[4] s = {1, 1, 2, 2}, float[4] t = {1, 1, 3, 3}>")  # fmt: skip
    result = promoted(text, NewInputs(name="zoom", shared=True))
    assert [source.name for source in result.inputs] == ["zoom"]
    assert [outcome.status for outcome in result.outcomes] == [Status.CHANGED, Status.REFUSED, Status.CHANGED]
    assert "cannot serve both" in (result.outcomes[1].reason or "")


def test_a_given_name_is_used_as_it_is_for_one_input_and_numbered_for_more():
    assert promoted(ONE, NewInputs(name="zoom")).inputs[0].name == "zoom"
    two = model("a = Resize (x, , s) y = Resize (a, , s)", "<float[4] s = {1, 1, 2, 2}>")
    assert [source.name for source in promoted(two, NewInputs(name="zoom")).inputs] == ["zoom_0", "zoom_1"]


def test_a_name_that_is_taken_is_an_error_and_a_default_name_gives_way():
    with pytest.raises(UsageError, match="already uses"):
        promoted(ONE, NewInputs(name="x"))
    taken = model("[up] a = Resize (x, , s) up_scales = Relu (a) y = Relu (up_scales)", "<float[4] s = {1, 1, 2, 2}>")
    assert promoted(taken).inputs[0].name == "up_scales_1"


def test_a_kept_default_needs_ir_4_and_nothing_else_does():
    text = model("y = Resize (x, , s)", opset=13, ir=3)
    parsed = onnx.parser.parse_model(text)
    parsed.graph.initializer.append(onnx.helper.make_tensor("s", 1, [4], [1, 1, 2, 2]))
    parsed.graph.input.append(onnx.helper.make_tensor_value_info("s", 1, [4]))
    document = Document.from_proto(parsed)
    plain = promote_scales(document, find_sites(document)).document.proto
    assert plain.ir_version == 3
    assert [value.name for value in plain.graph.input] == ["x", "Resize_0_scales"]
    kept = promote_scales(document, find_sites(document), NewInputs(keep_default=True)).document.proto
    assert kept.ir_version == 4
    assert [tensor.name for tensor in kept.graph.initializer] == ["Resize_0_scales"]


def test_sites_in_bodies_read_the_input_from_the_outer_scope():
    result = promoted("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1,3,8,8] x, bool c) => (float[1,3,?,?] y)
    {
      y = If (c) <
        then_branch = t () => (float[1,3,16,16] p) <float[4] s = {1, 1, 2, 2}> { [a] p = Resize (x, , s) },
        else_branch = e () => (float[1,3,24,24] q) <float[4] s = {1, 1, 3, 3}> { [b] q = Resize (x, , s) }
      >
    }
    """, NewInputs(Form.FACTOR))  # fmt: skip
    assert [(source.name, source.value) for source in result.inputs] == [("a_scales", (2,)), ("b_scales", (3,))]
    graph = result.document.proto.graph
    assert [node.op_type for node in graph.node] == ["Constant", "Concat", "Constant", "Concat", "If"]
    branches = [attribute.g for attribute in graph.node[-1].attribute]
    assert [list(branch.node[0].input) for branch in branches] == [
        ["x", "", "a_scales_vector"],
        ["x", "", "b_scales_vector"],
    ]
    assert not any(branch.initializer for branch in branches)


def test_a_promoted_model_has_nothing_left_to_do():
    for form in Form:
        once = promoted(ONE, NewInputs(form))
        again = promote_scales(once.document, find_sites(once.document))
        assert [outcome.status for outcome in again.outcomes] == [Status.UNCHANGED], form
        assert again.document.light_bytes() == once.document.light_bytes()


def test_the_axes_form_takes_a_number_for_each_axis_it_names():
    text = model("[up] y = Resize <axes = [2, 3]> (x, , s)", "<float[2] s = {2, 3}>", opset=18)
    result = promoted(text)
    assert result.inputs[0].value == (2, 3)
    assert "(float[1,3,y_dim_2,y_dim_3] y)" in text_of(result)
    assert 'Resize <axes: ints = [2, 3]> (x, "", up_scales)' in text_of(promoted(text, NewInputs(Form.SPATIAL)))


def test_negative_axes_count_from_the_end():
    text = model("[up] y = Resize <axes = [-1, -2]> (x, , s)", "<float[2] s = {3, 2}>", opset=18)
    assert "(float[1,3,y_dim_2,y_dim_3] y)" in text_of(promoted(text))


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


@pytest.mark.parametrize("form", [Form.SCALES, Form.FACTOR])
def test_a_site_in_a_function_is_driven_by_an_argument_that_every_call_passes_on(form):
    model = promoted(CALLS, NewInputs(form)).document.proto
    assert [list(function.input) for function in model.functions] == [["v", "up_scales"], ["v", "up_scales"]]
    assert list(model.graph.node[0].input) == ["x", "up_scales"]
    assert list(model.graph.node[1].attribute[0].g.node[0].input) == ["a", "up_scales"]
    assert list(model.functions[1].node[0].input) == ["v", "up_scales"]
    document = Document.from_proto(model)
    sites = find_sites(document)
    assert [site.origin.kind for site in sites] == [OriginKind.GRAPH_INPUT]
    value = [2.0] if form is Form.FACTOR else [1, 1, 2, 2]
    back = freeze_scales(document, sites, values={"up_scales": value}).document.proto
    assert [list(function.input) for function in back.functions] == [["v"], ["v"]]
    assert [value.name for value in back.graph.input] == ["x", "c"]
    onnx.checker.check_model(back, full_check=True)


@pytest.mark.parametrize("scale", ["1e30", "3e38"])
def test_a_scale_that_makes_no_possible_size_is_refused_as_sizes(scale):
    (outcome,) = promoted(
        model("y = Resize (x, , s)", f"<float[4] s = {{1, 1, 2, {scale}}}>"), NewInputs(Form.SIZES)
    ).outcomes
    assert outcome.status is Status.REFUSED
    assert "makes 8 into more than any runtime holds" in outcome.reason


@pytest.mark.parametrize("opset", [11, 13, 18, 21])
def test_a_model_is_raised_to_the_opset_that_was_asked_for_before_it_is_promoted(opset):
    text = """<ir_version: 3, opset_import: ["" : 8]> g (float[1,3,8,8] x) => (float[1,3,16,16] y)
      { y = Upsample <mode = "nearest", scales = [1.0, 1.0, 2.0, 2.0]> (x) }"""
    result = resizefix.promote_scales(onnx.parser.parse_model(text), opset=opset)
    assert result.verification.passed
    assert result.model.opset_import[0].version == opset
    assert [node.op_type for node in result.model.graph.node] == ["Resize"]
    with pytest.raises(resizefix.UsageError, match="can only be raised"):
        resizefix.promote_scales(result.model, opset=opset - 1)


def test_a_node_that_is_not_valid_is_refused_though_a_graph_input_feeds_it():
    """tf2onnx 1.9.3 at opset 7 leaves sizes as the second input of Upsample: no scales that are an input already."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 7]> g (float[1,3,8,8] x, int32[2] s) => (float[a,b,c,d] y) '
        "{ y = Upsample (x, s) }"
    )
    (outcome,) = resizefix.promote_scales(model).outcomes
    assert outcome.status.value == "refused"
    assert "two inputs of Upsample-9" in (outcome.reason or "")


def test_an_aspect_ratio_policy_that_says_nothing_beside_scales_goes_where_sizes_are_fed():
    node = '[up] y = Resize <keep_aspect_ratio_policy: string = "{}"> (x, , s)'
    sources = {policy: model(node.format(policy), "<float[4] s = {1, 1, 2, 2}>", opset=18) for policy in POLICIES}
    fed = {policy: text_of(promoted(text, NewInputs(Form.SIZES))) for policy, text in sources.items()}
    assert "keep_aspect_ratio_policy" not in fed["not_larger"] + fed["not_smaller"]
    assert 'keep_aspect_ratio_policy: string = "stretch"' in fed["stretch"]  # what is written out stays so
