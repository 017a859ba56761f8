"""Models and unusual serialisations of them, made without the package under test."""

from __future__ import annotations

import random

import numpy as np
import onnx
import onnx.parser
from google.protobuf.descriptor import FieldDescriptor as FD
from google.protobuf.message import Message
from onnx import TensorProto, helper, numpy_helper

LARGE = 1024  # float32 elements: 4096 bytes, just large enough to be detached
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
    function = helper.make_function(
        "local", "Twice", ["a"], ["b"],
        [constant("f", weights("", 13)), helper.make_node("Add", ["a", "f"], ["b"])],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    model = helper.make_model(
        graph,
        functions=[function],
        ir_version=8,
        opset_imports=[
            helper.make_opsetid("", 17),
            helper.make_opsetid("local", 1),
            helper.make_opsetid("elsewhere", 3),
        ],
        producer_name="tests",
    )
    helper.set_model_props(model, {"one": "1", "two": "2"})
    model.training_info.add().initialization.initializer.append(weights("training", 14))
    model.graph.initializer[0].data_location = TensorProto.DEFAULT
    return model


def split(data: bytes) -> list[tuple[int, bytes]]:
    """(field number, record) of a message: a second implementation, to check the first by."""
    found = []
    position = 0
    while position < len(data):
        start = position
        tag, position = _varint_at(data, position)
        kind = tag & 7
        if kind == 0:
            _, position = _varint_at(data, position)
        elif kind == 2:
            length, position = _varint_at(data, position)
            position += length
        else:
            position += {1: 8, 5: 4}[kind]
        found.append((tag >> 3, data[start:position]))
    return found


def value_of(record: bytes) -> bytes:
    """What a length-delimited record holds."""
    _, position = _varint_at(record, 0)
    length, position = _varint_at(record, position)
    assert position + length == len(record)
    return record[position:]


def graph_records(model: bytes) -> list[tuple[int, bytes]]:
    (graph,) = [record for number, record in split(model) if number == 7]
    return split(value_of(graph))


def hostile(message: Message, rng: random.Random, depth: int = 0) -> bytes:
    """A serialisation that parses to `message` but is none that a writer would make: fields shuffled, varints longer
    than needed, repeated numbers packed or not at random, fields that no schema knows, numbers stated twice.
    """
    groups: list[list[bytes]] = []
    for field, content in message.ListFields():
        repeated = getattr(field, "is_repeated", None)
        repeated = repeated if repeated is not None else field.label == FD.LABEL_REPEATED
        values = list(content) if repeated else [content]
        kind = 2 if field.type in (FD.TYPE_STRING, FD.TYPE_BYTES, FD.TYPE_MESSAGE) else _FIXED.get(field.type, 0)
        encoded = [_encode(field, value, rng, depth) for value in values]
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
                group.insert(0, _tag(field.number, kind, rng) + _encode(field, type(content)(1), rng, depth))
        groups.append(group)
    for _ in range(rng.choice((0, 0, 1, 2))):
        number, kind = rng.randrange(900, 4000), rng.choice((0, 1, 2, 5))
        body = {0: _varint(rng.randrange(1 << 40), rng), 1: rng.randbytes(8), 2: b"\x03abc", 5: rng.randbytes(4)}[kind]
        groups.append([_tag(number, kind, rng) + body])
    out = []
    while groups:
        group = rng.choice(groups)
        out.append(group.pop(0))
        groups = [group for group in groups if group]
    return b"".join(out)


def _encode(field: FD, value: object, rng: random.Random, depth: int) -> bytes:
    if field.type == FD.TYPE_MESSAGE:
        assert isinstance(value, Message)
        return hostile(value, rng, depth + 1)
    if field.type == FD.TYPE_STRING:
        return value.encode() if isinstance(value, str) else bytes(value)  # type: ignore[call-overload]
    if field.type == FD.TYPE_BYTES:
        return value  # type: ignore[return-value]
    if field.type == FD.TYPE_FLOAT:
        return np.float32(value).tobytes()  # type: ignore[arg-type]
    if field.type == FD.TYPE_DOUBLE:
        return np.float64(value).tobytes()  # type: ignore[arg-type]
    return _varint(int(value) & (1 << 64) - 1, rng)  # type: ignore[call-overload]


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
