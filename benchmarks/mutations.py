"""Plausible programming errors of a rewrite, as rows: each edits a candidate between the operation and its proof.

An edit that leaves every output as it is, is no error: `mutant_judge.py` finds those out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from candidate_edits import (
    FLOATS,
    NEW,
    RESIZES,
    Edit,
    Place,
    Subject,
    ahead,
    attribute_of,
    behind,
    constant,
    extents,
    node_at,
    off_by,
    stored,
    with_attribute,
    with_extent,
    with_operand,
    with_weight,
)  # fmt: skip
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper


def other_scale(subject: Subject) -> Iterator[Edit]:
    """One number of the scales or sizes is another."""
    for place, position, value in extents(subject):
        for axis in range(value.size):
            for moved in (value[axis] * 1.5, value[axis] + 1) if value.dtype.kind == "f" else (value[axis] + 1,):
                other = value.copy()
                other[axis] = moved
                yield with_extent(place, position, other)


def swapped_axes(subject: Subject) -> Iterator[Edit]:
    """Height and width of the scales or sizes are swapped, constants or not."""
    for place, position, value in extents(subject):
        if value.size >= 2 and value[-1] != value[-2]:
            other = value.copy()
            other[-1], other[-2] = value[-2], value[-1]
            yield with_extent(place, position, other)
    for place, node in subject.sites:
        found = subject.operand(node) if node.op_type in RESIZES else None
        length = None if found is None else getattr(subject.values.get(found[1]), "size", None)
        if found is not None and length is not None and length >= 2 and subject.constant(found[1]) is None:
            order = np.array([*range(length - 2), length - 1, length - 2], np.int64)
            yield ahead(place, found[0], lambda given, made, order=order: [
                constant(f"{NEW}_order", order), helper.make_node("Gather", [given, f"{NEW}_order"], [made], axis=0)
            ])  # fmt: skip


_COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
_ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def other_sampling(subject: Subject) -> Iterator[Edit]:
    """Another coordinate mode, rounding or mode."""
    for place, node in subject.sites:
        if node.op_type not in RESIZES:
            continue
        mode = attribute_of(node, "mode") or "nearest"
        yield with_attribute(place, "mode", "nearest" if mode != "nearest" else "linear")
        if node.op_type == "Resize" and len(node.input) > 2:
            now = attribute_of(node, "coordinate_transformation_mode") or "half_pixel"
            for word in _COORDINATES:
                if word != now:
                    yield with_attribute(place, "coordinate_transformation_mode", word)
            if mode == "nearest":
                now = attribute_of(node, "nearest_mode") or "round_prefer_floor"
                for word in _ROUNDINGS:
                    if word != now:
                        yield with_attribute(place, "nearest_mode", word)


def frozen_axis(subject: Subject) -> Iterator[Edit]:
    """Batch or channels are those of one run, whatever is fed."""
    for place, node in subject.sites:
        made = subject.values.get(node.output[0])
        for axis in (0, 1):
            if made is not None and made.ndim > 2 and made.shape[axis]:
                bounds = [0], [made.shape[axis]], [axis]
                yield behind(place, node.output[0], lambda given, out, bounds=bounds: [
                    *(constant(f"{NEW}_{at}", np.array(one, np.int64)) for at, one in enumerate(bounds)),
                    helper.make_node("Slice", [given, f"{NEW}_0", f"{NEW}_1", f"{NEW}_2"], [out]),
                ])  # fmt: skip
    for place, node in subject.changed:
        if node.op_type in ("Reshape", "Expand") and place.body == 0:
            made = subject.values.get(node.output[0])
            if made is not None and subject.constant(node.input[1]) is None:
                yield with_operand(place, 1, np.array(made.shape, np.int64))


def computed_frozen(subject: Subject) -> Iterator[Edit]:
    """What is computed, or fed, is a constant: what it was in one run."""
    for place, node in subject.changed:
        for position, name in enumerate(node.input):
            value = subject.values.get(name)
            small = value is not None and value.ndim <= 1 and value.dtype.kind in "if" and 0 < value.size <= 8
            if value is not None and small and subject.constant(name) is None and place.body == 0:
                yield with_operand(place, position, value)


def wrong_tensor(subject: Subject) -> Iterator[Edit]:
    """A changed node reads another tensor of the same type and shape."""
    produced = [name for name in subject.values if subject.constant(name) is None]
    order = {name: at for at, (place, node) in enumerate(subject.nodes) if place.body == 0 for name in node.output}
    for place, node in subject.changed:
        if place.body:
            continue
        here = order.get(node.output[0], 0)
        for position, name in enumerate(node.input):
            value = subject.values.get(name)
            if value is None or subject.constant(name) is not None:
                continue
            for other in produced:
                it = subject.values[other]
                alike = it.shape == value.shape and it.dtype == value.dtype and order.get(other, -1) < here
                if other != name and alike:

                    def edit(model: ModelProto, place: Place = place, at: int = position, other: str = other) -> None:
                        node_at(model, place).input[at] = other

                    yield edit


def transposed(subject: Subject) -> Iterator[Edit]:
    """Two axes that are equal in one run are transposed."""
    for place, node in subject.sites:
        made = subject.values.get(node.output[0])
        if made is not None and made.ndim >= 3:
            order = [*range(made.ndim - 2), made.ndim - 1, made.ndim - 2]
            yield behind(place, node.output[0], lambda given, out, order=order: [
                helper.make_node("Transpose", [given], [out], perm=order)
            ])  # fmt: skip


def other_side(subject: Subject) -> Iterator[Edit]:
    """A pad stands on the other side: of the nodes that have one, else around the whole node."""
    for place, node in subject.changed:
        pads = attribute_of(node, "pads")
        if pads is not None and list(pads) != [*pads[len(pads) // 2 :], *pads[: len(pads) // 2]]:
            yield with_attribute(place, "pads", [*pads[len(pads) // 2 :], *pads[: len(pads) // 2]])
        value = subject.constant(node.input[1]) if node.op_type == "Pad" and len(node.input) > 1 else None
        if value is not None:
            yield with_operand(place, 1, np.roll(value, value.size // 2))
    for place, node in subject.sites:
        made = subject.values.get(node.output[0])
        if made is not None and made.ndim >= 3 and made.dtype.kind == "f" and made.shape[-1] > 1:
            axis = made.ndim - 1
            yield behind(place, node.output[0], lambda given, out, axis=axis: [
                *(constant(f"{NEW}_{key}", np.array([number], np.int64))
                  for key, number in (("one", 1), ("most", 2**40), ("last", -1), ("axis", axis))),
                helper.make_node("Slice", [given, f"{NEW}_one", f"{NEW}_most", f"{NEW}_axis"], [f"{NEW}_a"]),
                helper.make_node("Slice", [given, f"{NEW}_last", f"{NEW}_most", f"{NEW}_axis"], [f"{NEW}_b"]),
                helper.make_node("Concat", [f"{NEW}_a", f"{NEW}_b"], [out], axis=axis),
            ])  # fmt: skip


def weight_off(subject: Subject) -> Iterator[Edit]:
    """One weight of the new nodes is off by 1e-4 of the largest."""
    read = {name for _, node in subject.changed for name in node.input}
    old = {tensor.name for tensor in subject.before.graph.initializer}
    for tensor in subject.after.graph.initializer:
        if tensor.name in old or tensor.name not in read or tensor.data_type not in FLOATS:
            continue
        value = subject.array(tensor)
        if value.size > 8:
            yield with_weight(tensor.name, off_by(value, 1e-4))


def wired_to_one(subject: Subject) -> Iterator[Edit]:
    """A site does not follow its new input, or follows that of another site."""
    names = list(subject.inputs)
    for place, node in subject.changed:
        for position, name in enumerate(node.input):
            if name not in subject.inputs:
                continue
            value = subject.values.get(name)
            if value is not None and place.body == 0:
                yield with_operand(place, position, value)
            for other in names:
                if other != name and len(subject.inputs[other]) == len(subject.inputs[name]):

                    def edit(model: ModelProto, place: Place = place, at: int = position, other: str = other) -> None:
                        node_at(model, place).input[at] = other

                    yield edit


def words_lost(subject: Subject) -> Iterator[Edit]:
    """An attribute of a changed node is lost: antialias, axes, and others that decide what it computes."""
    for place, node in subject.changed:
        for attribute in node.attribute:
            if attribute.type != AttributeProto.GRAPH and attribute.name not in ("value", "to"):
                yield with_attribute(place, attribute.name, None)


def half_precision(subject: Subject) -> Iterator[Edit]:
    """The node computes in half precision."""
    for place, node in subject.sites:
        value = subject.values.get(node.input[0]) if node.input else None
        if value is not None and value.dtype == np.float32:
            yield ahead(place, 0, lambda given, made: [
                helper.make_node("Cast", [given], [f"{NEW}_half"], to=TensorProto.FLOAT16),
                helper.make_node("Cast", [f"{NEW}_half"], [made], to=TensorProto.FLOAT),
            ])  # fmt: skip


def wrong_node(subject: Subject) -> Iterator[Edit]:
    """What was meant for one of two nodes is done to the other."""
    changed = [(place, node) for place, node in subject.changed if node.op_type in RESIZES]
    others = [(place, node) for place, node in subject.nodes if node.op_type in RESIZES]
    for place, node in changed:
        for other_place, other in others:
            if place != other_place and node.op_type == other.op_type and place.body == other_place.body:

                def edit(model: ModelProto, one: Place = place, two: Place = other_place) -> None:
                    first, second = node_at(model, one), node_at(model, two)
                    for field_name in ("attribute",):
                        mine, theirs = list(getattr(first, field_name)), list(getattr(second, field_name))
                        kept = NodeProto(attribute=mine)
                        del first.attribute[:]
                        first.attribute.extend(theirs)
                        del second.attribute[:]
                        second.attribute.extend(kept.attribute)
                    mine, theirs = list(first.input[1:]), list(second.input[1:])
                    del first.input[1:]
                    first.input.extend(theirs)
                    del second.input[1:]
                    second.input.extend(mine)

                yield edit


def other_weight(subject: Subject) -> Iterator[Edit]:
    """A weight of another node is changed."""
    old = {tensor.name for tensor in subject.before.graph.initializer}
    for tensor in subject.after.graph.initializer:
        if tensor.name in old and tensor.data_type in FLOATS and np.prod(tensor.dims) > 0:
            yield with_weight(tensor.name, off_by(subject.array(tensor), 1e-3))


def other_node(subject: Subject) -> Iterator[Edit]:
    """Another node is not what it was: an attribute is lost, an operand exchanged, or it does nothing."""
    for place, node in subject.stayed:
        for attribute in node.attribute:
            if attribute.type in (AttributeProto.INT, AttributeProto.INTS, AttributeProto.FLOAT):
                yield with_attribute(place, attribute.name, None)
        if node.op_type in ("Relu", "Sigmoid", "LeakyRelu", "Tanh", "Clip"):

            def edit(model: ModelProto, place: Place = place) -> None:
                found = node_at(model, place)
                found.CopyFrom(helper.make_node("Identity", [found.input[0]], list(found.output), found.name))

            yield edit


def other_fields(subject: Subject) -> Iterator[Edit]:
    """Metadata, names and documentation are not what they were."""

    def with_metadata(model: ModelProto) -> None:
        model.metadata_props.add(key="mutant", value="1")

    def without_documentation(model: ModelProto) -> None:
        model.doc_string += "."

    def renamed(model: ModelProto) -> None:
        model.graph.name += "_"

    yield from (with_metadata, without_documentation, renamed)


def stored_shape(subject: Subject) -> Iterator[Edit]:
    """A stored shape has another number, a symbol of another axis, another rank, or a number for a symbol."""
    for at, value in enumerate(stored(subject.after)):
        shape = value.type.tensor_type.shape
        symbols = [dim.dim_param for dim in shape.dim if dim.dim_param]
        for axis, dim in enumerate(shape.dim):
            made = subject.values.get(value.name)

            def edit(model: ModelProto, at: int = at, axis: int = axis, size: int | str = 1) -> None:
                found = stored(model)[at].type.tensor_type.shape.dim[axis]
                found.Clear()
                if isinstance(size, int):
                    found.dim_value = size
                else:
                    found.dim_param = size

            if dim.HasField("dim_value"):
                yield lambda model, e=edit, size=dim.dim_value + 1: e(model, size=size)
            elif made is not None and axis < made.ndim and axis > 1:
                yield lambda model, e=edit, size=made.shape[axis]: e(model, size=size)
            for other in symbols:
                if other != dim.dim_param:
                    yield lambda model, e=edit, size=other: e(model, size=size)
        if shape.dim and value.name not in {one.name for one in subject.after.graph.input}:
            yield lambda model, at=at: stored(model)[at].type.tensor_type.shape.dim.add(dim_value=1)


def stale_shape(subject: Subject) -> Iterator[Edit]:
    """The stored shapes of the model before are kept, and those of one run are written where there were none."""
    old = {value.name: value for value in stored(subject.before)}

    def all_kept(model: ModelProto) -> None:
        for value in stored(model):
            if value.name in old and value.name not in {one.name for one in model.graph.input}:
                value.type.CopyFrom(old[value.name].type)

    yield all_kept
    listed = {value.name for value in stored(subject.after)}
    for _, node in subject.sites:
        for name in node.output:
            made = subject.values.get(name)
            if name and name not in listed and made is not None:
                kind = helper.np_dtype_to_tensor_dtype(made.dtype)

                def edit(model: ModelProto, name: str = name, kind: int = kind, dims: Any = made.shape) -> None:
                    model.graph.value_info.append(helper.make_tensor_value_info(name, kind, dims))

                yield edit


@dataclass(frozen=True)
class Family:
    """One kind of error. `kind`: "numbers", judged by what the model computes; "shapes", by what the file says of it;
    "bytes", whatever it computes: nothing there was to change."""

    name: str
    edits: Callable[[Subject], Iterator[Edit]]
    kind: str = "numbers"


FAMILIES = (
    Family("another scale", other_scale),
    Family("height and width swapped", swapped_axes),
    Family("another coordinate mode, rounding or mode", other_sampling),
    Family("batch or channels frozen", frozen_axis),
    Family("a computed or fed value frozen", computed_frozen),
    Family("a wrong tensor of the same shape", wrong_tensor),
    Family("equal axes transposed", transposed),
    Family("a pad on the other side", other_side),
    Family("one weight of the new nodes off by 1e-4", weight_off),
    Family("an input wired to one of two nodes", wired_to_one),
    Family("antialias, axes or another word lost", words_lost),
    Family("a cast to half precision", half_precision),
    Family("the fix applied to the wrong node", wrong_node),
    Family("a stored shape wrong", stored_shape, "shapes"),
    Family("a stale shape kept", stale_shape, "shapes"),
    Family("another node's weight", other_weight, "bytes"),
    Family("another node", other_node, "bytes"),
    Family("metadata, names, documentation", other_fields, "bytes"),
)
