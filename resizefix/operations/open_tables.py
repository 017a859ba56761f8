"""Resizes written with tables of indices that the model computes from open sizes, as dynamo writes them.

The tables are functions of the lengths. They are folded with one length and then another in the place of the open ones,
and what is the same interpolation with the same scales, or the same sizes, at all of these is one resize.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from weakref import WeakKeyDictionary

from onnx import GraphProto, TensorShapeProto, ValueInfoProto

from resizefix.dialects.resized_length import kernel_length
from resizefix.document.scopes import bodies
from resizefix.interpolation import Mode
from resizefix.operations.written_resizes import WrittenResize, behind_computed_tables, written_resizes
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView

_TELLING = (19, 32, 42)
"""No two factors that somebody types give the same lengths of all; an even one shows how a tie is rounded,
and none is a multiple of 5, of which a tenth more or less in a float32 is a length."""
_LEAST = 2  # of them show a place: at the other, its sizes may be those of the input
_CHECKED = (*range(2, 13), 16, 21, 32, 47)
"""The lengths at which a table of indices is held against the resize that takes its place."""
_CHECKED_WEIGHTS = (2, 3, 5, 8, 13, 21, 34)  # weights take a second each; runs compare these
_STEP = 2  # between the axes of one input, so that no two have one length
_SPATIAL = 2  # the axes before are batch and channels
_READ: WeakKeyDictionary[ModelView, list[WrittenResize]] = WeakKeyDictionary()


def open_written(view: ModelView) -> list[WrittenResize]:
    """The resizes whose tables follow open sizes; those that the file's own sizes show are none of them."""
    if view not in _READ:
        _READ[view] = _open_written(view) if _has_open_tables(view) else []
    return _READ[view]


def _open_written(view: ModelView) -> list[WrittenResize]:
    by_key: dict[Key, list[WrittenResize]] = {}
    for length in _TELLING:
        for one in written_resizes(_pinned(view, length)):
            by_key.setdefault(one.key, []).append(one)
    own = {one.key for one in written_resizes(view)}
    common = [reduce(_both, seen) for key, seen in by_key.items() if key not in own and len(seen) >= _LEAST]
    return [replace(one, scope=view.scopes.by_path[one.scope.path]) for one in common if one.alternatives]


def resizes_at_one_size(view: ModelView) -> bool:
    """Whether tables that follow open sizes are resizes once these are fixed."""
    return _has_open_tables(view) and bool(written_resizes(_pinned(view, _TELLING[0])))


def first_other(view: ModelView) -> dict[Key, int]:
    """Of each place whose table is another one than the resize's, the first length at which it is."""
    wrong: dict[Key, int] = {}
    places = {one.key: one for one in open_written(view)}
    copies = all(one.assumed.interpolation.mode is Mode.NEAREST for one in places.values())
    for length in (_CHECKED if copies else _CHECKED_WEIGHTS) if places else ():
        pinned = _pinned(view, length)
        here = {one.key: one for one in written_resizes(pinned)}
        for key, place in places.items():
            if not (_fits(place, here[key]) if key in here else _shows_nothing(place, pinned)):
                wrong.setdefault(key, length)
    return wrong


def size_to_fix(view: ModelView) -> str:
    """A size that `input-size` takes of the first input with open axes."""
    for value in view.model.graph.input:
        if any(not dim.HasField("dim_value") for dim in _spatial(value)):
            dims = value.type.tensor_type.shape.dim
            first = [str(dims[1].dim_value)] if len(dims) == _SPATIAL + 1 and dims[1].dim_value else []
            return "x".join([*first, *["64"] * max(len(dims) - _SPATIAL, 2 - len(first))])
    return "64x64"


def _shows_nothing(place: WrittenResize, pinned: ModelView) -> bool:
    """Whether a table of these sizes does not show its resize: each length stays, or an axis has one sample left."""
    dims = pinned.dims(place.scope, place.x)
    sizes = [dims[axis] for axis in place.axes] if dims is not None else []
    whole = [size for size in sizes if isinstance(size, int)]
    if len(whole) < len(place.axes):
        return False
    scaled = (kernel_length(scale, size) for size, scale in zip(whole, place.assumed.scales, strict=True))
    lengths = list(scaled if place.assumed.is_by_scales else place.lengths)
    return lengths == whole or min(lengths) < _LEAST


def _fits(place: WrittenResize, one: WrittenResize) -> bool:
    """Whether the place's interpolation is among those that have the table at these sizes. An axis whose length stays
    is not resized there, and weights that are all 1 are those of a nearest, too."""
    scales = dict(zip(place.axes, place.assumed.scales, strict=True)) if place.assumed.is_by_scales else {}
    lengths = dict(zip(place.axes, place.lengths, strict=True))
    for axis, size, out in zip(one.axes, one.sizes, one.lengths, strict=True):
        if out != (kernel_length(scales[axis], size) if axis in scales else lengths.get(axis)):
            return False
    wanted, modes = place.assumed.interpolation, {other.interpolation.mode for other in one.alternatives}
    is_one_hot = wanted.mode is not Mode.NEAREST and modes == {Mode.NEAREST}
    return is_one_hot or any(wanted == other.interpolation for other in one.alternatives)


def _both(first: WrittenResize, second: WrittenResize) -> WrittenResize:
    """The first with the alternatives that the second, of other sizes, has as well."""
    if first.axes == second.axes and first.lengths == second.lengths:  # of other lengths before: these are the sizes
        named = {one.interpolation for one in second.alternatives}
        alternatives = [one._replace(is_by_scales=False) for one in first.alternatives if one.interpolation in named]
    else:
        scaled = {(one.interpolation, one.scales) for one in second.alternatives if one.is_by_scales}
        alternatives = [one for one in first.alternatives if (one.interpolation, one.scales) in scaled]
    return replace(first, alternatives=tuple(alternatives))


def _has_open_tables(view: ModelView) -> bool:
    return _has_open_axes(view.model.graph) and bool(behind_computed_tables(view, view.scopes.main))


def _has_open_axes(graph: GraphProto) -> bool:
    return any(not dim.HasField("dim_value") for value in graph.input for dim in _spatial(value))


def _spatial(value: ValueInfoProto) -> list[TensorShapeProto.Dimension]:
    return list(value.type.tensor_type.shape.dim[_SPATIAL:])


def _pinned(view: ModelView, length: int) -> ModelView:
    """The model with lengths in the place of the open ones of its inputs, one for each name, and no stored shapes."""
    copy = view.document.copy()
    graph = copy.proto.graph
    lengths: dict[str, int] = {}
    for value in graph.input:
        for place, dim in enumerate(_spatial(value)):
            if not dim.HasField("dim_value"):
                own = dim.dim_param or f"{value.name} {place}"
                dim.dim_value = lengths.setdefault(own, length + _STEP * len(lengths))
    for _, body in bodies(copy.proto):
        del body.value_info[:]
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")
    return ModelView(copy)
