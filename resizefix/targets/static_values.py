"""What is computed from the sizes of tensors, where those are fixed, or taken to be usual ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, Scope
from resizefix.document.values import Array, Dims
from resizefix.scope_path import Key
from resizefix.shapes.fixed_sizes import know_fixed_sizes
from resizefix.shapes.model_view import ModelView
from resizefix.shapes.provenance import operands_first
from resizefix.shapes.value_table import SHAPE_READERS, has_row, values_or_none

_USUAL_SIZES = (7, 10, 16, 25)


def usual_values(
    view: ModelView, dims: Dims, scope: Scope, name: str
) -> tuple[tuple[tuple[int, ...], tuple[float, ...]], ...]:
    """What `name` is where the open ones of `dims` are usual sizes, each with all of these; nothing where an open size
    has no symbol, or other sizes decide, too."""
    if None in dims or all(isinstance(size, int) for size in dims):
        return ()
    found = []
    for batch, usual in enumerate(_USUAL_SIZES, 1):
        supposed = {size: usual + axis if axis else batch for axis, size in enumerate(dims) if isinstance(size, str)}
        value = StaticValues(view, supposed).value_of(scope, name)
        if value is None or value.dtype.kind not in "fiu":
            return ()
        sizes = tuple(size if isinstance(size, int) else supposed[size] for size in dims if size is not None)
        found.append((sizes, tuple(map(float, value.ravel()))))
    return tuple(found)


class StaticValues:
    """Answers `value_of` over one state of a document; results are remembered. `supposed`: the sizes that symbols are
    taken to have."""

    def __init__(self, view: ModelView, supposed: Mapping[str, int] | None = None) -> None:
        know_fixed_sizes(view)
        self._view = view
        self._supposed = supposed or {}
        self._scopes = view.scopes
        self._known: dict[Key, Array | None] = {}

    def value_of(self, scope: Scope, name: str) -> Array | None:
        """The value of `name` as read in `scope`; None where it depends on data, or on a size that is open."""
        start = self._scopes.definition(scope, name)
        if start is None:
            return None
        for current, circular in operands_first(start, self._operands, self._known):
            self._known[current.key] = None if circular else self._computed(current)
        return self._known[start.key]

    def _operands(self, definition: Definition) -> list[Definition]:
        node = definition.node
        if node is None or node.op_type in SHAPE_READERS or not has_row(node) or self._constant(definition) is not None:
            return []
        return self._scopes.sources(definition.scope, node)

    def _constant(self, definition: Definition) -> Array | None:
        return self._view.value(definition.scope, definition.name)

    def _computed(self, definition: Definition) -> Array | None:
        constant, node = self._constant(definition), definition.node
        if constant is not None or node is None or node.domain not in DEFAULT_DOMAINS or not has_row(node):
            return constant
        sources = [self._scopes.definition(definition.scope, name) if name else None for name in node.input]
        first = sources[0] if sources else None
        dims = None if first is None else self._view.shapes.dims(first.key)
        supposed = self._supposed
        sizes = None if dims is None else [supposed.get(size) if isinstance(size, str) else size for size in dims]
        operands = [None if source is None else self._known.get(source.key) for source in sources]
        found = values_or_none(node, operands, definition.scope.opset, sizes)
        return None if found is None else np.asarray(found[list(node.output).index(definition.name)])
