"""`size` of trt-legacy, freeze-scales and legalize: a dynamic model gets that input size first."""

import numpy as np
import onnx
import ort_runs
import pytest
from fixture_models import DYNAMIC, FIXTURES, SRCNN
from onnx import helper

import resizefix
from resizefix.diagnostics import UsageError
from resizefix.outcome import Status

EXPORT = FIXTURES / "computed_sizes_opset13.onnx"  # torch 2.13; its sizes are floor(1.5 x those of the input)
OLDER = FIXTURES / "computed_scales_opset10.onnx"
SIZE = (25, 34)
CALLS = {
    "trt-legacy": (resizefix.trt_legacy, {}),
    "freeze-scales": (resizefix.freeze_scales, {}),
    "legalize": (resizefix.legalize, {"target": "opencv-4", "live": False}),
}


def run(model):
    x = np.random.default_rng(0).random((1, 3, *SIZE), np.float32)
    return ort_runs.run(model, {model.graph.input[0].name: x})[0]


def sizes(model):
    return [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim][2:]


@pytest.mark.parametrize("model", [EXPORT, OLDER], ids=lambda path: path.stem)
@pytest.mark.parametrize("name", CALLS)
def test_a_model_that_is_refused_is_changed_at_a_size_and_computes_what_the_original_does_there(name, model):
    call, options = CALLS[name]
    refused = call(model, on_refusal="return", **options)
    advice = {one.retry_args for one in refused.outcomes if one.status is Status.REFUSED}
    assert advice == {("--size", "224x224")}
    made = call(onnx.load(model), size=SIZE, **options)
    assert [one.status for one in made.outcomes] == [Status.CHANGED]
    assert made.verification.passed
    assert {tuple(shape)[2:] for run in made.verification.runs for shape in run.shapes.values()} == {SIZE}
    assert made.resolution.size == SIZE
    assert sizes(made.model) == list(SIZE)
    assert {"Shape", "Size"}.isdisjoint(node.op_type for node in made.model.graph.node if name == "trt-legacy")
    np.testing.assert_allclose(run(made.model), run(onnx.load(model)), rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("words", "model"),
    [
        (("trt-legacy",), EXPORT),
        (("freeze-scales",), OLDER),
        (("legalize", "--target", "opencv-4", "-n", "#0"), EXPORT),
    ],
)
def test_the_command_that_is_suggested_succeeds(words, model, tmp_path, call):
    typed = words[0], model, tmp_path / "o.onnx", *words[1:]
    code, _, error = call(*typed)
    assert code == 1
    assert "--size 224x224" in error
    assert call(*typed, "--size", "224x224")[0] == 0
    assert sizes(onnx.load(tmp_path / "o.onnx")) == [224, 224]


@pytest.mark.parametrize("name", CALLS)
def test_a_size_that_the_file_fixes_otherwise_is_an_error_of_use(name):
    call, options = CALLS[name]
    with pytest.raises(UsageError, match="has the fixed size"):
        call(SRCNN, size=SIZE, **options)


def test_no_size_is_suggested_where_none_helps():
    """A static model; and one whose operators opset 8 does not know at any size."""
    unknown = onnx.load(EXPORT)
    output = unknown.graph.output[0].name
    unknown.graph.node.append(helper.make_node("Celu", [output], ["celu"], name="celu"))
    unknown.graph.output[0].name = "celu"
    for model in (SRCNN, unknown):
        made = resizefix.trt_legacy(model, lower=False, on_refusal="return")
        assert not made.changed
        assert {one.retry_args for one in made.outcomes} == {()}


def test_a_model_that_only_needs_its_size_is_written_with_it(call, tmp_path):
    """At a fixed size the target accepts every node as it is: the file of that size is the answer."""
    assert call("legalize", DYNAMIC, tmp_path / "o.onnx", "--target", "onnxruntime", "--size", "25x34")[0] == 0
    assert sizes(onnx.load(tmp_path / "o.onnx")) == list(SIZE)


def test_a_model_that_has_the_size_and_is_accepted_needs_nothing(call, tmp_path):
    has = "x".join(map(str, sizes(onnx.load(SRCNN))))
    code, printed, _ = call("legalize", SRCNN, tmp_path / "o.onnx", "--target", "onnxruntime", "--size", has)
    assert code == 0
    assert "nothing to do" in printed
    assert not (tmp_path / "o.onnx").exists()
