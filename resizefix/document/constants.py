"""The value of a name, if nothing at run time can change it; else why not.

A name is constant when it is an initializer that the caller cannot override, the output of a Constant node (in any of
its spellings), or computed from such names alone by operators that only move and combine numbers. Folding is
onnx.reference's work, one node at a time; values are small (operands of a resize), so its speed does not matter.
A file can say much with little (`ConstantOfShape` of 2⁴⁰): nothing is computed that is not known to be small before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
from onnx import AttributeProto, NodeProto, TensorProto

from resizefix.document.inference import infer_shapes
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, DefinitionKind, Scope, Scopes
from resizefix.document.values import longest_extent
from resizefix.scope_path import Key

if TYPE_CHECKING:
    from resizefix.document.document import Document

Array = npt.NDArray[np.generic]

# These read the shape of their operand and not its data: what lies behind them is not followed.
SHAPE_READERS = frozenset({"Shape", "Size"})
# What chains of scales and sizes are made of: the same result at each run, in no more steps than there are elements.
_FOLDED = frozenset(
    {
        "Abs",
        "Add",
        "And",
        "ArgMax",
        "ArgMin",
        "BitShift",
        "Cast",
        "CastLike",
        "Ceil",
        "Clip",
        "Concat",
        "ConstantOfShape",
    }
    | {"CumSum", "DequantizeLinear", "Div", "Equal", "Erf", "Exp", "Expand", "EyeLike", "Flatten", "Floor", "Gather"}
    | {"GatherElements", "GatherND", "Gemm", "Greater", "GreaterOrEqual", "Identity", "IsInf", "IsNaN", "Less"}
    | {"LessOrEqual", "Log", "MatMul", "Max", "Mean", "Min", "Mod", "Mul", "Neg", "NonZero", "Not", "Or", "Pad", "Pow"}
    | {"QuantizeLinear", "Range", "Reciprocal", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"}
    | {"Relu", "Reshape", "Round", "ScatterElements", "ScatterND", "Shape", "Sigmoid", "Sign", "Size", "Slice", "Split"}
    | {"Sqrt", "Squeeze", "Sub", "Sum", "Tanh", "Tile", "TopK", "Transpose", "Trilu", "Unsqueeze", "Where", "Xor"}
)
# Of those, what inference does not know the size of: never more elements than the operand has, times its rank.
_NEVER_LARGER = frozenset({"NonZero"})
# Folding a constant should never cost memory: a chain over weights is nobody's scale.
_MOST_ELEMENTS = 1 << 16


@dataclass(frozen=True, eq=False)
class Constant:
    """A value that nothing at run time can change. `chain` are the nodes that compute it, last first; empty for a
    direct one."""

    value: Array
    definition: Definition
    chain: tuple[NodeProto, ...] = ()


class NotConstant(NamedTuple):
    """Why a name has no constant value, as a sentence."""

    reason: str


class Constants:
    """Answers `value_of` over one state of a document's scopes; results are remembered."""

    def __init__(self, document: Document, scopes: Scopes) -> None:
        self._document = document
        self._scopes = scopes
        self._known: dict[Key, Constant | NotConstant] = {}

    def value_of(self, scope: Scope, name: str) -> Constant | NotConstant:
        """The constant value of `name` as read in `scope`."""
        definition = self._scopes.definition(scope, name)
        if definition is None:
            return NotConstant(f"nothing in the model defines {name!r}")
        # Depth first with an explicit stack: chains may be longer than Python recurses; a cycle ends in NotConstant.
        pending: list[tuple[Definition, bool]] = [(definition, False)]
        opened: set[Key] = set()
        while pending:
            current, operands_known = pending.pop()
            if current.key in self._known:
                continue
            if operands_known or current.kind is not DefinitionKind.NODE:
                self._known[current.key] = self._fold(current)
                continue
            if current.key in opened:
                self._known[current.key] = NotConstant(f"{current.name!r} depends on itself")
                continue
            opened.add(current.key)
            pending.append((current, True))
            pending.extend((operand, False) for operand in self._operands(current) if operand.key not in self._known)
        found = self._known[definition.key]
        return found if isinstance(found, NotConstant) else replace(found, chain=self._chain(definition))

    def _chain(self, definition: Definition) -> tuple[NodeProto, ...]:
        chain: list[NodeProto] = []
        seen: set[Key] = set()
        pending = [definition]
        while pending:
            current = pending.pop()
            if current.key in seen or current.node is None or _is_constant_node(current.node):
                continue
            seen.add(current.key)
            chain.append(current.node)
            pending.extend(reversed(self._operands(current)))
        return tuple(chain)

    def _operands(self, definition: Definition) -> list[Definition]:
        assert definition.node is not None
        if definition.node.domain not in DEFAULT_DOMAINS or definition.node.op_type not in _FOLDED:
            return []
        if definition.node.op_type in SHAPE_READERS:
            return self._direct_constants(definition)
        found = (self._scopes.definition(definition.scope, name) for name in definition.node.input if name)
        return [operand for operand in found if operand is not None]

    def _direct_constants(self, definition: Definition) -> list[Definition]:
        # The shape of a constant is one; behind any other tensor lies the network, and its weights are not to be read.
        assert definition.node is not None
        found = (self._scopes.definition(definition.scope, name) for name in definition.node.input if name)
        return [
            operand
            for operand in found
            if operand is not None
            and (operand.tensor is not None or (operand.node is not None and _is_constant_node(operand.node)))
        ]

    def _fold(self, definition: Definition) -> Constant | NotConstant:
        if definition.kind is DefinitionKind.INPUT:
            return NotConstant(f"{definition.name!r} is an input")
        if definition.kind is DefinitionKind.DEFAULTED_INPUT:
            return NotConstant(f"{definition.name!r} is an input with a default value")
        if definition.tensor is not None:
            return self._tensor(definition.tensor, definition)
        node = definition.node
        assert node is not None
        if _is_constant_node(node):
            return self._constant_node(node, definition)
        return self._computed(node, definition)

    def _constant_node(self, node: NodeProto, definition: Definition) -> Constant | NotConstant:
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                return NotConstant(f"{definition.name!r} is the function's attribute {attribute.ref_attr_name!r}")
            if attribute.name == "value":
                return self._tensor(attribute.t, definition)
            value = spelled_value(attribute)
            if value is not None:
                return Constant(value, definition)
        return NotConstant(f"the Constant node of {definition.name!r} has no value that is a dense tensor")

    def _tensor(self, tensor: TensorProto, definition: Definition) -> Constant | NotConstant:
        if longest_extent(tensor.dims) > _MOST_ELEMENTS:  # asked of the dims, so that large payloads stay on disk
            return NotConstant(f"{definition.name!r} is too large to be part of a scale")
        return Constant(self._document.array(tensor), definition)

    def _computed(self, node: NodeProto, definition: Definition) -> Constant | NotConstant:
        if node.domain not in DEFAULT_DOMAINS or node.op_type not in _FOLDED:
            return NotConstant(f"{definition.name!r} is computed by {node.op_type}, which is not folded")
        operands: dict[str, Array] = {}
        for name in filter(None, node.input):
            operand = self._scopes.definition(definition.scope, name)
            known = None if operand is None else self._known.get(operand.key)
            if not isinstance(known, Constant) and node.op_type in SHAPE_READERS:
                return NotConstant(f"{definition.name!r} is the shape of {name!r}")
            if not isinstance(known, Constant):
                return known or NotConstant(f"{name!r} has no constant value")
            operands[name] = known.value
        value = _evaluate(node, operands, definition)
        if isinstance(value, NotConstant):
            return value
        return Constant(value, definition)


def _is_constant_node(node: NodeProto) -> bool:
    return node.op_type == "Constant" and node.domain in DEFAULT_DOMAINS


def spelled_value(attribute: AttributeProto) -> Array | None:
    """The value of a Constant node's attribute that is no tensor; None if it is one.

    Constant-12: a single value makes a tensor of rank 0, a list one of rank 1; floats are float32, ints int64.
    """
    if attribute.name == "value_float":
        return np.array(attribute.f, np.float32)
    if attribute.name == "value_floats":
        return np.array(attribute.floats, np.float32)
    if attribute.name == "value_int":
        return np.array(attribute.i, np.int64)
    if attribute.name == "value_ints":
        return np.array(attribute.ints, np.int64)
    if attribute.name == "value_string":
        return np.array(attribute.s, np.object_)
    if attribute.name == "value_strings":
        return np.array(list(attribute.strings), np.object_)
    return None


def _evaluate(node: NodeProto, operands: dict[str, Array], definition: Definition) -> Array | NotConstant:
    # Imported here: onnx.reference costs as much to import as onnx itself, and most models need no folding.
    from onnx.reference import ReferenceEvaluator

    inputs = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.UNDEFINED, None) for name in operands]
    outputs = [onnx.helper.make_tensor_value_info(definition.name, onnx.TensorProto.UNDEFINED, None)]
    graph = onnx.helper.make_graph([node], "fold", inputs, outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", definition.scope.opset)])
    if node.op_type not in _NEVER_LARGER and not _is_small(model, operands):
        return NotConstant(f"{definition.name!r} ({node.op_type}) is too large to be part of a scale")
    try:
        results: Sequence[Any] = ReferenceEvaluator(model).run(None, operands)  # type: ignore[assignment]
        return np.asarray(results[0])
    except (RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError, NotImplementedError) as error:
        # What onnx.reference raises for a node it cannot run is not specified; not folding is always safe.
        return NotConstant(f"{definition.name!r} ({node.op_type}) cannot be folded: {error}")


def _is_small(model: onnx.ModelProto, operands: dict[str, Array]) -> bool:
    """Whether inference knows the size of what a node computes from these values, and it is small."""
    known = onnx.ModelProto()
    known.CopyFrom(model)
    del known.graph.input[:]
    known.graph.initializer.extend(onnx.numpy_helper.from_array(value, name) for name, value in operands.items())
    shape = infer_shapes(known).graph.output[0].type.tensor_type
    dims = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in shape.shape.dim]
    return shape.HasField("shape") and min(dims, default=1) >= 0 and longest_extent(dims) <= _MOST_ELEMENTS
