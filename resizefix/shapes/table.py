"""The table of all operators: what each makes of sizes, what of values, and of which a row says all that a run says."""

from typing import NamedTuple

from onnx import NodeProto

from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.document.values import longest_extent
from resizefix.shapes import (
    arithmetic_values,
    cutting_rows,
    elementwise_rows,
    moving_rows,
    moving_values,
    reshape_row,
    window_rows,
)
from resizefix.shapes.expression import UntraceableError
from resizefix.shapes.operand import MISFITS, MOST_ELEMENTS, SHAPE_READERS, Call, Known, ValueRow
from resizefix.shapes.output_size import BROADCASTING, KEEPING
from resizefix.shapes.reading import DimList, NodeSizes, Row, UnknownRankError


def _by_inference(n: NodeSizes) -> list[DimList]:
    """What onnx's inference of the one node says."""
    raise UnknownRankError


class Operator(NamedTuple):
    """What one operator makes of the sizes of its inputs, and of their values where it has a row for these, too."""

    sizes: Row
    values: ValueRow | None = None


_SIZES: dict[str, Row] = {
    "Constant": _by_inference,
    **elementwise_rows.ROWS,
    **moving_rows.ROWS,
    **cutting_rows.ROWS,
    **reshape_row.ROWS,
    **window_rows.ROWS,
}
_VALUES: dict[str, ValueRow] = {**moving_values.ROWS, **arithmetic_values.ROWS}
OPERATORS = {name: Operator(row, _VALUES.get(name)) for name, row in _SIZES.items()}
# Their rows give the sizes of what comes out, and not all that inputs must have in common.
_UNCHECKED = frozenset(
    {"AffineGrid", "Col2Im", "ConcatFromSequence", "GRU", "LSTM", "NonMaxSuppression", "RNN", "RoiAlign"}
)
# com.microsoft, onnxruntime's own operators: those whose rows are compared with it.
_FOREIGN = frozenset(
    {"FastGelu", "FusedConv", "Gelu", "QLinearAdd", "QLinearConcat", "QLinearLeakyRelu", "QLinearMul"}
    | {"QLinearSigmoid", "QuickGelu"}
)
RUNS_ANYWAY = frozenset(
    {"ArgMax", "ArgMin", "Constant", "ConstantOfShape", "Flatten", "Gather", "GlobalAveragePool", "GlobalLpPool"}
    | {"GlobalMaxPool", "OneHot", "Pad", "Range", "Resize", "Shape", "Size", "Slice", "Tile", "TopK", "Unsqueeze"}
    | {"Upsample"}
)
"""Operators that run whatever their inputs' sizes are, also where it is not known what comes out."""
PASSING = (KEEPING | BROADCASTING) - {
    "PRelu",
    *("BatchNormalization", "InstanceNormalization", "GroupNormalization", "ImageScaler"),
    *("LayerNormalization", "RMSNormalization", "QuantizeLinear", "DequantizeLinear"),
}
"""Operators whose output has the sizes of the first input where no other input can change them."""


def row_for_numbers(node: NodeProto, opset: int) -> Row | None:
    """The row of a node that says of numbers whether they fit; None where there is none, or a function's call gives an
    attribute."""
    has_own_row = node.domain in DEFAULT_DOMAINS or (node.domain == "com.microsoft" and node.op_type in _FOREIGN)
    # Before opset 7 operands were broadcast by other rules, which onnxruntime does not have.
    has_own_row = has_own_row and (opset >= 7 or node.op_type not in BROADCASTING)
    if not has_own_row or node.op_type in _UNCHECKED or any(attribute.ref_attr_name for attribute in node.attribute):
        return None
    operator = OPERATORS.get(node.op_type)
    return None if operator is None else operator.sizes


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
