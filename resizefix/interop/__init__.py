"""Models of any kind in, the same kind out; the argument is never changed. One file per package that has its own.

| given | what comes back in `result.model` |
|---|---|
| a path | a `Document`, with `.save(path)` and `.to_proto()` |
| a `Document` | a `Document`; `Document.from_proto(model, folder)`: a ModelProto with data in files of `folder` |
| `onnx.ModelProto` | a ModelProto, complete |
| `onnx_graphsurgeon.Graph` | a Graph (graphsurgeon_graph.py says what such a graph cannot hold) |
| `onnx_ir.Model` | a Model; external tensors stay external |
| torch's `ONNXProgram` | an ONNXProgram of the same `exported_program` |

No package is imported that the caller has not imported: an object of its classes could not be here.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING, Any, Union

from onnx import ModelProto

from resizefix.diagnostics import UsageError
from resizefix.document.document import Document
from resizefix.interop.in_memory import complete, light_document

if TYPE_CHECKING:
    import onnx_ir

    from resizefix.interop.graphsurgeon_graph import Graph
    from resizefix.interop.ir_model import ONNXProgram

OfAnotherPackage = Union["Graph", "onnx_ir.Model", "ONNXProgram"]
Model = Union[str, "os.PathLike[str]", Document, ModelProto, OfAnotherPackage]


def opened(model: Model) -> Document:
    """The model as a document. A document is taken as it is: operations work on copies.

    Raises UsageError for what is no model, or cannot be used as it is; UnreadableModelError for a file that cannot be
    read; RefusedError where the package of that kind of model would write something else than it holds.
    """
    if isinstance(model, (str, os.PathLike)):
        return Document.open(model)
    if isinstance(model, ModelProto):
        return light_document(model)
    document: Document = model if isinstance(model, Document) else _kind(model).opened(model)
    return document


def returned(document: Document, like: Model) -> Any:
    """The document as the kind of thing that `like` is. Raises RefusedError where that kind cannot hold the result."""
    if isinstance(like, (str, os.PathLike, Document)):
        return document
    return complete(document) if isinstance(like, ModelProto) else _kind(like).returned(document, like)


def _kind(model: Model) -> ModuleType:
    """The module of that package's kind of model: `is_one`, `opened`, `returned`."""
    from resizefix.interop import graphsurgeon_graph, ir_model  # most models are files

    for kind in (graphsurgeon_graph, ir_model):
        if kind.is_one(model):
            return kind
    raise UsageError("interop.no-model", module=type(model).__module__, qualname=type(model).__qualname__)
