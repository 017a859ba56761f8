"""Documents from and to `onnx_graphsurgeon.Graph`, with all that graphsurgeon itself would lose.

Such a graph holds less than a model file. What `gs.import_onnx` dropped before we saw it is gone: metadata, doc strings
of nodes, domain and version of the model, quantization annotations, initializers that nothing reads, and which inputs
had a default. What comes back:

- an input with a default (`keep_default=True`) is a `gs.Constant` in `graph.inputs`, which `gs.export_onnx` writes as
  just that; `graph.fold_constants()` would take its default for good;
- so are weights that the model declares as inputs, as IR version 3 demands (`trt_legacy`);
- nodes and tensors are new objects; weights are read when their `values` are asked for.

`gs.export_onnx` decides what the graph means: `graph.import_domains`, not `graph.opset`, says the opset.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from onnx import ModelProto, TensorProto, helper

from resizefix.diagnostics import RefusedError, UsageError
from resizefix.document.document import Document
from resizefix.interop.in_memory import complete, light_document

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs


class Graph(Protocol):
    """What an onnx_graphsurgeon.Graph has: the package says nothing to type checkers, and without this anything would
    pass for one."""

    nodes: Any
    inputs: Any
    outputs: Any
    import_domains: Any

    def tensors(self, check_duplicates: bool = ...) -> Any:
        """All tensors by name."""


# What export_onnx raises for graphs it cannot write: its own error is not among them where a branch is just missing.
_CANNOT_EXPORT = (TypeError, ValueError, KeyError, AttributeError, AssertionError, NameError)


def is_one(model: object) -> bool:
    """Whether `model` is an onnx_graphsurgeon.Graph."""
    package = sys.modules.get("onnx_graphsurgeon")
    return package is not None and isinstance(model, package.Graph)


def opened(model: gs.Graph) -> Document:
    """A document of what `gs.export_onnx` makes of the graph.

    Raises UsageError for a graph that cannot be exported, or is part of another; RefusedError where the export would
    say something else than the graph.
    """
    import onnx_graphsurgeon as gs

    if isinstance(model, gs.Function):
        raise UsageError("interop.graph-is-function", name=model.name)
    with _constants_kept(model):
        try:
            proto: ModelProto = gs.export_onnx(_stand_in(model))
        except (gs.OnnxGraphSurgeonException, *_CANNOT_EXPORT) as error:
            raise UsageError("interop.graphsurgeon-cannot-export", error=error) from error
    return light_document(proto)


def returned(document: Document, like: object) -> gs.Graph:
    """The document as a graph. Raises RefusedError where a graph cannot hold the result."""
    import onnx_graphsurgeon as gs

    model = complete(document)
    graph = gs.import_onnx(model)
    inputs = {tensor.name: tensor for tensor in graph.inputs}
    constants = {name: tensor for name, tensor in graph.tensors().items() if isinstance(tensor, gs.Constant)}
    of_bodies = {name for body in graph.subgraphs(recursive=True) for name in body.tensors()}
    overridable = {value.name for value in model.graph.input} - set(inputs)
    for name in sorted(overridable & of_bodies):
        raise RefusedError("interop.default-read-in-body", name=name)
    inputs |= {name: constants[name] for name in overridable if name in constants}
    graph.inputs = [inputs[value.name] for value in model.graph.input if value.name in inputs]
    return graph


def _stand_in(graph: gs.Graph) -> gs.Graph:
    """The same nodes and tensors in other Graph objects: export_onnx adds domains to those that it is given."""
    other = _with_own_domains(graph)
    vars(other)["_functions"] = [_with_own_domains(function) for function in graph.functions]
    return other


def _with_own_domains(graph: gs.Graph) -> gs.Graph:
    other = object.__new__(type(graph))
    vars(other).update(vars(graph))
    if graph.import_domains is not None:
        versions = {entry.domain: entry.version for entry in graph.import_domains}
        if "ai.onnx" in versions:  # the long name of the domain "", for which version 1 would be added to it
            versions.setdefault("", versions["ai.onnx"])
        other.import_domains = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    return other


@contextmanager
def _constants_kept(graph: gs.Graph) -> Iterator[None]:
    """Refuses constants that would be written as something else, and undoes what writing does to the others."""
    import onnx_graphsurgeon as gs

    protos: dict[int, tuple[TensorProto, str | None, str]] = {}
    for tensor in _tensors(graph):
        if getattr(tensor.dtype, "name", "") == "float8_e4m3fnuz":
            raise RefusedError("interop.float8-fnuz", name=tensor.name)
        # A constant that was not looked at is written by renaming the TensorProto it came from.
        proto: Any = getattr(tensor._values, "tensor", None) if isinstance(tensor, gs.Constant) else None
        if not isinstance(proto, TensorProto):
            continue
        own_name = proto.name if proto.HasField("name") else None
        first = protos.setdefault(id(proto), (proto, own_name, tensor.name))
        if first[2] != tensor.name:
            raise UsageError("interop.shared-constants", known=first[2], name=tensor.name)
    try:
        yield
    finally:
        for proto, own_name, _ in protos.values():
            if own_name is None:
                proto.ClearField("name")
            else:
                proto.name = own_name


def _tensors(graph: gs.Graph) -> Iterator[Any]:
    """Every tensor of the graph, of the bodies in it and of its functions, each at least once."""
    import onnx_graphsurgeon as gs

    for holder in (graph, *graph.functions):
        for body in (holder, *holder.subgraphs(recursive=True)):
            yield from (*body.inputs, *body.outputs, *body.tensors().values())
            for node in body.nodes:
                yield from (value for value in node.attrs.values() if isinstance(value, gs.Tensor))
