from __future__ import annotations

import random

import onnx
import pytest
from model_bytes import hostile, rich_model

from resizefix.diagnostics import UnreadableModelError
from resizefix.document.document import Document
from resizefix.document.structure import require_utf8
from resizefix.document.wire import encode_bytes

MODEL = rich_model().SerializeToString()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"Strange", "graph.node[2].op_type"),
        (b"adds", "graph.node[3].doc_string"),
        (b"SCALE_TENSOR", "graph.quantization_annotation[0].quant_parameter_tensor_names[0].key"),
        (b"other", "graph.node[1].attribute[0].g.name"),
        (b"training", "training_info[0].initialization.initializer[0].name"),
        (b"Twice", "graph.node[4].op_type"),
        (b"tests", "producer_name"),
    ],
)
def test_a_text_that_is_not_utf8_is_refused_naming_its_place(tmp_path, text, place):
    damaged = b"\xff" + text[1:]
    (tmp_path / "m.onnx").write_bytes(MODEL.replace(text, damaged))
    with pytest.raises(UnreadableModelError) as caught:
        Document.open(tmp_path / "m.onnx")
    assert str(caught.value).startswith(f"{tmp_path / 'm.onnx'}: {place} is {damaged!r}, which is not valid UTF-8")
    with pytest.raises(UnreadableModelError, match=r"^the model: .* is not valid UTF-8"):
        Document.from_proto(onnx.ModelProto.FromString(MODEL.replace(text, damaged)))


def test_bytes_that_are_no_text_may_be_anything():
    rng = random.Random(3)
    model = rich_model()
    model.graph.node[2].attribute.add(name="s", type=onnx.AttributeProto.STRING, s=b"\xff")
    model.graph.initializer.add(name="strings", data_type=onnx.TensorProto.STRING, dims=[1], string_data=[b"\xff"])
    model.graph.node[0].name = "Größe 漢 \U0001f600"
    require_utf8(model.SerializeToString(), "m")
    for _ in range(20):
        require_utf8(hostile(model, rng), "m")


def test_a_text_that_is_overridden_later_in_the_file_does_not_count():
    model = rich_model()
    producer_name = 2
    require_utf8(encode_bytes(producer_name, b"\xff") + model.SerializeToString(), "m")
    with pytest.raises(UnreadableModelError, match="producer_name"):
        require_utf8(model.SerializeToString() + encode_bytes(producer_name, b"\xff"), "m")
