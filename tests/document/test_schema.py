from __future__ import annotations

import onnx

from resizefix.document.wire import FIELDS, TENSOR_HOLDERS, number_of


def test_every_field_of_every_message_of_the_installed_onnx_has_a_row():
    assert {number: row.name for number, row in FIELDS["GraphProto"].items()} == {
        field.number: field.name for field in onnx.GraphProto.DESCRIPTOR.fields
    }
    assert FIELDS["TypeProto"][number_of("TypeProto", "tensor_type")].message == "TypeProto.Tensor"
    assert FIELDS["TypeProto.Tensor"][number_of("TypeProto.Tensor", "shape")].message == "TensorShapeProto"


def test_rows_say_what_the_specification_says():
    assert FIELDS["TensorProto"][number_of("TensorProto", "dims")][1:] == (True, 0, None, None)
    assert FIELDS["TensorProto"][number_of("TensorProto", "raw_data")][1:] == (False, 2, None, None)
    assert FIELDS["TensorProto"][number_of("TensorProto", "float_data")][1:] == (True, 5, None, None)
    assert FIELDS["TensorShapeProto.Dimension"][number_of("TensorShapeProto.Dimension", "dim_param")].oneof == "value"


def test_tensors_stand_in_these_messages_and_in_no_others():
    expected = {
        "AttributeProto",
        "FunctionProto",
        "GraphProto",
        "ModelProto",
        "NodeProto",
        "SparseTensorProto",
        "TensorProto",
        "TrainingInfoProto",
    }
    assert expected == TENSOR_HOLDERS
