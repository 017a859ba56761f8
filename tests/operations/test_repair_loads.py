"""Whether a repaired model loads in onnxruntime is seen without verification, too."""

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from onnx_text import model
from ort_runs import opened, run
from resize_texts import ONE, resizing, statuses

import resizefix
from resizefix.document.document import Document
from resizefix.operations.repair import why_not_loaded
from resizefix.outcome import Status

HALF = "float16[4] s = {1, 1, 2, 2}"
BROKEN_ELSEWHERE = {
    "a name of two nodes": (f"{ONE} a = Relu (x) a = Neg (x)", HALF),
    "a name of a node and a constant": (f"{ONE} k = Relu (y)", f"{HALF}, float[1] k = {{2}}"),
    "a name that nothing makes": (f"{ONE} a = Relu (nowhere)", HALF),
    "an operator that does not exist": (f"{ONE} a = Resise (x)", HALF),
    "two types in one sum": (f"{ONE} a = Add (x, k)", f"{HALF}, int64[1] k = {{2}}"),
    "a resize that no kernel is of": (
        f'{ONE} d = Cast <to = 11> (x) r = Resize <mode = "linear"> (d, , t)',
        f"{HALF}, float[4] t = {{1, 1, 2, 2}}",
    ),
}


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", BROKEN_ELSEWHERE)
def test_a_repaired_model_that_does_not_load_is_not_written_unverified_either(name, verify):
    with pytest.raises(resizefix.ResizefixError) as caught:
        resizefix.repair(resizing(*BROKEN_ELSEWHERE[name]), verify=verify)
    assert "the repaired file still does not load: " in str(caught.value)
    assert "repair has no fix for that" in str(caught.value)


def add_a_function(made: ModelProto, node: str, opset: int, *, called: bool) -> None:
    body = [onnx.helper.make_node(node, ["a"], ["b"])]
    made.functions.append(
        onnx.helper.make_function("l", "F", ["a"], ["b"], body, [onnx.helper.make_opsetid("", opset)])
    )
    made.opset_import.append(onnx.helper.make_opsetid("l", 1))
    if called:
        made.graph.node.append(onnx.helper.make_node("F", ["x"], ["z"], domain="l"))


REFUSED_BY_THE_CHECKER_ALONE = {
    "an output without a shape": lambda made: made.graph.output[0].type.tensor_type.ClearField("shape"),
    "an input without a shape": lambda made: made.graph.input[0].type.tensor_type.ClearField("shape"),
    "an output without a type": lambda made: made.graph.output[0].ClearField("type"),
    "a graph without a name": lambda made: made.graph.ClearField("name"),
    "one key of metadata twice": lambda made: made.metadata_props.extend([onnx.StringStringEntryProto(key="k")] * 2),
    "a function of another opset": lambda made: add_a_function(made, "Softmax", 11, called=True),
    "a function that is not called": lambda made: add_a_function(made, "Gelu", 20, called=False),
}


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", REFUSED_BY_THE_CHECKER_ALONE)
def test_a_model_that_onnxruntime_loads_and_the_checker_refuses_is_repaired(name, verify):
    broken = resizing(constants="double[4] s = {1, 1, 2, 2}")
    REFUSED_BY_THE_CHECKER_ALONE[name](broken)
    made = resizefix.repair(broken, verify=verify)
    assert statuses(made) == [Status.CHANGED]
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model(made.model)


# What has no fault that is known, and whether onnxruntime takes it; the words say whether a resize is to blame.
UNREPAIRED = {
    "it runs": (ONE, "float[4] s = {1, 1, 2, 2}", None),
    "another node": (
        f"{ONE} h = Cast <to = 10> (y) z = Add (h, x)", "float[4] s = {1, 1, 2, 2}", "repair fixes resizes only"),
    "another operator": (f"{ONE} z = local.Foo (y)", "float[4] s = {1, 1, 2, 2}", "custom_op_library"),
    "a resize": (
        'z = Resize <mode = "cubic", axes = [1, 2, 3]> (x, , s)', "float[3] s = {2, 2, 2}", "That may be the resize #0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("name", UNREPAIRED)
def test_a_model_without_a_known_fault_is_returned_only_if_onnxruntime_takes_it(name, verify):
    nodes, constants, why = UNREPAIRED[name]
    given = resizing(nodes, constants, opset=18)
    if why is None:
        result = resizefix.repair(given, verify=verify)
        assert "loads and runs the model as it is" in result.verification.reason or not verify
        assert result.model == given
        return
    with pytest.raises(resizefix.RefusedError) as caught:
        resizefix.repair(given, verify=verify)
    assert "no selected node has a known fault" in str(caught.value)
    assert why in str(caught.value)
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        opened(given)


def test_scales_computed_below_1_are_refused_with_the_message_of_the_upsample():
    nodes = "h = Shape (x) f = Cast <to = 1> (h) s = Div (k, f) y = Upsample (x, s)"
    with pytest.raises(resizefix.RefusedError, match=r"greater than or equal to 1.*That is the resize #0") as caught:
        resizefix.repair(resizing(nodes, "float[4] k = {1, 3, 4, 4}", "float[1, 3, H, W] x", opset=9))
    assert caught.value.node == "#0"
    assert "Scale value" in str(caught.value)


def test_scales_computed_below_1_at_the_sizes_of_the_file_raise_the_model():
    nodes = "h = Shape (x) f = Cast <to = 1> (h) s = Div (k, f) y = Upsample (x, s)"
    result = resizefix.repair(resizing(nodes, "float[4] k = {1, 3, 4, 4}", "float[1, 3, 8, 8] x", opset=9))
    assert [outcome.fault for outcome in result.outcomes] == ["wrong-opset"]
    assert result.model.opset_import[0].version == 10
    assert result.verification.passed


def test_a_run_that_its_feeds_may_spoil_refuses_nothing():
    result = resizefix.repair(resizing("y = Resize (x, , s)", "", "float[1,3,8,8] x, float[n] s"))
    assert "it was not run" in result.verification.reason


RESHAPED = "r = Resize (x, , s) y = Reshape (r, k)"
BY_2 = "float[4] s = {1, 1, 2, 2}"
RESHAPES = f"{BY_2}, int64[2] k = {{5, 7}}"
OPEN = "float[n,3,8,8] x"
# What stands before the node that fails, and whether another feed might run.
FAILING_IN_A_RUN = {
    "one size": (RESHAPED, RESHAPES, "float[1,3,8,8] x", False),
    "a fault was fixed": (RESHAPED, RESHAPES.replace("float", "double"), "float[1,3,8,8] x", False),
    "a size is open": (RESHAPED, RESHAPES, OPEN, True),
    "a size is fed": (RESHAPED, BY_2, "float[1,3,8,8] x, int64[2] k", True),
    "a position is fed as a real number": (
        "y = Resize (x, , s) i = Cast <to = 7> (k) z = Gather (y, i)", BY_2,
        "float[1,3,8,8] x, float[1] k", True),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILING_IN_A_RUN)
def test_a_model_that_no_feed_runs_is_refused_and_another_says_that_it_was_not_run(name, tmp_path, call):
    nodes, constants, x, may_run = FAILING_IN_A_RUN[name]
    onnx.save(resizing(nodes, constants, x), tmp_path / "in.onnx")
    code, out, err = call("repair", tmp_path / "in.onnx", tmp_path / "out.onnx")
    said = " ".join((out + err).split())
    assert code == (0 if may_run else 1)
    if name.startswith("a position"):
        assert "onnxruntime" not in said, "feeds in range were drawn"
    else:
        assert "cannot be run at node 'Reshape#1'" in said
        assert ("it was not run" in said) == may_run
        assert ("repair fixes resizes only" in said) == (name == "one size")


@pytest.mark.parametrize("kind", ["float16", "float"])
@pytest.mark.parametrize("held", ["", "= {}"])
def test_empty_scales_that_may_be_fed_are_removed(kind, held):
    given = resizing(
        "y = Resize (x, , e, k)", "int64[4] k = {1, 3, 16, 16}" + (f", {kind}[0] e {held}" if held else ""),
        f"float[1,3,8,8] x, {kind}[0] e",
    )  # fmt: skip
    result = resizefix.repair(given)
    assert [outcome.fault for outcome in result.outcomes] == ["empty-operand"]
    for optimized in (False, True):
        opened(result.model, optimized=optimized)


def test_tensors_that_shared_a_name_share_no_stored_shape():
    nodes = "t = Cast <to = 1> (x) u = Resize (t, , s) h = Cast <to = 10> (u) t = Cast <to = 1> (h) y = Relu (t)"
    for stored in ("1,3,8,8", "1,3,16,16"):
        given = resizing(nodes, f"float[4] s = {{1, 1, 2, 2}}, float[{stored}] t", "float16[1,3,8,8] x")
        result = resizefix.repair(given)
        assert [value.name for value in result.model.graph.value_info if value.name.startswith("t")] == []
        for optimized in (False, True):
            feeds = {"x": np.ones((1, 3, 8, 8), np.float16)}
            assert run(result.model, feeds, optimized=optimized)[0].shape == (1, 3, 16, 16)


@pytest.mark.parametrize(
    ("x", "fed", "fault"),
    [
        ("float[1,3,64,64] x", "", None),
        ("float[1,3,64,64] x", ", float[n,4] boxes", None),
        ("float[batch,3,64,64] x", "", "frozen-batch"),
        ("float[?,3,64,64] x", "", "frozen-batch"),
    ],
)
def test_a_batch_is_free_only_in_a_model_that_is_fed_one(x, fed, fault):
    given = resizing(
        "c = Slice (x, k, end, ax) y = Resize (c, , , sz)",
        "int64[1] k = {0}, int64[1] ax = {2}, int64[4] sz = {1, 3, 32, 32}",
        f"{x}, int64[1] end{fed}",
    )
    assert [one.fault for one in resizefix.repair(given, verify=False).outcomes] == [fault]


IN_BRANCHES = """(float[n,c,h,w] x, bool first) => (float[?,?,?,?] y) <float[4] s = {1, 1, 1.25, 0.25}> {
    a = If (first) <
        then_branch = one () => (float[?,?,?,?] b) <int64[2] batch = {0, 1}, int64[2] size = {3, 4}> {
            shape = Shape (x) kept = Gather <axis = 0> (shape, batch) sizes = Concat <axis = 0> (kept, size)
            b = Resize <mode = "nearest"> (x, , , sizes) },
        else_branch = two () => (float[?,?,?,?] d) <int64[4] fixed = {3, 3, 3, 4}> {
            d = Resize <mode = "nearest"> (x, , , fixed) }>
    y = Resize <mode = "cubic"> (a, , s) }"""


def test_what_onnxruntime_loads_is_written_without_verification_too():
    given = model(IN_BRANCHES, 13)
    verified, unverified = (resizefix.repair(given, verify=verify) for verify in (True, False))
    assert verified.verification.passed
    assert statuses(unverified) == statuses(verified)
    assert why_not_loaded(Document.from_proto(unverified.model)) is not None, "onnx takes it: another model is needed"
