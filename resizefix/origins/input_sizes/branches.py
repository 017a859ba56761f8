"""An If whose condition is the same at every size of the input, as torch writes `squeeze(1)`: the branch it takes."""

from __future__ import annotations

import numpy as np
from onnx import GraphProto, NodeProto

from resizefix.document.constants import value_of_node
from resizefix.document.operator_semantics.operand import attribute_of
from resizefix.origins.input_sizes.dim import Dim
from resizefix.origins.input_sizes.node_reading import DimList, axis_of
from resizefix.origins.input_sizes.operands import Operands, Place


def taken(operands: Operands, index: int, node: NodeProto) -> GraphProto | None:
    """The branch that an If takes at every size; None where that is not known."""
    known = operands.known(Place(index, 0), node.input[0]) if node.op_type == "If" and node.input else None
    if known is None or known.value is None or known.value.size != 1:
        return None
    wanted = "then_branch" if bool(known.value.flat[0]) else "else_branch"
    branch: GraphProto | None = attribute_of(node, wanted)
    return branch


def only_node(branch: GraphProto) -> NodeProto | None:
    """The one node of a branch that gives its output, where all others are constants and none holds a size."""
    nodes = [node for node in branch.node if node.op_type != "Constant"]
    whole = len(nodes) == len(branch.output) == 1 and list(nodes[0].output) == [branch.output[0].name]
    return nodes[0] if whole and nodes[0].op_type in ("Squeeze", "Identity") else None


def dims_after(operands: Operands, branch: GraphProto, node: NodeProto, dims: DimList) -> list[Dim] | None:
    """The sizes that the node of a branch makes; None where its axes are no constants."""
    if node.op_type == "Identity":
        return list(dims)
    axes = _axes(operands, branch, node)
    if axes is None:
        return None
    gone = {axis_of(axis, len(dims)) for axis in axes}
    return [dim for axis, dim in enumerate(dims) if axis not in gone]


def _axes(operands: Operands, branch: GraphProto, node: NodeProto) -> list[int] | None:
    written = attribute_of(node, "axes")
    if written is not None:
        return list(written)
    name = node.input[1] if len(node.input) > 1 else ""
    inner = next((constant for constant in branch.node if name in constant.output), None)
    if inner is not None:
        array = value_of_node(inner, operands.view.document)
    else:
        array = operands.array(name) if operands.is_constant(name) else None
    return None if array is None else [int(axis) for axis in np.ravel(array)]
