"""Which sizes a promoted site keeps at any value of all new inputs, where another promoted site stands before it."""

from __future__ import annotations

from collections.abc import Sequence

from resizefix.document.scopes import Scopes
from resizefix.document.values import Dims
from resizefix.interpolation import ExtentKind
from resizefix.promotion import InputBinding
from resizefix.scope_path import Key
from resizefix.shapes.dependents import Dependents

_Open = tuple[int, frozenset[int]] | None  # the rank and the axes that an input moves; None: all


def kept_dims(scopes: Scopes, plans: Sequence[InputBinding]) -> dict[Key, Dims | None]:
    """The sizes of each site's output that no value of the inputs changes. An axis that a site does not scale follows
    the sites before it."""
    groups: dict[_Open, list[InputBinding]] = {}
    for driven in plans:
        groups.setdefault(_open(driven.output_dims), []).append(driven)
    kept = {driven.key: driven.output_dims for driven in plans}
    if len(groups) < 2:  # what is before a site moves the axes that it moves itself
        return kept
    for moved, group in groups.items():
        dependents = Dependents(scopes)
        dependents.add(driven.key for driven in group)
        for driven in plans:
            dims = kept[driven.key]
            source = scopes.definition(scopes.by_path[driven.scope], driven.input)
            if dims is not None and source is not None and source.key in dependents.resized:
                kept[driven.key] = _opened(driven, dims, moved)
    return kept


def _open(dims: Dims | None) -> _Open:
    return None if dims is None else (len(dims), frozenset(axis for axis, size in enumerate(dims) if size is None))


def _opened(driven: InputBinding, dims: Dims, moved: _Open) -> Dims:
    """The sizes without those on the axes that follow what moved; sizes that the node is given follow nothing."""
    axes = range(len(dims)) if moved is None or moved[0] != len(dims) else moved[1]
    given: set[int] = set()
    if driven.reads is ExtentKind.SIZES and not driven.by_shape:
        given = set(range(len(dims))) if driven.axes is None else {axis % len(dims) for axis in driven.axes}
    return tuple(None if axis in axes and axis not in given else size for axis, size in enumerate(dims))
