"""Models out of ONNX text, without the words that all of them have."""

import onnx.parser
from onnx import ModelProto

from resizefix.document.document import Document


def model(graph: str, opset: int = 13, *domains: str, ir: int = 8) -> ModelProto:
    """`(inputs) => (outputs) <constants> { nodes }`, and local functions behind it; version 1 of further domains."""
    imports = ", ".join(f'"{name}" : {version}' for name, version in {"": opset, **dict.fromkeys(domains, 1)}.items())
    return onnx.parser.parse_model(f"<ir_version: {ir}, opset_import: [{imports}]> g {graph}")


def document(graph: str, opset: int = 13, *domains: str, ir: int = 8) -> Document:
    return Document.from_proto(model(graph, opset, *domains, ir=ir))
