"""Constants of single uses replaced: in place where all who read one agree, by a new constant elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import ModelProto, NodeProto, helper, numpy_helper

from resizefix.document.edits import add_initializer, remove_unread, set_input, set_shape
from resizefix.document.node_builder import FreshNames
from resizefix.document.scopes import names_in
from resizefix.document.values import Array
from resizefix.document.view import View
from resizefix.origins.input_sizes.operands import Place
from resizefix.scope_path import MAIN, Key


def write_constants(model: ModelProto, constants: Mapping[Place, Array]) -> None:
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


def write_attribute(node: NodeProto, name: str, values: tuple[float, ...]) -> None:
    """Give an attribute other numbers."""
    for attribute in node.attribute:
        if attribute.name == name and attribute.ints:
            attribute.ints[:] = [int(value) for value in values]
        elif attribute.name == name:
            attribute.floats[:] = values
