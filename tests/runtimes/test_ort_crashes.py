"""What ends onnxruntime's process is refused before it is loaded or run, and what runs is not."""

import numpy as np
import onnx
import onnx_text
import pytest
from child_python import ended

from resizefix.document.document import Document
from resizefix.runtimes.ort_error import Forecast, crashing_optimizers
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, open_session

PLAIN = """
import sys, numpy, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
session.run(None, {"x": numpy.ones((1, 1, 4, 4), numpy.float32)})
"""
FED = {"x": np.ones((1, 1, 4, 4), np.float32)}
SCALES = "<float[{count}] s = {{{values}}}>"
# By opset: a resize with a list of scales.
FORMS = {
    7: "y = Upsample <scales = [{floats}]> (x)",
    9: "y = Upsample (x, s)",
    10: "y = Resize (x, s)",
    11: "y = Resize (x, s, s)",
    13: 'y = Resize <mode = "linear"> (x, , s)',
}
# What makes a tensor of a negative size, given 4×4.
CUT_TOO_MUCH = {
    "Conv": ("float[1,1,9,1] w = {1,1,1,1,1,1,1,1,1}", "t = Conv (x, w)"),
    "MaxPool": ("", "t = MaxPool <kernel_shape = [9, 1]> (x)"),
    "Pad": ("int64[8] p = {0,0,-3,0,0,0,-3,0}", "t = Pad (x, p)"),
    "Resize": ("float[4] s = {1,1,-2,1}", "t = Resize (x, , s)"),
}


def of_unknown_rank(graph: str, opset: int) -> onnx.ModelProto:
    model = onnx_text.model(graph, opset)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.ClearField("shape")
    return model


def resized(opset: int, *scales: float) -> onnx.ModelProto:
    values = ",".join(map(str, scales))
    node = FORMS[opset].format(floats=",".join(f"{float(scale)}" for scale in scales))
    stored = "" if opset < 9 else SCALES.format(count=len(scales), values=values)
    return of_unknown_rank(f"(float[a] x) => (float[a] y) {stored} {{ {node} }}", opset)


def sliced(operator: str) -> onnx.ModelProto:
    stored, node = CUT_TOO_MUCH[operator]
    stored = ", ".join(filter(None, (stored, "int64[1] a = {1}", "int64[1] b = {3}", "int64[1] axis = {2}")))
    return onnx_text.model(
        f"(float[1,1,4,4] x) => (float[a,b,c,d] y) <{stored}> {{ {node} y = Slice (t, a, b, axis) }}", 13
    )


@pytest.mark.parametrize("optimized", [False, True])
@pytest.mark.parametrize("opset", FORMS)
def test_fewer_scales_than_dimensions_are_a_refusal_of_the_run(opset, optimized):
    session = open_session(Document.from_proto(resized(opset, 1, 2, 2)), optimized=optimized)
    with pytest.raises(CannotRunError, match="its input has 4 dimensions, and it has 3 scales") as refused:
        session.run(FED)
    assert refused.value.op_type in ("Upsample", "Resize")


@pytest.mark.parametrize("opset", FORMS)
def test_as_many_scales_as_dimensions_run_whatever_the_file_says_of_the_rank(opset):
    session = open_session(Document.from_proto(resized(opset, 1, 1, 2, 2)), optimized=False)
    assert session.run(FED)["y"].shape == (1, 1, 8, 8)


@pytest.mark.parametrize(("node", "word"), [("Resize (x, , s)", "scales"), ("Resize (x, , , n)", "sizes")])
def test_numbers_that_are_fed_must_be_as_many_as_dimensions(node, word):
    """A stack is written over by what is too much, where onnxruntime does not compare (up to 1.30)."""
    model = of_unknown_rank(f"(float[a] x, float[b] s, int64[c] n) => (float[a] y) {{ y = {node} }}", 13)
    session = open_session(Document.from_proto(model), optimized=False)
    fed = {**FED, "s": np.ones((1, 3, 32, 48), np.float32), "n": np.ones((1, 3, 32, 48), np.int64)}
    with pytest.raises(CannotRunError, match=f"has 4 dimensions, and it has 4608 {word}"):
        session.run(fed)
    four = {**FED, "s": np.array([1, 1, 2, 2], np.float32), "n": np.array([1, 1, 8, 8])}
    assert session.run(four)["y"].shape == (1, 1, 8, 8)


def test_empty_scales_beside_sizes_are_none():
    nodes = "<float[0] e = {}, int64[4] n = {1,1,8,8}> { y = Resize (x, , e, n) }"
    model = of_unknown_rank(f"(float[a] x) => (float[a] y) {nodes}", 13)
    assert open_session(Document.from_proto(model), optimized=False).run(FED)["y"].shape == (1, 1, 8, 8)


def test_the_rank_is_followed_through_what_is_computed_from_the_feeds_shape():
    nodes = "n = Shape (x) t = Reshape (x, n) r = Relu (t) y = Resize (r, , s)"
    model = of_unknown_rank(f"(float[a] x) => (float[a] y) <float[3] s = {{1,2,2}}> {{ {nodes} }}", 13)
    session = open_session(Document.from_proto(model), optimized=False)
    with pytest.raises(CannotRunError, match="4 dimensions"):
        session.run(FED)


def test_scales_of_axes_that_are_named_are_compared_by_onnxruntime():
    graph = "(float[a] x) => (float[a] y) <float[2] s = {2,2}> { y = Resize <axes = [2, 3]> (x, , s) }"
    assert open_session(Document.from_proto(of_unknown_rank(graph, 18)), optimized=False).run(FED)["y"].shape == (
        1,
        1,
        8,
        8,
    )


@pytest.mark.parametrize("operator", CUT_TOO_MUCH)
def test_a_slice_of_a_negative_size_is_a_refusal_to_load(operator):
    with pytest.raises(CannotLoadError, match="tensor of negative size") as refused:
        open_session(Document.from_proto(sliced(operator)), optimized=False)
    assert refused.value.op_type == "Slice"


def test_a_negative_size_that_means_unknown_is_no_negative_size():
    graph = "(float[1,1,4,4] x) => (float[a,b,c,d] y) <int64[1] a = {1}, int64[1] b = {3}, int64[1] i = {2}>"
    model = onnx_text.model(f"{graph} {{ t = MaxPool <kernel_shape = [2, 2]> (x) y = Slice (t, a, b, i) }}", 13)
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_value = -1
    assert Forecast(model).at_load is None
    assert open_session(Document.from_proto(model), optimized=False).run(FED)["y"].shape == (1, 1, 2, 3)


@pytest.mark.parametrize("model", [resized(13, 1, 2, 2), sliced("Conv")], ids=["scales", "slice"])
def test_onnxruntime_itself_still_ends_the_process_there(model, tmp_path):
    """Where it raises an error instead, the row has lost its reason."""
    onnx.save(model, tmp_path / "model.onnx")
    assert ended("-c", PLAIN, tmp_path / "model.onnx").returncode < 0


def test_no_optimizer_is_left_out_but_where_it_breaks():
    nodes = "v = Cast <to = 1> (w) y = Mul (x, v)"
    fed = onnx_text.model(f"(float[1] x, float16[1] w) => (float[1] y) <float16[1] w = {{16384}}> {{ {nodes} }}", 13)
    constant = onnx.ModelProto.FromString(fed.SerializeToString())
    del constant.graph.input[1]
    assert crashing_optimizers(fed, "1.29.0") == {"FuseFp16InitializerToFp32NodeTransformer"}
    assert crashing_optimizers(fed, "1.30.0") == crashing_optimizers(constant, "1.23.0") == set()
    session = open_session(Document.from_proto(fed), optimized=True)
    assert session.run({"x": np.ones(1, np.float32)})["y"] == [2]
