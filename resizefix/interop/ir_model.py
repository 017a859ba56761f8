"""An `onnx_ir.Model`, the form in which onnxscript and torch's exporter hold models.

Through `onnx_ir.serde` both ways, so metadata, doc strings, quantization annotations and inputs with defaults are kept.
External tensors stay external, in the folder they came from. Lost is what only lives in Python: `meta` of the model
and its parts, and which class holds a tensor's numbers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from resizefix.document.document import Document
from resizefix.errors import UsageError
from resizefix.interop.in_memory import complete, light_document

if TYPE_CHECKING:
    import onnx_ir as ir


def is_one(model: object) -> bool:
    """Whether `model` is an onnx_ir.Model."""
    package = sys.modules.get("onnx_ir")
    return package is not None and isinstance(model, package.Model)


def opened(model: ir.Model) -> Document:
    """A document of the same content. Raises UsageError for a model that onnx_ir cannot serialise, and for one whose
    external tensors lie in several folders."""
    import onnx_ir as ir

    folder = _folder(model)
    with _names_kept(model):
        try:
            proto = ir.serde.serialize_model(model)
        except ir.serde.SerdeError as error:
            raise UsageError("interop.ir-not-serialised", error=error, cause=error.__cause__) from error
    return light_document(proto) if folder is None else Document.from_proto(proto, os.path.abspath(folder))


def returned(document: Document, like: ir.Model) -> ir.Model:
    """The document as an onnx_ir.Model, external tensors in the folder that those of `like` have."""
    import onnx_ir as ir

    model = ir.serde.deserialize_model(complete(document))
    folder = _folder(like)
    for tensor in _tensors(model):
        if isinstance(tensor, ir.ExternalTensor) and folder is not None:
            tensor.base_dir = folder
    return model


def _folder(model: ir.Model) -> str | None:
    """The one folder of all external tensors, as it was given; None if there is no such tensor."""
    import onnx_ir as ir

    folders = {os.fspath(tensor.base_dir) for tensor in _tensors(model) if isinstance(tensor, ir.ExternalTensor)}
    if len(folders) > 1:
        raise UsageError("interop.several-folders", repr=", ".join(sorted(map(repr, folders))))
    return folders.pop() if folders else None


@contextmanager
def _names_kept(model: ir.Model) -> Iterator[None]:
    """Serialising gives an initializer's tensor the name of its value; afterwards it has its own again."""
    tensors = [value.const_value for graph in _graphs(model) for value in graph.initializers.values()]
    names = [(tensor, tensor.name) for tensor in tensors if tensor is not None]
    try:
        yield
    finally:
        for tensor, name in names:
            if tensor.name != name:
                tensor.name = name


def _tensors(model: ir.Model) -> Iterator[ir.TensorProtocol]:
    """All tensors with a value: initializers, and attributes of nodes."""
    import onnx_ir as ir

    for graph in _graphs(model):
        yield from (value.const_value for value in graph.initializers.values() if value.const_value is not None)
    for body in (*_graphs(model), *model.functions.values()):
        for node in body:
            for attribute in node.attributes.values():
                if attribute.type == ir.AttributeType.TENSOR and not attribute.is_ref():
                    yield attribute.value


def _graphs(model: ir.Model) -> Iterator[ir.Graph]:
    """The main graph and all bodies inside it and inside functions, which have no initializers themselves."""
    yield model.graph
    yield from model.graph.subgraphs()
    for function in model.functions.values():
        yield from function.subgraphs()
