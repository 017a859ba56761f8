"""Another fixed size: every constant that follows the input gets the numbers of that size, in place where all who read
one agree, by a new constant elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, helper, numpy_helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.edits import FreshNames, add_initializer, remove_unread, set_input
from resizefix.document.scopes import names_in
from resizefix.document.text import node_text
from resizefix.document.values import Array, Dims, dims_of, set_shape
from resizefix.document.view import View
from resizefix.input_sizes.following import Following, FollowingNumbers
from resizefix.input_sizes.operands import Place
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.expression import Dim
from resizefix.shapes.image_axes import ImageInput
from resizefix.shapes.stored_shapes import rederive


@dataclass(frozen=True)
class Resized:
    """A model for another size, and what happened to each node whose constants changed."""

    document: Document
    outcomes: tuple[Outcome, ...]
    changed: frozenset[int]
    exact: bool = True
    """Whether every node computes the same bits at the old size: a global pool sums in another order."""


def resized(document: Document, found: Following, symbols: Mapping[str, int]) -> Resized:
    """A copy of the model for inputs of this size. Raises SizeRefusedError where it has no such size."""
    found.require_fits(symbols)
    numbers = found.numbers(symbols)
    made = document.copy()
    model = made.proto
    nodes = {place.node for place in numbers.constants} | {index for index, _ in numbers.attributes}
    before = {index: node_text(model.graph.node[index]) for index in sorted(nodes)}
    for (index, name), values in numbers.attributes.items():
        _write_attribute(model.graph.node[index], name, values)
    _write_constants(model, numbers.constants)
    set_inputs(made, found, symbols)
    rederive(model, fixed_shapes(found, symbols))
    outcomes = _outcomes(document, found, numbers, before)
    return Resized(made, outcomes, frozenset(before))


def closed(document: Document, images: Sequence[ImageInput], wanted: Mapping[str, int]) -> Document:
    """A copy in which sizes of the inputs that the file leaves open are these."""
    made = document.copy()
    sizes = {one.name: {name: length for name, length in wanted.items() if one.old(name) is None} for one in images}
    rederive(made.proto, _set_axes(made, images, sizes), names_hold=True)
    return made


def set_inputs(made: Document, found: Following, symbols: Mapping[str, int | str]) -> None:
    """Write the new sizes into the inputs' shapes: numbers, or symbols."""
    _set_axes(made, found.flow.images, {image.name: symbols for image in found.flow.images})


def _set_axes(
    made: Document, images: Sequence[ImageInput], sizes: Mapping[str, Mapping[str, int | str]]
) -> dict[Key, Dims | None]:
    """Write sizes, by the names of inputs and of their axes, into the inputs' shapes; what these are then."""
    named = {image.name: image for image in images}
    shapes: dict[Key, Dims | None] = {}
    for value in made.proto.graph.input:
        if value.name in named:
            dims = list(dims_of(value.type))
            for name, axis in named[value.name].axes.items():
                if name in sizes[value.name]:
                    dims[axis] = named[value.name].length(name, sizes[value.name][name])
            set_shape(value, dims)
            shapes[MAIN, value.name] = tuple(dims)
    return shapes


def fixed_shapes(found: Following, symbols: Mapping[str, int]) -> dict[Key, Dims | None]:
    """The sizes of all tensors that follow the input."""
    flow = found.flow
    point = {name: np.array([value], np.int64) for name, value in symbols.items()}
    memo: dict[Dim, npt.NDArray[np.int64]] = {}
    shapes: dict[Key, Dims | None] = {}
    names = names_of_open(found)
    for name, dims in flow.dims.items():
        if dims is None or all(flow.sizes.fixed(dim) is not None for dim in dims):
            continue
        lengths = [flow.sizes.at(dim, point, memo) for dim in dims]
        shapes[MAIN, name] = tuple(
            names.get(flow.sizes.resolve(dim)) if length is None else int(length[0])
            for dim, length in zip(dims, lengths, strict=True)
        )
    return shapes


def names_of_open(found: Following) -> dict[Dim, str]:
    """The names that the file has for sizes of inputs that stay open, as the batch."""
    flow = found.flow
    names: dict[Dim, str] = {}
    for value in flow.view.model.graph.input:
        for dim, size in zip(flow.dims.get(value.name) or (), dims_of(value.type), strict=False):
            if isinstance(size, str) and flow.sizes.resolve(dim).kind == "opaque":
                names.setdefault(flow.sizes.resolve(dim), size)
    return names


def _outcomes(
    document: Document, found: Following, numbers: FollowingNumbers, before: Mapping[int, str]
) -> tuple[Outcome, ...]:
    made: list[Outcome] = []
    graph = document.proto.graph
    for index, text in before.items():
        said = [
            Diagnostic(
                "operations.input-size-constant",
                name=graph.node[index].input[place.position],
                before=_short(found.flow.operands.array(graph.node[index].input[place.position])),
                after=_short(array),
            )
            for place, array in numbers.constants.items()
            if place.node == index
        ]
        for (node, name), values in numbers.attributes.items():
            if node == index:
                old = next(list(a.ints or a.floats) for a in graph.node[index].attribute if a.name == name)
                said.append(Diagnostic("operations.input-size-constant", name=name, before=old, after=list(values)))
        exact = index not in found.approximate
        made.append(Outcome(index, found.flow.labels[index], Status.CHANGED, "; ".join(said), text, exact=exact))
    return tuple(made)


def _short(array: Array | None) -> str:
    if array is None:
        return "?"
    return str(array.tolist()) if array.size <= 8 else f"{array.dtype.name}{list(array.shape)}"


def _write_constants(model: ModelProto, constants: Mapping[Place, Array]) -> None:
    """Let each place read its new numbers; who else reads the old constant keeps it."""
    scopes = View(model).scopes
    names = FreshNames(names_in(model))
    by_name: dict[str, dict[Place, Array]] = {}
    for place, array in constants.items():
        by_name.setdefault(model.graph.node[place.node].input[place.position], {})[place] = array
    unread: list[Key] = []
    for name, uses in by_name.items():
        definition = scopes.definition(scopes.main, name)
        readers = [] if definition is None else scopes.readers(definition)
        first = next(iter(uses.values()))
        alike = all(array.shape == first.shape and np.array_equal(array, first) for array in uses.values())
        if alike and len(readers) == len(uses) and _replace(model, name, first):
            continue
        made: dict[bytes, str] = {}
        for place, array in uses.items():
            key = repr(array.shape).encode() + array.tobytes()
            if key not in made:
                made[key] = names.fresh(f"{name}_resized")
                add_initializer(model, numpy_helper.from_array(np.array(array, order="C"), made[key]))
            set_input(model.graph.node[place.node], place.position, made[key])
        unread.append((MAIN, name))
    remove_unread(model, unread)


def _replace(model: ModelProto, name: str, array: Array) -> bool:
    """Give a constant other numbers under its name."""
    graph, tensor = model.graph, numpy_helper.from_array(np.array(array, order="C"), name)
    initializer = next((one for one in graph.initializer if one.name == name), None)
    node = next((one for one in graph.node if one.op_type == "Constant" and list(one.output) == [name]), None)
    if initializer is not None:
        tensor.doc_string = initializer.doc_string
        initializer.CopyFrom(tensor)
    elif node is not None:
        tensor.name = node.attribute[0].t.name if node.attribute[0].name == "value" else name
        del node.attribute[:]
        node.attribute.append(helper.make_attribute("value", tensor))
    else:
        return False
    for value in (*graph.input, *graph.value_info):  # up to IR 3 an initializer is listed as an input
        if value.name == name:
            set_shape(value, array.shape)
    return True


def _write_attribute(node: NodeProto, name: str, values: tuple[float, ...]) -> None:
    """Give an attribute other numbers."""
    for attribute in node.attribute:
        if attribute.name == name and attribute.ints:
            attribute.ints[:] = [int(value) for value in values]
        elif attribute.name == name:
            attribute.floats[:] = values
