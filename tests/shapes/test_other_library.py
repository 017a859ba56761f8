"""A library that shares no code with the rows, onnx-shape-inference, gives the tensors of the fixtures the same sizes.

It says them as expressions of the image's height and width, so the two are compared at another size than the file's.
"""

import logging

import numpy as np
import onnx
import onnx_ir as ir
import onnx_shape_inference
import onnxruntime
import pytest
from fixture_models import FIXTURES
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument

from resizefix.diagnostics import ResizefixError
from resizefix.document.document import Document
from resizefix.document.scopes import default_opset
from resizefix.document.values import dims_of
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.walk import OldSizesError, SizeFlow

# It reads no `scales` of Upsample-7 and Resize-10 (0.4.0), and nothing behind them is right.
UNKNOWN_BEFORE = 11
FILES = sorted(path for path in FIXTURES.rglob("*.onnx") if "broken" not in path.parts)


def image_of(model: onnx.ModelProto) -> tuple[str, tuple[int, ...]] | None:
    """The one image that the model takes, and its sizes; usual ones where the file leaves them open."""
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    dims = dims_of(inputs[0].type) if len(inputs) == 1 else ()
    sizes = tuple(size if isinstance(size, int) else usual for size, usual in zip(dims, (1, 3, 16, 24), strict=False))
    return (inputs[0].name, sizes) if len(sizes) == len(dims) == 4 else None


def sizes_by_the_other(model: onnx.ModelProto, name: str, sizes: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """The sizes of tensors where the library knows them all."""
    read = ir.serde.deserialize_model(model)
    for value in read.graph.inputs:
        if value.name == name:
            value.shape = ir.Shape([*sizes[:2], "H", "W"])
    try:
        onnx_shape_inference.infer_symbolic_shapes(read)
    except (onnx_shape_inference.OpUsageError, onnx_shape_inference.ShapeInferenceError):
        return {}  # it gives up at the first node that it cannot read
    found = {}
    for value in (output for node in read.graph for output in node.outputs if output.shape is not None):
        made = [
            size if isinstance(size, int) else size.evaluate(dict(zip("HW", sizes[2:], strict=True)))
            for size in value.shape
        ]
        if all(isinstance(size, int) for size in made):
            found[value.name] = tuple(made)
    return found


def opened(model: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """The model, now with an image of open size and no stored shape that says another."""
    del model.graph.value_info[:]
    for value in model.graph.input:
        if value.name == name:
            for dim in value.type.tensor_type.shape.dim[2:]:
                dim.Clear()
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    return model


def size_in_a_run(model: onnx.ModelProto, name: str, sizes: tuple[int, ...], tensor: str) -> tuple[int, ...] | None:
    """None where the model does not run at these sizes."""
    model.graph.output.append(onnx.ValueInfoProto(name=tensor))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run([tensor], {name: np.zeros(sizes, np.float32)})[0].shape
    except (Fail, InvalidArgument):
        return None


@pytest.mark.filterwarnings("ignore")
def test_another_library_gives_the_tensors_of_the_fixtures_the_same_sizes_at_another_size_or_a_run_refutes_it():
    logging.getLogger("onnx_shape_inference").setLevel(logging.CRITICAL)
    compared, models, refuted = 0, 0, []
    for path in FILES:
        try:
            document = Document.open(path)
        except ResizefixError:
            continue
        model = document.proto
        image = image_of(model)
        if image is None or default_opset(model.opset_import, fallback=1) < UNKNOWN_BEFORE:
            continue
        name, (batch, channels, height, width) = image
        sizes = (batch, channels, 2 * height, 3 * width)
        opened(model, name)
        flow = SizeFlow(ModelView(document), {name: sizes})
        try:
            flow.work_out([output for node in model.graph.node for output in node.output if output])
        except OldSizesError:
            continue  # the file fixes sizes that do not fit another image
        models += 1
        for tensor, made in sizes_by_the_other(model, name, sizes).items():
            own = flow.old(tensor)
            compared += own is not None
            if own is not None and own != made:
                run = size_in_a_run(opened(onnx.load(path), name), name, sizes, tensor)
                assert run in (None, own), f"{path.name}: {tensor}, {made}"
                refuted += [path.name] * (run is not None)
    assert refuted == ["size_rules_disagree.onnx"]  # which onnxruntime rounds otherwise
    assert models >= 80
    assert compared >= 800
