"""Scales or sizes in a data file beside the model, as `onnx.save_model(size_threshold=0)` leaves them.

onnxruntime infers the output's shape from them before it opens that file, and does not load the model.
"""

from __future__ import annotations

from onnx import TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import Change
from resizefix.document.payloads import THRESHOLD
from resizefix.document.scopes import Definition
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.resize_node import ResizeNode

EXTERNAL_EXTENT = "external-extent"


def external_extent(node: ResizeNode, _: Preferences) -> Fault | None:
    """Constant scales or sizes whose values stand in another file."""
    where = node.places
    for what in ("scales", "sizes"):
        operand = node.operands.get(where.get(what, -1))
        stored = None if operand is None else _stored(node.definition(operand.name))
        if operand is None or operand.value is None or stored is None:
            continue
        # Longer payloads of any model are references in memory.
        if stored.data_location != TensorProto.EXTERNAL or operand.value.nbytes >= THRESHOLD:
            continue
        tensor = node.constant(what, operand.value)
        change = Change(node.with_input(operand.position, tensor.name), initializers=[tensor])
        because = Diagnostic("faults.extent-external", what=what)
        return Fault(EXTERNAL_EXTENT, because, Diagnostic("faults.extent-in-model"), change, stops_loading=True)
    return None


def _stored(made: Definition | None) -> TensorProto | None:
    """The initializer, or the tensor of a Constant node."""
    if made is None or made.tensor is not None:
        return None if made is None else made.tensor
    if made.node is None or made.node.op_type != "Constant":
        return None
    return next((attribute.t for attribute in made.node.attribute if attribute.name == "value"), None)
