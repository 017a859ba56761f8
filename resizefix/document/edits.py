"""The one place that changes a document.

Each function makes one small, complete change to the light model and leaves everything else as it is; what was not
changed here is written back byte for byte by `Document.save`. None of them knows what a resize is.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, MutableSequence, Sequence
from typing import Any, NamedTuple

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, TensorShapeProto, ValueInfoProto, helper

from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, DefinitionKind, Reader, Scope, bodies
from resizefix.document.values import dims_in, stored_values, tensor_of
from resizefix.document.view import View
from resizefix.scope_path import FunctionName, Key, ScopePath

# IR 4 is the first in which an initializer need not be, and if it is an input may be overridden (docs/IR.md,
# ir_version 4).
FIRST_IR_WITH_DEFAULTS = 4
_LONGEST = 2**63 - 1  # dim_value is an int64


def add_graph_input(model: ModelProto, value: ValueInfoProto, default: TensorProto | None = None) -> None:
    """Append a graph input; with `default` (of the same name) the caller need not feed it, which raises the IR to ≥
    4."""
    model.graph.input.append(value)
    if default is not None:
        model.graph.initializer.append(default)
        model.ir_version = max(model.ir_version, FIRST_IR_WITH_DEFAULTS)


def pass_into_functions(model: ModelProto, names: Collection[tuple[FunctionName, str]]) -> None:
    """For each (function, name) let the local function take another input `name`, which every call passes on.

    `name` is a value of the main graph and free everywhere else. A function that calls this one takes it too.
    """
    if not names:
        return
    scopes = View(model).scopes
    for start, name in names:
        pending, done = [start], set()
        while pending:
            callee = pending.pop()
            if callee in done:
                continue
            done.add(callee)
            function = scopes.functions[callee].body
            position = len(function.input)
            function.input.append(name)
            for caller, index in scopes.calls[callee]:
                set_input(caller.body.node[index], position, name)
                pending.extend(filter(None, [caller.path.function]))


def drop_unread_arguments(model: ModelProto, names: Container[str]) -> None:
    """Take back what `pass_into_functions` did for these names, where the function does not read them any more."""
    unread = True
    while unread:  # a call that passes no more may leave the function around it with an unread input
        unread = False
        scopes = View(model).scopes
        for called, scope in scopes.functions.items():
            for position, name in reversed(list(enumerate(scope.body.input))):
                definition = scopes.definition(scope, name)
                if name not in names or definition is None or scopes.readers(definition):
                    continue
                unread = True
                del scope.body.input[position]
                for caller, index in scopes.calls[called]:
                    arguments = caller.body.node[index].input
                    if position < len(arguments):
                        del arguments[position]


def insert_nodes(body: GraphProto | FunctionProto, index: int, nodes: Sequence[NodeProto]) -> None:
    """Insert nodes so that the first of them stands at `index`."""
    for offset, node in enumerate(nodes):
        body.node.insert(index + offset, node)


def add_initializer(model: ModelProto, tensor: TensorProto) -> None:
    """Append a constant to the main graph, where every inner scope sees it; up to IR 3 it is listed as an input."""
    model.graph.initializer.append(tensor)
    if model.ir_version < FIRST_IR_WITH_DEFAULTS:
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))


def replace_nodes(body: GraphProto | FunctionProto, instead: Mapping[str, Sequence[NodeProto]]) -> None:
    """Let `instead[output]` stand where the node that writes `output` stood; the last of them gets its doc_string and
    metadata."""
    places = {index: name for index, node in enumerate(body.node) for name in node.output if name in instead}
    for index, output in reversed(places.items()):
        nodes = instead[output]
        old = NodeProto()
        old.CopyFrom(body.node[index])
        del body.node[index]
        insert_nodes(body, index, nodes)
        last = body.node[index + len(nodes) - 1]
        if old.doc_string and not last.doc_string:
            last.doc_string = old.doc_string
        if not last.metadata_props:
            last.metadata_props.extend(old.metadata_props)


class NodeEdit(NamedTuple):
    """An edit around one node. Every part is optional.

    `node` takes the place of the node; `before` and `after` are put around it. `initializers` are added to the main
    graph. `others` replaces nodes of the same scope, by the position in its list. `types` sets the stored element type
    of tensors of the same scope; what is stored of those `forgotten` goes. `opset` is the version of ai.onnx that the
    model imports afterwards. `resized`: the output may be of another size than the file states.
    """

    node: NodeProto | None = None
    before: Sequence[NodeProto] = ()
    after: Sequence[NodeProto] = ()
    initializers: Sequence[TensorProto] = ()
    others: Mapping[int, NodeProto] = {}
    types: Mapping[str, int] = {}
    forgotten: Sequence[str] = ()
    opset: int | None = None
    resized: bool = False


def apply_around(model: ModelProto, body: GraphProto | FunctionProto, index: int, change: NodeEdit) -> None:
    """Make the change of the node at `index`, but for the opset. Nodes before `index` keep their positions."""
    for tensor in change.initializers:
        add_initializer(model, tensor)
    for place, other in change.others.items():
        body.node[place].CopyFrom(other)
    if change.node is not None:
        body.node[index].CopyFrom(change.node)
    insert_nodes(body, index + 1, change.after)
    insert_nodes(body, index, change.before)
    for value in body.value_info:
        if value.name in change.types:
            value.type.tensor_type.elem_type = change.types[value.name]
    drop_named(body.value_info, change.forgotten)


def set_input(node: NodeProto, position: int, name: str) -> None:
    """Let input `position` of a node read `name`; inputs left out before it become empty names.

    With an empty `name` the input is given up, and so are empty names that then end the list.
    """
    if name:
        node.input.extend([""] * (position + 1 - len(node.input)))
        node.input[position] = name
    elif position < len(node.input) and node.input[position]:
        node.input[position] = ""
        while node.input and not node.input[-1]:
            del node.input[-1]


def remove_attribute(node: NodeProto, name: str) -> None:
    """Let a node say nothing of the attribute `name`."""
    for attribute in [attribute for attribute in node.attribute if attribute.name == name]:
        node.attribute.remove(attribute)


def set_default_opset(model: ModelProto | FunctionProto, version: int) -> None:
    """Let the model or function import this version of the ai.onnx domain."""
    for entry in model.opset_import:
        if entry.domain in DEFAULT_DOMAINS:
            entry.version = version


def drop_overridable_inputs(model: ModelProto) -> list[str]:
    """Make every input that has a default (IR ≥ 4) a constant, no longer listed as an input. Returns their names."""
    if model.ir_version < FIRST_IR_WITH_DEFAULTS:
        return []
    initialized = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name in initialized]
    drop_named(model.graph.input, set(names))
    return names


def remove_unread(model: ModelProto, names: Iterable[Key]) -> list[str]:
    """Remove the given definitions (scope path, name) as far as nothing reads them any more, then what only they read.

    Goes: an initializer (with its listing among the graph's inputs, as IR 3 demands) and a node of the ai.onnx domain
    all of whose outputs are unread. An input that the caller feeds stays. Returns the names removed.
    """
    scopes = View(model).scopes
    pending = [start for path, name in names if (start := scopes.definition(scopes.by_path[path], name)) is not None]
    dead_nodes: dict[tuple[ScopePath, int], Scope] = {}
    dead_tensors: dict[ScopePath, set[str]] = {}
    removed: dict[Key, None] = {}

    def unread(definition: Definition) -> bool:
        return not any(_is_alive(reader, dead_nodes) for reader in scopes.readers(definition))

    while pending:
        definition = pending.pop()
        if definition.key in removed or not unread(definition):
            continue
        if definition.kind is DefinitionKind.INITIALIZER:
            dead_tensors.setdefault(definition.scope.path, set()).add(definition.name)
            removed[definition.key] = None
        elif definition.node is not None and definition.node.domain in DEFAULT_DOMAINS:
            scope, node = definition.scope, definition.node
            outputs = [scopes.definition(scope, name) for name in node.output if name]
            if not all(unread(output) for output in outputs if output is not None):
                continue
            dead_nodes[scope.path, scope.producers[definition.name]] = scope
            removed.update({output.key: None for output in outputs if output is not None})
            pending.extend(scopes.sources(scope, node))

    for (_, index), scope in sorted(dead_nodes.items(), key=lambda item: item[0][1], reverse=True):
        del scope.body.node[index]
    for path, dead in dead_tensors.items():
        drop_named(scopes.by_path[path].body.initializer, dead)
        drop_named(scopes.by_path[path].body.input, dead)
    gone: dict[ScopePath, set[str]] = {}
    for path, name in removed:
        gone.setdefault(path, set()).add(name)
    for path, unlisted in gone.items():
        drop_named(scopes.by_path[path].body.value_info, unlisted)
    return [name for _, name in removed]


def _is_alive(reader: Reader, dead_nodes: Container[tuple[ScopePath, int]]) -> bool:
    # A reader is dead with its node, or with any node that holds the body it stands in.
    scope: Scope | None = reader.scope
    index = reader.node_index
    while scope is not None:
        if index is not None and (scope.path, index) in dead_nodes:
            return False
        index, scope = scope.owner, scope.parent
    return True


def drop_named(field: MutableSequence[Any], names: Container[str]) -> None:
    """Take what has one of the names off a list of a message."""
    for index in reversed(range(len(field))):
        if field[index].name in names:
            del field[index]


def rename_symbols(model: ModelProto, names: Mapping[str, str]) -> None:
    """Give symbols of stored shapes other names."""
    for _, body in bodies(model):
        for value in stored_values(body):
            tensor = tensor_of(value.type)
            for dim in tensor.shape.dim if tensor is not None else ():
                if dim.dim_param in names:
                    dim.dim_param = names[dim.dim_param]


def set_shape(value: ValueInfoProto, dims: Sequence[int | str | None] | None) -> None:
    """Give a tensor value another shape: numbers stay numbers, names become symbols, None is unknown; no list, no
    rank. A number above what the file can say (int64) is left unknown, too: nothing that long is ever run.

    A size that it has already stays as it is written; of another one the denotation and unknown fields stay.
    """
    if dims is None:
        value.type.tensor_type.ClearField("shape")
        return
    write_dims(value.type.tensor_type.shape, dims)


def write_dims(shape: TensorShapeProto, dims: Sequence[int | str | None]) -> None:
    """`set_shape` for a shape by itself."""
    shape.SetInParent()
    if len(shape.dim) != len(dims):
        del shape.dim[:]
        shape.dim.extend(TensorShapeProto.Dimension() for _ in dims)
    for dim, old, size in zip(shape.dim, dims_in(shape), dims, strict=True):
        if size == old:
            continue
        dim.ClearField("value")
        if isinstance(size, str):
            dim.dim_param = size
        elif size is not None and abs(size) <= _LONGEST:
            dim.dim_value = size
