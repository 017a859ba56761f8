"""Values folded through single nodes, by the rows of the table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import NodeProto

from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.document.values import Array, longest_extent
from resizefix.shapes.expression import UntraceableError
from resizefix.shapes.operand import MISFITS, MOST_ELEMENTS, SHAPE_READERS, Call, Known, sizes_read
from resizefix.shapes.table import OPERATORS


def apply(call: Call) -> list[Known]:
    """The outputs of a node, as far as its row gives them. Raises UntraceableError."""
    operator = OPERATORS.get(call.operator)
    if operator is None or operator.values is None:
        raise UntraceableError("document.operator-is-not-followed", operator=call.operator)
    try:
        outputs = operator.values(call)
    except MISFITS as error:  # what numpy and onnx say of what does not fit
        raise UntraceableError("document.operands-do-not-fit", operator=call.operator, error=error) from error
    if sum(longest_extent(output.shape) for output in outputs) > MOST_ELEMENTS:
        raise UntraceableError("document.operator-makes-too-much", operator=call.operator)
    return outputs


def has_row(node: NodeProto) -> bool:
    """Whether the outputs of a node may be known where its operands are, or their sizes."""
    operator = OPERATORS.get(node.op_type) if node.domain in DEFAULT_DOMAINS else None
    return operator is not None and (operator.values is not None or node.op_type in SHAPE_READERS)


def values(
    node: NodeProto, operands: Sequence[Array | None], opset: int, dims: Sequence[int | None] | None = None
) -> list[Array]:
    """The numbers of a node's outputs, from those of its operands, or from the sizes of the first (`dims`).

    An operand that is left out, or not known, is None. Raises UntraceableError.
    """
    if node.op_type in SHAPE_READERS and len(node.output) == 1:
        return [_sizes(node, dims)]
    for name, value in zip(node.input, operands, strict=True):
        if name and value is None:
            raise UntraceableError("document.operand-not-known", name=name)
    known = [None if value is None else Known.constant(value) for value in operands]
    found = [output.value for output in apply(Call(node, known, opset))]
    results = [value for value in found if value is not None]
    if len(results) != len(node.output):
        raise UntraceableError("document.operator-makes-too-much", operator=node.op_type)
    return results


def values_or_none(
    node: NodeProto, operands: Sequence[Array | None], opset: int, dims: Sequence[int | None] | None
) -> list[Array] | None:
    """The same; None where they cannot be said, or an output has no name."""
    try:
        return values(node, operands, opset, dims) if all(node.output) else None
    except UntraceableError:
        return None


def _sizes(node: NodeProto, dims: Sequence[int | None] | None) -> Array:
    if dims is None:
        raise UntraceableError("document.sizes-read-not-known", operator=node.op_type)
    wanted = sizes_read(node, dims)
    if None in wanted:
        raise UntraceableError("document.size-read-open", operator=node.op_type)
    found = np.array(wanted, np.int64)
    return found if node.op_type == "Shape" else np.array(np.prod(found, dtype=np.int64))
