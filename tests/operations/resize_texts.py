"""Resizes in ONNX text, and what is asked of the outcomes of an operation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import onnx_text
from onnx import GraphProto, ModelProto, TensorProto, numpy_helper

from resizefix.document.document import Document
from resizefix.outcome import Status

ONE = "y = Resize (x, , s)"
BY_2 = "float[4] s = {1, 1, 2, 2}"
X = "float[1,3,8,8] x"


def resizing(
    nodes: str = ONE, constants: str = "", x: str = X, y: str = "float[?,?,?,?] y", *, opset: int = 13, ir: int = 8
) -> ModelProto:
    """These nodes, of the domain "local" too, from the inputs `x` to the outputs `y`."""
    held = f"<{constants}>" if constants else ""
    domains = ["local"] if "local." in nodes else []
    return onnx_text.model(f"({x}) => ({y}) {held} {{ {nodes} }}", opset, *domains, ir=ir)


def in_another_file(model: ModelProto, path: Path, *, constants: bool = False) -> Document:
    """The model with the values of its initializers in another file, or those of its constants, too."""
    for tensor in tensors_of(model.graph):
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
    external = {"save_as_external_data": True, "size_threshold": 0, "convert_attribute": constants}
    onnx.save_model(model, path, location=f"{path.name}.data", **external)
    return Document.open(path)


def tensors_of(graph: GraphProto) -> list[TensorProto]:
    """The initializers and the values of constants, in the bodies of nodes too."""
    attributes = [attribute for node in graph.node for attribute in node.attribute]
    held = [attribute.t for attribute in attributes if attribute.HasField("t")]
    bodies = [tensor for attribute in attributes if attribute.HasField("g") for tensor in tensors_of(attribute.g)]
    return [*graph.initializer, *held, *bodies]


def operators(made: Any) -> list[str]:
    """The operators of the main graph of a document, or of what an operation made."""
    document = getattr(made, "document", made)
    return [node.op_type for node in document.proto.graph.node]


def inputs(made: Any) -> list[str]:
    return [value.name for value in made.document.proto.graph.input]


def statuses(made: Any) -> list[Status]:
    return [outcome.status for outcome in made.outcomes]


def refusal(made: Any) -> str:
    """Why the only outcome is refused."""
    assert statuses(made) == [Status.REFUSED]
    return made.outcomes[0].reason or ""
