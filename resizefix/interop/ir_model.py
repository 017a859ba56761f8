"""An `onnx_ir.Model`, the form in which onnxscript and torch's exporter hold models; and torch's `ONNXProgram` of one.

Through `onnx_ir.serde` both ways, so metadata, doc strings, quantization annotations and inputs with defaults are kept.
External tensors stay external, in the folder they came from. Lost is what only lives in Python: `meta` of the model
and its parts, and which class holds a tensor's numbers.

`torch.onnx.export(…, dynamo=True)` returns an `ONNXProgram`: an onnx_ir.Model and where it was exported from. What
comes back is called and saved like the one given; a promoted input is one more argument at the end. torch itself is
not imported. Source: torch/onnx/_internal/exporter/_onnx_program.py (2.13).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from resizefix.diagnostics import UsageError
from resizefix.document.document import Document
from resizefix.interop.in_memory import complete, light_document

if TYPE_CHECKING:
    import onnx_ir as ir


class ONNXProgram(Protocol):
    """What torch's ONNXProgram has, as far as it is used here."""

    model: ir.Model
    exported_program: object

    @property
    def model_proto(self) -> object:
        """The model as an onnx.ModelProto."""

    def __init__(self, model: ir.Model, exported_program: object) -> None: ...


def is_one(model: object) -> bool:
    """Whether `model` is an onnx_ir.Model, or a program of one."""
    return _is_model(model) or _is_program(model)


def _is_model(model: object) -> bool:
    package = sys.modules.get("onnx_ir")
    return package is not None and isinstance(model, package.Model)


def _is_program(model: object) -> bool:
    """Whether it looks like one. Its `model_proto`, which is made when asked for, is not asked for."""
    return hasattr(type(model), "model_proto") and hasattr(model, "exported_program")


def opened(model: Any) -> Document:
    """A document of the same content. Raises UsageError for a model that onnx_ir cannot serialise, for one whose
    external tensors lie in several folders, and for a program of another making."""
    if _is_program(model):
        if not _is_model(model.model):
            kind, of = type(model).__qualname__, type(model.model).__qualname__
            raise UsageError("interop.program-without-ir-model", qualname=kind, qualname_2=of)
        return opened(model.model)
    import onnx_ir as ir

    folder = _folder(model)
    with _names_kept(model):
        try:
            proto = ir.serde.serialize_model(model)
        except ir.serde.SerdeError as error:
            raise UsageError("interop.ir-not-serialised", error=error, cause=error.__cause__) from error
    return light_document(proto) if folder is None else Document.from_proto(proto, os.path.abspath(folder))


def returned(document: Document, like: Any) -> Any:
    """The document as an onnx_ir.Model, external tensors in the folder that those of `like` have; or as a program of
    that and of the same exported program."""
    if _is_program(like):
        return type(like)(returned(document, like.model), like.exported_program)
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
