"""Nodes and values as ONNX text, one line each, for people and for the JSON's before and after."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import onnx.printer
from onnx import GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from resizefix.document.values import dims_in

_SHOWN_ELEMENTS = 16
# Tensors that onnx prints as the bits of their numbers.
_HALF = re.compile(r"\b(b?float16)(\[[\d,]*\](?: [^\s{]+)? )\{([\d,]+)\}")


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 value`, `2 values`; `plural` where it is not the noun with an s."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def amount(number: int) -> str:
    """`1,200,000`; from 10^15 on `more than 10^18`."""
    return f"{number:,}" if number < 10**15 else f"more than 10^{len(str(number)) - 1}"


def each_of(number: int, kind: str) -> str:
    """`the repaired node`, or `each of the 3 repaired nodes`."""
    return f"the {kind} node" if number == 1 else f"each of the {number} {kind} nodes"


def listed(words: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def few(values: Sequence[object], most: int) -> str:
    """The first of these as Python writes them, and … where there are more than `most`."""
    return ", ".join(map(repr, values[:most])) + (", …" if len(values) > most else "")


def number_text(number: float) -> str:
    """`2.4`, `2`: a number as short as float32 allows, as numpy prints it; of others nine digits."""
    with np.errstate(all="ignore"):
        single = np.float32(number)
    return str(single).removesuffix(".0") if float(single) == number else f"{number:.9g}"


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
    return value if isinstance(value, str) else f"{_type_text(value.type)} {value.name}"


def elem_type_text(number: int) -> str:
    """The name of an element type, its number where onnx has no such type."""
    return TensorProto.DataType.Name(number).lower() if number in TensorProto.DataType.values() else str(number)


def _type_text(value: TypeProto) -> str:
    kind = value.WhichOneof("value")
    if kind == "sequence_type":
        return f"sequence of {_type_text(value.sequence_type.elem_type)}"
    if kind == "optional_type":
        return f"optional of {_type_text(value.optional_type.elem_type)}"
    if kind == "map_type":
        return f"map of {elem_type_text(value.map_type.key_type)} to {_type_text(value.map_type.value_type)}"
    if kind not in ("tensor_type", "sparse_tensor_type"):
        return kind or "untyped"
    tensor = getattr(value, kind)
    text = elem_type_text(tensor.elem_type)
    if tensor.HasField("shape"):
        text += f"[{','.join('?' if size is None else str(size) for size in dims_in(tensor.shape))}]"
    return text if kind == "tensor_type" else f"sparse {text}"
