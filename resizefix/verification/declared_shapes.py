"""What to feed where the file fixes the size of an output that an input decides.

Fed anything else, the file contradicts itself: onnxruntime believes the one or the other, and there is nothing to
compare with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import NodeProto

from resizefix.dialects.dialect import RESIZES, dialect_of, is_resize
from resizefix.document.document import Document
from resizefix.document.edits import set_shape
from resizefix.document.scopes import DEFAULT_DOMAINS, DefinitionKind, Scopes
from resizefix.document.values import Array, Dims
from resizefix.document.view import View
from resizefix.errors import RefusedError
from resizefix.scope_path import MAIN
from resizefix.shapes.output_lengths import BROADCASTING, KEEPING
from resizefix.shapes.stored_shapes import Shapes


def feeds_from_declared_shapes(document: Document, given: Mapping[str, Sequence[int]]) -> dict[str, Array]:
    """Values for the inputs that are the scales or sizes of a node between tensors of fixed size, by name.

    `given` are the shapes of inputs that the user fixes.
    """
    graph = document.proto.graph
    inputs = {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}
    if not any(node.op_type in RESIZES and not inputs.isdisjoint(node.input[1:]) for node in graph.node):
        return {}
    scopes = View(document.proto).scopes
    fed = [
        (node, position, name)
        for node in scopes.main.body.node
        if is_resize(node)
        for position, name in enumerate(node.input)
        if position and name and (found := scopes.definition(scopes.main, name)) is not None
        if found.kind is DefinitionKind.INPUT
    ]
    if not fed:
        return {}
    fixed = document.copy().proto
    for value in fixed.graph.input:
        if value.name in given:
            set_shape(value, list(given[value.name]))
    shapes, declared = Shapes(fixed), dict[str, Array]()
    for node, position, name in fed:
        try:
            dialect = dialect_of(node.op_type, scopes.main.opset)
        except RefusedError:  # another node, that is not valid
            continue
        before, after = shapes.dims((MAIN, node.input[0])), _behind(scopes, shapes, node)
        lengths = _lengths(node, before), _lengths(node, after)
        if lengths[0] is None or lengths[1] is None or len(lengths[0]) != len(lengths[1]):
            continue
        if position == dialect.sizes_input:
            declared[name] = np.array(lengths[1], np.int64)
        elif position == dialect.scales_input and 0 not in lengths[0]:
            declared[name] = np.array(lengths[1], np.float32) / np.array(lengths[0], np.float32)
    return declared


def _behind(scopes: Scopes, shapes: Shapes, node: NodeProto) -> Dims | None:
    """The fixed sizes of what a node makes, or else of what is made of that elementwise: sizes that it may have."""
    pending = [node.output[0]]
    seen = set(pending)
    while pending:
        name = pending.pop()
        dims = shapes.dims((MAIN, name))
        if dims is not None and all(isinstance(size, int) for size in dims):
            return dims
        definition = scopes.definition(scopes.main, name)
        for reader in () if definition is None else scopes.readers(definition):
            made = reader.node
            if made is None or reader.scope is not scopes.main or made.domain not in DEFAULT_DOMAINS:
                continue
            keeps = made.op_type in BROADCASTING or (made.op_type in KEEPING and reader.position == 0)
            if keeps and made.output[0] not in seen:
                seen.add(made.output[0])
                pending.append(made.output[0])
    return shapes.dims((MAIN, node.output[0]))


def _lengths(node: NodeProto, dims: Dims | None) -> list[int] | None:
    """The sizes on the axes that the node's operand has a number for; None where one is not fixed."""
    if dims is None:
        return None
    axes = next((list(attribute.ints) for attribute in node.attribute if attribute.name == "axes"), range(len(dims)))
    sizes = [dims[axis] for axis in axes if -len(dims) <= axis < len(dims)]
    fixed = [size for size in sizes if isinstance(size, int)]
    return fixed if len(fixed) == len(list(axes)) else None
