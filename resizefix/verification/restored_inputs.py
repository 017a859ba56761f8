"""Undoes the plan of inputs that became whole numbers, so that all else is compared as if it had not been made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnx import NodeProto, TensorProto, numpy_helper

from resizefix.document.document import Document
from resizefix.document.scopes import Scopes, is_operator
from resizefix.document.view import View
from resizefix.scope_path import MAIN


def restored(before: Document, candidate: Document, integers: Mapping[str, int]) -> Document | str:
    """A copy of the candidate in which each of these inputs has the type that it had, and is read where its quotient
    is; the name of the input where something else than a Cast, and a division by the planned number, stands there."""
    made = candidate.copy()
    graph = made.proto.graph
    scopes = View(made.proto).scopes
    were = {value.name: value for value in before.proto.graph.input}
    nodes: list[NodeProto] = []
    for name, denominator in integers.items():
        value = next((value for value in graph.input if value.name == name), None)
        if value is None or name not in were or value.type.tensor_type.elem_type != TensorProto.INT64:
            return name
        elem_type = were[name].type.tensor_type.elem_type
        chain = _chain(made, scopes, name, elem_type, denominator)
        if chain is None:
            return name
        value.type.tensor_type.elem_type = elem_type
        for reader in scopes.readers_of((MAIN, chain[-1].output[0])):
            if reader.node is None:
                return name
            reader.node.input[reader.position] = name
        nodes += chain
    for node in nodes:
        graph.node.remove(node)
    return made


def _chain(document: Document, scopes: Scopes, name: str, elem_type: int, denominator: int) -> list[NodeProto] | None:
    """The nodes from the input to what others read: a Cast to the old type, and where the denominator is not 1 a
    constant and a Div, each read by the next alone."""
    cast = _only_reader(scopes, name)
    if cast is None or not _is(cast, "Cast", [name]):
        return None
    if [(one.name, one.i) for one in cast.attribute] != [("to", elem_type)]:
        return None
    if denominator == 1:
        return [cast]
    division = _only_reader(scopes, cast.output[0])
    if division is None or len(division.input) != 2 or division.attribute:
        return None
    if not _is(division, "Div", [cast.output[0], division.input[1]]):
        return None
    made = scopes.definition(scopes.main, division.input[1])
    constant = None if made is None else made.node
    if constant is None or not _is(constant, "Constant", []) or [one.name for one in constant.attribute] != ["value"]:
        return None
    if len(scopes.readers_of((MAIN, division.input[1]))) != 1:
        return None
    number = numpy_helper.to_array(constant.attribute[0].t)
    return [constant, cast, division] if number.size == 1 and float(number.item()) == denominator else None


def _is(node: NodeProto, op_type: str, inputs: Sequence[str]) -> bool:
    """Whether a node is this operator of ai.onnx over these inputs, with one output."""
    return is_operator(node, op_type) and list(node.input) == list(inputs) and len(node.output) == 1


def _only_reader(scopes: Scopes, name: str) -> NodeProto | None:
    readers = scopes.readers_of((MAIN, name))
    return readers[0].node if len(readers) == 1 and readers[0].scope is scopes.main else None
