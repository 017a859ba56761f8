import re

import numpy as np
import onnx
import onnx.parser
import pytest

from resizefix.document.document import Document
from resizefix.document.shapes import dims_of
from resizefix.errors import UsageError
from resizefix.operations.freeze_scales import Freezing, freeze_scales
from resizefix.operations.promote_scales import NewInputs, promote_scales
from resizefix.operations.sites import find_sites, select
from resizefix.outcome import Status
from resizefix.promotion import Form
from resizefix.verification.signatures import Feeding
from resizefix.verification.verify import verify

S = "float[4] s = {1, 1, 2, 2}"


def model(nodes: str, extra: str = "", inputs: str = "float[1,3,8,8] x", *, opset: int = 13, ir: int = 8,
          output: str = "float[1,3,16,16] y", more: str = "") -> Document:  # fmt: skip
    text = (
        f'<ir_version: {ir}, opset_import: ["" : {opset}, "local" : 1]> g ({inputs}) => ({output}) '
        f"{f'<{extra}>' if extra else ''} {{ {nodes} }} {more}"
    )
    return Document.from_proto(onnx.parser.parse_model(text))


def frozen(document: Document, patterns: tuple[str, ...] = (), **values) -> Freezing:
    return freeze_scales(document, select(find_sites(document), patterns), values=values)


def same(before: Document, after: Document, **feeds) -> bool:
    found = verify(before, after, feeding=Feeding(feeds))
    return found.passed and all(run.bitwise for run in found.runs)


def output_shape(document: Document):
    return dims_of(document.proto.graph.output[0].type)


def inputs_of(document: Document) -> list[str]:
    return [value.name for value in document.proto.graph.input]


def fed(document: Document) -> list[str]:
    """The inputs that a caller can feed: up to IR 3 constants are listed, too."""
    constants = {tensor.name for tensor in document.proto.graph.initializer if document.proto.ir_version < 4}
    return [name for name in inputs_of(document) if name not in constants]


def statuses(freezing: Freezing) -> list[Status]:
    return [outcome.status for outcome in freezing.outcomes]


@pytest.mark.parametrize("keep_default", [False, True])
@pytest.mark.parametrize("form", list(Form))
def test_promoted_and_frozen_at_the_old_values_it_is_the_original(form, keep_default):
    before = model("a = Conv <pads = [1, 1, 1, 1]> (x, W) r = Relu (a) y = Resize (r, , s)", S,
                   "float[1,3,8,8] x, float[3,3,3,3] W")  # fmt: skip
    promotion = promote_scales(before, find_sites(before), NewInputs(form, keep_default=keep_default))
    (source,) = promotion.inputs
    after = frozen(promotion.document, **({} if keep_default else {source.name: source.value}))
    assert statuses(after) == [Status.CHANGED]
    assert source.name not in fed(after.document)
    assert after.values == {source.name: source.value}
    assert same(before, after.document)
    assert inputs_of(after.document) == ["x", "W"]
    assert [node.op_type for node in after.document.proto.graph.node] == ["Conv", "Relu", "Resize"]
    assert output_shape(after.document) == (1, 3, 16, 16)


def test_frozen_at_another_value_it_is_the_original_fed_that_value():
    before = model("y = Resize (x, , s)", "", "float[1,3,8,8] x, float[4] s", output="float[1,3,u,v] y")
    after = frozen(before, s=[1, 1, 3, 2.5])
    assert same(before, after.document, s=[1, 1, 3, 2.5])
    assert output_shape(after.document) == (1, 3, 24, 20)


def test_the_node_that_reads_a_frozen_input_does_not_change():
    before = model("y = Resize (x, , s)", "", "float[1,3,8,8] x, float[4] s", output="float[1,3,u,v] y")
    after = frozen(before, s=[1, 1, 2, 2]).document
    assert after.proto.graph.node[0].SerializeToString() == before.proto.graph.node[0].SerializeToString()
    assert [tensor.name for tensor in after.proto.graph.initializer] == ["s"]


GLUE = "v = Concat <axis = 0> (one, f) y = Resize (x, , v)"


def test_input_nodes_are_folded_under_the_name_they_made():
    before = model(GLUE, "float[2] one = {1, 1}", "float[1,3,8,8] x, float[2] f", output="float[1,3,u,v] y")
    after = frozen(before, f=[2, 3]).document
    assert [node.op_type for node in after.proto.graph.node] == ["Resize"]
    assert [tensor.name for tensor in after.proto.graph.initializer] == ["v"]
    assert same(before, after, f=[2, 3])


def test_an_input_that_something_else_reads_stays_and_so_do_its_nodes():
    before = model(f"{GLUE} z = Mul (v, v) d = Mul (f, f)", "float[2] one = {1, 1}", "float[1,3,8,8] x, float[2] f",
                   output="float[1,3,u,v] y, float[4] z, float[2] d")  # fmt: skip
    after = frozen(before, f=[2, 3])
    assert inputs_of(after.document) == ["x", "f"]
    assert [node.op_type for node in after.document.proto.graph.node] == ["Concat", "Resize", "Mul", "Mul"]
    assert same(before, after.document, f=[2, 3])


def test_a_site_that_was_not_selected_keeps_the_shared_input():
    nodes = "[one] a = Resize (x, , s) [two] y = Resize (a, , s)"
    before = model(nodes, "", "float[1,3,8,8] x, float[4] s", output="float[1,3,u,v] y")
    after = frozen(before, ("one",), s=[1, 1, 2, 2])
    assert statuses(after) == [Status.CHANGED]
    assert inputs_of(after.document) == ["x", "s"]
    assert after.document.proto.graph.node[1].input[2] == "s"
    assert same(before, after.document, s=[1, 1, 2, 2])


def test_sites_that_share_an_input_are_frozen_together():
    before = model("[one] a = Resize (x, , s) [two] y = Resize (a, , s)", S, output="float[1,3,32,32] y")
    promotion = promote_scales(before, find_sites(before), NewInputs(name="f", shared=True))
    after = frozen(promotion.document, f=[1, 1, 2, 2])
    assert fed(after.document) == ["x"]
    assert [tensor.name for tensor in after.document.proto.graph.initializer] == ["f"]
    assert same(before, after.document)
    # The second site's input is of fixed size only once the first is frozen.
    assert output_shape(after.document) == (1, 3, 32, 32)


def test_a_default_is_frozen_where_no_value_is_given():
    before = model("y = Resize (x, , s)", S, "float[1,3,8,8] x, float[4] s", output="float[1,3,u,v] y")
    after = frozen(before)
    assert (after.values, inputs_of(after.document)) == ({"s": (1, 1, 2, 2)}, ["x"])
    assert after.document.proto.graph.initializer[0] == before.proto.graph.initializer[0]
    assert same(before, after.document)


def test_a_value_goes_before_the_default_and_shapes_that_only_the_default_had_go():
    before = model("y = Resize (x, , s)", S, "float[1,3,8,8] x, float[4] s")
    after = frozen(before, s=[1, 1, 3, 3])
    assert output_shape(after.document) == (1, 3, 24, 24)
    assert same(before, after.document, s=[1, 1, 3, 3])


def test_up_to_ir_3_a_frozen_input_stays_listed():
    before = model("y = Upsample (x, s)", "", "float[1,3,8,8] x, float[4] s", opset=9, ir=3)
    after = frozen(before, s=[1, 1, 2, 2])
    assert inputs_of(after.document) == ["x", "s"]
    assert fed(after.document) == ["x"]
    assert same(before, after.document, s=[1, 1, 2, 2])


def test_an_input_without_value_or_default_is_refused_with_the_option_that_gives_one():
    before = model("y = Resize (x, , s)", "", "float[1,3,8,8] x, float[4] s")
    after = frozen(before)
    assert statuses(after) == [Status.REFUSED]
    assert after.outcomes[0].reason == "its scales follow the input 's', which has no value"
    assert after.document.light_bytes() == before.light_bytes()


@pytest.mark.parametrize(
    ("value", "reason"),
    [([1, 1, 0, 2], "above 0"), ([1, 1, float("inf"), 2], "finite"), ([1, 1, -2, 2], "above 0")],
)
def test_a_value_that_no_resize_takes_is_refused(value, reason):
    before = model("y = Resize (x, , s)", "", "float[1,3,8,8] x, float[4] s")
    after = frozen(before, s=value)
    assert statuses(after) == [Status.REFUSED]
    assert after.outcomes[0].reason is not None
    assert reason in after.outcomes[0].reason


def test_an_upsample_takes_no_scale_below_1():
    before = model("y = Upsample (x, s)", "", "float[1,3,8,8] x, float[4] s", opset=9)
    assert "takes none below 1" in (frozen(before, s=[1, 1, 0.5, 1]).outcomes[0].reason or "")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"t": [1]}, "--set t: it drives none of the selected nodes; inputs that do: k"),
        ({"k": [1, 3, 16]}, "--set k: 3 values for int64[4]"),
        ({"k": [1]}, "--set k: 1 value for int64[4]"),
        ({"k": [1, 3, 16.5, 16]}, "are no values for int64[4]"),
    ],
)
def test_values_that_fit_no_input_are_the_callers_mistake(values, message):
    before = model("y = Resize (x, , , k)", "", "float[1,3,8,8] x, int64[4] k, float t")
    with pytest.raises(UsageError) as caught:
        frozen(before, **values)
    assert message in str(caught.value)


def test_a_condition_chooses_the_branch_that_stays():
    before = model("""s = If (c) <
        then_branch = a () => (float[4] p) { p = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () },
        else_branch = b () => (float[4] q) { q = Constant <value_floats = [1.0, 1.0, 3.0, 3.0]> () }
      > y = Resize (x, , s)""", "", "float[1,3,8,8] x, bool c", output="float[1,3,u,v] y")  # fmt: skip
    after = frozen(before, c=[0])
    assert [node.op_type for node in after.document.proto.graph.node] == ["Resize"]
    assert same(before, after.document, c=False)


FOLLOWS = "h = Shape (x) k = Mul (h, f) y = Resize (x, , , k)"


def test_sizes_that_are_a_fed_multiple_become_scales():
    before = model(FOLLOWS, "", "float[n,3,h,w] x, int64[4] f", output="float[n,3,u,v] y")
    after = frozen(before, f=[1, 1, 2, 2])
    assert [node.op_type for node in after.document.proto.graph.node] == ["Resize"]
    assert list(after.document.proto.graph.node[0].input) == ["x", "", "y_scales"]
    assert inputs_of(after.document) == ["x"]
    assert same(before, after.document, f=[1, 1, 2, 2])


def test_where_no_constant_stands_for_the_chain_its_inputs_alone_become_constants():
    nodes = "h = Shape (x) k = Add (h, f) y = Resize (x, , , k)"
    before = model(nodes, "", "float[n,3,h,w] x, int64[4] f", output="float[n,3,u,v] y")
    after = frozen(before, f=[0, 0, 5, 5])
    assert statuses(after) == [Status.CHANGED]
    assert "the chain stays" in (after.outcomes[0].reason or "")
    assert fed(after.document) == ["x"]
    assert [node.op_type for node in after.document.proto.graph.node] == ["Shape", "Add", "Resize"]
    assert same(before, after.document, f=[0, 0, 5, 5])


def test_a_computed_chain_becomes_scales_and_goes():
    before = model("h = Shape (x) k = Mul (h, f) y = Resize (x, , , k)", "int64[4] f = {1, 1, 2, 2}",
                   "float[n,3,h,w] x", output="float[n,3,u,v] y")  # fmt: skip
    after = frozen(before)
    assert [node.op_type for node in after.document.proto.graph.node] == ["Resize"]
    (scales,) = after.document.proto.graph.initializer
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(scales), np.array([1, 1, 2, 2], np.float32))
    assert output_shape(after.document) == ("n", 3, "u", "v")
    assert same(before, after.document)


def test_a_computed_chain_over_a_fixed_input_becomes_the_sizes_it_makes():
    nodes = "h = Shape (x) k = Add (h, f) y = Resize (x, , , k)"
    before = model(nodes, "int64[4] f = {0, 0, 5, 6}", output="float[1,3,13,14] y")
    after = frozen(before)
    (sizes,) = after.document.proto.graph.initializer
    assert (sizes.name, onnx.numpy_helper.to_array(sizes).tolist()) == ("k", [1, 3, 13, 14])
    assert same(before, after.document)


def test_a_chain_that_something_else_reads_stays_for_it():
    nodes = "h = Shape (x) k = Mul (h, f) y = Resize (x, , , k) z = Identity (k)"
    before = model(nodes, "int64[4] f = {1, 1, 2, 2}", "float[n,3,h,w] x", output="float[n,3,u,v] y, int64[4] z")
    after = frozen(before)
    assert [node.op_type for node in after.document.proto.graph.node] == ["Shape", "Mul", "Resize", "Identity"]
    assert same(before, after.document)


def test_a_chain_that_no_constant_stands_for_is_refused_with_the_reason_of_inspect():
    before = model("k = Shape (z) y = Resize (x, , , k)", "", "float[n,3,h,w] x, float[n,3,u,v] z",
                   output="float[n,3,u,v] y")  # fmt: skip
    after = frozen(before)
    assert statuses(after) == [Status.REFUSED]
    assert after.outcomes[0].reason == "its sizes follow the size of 'z', so no constant can replace them"
    assert after.document.light_bytes() == before.light_bytes()


@pytest.mark.parametrize("nodes", ["y = Resize (x, , s)", "s = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () "
                                   "y = Resize (x, , s)"])  # fmt: skip
def test_constant_scales_are_left_as_they_are(nodes):
    before = model(nodes, S if "Constant" not in nodes else "")
    after = frozen(before)
    assert (statuses(after), after.outcomes[0].reason) == ([Status.UNCHANGED], "its scales are constant already")
    assert after.document.light_bytes() == before.light_bytes()


def test_a_site_in_a_body_is_frozen_from_the_outer_scope():
    before = model("""v = If (c) <
        then_branch = a () => (float[1,3,16,16] p) { f = Identity (s) p = Resize (x, , f) },
        else_branch = b () => (float[1,3,16,16] q) { q = Resize (x, , s) }
      > y = Relu (v)""", "", "float[1,3,8,8] x, bool c, float[4] s")  # fmt: skip
    after = frozen(before, s=[1, 1, 2, 2])
    assert statuses(after) == [Status.CHANGED, Status.CHANGED]
    assert inputs_of(after.document) == ["x", "c"]
    assert same(before, after.document, s=[1, 1, 2, 2], c=True)
    assert same(before, after.document, s=[1, 1, 2, 2], c=False)


def test_a_chain_inside_a_function_becomes_a_constant_node_of_it():
    up = (
        '<domain: "local", opset_import: ["" : 13]> Up (a, f) => (b) '
        "{ h = Shape (a) k = Mul (h, f) b = Resize (a, , , k) }"
    )
    before = model("y = local.Up (x, f)", "int64[4] f = {1, 1, 2, 2}", "float[n,3,h,w] x",
                   output="float[n,3,u,v] y", more=up)  # fmt: skip
    after = frozen(before)
    assert [node.op_type for node in after.document.proto.functions[0].node] == ["Constant", "Resize"]
    assert same(before, after.document)


def test_the_document_given_stays_as_it_is():
    before = model("y = Resize (x, , s)", "", "float[1,3,8,8] x, float[4] s")
    held = before.light_bytes()
    frozen(before, s=[1, 1, 2, 2])
    assert before.light_bytes() == held


def test_a_default_that_lies_in_another_file_is_written_into_the_model(tmp_path):
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 13]> g (float[1,1,2,2] x, float[4] s) => (float[?,?,?,?] y)
        <float[4] s = {1, 1, 2, 2}> { y = Resize (x, , s) }"""
    )
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "s"))
    onnx.save_model(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    document = Document.open(tmp_path / "m.onnx")
    assert document.proto.graph.initializer[0].data_location == onnx.TensorProto.EXTERNAL
    made = freeze_scales(document, find_sites(document))
    (constant,) = made.document.proto.graph.initializer
    # onnxruntime: "Cannot parse data from external tensors"
    assert constant.data_location != onnx.TensorProto.EXTERNAL
    assert verify(document, made.document).passed


@pytest.mark.parametrize(("scale", "size"), [("1e20", 8), ("2", 2**62)])
def test_a_length_that_no_file_can_say_is_left_open(scale, size):
    before = model("y = Resize (x, , s)", f"float[4] s = {{1, 1, {scale}, 2}}", f"float[1,3,{size},8] x, float[4] s",
                   output="float[1,3,u,v] y")  # fmt: skip
    after = frozen(before)
    assert statuses(after) == [Status.CHANGED]
    dims = output_shape(after.document)
    assert (dims[0], dims[1], dims[3]) == (1, 3, 16)
    assert not isinstance(dims[2], int)


@pytest.mark.parametrize(
    ("axes", "whose"), [("", "an input of rank 4"), ("<axes = [1, 2, 3]>", r"the axes \[1, 2, 3\]")]
)
def test_values_of_another_number_than_the_axes_are_refused(axes, whose):
    nodes = f"y = Resize {axes} (x, , s)"
    before = model(nodes, "", "float[1,3,8,8] x, float[n] s", output="float[1,3,u,v] y", opset=18)
    after = frozen(before, s=[2, 2])
    (outcome,) = after.outcomes
    assert outcome.status is Status.REFUSED
    assert re.search(rf"its scales would be 2 numbers, for {whose}", outcome.reason)
    assert after.document.light_bytes() == before.light_bytes()


def test_the_advice_sets_every_open_input():
    import resizefix

    before = model("t = Resize (x, , s)\n y = Resize (t, , r)", "", "float[1,3,8,8] x, float[4] s, float[4] r")
    outcomes = resizefix.freeze_scales(before.proto).outcomes
    assert [outcome.status for outcome in outcomes] == [Status.REFUSED] * 2
    words = outcomes[0].retry_args
    assert [word.partition("=")[0] for word in words[1::2]] == ["s", "r"]
    values = {word.partition("=")[0]: [float(x) for x in word.partition("=")[2].split(",")] for word in words[1::2]}
    assert [o.status for o in resizefix.freeze_scales(before.proto, set=values).outcomes] == [Status.CHANGED] * 2
