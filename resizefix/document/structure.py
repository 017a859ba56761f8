"""What a model's structure must be for anything to be said about it: checked once, where a model comes in.

Texts are UTF-8, as protobuf demands of strings. Everything behind this may follow names, bodies and calls without ever
coming back to where it started. Nothing here is about what operators compute, and what a runtime accepts passes.
Source: ONNX docs/IR.md, "Graphs" (a directed acyclic graph), "Functions" (no recursion); docs/Operators.md for bodies.

Whether onnx.checker, with shape inference, takes a light model, and whether a runtime may load it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from operator import attrgetter, methodcaller

import onnx
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError, Message
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    helper,
)

from resizefix.diagnostics import Diagnostic, UnreadableModelError
from resizefix.document.edits import set_default_opset
from resizefix.document.scopes import (
    DEFAULT_DOMAINS,
    Scope,
    Scopes,
    bodies,
    default_opset,
    node_label,
    reads,
    subgraphs,
)
from resizefix.document.text import amount, counted
from resizefix.document.values import MOST_AXES, has_negative_size, node_of_many_axes, stored_values
from resizefix.document.view import View
from resizefix.scope_path import FunctionName, ScopePath

# onnx itself follows calls no deeper (onnx/shape_inference/implementation.cc); in versions without a limit it dies.
_DEEPEST_CALLS = 100
# Shape inference and runtimes look at every call anew; a few functions that call each other twice are soon 2^40 nodes.
_MOST_NODES_UNFOLDED = 1_000_000
# Versions are given to onnx as C integers.
_LARGEST_VERSION = 2**31 - 1
_KNOWN_TYPES = frozenset(TensorProto.DataType.values())
# Attributes of operators that name the element type of the output.
_NAMING_TYPES = frozenset({"to", "dtype", "output_datatype"})
# What values are mostly: asked from C, for there may be a hundred thousand.
_TYPE, _ELEM_TYPE = attrgetter("type"), attrgetter("type.tensor_type.elem_type")
_KIND = methodcaller("WhichOneof", "value")
_TENSORS = frozenset({"tensor_type", None})
# The bodies that an operator cannot be without.
_BODIES = {"If": ("then_branch", "else_branch"), "Loop": ("body",), "Scan": ("body",)}


def require_sound(model: ModelProto, name: str) -> None:
    """Raises UnreadableModelError for the model called `name` if its nodes or functions go in circles or lack parts."""
    why = _why_not(model)
    if why is not None:
        raise UnreadableModelError("document.not-onnx", name=name, why=why)


def _why_not(model: ModelProto) -> str | None:
    imports = [*model.opset_import, *(entry for function in model.functions for entry in function.opset_import)]
    for entry in imports:
        if abs(entry.version) > _LARGEST_VERSION:
            domain = repr(entry.domain or "ai.onnx")
            return Diagnostic("document.operator-set-version", version=entry.version, domain=domain)
    scopes = View(model).scopes
    for scope in scopes.all:
        repeated = [name for name, count in Counter(_inputs(scope)).items() if count > 1]
        if repeated:
            return Diagnostic("document.input-twice", name=repr(repeated[0]))
        for name, elem_type in _unknown_types(scope):
            return Diagnostic(
                "document.unknown-element-type", name=repr(name), elem_type=elem_type, version=onnx.__version__
            )
        for index, node in enumerate(scope.body.node):
            why = _body_missing(node)
            if why is not None:
                return Diagnostic("document.node-not-sound", label=repr(node_label(node, index)), why=why)
    paths = Counter(scope.path for scope in scopes.all)
    for path, count in paths.items():
        if count > 1:
            return Diagnostic("document.twice-in-model", path=repr(str(path)), count=count)
    why = _circular_call(scopes) or _circular_data(scopes)
    if why is None and (label := node_of_many_axes(scopes)) is not None:
        return Diagnostic("document.too-many-axes-made", label=repr(label), most=MOST_AXES)
    return why


def _inputs(scope: Scope) -> list[str]:
    return [value.name for value in scope.body.input if isinstance(value, ValueInfoProto)]


def _unknown_types(scope: Scope) -> Iterator[tuple[str, int]]:
    """The names of a scope's values and constants whose element type is no TensorProto.DataType, with that type."""
    body = scope.body
    listed = (body.value_info,) if isinstance(body, FunctionProto) else (body.input, body.output, body.value_info)
    for values in listed:
        if _TENSORS.issuperset(map(_KIND, map(_TYPE, values))) and _KNOWN_TYPES.issuperset(map(_ELEM_TYPE, values)):
            continue
        for value in values:
            yield from ((value.name, kind) for kind in _elem_types(value.type) if kind not in _KNOWN_TYPES)
    tensors = [(tensor.name, tensor) for tensor in scope.initializers.values()]
    naming = []
    for node in body.node:
        for entry in node.attribute:
            if entry.HasField("t"):
                tensors += [(output, entry.t) for output in node.output[:1]]
            if entry.name in _NAMING_TYPES and node.domain in DEFAULT_DOMAINS and entry.i not in _KNOWN_TYPES:
                naming.append((node.output[0] if node.output else node.name, entry.i))
    yield from ((name, tensor.data_type) for name, tensor in tensors if tensor.data_type not in _KNOWN_TYPES)
    yield from naming


def _elem_types(value: TypeProto) -> Iterator[int]:
    kind = value.WhichOneof("value")
    while kind in ("sequence_type", "optional_type"):
        value = value.sequence_type.elem_type if kind == "sequence_type" else value.optional_type.elem_type
        kind = value.WhichOneof("value")
    if kind == "map_type":
        yield value.map_type.key_type
        yield from _elem_types(value.map_type.value_type)
    elif kind in ("tensor_type", "sparse_tensor_type"):
        yield getattr(value, kind).elem_type


def _body_missing(node: NodeProto) -> str | None:
    if node.op_type not in _BODIES or node.domain not in DEFAULT_DOMAINS:
        return None
    if not any(node.output):
        return Diagnostic("document.body-without-output", op_type=node.op_type)
    bodies = dict(subgraphs(node))
    for wanted in _BODIES[node.op_type]:
        if wanted not in bodies:
            return Diagnostic("document.body-missing", op_type=node.op_type, wanted=wanted)
        if node.op_type == "If" and len(bodies[wanted].output) != len(node.output):
            return Diagnostic(
                "document.branch-outputs",
                outputs=counted(len(node.output), "output"),
                wanted=wanted,
                found=len(bodies[wanted].output),
            )
    return None


def _circular_call(scopes: Scopes) -> str | None:
    """Whether functions call each other in a circle, too deep, or too often."""
    calls: dict[FunctionName | None, list[FunctionName]] = {None: [], **{name: [] for name in scopes.functions}}
    sizes = dict.fromkeys(calls, 0)
    for scope in scopes.all if scopes.functions else ():
        sizes[scope.path.function] += len(scope.body.node)
    for name, callers in scopes.calls.items():
        for scope, _ in callers:
            calls[scope.path.function].append(name)
    depths: dict[FunctionName | None, int] = {}
    try:
        for caller in TopologicalSorter(calls).static_order():
            below = calls.get(caller, ())
            depths[caller] = 1 + max((depths[call] for call in below), default=0)
            sizes[caller] = sizes.get(caller, 0) + sum(sizes[call] for call in below)
    except CycleError as error:
        return Diagnostic("document.calls-in-circle", circle=" ← ".join(map(str, error.args[1])))
    if depths[None] > _DEEPEST_CALLS:
        return Diagnostic("document.calls-too-deep", depth=depths[None], most=_DEEPEST_CALLS)
    if sizes[None] > _MOST_NODES_UNFOLDED:
        return Diagnostic("document.calls-too-many", nodes=amount(sizes[None]))
    return None


def _circular_data(scopes: Scopes) -> str | None:
    """Whether a node computes, by way of others, what it reads itself."""
    if len(scopes.all) == 1 and _stands_in_order(scopes.main):
        return None
    if all(index is None or home.producers.get(name, -1) < index for name, home, index in _followed(scopes)):
        return None  # as ONNX wants it: every node stands behind those that it reads
    needed: dict[ScopePath, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for name, home, index in _followed(scopes):
        if index is not None and name in home.producers:
            needed[home.path][index].append(home.producers[name])
    for scope in scopes.all:
        try:
            TopologicalSorter(needed[scope.path]).prepare()
        except CycleError as error:
            circle = " ← ".join(repr(node_label(scope.body.node[index], index)) for index in error.args[1][:6])
            return Diagnostic("document.nodes-in-circle", circle=circle)
    return None


def _stands_in_order(scope: Scope) -> bool:
    """Whether every node of a scope stands behind those that it reads."""
    place = scope.producers.get
    return all(place(name, -1) < index for index, node in enumerate(scope.body.node) for name in node.input)


def _followed(scopes: Scopes) -> Iterator[tuple[str, Scope, int | None]]:
    """Every name that is read, the scope that gives it its value, and which node of that scope reads it."""
    for scope in scopes.all:
        for name, reader in reads(scope):
            # What a body reads from outside is read by the node that holds it.
            home, index = scope, reader.node_index
            while home.parent is not None and not home.defines(name):
                home, index = home.parent, home.owner
            yield name, home, index


# onnx.proto is written in protobuf's second edition, whose parsers take any bytes for a string and give them back as
# `bytes` where they are no UTF-8; nothing that compares or joins names is ready for that. Parsers of the third edition
# refuse such strings, at the speed of a parser. So the same messages are declared once more in that edition.
# Where external data lie is a file name, which on some systems may be any bytes: opening that file checks it.
# Source: https://protobuf.dev/programming-guides/encoding/, https://protobuf.dev/programming-guides/proto3/#scalar
def require_utf8(model: bytes, name: str) -> None:
    """Raises UnreadableModelError, saying where, if a text in the serialised model `name` is no UTF-8."""
    try:
        _strict().FromString(model)
    except DecodeError:
        # Nothing is found where the file states a field twice and only the last, which counts, is UTF-8.
        for place, text in _offending("", onnx.ModelProto.FromString(model)):
            raise UnreadableModelError("document.text-not-utf-8", name=name, place=place, text=text[:80]) from None


def _offending(place: str, message: Message) -> Iterator[tuple[str, bytes]]:
    for field, value in message.ListFields():
        if field.name == "external_data":
            continue
        step = f"{place}.{field.name}" if place else field.name
        entries = [(step, value)]
        if not isinstance(value, (str, bytes, int, float, Message)):
            entries = [(f"{step}[{index}]", entry) for index, entry in enumerate(value)]
        for where, entry in entries:
            if isinstance(entry, Message):
                yield from _offending(where, entry)
            elif field.type == field.TYPE_STRING and isinstance(entry, bytes):
                yield where, entry


@lru_cache(maxsize=1)
def _strict() -> type[Message]:
    """ModelProto in protobuf's third edition, for parsing alone."""
    file = FileDescriptorProto()
    onnx.ModelProto.DESCRIPTOR.file.CopyToProto(file)
    file.syntax = "proto3"
    file.ClearField("options")
    for message in file.message_type:
        _modernise(message)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    strict: type[Message] = message_factory.GetMessageClass(
        pool.FindMessageTypeByName(onnx.ModelProto.DESCRIPTOR.full_name)
    )
    return strict


def _modernise(message: DescriptorProto) -> None:
    message.ClearField("extension_range")
    for field in message.field:
        field.ClearField("default_value")
        if field.name == "external_data":
            field.type = FieldDescriptorProto.TYPE_BYTES
            field.ClearField("type_name")
        if field.label == FieldDescriptorProto.LABEL_REQUIRED:
            field.label = FieldDescriptorProto.LABEL_OPTIONAL
    for inner in message.nested_type:
        _modernise(inner)


def why_invalid(model: ModelProto) -> str | None:
    """What onnx.checker's full check says against the model; None if nothing."""
    return _complaint(model, lambda copy: onnx.checker.check_model(copy, full_check=True))


def why_not_loaded(model: ModelProto) -> str | None:
    """What keeps onnxruntime from loading the model, as far as onnx.checker and type inference see it; None if nothing.

    onnxruntime reads what the checker refuses: a stored shape that inference contradicts, before IR 4 initializers
    that are no inputs, before opset 9 Constant nodes of integers, and what `_completed` adds. `model`: its nodes in
    order, its domain spelled ''.
    """
    return _complaint(model, _check_as_loaded)


def _check_as_loaded(copy: ModelProto) -> None:
    copy.ir_version = max(copy.ir_version, 4)
    graphs = [body for _, body in bodies(copy) if isinstance(body, GraphProto)]
    for body in graphs if default_opset(copy.opset_import, fallback=1) < 9 else ():
        _take_out_constants(body)
    onnx.checker.check_model(_completed(copy))
    for _, body in bodies(copy):
        for value in (*body.value_info, *(body.output if isinstance(body, GraphProto) else ())):
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
    onnx.shape_inference.infer_shapes(copy, check_type=True, strict_mode=True)


def _completed(model: ModelProto) -> ModelProto:
    """A copy with names of graphs, with types and shapes of inputs and outputs, without metadata, whose keys may be
    equal, and only with functions that are called, of the opset of the model, by which onnxruntime reads them."""
    completed = ModelProto()
    completed.CopyFrom(model)
    del completed.metadata_props[:], completed.functions[:]
    called = View(model).scopes.reached
    completed.functions.extend(function for function in model.functions if FunctionName.of(function) in called)
    for function in completed.functions:
        set_default_opset(function, default_opset(completed.opset_import, fallback=1))
    for _, body in bodies(completed):
        body.name = body.name or "graph"
    for value in (*completed.graph.input, *completed.graph.output):
        if value.type.WhichOneof("value") is None:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.SetInParent()
    return completed


def _take_out_constants(body: GraphProto) -> None:
    """Tensors of Constant nodes become initializers: before opset 9, Constant lists floating-point types alone."""
    for index in reversed(range(len(body.node))):
        node = body.node[index]
        if node.op_type == "Constant" and len(node.attribute) == 1 and node.attribute[0].HasField("t"):
            tensor = body.initializer.add()
            tensor.CopyFrom(node.attribute[0].t)
            tensor.name = node.output[0]
            del body.node[index]


def _complaint(model: ModelProto, check: Callable[[ModelProto], None]) -> str | None:
    """What `check` says against a copy of the model.

    The checker looks for external data in the working directory, so tensors whose payload lies in a file stand in
    for it as inputs of the same type and shape; no operand that a shape depends on is that large.
    """
    copy = ModelProto()
    copy.CopyFrom(open_negative_sizes(model))
    for _, body in list(bodies(copy)):
        if isinstance(body, GraphProto):
            _stand_in(body, copy.graph)
    try:
        check(copy)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, ValueError) as error:
        return " ".join(str(error).split()).rstrip(".")
    return None


def _stand_in(body: GraphProto, main: GraphProto) -> None:
    listed = {value.name for value in main.input}
    absent: list[TensorProto] = []
    for index in reversed(range(len(body.initializer))):
        if body.initializer[index].data_location == TensorProto.EXTERNAL:
            absent.append(body.initializer[index])
            del body.initializer[index]
    for index in reversed(range(len(body.node))):
        node = body.node[index]
        tensors = [attribute.t for attribute in node.attribute if attribute.type == AttributeProto.TENSOR]
        if node.op_type == "Constant" and any(tensor.data_location == TensorProto.EXTERNAL for tensor in tensors):
            tensors[0].name = node.output[0]
            absent.append(tensors[0])
            del body.node[index]
    for tensor in absent:
        if tensor.name not in listed:
            main.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))


def open_negative_sizes(model: ModelProto) -> ModelProto:
    """A copy that says nothing of the sizes that are stored as negative ones; the model itself where there are none."""
    if not any(has_negative_size(value.type) for _, body in bodies(model) for value in stored_values(body)):
        return model
    opened = ModelProto()
    opened.CopyFrom(model)
    for value in (
        value for _, body in bodies(opened) for value in stored_values(body) if has_negative_size(value.type)
    ):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_value < 0:
                dim.ClearField("dim_value")
    return opened
