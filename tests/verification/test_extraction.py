"""The same node before and after an edit, each alone."""

import onnx.parser
from onnx import TensorProto

from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.scope_path import MAIN
from resizefix.verification.extraction import Extraction


def test_what_is_resized_has_the_type_that_either_side_knows_and_the_sizes_that_the_original_knows():
    text = (
        '<ir_version: 8, opset_import: ["" : 13, "vendor" : 1]> g (float[4] x) => (float z) '
        "<float[2] s = {{1, 2}}{known}> {{ t = vendor.Op (x) y = Resize (t, , s) z = vendor.Op (y) }}"
    )
    documents = (
        Document.from_proto(onnx.parser.parse_model(text.format(known=known))) for known in ("", ", float16[2,3] t")
    )
    for one in Extraction(*map(ModelView, documents)).extract({(MAIN, "y"): "t"}):
        (data,) = (value.type.tensor_type for value in one.proto.graph.input)
        assert data.elem_type == TensorProto.FLOAT16
        assert [dim.dim_value for dim in data.shape.dim] == [0, 0]
        assert [value.type.tensor_type.elem_type for value in one.proto.graph.output] == [TensorProto.FLOAT16]
