"""Models of any kind in, the same kind out: a path, or an `onnx.ModelProto`. The argument is never changed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Union

from onnx import ModelProto

from resizefix.document.document import Document
from resizefix.errors import UsageError

Model = Union[str, "os.PathLike[str]", ModelProto, Document]


def opened(model: Model) -> Document:
    """The model as a document. A document is taken as it is: operations work on copies."""
    if isinstance(model, Document):
        return model
    if isinstance(model, ModelProto):
        return Document.from_proto(model)
    if isinstance(model, (str, os.PathLike)):
        return Document.open(Path(model))
    raise UsageError(f"a {type(model).__name__} is no model; give a path or an onnx.ModelProto")


def returned(document: Document, like: Model) -> Document | ModelProto:
    """The document as the kind of thing that `like` is; for a path, a document with `.save(path)`."""
    return document.to_proto() if isinstance(like, ModelProto) else document
