"""What a node must compute once a fault is gone: read from the fix, not from what became of the file."""

from __future__ import annotations

from dataclasses import dataclass

from onnx import NodeProto, numpy_helper

from resizefix.dialects.dialect import dialect_of
from resizefix.dialects.read import read
from resizefix.document.values import Array
from resizefix.errors import RefusedError
from resizefix.faults.fault import Fault
from resizefix.faults.resize_node import ResizeNode
from resizefix.interpolation import Interpolation


@dataclass(frozen=True)
class Meant:
    """The meaning of the fixed node, where it can be read, and the numbers of its constant operands."""

    interpolation: Interpolation | None
    values: dict[str, Array]


def meant_by(node: ResizeNode, fault: Fault) -> Meant:
    """What the node means after the fix of this fault."""
    change = fault.change
    assert change is not None
    fixed: NodeProto = node.node if change.node is None else change.node
    try:
        reading = read(fixed, dialect_of(fixed.op_type, change.opset or node.opset))
    except RefusedError:  # another fault is still there
        return Meant(None, {})
    added = {tensor.name: numpy_helper.to_array(tensor) for tensor in change.initializers}
    operands = reading.operands
    values: dict[str, Array] = {}
    stays = not change.others and not change.before  # what makes the operands
    for what, name in (("roi", operands.roi), ("scales", operands.scales), ("sizes", operands.sizes)):
        value = added.get(name or "")
        if value is None and name and stays:
            value = node.view.value(node.scope, name)
        if value is not None:
            values[what] = value
    return Meant(reading.interpolation, values)
