"""What is known of every value before run time: its type, sizes and producer, and its value where it is constant."""

from functools import partial

from onnx import GraphProto, ModelProto, NodeProto, TypeProto, helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, DefinitionKind, Scope, subgraphs
from resizefix.document.values import Array
from resizefix.document.view import View
from resizefix.scope_path import Key
from resizefix.shapes.expression import Expression, Number, Size, UntraceableError
from resizefix.shapes.inference import Dims, ValueOf, dims_of, infer, of_known_rank
from resizefix.shapes.operand import MOST_ELEMENTS
from resizefix.shapes.table import has_row
from resizefix.shapes.values import Values

# What exporters apply to weights: folded, the weights would stand in the file twice.
_LEFT = frozenset({"CastLike", "Clip", "Flatten", "Reciprocal", "Round", "Sqrt"})


class ValueInfoMap:
    """Answers about one state of a model, found out in one walk over its nodes in order."""

    def __init__(self, model: ModelProto, value_of: ValueOf) -> None:
        self.scopes = View(model).scopes
        self._values = Values(value_of, self.scopes, sizes=self._sizes, left=_LEFT)
        self._types: dict[Key, TypeProto] = {}
        for start in (self.scopes.main, *self.scopes.functions.values()):
            self._walk(start)

    def _walk(self, scope: Scope) -> None:
        graph = scope.body
        stored = {value.name: value.type for value in graph.value_info}
        if isinstance(graph, GraphProto):
            for value in graph.input:
                declared = value.type if scope.parent is None else of_known_rank(value.type)
                self._types[scope.path, value.name] = declared
            stored.update((value.name, value.type) for value in graph.output)
        for index, node in enumerate(graph.node):
            for body in self.scopes.held.get((scope.path, index), ()):
                self._walk(body)
            if scope.in_function and any(attribute.ref_attr_name for attribute in node.attribute):
                continue  # what it computes is the caller's to say
            if node.domain not in DEFAULT_DOMAINS:  # what is stored is all there is
                types = {name: stored[name] for name in node.output if name in stored}
            elif not self._is_constant(scope, node):
                types = self._infer(scope, index, node)
            else:
                continue
            self._types.update({(scope.path, name): kind for name, kind in types.items()})

    def _is_constant(self, scope: Scope, node: NodeProto) -> bool:
        if not has_row(node) or node.op_type in _LEFT or not all(node.output):
            return False  # and its operands, weights perhaps, stay unread
        values = [value for name in node.output if (value := self._values.array(scope, name)) is not None]
        if len(values) < len(node.output):
            return False
        for name, value in zip(node.output, values, strict=True):
            elem_type = helper.np_dtype_to_tensor_dtype(value.dtype)
            self._types[scope.path, name] = helper.make_tensor_type_proto(elem_type, value.shape)
        return True

    def _sizes(self, definition: Definition) -> list[Expression]:
        dims = self.dims(definition.scope, definition.name)
        if dims is None:
            raise UntraceableError("origins.rank-of-shape-unknown", name=definition.name)
        return [Size(definition.key, axis) if size is None else Number(size, "int64") for axis, size in enumerate(dims)]

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
        return any(kind.tensor_type.elem_type == elem_type for kind in self._types.values())

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
        return self._values.array(scope, name)

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
