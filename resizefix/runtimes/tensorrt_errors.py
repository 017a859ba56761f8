"""From what TensorRT complains of to the ONNX node it is about.

The parser names node and operator. The builder knows its own layers alone; its text is read for the name of a node or
of a tensor, for people to find the place by. No decision hangs on the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError
from onnx import ModelProto, NodeProto

from resizefix.document.scopes import subgraphs

# What a machine without a GPU adds to every internal error; it says nothing about the model.
_NO_GPU = "checkMacros.cpp::catchCudaError"
# What may be a name in a complaint; not plain words, which tensors are called too ("input", "shape"), nor numbers.
_NAME = re.compile(r"[\w./:-]*[A-Za-z][\w./:-]*")
_PLAIN_WORD = re.compile(r"[A-Za-z]*|.{1,2}")
_LAYER = re.compile(r"(?:\(|Invalid Node - )(?:node_of_)?([^\s():]+)(?=[:)\s])")

Place = tuple[int, NodeProto]


@dataclass(frozen=True)
class LiveError:
    """One complaint.

    `node` is the ONNX node's name ('' if it has none), `output` its first output, `index` its position among the nodes
    of its graph; all None where the complaint is about the model as a whole.
    """

    node: str | None
    output: str | None
    index: int | None
    op_type: str
    message: str


def of_the_whole(message: str) -> LiveError:
    """A complaint that names no node."""
    return LiveError(None, None, None, "", message)


def parser_errors(errors: Sequence[Mapping[str, Any]], model: bytes) -> tuple[LiveError, ...]:
    """The parser's complaints, each with the ONNX node it is about."""
    nodes = _nodes(model) if errors else []
    return tuple(_parser_error(error, nodes) for error in errors)


def builder_errors(messages: Iterable[str], model: bytes) -> tuple[LiveError, ...]:
    """The builder's complaints, each with the ONNX node it names, if it is known."""
    messages = list(messages)
    kept = [words for message in messages if (words := _about_the_model(message))] or messages
    nodes = _nodes(model) if kept else []
    return tuple(_builder_error(message, nodes) for message in kept)


def _parser_error(error: Mapping[str, Any], nodes: Sequence[Place]) -> LiveError:
    alike = [(k, node) for k, node in nodes if (node.op_type, node.name) == (error["op_type"], error["name"])]
    message = _about_the_model(error["message"]) or error["message"]
    # Names may be doubled or empty: then the position in its graph decides, if it does.
    exact = [candidate for candidate in alike if candidate[0] == error["index"]]
    found = exact if len(exact) == 1 or not error["name"] else alike
    if len(found) != 1:
        return LiveError(error["name"] or None, None, None, error["op_type"], message)
    return _at(found[0], message)


def _builder_error(message: str, nodes: Sequence[Place]) -> LiveError:
    named = {name: place for place in nodes for name in (*place[1].output, place[1].name) if name}
    layer = next((word for word in _LAYER.findall(message) if word in named), None)
    words = [word.rstrip(".:") for word in _NAME.findall(message)]
    tensors = [word for word in words if word in named and not _PLAIN_WORD.fullmatch(word)]
    name = layer or (tensors[-1] if tensors else None)
    return of_the_whole(message) if name is None else _at(named[name], message)


def _at(place: Place, message: str) -> LiveError:
    index, node = place
    return LiveError(node.name, node.output[0] if node.output else "", index, node.op_type, message)


def _about_the_model(message: str) -> str:
    return "\n".join(line for line in message.splitlines() if _NO_GPU not in line)


def _nodes(model: bytes) -> list[Place]:
    try:
        return list(_walk(ModelProto.FromString(model)))
    except DecodeError:
        return []  # no model at all: the errors say so


def _walk(model: ModelProto) -> Iterator[Place]:
    bodies: list[Sequence[NodeProto]] = [model.graph.node, *(function.node for function in model.functions)]
    while bodies:
        for index, node in enumerate(bodies.pop()):
            yield index, node
            bodies.extend(graph.node for _, graph in subgraphs(node))
