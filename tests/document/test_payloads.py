from __future__ import annotations

import numpy as np
import onnx
import pytest
from model_bytes import LARGE, constant, rich_model, typed_weights, value, weights
from onnx import TensorProto, helper, numpy_helper

from resizefix.diagnostics import UnreadableModelError
from resizefix.document.document import Document
from resizefix.document.payloads import THRESHOLD, Payload, detach, records_of_reference
from resizefix.document.source import as_bytes
from resizefix.document.wire import encode_bytes, encode_varint


def detached(model: onnx.ModelProto | bytes, everywhere: bool = False) -> tuple[onnx.ModelProto, list[Payload], bytes]:
    data = model if isinstance(model, bytes) else model.SerializeToString()
    found: list[Payload] = []

    def refer(payload: Payload) -> list[bytes]:
        found.append(payload)
        return [records_of_reference("here", payload.start, payload.end - payload.start)]

    light = as_bytes(detach(data, refer, everywhere=everywhere))
    return onnx.ModelProto.FromString(light), found, data


def of(*tensors: TensorProto, nodes: tuple[onnx.NodeProto, ...] = ()) -> onnx.ModelProto:
    return helper.make_model(helper.make_graph(list(nodes), "g", [], [value("y", [1])], list(tensors)))


def test_a_large_initializer_becomes_a_reference_to_exactly_its_bytes():
    light, (payload,), data = detached(of(weights("w", 0)))
    (tensor,) = light.graph.initializer
    assert data[payload.start : payload.end] == weights("w", 0).raw_data
    assert tensor.data_location == TensorProto.EXTERNAL
    assert {e.key: e.value for e in tensor.external_data} == {
        "location": "here",
        "offset": str(payload.start),
        "length": str(THRESHOLD),
    }
    assert not tensor.HasField("raw_data")
    assert (tensor.name, list(tensor.dims)) == ("w", [LARGE])


def test_a_payload_one_byte_below_the_threshold_stays():
    just = numpy_helper.from_array(np.zeros(THRESHOLD, np.int8), "w")
    below = numpy_helper.from_array(np.zeros(THRESHOLD - 1, np.int8), "w")
    assert len(detached(of(just))[1]) == 1
    assert detached(of(below))[0] == of(below)


def test_payloads_are_found_in_every_place_where_onnxruntime_reads_references():
    light, found, _ = detached(rich_model())
    inline = ["table", "t0", "t1", "s"]
    everything, all_found, _ = detached(rich_model(), everywhere=True)
    assert len(found) == 11
    assert len(all_found) == 14
    text = str(light)
    assert [name for name in inline if f'name: "{name}"' in text] == inline
    assert len(everything.SerializeToString()) < 8000


@pytest.mark.parametrize("data_type", [TensorProto.FLOAT, TensorProto.DOUBLE])
def test_packed_typed_data_are_detached_as_the_raw_bytes_they_are(data_type):
    tensor = typed_weights("w", 0, data_type)
    _, (payload,), data = detached(of(tensor))
    assert np.array_equal(
        np.frombuffer(data[payload.start : payload.end], helper.tensor_dtype_to_np_dtype(data_type)),
        numpy_helper.to_array(tensor),
    )


def test_data_that_are_not_the_raw_bytes_stay():
    integers = TensorProto(name="i", data_type=TensorProto.INT64, dims=[5000], int64_data=range(5000))
    texts = TensorProto(name="t", data_type=TensorProto.STRING, dims=[1], string_data=[b"x" * 5000])
    half = TensorProto(name="h", data_type=TensorProto.FLOAT16, dims=[5000], float_data=[0.0] * 5000)
    for tensor in (integers, texts, half):
        assert detached(of(tensor))[1] == []


def test_a_tensor_with_two_kinds_of_data_is_left_alone():
    both, external, located = (weights("w", 0) for _ in range(3))
    both.float_data.append(1.0)
    external.external_data.add(key="location", value="elsewhere")
    located.data_location = TensorProto.EXTERNAL
    for tensor in (both, external, located):
        assert detached(of(tensor))[1] == []


@pytest.mark.parametrize(("stated", "count"), [(0, 1), (1 << 32, 1), (5, 1), (-1, 1), (1, 0), ((1 << 32) + 1, 0)])
def test_the_location_is_what_parsers_read_of_the_number(stated, count):
    tensor = weights("w", 0).SerializeToString() + b"\x70" + encode_varint(stated % (1 << 64))
    data = encode_bytes(7, encode_bytes(5, tensor))
    model = onnx.ModelProto.FromString(data)
    assert model.graph.initializer[0].data_location == 1 - count
    assert len(detached(data)[1]) == count


def test_the_data_type_is_what_parsers_read_of_the_number():
    typed = typed_weights("w", 0)
    typed.ClearField("data_type")
    for data_type, count in ((1 + (1 << 32), 1), (8 + (1 << 32), 0)):
        data = encode_bytes(7, encode_bytes(5, typed.SerializeToString() + b"\x10" + encode_varint(data_type)))
        assert len(detached(data)[1]) == count


def test_a_constant_of_another_domain_keeps_its_value():
    node = constant("k", weights("", 0))
    for domain, count in (("", 1), ("ai.onnx", 1), ("elsewhere", 0)):
        node.domain = domain
        assert len(detached(of(nodes=(node,)))[1]) == count


def test_the_stated_default_location_is_remembered():
    tensor = weights("w", 0)
    assert detached(of(tensor))[1][0].location_stated is False
    tensor.data_location = TensorProto.DEFAULT
    light, (payload,), _ = detached(of(tensor))
    assert payload.location_stated is True
    assert light.graph.initializer[0].data_location == TensorProto.EXTERNAL


@pytest.mark.parametrize(("data_type", "spare"), [(TensorProto.FLOAT, 1), (TensorProto.DOUBLE, 4)])
def test_packed_numbers_that_no_parser_reads_are_not_taken_for_a_payload(tmp_path, data_type, spare):
    field = {TensorProto.FLOAT: 4, TensorProto.DOUBLE: 10}[data_type]
    tensor = encode_bytes(field, bytes(8192 + spare)) + TensorProto(name="w", data_type=data_type).SerializeToString()
    graph, initializer = 7, 5
    (tmp_path / "m.onnx").write_bytes(encode_bytes(graph, encode_bytes(initializer, tensor)))
    with pytest.raises(UnreadableModelError, match="or a damaged one"):
        Document.open(tmp_path / "m.onnx")


@pytest.mark.parametrize("everywhere", [False, True])
def test_tensors_that_parsers_merge_stay_inline(everywhere):
    graph, node, attribute, value_field = 7, 1, 5, 5
    halves = [TensorProto(dims=[1024], data_type=1, raw_data=bytes([n]) * 4096).SerializeToString() for n in (1, 2)]
    said = helper.make_attribute("value", TensorProto())
    said.ClearField("t")
    twice = said.SerializeToString() + b"".join(encode_bytes(value_field, half) for half in halves)
    head = onnx.NodeProto(op_type="Constant", output=["c"]).SerializeToString()
    data = encode_bytes(graph, encode_bytes(node, head + encode_bytes(attribute, twice)))
    assert detach(data, lambda payload: [b"never"], everywhere=everywhere) == [data]
