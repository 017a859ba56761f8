import numpy as np
import onnx
import onnx.printer
import pytest
from fixture_models import FIXTURES
from onnx_text import document, model
from ort_runs import run
from resize_texts import BY_2, ONE, in_another_file, inputs, operators, refusal, resizing, statuses

import resizefix
from resizefix.diagnostics import UsageError
from resizefix.document.document import Document
from resizefix.document.values import dims_of
from resizefix.operations.freeze_scales import freeze_scales
from resizefix.operations.promote_scales import promote_scales
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.sites import find_sites, select
from resizefix.outcome import Status
from resizefix.promotion import Form, NewInputs
from resizefix.verification.signatures import Feeding
from resizefix.verification.verify import verify


def frozen(document: Document, patterns: tuple[str, ...] = (), **values) -> Rewritten:
    before = document.light_bytes()
    made, _ = freeze_scales(document, select(find_sites(document), patterns), values=values)
    assert document.light_bytes() == before, "the original was touched"
    return made


def same(before: Document, after: Document, **feeds) -> bool:
    found = verify(before, after, feeding=Feeding(feeds))  # a branch that the feeds leave out never runs
    return not found.speaks_against and all(run.bitwise for run in found.runs)


def one(nodes: str = ONE, constants: str = "", x: str = "float[1,3,8,8] x, float[4] s", *, opset: int = 13) -> Document:
    return Document.from_proto(resizing(nodes, constants, x, "float[1,3,u,v] y", opset=opset))


@pytest.mark.parametrize("keep_default", [False, True])
@pytest.mark.parametrize("form", list(Form))
def test_promoted_and_frozen_at_the_old_values_it_is_the_original(form, keep_default):
    before = document(
        "(float[1,3,8,8] x, float[3,3,3,3] W) => (float[1,3,16,16] y) <float[4] s = {1, 1, 2, 2}>"
        " { a = Conv <pads = [1, 1, 1, 1]> (x, W) r = Relu (a) y = Resize (r, , s) }"
    )
    promotion = promote_scales(before, find_sites(before), NewInputs(form, keep_default=keep_default))
    (source,) = promotion.inputs
    after = frozen(promotion.document, **({} if keep_default else {source.name: source.value}))
    assert statuses(after) == [Status.CHANGED]
    assert same(before, after.document)
    assert inputs(after) == ["x", "W"]
    assert operators(after) == ["Conv", "Relu", "Resize"]
    assert dims_of(after.document.proto.graph.output[0].type) == (1, 3, 16, 16)


IF = """(float[1,3,8,8] x, bool c) => (float[1,3,u,v] y) { s = If (c) <
    then_branch = a () => (float[4] p) { p = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () },
    else_branch = b () => (float[4] q) { q = Constant <value_floats = [1.0, 1.0, 3.0, 3.0]> () }
  > y = Resize (x, , s) }"""
BODIES = """(float[1,3,8,8] x, bool c, float[4] s) => (float[1,3,16,16] y) { v = If (c) <
    then_branch = a () => (float[1,3,16,16] p) { f = Identity (s) p = Resize (x, , f) },
    else_branch = b () => (float[1,3,16,16] q) { q = Resize (x, , s) }
  > y = Relu (v) }"""
FROZEN_BODIES = """(float[1,3,8,8] x, bool c) => (float[1,3,16,16] y)
  <float[4] p_scales = {1, 1, 2, 2}, float[4] q_scales = {1, 1, 2, 2}> { v = If (c) <
    then_branch = a () => (float[1,3,16,16] p) { p = Resize (x, , p_scales) },
    else_branch = b () => (float[1,3,16,16] q) { q = Resize (x, , q_scales) }
  > y = Relu (v) }"""
FUNCTION = """<domain: "local", opset_import: ["" : 13]>
  Up (a, f) => (b) { h = Shape (a) k = Mul (h, f) b = Resize (a, , , k) }"""
FROZEN_FUNCTION = """<domain: "local", opset_import: ["" : 13]>
  Up (a, f) => (b) { b_scales = Constant <value = float[4] b_scales {1, 1, 2, 2}> () b = Resize (a, , b_scales) }"""
FED = "(float[1,3,8,8] x, float[4] s) => (float[1,3,u,v] y) { y = Resize (x, , s) }"
DEFAULT = "(float[1,3,8,8] x, float[4] s) => (float[1,3,16,16] y) <float[4] s = {1, 1, 2, 2}> { y = Resize (x, , s) }"
CONSTANT = "(float[1,3,8,8] x) => (float[1,3,H,W] y) <float[4] s = {1, 1, SCALES}> { y = Resize (x, , s) }"
CHAIN = "(float[n,3,h,w] x, int64[4] f) => (float[n,3,u,v] y) { h = Shape (x) k = OP (h, f) y = Resize (x, , , k) }"
FOLLOWED = "(float[n,3,h,w] x) => (float[n,3,u,v] y) <float[4] y_scales = {1, 1, 2, 2}> { y = Resize (x, , y_scales) }"


def constant(scales: str, height: int, width: int) -> str:
    return CONSTANT.replace("SCALES", scales).replace("H,W", f"{height},{width}")


# What it is before, the values, and what it is after.
FROZEN = {
    "the node that reads a frozen input does not change": (FED, {"s": [1, 1, 3, 2.5]}, constant("3, 2.5", 24, 20)),
    "input nodes are folded under the name that they made": (
        """(float[1,3,8,8] x, float[2] f) => (float[1,3,u,v] y) <float[2] one = {1, 1}>
        { v = Concat <axis = 0> (one, f) y = Resize (x, , v) }""",
        {"f": [2, 3]},
        "(float[1,3,8,8] x) => (float[1,3,16,24] y) <float[4] v = {1, 1, 2, 3}> { y = Resize (x, , v) }",
    ),
    "an input that something else reads stays and so do its nodes": (
        """(float[1,3,8,8] x, float[2] f) => (float[1,3,u,v] y, float[4] z, float[2] d) <float[2] one = {1, 1}>
        { v = Concat <axis = 0> (one, f) y = Resize (x, , v) z = Mul (v, v) d = Mul (f, f) }""",
        {"f": [2, 3]},
        """(float[1,3,8,8] x, float[2] f) => (float[1,3,16,24] y, float[4] z, float[2] d)
        <float[2] one = {1, 1}, float[4] y_scales = {1, 1, 2, 3}>
        { v = Concat <axis = 0> (one, f) y = Resize (x, , y_scales) z = Mul (v, v) d = Mul (f, f) }""",
    ),
    "a default is frozen where no value is given": (DEFAULT, {}, constant("2, 2", 16, 16)),
    "a value goes before the default and shapes that only the default had go": (
        DEFAULT,
        {"s": [1, 1, 3, 3]},
        constant("3, 3", 24, 24),
    ),
    "a condition chooses the branch that stays": (IF, {"c": [0]}, constant("3, 3", 24, 24)),
    "sizes that are a fed multiple become scales": (CHAIN.replace("OP", "Mul"), {"f": [1, 1, 2, 2]}, FOLLOWED),
    "where no constant stands for the chain its inputs alone become constants": (
        CHAIN.replace("OP", "Add"),
        {"f": [0, 0, 5, 5]},
        """(float[n,3,h,w] x) => (float[n,3,u,v] y) <int64[4] f = {0, 0, 5, 5}>
        { h = Shape (x) k = Add (h, f) y = Resize (x, , , k) }""",
    ),
    "a computed chain becomes scales and goes": (
        """(float[n,3,h,w] x) => (float[n,3,u,v] y) <int64[4] f = {1, 1, 2, 2}>
        { h = Shape (x) k = Mul (h, f) y = Resize (x, , , k) }""",
        {},
        FOLLOWED,
    ),
    "a computed chain over a fixed input becomes the sizes that it makes": (
        """(float[1,3,8,8] x) => (float[1,3,13,14] y) <int64[4] f = {0, 0, 5, 6}>
        { h = Shape (x) k = Add (h, f) y = Resize (x, , , k) }""",
        {},
        "(float[1,3,8,8] x) => (float[1,3,13,14] y) <int64[4] k = {1, 3, 13, 14}> { y = Resize (x, , , k) }",
    ),
    "a chain that something else reads stays for it": (
        """(float[n,3,h,w] x) => (float[n,3,u,v] y, int64[4] z) <int64[4] f = {1, 1, 2, 2}>
        { h = Shape (x) k = Mul (h, f) y = Resize (x, , , k) z = Identity (k) }""",
        {},
        """(float[n,3,h,w] x) => (float[n,3,u,v] y, int64[4] z)
        <int64[4] f = {1, 1, 2, 2}, float[4] y_scales = {1, 1, 2, 2}>
        { h = Shape (x) k = Mul (h, f) y = Resize (x, , y_scales) z = Identity (k) }""",
    ),
    "sites in bodies are frozen from the outer scope": (BODIES, {"s": [1, 1, 2, 2]}, FROZEN_BODIES),
    "a chain inside a function becomes a constant node of it": (
        f"(float[n,3,h,w] x) => (float[n,3,u,v] y) <int64[4] f = {{1, 1, 2, 2}}> {{ y = local.Up (x, f) }} {FUNCTION}",
        {},
        "(float[n,3,h,w] x) => (float[n,3,u,v] y) <int64[4] f = {1, 1, 2, 2}> { y = local.Up (x, f) } "
        + FROZEN_FUNCTION,
    ),
}


def text(document: Document) -> str:
    return onnx.printer.to_text(document.proto)


@pytest.mark.parametrize(("before", "values", "after"), FROZEN.values(), ids=FROZEN)
def test_frozen_it_holds_the_values_and_computes_what_it_did_when_fed_them(before, values, after):
    source = document(before, 13, "local")
    made = frozen(source, **values)
    assert set(statuses(made)) == {Status.CHANGED}
    assert text(made.document) == text(document(after, 13, "local"))
    for condition in values.get("c", [False, True]):
        fed = {**values, "c": bool(condition)} if "bool c" in before else values
        assert same(source, made.document, **fed)


def test_where_the_chain_stays_the_outcome_says_so():
    (outcome,) = frozen(document(CHAIN.replace("OP", "Add")), f=[0, 0, 5, 5]).outcomes
    assert "the chain stays" in (outcome.reason or "")


def test_a_default_that_is_frozen_is_kept_as_it_was_spelled():
    before = document(DEFAULT)
    after = frozen(before)
    assert after.document.proto.graph.initializer[0] == before.proto.graph.initializer[0]


def test_a_site_that_was_not_selected_keeps_the_shared_input():
    before = one("[one] a = Resize (x, , s) [two] y = Resize (a, , s)")
    after = frozen(before, ("one",), s=[1, 1, 2, 2])
    assert statuses(after) == [Status.CHANGED]
    assert inputs(after) == ["x", "s"]
    assert after.document.proto.graph.node[1].input[2] == "s"
    assert same(before, after.document, s=[1, 1, 2, 2])


def test_sites_that_share_an_input_are_frozen_together():
    before = one("[one] a = Resize (x, , s) [two] y = Resize (a, , s)", BY_2, "float[1,3,8,8] x")
    promotion = promote_scales(before, find_sites(before), NewInputs(name="f", shared=True))
    after = frozen(promotion.document, f=[1, 1, 2, 2])
    assert inputs(after) == ["x"]
    assert [tensor.name for tensor in after.document.proto.graph.initializer] == ["f"]
    assert same(before, after.document)
    # The second site's input is of fixed size only once the first is frozen.
    assert dims_of(after.document.proto.graph.output[0].type) == (1, 3, 32, 32)


def test_up_to_ir_3_a_frozen_input_stays_listed():
    x = "float[1,3,8,8] x, float[4] s"
    before = Document.from_proto(resizing("y = Upsample (x, s)", "", x, "float[1,3,16,16] y", opset=9, ir=3))
    after = frozen(before, s=[1, 1, 2, 2])
    assert inputs(after) == ["x", "s"]
    assert [tensor.name for tensor in after.document.proto.graph.initializer] == ["s"]
    assert same(before, after.document, s=[1, 1, 2, 2])


ANY_NUMBER = "float[1,3,8,8] x, float[n] s"
OF_ANOTHER = one("k = Shape (z) y = Resize (x, , , k)", x="float[n,3,h,w] x, float[n,3,u,v] z")
IMPOSSIBLE = "its scales would be [1.0, 1.0, SCALE, 2.0]; each must be finite and above 0"
SHRUNK = "its scales would be [1.0, 1.0, 0.5, 1.0], and an Upsample needs at least 1"
OTHER_SIZE = "its sizes follow the size of 'z', so no constant can replace them"
TWO = "its scales would be 2 numbers, for"
LISTED = one("y = Resize <axes = [1, 2, 3]> (x, , s)", x=ANY_NUMBER, opset=18)


@pytest.mark.parametrize(
    ("before", "values", "reason"),
    [
        (one(), {}, "its scales follow the input 's', which has no value"),
        (one(), {"s": [1, 1, 0, 2]}, IMPOSSIBLE.replace("SCALE", "0.0")),
        (one(), {"s": [1, 1, float("inf"), 2]}, IMPOSSIBLE.replace("SCALE", "inf")),
        (one(), {"s": [1, 1, -2, 2]}, IMPOSSIBLE.replace("SCALE", "-2.0")),
        (one("y = Upsample (x, s)", opset=9), {"s": [1, 1, 0.5, 1]}, SHRUNK),
        (OF_ANOTHER, {}, OTHER_SIZE),
        (one(x=ANY_NUMBER, opset=18), {"s": [2, 2]}, f"{TWO} an input of rank 4"),
        (LISTED, {"s": [2, 2]}, f"{TWO} the axes [1, 2, 3]"),
    ],
)
def test_values_that_cannot_be_frozen_are_refused_and_nothing_changes(before, values, reason):
    after = frozen(before, **values)
    assert refusal(after) == reason
    assert after.document.light_bytes() == before.light_bytes()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"t": [1]}, "set: 't' drives none of the selected nodes; inputs that do: k"),
        ({"k": [1, 3, 16]}, "set: 'k' has 3 values for int64[4]"),
        ({"k": [1]}, "set: 'k' has 1 value for int64[4]"),
        ({"k": [1, 3, 16.5, 16]}, "are no values for int64[4]"),
    ],
)
def test_values_that_fit_no_input_are_the_callers_mistake(values, message):
    with pytest.raises(UsageError) as caught:
        frozen(one("y = Resize (x, , , k)", x="float[1,3,8,8] x, int64[4] k, float t"), **values)
    assert message in str(caught.value)


def test_an_input_that_a_called_function_resizes_by_is_frozen_once_the_functions_are_inlined():
    calls = "(float[1,3,8,8] x, float[4] k, float[4] j) => (float[?,?,?,?] y, float[?,?,?,?] z)"
    function = '<opset_import: ["": 13], domain: "l"> up (a, s) => (b) { b = Resize (a, , s) }'
    given = model(f"{calls} {{ y = l.up (x, k) z = l.up (x, j) }} {function}", 13, "l")
    values = {"k": [1, 1, 2, 2], "j": [1, 1, 3, 3]}
    with pytest.raises(UsageError, match=r"A selected node stands in a local function.*inline=True"):
        resizefix.freeze_scales(given, set=values)
    assert [value.name for value in resizefix.freeze_scales(given, set=values, inline=True).model.graph.input] == ["x"]


@pytest.mark.parametrize(
    ("nodes", "constants"),
    [(ONE, BY_2), (f"s = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () {ONE}", "")],
)
def test_constant_scales_are_left_as_they_are(nodes, constants):
    before = one(nodes, constants, "float[1,3,8,8] x")
    after = frozen(before)
    assert (statuses(after), after.outcomes[0].reason) == ([Status.UNCHANGED], "its scales are constant already")
    assert after.document.light_bytes() == before.light_bytes()


def test_a_default_that_lies_in_another_file_is_written_into_the_model(tmp_path):
    before = in_another_file(resizing(constants=BY_2, x="float[1,1,2,2] x, float[4] s"), tmp_path / "m.onnx")
    assert before.proto.graph.initializer[0].data_location == onnx.TensorProto.EXTERNAL
    after = frozen(before).document
    # onnxruntime: "Cannot parse data from external tensors"
    assert after.proto.graph.initializer[0].data_location != onnx.TensorProto.EXTERNAL
    assert len(after.proto.graph.initializer) == 1
    assert verify(before, after).passed


@pytest.mark.parametrize(("scale", "size"), [("1e20", 8), ("2", 2**62)])
def test_a_length_that_no_file_can_say_is_left_open(scale, size):
    after = frozen(one(ONE, f"float[4] s = {{1, 1, {scale}, 2}}", f"float[1,3,{size},8] x, float[4] s"))
    assert statuses(after) == [Status.CHANGED]
    dims = dims_of(after.document.proto.graph.output[0].type)
    assert (dims[0], dims[1], dims[3]) == (1, 3, 16)
    assert not isinstance(dims[2], int)


def test_the_advice_sets_every_open_input():
    model = resizing("t = Resize (x, , s) y = Resize (t, , r)", x="float[1,3,8,8] x, float[4] s, float[4] r")
    outcomes = resizefix.freeze_scales(model, on_refusal="return").outcomes
    assert [outcome.status for outcome in outcomes] == [Status.REFUSED] * 2
    words = [word.partition("=") for word in outcomes[0].retry_args[1::2]]
    assert [name for name, _, _ in words] == ["s", "r"]
    values = {name: [float(value) for value in listed.split(",")] for name, _, listed in words}
    assert statuses(resizefix.freeze_scales(model, set=values)) == [Status.CHANGED] * 2


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
@pytest.mark.parametrize("shape", [(1, 1, 2, 4), (2, 3, 5, 3)])
@pytest.mark.parametrize("axes", ["[2, 3]", "[3, 2]"])
@pytest.mark.parametrize("sizes", [(1, 3), (8, 3), (7, 11)])
def test_the_declared_shape_is_that_which_the_policy_makes(policy, shape, axes, sizes):
    dims = ",".join(map(str, shape))
    node = f'y = Resize <axes = {axes}, keep_aspect_ratio_policy = "{policy}"> (x, , , k) z = Shape (y)'
    before = resizing(node, "", f"float[{dims}] x, int64[2] k", "float[a,b,c,d] y, int64[4] z", opset=18)
    after = resizefix.freeze_scales(before, set={"k": sizes}).model
    x = np.random.default_rng(0).random(shape, np.float32)
    want = run(before, {"x": x, "k": np.array(sizes, np.int64)})
    for optimized in (False, True):
        y, z = run(after, {"x": x}, optimized=optimized)
        np.testing.assert_array_equal(y, want[0])
        assert list(z) == list(y.shape) == list(dims_of(after.graph.output[0].type))


def test_a_dimension_keeps_its_name_behind_what_inference_does_not_follow():
    nodes = "r = Reshape (x, to) y = Resize (r, , s) q = Neg (y)"
    before = resizing(nodes, "", "float[batch,3,8,8] x, int64[4] to, float[4] s", "float[batch,c,h,w] q")
    after = frozen(Document.from_proto(before), s=[1, 1, 2, 2]).document.proto
    assert list(dims_of(after.graph.output[0].type)) == ["batch", "c", "h", "w"]


CROPPED = 'y = Resize <coordinate_transformation_mode = "tf_crop_and_resize", mode = "linear"> (x, %s, s)'


@pytest.mark.parametrize("roi", ["r", "q"])
@pytest.mark.parametrize("fed", [False, True])
def test_a_roi_that_is_fed_becomes_a_constant(roi, fed):
    nodes = ("" if roi == "r" else "q = Neg (r) ") + CROPPED % roi
    x = "float[1,3,8,8] x, float[8] r" + (", float[4] s" if fed else "")
    before = resizing(nodes, "" if fed else BY_2, x)
    values = {"r": [0, 0, 0.25, 0.25, 1, 1, 0.75, 0.75], **({"s": [1, 1, 2, 2]} if fed else {})}
    result = resizefix.freeze_scales(before, set=values)
    assert [value.name for value in result.model.graph.input] == ["x"]
    feeds = {"x": np.random.default_rng(0).random((1, 3, 8, 8), np.float32)}
    want = run(before, {**feeds, **{name: np.array(value, np.float32) for name, value in values.items()}})
    np.testing.assert_array_equal(run(result.model, feeds)[0], want[0])


def test_a_roi_without_a_value_stays_and_is_no_reason_to_refuse():
    before = resizing(CROPPED % "r", "", "float[1,3,8,8] x, float[8] r, float[4] s")
    made = frozen(Document.from_proto(before), s=[1, 1, 2, 2])
    assert statuses(made) == [Status.CHANGED]
    assert inputs(made) == ["x", "r"]


def test_what_reads_an_input_that_stays_is_named():
    before = resizing(
        "k = Cast <to = 7> (s) y = Resize (x, , , k) [else] z = Neg (s)", "", "float[1,3,8,8] x, float[4] s"
    )
    before.graph.output.append(onnx.helper.make_tensor_value_info("z", 1, [4]))
    made = frozen(Document.from_proto(before), s=[1, 3, 16, 16])
    assert inputs(made) == ["x", "s"]
    assert "the input 's' stays, because the node 'else' (Neg) reads it too" in made.outcomes[0].reason


@pytest.mark.parametrize("name", ["computed_scales_opset10", "computed_sizes_opset13"])
def test_a_refusal_of_a_computed_scale_is_short_and_ends_with_what_to_type(name):
    result = resizefix.freeze_scales(FIXTURES / f"{name}.onnx", on_refusal="return", verify=False)
    (outcome,) = result.outcomes
    assert (outcome.status, len(outcome.retry_args)) == (Status.REFUSED, 2)
    assert "its height floor(1.5 × the input's)" in outcome.reason
    assert len(outcome.reason) < 150


def test_values_are_proposed_for_an_input_that_several_resizes_read():
    shared = model("(float[1,1,4,4] x, float[4] s) => (float[?,?,?,?] y, float[?,?,?,?] z)"
                   " { y = Resize (x, , s) t = Relu (x) z = Resize (t, , s) }", 13)  # fmt: skip
    refused = resizefix.freeze_scales(shared, on_refusal="return").outcomes
    assert [outcome.retry_args for outcome in refused] == [("--set", "s=1,1,2,2", "--all-uses")] * 2
    assert resizefix.freeze_scales(shared, set={"s": (1, 1, 2, 2)}, all_uses=True)
