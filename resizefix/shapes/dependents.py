"""What depends on a tensor: through nodes, into and out of bodies and local functions.

Which nodes must be looked at to follow sizes: what stands behind resizes that move, and what decides their sizes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from onnx import NodeProto

from resizefix.document.scopes import DEFAULT_DOMAINS, DefinitionKind, Reader, Scope, Scopes, is_operator, names_read
from resizefix.scope_path import Key
from resizefix.shapes.operand import SHAPE_READERS, attribute_of
from resizefix.shapes.output_size import BROADCASTING, KEEPING

# The sizes of what these ai.onnx operators make follow from the sizes of what they read, never from its numbers.
_SIZES_FROM_SIZES = (
    KEEPING
    | BROADCASTING
    | {"Concat", "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "Transpose"}
)
# Of these that is so for their first operand; the others say what becomes of its axes.
_SIZES_FROM_FIRST = frozenset(
    {"Expand", "Pad", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Reshape", "Slice", "Split"}
    | {"Squeeze", "Tile", "Unsqueeze"}
)


class Dependents:
    """Every name that depends on the sizes of what was added, over one state of a model: `resized` those whose own
    sizes do, `reached` also those of which only the numbers do.

    Where a body or function is concerned the answer errs on the side of too many.
    """

    def __init__(self, scopes: Scopes) -> None:
        self.reached: set[Key] = set()
        self.resized: set[Key] = set()
        self._scopes = scopes

    def add(self, keys: Iterable[Key], *, resized: bool = True) -> None:
        """Add these names and all that depends on them, or, where they are not `resized`, on their numbers."""
        added = set(keys)
        pending = [(key, resized) for key in added]
        while pending:
            key, resized = pending.pop()
            if key in (self.resized if resized else self.reached):
                continue
            self.reached.add(key)
            if resized:
                self.resized.add(key)
            scope = self._scopes.by_path[key[0]]
            if key[1] not in scope.producers:
                definition = self._scopes.definition(scope, key[1])
                if definition is None or (definition.kind is DefinitionKind.INITIALIZER and key not in added):
                    continue
                key = definition.key
            for reader in self._scopes.readers_of(key):
                node = reader.node
                if node is None:
                    pending += self._left(reader.scope, reader.position, resized)
                elif resized or not _reads_sizes(node):
                    makes_other_sizes = self._scopes.called(node) is not None or _resizes(
                        node, reader.position, resized
                    )
                    pending += [(output, makes_other_sizes) for output in self._read(reader)]

    def _outputs(self, scope: Scope, index: int) -> list[Key]:
        return [(scope.path, name) for name in scope.body.node[index].output if name]

    def _left(self, scope: Scope, position: int, resized: bool) -> list[tuple[Key, bool]]:
        """What an output of a body, or of a function, reaches, and whether the sizes of that follow."""
        if scope.parent is None or scope.owner is None:
            callers = self._scopes.calls[scope.path.function] if scope.path.function is not None else ()
            return [((caller.path, name), resized) for caller, at in callers for name in _at(caller, at, position)]
        outer, at = scope.parent, scope.owner
        node, inputs = outer.body.node[at], [value.name for value in scope.body.input]
        here = [((outer.path, name), resized) for name in _at(outer, at, position)]
        if is_operator(node, "If"):
            return here
        everywhere = [(key, True) for key in self._outputs(outer, at)]
        if is_operator(node, "Loop"):
            around = [((scope.path, name), resized) for name in inputs[2:][position - 1 : position]]
            keys = [((outer.path, name), resized) for name in _at(outer, at, position - 1)]
            return around + keys if position else everywhere  # whether it goes on decides how long it goes on
        if is_operator(node, "Scan"):
            carried = len(inputs) - (attribute_of(node, "num_scan_inputs") or 0)
            return here + [((scope.path, name), resized) for name in inputs[:carried][position : position + 1]]
        return everywhere + [((scope.path, name), True) for name in inputs]

    def _read(self, reader: Reader) -> list[Key]:
        """What a node that reads it reaches: its outputs, and the inputs of what it runs."""
        assert reader.node is not None
        assert reader.node_index is not None
        outputs = self._outputs(reader.scope, reader.node_index)
        for body in self._scopes.held.get((reader.scope.path, reader.node_index), ()):
            outputs += [(body.path, name) for name in body.inputs]
        function = self._scopes.called(reader.node)
        if function is not None:
            outputs += [(function.path, name) for name in function.inputs]
        return outputs


def _at(scope: Scope, index: int, position: int) -> list[str]:
    """The name of an output of a node; none where it has no such output."""
    return [name for name in scope.body.node[index].output[position : position + 1] if name]


def varying(scopes: Scopes) -> set[Key]:
    """What may have other sizes in another round of a Loop or Scan: what depends on what goes around, on the sizes, or
    on the numbers of that which is another one in each round."""
    dependents = Dependents(scopes)
    for scope in scopes.all:
        if scope.parent is None or scope.owner is None:
            continue
        node, names = scope.parent.body.node[scope.owner], [(scope.path, value.name) for value in scope.body.input]
        if is_operator(node, "Loop"):
            dependents.add(names[2:])
            dependents.add(names[:2], resized=False)
        elif is_operator(node, "Scan"):
            carried = len(names) - (attribute_of(node, "num_scan_inputs") or 0)
            dependents.add(names[:carried])
            dependents.add(names[carried:], resized=False)
    return dependents.resized


def _resizes(node: NodeProto, position: int, resized: bool) -> bool:
    """Whether the sizes of what a node makes depend on an operand that is `resized`, or has other numbers."""
    if _reads_sizes(node):
        return False
    by_sizes = node.op_type in _SIZES_FROM_SIZES or (node.op_type in _SIZES_FROM_FIRST and position == 0)
    return resized or not by_sizes or node.domain not in DEFAULT_DOMAINS


def _reads_sizes(node: NodeProto) -> bool:
    return node.op_type in SHAPE_READERS and node.domain in DEFAULT_DOMAINS


class SizeReach:
    """Answers for the nodes of one scope, each by its position; `cases` are those that move each resize."""

    def __init__(self, scopes: Scopes, scope: Scope, cases: Mapping[Key, frozenset[int]]) -> None:
        self._scopes = scopes
        self._scope = scope
        self._cases = cases

    def read(self, index: int, node: NodeProto) -> Collection[str]:
        """The names that the node and its bodies read."""
        names: Collection[str] = self.captured.get(index, node.input) if node.attribute else node.input
        return names

    def wanted(self) -> set[int]:
        """The nodes behind the resizes, and those from which the sizes of what these read follow."""
        reached = {name for path, name in self._cases if path == self._scope.path}
        wanted: set[int] = set()
        pending: list[str] = []
        for index, node in enumerate(self._scope.body.node):
            read = self.read(index, node)
            if index in self.inside or not reached.isdisjoint(node.output) or not reached.isdisjoint(read):
                reached.update(filter(None, node.output))
                wanted.add(index)
                pending += read
        return wanted | self.behind(pending)

    def behind(self, names: Iterable[str]) -> set[int]:
        """The nodes that these tensors are made by."""
        made_by: set[int] = set()
        pending = list(names)
        while pending:
            index = self._scope.producers.get(pending.pop(), -1)
            if index >= 0 and index not in made_by:
                made_by.add(index)
                pending += self.read(index, self._scope.body.node[index])
        return made_by

    @cached_property
    def inside(self) -> dict[int, set[int]]:
        """The cases that move a resize in a body of a node, or in the function that it calls."""
        cases_inside: dict[int, set[int]] = {}
        for (path, _), cases in self._cases.items():
            if path == self._scope.path:
                continue
            pending = [self._scopes.by_path[path]]
            seen = {path}
            while pending:
                scope = pending.pop()
                for holder, index in self._holders(scope):
                    if holder is self._scope:
                        cases_inside.setdefault(index, set()).update(cases)
                    elif holder.path not in seen:
                        seen.add(holder.path)
                        pending.append(holder)
        return cases_inside

    def _holders(self, scope: Scope) -> list[tuple[Scope, int]]:
        """The nodes that run a scope: the one that holds the body, or those that call the function."""
        if scope.parent is not None and scope.owner is not None:
            return [(scope.parent, scope.owner)]
        function = scope.path.function
        return [] if function is None or scope is self._scope else self._scopes.calls[function]

    @cached_property
    def captured(self) -> dict[int, set[str]]:
        """What nodes that have bodies read, the bodies too."""
        here = (index for path, index in self._scopes.held if path == self._scope.path)
        return {index: names_read(self._scope.body.node[index]) for index in here}
