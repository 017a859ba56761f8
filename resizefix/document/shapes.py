"""What is known of every tensor's type and shape, and how it is re-derived after an edit made some sizes dynamic.

Stored shapes that an edit made untrue are the silent killer: onnxruntime believes `value_info` and folds a `Shape`
node to
the old size, with wrong numbers and no error. So `rederive` forgets every stored shape that depends on the edited
tensors, wherever it stands (outer and inner scopes, function bodies), and fills in what onnx.shape_inference can prove
from seeds that say which sizes are still fixed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onnx import FunctionProto, GraphProto, ModelProto, TensorProto, TypeProto, ValueInfoProto

from resizefix.document.edits import FIRST_IR_WITH_DEFAULTS, set_shape
from resizefix.document.inference import infer_shapes
from resizefix.document.names import FreshNames
from resizefix.document.scopes import DefinitionKind, Reader, Scope, Scopes, bodies

Dims = tuple[int | str | None, ...]
Key = tuple[tuple[str, ...], str]  # (scope path, name)


class Shapes:
    """Types and shapes of a model's tensors: what is stored, and what inference adds to it."""

    def __init__(self, model: ModelProto) -> None:
        self._types: dict[Key, TypeProto] = {}
        self._initializers: dict[Key, TensorProto] = {}
        for path, body in bodies(_inferred(model)):
            for value in _stored_values(body):
                self._types.setdefault((path, value.name), value.type)
            if isinstance(body, GraphProto):
                self._initializers.update(((path, tensor.name), tensor) for tensor in body.initializer)

    def dims(self, key: Key) -> Dims | None:
        """Known sizes of a tensor, symbols as text, None where unknown; None altogether if even the rank is unknown."""
        found = self._types.get(key)
        if found is None and key in self._initializers:
            return tuple(size if size >= 0 else None for size in self._initializers[key].dims)
        if found is None or not found.HasField("tensor_type") or not found.tensor_type.HasField("shape"):
            return None
        return dims_of(found)

    def elem_type(self, key: Key) -> int | None:
        """The element type (a TensorProto.DataType), if known."""
        found = self._types.get(key)
        if found is None:
            return self._initializers[key].data_type or None if key in self._initializers else None
        return found.tensor_type.elem_type or None


def dims_of(value_type: TypeProto) -> Dims:
    """The sizes stored in a tensor type; a negative one is a spelling of "unknown"."""
    return tuple(
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else (dim.dim_param or None)
        for dim in value_type.tensor_type.shape.dim
    )


def rederive(model: ModelProto, seeds: Mapping[Key, Dims | None]) -> None:
    """Make every stored shape that depends on the seeded tensors true again; all others stay as they are.

    `seeds` gives, for each edited tensor, the sizes that are still fixed (None: no longer; no sizes at all: not even
    the rank is known). Dynamic sizes get fresh
    symbolic names. Tensors that had no stored shape get none. Where inference knows nothing, the rank is all that
    stays.
    """
    scopes = Scopes(model)
    tainted = _dependents(scopes, seeds)
    stored = [
        (scope, value, dims_of(value.type) if value.type.tensor_type.HasField("shape") else None)
        for scope in scopes.all
        for value in _stored_values(scope.body)
        if (scope.path, value.name) in tainted
    ]
    symbols = FreshNames(_symbols(model))
    for _, value, _ in stored:
        _forget(value)
    derived = _derive_from(model, seeds)
    renamed: dict[str, str] = {}
    known_symbols = _symbols(model)
    for scope, value, old in stored:
        if old is None:
            continue
        dims = derived.dims((scope.path, value.name)) or (None,) * len(old)
        named: list[int | str | None] = []
        for axis, size in enumerate(dims):
            if size is None:
                size = symbols.fresh(f"{value.name}_dim_{axis}")
            elif isinstance(size, str) and size not in known_symbols:
                if size not in renamed:
                    renamed[size] = symbols.fresh(f"{value.name}_dim_{axis}")
                size = renamed[size]
            named.append(size)
        set_shape(value, named)


def _derive_from(model: ModelProto, seeds: Mapping[Key, Dims | None]) -> Shapes:
    copy = ModelProto()
    copy.CopyFrom(model)
    fixed: dict[tuple[str, ...], dict[str, Dims]] = {}
    for (path, name), dims in seeds.items():
        if dims is not None:
            fixed.setdefault(path, {})[name] = dims
    for path, body in bodies(copy):
        wanted = fixed.get(path, {})
        present = [value for value in _stored_values(body) if value.name in wanted] if wanted else []
        there = {value.name for value in present}
        for name in (name for name in wanted if name not in there):
            present.append(body.value_info.add())
            present[-1].name = name
        for value in present:
            set_shape(value, wanted[value.name])
    return Shapes(copy)


def _inferred(model: ModelProto) -> ModelProto:
    copy = ModelProto()
    copy.CopyFrom(model)
    if model.ir_version >= FIRST_IR_WITH_DEFAULTS:
        # Inference takes a default for a constant and would write shapes that hold for no other value.
        inputs = {value.name for value in copy.graph.input}
        for index in reversed(range(len(copy.graph.initializer))):
            if copy.graph.initializer[index].name in inputs:
                del copy.graph.initializer[index]
    return infer_shapes(copy)


def _stored_values(body: GraphProto | FunctionProto) -> Iterator[ValueInfoProto]:
    yield from body.value_info
    if isinstance(body, GraphProto):
        yield from body.output
        yield from body.input


def _symbols(model: ModelProto) -> set[str]:
    return {
        dim.dim_param
        for _, body in bodies(model)
        for value in _stored_values(body)
        for dim in value.type.tensor_type.shape.dim
        if dim.dim_param
    }


def _forget(value: ValueInfoProto) -> None:
    kind = value.type.WhichOneof("value")
    if kind == "tensor_type":
        value.type.tensor_type.ClearField("shape")
    elif kind == "sequence_type":
        value.type.sequence_type.elem_type.tensor_type.ClearField("shape")
    elif kind == "optional_type":
        value.type.optional_type.elem_type.tensor_type.ClearField("shape")


def _dependents(scopes: Scopes, seeds: Mapping[Key, object]) -> set[Key]:
    """Every name whose value depends on a seed: through nodes, into and out of bodies and local functions.

    Where a body or function is concerned the answer errs on the side of too many: what is fixed is derived again.
    """
    by_path = {scope.path: scope for scope in scopes.all}
    inner: dict[tuple[tuple[str, ...], int], list[Scope]] = {}
    calls: dict[tuple[str, ...], list[tuple[Scope, int]]] = {}
    for scope in scopes.all:
        if scope.parent is not None and scope.owner is not None:
            inner.setdefault((scope.parent.path, scope.owner), []).append(scope)
        for index, node in enumerate(scope.body.node):
            function = (f"function {node.domain}::{node.op_type}",)
            if function in by_path:
                calls.setdefault(function, []).append((scope, index))

    tainted: set[Key] = set()
    pending: list[Key] = list(seeds)

    def reach_outputs(scope: Scope, index: int) -> None:
        pending.extend((scope.path, name) for name in scope.body.node[index].output if name)

    def leave(scope: Scope) -> None:  # a graph output of a body, or an output of a function, depends on a seed
        if scope.parent is not None and scope.owner is not None:
            reach_outputs(scope.parent, scope.owner)
            pending.extend((scope.path, name) for name in scope.inputs)  # carried around the loop
        for caller, index in calls.get(scope.path, ()):
            reach_outputs(caller, index)

    def enter(reader: Reader) -> None:
        assert reader.node is not None
        assert reader.node_index is not None
        for body in inner.get((reader.scope.path, reader.node_index), ()):
            pending.extend((body.path, name) for name in body.inputs)
        function = by_path.get((f"function {reader.node.domain}::{reader.node.op_type}",))
        if function is not None:
            pending.extend((function.path, name) for name in function.inputs)

    while pending:
        key = pending.pop()
        if key in tainted:
            continue
        tainted.add(key)
        definition = scopes.definition(by_path[key[0]], key[1])
        if definition is None or (definition.kind is DefinitionKind.INITIALIZER and key not in seeds):
            continue
        for reader in scopes.readers(definition):
            if reader.node_index is None:
                leave(reader.scope)
            else:
                reach_outputs(reader.scope, reader.node_index)
                enter(reader)
    return tainted
