"""Constants written in the place of what a model was fed, or computed: under the old name where all readers agree."""

from __future__ import annotations

from collections.abc import Container, Sequence

from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from resizefix.document.edits import FIRST_IR_WITH_DEFAULTS, add_initializer, drop_named, insert_nodes
from resizefix.document.node_builder import FreshNames
from resizefix.document.scopes import Definition, Scope, Scopes, names_in
from resizefix.document.values import Array
from resizefix.scope_path import Key


class ConstantWriter:
    """Writes constants into a model. Only `finish` removes and inserts nodes, so that `scopes` is valid until then.

    `orphans` are what the replaced names were computed from.
    """

    def __init__(self, model: ModelProto, scopes: Scopes, *, defaults_kept: Container[str] = ()) -> None:
        self._model = model
        self._scopes = scopes
        self._names = FreshNames(names_in(model))
        self._defaults_kept = defaults_kept  # inputs whose default is the value they get
        self._replaced: list[int] = []
        self._inserted: list[tuple[Scope, NodeProto]] = []
        self.orphans: list[Key] = []

    def replace(self, definition: Definition, value: Array, readers: Sequence[tuple[NodeProto, int]]) -> bool:
        """Give the name itself the value, if only `readers` (nodes and input positions) read it: no node changes.

        Returns False, and does nothing, if others read it or if it is not a name of the main graph.
        """
        wanted = {(id(node), position) for node, position in readers}
        found = {(id(reader.node), reader.position) for reader in self._scopes.readers(definition)}
        if found != wanted or definition.scope is not self._scopes.main:
            return False
        if definition.node is None:
            self.fix_input(definition.name, value)
            return True
        if sum(bool(name) for name in definition.node.output) > 1:
            return False
        self.orphans.extend(source.key for source in self._scopes.sources(definition.scope, definition.node))
        self._replaced.append(definition.scope.producers[definition.name])
        add_initializer(self._model, numpy_helper.from_array(value, definition.name))
        return True

    def fix_input(self, name: str, value: Array) -> None:
        """Make a graph input the constant `value`; up to IR 3 it stays listed, as all initializers are."""
        graph = self._model.graph
        tensor = numpy_helper.from_array(value, name)
        kept = next((old for old in graph.initializer if old.name == name), None)
        if kept is None:
            graph.initializer.append(tensor)
        elif name not in self._defaults_kept or kept.data_location == TensorProto.EXTERNAL:
            # a default may lie in another file; a constant extent may not: shape inference refuses to open it
            kept.CopyFrom(tensor)
        if self._model.ir_version >= FIRST_IR_WITH_DEFAULTS:
            drop_named(self._model.graph.input, {name})

    def add(self, scope: Scope, wanted: str, value: Array) -> str:
        """A new constant that `scope` sees; returns its name."""
        name = self._names.fresh(wanted)
        tensor = numpy_helper.from_array(value, name)
        if not scope.in_function:
            add_initializer(self._model, tensor)
            return name
        while scope.parent is not None:
            scope = scope.parent
        self._inserted.append((scope, helper.make_node("Constant", [], [name], value=tensor)))
        return name

    def finish(self) -> None:
        """Remove the nodes whose outputs became constants, and write the constants of local functions."""
        for index in sorted(self._replaced, reverse=True):
            del self._model.graph.node[index]
        for scope, node in self._inserted:
            insert_nodes(scope.body, 0, [node])
