"""What is known of every value before run time: its type, sizes and producer, and its value where it is constant."""

from __future__ import annotations

import math

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, helper

from resizefix.document.scopes import DefinitionKind, Scope, Scopes, subgraphs
from resizefix.opsets.inference import Array, Dims, ValueOf, inferred

# Constants above this many elements are weights: no operand of a rule, and better left on disk.
LARGEST = 1 << 16

Key = tuple[tuple[int, ...], str]  # (order of the scope that defines it, name)


class Knowledge:
    """Answers about one snapshot of a model. `learn` adds what folding finds out."""

    def __init__(self, model: ModelProto, value_of: ValueOf) -> None:
        self.scopes = Scopes(model)
        self._value_of = value_of
        self._constants: dict[Key, Array] = {}
        self._types: dict[Key, TypeProto] = {}
        for scope in Scopes(inferred(model, value_of)).all:
            if isinstance(scope.body, GraphProto):
                for field in (scope.body.value_info, scope.body.output, scope.body.input):
                    for value in field:
                        self._types.setdefault((scope.order, value.name), value.type)

    def _home(self, scope: Scope, name: str) -> Scope | None:
        current: Scope | None = scope
        while current is not None and not current.defines(name):
            current = current.parent
        return current

    def type_of(self, scope: Scope, name: str) -> TypeProto | None:
        """The type of `name` as read in `scope`, if known."""
        home = self._home(scope, name)
        if home is None:
            return None
        if name in home.initializers and name not in home.inputs:
            tensor = home.initializers[name]
            return helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
        return self._types.get((home.order, name))

    def dims(self, scope: Scope, name: str) -> Dims | None:
        """The sizes of `name`, None where one is dynamic; None altogether where even the rank is unknown."""
        found = self.type_of(scope, name)
        if found is None or not found.tensor_type.HasField("shape"):
            return None
        return tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in found.tensor_type.shape.dim)

    def holds(self, elem_type: int) -> bool:
        """Whether any value of the model has this element type."""
        return any(found.tensor_type.elem_type == elem_type for found in self._types.values())

    def body_dims(self, scope: Scope, index: int, attribute: str) -> list[Dims | None]:
        """The sizes of each output of the body that node `index` of `scope` holds under `attribute`."""
        position = [name for name, _ in subgraphs(scope.body.node[index])].index(attribute)
        body = next(found for found in self.scopes.all if found.order == (*scope.order, index, position))
        assert isinstance(body.body, GraphProto)
        return [self.dims(body, value.name) for value in body.body.output]

    def producer(self, scope: Scope, name: str) -> NodeProto | None:
        """The node that computes `name`; None for inputs and constants."""
        definition = self.scopes.definition(scope, name)
        return None if definition is None else definition.node

    def learn(self, scope: Scope, name: str, value: Array) -> None:
        """Remember that `name`, which `scope` defines, always has this value."""
        self._constants[scope.order, name] = value

    def constant(self, scope: Scope, name: str) -> Array | None:
        """The value of `name` as read in `scope`, where nothing at run time can change it and it is not large."""
        home = self._home(scope, name)
        if home is None:
            return None
        key = (home.order, name)
        if key not in self._constants:
            tensor = self._initializer(home, name)
            if tensor is None or math.prod(tensor.dims) > LARGEST:
                return None
            self._constants[key] = self._value_of(tensor)
        return self._constants[key]

    def why_not_constant(self, scope: Scope, name: str) -> str:
        """Why `constant` gives None, as the end of a sentence about `name`."""
        definition = self.scopes.definition(scope, name)
        kind = None if definition is None else definition.kind
        if kind is DefinitionKind.DEFAULTED_INPUT:
            return "is an input with a default, which the caller may override"
        if kind is DefinitionKind.INPUT:
            return "is an input"
        if kind is DefinitionKind.INITIALIZER:
            return f"has more than {LARGEST} elements"
        return "is computed at run time"

    def _initializer(self, home: Scope, name: str) -> TensorProto | None:
        definition = self.scopes.definition(home, name)
        return definition.tensor if definition is not None and definition.kind is DefinitionKind.INITIALIZER else None
