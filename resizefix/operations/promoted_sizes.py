"""Which sizes a promoted site keeps at any value of all new inputs, where another promoted site stands before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from onnx import FunctionProto

from resizefix.document.scopes import Definition, Scopes, is_operator
from resizefix.document.values import Dims
from resizefix.interpolation import ExtentKind
from resizefix.promotion import InputBinding
from resizefix.scope_path import Key
from resizefix.shapes.dependents import Dependents
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.output_size import KEEPING

_Open = tuple[int, frozenset[int]] | None  # the rank and the axes that an input moves; None: all


# They make other axes of those that they read.
_MOVING = frozenset(
    {"DepthToSpace", "Einsum", "Expand", "Flatten", "Gather", "GatherND", "MatMul", "Reshape", "SpaceToDepth", "Split"}
    | {"Squeeze", "Tile", "Transpose", "Unsqueeze"}
)

# Each axis of what they make follows the same one of what they read, if any.
_IN_PLACE = KEEPING | {"AveragePool", "Conv", "ConvTranspose", "MaxPool", "Pad"}


def kept_dims(scopes: Scopes, plans: Sequence[InputBinding]) -> dict[Key, Dims | None]:
    """The sizes of each site's output that no value of the inputs changes. An axis that a site does not scale follows
    the sites before it."""
    groups: dict[_Open, list[InputBinding]] = {}
    for driven in plans:
        groups.setdefault(_open(driven.output_dims), []).append(driven)
    kept = {driven.key: driven.output_dims for driven in plans}
    moving = {
        (scope.path, name)
        for scope in scopes.all
        for node in scope.body.node
        if node.op_type in _MOVING and scopes.called(node) is None  # the nodes of what is called are here, too
        for name in node.output
        if name
    }
    if len(groups) < 2 and not moving:  # what is before a site moves the axes that it moves itself
        return kept
    for moved, group in groups.items():
        dependents = Dependents(scopes)
        dependents.add(driven.key for driven in group)
        behind_moving = Dependents(scopes)
        behind_moving.add(moving & dependents.resized)
        for driven in plans:
            dims = kept[driven.key]
            source = scopes.definition(scopes.by_path[driven.scope], driven.input)
            if dims is not None and source is not None and source.key in dependents.resized:
                through = (
                    moved
                    if source.key not in behind_moving.resized
                    else _turned(scopes, source, group, moved, dependents)
                )
                kept[driven.key] = _opened(driven, dims, through)
    return kept


def _turned(scopes: Scopes, source: Definition, group: Sequence[InputBinding], moved: _Open, at: Dependents) -> _Open:
    """The axes of `source` that sites of the group move, where nothing else stands between than Transposes and nodes
    that leave every axis in its place; None: any axis may follow them. `at` are the tensors that sites reach."""
    return None if moved is None else _Turning(scopes, frozenset(driven.key for driven in group), moved, at).of(source)


@dataclass
class _Turning:
    """Follows axes back to the sites with these keys, each of which moves `moved`; around loops until no turn moves
    more."""

    scopes: Scopes
    keys: frozenset[Key]
    moved: tuple[int, frozenset[int]]
    reached: Dependents
    _around: dict[Key, frozenset[int]] = field(default_factory=dict)  # axes of what a loop carries, so far
    _open: set[Key] = field(default_factory=set)  # of these, what is followed now

    def of(self, source: Definition) -> _Open:
        """The axes of a tensor that follow the sites."""
        while True:
            before = dict(self._around)
            axes = self._axes(source)
            if axes is None or before == self._around:
                return None if axes is None else (self.moved[0], axes)

    def _axes(self, current: Definition | None) -> frozenset[int] | None:
        if current is None:
            return None
        if current.key not in self.reached.resized:
            return frozenset()
        node = current.node
        if node is None:
            return self._carried(current)
        if not (current.key in self.keys or node.op_type == "Transpose" or node.op_type in _IN_PLACE):
            return None
        axes = self._axes(self.scopes.definition(current.scope, node.input[0]))
        if axes is None or current.key in self.keys:
            return None if axes is None else axes | self.moved[1]
        if node.op_type != "Transpose":
            return axes
        order = list(attribute_of(node, "perm") or range(self.moved[0])[::-1])
        if sorted(order) != list(range(self.moved[0])):
            return None
        return frozenset(axis for axis, before in enumerate(order) if before in axes)

    def _carried(self, current: Definition) -> frozenset[int] | None:
        """The axes of what a Loop hands on to its next turn: at the start, and as a turn leaves it."""
        scope = current.scope
        loop = None if scope.parent is None or scope.owner is None else scope.parent.body.node[scope.owner]
        if (
            loop is None
            or scope.parent is None
            or not is_operator(loop, "Loop")
            or isinstance(scope.body, FunctionProto)
        ):
            return None
        if current.key in self._open:
            return self._around.get(current.key, frozenset())
        at = [value.name for value in scope.body.input].index(current.name)
        self._open.add(current.key)
        start = self._axes(self.scopes.definition(scope.parent, loop.input[at]))
        left = self._axes(self.scopes.definition(scope, scope.body.output[at - 1].name))
        self._open.remove(current.key)
        if start is None or left is None:
            return None
        self._around[current.key] = start | left
        return start | left


def _open(dims: Dims | None) -> _Open:
    return None if dims is None else (len(dims), frozenset(axis for axis, size in enumerate(dims) if size is None))


def _opened(driven: InputBinding, dims: Dims, moved: _Open) -> Dims:
    """The sizes without those on the axes that follow what moved; sizes that the node is given follow nothing."""
    axes = range(len(dims)) if moved is None or moved[0] != len(dims) else moved[1]
    given: set[int] = set()
    if driven.reads is ExtentKind.SIZES and not driven.by_shape:
        given = set(range(len(dims))) if driven.axes is None else {axis % len(dims) for axis in driven.axes}
    return tuple(None if axis in axes and axis not in given else size for axis, size in enumerate(dims))
