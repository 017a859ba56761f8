"""A path, or a document: what comes back is a document, which saves itself."""

from __future__ import annotations

import os

from resizefix.document.document import Document


def is_one(model: object) -> bool:
    """Whether `model` is a path or a document."""
    return isinstance(model, (str, os.PathLike, Document))


def opened(model: str | os.PathLike[str] | Document) -> Document:
    """The file at the path, opened; a document as it is. Raises UnreadableModelError."""
    return model if isinstance(model, Document) else Document.open(model)


def returned(document: Document, like: object) -> Document:
    """The document, as it is."""
    return document
