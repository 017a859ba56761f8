"""The type of every tensor of a model, sizes included, worked out in one walk over its nodes.

The walk goes forward through the main graph, into the bodies of a node before the node itself, and through a local
function once for each kind of call. Of each node it is asked what comes out of what it reads: onnx's inference of the
one node, with the values that follow from constants and sizes; the rows of the table where all sizes are numbers and
onnx leaves one open; and, of a resize, the kernels' rule. What a file stores is merged into that as onnx does. Where
the kernels' rule contradicts what is stored or inferred, nothing that is stored of what depends on it is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, TensorProto, numpy_helper

from resizefix.diagnostics import ResizefixError
from resizefix.dialects.dialect import RESIZES
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, Scope, Scopes, in_order, is_operator
from resizefix.document.values import Array, Dims
from resizefix.document.view import View
from resizefix.scope_path import Key, ScopePath
from resizefix.shapes.dependents import Dependents
from resizefix.shapes.expression import Expression, Number, Size, UntraceableError
from resizefix.shapes.node_types import (
    Naming,
    NodeTypes,
    Outputs,
    body_inputs,
    first_value_read,
    held_outputs,
    listed_size,
)
from resizefix.shapes.operand import MISFITS, Known
from resizefix.shapes.output_size import corrected
from resizefix.shapes.sizes import Sizes
from resizefix.shapes.table import why_incomplete
from resizefix.shapes.value_types import (
    TensorType,
    ValueType,
    concrete,
    constant_array,
    constant_type,
    dims_of,
    merged,
    of_known_rank,
    stored_types,
)
from resizefix.shapes.values import Values

Read = Callable[[TensorProto], Array]
Types = dict[ScopePath, dict[str, ValueType]]
# Operands that determine a shape have at most as many elements as a tensor has axes, or parts.
_FEW = 1024
_MOST_OPEN = 64
# What goes around a loop is looked at again where a size in it was corrected; a longer chain of that is left unknown.
_ROUNDS = 8


class _Run(NamedTuple):
    """The nodes of the main graph, or of a function in one call, which gives `attributes`."""

    types: Types
    values: Values
    attributes: Mapping[str, AttributeProto] | None = None


class ModelTypes:
    """The types in one state of a model. `read` gives the numbers of a tensor; `as_runtime`: see NodeTypes."""

    def __init__(self, scopes: Scopes, read: Read, *, as_runtime: bool = False) -> None:
        self._scopes = scopes
        self._read = reading(read)
        self._sizes = Sizes({})
        self._nodes = NodeTypes(as_runtime=as_runtime)
        self._calls: dict[tuple[object, ...], Outputs] = {}
        self._running: set[ScopePath] = set()
        self._held: dict[ScopePath, dict[int, list[Scope]]] = {}
        for (path, index), bodies in scopes.held.items():
            self._held.setdefault(path, {})[index] = bodies
        self._versions: dict[tuple[ScopePath, str], int | None] = {}
        self._dependents: Dependents | None = None
        self._corrected: set[Key] = set()
        self.types: Types = {}
        for _ in range(_ROUNDS):
            before = len(self._corrected)
            self._walk()
            if len(self._corrected) == before or not any(path for path, _ in self._corrected):
                self._relax([key for key in self._behind if key[0].function is not None])
                break
        else:
            self._relax(self._behind)

    def _walk(self) -> None:
        self._calls.clear()
        self.types = {scope.path: stored_types(scope) for scope in self._scopes.all}
        sizes = {dims_of(kind) for own in self.types.values() for kind in own.values()}
        self._symbols = {size for dims in sizes for size in dims or () if isinstance(size, str)}
        self._invented = 0
        self._graph(self._run(self.types, None, {}), self._scopes.main)

    @property
    def _behind(self) -> set[Key]:
        """What depends on the sizes of a resize that was corrected."""
        return set() if self._dependents is None else self._dependents.resized

    def _relax(self, keys: Sequence[Key] | set[Key]) -> None:
        for path, name in keys:
            kind = of_known_rank(self.types.get(path, {}).get(name))
            if kind is not None:
                self.types[path][name] = kind

    # ---- what is known ----

    def _run(
        self, types: Types, attributes: Mapping[str, AttributeProto] | None, arguments: Mapping[Key, Array]
    ) -> _Run:
        def sizes(definition: Definition) -> list[Expression]:
            return self._expressions(run, definition)

        def given(definition: Definition) -> Array | None:
            if attributes is not None and is_operator(definition.node, "Constant"):
                return constant_array(concrete(definition.node, attributes), self._read)
            return arguments.get(definition.key)

        def unknown(definition: Definition) -> Known | None:
            return self._open_list(self._type_of(run, definition.scope, definition.name))

        run = _Run(types, Values(self._read, self._scopes, sizes=sizes, given=given, unknown=unknown), attributes)
        return run

    def _type_of(self, run: _Run, scope: Scope, name: str) -> ValueType | None:
        """The type of `name` as read in `scope`."""
        current: Scope | None = scope if name else None
        while current is not None:
            kind = run.types.get(current.path, {}).get(name)
            if kind is not None:
                return kind
            tensor = current.initializers.get(name)
            if tensor is not None:
                return TensorType(tensor.data_type, tuple([max(size, 0) for size in tensor.dims]))
            current = None if current.defines(name) else current.parent
        return None

    def _expressions(self, run: _Run, definition: Definition) -> list[Expression]:
        dims = dims_of(self._type_of(run, definition.scope, definition.name))
        if dims is None:
            raise UntraceableError("origins.rank-of-shape-unknown", name=definition.name)
        return [self._expression(definition.key, axis, size) for axis, size in enumerate(dims)]

    def _expression(self, tensor: Key, axis: int, size: int | str | None) -> Expression:
        if isinstance(size, str):
            return self._sizes.root(size, None)
        return Size(tensor, axis) if size is None else Number(size, "int64")

    def _open_list(self, kind: ValueType | None) -> Known | None:
        """Numbers that are not known, as many as a list of sizes has: others are joined to them."""
        if not isinstance(kind, TensorType) or kind.elem_type != TensorProto.INT64 or kind.numbers is None:
            return None
        if not kind.numbers:
            return Known.single("int64", self._sizes.opaque())
        if len(kind.numbers) > 1 or kind.numbers[0] > _MOST_OPEN:
            return None
        return Known.vector("int64", [self._sizes.opaque() for _ in range(kind.numbers[0])])

    def _value(self, run: _Run, scope: Scope, name: str) -> Array | Dims | None:
        """The numbers of an operand, or what is known of those that it lists."""
        dims = dims_of(self._type_of(run, scope, name)) or ()
        if not name or len(dims) > 1 or any(isinstance(size, int) and size > _FEW for size in dims):
            return None
        value = run.values.of(scope, name)
        if not isinstance(value, Known) or len(value.shape) > 1 or (value.shape and value.shape[0] > _FEW):
            return None
        if value.value is not None:
            return value.value
        return tuple(map(listed_size, value.elements)) if value.shape else None

    def _array(self, run: _Run, scope: Scope, name: str) -> Array | None:
        value = self._value(run, scope, name)
        return None if isinstance(value, tuple) else value

    # ---- the walk ----

    def _graph(self, run: _Run, scope: Scope) -> None:
        nodes = scope.body.node
        place = scope.producers.get
        is_sorted = all(place(name, -1) < index for index, node in enumerate(nodes) for name in node.input)
        held = self._held.get(scope.path, {})
        for index in range(len(nodes)) if is_sorted else in_order(list(nodes)):
            node = nodes[index] if run.attributes is None else concrete(nodes[index], run.attributes)
            self._state(run, scope, node, self._outputs(run, scope, node, held.get(index, ())))

    def _outputs(self, run: _Run, scope: Scope, node: NodeProto, bodies: Sequence[Scope]) -> Outputs:
        """The types of a node's outputs, as far as they follow from what it reads."""
        function = self._scopes.called(node)
        if function is not None:
            return self._called(run, scope, node, function)
        types = [self._type_of(run, scope, name) for name in node.input]
        if bodies:
            is_complete = why_incomplete(node, scope.opset) is None
            inputs = body_inputs(node, scope.opset, types) if is_complete else ()
            results = {body.path.attribute or "": self._body(run, body, inputs) for body in bodies}
            if is_operator(node, "If", "Loop", "Scan"):
                taken = self._array(run, scope, node.input[0]) if node.op_type == "If" and node.input else None
                return held_outputs(node, scope.opset, types, results, taken) if is_complete else ()
        if is_operator(node, "Constant"):
            return [constant_type(node)]
        version = self._version(scope, node.domain)
        if version is None:
            return ()
        first = first_value_read(node)
        values = [self._value(run, scope, name) if at >= first else None for at, name in enumerate(node.input)]
        return self._nodes.outputs(
            node, (version, scope.opset), types, values, lambda name: self._array(run, scope, name)
        )

    def _version(self, scope: Scope, domain: str) -> int | None:
        """Which version of a domain a scope imports; None where it imports none."""
        if domain in DEFAULT_DOMAINS:
            return scope.opset
        key = scope.path.outermost, domain
        if key not in self._versions:
            body = self._scopes.by_path[key[0]].body
            imports = body.opset_import if isinstance(body, FunctionProto) else self._scopes.model.opset_import
            self._versions[key] = next((entry.version for entry in imports if entry.domain == domain), None)
        return self._versions[key]

    def _state(self, run: _Run, scope: Scope, node: NodeProto, outputs: Outputs) -> None:
        """Merge what is inferred of a node's outputs with what is stored."""
        types = run.types[scope.path]
        for position, name in enumerate(node.output):
            if not name:
                continue
            inferred = outputs[position] if position < len(outputs) else None
            kind = merged(self._stored(types, scope, name), self._with_symbols(inferred))
            if kind is not None:
                types[name] = kind
        if node.op_type in RESIZES and node.domain in DEFAULT_DOMAINS and node.input and node.output:
            self._correct(run, scope, node)

    def _stored(self, types: Mapping[str, ValueType], scope: Scope, name: str) -> ValueType | None:
        """What is stored of a tensor: without the sizes, where they depend on one that was not true."""
        kind = types.get(name)
        if self._dependents is not None and (scope.path, name) in self._dependents.resized:
            return of_known_rank(kind)
        return kind

    def _with_symbols(self, kind: ValueType | None) -> ValueType | None:
        """A type whose unknown sizes each have a symbol of their own, as onnx invents them."""
        if not isinstance(kind, TensorType) or kind.dims is None or None not in kind.dims:
            return kind
        return TensorType(kind.elem_type, tuple([self._invent() if size is None else size for size in kind.dims]))

    def _invent(self) -> str:
        while (symbol := f"unk__{self._invented}") in self._symbols:
            self._invented += 1
        self._invented += 1
        return symbol

    def _correct(self, run: _Run, scope: Scope, node: NodeProto) -> None:
        """Where the kernels make other sizes of a resize than is stored or inferred: theirs."""
        key = scope.path, node.output[0]
        source, kind = dims_of(self._type_of(run, scope, node.input[0])), run.types[scope.path].get(key[1])
        if source is None or not isinstance(kind, TensorType) or kind.dims is None:
            return
        dims = corrected(node, scope.opset, source, kind.dims, lambda name: self._scales(run, scope, name))
        if dims is not None:
            run.types[scope.path][key[1]] = TensorType(kind.elem_type, dims)
            self._corrected.add(key)
            self._dependents = self._dependents or Dependents(self._scopes)
            self._dependents.add([key])

    def _scales(self, run: _Run, scope: Scope, name: str) -> Array | None:
        """The scales of a resize; of an input that has a default that, of which inference once made a size."""
        value = self._array(run, scope, name)
        home = self._scopes.definition(scope, name)
        if value is not None or home is None or home.tensor is None or len(home.tensor.dims) != 1:
            return value
        try:
            return self._read(home.tensor) if home.tensor.dims[0] <= _FEW else None
        except UntraceableError:
            return None

    # ---- bodies and functions ----

    def _body(self, run: _Run, body: Scope, inputs: Outputs) -> Outputs:
        """What a body makes of these inputs."""
        types = run.types[body.path] = stored_types(body)
        for value, inferred in zip(body.body.input, inputs, strict=False):
            kind = merged(self._stored(types, body, value.name), inferred)
            if kind is not None:
                types[value.name] = kind
        self._graph(run, body)
        return [self._type_of(run, body, value.name) for value in body.body.output]

    def _called(self, run: _Run, scope: Scope, node: NodeProto, function: Scope) -> Outputs:
        """What a function makes in a call."""
        if function.path in self._running or not isinstance(function.body, FunctionProto):
            return ()  # a function that calls itself: nothing runs it
        values = [self._array(run, scope, name) for name in node.input]
        naming = Naming([self._type_of(run, scope, name) for name in node.input], values)
        attributes = {attribute.name: attribute for attribute in (*function.body.attribute_proto, *node.attribute)}
        key = (function.path, naming.key, *[attribute.SerializeToString() for attribute in attributes.values()])
        if key not in self._calls:
            names = list(function.body.input)
            types = {name: kind for name, kind in zip(names, naming.types, strict=False) if kind is not None}
            pairs = zip(names, values, strict=False)
            arguments = {(function.path, name): value for name, value in pairs if value is not None}
            called = self._run({function.path: types}, attributes, arguments)
            self._running.add(function.path)
            self._graph(called, function)
            self._running.remove(function.path)
            self._calls[key] = [self._type_of(called, function, name) for name in function.body.output]
        return naming.back(self._calls[key], self._invent)


def reading(read: Read) -> Read:
    """The same for a walk that goes on where a value cannot be had."""

    def array(tensor: TensorProto) -> Array:
        try:
            return read(tensor)
        except (*MISFITS, ResizefixError) as error:
            raise UntraceableError("document.operands-do-not-fit", operator="Constant", error=error) from error

    return array


def stored_array(tensor: TensorProto) -> Array:
    """The value of a tensor that stands in the model itself. Raises ValueError for another."""
    if tensor.data_location == TensorProto.EXTERNAL:
        raise ValueError(tensor.name)
    return numpy_helper.to_array(tensor)


def types_of(model: ModelProto) -> Types:
    """The types in a model, by scope and name."""
    return ModelTypes(View(model).scopes, stored_array).types
