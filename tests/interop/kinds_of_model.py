"""Every kind of model that library calls take, made of a fixture, and what must not change in it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx_graphsurgeon as gs
import pytest

from resizefix.document.document import Document


class Kind(NamedTuple):
    """`make`: such a model of a file; `state`: all that can be seen of one; `back`: the type that comes back."""

    make: Callable[[Path], Any]
    state: Callable[[Any], Any]
    back: str


def onnx_ir() -> Any:
    return pytest.importorskip("onnx_ir", reason="onnx-ir is not installed: pip install 'resizefix[test]'")


def graph_state(graph: gs.Graph) -> Any:
    """A graph in plain values: nodes and tensors by identity and content, and all that export_onnx looks at."""

    def tensor_state(tensor: Any) -> Any:
        if isinstance(tensor, gs.Constant):
            values = tensor._values
            lazy = getattr(values, "tensor", None)
            content = lazy.SerializeToString() if lazy is not None else np.asarray(values).tobytes()
            return "constant", id(tensor), tensor.name, id(values), content
        return "variable", id(tensor), tensor.name, str(tensor.dtype), str(tensor.shape), tensor.type

    def value_state(value: Any) -> Any:
        if isinstance(value, gs.Graph):
            return graph_state(value)
        return tensor_state(value) if isinstance(value, gs.Tensor) else repr(value)

    domains = None if graph.import_domains is None else [(d.domain, d.version) for d in graph.import_domains]
    return (
        [(id(node), node.op, node.name, node.domain) for node in graph.nodes],
        [{name: value_state(value) for name, value in node.attrs.items()} for node in graph.nodes],
        [([id(t) for t in node.inputs], [id(t) for t in node.outputs]) for node in graph.nodes],
        [tensor_state(tensor) for tensor in (*graph.inputs, *graph.outputs, *graph.tensors().values())],
        (graph.name, graph.doc_string, graph.opset, domains, graph.ir_version, id(graph.import_domains)),
        [] if isinstance(graph, gs.Function) else [graph_state(function) for function in graph.functions],
    )


def ir_state(model: Any) -> Any:
    """An onnx_ir.Model in plain values; the tensors by name and identity as well."""
    tensors = [(v.name, id(v.const_value), v.const_value.name) for v in model.graph.initializers.values()]
    nodes = [(id(n), [id(v) for v in n.inputs], [id(v) for v in n.outputs]) for n in model.graph.all_nodes()]
    return tensors, nodes, proto_state(onnx_ir().to_proto(model))


def proto_state(model: onnx.ModelProto) -> bytes:
    return model.SerializeToString(deterministic=True)


def file_state(path: str | os.PathLike[str]) -> Any:
    return Path(path).read_bytes(), os.stat(path).st_mtime_ns


KINDS = {
    "str": Kind(str, file_state, "Document"),
    "Path": Kind(Path, file_state, "Document"),
    "Document": Kind(Document.open, lambda d: (proto_state(d.proto), d.path, d.folder), "Document"),
    "ModelProto": Kind(onnx.load, proto_state, "ModelProto"),
    "gs.Graph": Kind(lambda path: gs.import_onnx(onnx.load(path)), graph_state, "Graph"),
    "onnx_ir.Model": Kind(lambda path: onnx_ir().load(path), ir_state, "Model"),
}
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def proto_of(model: Any) -> onnx.ModelProto:
    """A model of any kind, by the means of its own package."""
    if isinstance(model, onnx.ModelProto):
        return model
    if isinstance(model, Document):
        return model.to_proto()
    if isinstance(model, gs.Graph):
        return gs.export_onnx(model)
    return onnx.load(model) if isinstance(model, (str, Path)) else onnx_ir().to_proto(model)
