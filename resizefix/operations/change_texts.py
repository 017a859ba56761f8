"""What two models hold where they differ, as short texts for `before` and `after`."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.unknown_fields import UnknownFieldSet
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    NodeProto,
    OperatorSetIdProto,
    SparseTensorProto,
    StringStringEntryProto,
    TensorProto,
    TrainingInfoProto,
    ValueInfoProto,
    helper,
)

from resizefix.diagnostics import UnreadableModelError
from resizefix.document.document import Document
from resizefix.document.source import Piece, as_bytes, part_of, size_of
from resizefix.document.stored import EXTERNAL_DATA, Stored
from resizefix.document.text import counted, elem_type_text, node_text, value_text

_SHOWN_ELEMENTS = 16
_SHOWN_OF_LONG = 4
_SHOWN_BYTES = 16
# Element types that share bytes with their neighbours, or are no numbers.
_WITHOUT_BYTES_OF_THEIR_OWN = ("int4", "uint4", "float4e2m1", "int2", "uint2", "string", "undefined")
_LONGEST = 200  # characters of a text


def scalar_text(field: FieldDescriptor, value: Any) -> str:
    """A number, a text, or the name of an enum's value."""
    if field.enum_type is not None and value in field.enum_type.values_by_number:
        return str(field.enum_type.values_by_number[value].name)
    if field.name in ("data_type", "elem_type", "key_type"):
        return elem_type_text(value)
    return reprlib.repr(value) if isinstance(value, bytes) else str(value)


def list_texts(field: FieldDescriptor, before: Sequence[Any], after: Sequence[Any], where: int) -> tuple[str, str]:
    """Two lists that differ first at `where`; of long ones, what stands there."""
    return _list_text(field, before, where), _list_text(field, after, where)


def _list_text(field: FieldDescriptor, values: Sequence[Any], where: int) -> str:
    if len(values) <= _SHOWN_ELEMENTS:
        return f"[{', '.join(scalar_text(field, value) for value in values)}]"
    there = ", ".join(scalar_text(field, value) for value in values[where : where + _SHOWN_OF_LONG])
    return f"{counted(len(values), 'value')}, from {where}: {there}"


def bits_texts(before: Sequence[bytes], after: Sequence[bytes]) -> tuple[str | None, str | None]:
    """The bytes of two fields that read alike, from where they differ; None where a message has no such field."""
    old, new = b"".join(before), b"".join(after)
    where = next((k for k, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    return _bits_text(old, where), _bits_text(new, where)


def _bits_text(data: bytes, where: int) -> str | None:
    return f"bytes from {where}: {data[where : where + _SHOWN_BYTES].hex()}" if data else None


def unknown_text(fields: UnknownFieldSet) -> str | None:
    """Numbers, wire types and contents of fields that the installed onnx does not know; None where there are none."""
    texts = []
    for field in fields:
        data = field.data
        inner = data.hex() if isinstance(data, bytes) else str(data) if isinstance(data, int) else unknown_text(data)
        texts.append(f"{field.field_number}/{field.wire_type}: {inner}")
    return ", ".join(texts) or None


def tensor_text(document: Document, tensor: TensorProto) -> str:
    """`float[4] [1.0, 1.0, 2.0, 2.0]`; of tensors with more than a few elements only type and shape."""
    text = _tensor_type(tensor)
    if math.prod(tensor.dims) <= _SHOWN_ELEMENTS:
        try:
            text += f" {document.array(tensor).tolist()}"
        except UnreadableModelError:
            return text  # the data do not fit the shape
    return text


def data_texts(before: Stored, after: Stored, where: int) -> tuple[str | None, str | None]:
    """What two tensors hold at the byte `where` of their data, or their bits where the numbers read alike."""
    old, new = _data_text(before, where), _data_text(after, where)
    if old != new:
        return old, new
    return bits_texts([before.inline.SerializeToString()], [after.inline.SerializeToString()])


def _data_text(tensor: Stored, where: int) -> str:
    """`[0,2,1] = 0.5`, or the bytes where that is no number."""
    content = tensor.content
    if content is None:
        return storage_text(tensor)
    if where >= size_of([content]):
        return counted(where, "byte")
    number = _number_at(tensor.rest, content, where)
    if number is not None:
        return number
    return f"bytes from {where}: {as_bytes([part_of(content, where, where + _SHOWN_BYTES)]).hex()}"


def _number_at(tensor: TensorProto, content: Piece, where: int) -> str | None:
    kind = elem_type_text(tensor.data_type)
    if kind.isdecimal() or kind in _WITHOUT_BYTES_OF_THEIR_OWN:
        return None
    dtype = helper.tensor_dtype_to_np_dtype(tensor.data_type)
    element = where // dtype.itemsize
    data = as_bytes([part_of(content, element * dtype.itemsize, (element + 1) * dtype.itemsize)])
    try:
        place = ",".join(map(str, np.unravel_index(element, tuple(tensor.dims))))
        return f"[{place}] = {np.frombuffer(data, dtype)[0]}"
    except (ValueError, IndexError):  # the data do not fit the shape
        return None


def storage_text(tensor: Stored) -> str:
    """Where a tensor keeps its data: in which field, or in which file."""
    said = " ".join(f"{entry.key}={entry.value}" for entry in tensor.place.external_data)
    return " and ".join(f"{field} {said}" if field == EXTERNAL_DATA else field for field in tensor.fields) or "no data"


def _attribute_text(attribute: AttributeProto) -> str:
    kind = AttributeProto.AttributeType.Name(attribute.type).lower()
    return f"{attribute.name}: {kind}"


def _function_text(function: FunctionProto) -> str:
    nodes = counted(len(function.node), "node")
    return f"({', '.join(function.input)}) => ({', '.join(function.output)}), {nodes}"


def _training_text(training: TrainingInfoProto) -> str:
    graphs = training.initialization, training.algorithm
    return " and ".join(counted(len(graph.node), "node") for graph in graphs)


def _tensor_type(tensor: TensorProto) -> str:
    return f"{elem_type_text(tensor.data_type)}[{','.join(map(str, tensor.dims))}]"


# What an entry of a list is shown as; other messages in protobuf's text format.
_TEXTS: dict[type, Callable[[Any], str]] = {
    str: str,
    NodeProto: node_text,
    ValueInfoProto: value_text,
    OperatorSetIdProto: lambda entry: str(entry.version),
    StringStringEntryProto: lambda entry: str(entry.value),
    FunctionProto: _function_text,
    AttributeProto: _attribute_text,
    TrainingInfoProto: _training_text,
    GraphProto: lambda graph: counted(len(graph.node), "node"),
    TensorProto: _tensor_type,
    SparseTensorProto: lambda sparse: f"{_tensor_type(sparse.values)} of [{','.join(map(str, sparse.dims))}]",
}


def message_text(message: Any) -> str:
    """A message in a line."""
    text = _TEXTS.get(type(message))
    if text is not None:
        return text(message)
    return str(text_format.MessageToString(message, as_one_line=True))[:_LONGEST]
