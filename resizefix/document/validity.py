"""Whether onnx.checker, with shape inference, takes a light model, and whether a runtime may load it."""

from __future__ import annotations

from collections.abc import Callable

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, helper

from resizefix.document.edits import set_default_opset
from resizefix.document.scopes import bodies, default_opset
from resizefix.document.values import has_negative_size, stored_values
from resizefix.document.view import View
from resizefix.scope_path import FunctionName


def why_invalid(model: ModelProto) -> str | None:
    """What onnx.checker's full check says against the model; None if nothing."""
    return _complaint(model, lambda copy: onnx.checker.check_model(copy, full_check=True))


def why_not_loaded(model: ModelProto) -> str | None:
    """What keeps onnxruntime from loading the model, as far as onnx.checker and type inference see it; None if nothing.

    onnxruntime reads what the checker refuses: a stored shape that inference contradicts, before IR 4 initializers
    that are no inputs, before opset 9 Constant nodes of integers, and what `_completed` adds. `model`: its nodes in
    order, its domain spelled ''.
    """
    return _complaint(model, _check_as_loaded)


def _check_as_loaded(copy: ModelProto) -> None:
    copy.ir_version = max(copy.ir_version, 4)
    graphs = [body for _, body in bodies(copy) if isinstance(body, GraphProto)]
    for body in graphs if default_opset(copy.opset_import, fallback=1) < 9 else ():
        _take_out_constants(body)
    onnx.checker.check_model(_completed(copy))
    for _, body in bodies(copy):
        for value in (*body.value_info, *(body.output if isinstance(body, GraphProto) else ())):
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
    onnx.shape_inference.infer_shapes(copy, check_type=True, strict_mode=True)


def _completed(model: ModelProto) -> ModelProto:
    """A copy with names of graphs, with types and shapes of inputs and outputs, without metadata, whose keys may be
    equal, and only with functions that are called, of the opset of the model, by which onnxruntime reads them."""
    made = ModelProto()
    made.CopyFrom(model)
    del made.metadata_props[:], made.functions[:]
    called = View(model).scopes.reached
    made.functions.extend(function for function in model.functions if FunctionName.of(function) in called)
    for function in made.functions:
        set_default_opset(function, default_opset(made.opset_import, fallback=1))
    for _, body in bodies(made):
        body.name = body.name or "graph"
    for value in (*made.graph.input, *made.graph.output):
        if value.type.WhichOneof("value") is None:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.SetInParent()
    return made


def _take_out_constants(body: GraphProto) -> None:
    """Tensors of Constant nodes become initializers: before opset 9, Constant lists floating-point types alone."""
    for index in reversed(range(len(body.node))):
        node = body.node[index]
        if node.op_type == "Constant" and len(node.attribute) == 1 and node.attribute[0].HasField("t"):
            tensor = body.initializer.add()
            tensor.CopyFrom(node.attribute[0].t)
            tensor.name = node.output[0]
            del body.node[index]


def _complaint(model: ModelProto, check: Callable[[ModelProto], None]) -> str | None:
    """What `check` says against a copy of the model.

    The checker looks for external data beside the working directory, so tensors whose payload lies in a file stand in
    for it as inputs of the same type and shape; no operand that a shape depends on is that large.
    """
    copy = ModelProto()
    copy.CopyFrom(open_negative_sizes(model))
    for _, body in list(bodies(copy)):
        if isinstance(body, GraphProto):
            _stand_in(body, copy.graph)
    try:
        check(copy)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, ValueError) as error:
        return " ".join(str(error).split()).rstrip(".")
    return None


def _stand_in(body: GraphProto, main: GraphProto) -> None:
    listed = {value.name for value in main.input}
    absent: list[TensorProto] = []
    for index in reversed(range(len(body.initializer))):
        if body.initializer[index].data_location == TensorProto.EXTERNAL:
            absent.append(body.initializer[index])
            del body.initializer[index]
    for index in reversed(range(len(body.node))):
        node = body.node[index]
        tensors = [attribute.t for attribute in node.attribute if attribute.type == AttributeProto.TENSOR]
        if node.op_type == "Constant" and any(tensor.data_location == TensorProto.EXTERNAL for tensor in tensors):
            tensors[0].name = node.output[0]
            absent.append(tensors[0])
            del body.node[index]
    for tensor in absent:
        if tensor.name not in listed:
            main.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))


def open_negative_sizes(model: ModelProto) -> ModelProto:
    """A copy that says nothing of the sizes that are stored as negative ones; the model itself where there are none."""
    if not any(has_negative_size(value.type) for _, body in bodies(model) for value in stored_values(body)):
        return model
    made = ModelProto()
    made.CopyFrom(model)
    for value in (value for _, body in bodies(made) for value in stored_values(body) if has_negative_size(value.type)):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_value < 0:
                dim.ClearField("dim_value")
    return made
