"""What is known of every value before run time: its type, sizes and producer, and its value where it is constant."""

from functools import partial

from onnx import GraphProto, ModelProto, NodeProto, TypeProto, helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.scopes import DEFAULT_DOMAINS, DefinitionKind, Scope, subgraphs
from resizefix.document.values import Array, longest_extent
from resizefix.document.view import View
from resizefix.scope_path import Key
from resizefix.shapes.node_inference import Dims, ValueOf, dims_of, infer, of_known_rank
from resizefix.shapes.operand import MOST_ELEMENTS
from resizefix.shapes.table import has_row, values_or_none

# What exporters apply to weights: folded, the weights would stand in the file twice.
_LEFT = frozenset({"CastLike", "Clip", "Flatten", "Reciprocal", "Round", "Sqrt"})


class ValueInfoMap:
    """Answers about one state of a model, found out in one walk over its nodes in order."""

    def __init__(self, model: ModelProto, value_of: ValueOf) -> None:
        self.scopes = View(model).scopes
        self._value_of = value_of
        self._constants: dict[Key, Array] = {}
        self._types: dict[Key, TypeProto] = {}
        self._walk(self.scopes.main)

    def _walk(self, scope: Scope) -> None:
        graph = scope.body
        assert isinstance(graph, GraphProto)
        for value in graph.input:
            known = value.type if scope.parent is None else of_known_rank(value.type)
            self._types[scope.path, value.name] = known
        stored = {value.name: value.type for value in (*graph.value_info, *graph.output)}
        for index, node in enumerate(graph.node):
            for body in self.scopes.held.get((scope.path, index), ()):
                self._walk(body)
            if node.domain not in DEFAULT_DOMAINS:  # what is stored is all there is
                found = {name: stored[name] for name in node.output if name in stored}
            elif not self._is_constant(scope, node):
                found = self._infer(scope, index, node)
            else:
                continue
            self._types.update({(scope.path, name): kind for name, kind in found.items()})

    def _is_constant(self, scope: Scope, node: NodeProto) -> bool:
        if not has_row(node) or node.op_type in _LEFT:
            return False  # and its operands, weights perhaps, stay unread
        operands = [self.constant(scope, name) if name else None for name in node.input]
        values = values_or_none(node, operands, scope.opset, self.dims(scope, node.input[0]) if node.input else None)
        for name, value in zip(node.output, values or (), strict=False):
            self._constants[scope.path, name] = value
            elem_type = helper.np_dtype_to_tensor_dtype(value.dtype)
            self._types[scope.path, name] = helper.make_tensor_type_proto(elem_type, value.shape)
        return values is not None

    def _infer(self, scope: Scope, index: int, node: NodeProto) -> dict[str, TypeProto]:
        bodies = {
            name: [self.type_of(body, value.name) for value in graph.output]
            for body, (name, graph) in zip(self.scopes.held.get((scope.path, index), ()), subgraphs(node), strict=True)
        }
        return infer(node, scope.opset, partial(self.type_of, scope), partial(self.constant, scope), bodies)

    def type_of(self, scope: Scope, name: str) -> TypeProto | None:
        """The type of `name` as read in `scope`, if known."""
        home = self.scopes.definition(scope, name)
        if home is None:
            return None
        if home.key not in self._types and home.tensor is not None:
            self._types[home.key] = helper.make_tensor_type_proto(home.tensor.data_type, home.tensor.dims)
        return self._types.get(home.key)

    def dims(self, scope: Scope, name: str) -> Dims | None:
        """The sizes of `name`, None where one is dynamic; None altogether where even the rank is unknown."""
        return dims_of(self.type_of(scope, name))

    def holds(self, elem_type: int) -> bool:
        """Whether any value of the model has this element type."""
        return any(found.tensor_type.elem_type == elem_type for found in self._types.values())

    def body_dims(self, scope: Scope, index: int, attribute: str) -> list[Dims | None]:
        """The sizes of each output of the body that node `index` of `scope` holds under `attribute`."""
        names = [name for name, _ in subgraphs(scope.body.node[index])]
        body = self.scopes.held[scope.path, index][names.index(attribute)]
        assert isinstance(body.body, GraphProto)
        return [self.dims(body, value.name) for value in body.body.output]

    def producer(self, scope: Scope, name: str) -> NodeProto | None:
        """The node that computes `name`; None for inputs and constants."""
        definition = self.scopes.definition(scope, name)
        return None if definition is None else definition.node

    def constant(self, scope: Scope, name: str) -> Array | None:
        """The value of `name` as read in `scope`, where nothing at run time can change it and it is not large."""
        home = self.scopes.definition(scope, name)
        if home is None:
            return None
        if home.key not in self._constants:
            tensor = home.tensor if home.kind is DefinitionKind.INITIALIZER else None
            if tensor is None or longest_extent(tensor.dims) > MOST_ELEMENTS:
                return None
            self._constants[home.key] = self._value_of(tensor)
        return self._constants[home.key]

    def why_not_constant(self, scope: Scope, name: str) -> str:
        """Why `constant` gives None, as the end of a sentence about `name`."""
        definition = self.scopes.definition(scope, name)
        kind = None if definition is None else definition.kind
        if kind is DefinitionKind.DEFAULTED_INPUT:
            return Diagnostic("opsets.is-defaulted-input")
        if kind is DefinitionKind.INPUT:
            return Diagnostic("opsets.is-input")
        if kind is DefinitionKind.INITIALIZER:
            return Diagnostic("opsets.is-large", most=MOST_ELEMENTS)
        return Diagnostic("opsets.is-computed")
