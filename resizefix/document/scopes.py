"""Every node of a model with the names it can see: the main graph, If/Loop/Scan bodies, local functions.

A `Scope` is one list of nodes. Names resolve inside-out, as the ONNX IR says (docs/IR.md, "Names Within a Graph"): a
body sees its own names, then those of the graph that holds it; a function body sees nothing but its own.
`Scopes` answers for the model as it was when it was taken; `view.View` takes it, once for each state of a model.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cached_property, partial
from itertools import chain
from operator import attrgetter
from typing import NamedTuple, TypeGuard

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto

from resizefix.scope_path import MAIN, BodyName, FunctionName, Key, ScopePath

DEFAULT_DOMAINS = ("", "ai.onnx")
# Types of attributes whose graphs nobody runs, should a file state any as well as the value.
_WITHOUT_GRAPHS = frozenset(AttributeProto.AttributeType.values()) - {
    AttributeProto.UNDEFINED,
    AttributeProto.GRAPH,
    AttributeProto.GRAPHS,
}
_ATTRIBUTES, _TYPE = attrgetter("attribute"), attrgetter("type")
_NAME, _INPUT, _OUTPUT = attrgetter("name"), attrgetter("input"), attrgetter("output")


class DefinitionKind(Enum):
    """What gives a name its value."""

    NODE = "node"
    INITIALIZER = "initializer"
    DEFAULTED_INPUT = "defaulted input"  # an initializer that the caller may override (IR ≥ 4)
    INPUT = "input"


class Scope(NamedTuple):
    """One list of nodes. Each is equal to itself alone."""

    path: ScopePath
    body: GraphProto | FunctionProto
    opset: int
    parent: Scope | None = None
    owner: int | None = None  # position in parent's nodes of the node that holds this body
    order: tuple[int, ...] = (0,)  # sorts scopes, and nodes by (*order, index), as a reader of the file meets them
    inputs: frozenset[str] = frozenset()
    producers: Mapping[str, int] = {}  # name → position of the node that computes it
    initializers: Mapping[str, TensorProto] = {}
    disputed: frozenset[str] = frozenset()  # names that more than one node writes, which ONNX forbids

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def makes_alone(self, name: str) -> bool:
        """Whether at most one node gives this name its value, as ONNX demands: no other node, input or initializer."""
        return name not in self.disputed and name not in self.inputs and name not in self.initializers

    @property
    def in_function(self) -> bool:
        """Whether the scope is a local function's body, or inside one."""
        return self.path.function is not None

    @property
    def is_repeated(self) -> bool:
        """Whether the nodes run once for each turn of a Loop or Scan.

        What a loop carries may change its size on the way, whatever the file says of the first turn (Loop in ONNX: "the
        shapes of loop-carried dependencies may vary"); exporters write just that down.
        """
        scope: Scope | None = self
        while scope is not None and scope.parent is not None and scope.owner is not None:
            if scope.parent.body.node[scope.owner].op_type in ("Loop", "Scan"):
                return True
            scope = scope.parent
        return False

    def defines(self, name: str) -> bool:
        """Whether `name` gets its value in this very scope."""
        return name in self.producers or name in self.initializers or name in self.inputs


class Definition(NamedTuple):
    """Where a name gets its value, seen from some scope. Each is equal to itself alone."""

    scope: Scope
    name: str
    kind: DefinitionKind
    node: NodeProto | None = None
    tensor: TensorProto | None = None

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    @property
    def key(self) -> Key:
        """Tells one definition from another with the same name in a sibling body."""
        return self.scope.path, self.name


class Reader(NamedTuple):
    """One place that reads a name: input `position` of a node, or (node None) an output of the scope's graph."""

    scope: Scope
    node_index: int | None
    position: int

    @property
    def node(self) -> NodeProto | None:
        """The reading node; None where the graph's output list reads the name."""
        return None if self.node_index is None else self.scope.body.node[self.node_index]


class Scopes:
    """All scopes of a model, outer before inner, in the order of the file."""

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        self._definitions: dict[Key, Definition | None] = {}
        self._overridable = model.ir_version >= 4
        opset = default_opset(model.opset_import, fallback=1)
        self.main = _scope(MAIN, model.graph, opset, None, None, (0,))
        self.all: list[Scope] = [self.main]
        self._descend(self.main)
        for position, function in enumerate(model.functions, start=1):
            version = default_opset(function.opset_import, fallback=opset)
            scope = _scope(ScopePath([FunctionName.of(function)]), function, version, None, None, (position,))
            self.all.append(scope)
            self._descend(scope)

    def _descend(self, scope: Scope) -> None:
        # An explicit stack: a file may nest bodies deeper than Python recurses.
        pending = [scope]
        while pending:
            outer = pending.pop()
            bodies = [
                _scope(path, graph, outer.opset, outer, index, (*outer.order, index, position))
                for path, graph, index, position in bodies_in(outer.path, outer.body)
            ]
            self.all.extend(bodies)
            pending.extend(bodies)

    @cached_property
    def by_path(self) -> dict[ScopePath, Scope]:
        """Every scope by its path."""
        return {scope.path: scope for scope in self.all}

    @cached_property
    def functions(self) -> dict[FunctionName, Scope]:
        """The bodies of the local functions."""
        return {name: self.by_path[ScopePath([name])] for name in map(FunctionName.of, self.model.functions)}

    @cached_property
    def calls(self) -> dict[FunctionName, list[tuple[Scope, int]]]:
        """The nodes that call each local function: the scope and the position there."""
        calls: dict[FunctionName, list[tuple[Scope, int]]] = {name: [] for name in self.functions}
        for scope in self.all if calls else ():
            for index, node in enumerate(scope.body.node):
                name = FunctionName.called_by(node)
                if name in calls:
                    calls[name].append((scope, index))
        return calls

    @cached_property
    def reached(self) -> set[FunctionName]:
        """The local functions that run: those that the main graph calls, also by way of others."""
        callers = {name: {scope.path.function for scope, _ in reachable} for name, reachable in self.calls.items()}
        reachable = {name for name, by in callers.items() if None in by}
        while new := {name for name, by in callers.items() if name not in reachable and by & reachable}:
            reachable |= new
        return reachable

    def called(self, node: NodeProto) -> Scope | None:
        """The body of the local function that the node calls; None if it calls none."""
        return self.functions.get(FunctionName.called_by(node)) if self.functions else None

    @cached_property
    def held(self) -> dict[tuple[ScopePath, int], list[Scope]]:
        """The bodies that a node holds, by the path of its scope and its position there."""
        held: dict[tuple[ScopePath, int], list[Scope]] = {}
        for scope in self.all:
            if scope.parent is not None and scope.owner is not None:
                held.setdefault((scope.parent.path, scope.owner), []).append(scope)
        return held

    def definition(self, scope: Scope, name: str) -> Definition | None:
        """What `name`, read in `scope`, refers to; None if nothing visible defines it."""
        key = scope.path, name
        if key not in self._definitions:
            self._definitions[key] = self._defined(scope, name)
        return self._definitions[key]

    def sources(self, scope: Scope, node: NodeProto, first: int = 0) -> list[Definition]:
        """What the inputs of a node of `scope` refer to, from input `first` on; without those that nothing defines."""
        definitions = (self.definition(scope, name) for name in node.input[first:] if name)
        return [definition for definition in definitions if definition is not None]

    def _defined(self, scope: Scope, name: str) -> Definition | None:
        current: Scope | None = scope
        while current is not None:
            if name in current.producers:
                return Definition(current, name, DefinitionKind.NODE, node=current.body.node[current.producers[name]])
            if name in current.initializers:
                overridable = self._overridable and name in current.inputs and current is self.main
                kind = DefinitionKind.DEFAULTED_INPUT if overridable else DefinitionKind.INITIALIZER
                return Definition(current, name, kind, tensor=current.initializers[name])
            if name in current.inputs:
                return Definition(current, name, DefinitionKind.INPUT)
            current = current.parent
        return None

    @cached_property
    def _readers(self) -> dict[ScopePath, dict[str, list[Reader]]]:
        readers: dict[ScopePath, dict[str, list[Reader]]] = {scope.path: {} for scope in self.all}
        for scope in self.all:
            own = readers[scope.path]
            producers = scope.producers
            for name, reader in reads(scope):
                if name in own:
                    own[name].append(reader)
                    continue
                if name in producers:
                    own[name] = [reader]
                    continue
                home: Scope | None = scope
                while home is not None and not home.defines(name):
                    home = home.parent
                if home is not None:
                    readers[home.path].setdefault(name, []).append(reader)
        return readers

    def readers(self, definition: Definition) -> list[Reader]:
        """Every place that reads the definition, in inner scopes too, graph outputs included."""
        return self.readers_of(definition.key)

    def readers_of(self, key: Key) -> list[Reader]:
        """The same of what the scope with that path defines by that name."""
        return self._readers.get(key[0], {}).get(key[1], [])

    def is_read(self, definition: Definition) -> bool:
        """Whether a node reads the definition, or a body hands it on: it is more than an output of the model."""
        return any(reader.node is not None or reader.scope is not self.main for reader in self.readers(definition))


def names_in(model: ModelProto) -> set[str]:
    """Every name in use anywhere, so that a fresh one collides with nothing (not even by shadowing)."""
    taken: set[str] = set()
    for _, body in bodies(model):
        values = [*body.input, *body.output, *(body.initializer if isinstance(body, GraphProto) else ())]
        taken.update(value if isinstance(value, str) else value.name for value in values)
        if isinstance(body, GraphProto):
            taken.update(sparse.values.name for sparse in body.sparse_initializer)
        taken.update(map(_NAME, body.node))
        for names in (_INPUT, _OUTPUT):
            taken.update(chain.from_iterable(map(names, body.node)))
    return taken - {""}


def bodies(model: ModelProto) -> Iterator[tuple[ScopePath, GraphProto | FunctionProto]]:
    """Path and list of nodes of every scope, in the order of `Scopes.all`, for those who ask nothing of the names."""
    starts: list[tuple[ScopePath, GraphProto | FunctionProto]] = [(MAIN, model.graph)]
    starts += [(ScopePath([FunctionName.of(function)]), function) for function in model.functions]
    for start in starts:
        yield start
        pending = [start]
        while pending:
            bodies_of_one = [(path, graph) for path, graph, _, _ in bodies_in(*pending.pop())]
            yield from bodies_of_one
            pending += bodies_of_one


def bodies_in(path: ScopePath, body: GraphProto | FunctionProto) -> list[tuple[ScopePath, GraphProto, int, int]]:
    """The bodies that nodes of a body hold: path, graph, which node, and which of that node's."""
    # Most nodes of large models hold none, and this is asked of every node, many times: so first from C.
    if _WITHOUT_GRAPHS.issuperset(map(_TYPE, chain.from_iterable(map(_ATTRIBUTES, body.node)))):
        return []
    holders = {index: node for index, node in enumerate(body.node) if any(True for _ in subgraphs(node))}
    if not holders:
        return []
    names = Counter(node.name for node in holders.values())  # not of others, which edits remove
    return [
        (ScopePath((*path, BodyName(_holder(node, names), name))), graph, index, position)
        for index, node in holders.items()
        for position, (name, graph) in enumerate(subgraphs(node))
    ]


def subgraphs(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    """The bodies a node holds, each with its attribute's name (`body`, `then_branch`, …)."""
    for attribute in node.attribute:
        if attribute.type in _WITHOUT_GRAPHS:
            continue
        if attribute.type == AttributeProto.GRAPH or attribute.HasField("g"):
            yield attribute.name, attribute.g
        elif attribute.graphs:
            for index, graph in enumerate(attribute.graphs):
                yield f"{attribute.name}[{index}]", graph


def names_read(node: NodeProto) -> set[str]:
    """Every name that a node reads, or that its bodies read or give."""
    names = set(node.input)
    for _, body in subgraphs(node):
        names.update(value.name for value in body.output)
        for inner in body.node:
            names |= names_read(inner)
    return names


def in_order(nodes: list[NodeProto]) -> list[int]:
    """Positions in topological order, the earliest that may come next first; what a cycle holds up comes last."""
    producer = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    wanted = [{producer[name] for name in names_read(node) if name in producer} for node in nodes]
    readers: dict[int, list[int]] = {}
    for index, sources in enumerate(wanted):
        for source in sources:
            readers.setdefault(source, []).append(index)
    ready = [index for index, sources in enumerate(wanted) if not sources]
    placed: list[int] = []
    while ready:
        index = heapq.heappop(ready)
        placed.append(index)
        for reader in readers.get(index, ()):
            wanted[reader].discard(index)
            if not wanted[reader]:
                heapq.heappush(ready, reader)
    return placed + sorted(set(range(len(nodes))) - set(placed))


def _holder(node: NodeProto, names: Counter[str]) -> str:
    # By what the node writes where its name does not tell it apart; never by position, which edits move.
    if node.name and names[node.name] == 1:
        return node.name
    return f"{node.name or node.op_type}({', '.join(node.output)})"


def node_label(node: NodeProto, index: int) -> str:
    """The node's name, or its operator and position where the exporter gave it none."""
    return node.name or f"{node.op_type}#{index}"


def is_operator(node: NodeProto | None, *names: str) -> TypeGuard[NodeProto]:
    """Whether a node is one of these operators of ai.onnx."""
    return node is not None and node.op_type in names and node.domain in DEFAULT_DOMAINS


def default_opset(imports: object, *, fallback: int) -> int:
    """The version of the ai.onnx domain that a model or function imports."""
    versions = [entry.version for entry in imports if entry.domain in DEFAULT_DOMAINS]  # type: ignore[attr-defined]
    return int(versions[0]) if versions else fallback


def _scope(
    path: ScopePath,
    body: GraphProto | FunctionProto,
    opset: int,
    parent: Scope | None,
    owner: int | None,
    order: tuple[int, ...],
) -> Scope:
    producers: dict[str, int] = {}
    disputed = set()
    for index, node in enumerate(body.node):
        for name in node.output:
            if name and producers.setdefault(name, index) != index:
                disputed.add(name)
    inputs, initializers = body.input, {}
    if isinstance(body, GraphProto):
        inputs = [value.name for value in body.input]
        initializers = {tensor.name: tensor for tensor in body.initializer}
    names = frozenset(inputs)
    return Scope(path, body, opset, parent, owner, order, names, producers, initializers, frozenset(disputed))


def reads(scope: Scope) -> Iterator[tuple[str, Reader]]:
    """Every name that the nodes of a scope and its outputs read, bodies inside it not counted."""
    new_reader = partial(tuple.__new__, Reader)  # for a hundred thousand nodes
    for index, node in enumerate(scope.body.node):
        for position, name in enumerate(node.input):
            if name:
                yield name, new_reader((scope, index, position))
    for position, value in enumerate(scope.body.output):
        name = value if isinstance(value, str) else value.name
        yield name, Reader(scope, None, position)
