"""Models that reports are made of in these tests."""

import numpy as np
import onnx.parser
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from resizefix.document.document import Document
from resizefix.reports.survey import Survey

HOSTILE = (
    '<script>alert(1)</script>"\'`|@someone #1 ```\n"]; click n0 "javascript:alert(1)" \x1b[31m\u202egnp.exe '
    "https://evil.example/x?a=1&b=2 www.evil.example $x$ %%{init}%% --></style></svg></pre></details>[a](b) \\"
)

PLAIN = """<ir_version: 8, opset_import: ["" : 13]>
g (float[1,3,8,8] x) => (float[1,3,?,?] y) <float[4] s = {1, 1, 2, 2}> {
  [act] a = Relu (x)
  [up] b = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (a, , s)
  [out] y = Neg (b)
}"""

FED = PLAIN.replace("float[1,3,8,8] x)", "float[1,3,8,8] x, float[4] t)").replace("(a, , s)", "(a, , t)")

# Of 5 pixels, 1.8 makes 9 or 8, as the runtime rounds.
ROUNDED = PLAIN.replace("{1, 1, 2, 2}", "{1, 1, 1.8, 1.8}").replace("1,3,8,8", "1,3,5,5")

COMPUTED = """<ir_version: 8, opset_import: ["" : 13]>
g (float[1,3,h,w] x, float[1,3,k,l] like) => (float[1,3,?,?] y)
<int64[1] zero = {0}, int64[1] two = {2}, int64[1] four = {4}> {
  [act] a = Relu (x) [lead] sa = Shape (a) [tail] sl = Shape (like)
  [first] nc = Slice (sa, zero, two, zero) [last] hw = Slice (sl, two, four, zero)
  [both] sizes = Concat <axis = 0> (nc, hw)
  [up] y = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (a, , , sizes)
}"""


def parsed(text: str) -> ModelProto:
    return onnx.parser.parse_model(text)


def document(text: str) -> Document:
    return Document.from_proto(parsed(text))


def surveyed(text: str) -> Survey:
    return Survey(document(text))


def hostile() -> ModelProto:
    """Every name that a report might show is hostile; ONNX text cannot spell them."""
    x, s, a, b = (HOSTILE + letter for letter in "xsab")
    nodes = [
        helper.make_node("Relu", [x], [a], HOSTILE + "act"),
        helper.make_node("Resize", [a, "", s], [b], HOSTILE, mode="nearest"),
        helper.make_node(HOSTILE, [b], ["y"], HOSTILE + "reader", domain=HOSTILE),
    ]
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), s)
    return _model(nodes, x, "y", [1, 3, HOSTILE, 8], [scales], **{HOSTILE: 1})


def many(number: int, *, alike: bool = True) -> ModelProto:
    """A chain of resizes with the names that exporters give; alike, or each with a scale of its own."""
    nodes, constants, name = [], [], "x"
    for index in range(number):
        scales = np.array([1, 1, 1, 1 if alike else 1 + index / 512], np.float32)
        constants.append(numpy_helper.from_array(scales, f"scales_{index}"))
        path = f"/model/decoder/up_blocks.{index // 10}/upsamplers.{index % 10}"
        up, read = f"{path}/Resize_output_0", name
        name = f"{path}/Relu_output_0"
        nodes += [
            helper.make_node("Resize", [read, "", f"scales_{index}"], [up], f"{path}/Resize", mode="linear"),
            helper.make_node("Relu", [up], [name], f"{path}/Relu"),
        ]
    return _model(nodes, "x", name, [1, 3, 8, 8], constants)


def _model(
    nodes: list[NodeProto], x: str, y: str, shape: list[int | str], constants: list[TensorProto], **imports: int
) -> ModelProto:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in ((x, shape), (y, None))]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], constants)
    opsets = [helper.make_opsetid(domain, version) for domain, version in {"": 13, **imports}.items()]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


NODE_AT_7 = """<ir_version: 3, opset_import: ["" : 7]> g (float[1,3,8,8] x) => (float[1,3,16,16] y) {
  [up] y = Upsample <mode = "nearest", scales = [1.0, 1.0, 2.0, 2.0]> (x) }"""
