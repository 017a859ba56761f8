"""The table of all operators: what each makes of sizes, what of values, and of which a row says all that a run says;
and what an opset allows of each: versions, attributes, arities and types.

Source of the latter: onnx.defs, which is the machine's form of docs/Operators.md and docs/Changelog.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from onnx import AttributeProto, NodeProto, TensorProto, TypeProto, defs, helper
from onnx.defs import OpSchema

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.dialect import RESIZES
from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.document.text import counted
from resizefix.document.values import longest_extent
from resizefix.shapes import (
    cutting_rows,
    elementwise_rows,
    moving_rows,
    moving_values,
    reshape_row,
    window_rows,
)
from resizefix.shapes.expression import UntraceableError
from resizefix.shapes.operand import MISFITS, MOST_ELEMENTS, SHAPE_READERS, Call, Known, ValueRow, attribute_of
from resizefix.shapes.output_size import BROADCASTING, KEEPING
from resizefix.shapes.reading import DimList, NodeSizes, Row, UnknownRankError

TypeOf = Callable[[str], "TypeProto | None"]

_VARIADIC = OpSchema.FormalParameterOption.Variadic
_SINGLE = OpSchema.FormalParameterOption.Single


@cache
def schema_of(op_type: str, opset: int) -> OpSchema | None:
    """The schema of an ai.onnx operator in models of `opset`; None where it does not exist there, or no longer."""
    try:
        schema = defs.get_schema(op_type, opset, "")
    except defs.SchemaError:
        return None
    return None if schema.deprecated else schema


@cache
def since_version(op_type: str, opset: int) -> int:
    """The version of an ai.onnx operator that models of `opset` use, deprecated or not; 0 where there is none."""
    try:
        return int(defs.get_schema(op_type, opset, "").since_version)
    except defs.SchemaError:
        return 0


def violation(node: NodeProto, opset: int, type_of: TypeOf) -> str | None:
    """Why `node` is no node of this opset, as a clause; None where it is one. Unknown types are taken on trust."""
    schema = schema_of(node.op_type, opset)
    if schema is None:
        return Diagnostic("opsets.wrong-operator", opset=opset, operator=node.op_type)
    version = f"{node.op_type}-{schema.since_version}"
    strange = [attribute.name for attribute in node.attribute if attribute.name not in schema.attributes]
    if strange:
        return Diagnostic("opsets.wrong-attribute", dialect=version, names=repr(strange[0]))
    present = {attribute.name for attribute in node.attribute}
    missing = [name for name, attribute in schema.attributes.items() if attribute.required and name not in present]
    if missing:
        return Diagnostic("opsets.lacks-attribute", version=version, name=missing[0])
    if not schema.min_input <= len(node.input) <= schema.max_input:
        return Diagnostic("opsets.wrong-inputs", version=version, count=counted(len(node.input), "input"))
    if not schema.min_output <= len(node.output) <= schema.max_output:
        return Diagnostic("opsets.wrong-outputs", version=version, count=counted(len(node.output), "output"))
    return _type_violation(node, schema, version, type_of)


def _type_violation(node: NodeProto, schema: OpSchema, version: str, type_of: TypeOf) -> str | None:
    allowed = {constraint.type_param_str: constraint.allowed_type_strs for constraint in schema.type_constraints}
    bound: dict[str, str] = {}
    for name, formal in [*pairs(node.input, schema.inputs), *pairs(node.output, schema.outputs)]:
        if not name:
            if formal.option == _SINGLE:
                return Diagnostic("opsets.lacks-input", version=version, name=formal.name)
            continue
        actual = type_string(type_of(name))
        if actual is None:
            continue
        if actual not in allowed.get(formal.type_str, [formal.type_str]):
            return Diagnostic("opsets.wrong-type", version=version, kind=actual, name=name)
        if formal.is_homogeneous and bound.setdefault(formal.type_str, actual) != actual:
            first = bound[formal.type_str]
            return Diagnostic("opsets.types-differ", version=version, first=first, second=actual, name=name)
    return None


def pairs(
    names: Sequence[str], formals: Sequence[OpSchema.FormalParameter]
) -> Iterator[tuple[str, OpSchema.FormalParameter]]:
    """The inputs or outputs of a node with what the schema says of each; the last may stand for any number."""
    for position, name in enumerate(names):
        if position < len(formals):
            yield name, formals[position]
        elif formals and formals[-1].option == _VARIADIC:
            yield name, formals[-1]


def output_types(node: NodeProto, opset: int, type_of: TypeOf) -> dict[str, TypeProto]:
    """The element types of a new node's outputs, from its schema and the types of its inputs."""
    schema = schema_of(node.op_type, opset)
    if schema is None:
        return {}
    bound: dict[str, str] = {}
    for name, formal in pairs(node.input, schema.inputs):
        actual = type_string(type_of(name)) if name else None
        if actual is not None:
            bound.setdefault(formal.type_str, actual)
    for constraint in schema.type_constraints:
        if len(constraint.allowed_type_strs) == 1:
            bound[constraint.type_param_str] = next(iter(constraint.allowed_type_strs))
    if node.op_type == "Cast":
        target = attribute_of(node, "to", TensorProto.UNDEFINED)
        if target in TensorProto.DataType.values() and target != TensorProto.UNDEFINED:
            bound["T2"] = f"tensor({TensorProto.DataType.Name(target).lower()})"
    types: dict[str, TypeProto] = {}
    for name, formal in pairs(node.output, schema.outputs):
        spelled = bound.get(formal.type_str, formal.type_str)
        if name and spelled.startswith("tensor("):
            elem_type = TensorProto.DataType.Value(spelled[len("tensor(") : -1].upper())
            types[name] = helper.make_tensor_type_proto(elem_type, None)
    return types


def type_string(value_type: TypeProto | None) -> str | None:
    """A type as schemas spell it: `tensor(float)`, `seq(tensor(int64))`; None where it is unknown."""
    kind = None if value_type is None else value_type.WhichOneof("value")
    if value_type is None or kind is None:
        return None
    if kind == "tensor_type":
        elem_type = value_type.tensor_type.elem_type
        return f"tensor({TensorProto.DataType.Name(elem_type).lower()})" if elem_type else None
    if kind == "sparse_tensor_type":
        return f"sparse_tensor({TensorProto.DataType.Name(value_type.sparse_tensor_type.elem_type).lower()})"
    if kind == "sequence_type":
        return f"seq({type_string(value_type.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({type_string(value_type.optional_type.elem_type)})"
    return str(kind)


_ANY_NUMBER = 2**31 - 1  # what onnx says for "variadic"


class _Needs(NamedTuple):
    """What a schema asks for, read out of it once: how many inputs and outputs, attributes by name."""

    least: int
    most: int
    fewest_outputs: int
    outputs: int
    required: frozenset[str]
    types: dict[str, int]
    version: str

    @property
    def inputs(self) -> str:
        """How many inputs, in words."""
        if self.least == self.most:
            return str(self.least)
        return f"{self.least} to {self.most}" if self.most < _ANY_NUMBER else f"{self.least} or more"


def why_incomplete(node: NodeProto, opset: int) -> str | None:
    """What the node of this opset lacks, or has of another type; None where nothing, or the operator is not known."""
    if node.domain not in DEFAULT_DOMAINS or node.op_type in RESIZES:
        return None
    needs = _needs(node.op_type, opset)
    if needs is None:
        return None
    if not needs.least <= len(node.input) <= needs.most:
        return Diagnostic(
            "opsets.has-inputs", count=counted(len(node.input), "input"), version=needs.version, takes=needs.inputs
        )
    if not needs.fewest_outputs <= len(node.output) <= needs.outputs:
        return Diagnostic("opsets.has-outputs", count=counted(len(node.output), "output"), version=needs.version)
    given = set()
    for attribute in node.attribute:
        name, kind = attribute.name, attribute.type
        given.add(name)
        if kind == AttributeProto.UNDEFINED and not attribute.ref_attr_name:
            return Diagnostic("opsets.has-untyped-attribute", name=name)
        if kind != needs.types.get(name, kind) and kind != AttributeProto.UNDEFINED:
            spelled = AttributeProto.AttributeType.Name(kind)
            return Diagnostic("opsets.has-attribute-of-type", name=name, kind=spelled, version=needs.version)
    lacking = sorted(needs.required - given)
    return Diagnostic("opsets.has-no-attribute", name=lacking[0], version=needs.version) if lacking else None


@lru_cache(maxsize=4096)
def _needs(op_type: str, opset: int) -> _Needs | None:
    # What an opset newer than the installed onnx changed is not known.
    schema = schema_of(op_type, opset) if 0 < opset <= defs.onnx_opset_version() else None
    if schema is None:
        return None
    return _Needs(
        schema.min_input,
        schema.max_input,
        schema.min_output,
        schema.max_output,
        frozenset(name for name, formal in schema.attributes.items() if formal.required),
        {
            name: AttributeProto.AttributeType.Value(str(formal.type).rpartition(".")[2])
            for name, formal in schema.attributes.items()
        },
        f"{op_type}-{schema.since_version}",
    )


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
_VALUES: dict[str, ValueRow] = {**moving_values.ROWS, **elementwise_rows.VALUE_ROWS}
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
