"""What the body of a Scan gives must have a known rank: onnxruntime makes room for it before it runs the body.

It works the rank out where it can ("Subgraph must have the shape set for all outputs", core/providers/cpu/controlflow/
scan_utils.cc), which an edit may put out of its reach. Then it is written into the file, and said.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from math import prod

import numpy as np
from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.edits import set_shape
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope, Scopes, bodies, is_operator, node_label
from resizefix.errors import UnreadableModelError
from resizefix.scope_path import Key
from resizefix.shapes.dependents import Dependents
from resizefix.shapes.stored_shapes import ModelView, Shapes

_MOST_NUMBERS = 64  # of an operand that decides about sizes: one or two for each axis


def store_scan_ranks(document: Document, changed: Collection[Key]) -> dict[Key, str]:
    """Give a rank, as far as it is known, to those outputs of a Scan's body that depend on what was changed and have
    no stored shape; what to tell of it, by what was changed."""
    model = document.proto
    if not changed or not any(node.op_type == "Scan" for _, body in bodies(model) for node in body.node):
        return {}
    view = ModelView(_with_operands_inline(document))
    scopes = view.scopes
    open_outputs = [(scope, value.name) for scope in scopes.all for value in _open_outputs(scope)]
    if not open_outputs:
        return {}
    from resizefix.shapes.axis_sizes import AxisSizes  # few models hold a Scan

    reached = {key: _dependents(scopes, key) for key in changed}
    sizes = AxisSizes(view)
    inferred = Shapes(_with_fixed_shapes_read(view))
    outputs = {(path, value.name): value for path, body in bodies(model) if path.is_body for value in body.output}
    names_of: dict[Key, list[str]] = {}
    for scope, name in open_outputs:
        definition = scopes.definition(scope, name)
        if definition is None or inferred.dims(definition.key) is not None:
            continue  # what inference knows, onnxruntime knows
        causes = [key for key, dependents in reached.items() if definition.key in dependents]
        rank = sizes.rank(definition.key) if causes else None
        if rank is None:
            continue
        set_shape(outputs[scope.path, name], [None] * rank)
        for key in causes:
            names_of.setdefault(key, []).append(_name_of(scope))
    return {
        key: Diagnostic("operations.rank-stored", names=" and ".join(dict.fromkeys(names)))
        for key, names in names_of.items()
    }


def _open_outputs(scope: Scope) -> list[ValueInfoProto]:
    """The outputs of a Scan's body that have no stored shape; of Scan-8, which has a batch axis, none."""
    if scope.parent is None or scope.owner is None or scope.opset < 9:
        return []
    holder = scope.parent.body.node[scope.owner]
    if holder.op_type != "Scan" or holder.domain not in DEFAULT_DOMAINS or not isinstance(scope.body, GraphProto):
        return []
    return [value for value in scope.body.output if not value.type.tensor_type.HasField("shape")]


def _with_operands_inline(document: Document) -> Document:
    """A copy that holds the few numbers of an operand: what lies in another file fails inference, and with it that of
    the Scan around it, which is no matter of ranks."""
    copy = document.copy()
    for _, body in bodies(copy.proto):
        constants = [attribute.t for node in body.node if node.op_type == "Constant" for attribute in node.attribute]
        for tensor in (*constants, *(body.initializer if isinstance(body, GraphProto) else ())):
            if tensor.data_location == TensorProto.EXTERNAL and prod(tensor.dims) <= _MOST_NUMBERS:
                with suppress(UnreadableModelError):  # a file that is not there
                    tensor.CopyFrom(numpy_helper.from_array(document.array(tensor), tensor.name))
    return copy


def _with_fixed_shapes_read(view: ModelView) -> ModelProto:
    """A copy in which the Shape of what has fixed sizes is a constant: onnxruntime follows such a value to the node
    that reads it in every opset, onnx's inference in later ones only."""
    copy = ModelProto()
    copy.CopyFrom(view.model)
    for scope, (_, body) in zip(view.scopes.all, bodies(copy), strict=True):
        for node, copied in zip(scope.body.node, body.node, strict=True):
            if not is_operator(node, "Shape") or not node.input or scope.is_repeated:
                continue
            dims = view.dims(scope, node.input[0])
            if dims is not None and all(isinstance(size, int) for size in dims):
                limits = {attribute.name: attribute.i for attribute in node.attribute}
                sizes = np.array(dims[limits.get("start", 0) : limits.get("end")], np.int64)
                constant = helper.make_node("Constant", [], node.output, value=numpy_helper.from_array(sizes))
                copied.CopyFrom(constant)
    return copy


def _dependents(scopes: Scopes, key: Key) -> set[Key]:
    dependents = Dependents(scopes)
    dependents.add([key])
    return dependents.reached


def _name_of(scope: Scope) -> str:
    """The Scan whose body this is, as messages call it."""
    assert scope.parent is not None
    assert scope.owner is not None
    return node_label(scope.parent.body.node[scope.owner], scope.owner)
