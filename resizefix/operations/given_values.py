"""The values that graph inputs are to be frozen at: what the user gives, else the default in the file.

Constants written in the place of what a model was fed, or computed: under the old name where all readers agree.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from resizefix.diagnostics import UsageError
from resizefix.document.edits import FIRST_IR_WITH_DEFAULTS, FreshNames, add_initializer, drop_named, insert_nodes
from resizefix.document.scopes import Definition, DefinitionKind, Reader, Scope, Scopes, names_in
from resizefix.document.text import counted
from resizefix.document.values import Array, dims_of
from resizefix.operations.site import ReadSite, Site
from resizefix.origins.classify import OriginKind
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.axis_sizes import AxisSizes, traced_values
from resizefix.shapes.stored_shapes import ModelView

_INPUTS = (DefinitionKind.INPUT, DefinitionKind.DEFAULTED_INPUT)


class GivenValues:
    """The inputs behind each site, and `arrays`, the values of those that have one.

    Raises UsageError for a name that drives none of the sites, and for values that its type or shape does not take.
    """

    def __init__(self, view: ModelView, sites: Sequence[Site], values: Mapping[str, Sequence[float]]) -> None:
        self.view = view
        self.scopes = view.scopes
        self._values = traced_values(AxisSizes(view))
        self._chains: dict[int, dict[Key, Definition]] = {
            site.index: self._chain(site)
            for site in sites
            if site.origin.kind is OriginKind.GRAPH_INPUT and isinstance(site, ReadSite)
        }
        rois = {site.index: self._inputs_of_roi(site) for site in sites if isinstance(site, ReadSite)}
        self._rois = {index: names for index, names in rois.items() if not values.keys().isdisjoint(names)}
        self._selected = {site.key for site in sites}
        self.arrays: dict[str, Array] = {}
        self.defaults: set[str] = set()  # names that keep the value they have in the file
        declared = {value.name: value for value in view.model.graph.input}
        behind = dict.fromkeys(name for index in self._chains for name in self.behind(index))
        behind |= dict.fromkeys(name for names in self._rois.values() for name in names)
        for name in values:
            if name not in behind:
                listed = ", ".join(behind | dict.fromkeys(name for names in rois.values() for name in names)) or "none"
                nothing = UsageError("operations.set-drives-nothing", name=name, known=listed)
                in_function = any(site.scope.in_function for site in sites if site.index not in self._chains)
                raise UsageError("operations.set-in-function", why=nothing.diagnostic) if in_function else nothing
        for name in behind:
            if name in values:
                self.arrays[name] = _as_array(declared[name], values[name])
            elif name in self.scopes.main.initializers:
                self.arrays[name] = view.document.array(self.scopes.main.initializers[name])
                self.defaults.add(name)

    def behind(self, index: int) -> tuple[str, ...]:
        """The graph inputs that the operand of the site with this index is computed from."""
        return self._inputs_among(self._chains[index])

    def behind_roi(self, index: int) -> tuple[str, ...]:
        """The graph inputs that the roi of the site with this index is computed from, where one is given a value."""
        return self._rois.get(index, ())

    def _inputs_of_roi(self, site: ReadSite) -> tuple[str, ...]:
        roi = site.reading.operands.roi
        start = self.scopes.definition(self.scopes.by_path[site.scope.path], roi) if roi else None
        if start is None:
            return ()
        return self._inputs_among({source.key: source for source in self._values.behind(start)})

    def _inputs_among(self, chain: Mapping[Key, Definition]) -> tuple[str, ...]:
        definitions = chain.values()
        names = {one.name for one in definitions if one.scope is self.scopes.main and one.kind in _INPUTS}
        return tuple(value.name for value in self.scopes.model.graph.input if value.name in names)

    def numbers(self, name: str) -> tuple[float, ...]:
        """An input's value, in row-major order."""
        return tuple(self.arrays[name].reshape(-1).tolist())

    def other_reader(self, site: Site) -> str | None:
        """What but selected sites reads an input behind this one, or what is computed from it; None if nothing does."""
        inside = {key for chain in self._chains.values() for key in chain}
        pending = [self._chains[site.index][MAIN, name] for name in self.behind(site.index)]
        seen: set[Key] = set()
        while pending:
            definition = pending.pop()
            for reader in self.scopes.readers(definition):
                if reader.node is None:
                    return named(reader, definition)
                outputs = [self.scopes.definition(reader.scope, name) for name in reader.node.output if name]
                definitions = [output for output in outputs if output is not None]
                if any(output.key in inside for output in definitions):
                    pending.extend(output for output in definitions if output.key not in seen)
                    seen.update(output.key for output in definitions)
                elif not any(output.key in self._selected for output in definitions):
                    return named(reader, definition)
        return None

    def _chain(self, site: Site) -> dict[Key, Definition]:
        """Everything behind the site's operand, up to constants and sizes."""
        scope = self.scopes.by_path[site.scope.path]
        start = self.scopes.definition(scope, site.read.operand[1])
        assert start is not None
        return {source.key: source for source in self._values.behind(start)}


def named(reader: Reader, definition: Definition) -> str:
    """What reads the definition, in words."""
    if reader.node is None:
        return f"the graph output {definition.name!r}"
    return f"the node {reader.node.name or reader.node.output[0]!r} ({reader.node.op_type})"


def _as_array(declared: ValueInfoProto, values: Sequence[float]) -> Array:
    tensor = declared.type.tensor_type
    given = np.array(values, np.float64).reshape(-1)
    dims = dims_of(declared.type) if tensor.HasField("shape") else (None,)
    fixed = [size for size in dims if isinstance(size, int)]
    shape = tuple(fixed) if len(fixed) == len(dims) else (given.size,)
    label = f"{TensorProto.DataType.Name(tensor.elem_type).lower()}[{','.join(str(size or '?') for size in dims)}]"
    if not tensor.elem_type:  # no tensor, or one of no type
        raise UsageError("operations.set-no-values", name=declared.name, values=list(values), label=label)
    if math.prod(shape) != given.size or (len(fixed) != len(dims) and len(dims) != 1):
        raise UsageError(
            "operations.set-does-not-fit", name=declared.name, values=counted(len(values), "value"), label=label
        )
    array = given.reshape(shape).astype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    if array.dtype.kind in "iub" and np.any(array != given.reshape(shape)):
        raise UsageError("operations.set-no-values", name=declared.name, values=list(values), label=label)
    return array


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
        actual = {(id(reader.node), reader.position) for reader in self._scopes.readers(definition)}
        if actual != wanted or definition.scope is not self._scopes.main:
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
        default = next((old for old in graph.initializer if old.name == name), None)
        if default is None:
            graph.initializer.append(tensor)
        elif name not in self._defaults_kept or default.data_location == TensorProto.EXTERNAL:
            # a default may lie in another file; a constant extent may not: shape inference refuses to open it
            default.CopyFrom(tensor)
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
