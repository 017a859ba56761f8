"""What the body of a Scan gives must have a known rank: onnxruntime makes room for it before it runs the body.

It works the rank out where it can ("Subgraph must have the shape set for all outputs", core/providers/cpu/controlflow/
scan_utils.cc), which an edit may put out of its reach. Then it is written into the file.
"""

from __future__ import annotations

from collections.abc import Iterable

from onnx import GraphProto, ModelProto, ValueInfoProto

from resizefix.dialects.shapes import shapes_of
from resizefix.document.dependents import Dependents
from resizefix.document.edits import set_shape
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope, Scopes, bodies
from resizefix.document.shapes import Key
from resizefix.origins.axis_sizes import AxisSizes


def store_scan_ranks(model: ModelProto, changed: Iterable[Key]) -> None:
    """Give a rank, as far as it is known, to those outputs of a Scan's body that depend on what was changed and have
    no stored shape."""
    if not any(node.op_type == "Scan" for _, body in bodies(model) for node in body.node):
        return
    scopes = Scopes(model)
    found = [(scope, value) for scope in scopes.all for value in _open_outputs(scope)]
    if not found:
        return
    dependents = Dependents(scopes)
    dependents.add(changed)
    shapes = shapes_of(model)
    sizes = AxisSizes(scopes, shapes)
    for scope, value in found:
        definition = scopes.definition(scope, value.name)
        if definition is None or definition.key not in dependents.reached or shapes.dims(definition.key) is not None:
            continue  # what inference knows, onnxruntime knows
        rank = sizes.rank(definition.key)
        if rank is not None:
            set_shape(value, [None] * rank)


def _open_outputs(scope: Scope) -> list[ValueInfoProto]:
    """The outputs of a Scan's body that have no stored shape; of Scan-8, which has a batch axis, none."""
    if scope.parent is None or scope.owner is None or scope.opset < 9:
        return []
    holder = scope.parent.body.node[scope.owner]
    if holder.op_type != "Scan" or holder.domain not in DEFAULT_DOMAINS or not isinstance(scope.body, GraphProto):
        return []
    return [value for value in scope.body.output if not value.type.tensor_type.HasField("shape")]
