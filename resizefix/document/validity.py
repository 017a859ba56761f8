"""Whether onnx.checker, with shape inference, takes a light model."""

from __future__ import annotations

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, helper

from resizefix.document.scopes import bodies


def why_invalid(model: ModelProto) -> str | None:
    """What onnx.checker's full check says against the model; None if nothing.

    The checker looks for external data beside the working directory, so tensors whose payload lies in a file stand in
    for it as inputs of the same type and shape; no operand that a shape depends on is that large.
    """
    copy = ModelProto()
    copy.CopyFrom(model)
    for _, body in list(bodies(copy)):
        if isinstance(body, GraphProto):
            _stand_in(body, copy.graph)
    try:
        onnx.checker.check_model(copy, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, ValueError) as error:
        return " ".join(str(error).split())
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
