"""Every field of every ONNX message, changed in every way: `diff` sees it, or this file says why it means nothing."""

from dataclasses import replace
from pathlib import Path

import pytest
from field_mutations import DATA_BYTES, DATA_FILE, Mutation, mutations, rich_model
from google.protobuf.descriptor import Descriptor
from onnx import ModelProto

from resizefix.document.document import Document
from resizefix.operations.diff import Change, diff

# Lists whose entries are looked up by name, domain or key: the order in which they stand computes nothing.
LOOKED_UP = {
    "GraphProto": ("initializer", "sparse_initializer", "value_info", "quantization_annotation"),
    "FunctionProto": ("value_info", "attribute", "attribute_proto", "opset_import"),
    "ModelProto": ("functions", "opset_import"),
    "NodeProto": ("attribute",),
    "TensorAnnotation": ("quant_parameter_tensor_names",),
    "TensorProto": ("external_data",),
    "TrainingInfoProto": ("initialization_binding", "update_binding"),
}
# What `--meaning-only` leaves out, with everything inside it.
UNREAD = {"doc_string", "metadata_props", "producer_name", "producer_version", "model_version"}
EACH = 3  # mutations of one field in one way, in messages that stand in different places


def sample() -> dict[tuple[str, str, str], list[Mutation]]:
    chosen: dict[tuple[str, str, str], list[Mutation]] = {}
    for kind, mutation in mutations(rich_model()):
        alike = chosen.setdefault((kind, mutation.field, mutation.how), [])
        if len(alike) < EACH:
            alike.append(mutation)
    return chosen


SAMPLE = sample()
WAYS = sorted({how for _, _, how in SAMPLE})


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Document:
    folder: Path = tmp_path_factory.mktemp("rich")
    (folder / DATA_FILE).write_bytes(DATA_BYTES)
    return Document.from_proto(rich_model(), folder)


def changes(rich: Document, mutation: Mutation, *, meaning_only: bool = False) -> list[Change]:
    changed = mutation.applied(rich.proto)
    assert changed.SerializeToString() != rich.proto.SerializeToString(), mutation
    return diff(rich, replace(rich, proto=changed), meaning_only=meaning_only)


def test_the_model_has_every_field_of_every_message():
    fields = set()
    pending: list[Descriptor] = [ModelProto.DESCRIPTOR]
    while pending:
        message = pending.pop()
        of_it = {(message.full_name.removeprefix("onnx."), field.name) for field in message.fields}
        if not of_it <= fields:
            fields |= of_it
            pending += [field.message_type for field in message.fields if field.message_type is not None]
    assert {(kind, field) for kind, field, how in SAMPLE if how != "an unknown field"} == fields
    assert sum(map(len, SAMPLE.values())) >= 1379


def test_a_model_does_not_differ_from_its_copy(rich):
    assert diff(rich, rich.copy()) == []


@pytest.mark.parametrize("way", WAYS)
def test_diff_sees_every_change_of_every_field(way, rich):
    missed = [
        mutation
        for (_, _, how), alike in SAMPLE.items()
        if how == way
        for mutation in alike
        if not changes(rich, mutation)
    ]
    assert not missed


def test_meaning_only_leaves_out_the_order_of_what_is_looked_up_by_name(rich):
    apart = {*UNREAD, "node"}  # Nodes may stand in every order in which they run: test_diff.py.
    for (kind, field, how), alike in SAMPLE.items():
        if how == "order" and field not in apart:
            for mutation in alike:
                is_read = field not in LOOKED_UP.get(kind, ()) and not is_unread(mutation)
                assert bool(changes(rich, mutation, meaning_only=True)) == is_read, mutation


def is_unread(mutation: Mutation) -> bool:
    return bool(UNREAD & {mutation.field, *(field for field, _ in mutation.way)})


@pytest.mark.parametrize("way", ["changed", "all entries removed"])
def test_meaning_only_leaves_out_texts_metadata_and_the_producer_and_nothing_else(way, rich):
    # The domain of the model, and names that nothing is looked up by.
    apart = {("ModelProto", "domain"), ("GraphProto", "name"), ("TensorProto", "name")}
    for (kind, field, how), alike in SAMPLE.items():
        if how != way or (kind, field) in apart:
            continue
        for mutation in alike:
            assert bool(changes(rich, mutation, meaning_only=True)) != is_unread(mutation), mutation
