"""Nodes that are compared by themselves: of models that do not run as a whole, of branches that do not run, and those
whose result reaches no output."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_text import document, model

import resizefix
from benchmarks.independent_resizes import independent_resizes
from resizefix.document.document import Document
from resizefix.library.promote_scales import promote_scales
from resizefix.library.result import VerificationFailedError
from resizefix.operations.promote_scales import promote_scales as promote
from resizefix.operations.sites import find_sites
from resizefix.scope_path import MAIN, BodyName, FunctionName, ScopePath
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.extraction import Extraction
from resizefix.verification.proof import Prover
from resizefix.verification.verification import Conditions
from resizefix.verification.verify import prove_rewrite


def is_proven_alone(verification) -> bool:
    return (
        verification.passed
        and verification.reason.startswith("only around each changed node")
        and all(run.bitwise for run in verification.runs)
    )


# Sites in bodies. The operator at the end is registered nowhere, so that the model cannot be run as a whole.


def with_branches(else_output: str) -> onnx.ModelProto:
    then_branch, else_branch = (
        f'{name} () => (float[?,?,?,?] {out}) {{ {out} = Resize <mode = "linear"> (x, , s) }}'
        for name, out in (("t", "y1"), ("e", else_output))
    )
    return model(
        f"""(float[1,1,4,4] x, bool c) => (float[?,?,?,?] z) <float[4] s = {{1, 1, 2, 2}}> {{
            y = If (c) <then_branch = {then_branch}, else_branch = {else_branch}> z = vendor.Op (y) }}""",
        13,
        "vendor",
    )


@pytest.mark.parametrize("shared", [False, True])
def test_each_site_is_cut_out_of_its_body_and_proven(shared):
    result = promote_scales(with_branches("y2"), shared=shared)
    assert len(result.inputs) == (1 if shared else 2)
    assert is_proven_alone(result.verification)


def test_two_sites_of_one_name_are_not_proven_side_by_side():
    assert promote_scales(with_branches("y1")).verification.passed
    with pytest.raises(VerificationFailedError, match="drives nodes in different bodies that write the same name"):
        promote_scales(with_branches("y1"), shared=True)


# Nodes of local functions are run alone with what the calls of the function pass.


def with_function(x: str, call: str, node: str, constants: str = "float[1] s = {2}") -> onnx.ModelProto:
    function = f'<domain: "local", opset_import: ["" : 18]> Up (a, b) => (c) {{ [up] c = {node} }}'
    return model(f"({x}) => (float z) <{constants}> {{ {call} z = vendor.Op (y) }} {function}", 18, "local", "vendor")


COMPUTED_INSIDE = with_function(
    "float[1,2,3,4,5] x", "v = Identity (x) w = local.Up (v, s) y = local.Up (x, s)", "Resize (a, , e)"
)
COMPUTED_INSIDE.functions[0].node.insert(0, helper.make_node("Cast", ["d"], ["e"], to=1))
COMPUTED_INSIDE.functions[0].node.insert(
    0, helper.make_node("Constant", [], ["d"], value=numpy_helper.from_array(np.array([0.5, 1.5, 1, 0.75, 1])))
)


@pytest.mark.parametrize(
    "made",
    [
        with_function("float[4] x", "y = local.Up (x, s)", "Resize (a, , b)"),
        with_function("float[4] x", "t = Constant <value_floats = [2.0]> () y = local.Up (x, t)", "Resize (a, , b)"),
        # the tensor alone has the axes that the node names
        with_function(
            "float[4] x",
            "t = vendor.Op (x) y = local.Up (t, s)",
            'Resize <axes = [3, 2], mode = "nearest"> (a, , b)',
            "float[2] s = {2, 1}",
        ),
        COMPUTED_INSIDE,  # and as many as there are scales computed in the function
    ],
    ids=["an initializer", "a constant node", "listed axes", "computed scales"],
)
def test_an_argument_of_a_function_is_to_the_node_alone_what_the_call_passes(made):
    result = promote_scales(made)
    assert [outcome.status.value for outcome in result.outcomes] == ["changed"]
    assert is_proven_alone(result.verification)
    assert len({run.values["up_scales"] for run in result.verification.runs}) == 3


def test_the_tensor_alone_is_fed_alike_where_the_promoted_model_knows_more_of_its_size():
    made = model(
        """(float[2,3,2,4] x, float[4] f) => (float z)
        <float[4] c = {2, 3, 1, 3}, float[4] s = {1, 1, 2.5, 2.5}, float[p,q,r,t] w> {
            a = Resize (x, , f) d = Shape (x) e = Cast <to = 1> (d) k = Div (c, e) b = Resize (x, , k)
            w = Add (a, b) [up] y = Resize <mode = "linear"> (w, , s) z = vendor.Op (y) }""",
        13,
        "vendor",
    )
    assert is_proven_alone(promote_scales(made).verification)


def test_sizes_that_the_call_computes_from_what_is_not_there_alone_are_said_to_follow_it():
    made = with_function("float[1,1,4,4] x", "d = Shape (x) y = local.Up (x, d)", "Resize (a, , , b)")
    with pytest.raises(VerificationFailedError, match=r"neither the model nor 'up' alone \(its scales follow 'b'\)"):
        promote_scales(made, form="sizes")


# What stands in a branch that the whole model does not take is proven alone.
ELSE = (ScopePath([BodyName("If_0", "else_branch")]), "y2")


def untaken(node: str) -> onnx.ModelProto:
    """The condition is a constant: the else branch never runs."""
    return model(
        f"""(float[1,1,4,4] x) => (float[?,?,?,?] y) <float[4] s = {{1, 1, 2, 2}}, bool c = {{1}}> {{
            [If_0] y = If (c) <then_branch = t () => (float[?,?,?,?] y1) {{ y1 = Relu (x) }},
            else_branch = e () => (float[?,?,?,?] y2) {{ {node} }}> }}"""
    )


def in_mode(mode: str) -> onnx.ModelProto:
    return untaken(f'[up] y2 = Resize <mode = "{mode}"> (x, , s)')


def test_a_promotion_in_a_branch_that_never_runs_is_compared_at_other_scales():
    runs = promote_scales(in_mode("nearest")).verification.runs
    assert len(runs) == 10
    assert len({run.values["up_scales"] for run in runs}) == 3
    assert all(run.bitwise for run in runs)


def test_a_rewrite_that_is_wrong_where_nothing_runs_fails():
    before, after = (Document.from_proto(in_mode(mode)) for mode in ("nearest", "linear"))
    assert prove_rewrite(before, after, {}, 0.0, Conditions()).passed
    wrong = prove_rewrite(before, after, {ELSE: "x"}, 0.0, Conditions())
    assert not wrong.passed
    assert "around 'y2'" in wrong.reason
    assert prove_rewrite(before, before.copy(), {ELSE: "x"}, 0.0, Conditions()).passed


def test_what_cannot_be_compared_alone_is_said_to_be_unproven():
    before = Document.from_proto(in_mode("nearest"))
    inlined = (ScopePath([FunctionName("local", "f"), BodyName("If_0", "else_branch")]), "y2")
    reason = prove_rewrite(before, before.copy(), {inlined: "x"}, 0.0, Conditions()).reason
    assert reason == "'y2' is proven only if the body it stood in was run: its function was inlined"


def test_scales_that_follow_what_is_not_fed_alone_are_said_to_be_unproven_in_a_branch():
    sizes = "two = Constant <value = int64[4] {1, 1, 2, 2}> () p = Shape (x) k = Mul (p, two) t = Transpose (x)"
    verification = promote_scales(untaken(f"{sizes} [up] y2 = Resize (t, , , k)")).verification
    assert verification.passed
    assert verification.reason == (
        "'up' is proven only if the body it stands in was run; it cannot be run alone: its scales follow 'x'"
    )


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("wrong", [False, True])
def test_a_node_whose_result_reaches_no_output_is_compared(read, wrong):
    """Of the second's result nobody reads anything, or a node whose result nobody reads."""
    two = independent_resizes(2)
    for index, node in enumerate(two.graph.node):
        node.name = f"R{index}"
    del two.graph.output[1]
    if read:
        two.graph.node.append(helper.make_node("Relu", ["y1"], ["nobody"]))
    original = Document.from_proto(two)
    made = promote(original, find_sites(original))
    if wrong:
        made.document.proto.graph.node[1].attribute.append(helper.make_attribute("nearest_mode", "ceil"))
    result = Prover(made.before, Conditions()).prove(made.after, made.inputs, {})
    assert result.passed is not wrong
    assert made.inputs[1].name in {name for run in result.runs for name in run.values if len(run.values) == 1}
    assert not wrong or "around 'R1'" in (result.reason or "")


# Inference reads the first scales once they are part of other operators.
COMPUTED = """(float[1,2,2,4] x) => (float w)
  <float[4] c = {1, 1, 2, 4}, float[4] s = {1, 1, 2.5, 2.5}, float[0] roi = {}> {
    shape = Shape (x) dims = Cast <to = 1> (shape) scales = Div (c, dims)
    y = Resize <mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"> (x, roi, scales)
    z = Resize <coordinate_transformation_mode = "align_corners", nearest_mode = "round_prefer_floor"> (y, roi, s)
    w = vendor.Op (z)
  }"""


def test_a_node_behind_a_rewritten_one_is_compared_at_the_sizes_that_became_known():
    made = resizefix.legalize(model(COMPUTED, 11, "vendor", ir=6), target="tensorrt-5.1")
    assert [outcome.status.value for outcome in made.outcomes] == ["changed", "changed"]
    assert made.verification.reason.startswith("only around each changed node")
    assert (1, 1, 2, 4) in [tuple(run.shapes.get("y", ())) for run in made.verification.runs]


# The second scale is 1 as long as the first is 4, and no Upsample takes the fraction that a larger first would make of
# it. Both together are more than the third can make 12 by 24 of.
CHAIN = """(float[6,3] x) => (float[?,?] z) {
  s = Constant <value = float[2] {1, 4}> () a = Upsample <mode = "linear"> (x, s)
  shape_a = Shape (a) dims_a = Cast <to = 1> (shape_a) out_b = Constant <value = float[2] {6, 12}> ()
  t = Div (out_b, dims_a) b = Upsample <mode = "linear"> (a, t)
  shape_b = Shape (b) dims_b = Cast <to = 1> (shape_b) out_z = Constant <value = float[2] {12, 24}> ()
  u = Div (out_z, dims_b) z = Upsample (b, u)
}"""


def test_a_scale_that_follows_the_size_which_another_input_changes_keeps_its_old_value():
    made = resizefix.promote_scales(model(CHAIN, 9, ir=4), node=["#0", "#1"])
    assert made.verification.status.value == "passed"
    assert {name for run in made.verification.runs for name in run.values} == {one.name for one in made.inputs}


def test_what_is_resized_has_the_type_that_either_side_knows_and_the_sizes_that_the_original_knows():
    nodes = "t = vendor.Op (x) y = Resize (t, , s) z = vendor.Op (y)"
    text = f"(float[4] x) => (float z) <float[2] s = {{1, 2}}%s> {{ {nodes} }}"
    views = (ModelView(document(text % known, 13, "vendor")) for known in ("", ", float16[2,3] t"))
    for one in Extraction(*views).extract({(MAIN, "y"): "t"}):
        (data,) = (value.type.tensor_type for value in one.proto.graph.input)
        assert data.elem_type == TensorProto.FLOAT16
        assert [dim.dim_value for dim in data.shape.dim] == [0, 0]
        assert [value.type.tensor_type.elem_type for value in one.proto.graph.output] == [TensorProto.FLOAT16]
