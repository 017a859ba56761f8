"""The value of a Constant node, in any of its spellings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import AttributeProto, NodeProto

from resizefix.document.values import Array

if TYPE_CHECKING:
    from resizefix.document.document import Document

# Constant-12: a single value makes a tensor of rank 0, a list one of rank 1; floats are float32, ints int64.
_SPELLINGS: dict[str, tuple[str, type[np.generic]]] = {
    "value_float": ("f", np.float32),
    "value_floats": ("floats", np.float32),
    "value_int": ("i", np.int64),
    "value_ints": ("ints", np.int64),
    "value_string": ("s", np.object_),
    "value_strings": ("strings", np.object_),
}


def spelled_value(attribute: AttributeProto, spelling: str | None = None) -> Array | None:
    """The value of a Constant node's attribute that is no tensor; None if it is one. `spelling`: the attribute's name,
    where a function's call gives it under another."""
    spelling = spelling or attribute.name
    if spelling not in _SPELLINGS:
        return None
    field, dtype = _SPELLINGS[spelling]
    return np.array(getattr(attribute, field), dtype)


def value_of_node(node: NodeProto, document: Document) -> Array | None:
    """The value of a Constant node of any size; None where it has none that is dense, or its function's call gives it.

    Raises UnreadableModelError, RefusedError.
    """
    attribute = next(iter(node.attribute), None)
    if attribute is None or attribute.ref_attr_name:
        return None
    return document.array(attribute.t) if attribute.name == "value" else spelled_value(attribute)
