"""Removes what is no longer used: constants that became attributes, and the chains that computed them."""

from __future__ import annotations

from onnx import GraphProto, ModelProto

from resizefix.document.edits import FIRST_IR_WITH_DEFAULTS
from resizefix.document.scopes import names_read, subgraphs


class Unread:
    """Remembers what was unread from the start: that is the model's own and stays."""

    def __init__(self, model: ModelProto) -> None:
        self._from_the_start = _unread(model.graph)

    def remove(self, model: ModelProto) -> None:
        """Remove nodes and initializers that became unread since, and what is stored about names that are gone."""
        kept = set(self._from_the_start)
        if model.ir_version >= FIRST_IR_WITH_DEFAULTS:
            kept.update(value.name for value in model.graph.input)  # a default may be fed: part of the signature
        _prune(model.graph, kept)


def _defined(graph: GraphProto) -> set[str]:
    names = {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        names.update(node.output)
        for _, body in subgraphs(node):
            names |= _defined(body)
    return names


def _unread(graph: GraphProto) -> set[str]:
    unread = _defined(graph) - {value.name for value in graph.output}
    for node in graph.node:
        unread -= names_read(node)
    return unread


def _prune(graph: GraphProto, kept: set[str]) -> None:
    live = {value.name for value in graph.output}
    for index in reversed(range(len(graph.node))):
        node = graph.node[index]
        if node.output and not any(name in live or name in kept for name in node.output if name):
            del graph.node[index]
            continue
        for _, body in subgraphs(node):
            _prune(body, kept)
        live |= names_read(node)
    dead = {tensor.name for tensor in graph.initializer} - live - kept
    for field in (graph.initializer, graph.input):  # IR 3 lists initializers among the inputs
        for index in reversed(range(len(field))):
            if field[index].name in dead:
                del field[index]
    known = {name for node in graph.node for name in node.output} | {value.name for value in graph.input}
    for index in reversed(range(len(graph.value_info))):
        if graph.value_info[index].name not in known:
            del graph.value_info[index]
