from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from model_bytes import LARGE, first_array, names, rich_model, typed_weights, value, weights
from onnx import TensorProto, helper, numpy_helper

from resizefix.diagnostics import UsageError
from resizefix.document.document import Document


def model(*tensors: TensorProto) -> onnx.ModelProto:
    return helper.make_model(helper.make_graph([], "g", [], [value("y", [1])], list(tensors)))


def stored(path: Path, *tensors: TensorProto) -> Document:
    """A document of a model with these initializers, which is written there."""
    onnx.save(model(*tensors), path)
    return Document.open(path)


def externalized(path: Path, *tensors: TensorProto) -> Document:
    """The same with its values in a file beside it, as the package writes it."""
    stored(path.with_name("in.onnx"), *tensors).save(path, as_external_data=True)
    return Document.open(path)


def initializers(path: Path, *, external: bool = True) -> list[TensorProto]:
    return list(onnx.load(path, load_external_data=external).graph.initializer)


def equal(one: TensorProto, other: TensorProto) -> bool:
    return np.array_equal(numpy_helper.to_array(one), numpy_helper.to_array(other))


def test_large_payloads_go_to_one_file_at_page_boundaries_and_read_back(tmp_path):
    tensors = [weights("a", 0, 5000), weights("b", 1), weights("small", 2, 3), typed_weights("c", 3)]
    externalized(tmp_path / "out.onnx", *tensors)
    assert names(tmp_path) == ["in.onnx", "out.onnx", "out.onnx.data"]
    light = initializers(tmp_path / "out.onnx", external=False)
    assert [{entry.key: entry.value for entry in tensor.external_data} for tensor in light] == [
        {"location": "out.onnx.data", "offset": "0", "length": "20000"},
        {"location": "out.onnx.data", "offset": "20480", "length": "4096"},
        {},
        {"location": "out.onnx.data", "offset": "24576", "length": "4096"},
    ]
    assert all(map(equal, tensors, initializers(tmp_path / "out.onnx")))


def test_a_model_in_memory_is_externalized_alike(tmp_path):
    whole = rich_model()
    onnx.save(whole, tmp_path / "in.onnx")
    Document.open(tmp_path / "in.onnx").save(tmp_path / "a.onnx", as_external_data=True)
    Document.from_proto(whole).save(tmp_path / "b.onnx", as_external_data=True)
    assert (tmp_path / "a.onnx.data").stat().st_size == (tmp_path / "b.onnx.data").stat().st_size
    opened = Document.open(tmp_path / "b.onnx")
    assert np.array_equal(first_array(opened), numpy_helper.to_array(whole.graph.initializer[0]))


def test_without_being_asked_an_embedded_model_stays_embedded_and_an_external_one_external(tmp_path):
    (tmp_path / "more").mkdir()
    externalized(tmp_path / "out.onnx", weights("a", 0)).save(tmp_path / "more" / "again.onnx", as_external_data=True)
    assert names(tmp_path / "more") == ["again.onnx", "out.onnx.data"]
    Document.open(tmp_path / "in.onnx").save(tmp_path / "embedded.onnx")
    assert onnx.load(tmp_path / "embedded.onnx", load_external_data=False) == model(weights("a", 0))


def test_a_model_without_large_payloads_gets_no_data_file(tmp_path):
    externalized(tmp_path / "out.onnx", weights("a", 0, 3))
    assert (tmp_path / "out.onnx").read_bytes() == (tmp_path / "in.onnx").read_bytes()
    assert names(tmp_path) == ["in.onnx", "out.onnx"]


def test_copies_of_one_payload_share_one_place(tmp_path):
    document = stored(tmp_path / "in.onnx", weights("a", 0))
    document.proto.graph.initializer.add().CopyFrom(document.proto.graph.initializer[0])
    document.proto.graph.initializer[1].name = "b"
    document.save(tmp_path / "out.onnx", as_external_data=True)
    assert (tmp_path / "out.onnx.data").stat().st_size == 4 * LARGE
    assert {t.external_data[1].value for t in initializers(tmp_path / "out.onnx", external=False)} == {"0"}


def test_a_large_tensor_added_to_the_proto_goes_along(tmp_path):
    document = stored(tmp_path / "in.onnx", weights("a", 0))
    document.proto.graph.initializer.append(weights("b", 1))
    document.proto.graph.initializer[1].data_location = TensorProto.DEFAULT
    document.save(tmp_path / "out.onnx", as_external_data=True)
    assert equal(initializers(tmp_path / "out.onnx")[1], weights("b", 1))
    assert (tmp_path / "out.onnx.data").stat().st_size == 8 * LARGE


def test_an_existing_data_file_is_kept_if_equal_and_never_replaced_otherwise(tmp_path):
    externalized(tmp_path / "out.onnx", weights("a", 0))
    before, model_before = (tmp_path / "out.onnx.data").stat(), (tmp_path / "out.onnx").read_bytes()
    Document.open(tmp_path / "in.onnx").save(tmp_path / "out.onnx", as_external_data=True, overwrite=True)
    assert (tmp_path / "out.onnx.data").stat().st_ino == before.st_ino
    other = stored(tmp_path / "other.onnx", weights("a", 1))
    with pytest.raises(UsageError, match="may hold the data of other models"):
        other.save(tmp_path / "out.onnx", as_external_data=True, overwrite=True)
    assert (tmp_path / "out.onnx").read_bytes() == model_before
    assert names(tmp_path) == ["in.onnx", "other.onnx", "out.onnx", "out.onnx.data"]


def test_the_data_file_of_the_model_itself_is_not_given_to_its_embedded_payloads(tmp_path):
    document = externalized(tmp_path / "m.onnx", weights("a", 0))
    document.proto.graph.initializer.append(weights("b", 1))
    data = (tmp_path / "m.onnx.data").read_bytes()
    with pytest.raises(UsageError, match=r"m.onnx.data: exists already"):
        document.save(tmp_path / "m.onnx", overwrite=True, as_external_data=True)
    assert (tmp_path / "m.onnx.data").read_bytes() == data


def test_saving_in_place_with_external_data(tmp_path):
    document = stored(tmp_path / "m.onnx", weights("a", 0))
    document.save(tmp_path / "m.onnx", overwrite=True, as_external_data=True)
    assert equal(initializers(tmp_path / "m.onnx")[0], weights("a", 0))
