"""The first elements of tensors inside bodies and local functions, as one more output of the model.

Of several turns or calls, the largest that an element was in any; -inf where it was not computed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto

from resizefix.document.document import Document
from resizefix.document.scopes import Scope
from resizefix.document.view import View
from resizefix.scope_path import Key
from resizefix.verification.carried_vector import CarriedVector, watched_bodies

ELEMENTS = 3  # of a tensor, each of which is taken for itself
_SINCE = 11  # before, the numbers of Pad were attributes


class InnerTensors(NamedTuple):
    """A copy of a model with the output `name`, and where in that each tensor stands."""

    document: Document
    name: str
    parts: Mapping[Key, slice]


def with_inner_tensors(document: Document, keys: Collection[Key]) -> InnerTensors | None:
    """The copy that gives those of the tensors that a vector can be carried from; None where there is none."""
    copy = document.copy()
    scopes = View(copy.proto).scopes
    bodies = watched_bodies(scopes)
    seen = {scope.path for scope in bodies} | {scope.path for scope in scopes.all if scope.path.function is not None}
    seen -= {scope.path for scope in scopes.all if scope.opset < _SINCE}
    wanted = [key for key in dict.fromkeys(keys) if key[0] in seen]
    parts = {key: slice(ELEMENTS * at, ELEMENTS * (at + 1)) for at, key in enumerate(wanted)}
    neutral = np.full(ELEMENTS * len(wanted), -np.inf)

    def itself(vector: CarriedVector, scope: Scope, first: list[NodeProto], last: list[NodeProto]) -> str | None:
        vectors = [
            _placed(vector, last, key[1], part, len(neutral)) for key, part in parts.items() if key[0] == scope.path
        ]
        return vector.node(last, "Max", vectors) if vectors else None

    name = CarriedVector(copy, scopes, bodies, neutral, "Max", itself).write() if wanted else None
    return None if name is None else InnerTensors(copy, name, parts)


def _placed(vector: CarriedVector, nodes: list[NodeProto], tensor: str, part: slice, length: int) -> str:
    """Nodes that put the first elements of the tensor at that part of a vector of such a length."""

    def numbers(*values: int) -> str:
        return vector.constant(nodes, np.array(values, np.int64))

    missing = vector.constant(nodes, np.full(ELEMENTS, -np.inf))
    wide = vector.node(nodes, "Cast", [tensor], to=TensorProto.DOUBLE)
    flat = vector.node(nodes, "Reshape", [wide, numbers(-1)])
    filled = vector.node(nodes, "Concat", [flat, missing], axis=0)
    cut = vector.node(nodes, "Slice", [filled, numbers(0), numbers(ELEMENTS)])
    around = numbers(part.start, length - part.stop)
    return vector.node(nodes, "Pad", [cut, around, vector.constant(nodes, np.array(-np.inf))])
