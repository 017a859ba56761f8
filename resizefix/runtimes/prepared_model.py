"""The copy of a model that onnxruntime opens: it computes the same, and is easier to ask questions of.

Four things differ from the file: tensors to look at are added as outputs; nodes without a name get the label that our
reports use, so that onnxruntime's errors can name them; random nodes without a seed get one, so that two versions of a
model draw the same numbers. Resizes of bfloat16, of which onnxruntime has no kernel, are run as their float32 result,
rounded once.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper

from resizefix.dialects.dialect import RESIZES
from resizefix.document.document import Document
from resizefix.document.edits import FreshNames
from resizefix.document.scopes import DEFAULT_DOMAINS, bodies, is_operator, names_in, node_label
from resizefix.document.view import View
from resizefix.runtimes.inputs import TensorInput, model_inputs
from resizefix.runtimes.ort_error import Forecast
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView

# Operators with a `seed` attribute and the type of a seed. Without one, onnxruntime seeds each node with its position
# in the graph (core/providers/cpu/generator/random.h), which every edit moves.
_SEED_TYPE: dict[str, type] = {
    "RandomNormal": float,
    "RandomNormalLike": float,
    "RandomUniform": float,
    "RandomUniformLike": float,
    "Multinomial": float,
    "Bernoulli": float,
    "Dropout": int,
}


@dataclass(frozen=True)
class PreparedModel:
    """`random`: the nodes that draw random numbers; a second run in one session would draw the next ones.

    `measured`: the tensors whose shapes are further results, behind the outputs.
    `external_bytes`: the size of the tensors that the model refers to and does not hold, as far as it says.
    """

    model: ModelProto
    random: tuple[str, ...]
    external_bytes: int
    measured: tuple[str, ...] = ()

    def with_constants(self, model: ModelProto) -> PreparedModel:
        """The same with another model, whose results have the same names."""
        prepared = replace(self, model=model)
        vars(prepared)["outputs"] = self.outputs
        return prepared

    def showing(self, names: Sequence[str]) -> PreparedModel:
        """The same with these names of the main graph as outputs behind its own."""
        model = ModelProto()
        model.CopyFrom(self.model)
        _show(model, names)
        return replace(self, model=model)

    def measuring(self, names: Sequence[str]) -> PreparedModel:
        """The same with the shapes of these tensors as further results, as far as nodes of the main graph make them."""
        model = ModelProto()
        model.CopyFrom(self.model)
        taken = names_in(model)
        outputs = {name for node in model.graph.node for name in node.output}
        measured = tuple(name for name in names if name in outputs)
        for position, name in enumerate(measured):
            shape = f"shape:{position}"
            while shape in taken:
                shape += "_"
            model.graph.node.append(helper.make_node("Shape", [name], [shape], shape))
            model.graph.output.add().name = shape
        return replace(self, model=model, measured=measured)

    @cached_property
    def inputs(self) -> tuple[TensorInput, ...]:
        """What to feed."""
        return model_inputs(self.model)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The names of the results."""
        names = tuple(value.name for value in self.model.graph.output)
        return names[: len(names) - len(self.measured)]

    @cached_property
    def declared(self) -> dict[str, list[int | None]]:
        """The sizes that the file fixes of its outputs."""
        tensors = ((value.name, value.type.tensor_type) for value in self.model.graph.output)
        return {
            name: [dim.dim_value or None for dim in tensor.shape.dim]
            for name, tensor in tensors
            if tensor.HasField("shape")
        }

    @cached_property
    def forecast(self) -> Forecast:
        """Where onnxruntime will end the process."""
        return Forecast(self.model)

    @cached_property
    def serialized(self) -> bytes:
        """What onnxruntime reads."""
        return bytes(self.model.SerializeToString())


def prepare_for_ort(document: Document, extra_outputs: Sequence[str] = ()) -> PreparedModel:
    """The copy to open. `extra_outputs` are names of the main graph; one that is an output already is not repeated."""
    model = ModelProto.FromString(document.light_bytes())
    _show(model, extra_outputs)
    random: list[str] = []
    external = 0
    for _, body in bodies(model):
        for index, node in enumerate(body.node):
            if node.op_type in _SEED_TYPE and _pin_seed(node):
                random.append(node_label(node, index))
            for attribute in node.attribute:
                external += external_bytes_of(attribute.t) if attribute.HasField("t") else 0
        if isinstance(body, GraphProto):
            _name_nodes(body)
            external += sum(map(external_bytes_of, body.initializer))
    return PreparedModel(model, tuple(random), external)


def _show(model: ModelProto, names: Sequence[str]) -> None:
    present = {value.name for value in model.graph.output} if names else set()
    for name in names:
        if name not in present:
            model.graph.output.add().name = name  # onnxruntime infers the type of a bare name
            present.add(name)


def external_bytes_of(tensor: TensorProto) -> int:
    """The size of a tensor that the model refers to, as far as it says; 0 for one that it holds."""
    if not tensor.external_data:
        return 0
    lengths = (entry.value for entry in tensor.external_data if entry.key == "length")
    return sum(int(length) for length in lengths if re.fullmatch("[0-9]{1,19}", length))


def _pin_seed(node: NodeProto) -> bool:
    if node.domain not in DEFAULT_DOMAINS:
        return False
    if node.op_type == "Dropout" and not any(node.input[2:]):
        return False  # it draws in training mode alone, which its third input (opset 12) turns on
    if not any(attribute.name == "seed" for attribute in node.attribute):
        seed_type = _SEED_TYPE[node.op_type]
        # By the tensor's name: an edit elsewhere moves positions, not names. 24 bits are exact in a float.
        seed = zlib.crc32(node.output[0].encode()) & 0xFFFFFF
        node.attribute.append(helper.make_attribute("seed", seed_type(seed)))
    return True


def _name_nodes(graph: GraphProto) -> None:
    taken = {node.name for node in graph.node}
    for index, node in enumerate(graph.node):
        if not node.name and (label := node_label(node, index)) not in taken:  # onnxruntime refuses two of one name
            node.name = label


_FIRST_CAST = 13  # of bfloat16; no resize before takes it, either
_MAKERS = frozenset({"Cast", "Constant", "ConstantOfShape"})


def in_float32(prepared: PreparedModel, document: Document) -> PreparedModel:
    """What was prepared of the document, with its resizes of bfloat16 between Casts to float32 and back; the same where
    there are none.

    It is made by plain edits of the protobuf messages, and shares no code with the operations that a proof judges.
    """
    wanted = _resizes_of_bfloat16(document)
    if not wanted:
        return prepared
    model = ModelProto()
    model.CopyFrom(prepared.model)
    fresh = FreshNames(names_in(model)).fresh
    for scope in View(model).scopes.all:
        nodes: list[NodeProto] = []
        for node in scope.body.node:
            inner = NodeProto.FromString(node.SerializeToString())
            if not node.output or (scope.path, node.output[0]) not in wanted:
                nodes.append(inner)
                continue
            inner.input[0], inner.output[0] = fresh("float32_x"), fresh("float32_y")
            before = helper.make_node("Cast", [node.input[0]], [inner.input[0]], to=TensorProto.FLOAT)
            back = helper.make_node("Cast", [inner.output[0]], [node.output[0]], to=TensorProto.BFLOAT16)
            nodes += [before, inner, back]
        del scope.body.node[:]
        scope.body.node.extend(nodes)
    return prepared.with_constants(model)


def _resizes_of_bfloat16(document: Document) -> set[Key]:
    if not _has_bfloat16(document.proto):
        return set()
    view = ModelView(document)
    return {
        (scope.path, node.output[0])
        for scope in view.scopes.all
        if scope.opset >= _FIRST_CAST
        for node in scope.body.node
        if is_operator(node, *RESIZES) and view.elem_type(scope, node.output[0]) == TensorProto.BFLOAT16
    }


def _has_bfloat16(model: ModelProto) -> bool:
    """Whether a tensor of the type comes into the model or is made in it."""
    for _, body in bodies(model):
        inputs = [value.type.tensor_type.elem_type for value in body.input if not isinstance(value, str)]
        if TensorProto.BFLOAT16 in inputs:
            return True
        if any(one.data_type == TensorProto.BFLOAT16 for one in getattr(body, "initializer", ())):
            return True
        for node in body.node:
            if node.op_type in _MAKERS and any(
                TensorProto.BFLOAT16 in (one.i, one.t.data_type) for one in node.attribute
            ):
                return True
    return False
