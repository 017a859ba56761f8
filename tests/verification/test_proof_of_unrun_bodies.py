"""What stands in a branch that the whole model does not take is proven alone."""

import onnx
import onnx.parser

from resizefix.document.document import Document
from resizefix.library.promote_scales import promote_scales
from resizefix.scope_path import BodyName, FunctionName, ScopePath
from resizefix.verification.conditions import Conditions
from resizefix.verification.verify import prove_rewrite

ELSE = (ScopePath([BodyName("If_0", "else_branch")]), "y2")


def model(mode: str, body: str = "") -> onnx.ModelProto:
    """The condition is a constant: the else branch never runs."""
    return onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[1,1,4,4] x) => (float[?,?,?,?] y) '
        "<float[4] s = {1, 1, 2, 2}, bool c = {1}> { [If_0] y = If (c) <"
        "then_branch = t () => (float[?,?,?,?] y1) { y1 = Relu (x) }, "
        f'else_branch = e () => (float[?,?,?,?] y2) {{ {body} [up] y2 = Resize <mode = "{mode}"> (x, , s) }}> }}'
    )


def test_a_promotion_in_a_branch_that_never_runs_is_compared_at_other_scales():
    runs = promote_scales(model("nearest")).verification.runs
    assert len(runs) == 12
    assert len({run.values["up_scales"] for run in runs}) == 3
    assert all(run.bitwise for run in runs)


def test_a_rewrite_that_is_wrong_where_nothing_runs_fails():
    before, after = (Document.from_proto(model(mode)) for mode in ("nearest", "linear"))
    assert prove_rewrite(before, after, {}, 0.0, Conditions()).passed
    wrong = prove_rewrite(before, after, {ELSE: "x"}, 0.0, Conditions())
    assert not wrong.passed
    assert "around 'y2'" in wrong.reason
    assert prove_rewrite(before, before.copy(), {ELSE: "x"}, 0.0, Conditions()).passed


def test_what_cannot_be_compared_alone_is_said_to_be_unproven():
    before = Document.from_proto(model("nearest"))
    inlined = (ScopePath([FunctionName("local", "f"), BodyName("If_0", "else_branch")]), "y2")
    reason = prove_rewrite(before, before.copy(), {inlined: "x"}, 0.0, Conditions()).reason
    assert reason == "'y2' is proven only if the body it stood in was run: its function was inlined"


def test_scales_that_follow_what_is_not_fed_alone_are_said_to_be_unproven_in_a_branch():
    sizes = "two = Constant <value = int64[4] {1, 1, 2, 2}> () p = Shape (x) k = Mul (p, two) t = Transpose (x)"
    verification = promote_scales(
        onnx.parser.parse_model(
            '<ir_version: 8, opset_import: ["" : 13]> g (float[1,1,4,4] x) => (float[?,?,?,?] y) '
            "<bool c = {1}> { [If_0] y = If (c) <then_branch = t () => (float[?,?,?,?] y1) { y1 = Relu (x) }, "
            f"else_branch = e () => (float[?,?,?,?] y2) {{ {sizes} [up] y2 = Resize (t, , , k) }}> }}"
        )
    ).verification
    assert verification.passed
    assert verification.reason == (
        "'up' is proven only if the body it stands in was run; it cannot be run alone: its scales follow 'x'"
    )
