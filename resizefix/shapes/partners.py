"""The tensor that another one meets behind some nodes that keep its size: a skip connection, whose size it must have.

Sizes are followed as expressions (`axis_sizes`), so that what is said holds for every input that the model runs with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from onnx import NodeProto

from resizefix.diagnostics import RefusedError
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, DefinitionKind, Scope, node_label
from resizefix.scope_path import Key
from resizefix.shapes.axis_sizes import AxisSizes, traced_values
from resizefix.shapes.dependents import Dependents
from resizefix.shapes.expression import Dim, Expression, Size, UntraceableError
from resizefix.shapes.operand import Known, attribute_of
from resizefix.shapes.reading import DimList
from resizefix.shapes.stored_shapes import ModelView

MEETING = frozenset({"Add", "Sub", "Mul", "Concat", "Where"})
_Axes = tuple[Dim | None, ...]  # the sizes on the axes that are followed; None: there is no such axis


class Partner(NamedTuple):
    """What a tensor must be as large as: `name` is what it meets at `node`.

    `read` is a tensor of that size that is there before the resize, and `axes` those of it that give the sizes.
    `sizes` are the sizes as far as the file fixes them.
    """

    name: str
    node: str
    read: str
    axes: tuple[int, ...]
    sizes: tuple[int | None, ...]


class _Met(NamedTuple):
    definition: Definition
    node: str
    dims: tuple[Dim, ...]


class _InCalls(AxisSizes):
    """Sizes inside local functions, too: their inputs have as many axes as what every call passes."""

    def _rank(self, definition: Definition, sources: Sequence[Any]) -> int | None:
        function = definition.scope.path.function
        if function is None or definition.kind is not DefinitionKind.INPUT or definition.scope.parent is not None:
            return super()._rank(definition, sources)
        position = list(definition.scope.body.input).index(definition.name)
        ranks: set[int | None] = set()
        for scope, index in self.scopes.calls[function]:
            given = scope.body.node[index].input[position : position + 1]
            source = self.scopes.definition(scope, given[0]) if given else None
            ranks.add(None if source is None else self.rank(source.key))
        return ranks.pop() if len(ranks) == 1 else None


class Partners:
    """Finds the partners of tensors of one model."""

    def __init__(self, view: ModelView) -> None:
        self._view = view
        self.sizes: AxisSizes = _InCalls(view)
        self._values = traced_values(self.sizes)

    def of(self, scope: Scope, output: str, axes: Sequence[int]) -> Partner | None:
        """The partner of what the resize `output` makes, on these axes; None: it meets nothing of another size.

        Raises RefusedError where there are partners of several sizes, where the partner itself comes from the resize,
        and where no tensor before the resize is known to have its size.
        """
        met = list(dict.fromkeys(self._met(scope, output, axes)))
        if not met:
            return None
        first = met[0]
        others = [one for one in met[1:] if not self._are_equal(first, one, scope, output, axes)]
        if others:
            raise RefusedError(
                "operations.partners-differ",
                name=first.definition.name,
                at=first.node,
                other=others[0].definition.name,
                other_at=others[0].node,
            )
        for one in met:
            partner = self._read_before(scope, output, one, axes)
            if partner is not None:
                name, its_axes = partner
                return Partner(one.definition.name, one.node, name, its_axes, self._fixed(one))
        dependents = Dependents(self._view.scopes)
        dependents.add([(scope.path, output)])
        own = next((one for one in met if one.definition.key in dependents.reached), None)
        code = "operations.partner-made-later" if own is None else "operations.partner-of-its-own"
        raise RefusedError(code, name=(own or first).definition.name, at=(own or first).node)

    def listed(self, definition: Definition) -> list[Expression] | None:
        """The sizes that a tensor lists, each as an expression over sizes that lead no further."""
        values = self._values.follow(definition)
        if not isinstance(values, Known):
            return None
        try:
            elements: list[Expression] = list(values.elements.flat)
        except UntraceableError:
            return None
        return [self.sizes.source(one.tensor, one.axis) if isinstance(one, Size) else one for one in elements]

    # ---- what it meets ----

    def _met(self, scope: Scope, output: str, axes: Sequence[int]) -> Iterator[_Met]:
        """What the tensor, or one that keeps its sizes on the axes, is joined with."""
        own = self.sizes.dims((scope.path, output))
        if own is None:
            return
        wanted, rank = tuple(own[axis] for axis in axes), len(own)
        for index, node in enumerate(scope.body.node):
            if node.op_type not in MEETING or node.domain not in DEFAULT_DOMAINS:
                continue
            if node.op_type == "Concat" and _joined(node, rank) in axes:
                continue
            read = [one for name in node.input if (one := self._view.scopes.definition(scope, name)) is not None]
            sizes = {one: self._aligned(one.key, axes, rank) for one in read}
            if wanted not in sizes.values():
                continue
            for definition, dims in sizes.items():
                whole = tuple(dim for dim in dims or () if dim is not None and not _is_one(dim))
                if dims != wanted and len(whole) == len(axes):  # others are broadcast
                    yield _Met(definition, node_label(node, index), whole)

    def _aligned(self, tensor: Key, axes: Sequence[int], rank: int) -> _Axes | None:
        """The sizes of a tensor on axes of a tensor of this rank, both counted from the end."""
        dims = self.sizes.dims(tensor)
        if dims is None or len(dims) > rank:
            return None
        places = [axis - rank + len(dims) for axis in axes]
        return tuple(dims[place] if place >= 0 else None for place in places)

    def _are_equal(self, one: _Met, other: _Met, scope: Scope, output: str, axes: Sequence[int]) -> bool:
        mine, its = self._fixed(one), self._fixed(other)
        if mine == its and None not in mine:
            return True
        own = self.sizes.dims((scope.path, output)) or ()
        sizes, others = (set(self._of_equal_size(met, axes, len(own))) for met in (one, other))
        return bool((sizes & others) - {tuple(own[axis] for axis in axes)})

    def _fixed(self, met: _Met) -> tuple[int | None, ...]:
        return tuple(self.sizes.sizes.fixed(dim) if dim.kind == "const" else dim.old for dim in met.dims)

    # ---- where its size is read ----

    def _read_before(
        self, scope: Scope, output: str, met: _Met, axes: Sequence[int]
    ) -> tuple[str, tuple[int, ...]] | None:
        """A tensor of the partner's size that the resize can read, and its axes: the partner where it is there."""
        place = scope.producers[output]
        definition = met.definition
        rank = self.sizes.rank((scope.path, output)) or 0
        is_here = definition.scope is scope and definition.node is not None
        if not is_here or scope.producers[definition.name] < place:
            dims = self.sizes.dims(definition.key) or ()
            return definition.name, tuple(axis - rank + len(dims) for axis in axes)
        names = [name for node in scope.body.node[:place] for name in node.output if name]
        for equal in self._of_equal_size(met, axes, rank):
            for name in (*reversed(names), *self._inputs(scope)):
                places = self._places(self.sizes.dims((scope.path, name)), equal)
                if places is not None:
                    return name, places
        return None

    def _of_equal_size(self, met: _Met, axes: Sequence[int], rank: int) -> Iterator[tuple[Dim, ...]]:
        """The sizes of what is met, and of what was joined to make it: as long as none is 1, these are equal."""
        pending, seen = [(met.definition, met.dims)], {met.definition.key}
        while pending:
            definition, dims = pending.pop(0)
            yield dims
            definition = self._origin(definition, dims)
            node = definition.node
            if node is None or node.op_type not in MEETING or node.domain not in DEFAULT_DOMAINS:
                continue
            if node.op_type == "Concat" and _joined(node, rank) in axes:
                continue
            for name in node.input:
                source = self._view.scopes.definition(definition.scope, name)
                aligned = None if source is None else self._aligned(source.key, axes, rank)
                if source is None or aligned is None or source.key in seen:
                    continue
                seen.add(source.key)
                whole = tuple(dim for dim in aligned if dim is not None and not _is_one(dim))
                if len(whole) == len(axes):
                    pending.append((source, whole))

    def _origin(self, definition: Definition, dims: Sequence[Dim]) -> Definition:
        """The tensor whose sizes these are, where they were kept since then."""
        roots = {one.tensor for dim in dims if isinstance(one := self.sizes.expression(dim), Size)}
        if len(roots) != 1:
            return definition
        (path, name) = roots.pop()
        origin = self._view.scopes.definition(self._view.scopes.by_path[path], name)
        return definition if origin is None else origin

    def _inputs(self, scope: Scope) -> Iterator[str]:
        for value in scope.body.input:
            name = value if isinstance(value, str) else value.name
            definition = self._view.scopes.definition(scope, name)
            if definition is not None and definition.kind is DefinitionKind.INPUT:
                yield name

    @staticmethod
    def _places(dims: DimList | None, wanted: Sequence[Dim]) -> tuple[int, ...] | None:
        """The axes, in order, that have the wanted sizes."""
        places: list[int] = []
        for axis, dim in enumerate(dims or ()):
            if len(places) < len(wanted) and dim is wanted[len(places)]:
                places.append(axis)
        return tuple(places) if len(places) == len(wanted) else None


def _joined(node: NodeProto, rank: int) -> int | None:
    """The axis that a Concat joins; None where its attribute is of another type than Concat has."""
    axis = attribute_of(node, "axis") or 0
    if not isinstance(axis, int):
        return None
    return axis % rank if rank else axis


def _is_one(dim: Dim) -> bool:
    """Whether an axis is broadcast."""
    return dim.old == 1
