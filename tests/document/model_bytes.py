"""Models and unusual serialisations of them, made without the package under test, and what tests ask of a document."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
from google.protobuf.descriptor import FieldDescriptor as FD
from google.protobuf.message import Message
from onnx import TensorProto, helper, numpy_helper

from resizefix.document.document import Document

LARGE = 1024  # float32 elements: 4096 bytes, just large enough to be detached
_OF_DATA = ("raw_data", "float_data", "double_data", "external_data", "data_location", "data_type")
_FIXED = {FD.TYPE_FLOAT: 5, FD.TYPE_DOUBLE: 1}


def weights(name: str, seed: int, count: int = LARGE) -> TensorProto:
    values = np.random.default_rng(seed).standard_normal(count).astype(np.float32)
    return numpy_helper.from_array(values, name)


def typed_weights(name: str, seed: int, data_type: int = TensorProto.FLOAT) -> TensorProto:
    """Weights in float_data or double_data instead of raw_data."""
    values = np.random.default_rng(seed).standard_normal(LARGE).tolist()
    tensor = TensorProto(name=name, data_type=data_type, dims=[LARGE])
    (tensor.float_data if data_type == TensorProto.FLOAT else tensor.double_data).extend(values)
    return tensor


def constant(output: str, tensor: TensorProto, name: str = "") -> onnx.NodeProto:
    return helper.make_node("Constant", [], [output], name=name, value=tensor)


def value(name: str, shape: list[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def first_array(document: Document) -> np.ndarray:
    """The values of the first initializer, as the document reads them."""
    return document.array(document.proto.graph.initializer[0])


def rich_model() -> onnx.ModelProto:
    """Large tensors everywhere a tensor can stand, and something in most fields."""
    branch = helper.make_graph(
        [constant("c", weights("", 1)), helper.make_node("Add", ["c", "inner"], ["b"])],
        "branch",
        [],
        [value("b", [LARGE])],
        [weights("inner", 2)],
    )
    branch_else = helper.make_graph([constant("e", weights("", 3))], "other", [], [value("e", [LARGE])])
    sparse = helper.make_sparse_tensor(
        weights("sparse", 4), numpy_helper.from_array(np.arange(LARGE, dtype=np.int64), "sparse_indices"), [5000]
    )
    attributes = helper.make_node("Strange", ["x"], ["strange"], domain="elsewhere", numbers=[1, 2, 3], text="hello")
    attributes.attribute.append(helper.make_attribute("table", weights("table", 5)))
    attributes.attribute.append(helper.make_attribute("tables", [weights("t0", 6), weights("t1", 7)]))
    graph = helper.make_graph(
        [
            constant("k", weights("k", 8), name="constant"),
            helper.make_node("If", ["flag"], ["branched"], name="if", then_branch=branch, else_branch=branch_else),
            attributes,
            helper.make_node("Add", ["x", "w"], ["y"], name="add", doc_string="adds"),
            helper.make_node("Twice", ["y"], ["z"], name="call", domain="local"),
        ],
        "main",
        [value("x", ["n", LARGE]), helper.make_tensor_value_info("flag", TensorProto.BOOL, [])],
        [value("z", ["n", LARGE])],
        [
            weights("w", 9),
            typed_weights("typed", 10),
            typed_weights("double", 11, TensorProto.DOUBLE),
            weights("s", 12, 3),
        ],
        value_info=[value("y", ["n", LARGE]), value("k", [LARGE])],
        sparse_initializer=[sparse],
        doc_string="a graph",
    )
    graph.quantization_annotation.add(tensor_name="y").quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
    body = [constant("f", weights("", 13)), helper.make_node("Add", ["a", "f"], ["b"])]
    function = helper.make_function("local", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 17)])
    imports = [helper.make_opsetid(*one) for one in (("", 17), ("local", 1), ("elsewhere", 3))]
    model = helper.make_model(graph, functions=[function], ir_version=8, opset_imports=imports, producer_name="tests")
    helper.set_model_props(model, {"one": "1", "two": "2"})
    model.training_info.add().initialization.initializer.append(weights("training", 14))
    model.graph.initializer[0].data_location = TensorProto.DEFAULT
    return model


def edited_anywhere(message: Message, rng: random.Random) -> None:
    """One edit at a random place of any depth, the same for a model and for its light form: the fields in which a
    tensor has its data, wherever these lie, are left alone."""
    stated = [(field, content) for field, content in message.ListFields() if field.name not in _OF_DATA]
    if not stated:
        return
    field, content = rng.choice(stated)
    is_message, is_repeated = field.type == FD.TYPE_MESSAGE, not isinstance(content, (Message, str, bytes, int, float))
    if is_message and rng.random() < 0.8:
        edited_anywhere(rng.choice(content) if is_repeated else content, rng)
    elif is_repeated:
        values = list(content)
        at = rng.randrange(len(values))
        less, more = values[:at] + values[at + 1 :], [*values[:at], values[at // 2], *values[at:]]
        copies = [type(v).FromString(v.SerializeToString()) if is_message else v for v in rng.choice((less, more))]
        message.ClearField(field.name)
        getattr(message, field.name).extend(copies)
    elif is_message or field.type == FD.TYPE_ENUM or rng.random() < 0.3:
        message.ClearField(field.name)
    else:
        setattr(message, field.name, content + type(content)(1) if content else type(content)(2))


def split(data: bytes) -> list[tuple[int, bytes]]:
    """(field number, record) of a message: a second implementation, to check the first by."""
    found = []
    position = 0
    while position < len(data):
        start = position
        tag, position = _varint_at(data, position)
        position = _behind(data, position, tag)
        found.append((tag >> 3, data[start:position]))
    return found


def _behind(data: bytes, position: int, tag: int) -> int:
    kind = tag & 7
    if kind == 0:
        return _varint_at(data, position)[1]
    if kind == 2:
        length, position = _varint_at(data, position)
        return position + length
    if kind == 3:
        inner, position = _varint_at(data, position)
        while inner & 7 != 4:
            inner, position = _varint_at(data, _behind(data, position, inner))
        return position
    return position + {1: 8, 5: 4}[kind]


def value_of(record: bytes) -> bytes:
    """What a length-delimited record holds."""
    _, position = _varint_at(record, 0)
    length, position = _varint_at(record, position)
    assert position + length == len(record)
    return record[position:]


def graph_records(model: bytes) -> list[tuple[int, bytes]]:
    (graph,) = [record for number, record in split(model) if number == 7]
    return split(value_of(graph))


def hostile(message: Message, rng: random.Random, depth: int = 0, *, in_parts: bool = False) -> bytes:
    """A serialisation that parses to `message` but is none that a writer would make: fields shuffled, varints longer
    than needed, repeated numbers packed or not at random, fields and values of enums that no schema knows, numbers
    stated twice or with more bits than they have; `in_parts` also messages stated in several, which parsers merge.
    """
    groups: list[list[bytes]] = []
    for field, content in message.ListFields():
        repeated = getattr(field, "is_repeated", None)
        repeated = repeated if repeated is not None else field.label == FD.LABEL_REPEATED
        values = list(content) if repeated else [content]
        kind = 2 if field.type in (FD.TYPE_STRING, FD.TYPE_BYTES, FD.TYPE_MESSAGE) else _FIXED.get(field.type, 0)
        encoded = [_encode(field, value, rng, depth, in_parts) for value in values]
        if in_parts and field.type == FD.TYPE_MESSAGE and not repeated:
            encoded = _parts(encoded[0], rng)
        if kind == 2:
            group = [_tag(field.number, 2, rng) + _varint(len(one), rng, longest=5) + one for one in encoded]
        elif repeated and rng.random() < 0.7:
            cut = rng.randrange(len(encoded) + 1)
            group = [
                _tag(field.number, 2, rng) + _varint(len(b"".join(part)), rng, longest=5) + b"".join(part)
                for part in ([encoded] if rng.random() < 0.7 else [encoded[:cut], encoded[cut:]])
            ]
        else:
            group = [_tag(field.number, kind, rng) + one for one in encoded]
            if not repeated and field.containing_oneof is None and rng.random() < 0.3:
                group.insert(0, _tag(field.number, kind, rng) + _encode(field, type(content)(1), rng, depth, in_parts))
            if field.type == FD.TYPE_ENUM and rng.random() < 0.3:
                unknown = _tag(field.number, kind, rng) + _varint(rng.choice((77, 1 << 31, (1 << 32) + 99)), rng)
                group.insert(rng.randrange(len(group) + 1), unknown)
        groups.append(group)
    for _ in range(rng.choice((0, 0, 1, 2))):
        groups.append([_unknown(rng)])
    out = []
    while groups:
        group = rng.choice(groups)
        out.append(group.pop(0))
        groups = [group for group in groups if group]
    return b"".join(out)


def _unknown(rng: random.Random, depth: int = 0) -> bytes:
    """A field that no schema knows; a group may hold others."""
    number, kind = rng.randrange(900, 4000), rng.choice((0, 1, 2, 3, 5))
    body = {0: _varint(rng.randrange(1 << 40), rng), 1: rng.randbytes(8), 2: b"\x03abc", 5: rng.randbytes(4)}.get(kind)
    if body is None:
        inner = b"".join(_unknown(rng, depth + 1) for _ in range(rng.randrange(3) if depth < 3 else 0))
        body = inner + _tag(number, 4, rng)
    return _tag(number, kind, rng) + body


def _parts(message: bytes, rng: random.Random) -> list[bytes]:
    """Up to three messages that parsers merge into the given one."""
    records = [record for _, record in split(message)]
    first, second = sorted(rng.randrange(len(records) + 1) for _ in range(2))
    parts = [b"".join(part) for part in (records[:first], records[first:second], records[second:])]
    return [part for part in parts if part or rng.random() < 0.3] or [b""]


def _encode(field: FD, value: object, rng: random.Random, depth: int, in_parts: bool) -> bytes:
    if field.type == FD.TYPE_MESSAGE:
        assert isinstance(value, Message)
        return hostile(value, rng, depth + 1, in_parts=in_parts)
    if field.type == FD.TYPE_STRING:
        return value.encode() if isinstance(value, str) else bytes(value)  # type: ignore[call-overload]
    if field.type == FD.TYPE_BYTES:
        return value  # type: ignore[return-value]
    if field.type == FD.TYPE_FLOAT:
        return np.float32(value).tobytes()  # type: ignore[arg-type]
    if field.type == FD.TYPE_DOUBLE:
        return np.float64(value).tobytes()  # type: ignore[arg-type]
    number = int(value) & (1 << 64) - 1  # type: ignore[call-overload]
    if field.type in (FD.TYPE_INT32, FD.TYPE_ENUM) and rng.random() < 0.1:
        number = number & 0xFFFFFFFF | rng.randrange(1 << 32) << 32
    return _varint(number, rng)


def _tag(number: int, kind: int, rng: random.Random) -> bytes:
    # Parsers read at most five bytes of a tag.
    return _varint(number << 3 | kind, rng, longest=5)


def _varint(number: int, rng: random.Random, longest: int = 10) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    if len(out) < longest and rng.random() < 0.1:
        out[-1] |= 0x80
        out += b"\x80" * rng.randrange(longest - len(out)) + b"\0"
    return bytes(out)


def _varint_at(data: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[position]
        number |= (byte & 0x7F) << shift
        shift, position = shift + 7, position + 1
        if byte < 0x80:
            return number, position
