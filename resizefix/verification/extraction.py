"""Models of a few nodes alone, extracted from one that onnxruntime does not run as a whole, or runs without them; and
such nodes of two models compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import cast

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper, numpy_helper

from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.document.document import Document
from resizefix.document.scopes import Definition, DefinitionKind, Scope
from resizefix.document.values import Dims, dims_of
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.scope_path import MAIN, Key, ScopePath
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.engine import Engine
from resizefix.verification.verification import Conditions, Verification, VerificationStatus

_MOST_INLINE_ELEMENTS = 4096
_MOST_KEPT = 8  # a size up to this one is a batch or colours, and stays where sizes are opened


class Extraction:
    """Extracts the same nodes from two documents, before and after an edit. What must be known of each document as a
    whole is worked out once, however many nodes are extracted.
    """

    def __init__(self, before: ModelView, after: ModelView) -> None:
        self._pair = (_Source(before), _Source(after))

    @cached_property
    def common_paths(self) -> set[ScopePath]:
        """The scopes that both documents have; a function that was inlined is none."""
        before, after = self._pair
        return before.view.scopes.by_path.keys() & after.view.scopes.by_path.keys()

    def is_common(self, key: Key) -> bool:
        """Whether a node makes this tensor in both documents; a downgrade leaves out what is not read, or cast away."""
        path, output = key
        return all(output in one.view.scopes.by_path[path].producers for one in self._pair)

    def part_of(self, extracted: Document) -> float:
        """Which part of the model before was extracted, by its nodes."""
        whole = len(self._pair[0].view.model.graph.node)
        return min(len(extracted.proto.graph.node) / max(whole, 1), 1.0)

    def extract(
        self, data: Mapping[Key, str], *, open_sizes: bool = False, sizes_stay: bool = False
    ) -> tuple[Document, Document]:
        """Two models of the named nodes alone, before and after the edit, which can be fed alike.

        `data` gives, for each node by scope path and output, the name of the tensor that is resized. That tensor is an
        input of the model. What drives the node's operands comes along, and whatever stands between the tensor and the
        output: one node, or the several that took its place. `open_sizes` forgets how large the resized tensors are,
        and keeps how many axes they have.

        More may be known of a tensor after the edit: types, which no edit changes, are taken from there. So are sizes
        with `sizes_stay`, as in a rewrite of nodes whose sizes were not known, by which those of the nodes behind
        became known.
        """
        pair = (self._pair[0].extract(data, open_sizes), self._pair[1].extract(data, open_sizes))
        old, new = ({value.name: value.type for value in one.proto.graph.input} for one in pair)
        for name in old.keys() & new.keys():
            elem_types = {kind.tensor_type.elem_type for kind in (old[name], new[name])} - {TensorProto.FLOAT}
            old[name].tensor_type.elem_type = min(elem_types, default=TensorProto.FLOAT)
            if sizes_stay:
                _tell_sizes(old[name], new[name])
            new[name].CopyFrom(old[name])
        resized = {output: data_name for (_, output), data_name in data.items()}
        for value in (value for one in pair for value in one.proto.graph.output):
            source = resized.get(value.name)
            if source in old:
                value.type.tensor_type.elem_type = old[source].tensor_type.elem_type
        return pair


class _Source:
    """A view of a document, with what is worked out once for all nodes that are extracted."""

    def __init__(self, view: ModelView) -> None:
        self.view = view

    @cached_property
    def inputs(self) -> dict[str, ValueInfoProto]:
        return {value.name: value for value in self.view.model.graph.input}

    def stated(self, definition: Definition) -> tuple[int | None, Dims | None]:
        """The element type and the sizes of a tensor, as far as they are known. An input states its own: shapes are
        inferred where others are asked for."""
        value = self.inputs.get(definition.name) if definition.key[0] == MAIN else None
        if definition.kind is DefinitionKind.INPUT and value is not None and value.type.tensor_type.HasField("shape"):
            return value.type.tensor_type.elem_type or None, dims_of(value.type)
        return self.view.shapes.elem_type(definition.key), self.view.shapes.dims(definition.key)

    def extract(self, data: Mapping[Key, str], open_sizes: bool) -> Document:
        cutter = _Extraction(self, open_sizes)
        for (path, output), resized in data.items():
            cutter.take(self.view.scopes.by_path[path], output, resized)
        proto, model = self.view.model, ModelProto()
        model.ir_version = proto.ir_version
        homes = [self.view.scopes.by_path[path.outermost] for path, _ in data]
        model.opset_import.extend((homes[-1].body if homes[-1].in_function else proto).opset_import)
        model.graph.CopyFrom(cutter.graph)
        return Document.of_part(model, self.view.document)


def _tell_sizes(kind: TypeProto, other: TypeProto) -> None:
    """Give `kind` the sizes that only `other` has."""
    shape, more = kind.tensor_type.shape, other.tensor_type.shape
    if not kind.tensor_type.HasField("shape") and other.tensor_type.HasField("shape"):
        shape.CopyFrom(more)
    if len(shape.dim) == len(more.dim):
        for dim, source in zip(shape.dim, more.dim, strict=True):
            if not dim.HasField("dim_value") and source.HasField("dim_value"):
                dim.dim_value = source.dim_value


class _Extraction:
    """Collects the graph of extracted nodes, operands before the nodes that read them."""

    def __init__(self, source: _Source, open_sizes: bool) -> None:
        self._from = source
        self._view = source.view
        self._definition = source.view.scopes.definition
        self._open_sizes = open_sizes
        self._have: set[str] = set()
        self._names: set[str] = set()
        self._elem_types: dict[str, int] = {}  # of what is fed
        self.graph = GraphProto(name="extracted")

    def take(self, scope: Scope, output: str, data: str) -> None:
        """Everything between the resized tensor `data` and `output`."""
        node = scope.body.node[scope.producers[output]]
        if data not in self._have:
            home = self._source(scope, data)
            elem_type, dims = (None, None) if home is None else self._from.stated(home)
            if dims is None:
                dims = self._rank_from_operand(scope, node)
            if self._open_sizes and dims is not None:
                dims = tuple(None if isinstance(size, int) and size > _MOST_KEPT else size for size in dims)
            self._have.add(data)
            self._feed(helper.make_tensor_value_info(data, elem_type or TensorProto.FLOAT, dims))
        if output not in self._have:
            for name in reversed(node.input):
                source = self._definition(scope, name) if name and name not in self._have else None
                if source is not None:
                    self._bring(source)
            self._copy(node)
        elem_type = self._elem_types.get(data, TensorProto.UNDEFINED)
        value = self.graph.output.add()
        value.name = output
        value.type.tensor_type.elem_type = elem_type

    def _source(self, scope: Scope, name: str) -> Definition | None:
        """What defines a name; of a function's argument, what all its calls pass."""
        definition = self._view.scopes.definition(scope, name)
        return None if definition is None else self._view.calls.origin(definition)

    def _rank_from_operand(self, scope: Scope, node: NodeProto) -> Dims | None:
        least = _least_rank(node)
        for name in filter(None, reversed(node.input[1:])):
            home = self._source(scope, name)
            dims = None if home is None else self._view.shapes.dims(home.key)
            if dims is None and home is not None:  # no shapes are inferred in a function
                value = self._view.value(home.scope, home.name)
                dims = None if value is None else value.shape
            if dims and isinstance(dims[0], int) and dims[0]:
                return (None,) * max(dims[0], least)
        return (None,) * least or None

    def _bring(self, definition: Definition) -> None:
        pending: list[tuple[Definition, bool]] = [(definition, False)]
        while pending:
            current, sources_are_there = pending.pop()
            if current.name in self._have:
                continue
            if current.node is not None and not sources_are_there:
                pending.append((current, True))
                for name in current.node.input:
                    source = self._definition(current.scope, name) if name and name not in self._have else None
                    if source is not None:
                        pending.append((source, False))
                continue
            self._have.add(current.name)
            if current.node is not None:
                self._copy(current.node)
            elif current.tensor is not None:
                self.graph.initializer.append(self._inline(current.tensor))
                if current.kind is DefinitionKind.DEFAULTED_INPUT or self._view.document.proto.ir_version < 4:
                    self._feed(
                        helper.make_tensor_value_info(current.name, current.tensor.data_type, current.tensor.dims)
                    )
            elif not self._passed(current):
                self._feed(self._declared(current))

    def _copy(self, node: NodeProto) -> None:
        """Take a node whose operands are there."""
        self._have.update(node.output)
        copy = self.graph.node.add()
        copy.CopyFrom(node)
        if node.name in self._names:  # onnxruntime refuses two nodes of one name
            copy.name = ""
        self._names.add(node.name)
        for attribute in copy.attribute:
            if attribute.HasField("t"):
                attribute.t.CopyFrom(self._inline(attribute.t))

    def _passed(self, definition: Definition) -> bool:
        """Whether the definition is a function's argument that is a constant in all its calls: it is one here."""
        given = self._view.calls.argument(definition)
        if given is None or given.kind is DefinitionKind.DEFAULTED_INPUT:
            return False
        if given.tensor is not None:
            self.graph.initializer.append(self._inline(given.tensor))
            self.graph.initializer[-1].name = definition.name
        elif given.node is not None and given.node.op_type == "Constant":
            self.graph.node.append(given.node)
            self.graph.node[-1].output[0] = definition.name
        else:
            return False
        return True

    def _inline(self, tensor: TensorProto) -> TensorProto:
        # Shape inference wants the numbers of an operand, which some exporters put into an external file.
        if tensor.data_location != TensorProto.EXTERNAL or math.prod(tensor.dims) > _MOST_INLINE_ELEMENTS:
            return tensor
        return numpy_helper.from_array(self._view.document.array(tensor), tensor.name)

    def _declared(self, definition: Definition) -> ValueInfoProto:
        # A function's inputs are names; one that a promotion passed in is typed where it is fed.
        body = definition.scope.body
        if body is not self._view.document.proto.graph and isinstance(body, GraphProto):
            own = [value for value in body.input if value.name == definition.name]
            if own:
                return cast(ValueInfoProto, own[0])
        if definition.name in self._from.inputs:
            return self._from.inputs[definition.name]
        given = self._view.calls.origin(definition)
        elem_type = self._view.shapes.elem_type(given.key) or TensorProto.FLOAT
        return helper.make_tensor_value_info(definition.name, elem_type, self._view.shapes.dims(given.key))

    def _feed(self, value: ValueInfoProto) -> None:
        self.graph.input.append(value)
        self._elem_types[value.name] = value.type.tensor_type.elem_type


def _least_rank(node: NodeProto) -> int:
    """How many axes a tensor has at least that has those which the node names."""
    axes = next((attribute.ints for attribute in node.attribute if attribute.name == "axes"), ())
    return max((axis + 1 if axis >= 0 else -axis for axis in axes), default=0)


def compare_alone(
    extraction: Extraction,
    data: Mapping[Key, str],
    conditions: Conditions,
    proof: Callable[[Document, Document, Engine], Verification],
    *,
    open_sizes: bool = False,
    sizes_stay: bool = False,
) -> Verification:
    """What the proof of two models comes to that consist of these nodes (`Extraction.extract`); skipped with the reason
    where they cannot be extracted from both, or do not run alone.

    The engine counts their runs as the part of the original that they are. Shapes that the user gave are not theirs.
    """
    for path, output in data:
        if not extraction.is_common((path, output)):
            return Verification(VerificationStatus.SKIPPED, Diagnostic("verification.node-left-out", key=output))
    try:
        conditions.limits.left()
        before, after = extraction.extract(data, open_sizes=open_sizes, sizes_stay=sizes_stay)
        return proof(before, after, Engine(replace(conditions, shapes={}), part=extraction.part_of(before)))
    except (CannotLoadError, CannotRunError, BrokenOffError, UsageError) as error:
        return Verification(VerificationStatus.SKIPPED, str(error))
