"""What the tensors of a run take, worked out from the file."""

import onnx

from resizefix.document.document import Document
from resizefix.runtimes.footprint import peak_bytes


def document(text: str) -> Document:
    return Document.from_proto(onnx.parser.parse_model(text))


def test_a_tensor_counts_until_its_last_reader():
    chain = document(
        """<ir_version: 8, opset_import: ["" : 13]>
        g (float[1,1,"h",10] x) => (float[1,1,"h",10] y)
        { a = Relu (x) b = Relu (a) c = Relu (b) y = Relu (c) }"""
    )
    # x, which the caller holds, and two of the others at any time.
    assert peak_bytes(chain, {"x": (1, 1, 100, 10)}) == 3 * 100 * 10 * 4


def test_a_resize_counts_with_the_size_of_its_output():
    enlarged = document(
        """<ir_version: 8, opset_import: ["" : 13]>
        g (float[1,3,"h","w"] x) => (float[1,3,"H","W"] y)
        <float[4] s = {1, 1, 8, 8}> { y = Resize (x, , s) }"""
    )
    one = 3 * 100 * 100 * 4
    assert peak_bytes(enlarged, {"x": (1, 3, 100, 100)}) == one + 64 * one


def test_a_body_counts_beside_the_node_that_holds_it():
    branches = document(
        """<ir_version: 8, opset_import: ["" : 13]>
        g (bool c, float[1,1,10,10] x) => (float[1,1,10,10] y)
        { y = If (c) <then_branch = t () => (float[1,1,10,10] a) { p = Relu (x) q = Relu (p) a = Relu (q) },
                      else_branch = e () => (float[1,1,10,10] b) { b = Relu (x) }> }"""
    )
    assert peak_bytes(branches, {"x": (1, 1, 10, 10), "c": ()}) >= 4 * 400
