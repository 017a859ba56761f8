"""Nodes and values as ONNX text, one line each, for people and for the JSON's before and after."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import onnx.printer
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

from resizefix.document.values import dims_of

_SHOWN_ELEMENTS = 16
# Tensors that onnx prints as the bits of their numbers.
_HALF = re.compile(r"\b(b?float16)(\[[\d,]*\](?: [^\s{]+)? )\{([\d,]+)\}")


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 value`, `2 values`; `plural` where it is not the noun with an s."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def each_of(number: int, kind: str) -> str:
    """`the repaired node`, or `each of the 3 repaired nodes`."""
    return f"the {kind} node" if number == 1 else f"each of the {number} {kind} nodes"


def listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def numbers_text(values: np.ndarray[Any, Any]) -> str:
    """`[1.0, 1.0, 0.6, 0.5]`: the numbers of a tensor, each as short as its type allows."""
    shown = [str(value) for value in values.reshape(-1)]
    return f"[{', '.join(shown)}]" if values.ndim <= 1 else str(values.tolist())


def node_text(node: NodeProto) -> str:
    """The node in ONNX's textual syntax; of tensors with more than a few elements only type and shape are shown."""
    lines = _printed([node])
    if lines is None:
        # A tensor whose data do not fit its shape, a string attribute that is not UTF-8.
        return f"{', '.join(node.output)} = {node.op_type} <…> ({', '.join(node.input)})"
    return _in_a_line(" ".join(lines))


def node_texts(nodes: Sequence[NodeProto]) -> list[str]:
    """`node_text` of each; thousands of nodes are printed at once."""
    lines = _printed(nodes) or ()
    if len(lines) != len(nodes):  # a node that holds a body takes more than one
        return [node_text(node) for node in nodes]
    return list(map(_in_a_line, lines))


def _in_a_line(printed: str) -> str:
    line = " ".join(printed.split())
    return _HALF.sub(_as_numbers, line) if "float16" in line else line  # the search takes three times as long


def _printed(nodes: Sequence[NodeProto]) -> list[str] | None:
    """The lines of the nodes; None where onnx cannot print one of them."""
    graph = GraphProto(name="g", node=nodes)
    for node in graph.node:
        for attribute in node.attribute:
            for tensor in (attribute.t, *attribute.tensors) if attribute.HasField("t") else attribute.tensors:
                if math.prod(tensor.dims) > _SHOWN_ELEMENTS or tensor.data_location == TensorProto.EXTERNAL:
                    for field in ("raw_data", "float_data", "double_data", "int32_data", "int64_data", "uint64_data"):
                        tensor.ClearField(field)
    # Printed within a graph: a node alone is printed by newer versions of onnx only.
    try:
        text = onnx.printer.to_text(graph)
    except (onnx.shape_inference.InferenceError, UnicodeDecodeError):
        return None
    return text[text.index("{") + 1 : text.rindex("}")].strip("\n").split("\n")


def _as_numbers(printed: re.Match[str]) -> str:
    bits = np.array([int(number) for number in printed[3].split(",")], np.uint16)
    values = bits.view(np.float16) if printed[1] == "float16" else (bits.astype(np.uint32) << 16).view(np.float32)
    return f"{printed[1]}{printed[2]}{{{','.join(f'{value:g}' for value in values)}}}"


def value_text(value: ValueInfoProto | str) -> str:
    """`float[1,3,h,w] name`; a function's inputs and outputs have names alone."""
    if isinstance(value, str):
        return value
    kind = value.type.WhichOneof("value")
    inner = value.type
    prefix = ""
    while inner.WhichOneof("value") in ("sequence_type", "optional_type"):
        prefix += f"{str(inner.WhichOneof('value')).removesuffix('_type')} of "
        inner = inner.sequence_type.elem_type if inner.HasField("sequence_type") else inner.optional_type.elem_type
    if not inner.HasField("tensor_type"):
        return f"{kind or 'untyped'} {value.name}"
    text = prefix + TensorProto.DataType.Name(inner.tensor_type.elem_type).lower()
    if inner.tensor_type.HasField("shape"):
        text += f"[{','.join('?' if size is None else str(size) for size in dims_of(inner))}]"
    return f"{text} {value.name}"
