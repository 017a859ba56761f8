"""Float inputs that decide sizes become int64 for TensorRT: every bit stays, and the real builder takes them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx
import onnx_text
import ort_runs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from live_parser import needs_tensorrt
from onnx import TensorProto
from shape_input_models import depth_anything, mask_decoder, matting

import resizefix
from resizefix.diagnostics import RefusedError, UsageError
from resizefix.document.document import Document
from resizefix.operations.integer_inputs import IntegerInput, deciding_floats, with_integer_inputs
from resizefix.runtimes.tensorrt import LiveParser
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.integer_inputs import Numerators, prove_integer_inputs
from resizefix.verification.outside_plan import outside_plan
from resizefix.verification.plan import Plan
from resizefix.verification.verification import Conditions

SMALL = """(float[1,3,8,8] x, float[2] size) => (float[?,?,?,?] z) <int64[2] nc = {1, 3}> {
    whole = Cast <to = 7> (size) sizes = Concat <axis = 0> (nc, whole)
    [up] y = Resize <mode = "linear"> (x, , , sizes) most = ReduceMax (size) z = Mul (y, most) }"""
SCALED = """(float[1,1,8,8] x, float[2] ratio) => (float[?,?,?,?] y) <float[2] ones = {1, 1}> {
    scales = Concat <axis = 0> (ones, ratio) [up] y = Resize (x, , scales) }"""
IN_BODY = """(float[1,1,8,8] x, float[2] size, bool turn) => (float[?,?,?,?] y) <int64[2] nc = {1, 1}> {
    y = If (turn) <
      then_branch = g () => (float[?,?,?,?] a) {
        whole = Cast <to = 7> (size) sizes = Concat <axis = 0> (nc, whole) [in] a = Resize (x, , , sizes) },
      else_branch = h () => (float[?,?,?,?] b) { most = ReduceMax (size) b = Mul (x, most) }> }"""
IN_CALL = """<ir_version: 8, opset_import: ["" : 17, "local" : 1]> g (float[1,1,8,8] x, float[2] size)
    => (float[?,?,?,?] y) { y = local.resized (x, size) }
    <domain: "local", opset_import: ["" : 17]> resized (x, size) => (y) {
      nc = Constant <value = int64[2] {1, 1}> () whole = Cast <to = 7> (size)
      sizes = Concat <axis = 0> (nc, whole) y = Resize (x, , , sizes) }"""
SLICED = """(float[1,1,8,8] x, float[1] rows) => (float[?,?,?,?] y) <int64[1] i0 = {0}, int64[1] i2 = {2}> {
    whole = Cast <to = 7> (rows) [cut] y = Slice (x, i0, whole, i2) }"""


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(text) if text.startswith("<") else onnx_text.model(text, 17)


MODELS = {
    "small": model(SMALL), "scaled": model(SCALED), "body": model(IN_BODY), "call": model(IN_CALL),
    "sliced": model(SLICED), "decoder": mask_decoder(), "matting": matting(),
}  # fmt: skip


def made(before: onnx.ModelProto, denominator: int = 1) -> tuple[Document, Document, list[IntegerInput]]:
    document = Document.from_proto(before)
    inputs = [replace(one, denominator=denominator) for one in deciding_floats(ModelView(document))]
    return document, with_integer_inputs(document, inputs), inputs


def bodies_of(model: onnx.ModelProto) -> list[onnx.GraphProto | onnx.FunctionProto]:
    found: list[onnx.GraphProto | onnx.FunctionProto] = [model.graph, *model.functions]
    for body in found:
        found += [attribute.g for node in body.node for attribute in node.attribute if attribute.HasField("g")]
    return found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("denominator", [1, 8, 1000])
def test_every_reader_reads_the_cast_and_nothing_else_differs(name: str, denominator: int) -> None:
    before, after, (one,) = made(MODELS[name], denominator)
    nodes = [node for body in bodies_of(after.proto) for node in body.node if isinstance(body, onnx.GraphProto)]
    readers = [node for node in nodes if one.name in node.input]
    assert [node.op_type for node in readers] == ["Cast"]
    assert outside_plan(before, after, Plan(integers={one.name: denominator})) is None
    assert outside_plan(before, after, Plan()) is not None
    assert outside_plan(before, after, Plan(integers={one.name: denominator + 1})) is not None


@pytest.mark.parametrize("name", MODELS)
def test_another_change_beside_it_is_seen(name: str) -> None:
    before, after, (one,) = made(MODELS[name])
    plan = Plan(integers={one.name: 1})
    for body in bodies_of(after.proto):
        for position in range(len(body.node)):
            changed = after.copy()
            node = next(b for b in bodies_of(changed.proto) if b.SerializeToString() == body.SerializeToString())
            node.node[position].input.append("x")
            assert outside_plan(before, changed, plan) is not None


@pytest.mark.parametrize(("name", "values"), [
    ("small", [(5, 9), (16, 8), (1, 1), (8, 8), (31, 2)]), ("sliced", [(1,), (5,), (8,)]),
    ("decoder", [(48, 64), (64, 64), (90, 131), (7, 30)]), ("call", [(3, 5), (8, 16)]),
])  # fmt: skip
def test_whole_numbers_give_every_bit_of_the_same_floats(name: str, values: list[tuple[int, ...]]) -> None:
    before = MODELS[name]
    result = resizefix.legalize(before, target="tensorrt-rtx", shape_inputs=True, lower=True)
    (one,) = result.integer_inputs
    data = before.graph.input[0]
    shape = [dim.dim_value for dim in data.type.tensor_type.shape.dim]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for value in values:
        for optimized in (False, True):
            floats = {data.name: x, one.name: np.array(value, np.float32)}
            integers = {data.name: x, one.name: np.array(value, np.int64)}
            (expected,) = ort_runs.run(before, floats, optimized=optimized)
            (found,) = ort_runs.run(result.model, integers, optimized=optimized)
            np.testing.assert_array_equal(expected, found)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 3000), min_size=2, max_size=2), st.sampled_from([1, 3, 16, 1000]))
def test_numerators_give_every_bit_of_their_quotients(numbers: list[int], denominator: int) -> None:
    before = MODELS["scaled"]
    _, after, _ = made(before, denominator)
    x = np.random.default_rng(0).standard_normal((1, 1, 8, 8)).astype(np.float32)
    ratio = np.array(numbers, np.float32) / np.float32(denominator)
    if (np.floor(8 * ratio) < 1).any() or np.prod(8 * ratio) > 1e6:
        return
    (expected,) = ort_runs.run(before, {"x": x, "ratio": ratio})
    (found,) = ort_runs.run(after.proto, {"x": x, "ratio": np.array(numbers, np.int64)})
    np.testing.assert_array_equal(expected, found)


def test_a_wrong_denominator_or_reader_fails_the_verification() -> None:
    before, after, _ = made(MODELS["scaled"], 16)
    assert prove_integer_inputs(before, after, [Numerators("ratio", 16, True)], Conditions()).passed
    assert not prove_integer_inputs(before, after, [Numerators("ratio", 8, True)], Conditions()).passed
    before, after, _ = made(MODELS["small"])
    (most,) = [node for node in after.proto.graph.node if node.op_type == "ReduceMax"]
    most.op_type = "ReduceMin"
    found = prove_integer_inputs(before, after, [Numerators("size", 1, False)], Conditions())
    assert not found.passed
    assert found.runs


def test_a_constant_in_the_place_of_the_input_fails_the_verification() -> None:
    before, after, _ = made(MODELS["small"])
    graph = after.proto.graph
    cast = next(node for node in graph.node if "size" in node.input)
    graph.initializer.append(onnx.numpy_helper.from_array(np.array([16, 12], np.int64), "always"))
    cast.input[0] = "always"
    assert not prove_integer_inputs(before, after, [Numerators("size", 1, False)], Conditions()).passed


NOT_DECIDING = {
    "an image": "(float[1,1,8,8] x) => (float[?,?,?,?] y) { s = Shape (x) y = Reshape (x, s) }",
    "a factor of data": """(float[1,1,8,8] x, float[1] gain) => (float[?,?,?,?] y)
        <float[4] s = {1, 1, 2, 2}> { a = Mul (x, gain) y = Resize (a, , s) }""",
    "data decide, too": """(float[1,1,8,8] x, float[1] add) => (float[?,?,?,?] y) <float[1] one = {1}> {
        m = ReduceMax <keepdims = 0> (x) s = Add (m, add) scales = Concat <axis = 0> (one, one, s, s)
        y = Resize (x, , scales) }""",
    "of open length": """(float[1,1,8,8] x, float[n] s) => (float[?,?,?,?] y) { y = Resize (x, , s) }""",
    "integers": "(float[1,1,8,8] x, int64[4] s) => (float[?,?,?,?] y) { y = Resize (x, , , s) }",
    "an output, too": "(float[1,1,8,8] x, float[4] s) => (float[?,?,?,?] y, float[4] s) { y = Resize (x, , s) }",
    "a default": "(float[1,1,8,8] x, float[4] s = {1, 1, 2, 2}) => (float[?,?,?,?] y) { y = Resize (x, , s) }",
    "a roi": """(float[1,1,8,8] x, float[8] roi) => (float[?,?,?,?] y) <int64[4] s = {1, 1, 4, 4}> {
        y = Resize <coordinate_transformation_mode = "tf_crop_and_resize"> (x, roi, , s) }""",
}


@pytest.mark.parametrize("graph", NOT_DECIDING.values(), ids=NOT_DECIDING)
def test_an_input_that_decides_no_size_by_itself_stays(graph: str) -> None:
    assert deciding_floats(ModelView(Document.from_proto(onnx_text.model(graph, 17)))) == []


def test_a_promotion_for_tensorrt_takes_such_inputs_along_and_has_a_profile_of_both() -> None:
    result = resizefix.promote_scales(MODELS["decoder"], for_="tensorrt")
    assert [source.name for source in result.inputs] == ["enlarge_scales"]
    assert [one.name for one in result.integer_inputs] == ["orig_im_size"]
    assert result.profile is not None
    assert set(result.profile) == {"enlarge_scales", "orig_im_size"}
    assert [outcome.status.value for outcome in result.outcomes] == ["changed", "changed"]


def test_named_nodes_take_their_own_inputs_along_alone() -> None:
    with pytest.raises(RefusedError):
        resizefix.promote_scales(MODELS["decoder"], for_="tensorrt", node=["to_original"], shape_inputs=False)
    result = resizefix.promote_scales(MODELS["decoder"], for_="tensorrt", node=["to_original"])
    assert result.inputs == ()
    untouched = resizefix.promote_scales(MODELS["decoder"], for_="tensorrt", node=["enlarge"], verify=False)
    assert untouched.integer_inputs == ()
    types = {value.name: value.type.tensor_type.elem_type for value in untouched.model.graph.input}
    assert types["orig_im_size"] == TensorProto.FLOAT


def test_single_numbers_without_an_axis_are_verified() -> None:
    graph = """(float[1,1,8,8] x, float oh, float ow) => (float[1,1,h,w] y) <int64[2] nc = {1, 1}, int64[1] i0 = {0}> {
        h1 = Cast <to = 7> (oh) hu = Unsqueeze (h1, i0) w1 = Cast <to = 7> (ow) wu = Unsqueeze (w1, i0)
        s = Concat <axis = 0> (nc, hu, wu) y = Resize (x, , , s) }"""
    made = resizefix.legalize(onnx_text.model(graph, 17), target="tensorrt-10", shape_inputs=True)
    assert made.verification.passed
    assert [entry.type.tensor_type.elem_type for entry in made.model.graph.input] == [1, 7, 7]


def test_a_slice_alone_is_reason_enough() -> None:
    result = resizefix.legalize(MODELS["sliced"], target="tensorrt-10", shape_inputs=True)
    assert result
    assert result.integer_inputs[0].slices == ("cut",)


def test_a_refused_legalization_proposes_the_option_that_helps() -> None:
    for name, words in (("small", ("--shape-inputs",)), ("scaled", ("--shape-inputs", "--denominator", "16"))):
        result = resizefix.legalize(MODELS[name], target="tensorrt-rtx", on_refusal="return")
        assert result.outcomes[0].retry_args == words


def test_options_that_mean_nothing_there_are_an_error() -> None:
    with pytest.raises(UsageError, match="is for a target of TensorRT"):
        resizefix.legalize(MODELS["small"], target="onnxruntime", shape_inputs=True)
    with pytest.raises(UsageError, match="divides inputs of scales"):
        resizefix.legalize(MODELS["small"], target="tensorrt-rtx", shape_inputs=True, denominator=4)
    with pytest.raises(UsageError, match="needs shape_inputs"):
        resizefix.legalize(MODELS["small"], target="tensorrt-rtx", denominator=4)


@needs_tensorrt
@pytest.mark.parametrize(("name", "denominator"), [("decoder", None), ("small", None), ("matting", 4), ("matting", 16)])
def test_the_real_builder_takes_the_model_with_the_profile_that_is_said(name: str, denominator: int | None) -> None:
    before = resizefix.repair(MODELS[name], on_refusal="return").model
    options = {} if denominator is None else {"denominator": denominator}
    result = resizefix.legalize(before, target="tensorrt-rtx", shape_inputs=True, **options)
    assert result.profile is not None
    profile = {
        key: {bound: getattr(of, bound) for bound in ("min", "opt", "max")} for key, of in result.profile.items()
    }
    with LiveParser() as parser:
        refused = parser.ask(before.SerializeToString(), build=True)
        found = parser.ask(result.model.SerializeToString(), build=True, profile=profile)
    assert not refused.taken  # type: ignore[union-attr]
    assert found.built, found.errors  # type: ignore[union-attr]


@needs_tensorrt
def test_the_real_builder_takes_resized_positions_after_the_command_that_check_names() -> None:
    before = depth_anything()
    verdict = resizefix.check(before, target="tensorrt-rtx")
    assert [violation.rule for violation in verdict.violations] == ["length-is-seen-equal"]
    assert "`legalize`" in verdict.violations[0].fix
    result = resizefix.legalize(before, target="tensorrt-rtx")
    ranges = {"image": {"min": [1, 3, 140, 140], "opt": [1, 3, 140, 140], "max": [1, 3, 140, 196]}}
    with LiveParser() as parser:
        assert parser.ask(before.SerializeToString(), build=True, profile=ranges).built is False  # type: ignore[union-attr]
        assert parser.ask(result.model.SerializeToString(), build=True, profile=ranges).built  # type: ignore[union-attr]


def test_a_call_in_a_process_of_its_own_and_one_without_verification_make_the_same_model() -> None:
    options = {"target": "tensorrt-rtx", "shape_inputs": True}
    here = resizefix.legalize(MODELS["small"], **options)
    apart = resizefix.legalize(MODELS["small"], timeout=120, **options)
    unverified = resizefix.legalize(MODELS["small"], verify=False, **options)
    assert here.model == apart.model == unverified.model
    assert apart.verification.passed
    assert unverified.verification.status.value == "skipped"
    assert unverified.profile is not None


def test_a_frozen_input_lives_on_where_others_read_it_unless_all_uses_are_frozen() -> None:
    values = {"orig_im_size": [48, 64]}
    kept = resizefix.freeze_scales(MODELS["decoder"], set=values, node=["to_original"])
    assert "reads it too" in kept.outcomes[0].reason
    assert "orig_im_size" in [value.name for value in kept.model.graph.input]
    gone = resizefix.freeze_scales(MODELS["decoder"], set=values, all_uses=True, node=["to_original"])
    assert "for the node 'longest'" in gone.outcomes[0].reason
    assert [value.name for value in gone.model.graph.input] == ["low"]
    low = np.random.default_rng(0).standard_normal((1, 1, 16, 16)).astype(np.float32)
    (expected,) = ort_runs.run(MODELS["decoder"], {"low": low, "orig_im_size": np.array([48, 64], np.float32)})
    np.testing.assert_array_equal(ort_runs.run(gone.model, {"low": low})[0], expected)
