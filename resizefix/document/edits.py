"""Edits of a document: new nodes and constants under unused names, and what is put in, replaced or removed.

Each function makes one small, complete change to the light model and leaves everything else as it is; what was not
changed here is written back byte for byte by `Document.save`. None of them knows what a resize is. How an operator is
written depends on the opset, where arguments moved from attributes to inputs: Slice at 10, Unsqueeze at 13
(https://github.com/onnx/onnx/blob/main/docs/Changelog.md).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, DefinitionKind, Reader, Scope
from resizefix.document.view import View
from resizefix.outcome import BITWISE, ErrorBound
from resizefix.scope_path import FunctionName, Key, ScopePath

# IR 4 is the first in which an initializer need not be, and if it is an input may be overridden (docs/IR.md,
# ir_version 4).
FIRST_IR_WITH_DEFAULTS = 4


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


class FreshNames:
    """Gives out names that collide with none of `taken` and none given before."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = set(taken)
        self._counts: dict[str, int] = {}  # up to which all numbers behind a name are taken

    def fresh(self, wanted: str) -> str:
        """`wanted`, or `wanted_1`, `wanted_2`, … : the first that is free."""
        name = wanted
        count = self._counts.get(wanted, 0)
        while name in self._taken:
            count += 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        self._counts[wanted] = count
        return name

    def is_free(self, name: str) -> bool:
        """Whether `name` is still to be had."""
        return name not in self._taken


Fresh = Callable[[str], str]

TO_THE_END = 2**31 - 1
"""An `end` beyond any axis; int32, because TensorRT parsers of old narrow it."""


@dataclass(eq=False)
class NodeBuilder:
    """Collects nodes and their constants for a graph of one opset. A method returns the name of what it adds.

    `_fresh` makes a name that is not used yet from a suggestion; `_prefix`, where it is not empty, begins all of them.
    `_node_name` makes the name of a node from its operator and first output.
    """

    _fresh: Fresh
    opset: int
    _prefix: str
    _node_name: Callable[[str, str], str] = lambda op_type, output: output
    nodes: list[NodeProto] = field(default_factory=list, init=False)
    initializers: list[TensorProto] = field(default_factory=list, init=False)

    def fresh(self, wanted: str) -> str:
        """A name that is not used yet."""
        return self._fresh(f"{self._prefix}_{wanted}" if self._prefix else wanted)

    def value(self, values: npt.ArrayLike, wanted: str = "constant", dtype: npt.DTypeLike | None = None) -> str:
        """A new initializer, in the numpy type of `values` unless `dtype` is given."""
        name = self.fresh(wanted)
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values, dtype=dtype), name))
        return name

    def constant_node(self, values: npt.ArrayLike, wanted: str) -> str:
        """A new Constant node."""
        name = self.fresh(wanted)
        return self.add("Constant", into=name, value=numpy_helper.from_array(np.asarray(values), name))

    def add(
        self,
        op_type: str,
        *inputs: str,
        into: str | Sequence[str] | None = None,
        wanted: str | None = None,
        **attributes: Any,
    ) -> str:
        """A new node; `into` names its outputs, by default one new name like `wanted`. Gives its first output."""
        outputs = [into] if isinstance(into, str) else list(into or ()) or [self.fresh(wanted or op_type.lower())]
        name = self._node_name(op_type, outputs[0])
        return self.append(helper.make_node(op_type, inputs, outputs, name=name, **attributes))

    def append(self, node: NodeProto) -> str:
        """A node made elsewhere, with the outputs that it has."""
        self.nodes.append(node)
        return str(node.output[0])

    def as_type(self, x: str, dtype: npt.DTypeLike) -> str:
        """The tensor in another numpy type."""
        return self.add("Cast", x, to=int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))))

    def reshape(self, x: str, shape: Sequence[int]) -> str:
        """Reshape to constants: 0 keeps the dimension at that place, -1 is what remains."""
        return self.add("Reshape", x, self.value(shape, "shape", np.int64))

    def unsqueeze(self, x: str, axes: Sequence[int]) -> str:
        """New axes of length 1, at these places of the result."""
        if self.opset < 13:
            return self.add("Unsqueeze", x, axes=axes)
        return self.add("Unsqueeze", x, self.value(axes, "axes", np.int64))

    def split(self, x: str, axis: int, lengths: Sequence[int]) -> list[str]:
        """Parts of these lengths along an axis."""
        parts = [self.fresh("part") for _ in lengths]
        if self.opset < 13:
            self.add("Split", x, into=parts, axis=axis, split=lengths)
        else:
            self.add("Split", x, self.value(lengths, "lengths", np.int64), into=parts, axis=axis)
        return parts

    def slice(
        self,
        x: str,
        axes: Sequence[int],
        starts: Sequence[int],
        ends: Sequence[int],
        steps: Sequence[int] | None = None,
    ) -> str:
        """x[..., start:end:step, ...] on some axes; negative ends count from the end, `TO_THE_END` cuts nothing.

        `steps` need opset 10. They are written there even if all are 1: TensorRT 6.0 reads all five inputs of Slice.
        """
        if self.opset < 10:
            return self.add("Slice", x, axes=axes, starts=starts, ends=ends)
        inputs = {"starts": starts, "ends": ends, "axes": axes, "steps": steps or [1] * len(axes)}
        return self.add("Slice", x, *(self.value(values, what, np.int64) for what, values in inputs.items()))

    def repeat_edges(self, x: str, axis: int, before: int, after: int) -> str:
        """The first sample of an axis `before` times more, the last one `after` times more.

        Slices and a Concat say it at every opset and to every reader; TensorRT reads Pad(mode=edge) from 8.5 on only.
        """
        first = [self.slice(x, [axis], [0], [1])] * before if before else []
        last = [self.slice(x, [axis], [-1], [TO_THE_END])] * after if after else []
        return self.add("Concat", *first, x, *last, axis=axis) if first or last else x


@dataclass(frozen=True)
class Replacement:
    """Nodes that write a node's output, in order, the constants that they read, and how near they come (`error`).

    The last node's output has the name asked for. A local function has no initializers: there the caller makes them
    Constant nodes; in a model of IR 3 it lists them among the graph's inputs.

    `how` names what was done, `description` says so to a person (empty: as `how` does), `why` what made it necessary.
    `elem_type` is the type of the output where it becomes another.
    """

    nodes: tuple[NodeProto, ...]
    initializers: tuple[TensorProto, ...] = ()
    error: ErrorBound = BITWISE
    how: str = ""
    description: str = ""
    why: str = ""
    elem_type: int | None = None

    def under(self, conditions: Sequence[str]) -> Replacement:
        """The same, which comes that near under these conditions besides."""
        return replace(self, error=replace(self.error, conditions=(*self.error.conditions, *conditions)))
