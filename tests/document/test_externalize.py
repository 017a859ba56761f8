from __future__ import annotations

import numpy as np
import onnx
import pytest
from model_bytes import LARGE, rich_model, typed_weights, value, weights
from onnx import TensorProto, helper, numpy_helper

from resizefix.document.document import Document
from resizefix.errors import UsageError


def model(*tensors: TensorProto) -> onnx.ModelProto:
    return helper.make_model(helper.make_graph([], "g", [], [value("y", [1])], list(tensors)))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_large_payloads_go_to_one_file_at_page_boundaries_and_read_back(tmp_path):
    whole = model(weights("a", 0, 5000), weights("b", 1), weights("small", 2, 3), typed_weights("c", 3))
    onnx.save(whole, tmp_path / "in.onnx")
    Document.open(tmp_path / "in.onnx").save(tmp_path / "out.onnx", as_external_data=True)
    assert names(tmp_path) == ["in.onnx", "out.onnx", "out.onnx.data"]
    light = onnx.load(tmp_path / "out.onnx", load_external_data=False)
    said = [{entry.key: entry.value for entry in tensor.external_data} for tensor in light.graph.initializer]
    assert said == [
        {"location": "out.onnx.data", "offset": "0", "length": "20000"},
        {"location": "out.onnx.data", "offset": "20480", "length": "4096"},
        {},
        {"location": "out.onnx.data", "offset": "24576", "length": "4096"},
    ]
    loaded = onnx.load(tmp_path / "out.onnx")
    for before, after in zip(whole.graph.initializer, loaded.graph.initializer, strict=True):
        assert np.array_equal(numpy_helper.to_array(before), numpy_helper.to_array(after))


def test_a_model_in_memory_is_externalized_alike(tmp_path):
    whole = rich_model()
    onnx.save(whole, tmp_path / "in.onnx")
    Document.open(tmp_path / "in.onnx").save(tmp_path / "a.onnx", as_external_data=True)
    Document.from_proto(whole).save(tmp_path / "b.onnx", as_external_data=True)
    assert (tmp_path / "a.onnx.data").stat().st_size == (tmp_path / "b.onnx.data").stat().st_size
    opened = Document.open(tmp_path / "b.onnx")
    assert np.array_equal(
        opened.array(opened.proto.graph.initializer[0]), numpy_helper.to_array(whole.graph.initializer[0])
    )


def test_without_being_asked_an_embedded_model_stays_embedded_and_an_external_one_external(tmp_path):
    onnx.save(model(weights("a", 0)), tmp_path / "in.onnx")
    Document.open(tmp_path / "in.onnx").save(tmp_path / "out.onnx", as_external_data=True)
    (tmp_path / "more").mkdir()
    Document.open(tmp_path / "out.onnx").save(tmp_path / "more" / "again.onnx", as_external_data=True)
    assert names(tmp_path / "more") == ["again.onnx", "out.onnx.data"]
    Document.open(tmp_path / "in.onnx").save(tmp_path / "embedded.onnx")
    assert onnx.load(tmp_path / "embedded.onnx", load_external_data=False) == model(weights("a", 0))


def test_a_model_without_large_payloads_gets_no_data_file(tmp_path):
    onnx.save(model(weights("a", 0, 3)), tmp_path / "in.onnx")
    Document.open(tmp_path / "in.onnx").save(tmp_path / "out.onnx", as_external_data=True)
    assert (tmp_path / "out.onnx").read_bytes() == (tmp_path / "in.onnx").read_bytes()
    assert names(tmp_path) == ["in.onnx", "out.onnx"]


def test_copies_of_one_payload_share_one_place(tmp_path):
    onnx.save(model(weights("a", 0)), tmp_path / "in.onnx")
    document = Document.open(tmp_path / "in.onnx")
    document.proto.graph.initializer.add().CopyFrom(document.proto.graph.initializer[0])
    document.proto.graph.initializer[1].name = "b"
    document.save(tmp_path / "out.onnx", as_external_data=True)
    assert (tmp_path / "out.onnx.data").stat().st_size == 4 * LARGE
    assert {
        t.external_data[1].value for t in onnx.load(tmp_path / "out.onnx", load_external_data=False).graph.initializer
    } == {"0"}


def test_a_large_tensor_added_to_the_proto_goes_along(tmp_path):
    onnx.save(model(weights("a", 0)), tmp_path / "in.onnx")
    document = Document.open(tmp_path / "in.onnx")
    document.proto.graph.initializer.append(weights("b", 1))
    document.proto.graph.initializer[1].data_location = TensorProto.DEFAULT
    document.save(tmp_path / "out.onnx", as_external_data=True)
    loaded = onnx.load(tmp_path / "out.onnx")
    assert np.array_equal(numpy_helper.to_array(loaded.graph.initializer[1]), numpy_helper.to_array(weights("b", 1)))
    assert (tmp_path / "out.onnx.data").stat().st_size == 8 * LARGE


def test_an_existing_data_file_is_kept_if_equal_and_never_replaced_otherwise(tmp_path):
    onnx.save(model(weights("a", 0)), tmp_path / "in.onnx")
    Document.open(tmp_path / "in.onnx").save(tmp_path / "out.onnx", as_external_data=True)
    before = (tmp_path / "out.onnx.data").stat()
    Document.open(tmp_path / "in.onnx").save(tmp_path / "out.onnx", as_external_data=True, overwrite=True)
    assert (tmp_path / "out.onnx.data").stat().st_ino == before.st_ino
    onnx.save(model(weights("a", 1)), tmp_path / "other.onnx")
    model_before = (tmp_path / "out.onnx").read_bytes()
    with pytest.raises(UsageError, match="may hold the data of other models"):
        Document.open(tmp_path / "other.onnx").save(tmp_path / "out.onnx", as_external_data=True, overwrite=True)
    assert (tmp_path / "out.onnx").read_bytes() == model_before
    assert names(tmp_path) == ["in.onnx", "other.onnx", "out.onnx", "out.onnx.data"]


def test_the_data_file_of_the_model_itself_is_not_given_to_its_embedded_payloads(tmp_path):
    onnx.save(model(weights("a", 0)), tmp_path / "in.onnx")
    Document.open(tmp_path / "in.onnx").save(tmp_path / "m.onnx", as_external_data=True)
    document = Document.open(tmp_path / "m.onnx")
    document.proto.graph.initializer.append(weights("b", 1))
    data = (tmp_path / "m.onnx.data").read_bytes()
    with pytest.raises(UsageError, match=r"m.onnx.data: exists already"):
        document.save(tmp_path / "m.onnx", overwrite=True, as_external_data=True)
    assert (tmp_path / "m.onnx.data").read_bytes() == data


def test_saving_in_place_with_external_data(tmp_path):
    onnx.save(model(weights("a", 0)), tmp_path / "m.onnx")
    Document.open(tmp_path / "m.onnx").save(tmp_path / "m.onnx", overwrite=True, as_external_data=True)
    assert np.array_equal(
        numpy_helper.to_array(onnx.load(tmp_path / "m.onnx").graph.initializer[0]),
        numpy_helper.to_array(weights("a", 0)),
    )
