"""Every field of every ONNX message, changed in every way: `diff` sees it, or this file says why it means nothing."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from field_mutations import DATA_BYTES, DATA_FILE, Mutation, mutations, rich_model
from google.protobuf.descriptor import Descriptor
from onnx import ModelProto

from resizefix.document.document import Document
from resizefix.operations.diff import Change, diff

# Lists in which another order is no change, each with the reason.
BY_NAME = "entries are looked up by their name, which the model has once"
BY_DOMAIN = "a version is looked up by its domain"
BY_KEY = "values are looked up by their key"
ORDER_SAYS_NOTHING = {
    ("GraphProto", "initializer"): BY_NAME,
    ("GraphProto", "sparse_initializer"): BY_NAME,
    ("GraphProto", "value_info"): BY_NAME,
    ("GraphProto", "quantization_annotation"): BY_NAME,
    ("GraphProto", "metadata_props"): BY_KEY,
    ("FunctionProto", "value_info"): BY_NAME,
    ("FunctionProto", "attribute"): BY_NAME,
    ("FunctionProto", "attribute_proto"): BY_NAME,
    ("FunctionProto", "opset_import"): BY_DOMAIN,
    ("FunctionProto", "metadata_props"): BY_KEY,
    ("ModelProto", "functions"): BY_NAME,
    ("ModelProto", "opset_import"): BY_DOMAIN,
    ("ModelProto", "metadata_props"): BY_KEY,
    ("NodeProto", "attribute"): BY_NAME,
    ("NodeProto", "metadata_props"): BY_KEY,
    ("TensorAnnotation", "quant_parameter_tensor_names"): BY_KEY,
    ("TensorProto", "external_data"): BY_KEY,
    ("TensorProto", "metadata_props"): BY_KEY,
    ("TrainingInfoProto", "initialization_binding"): BY_KEY,
    ("TrainingInfoProto", "update_binding"): BY_KEY,
    ("ValueInfoProto", "metadata_props"): BY_KEY,
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
    missed: Counter[tuple[str, str]] = Counter()
    for (kind, field, how), alike in SAMPLE.items():
        if how == way:
            missed[kind, field] += sum(not changes(rich, mutation) for mutation in alike)
    means_nothing = ORDER_SAYS_NOTHING if way == "order" else {}
    assert {name for name, count in missed.items() if count} == set(means_nothing)


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
