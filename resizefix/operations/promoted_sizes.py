"""Which sizes a promoted site keeps at any value of all new inputs, where another promoted site stands before it."""

from __future__ import annotations

from collections.abc import Sequence

from resizefix.document.scopes import Definition, Scopes
from resizefix.document.values import Dims
from resizefix.interpolation import ExtentKind
from resizefix.promotion import InputBinding
from resizefix.scope_path import Key
from resizefix.shapes.dependents import Dependents
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.output_lengths import KEEPING

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
                through = moved if source.key not in behind_moving.resized else _turned(scopes, source, group, moved)
                kept[driven.key] = _opened(driven, dims, through)
    return kept


def _turned(scopes: Scopes, source: Definition, group: Sequence[InputBinding], moved: _Open) -> _Open:
    """The axes of `source` that sites of the group move, where nothing else stands between than Transposes and nodes
    that leave every axis in its place; None: any axis may follow them."""
    keys = {driven.key for driven in group}
    order: list[int] | None = None if moved is None else list(range(moved[0]))
    current: Definition | None = source
    while current is not None and current.node is not None and order is not None and moved is not None:
        node = current.node
        if current.key in keys:
            return moved[0], frozenset(axis for axis, before in enumerate(order) if before in moved[1])
        if node.op_type == "Transpose":
            perm = list(attribute_of(node, "perm") or range(len(order))[::-1])
            if len(perm) != len(order):
                return None
            order = [perm[axis] for axis in order]
        elif node.op_type not in _IN_PLACE:
            return None
        current = scopes.definition(current.scope, node.input[0])
    return None


def _open(dims: Dims | None) -> _Open:
    return None if dims is None else (len(dims), frozenset(axis for axis, size in enumerate(dims) if size is None))


def _opened(driven: InputBinding, dims: Dims, moved: _Open) -> Dims:
    """The sizes without those on the axes that follow what moved; sizes that the node is given follow nothing."""
    axes = range(len(dims)) if moved is None or moved[0] != len(dims) else moved[1]
    given: set[int] = set()
    if driven.reads is ExtentKind.SIZES and not driven.by_shape:
        given = set(range(len(dims))) if driven.axes is None else {axis % len(dims) for axis in driven.axes}
    return tuple(None if axis in axes and axis not in given else size for axis, size in enumerate(dims))
