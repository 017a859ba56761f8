"""The laws of lossless saving, on models in serialisations that no writer makes."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_bytes import constant, edited_anywhere, graph_records, hostile, rich_model, split, value, value_of, weights

from resizefix.document.document import Document
from resizefix.document.payloads import DATA_LOCATION
from resizefix.document.wire import FIELDS, encode_bytes, encode_varint, number_of

RICH = rich_model()
Edit = Callable[[onnx.ModelProto], object]
laws = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def written(document: Document, folder: Path) -> bytes:
    document.save(folder / "out.onnx", overwrite=True)
    return (folder / "out.onnx").read_bytes()


def opened(data: bytes, folder: Path) -> Document:
    (folder / "in.onnx").write_bytes(data)
    return Document.open(folder / "in.onnx")


EDITS: list[Edit] = [
    lambda m: setattr(m.graph.node[3], "doc_string", "changed"),
    lambda m: m.graph.node.__delitem__(slice(2, 3)),
    lambda m: m.graph.node.reverse(),
    lambda m: m.graph.node.insert(0, m.graph.node[-1]),
    lambda m: m.graph.node[0].ClearField("attribute"),
    lambda m: m.graph.initializer.__delitem__(slice(1)),
    lambda m: m.graph.initializer.add().CopyFrom(m.graph.node[0].attribute[0].t),
    lambda m: m.graph.initializer.extend(list(m.graph.initializer)),
    lambda m: [setattr(tensor, "name", tensor.name + "_") for tensor in m.graph.initializer],
    lambda m: m.graph.initializer[-1].dims.append(1),
    # Of one in raw_data; what becomes of the others is another test's matter.
    lambda m: [setattr(t, "data_type", onnx.TensorProto.INT32) for t in m.graph.initializer if t.name[0] == "w"],
    lambda m: m.graph.initializer[0].CopyFrom(weights("new", 99)),
    lambda m: setattr(m.graph.input[0].type.tensor_type.shape.dim[0], "dim_value", 3),
    lambda m: m.graph.input.add(name="new"),
    lambda m: m.graph.ClearField("input"),
    lambda m: m.graph.ClearField("value_info"),
    lambda m: m.functions[0].node.__delitem__(slice(1)),
    lambda m: setattr(m.functions[0], "name", "Thrice"),
    lambda m: m.ClearField("metadata_props"),
    lambda m: m.opset_import[0].ClearField("version"),
    lambda m: m.ClearField("training_info"),
    lambda m: setattr(m, "producer_name", ""),
    lambda m: setattr(m, "domain", "new"),
    lambda m: m.graph.sparse_initializer[0].values.ClearField("name"),
    lambda m: m.graph.sparse_initializer[0].dims.append(7),
]


def apply(edits: list[Edit], model: onnx.ModelProto) -> None:
    for edit in edits:
        try:
            edit(model)
        except IndexError:  # an earlier edit took away what this one would change
            continue


seeds = st.integers(0, 2**32)
some_edits = st.lists(st.sampled_from(EDITS), min_size=1, max_size=5)


@laws
@given(seeds, st.booleans())
def test_a_model_without_edits_is_written_byte_for_byte(tmp_path, seed, in_parts):
    data = hostile(RICH, random.Random(seed), in_parts=in_parts)
    document = opened(data, tmp_path)
    assert not document.is_changed()
    assert written(document, tmp_path) == data
    assert written(document.copy(), tmp_path) == data


@laws
@given(seeds, some_edits, st.booleans())
def test_a_written_model_says_what_the_same_edits_make_of_the_whole_model(tmp_path, seed, edits, in_parts):
    data = hostile(RICH, random.Random(seed), in_parts=in_parts)
    document, whole = opened(data, tmp_path), onnx.ModelProto.FromString(data)
    apply(edits, document.proto)
    apply(edits, whole)
    saved = onnx.ModelProto.FromString(written(document, tmp_path))
    assert saved == whole
    assert document.to_proto() == saved


@laws
@given(seeds, st.integers(1, 4), st.booleans())
def test_edits_at_random_places_are_written_as_they_are_of_the_whole_model(tmp_path, seed, count, in_parts):
    data = hostile(RICH, random.Random(seed), in_parts=in_parts)
    document, whole = opened(data, tmp_path), onnx.ModelProto.FromString(data)
    for model in (document.proto, whole):
        rng = random.Random(seed)
        for _ in range(count):
            edited_anywhere(model, rng)
    assert onnx.ModelProto.FromString(written(document, tmp_path)) == whole


@laws
@given(seeds, some_edits)
def test_undone_edits_leave_the_bytes_as_they_were(tmp_path, seed, edits):
    data = hostile(RICH, random.Random(seed))
    document = opened(data, tmp_path)
    before = document.light_bytes()
    apply(edits, document.proto)
    document.proto.ParseFromString(before)
    assert written(document, tmp_path) == data


@laws
@given(seeds, st.integers(0, 4))
def test_an_edit_of_one_node_leaves_every_other_record_its_bytes_and_place(tmp_path, seed, index):
    data = hostile(RICH, random.Random(seed))
    document = opened(data, tmp_path)
    document.proto.graph.node[index].doc_string = "edited by this test"
    after = written(document, tmp_path)
    assert [record for record in split(after) if record[0] != 7] == [record for record in split(data) if record[0] != 7]
    pairs = list(zip(graph_records(data), graph_records(after), strict=True))
    (changed,) = [pair for pair in pairs if pair[0] != pair[1]]
    assert changed[0][0] == changed[1][0] == 1
    kept = [record for record in split(value_of(changed[0][1])) if record[0] != 6]
    assert [record for record in split(value_of(changed[1][1])) if record[0] != 6] == kept


@laws
@given(seeds, st.integers(0, 3), st.integers(0, 4))
def test_deletions_and_insertions_leave_all_other_records_as_they_are(tmp_path, seed, gone, at):
    data = hostile(RICH, random.Random(seed))
    document = opened(data, tmp_path)
    del document.proto.graph.initializer[gone]
    document.proto.graph.node.insert(at, onnx.helper.make_node("Relu", ["a"], ["b"]))
    after = graph_records(written(document, tmp_path))
    before = graph_records(data)
    new = [record for record in after if record not in before]
    assert len(new) == 1
    assert b"Relu" in new[0][1]
    nth = [record for record in before if record[0] == 5][gone]
    assert [record for record in after if record not in new] == [record for record in before if record is not nth]


def test_new_elements_stand_behind_their_predecessors_and_new_fields_in_order_of_numbers(tmp_path):
    nodes = [onnx.helper.make_node("Relu", [a], [b]) for a, b in ("xy", "yz")]
    data = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [], [])).SerializeToString()
    document = opened(data, tmp_path)
    document.proto.graph.node.insert(1, onnx.helper.make_node("Abs", ["y"], ["w"]))
    document.proto.graph.output.append(value("z", [1]))
    document.proto.graph.input.append(value("x", [1]))
    records = graph_records(written(document, tmp_path))
    assert [number for number, _ in records] == [1, 1, 1, 2, 11, 12]
    assert b"Abs" in records[1][1]


def test_a_moved_node_keeps_its_unusual_bytes(tmp_path):
    strange = b"\x98\x70\x05" + onnx.helper.make_node("Relu", ["x"], ["y"]).SerializeToString()
    plain = onnx.helper.make_node("Abs", ["y"], ["z"]).SerializeToString()
    graph = encode_bytes(1, strange) + encode_bytes(1, plain)
    document = opened(b"\x08\x08" + encode_bytes(7, graph), tmp_path)
    nodes = document.proto.graph.node
    nodes.insert(0, nodes[1])
    del nodes[2]
    assert [value_of(record) for _, record in graph_records(written(document, tmp_path))] == [plain, strange]


@pytest.mark.parametrize("again", [1, 3])
def test_a_length_that_took_more_bytes_than_needed_keeps_them_if_the_size_stays(tmp_path, again):
    node = onnx.helper.make_node("Relu", ["x"], ["y"], name="aa").SerializeToString()
    record = b"\x0a" + bytes((len(node) | 0x80,)) + b"\x80" * again + b"\x00" + node
    data = b"\x3a" + bytes((len(record),)) + record
    document = opened(data, tmp_path)
    document.proto.graph.node[0].name = "bb"
    assert written(document, tmp_path) == data.replace(b"aa", b"bb")


def test_of_a_oneof_stated_twice_only_the_new_choice_remains(tmp_path):
    both = b"\x12\x01n\x08\x05"  # dim_param "n", then dim_value 5, which is the one that counts
    tensor = b"\x08\x01" + encode_bytes(2, encode_bytes(1, both))
    info = b"\x0a\x01x" + encode_bytes(2, encode_bytes(1, tensor))
    document = opened(encode_bytes(7, encode_bytes(11, info)), tmp_path)
    dimension = document.proto.graph.input[0].type.tensor_type.shape.dim[0]
    assert dimension.dim_value == 5
    dimension.Clear()
    saved = onnx.ModelProto.FromString(written(document, tmp_path))
    assert saved.graph.input[0].type.tensor_type.shape.dim[0].WhichOneof("value") is None


def test_a_graph_stated_in_two_parts_is_edited_as_the_one_it_means(tmp_path):
    first = b"\x12\x01g" + b"\x0a\x09\x0a\x01x\x12\x01y\x1a\x01n"
    second = b"\x0a\x09\x0a\x01y\x12\x01z\x1a\x01m"
    data = encode_bytes(7, first) + encode_bytes(7, second)
    document = opened(data, tmp_path)
    assert written(document, tmp_path) == data
    document.proto.graph.node[1].name = "other"
    saved = onnx.ModelProto.FromString(written(document, tmp_path))
    assert [node.name for node in saved.graph.node] == ["n", "other"]
    assert saved == document.proto


def test_a_graph_of_two_parts_with_large_tensors_keeps_every_record_but_the_edited(tmp_path):
    nodes = [onnx.helper.make_node("Relu", [a], [b], name=b) for a, b in ("xy", "yz")]
    parts = [
        onnx.GraphProto(node=[node], initializer=[weights(node.name, 1)]).SerializeToString() + b"\x98\x70\x05"
        for node in nodes
    ]
    document = opened(b"".join(encode_bytes(7, part) for part in parts), tmp_path)
    document.proto.graph.node[1].name = "edited"
    before = [record for part in parts for record in split(part)]
    after = graph_records(written(document, tmp_path))
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, True, True, False, True, True]


GRAPHS = [onnx.GraphProto(initializer=[weights(name, seed)]) for seed, name in enumerate("ab")]
TENSORS = [weights(name, seed) for seed, name in enumerate("ab")]
TYPES = [value("x", [n]).type for n in (1, 2)]


@pytest.mark.parametrize(
    ("path", "halves", "edited"),
    [
        ("graph", GRAPHS, "name"),
        ("training_info.algorithm", GRAPHS, "name"),
        ("graph.node.attribute.g", GRAPHS, "name"),
        ("graph.node.attribute.t", TENSORS, "name"),
        ("functions.node.attribute.t", TENSORS, "doc_string"),
        ("graph.sparse_initializer.values", TENSORS, "name"),
        ("graph.input.type", TYPES, "denotation"),
        ("graph.input.type.tensor_type", [half.tensor_type for half in TYPES], "elem_type"),
        ("graph.input.type.tensor_type.shape", [half.tensor_type.shape for half in TYPES], "dim"),
    ],
)
def test_a_message_stated_twice_is_edited_as_the_one_it_means(tmp_path, path, halves, edited):
    kinds, numbers = ["ModelProto"], []
    for name in path.split("."):
        numbers.append(number_of(kinds[-1], name))
        kinds.append(FIELDS[kinds[-1]][numbers[-1]].message or "")
    data = b"".join(encode_bytes(numbers[-1], half.SerializeToString()) for half in halves)
    for number, kind in reversed(list(zip(numbers[:-1], kinds[1:-1], strict=True))):
        of_node = onnx.NodeProto(op_type="Constant").SerializeToString() if kind == "NodeProto" else b""
        data = encode_bytes(number, of_node + data)
    data += encode_bytes(number_of("ModelProto", "graph"), b"")
    document, whole = opened(data, tmp_path), onnx.ModelProto.FromString(data)
    assert written(document, tmp_path) == data
    for model in (document.proto, whole):
        said = model
        for name in path.split("."):
            said = getattr(said, name) if isinstance(getattr(said, name), Message) else getattr(said, name)[0]
        if edited == "dim":
            said.dim.add(dim_value=3)
        else:
            setattr(said, edited, 7 if edited == "elem_type" else "edited")
    assert onnx.ModelProto.FromString(written(document, tmp_path)) == whole


@pytest.mark.parametrize("large", [1024, 1025])
@pytest.mark.parametrize("unknown", [2, 1024, 1 << 31, (1 << 32) + 7])
def test_a_location_that_the_enum_has_not_is_none(tmp_path, large, unknown):
    """Parsers keep such a value as a field they do not know, which a serialised model states after the others."""
    location = encode_varint(DATA_LOCATION << 3)
    tensor = location + encode_varint(unknown) + weights("w", 0, large).SerializeToString() + location + b"\0"
    data = encode_bytes(7, encode_bytes(5, tensor))
    document, whole = opened(data, tmp_path), onnx.ModelProto.FromString(data)
    assert written(document, tmp_path) == data
    assert document.proto.graph.initializer[0].external_data
    for model in (document.proto, whole):
        model.graph.doc_string = "edited"
    saved = written(document, tmp_path)
    assert onnx.ModelProto.FromString(saved) == whole
    assert encode_bytes(5, tensor) in saved
    document.proto.graph.initializer[0].name = "renamed"
    whole.graph.initializer[0].name = "renamed"
    assert onnx.ModelProto.FromString(written(document, tmp_path)) == whole


def test_a_payload_put_elsewhere_goes_back_into_the_field_it_came_from(tmp_path):
    document = opened(RICH.SerializeToString(), tmp_path)
    typed = document.proto.graph.initializer[1]
    document.proto.graph.node.append(constant("copy", typed))
    saved = onnx.ModelProto.FromString(written(document, tmp_path))
    assert saved.graph.node[-1].attribute[0].t == RICH.graph.initializer[1]


def test_a_payload_whose_type_was_changed_goes_into_raw_data(tmp_path):
    document = opened(RICH.SerializeToString(), tmp_path)
    document.proto.graph.initializer[1].data_type = onnx.TensorProto.UINT32
    tensor = onnx.ModelProto.FromString(written(document, tmp_path)).graph.initializer[1]
    assert not tensor.float_data
    before = RICH.graph.initializer[1]
    assert onnx.numpy_helper.to_array(tensor).tobytes() == onnx.numpy_helper.to_array(before).tobytes()


def test_minus_zero_and_nan_count_as_edits_and_are_kept(tmp_path):
    node = onnx.helper.make_node("LeakyRelu", ["x"], ["y"], alpha=0.0)
    node.attribute.append(onnx.helper.make_attribute("other", float("nan")))
    data = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [], [])).SerializeToString()
    document = opened(data, tmp_path)
    assert written(document, tmp_path) == data
    document.proto.graph.node[0].attribute[0].f = -0.0
    assert written(document, tmp_path) == data.replace(b"\x15\0\0\0\0", b"\x15\0\0\0\x80")
