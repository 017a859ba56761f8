"""An `onnx.ModelProto`, complete in memory.

One whose tensors lie in other files (`onnx.load(path, load_external_data=False)`) does not say in which folder; it is
given as `Document.from_proto(model, folder)`, and what comes back is a document whose `to_proto()` refers to the same
files again.
"""

from __future__ import annotations

from onnx import ModelProto

from resizefix.document.document import Document
from resizefix.interop.in_memory import complete, light_document


def is_one(model: object) -> bool:
    """Whether `model` is an onnx.ModelProto."""
    return isinstance(model, ModelProto)


def opened(model: ModelProto) -> Document:
    """A document of the same content. Raises UsageError where tensors lie in files of an unknown folder."""
    return light_document(model)


def returned(document: Document, like: object) -> ModelProto:
    """The document as a complete ModelProto."""
    return complete(document)
