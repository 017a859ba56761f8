"""The reference that a promotion is compared with: the original with other scales or sizes written as constants.

It is made by plain edits of the protobuf messages, and shares no code with the operations that it judges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from resizefix.dialects.dialect import dialect_of
from resizefix.document.document import Document
from resizefix.document.scopes import Scope, bodies
from resizefix.document.view import View
from resizefix.interpolation import Extent, ExtentKind
from resizefix.runtimes.prepared_model import PreparedModel
from resizefix.scope_path import MAIN, Key, ScopePath

Body = GraphProto | FunctionProto


def _add(nodes: list[NodeProto], named: Callable[[str], str], op_type: str, *inputs: str, **attributes: Any) -> str:
    """One more node; the name of its output."""
    nodes.append(helper.make_node(op_type, inputs, [named(op_type)], **attributes))
    return str(nodes[-1].output[0])


def _tensor(extent: Extent, name: str) -> TensorProto:
    dtype = np.float32 if extent.kind is ExtentKind.SCALES else np.int64
    return numpy_helper.from_array(np.array(extent.values, dtype), name)


@dataclass(frozen=True)
class ComputedSizes:
    """Sizes to make of the lengths of the tensor `data`: times `numerators`, over `denominator`, rounded down.

    `axes` are those that the numerators stand for; None: all, in order.
    """

    data: str
    numerators: tuple[int, ...]
    denominator: int
    axes: tuple[int, ...] | None

    def nodes(self, fresh: Callable[[str], str]) -> list[NodeProto]:
        """Nodes that make the sizes; the last one's output holds them.

        In float64, where the quotient of whole numbers below 2⁵³ is never rounded up to a whole number.
        """
        nodes: list[NodeProto] = []
        add = partial(_add, nodes, lambda op_type: fresh(f"{self.data}_{op_type}"))

        def constant(values: Sequence[int], dtype: type[np.generic]) -> str:
            return add("Constant", value=numpy_helper.from_array(np.array(values, dtype)))

        lengths = add("Shape", self.data)
        if self.axes is not None:
            lengths = add("Gather", lengths, constant(self.axes, np.int64))
        lengths = add("Cast", lengths, to=TensorProto.DOUBLE)
        products = add("Mul", lengths, constant(self.numerators, np.float64))
        quotients = add("Div", products, constant([self.denominator], np.float64))
        add("Cast", add("Floor", quotients), to=TensorProto.INT64)
        return nodes


@dataclass(frozen=True)
class SizesOfAnother:
    """Sizes to read from the tensor `other`: on `axes` of the tensor `data` those of `other` on `its_axes`, elsewhere
    those that `data` has. `listed` are the axes that the node names; None: all `rank` of them."""

    data: str
    other: str
    axes: tuple[int, ...]
    its_axes: tuple[int, ...]
    rank: int
    listed: tuple[int, ...] | None

    def nodes(self, fresh: Callable[[str], str]) -> list[NodeProto]:
        """Nodes that make the sizes; the last one's output holds them. One size after the other is gathered."""
        nodes: list[NodeProto] = []
        add = partial(_add, nodes, lambda op_type: fresh(f"{self.data}_{op_type}"))

        shapes = {name: add("Shape", name) for name in dict.fromkeys((self.data, self.other))}
        one_by_one = []
        for axis in range(self.rank) if self.listed is None else self.listed:
            place = axis % self.rank
            moved = place in self.axes
            name, its = (self.other, self.its_axes[self.axes.index(place)]) if moved else (self.data, place)
            index = add("Constant", value=numpy_helper.from_array(np.array([its], np.int64)))
            one_by_one.append(add("Gather", shapes[name], index))
        add("Concat", *one_by_one, axis=0)
        return nodes


Operand = Extent | ComputedSizes | SizesOfAnother


class ReferenceModels:
    """Makes references of one original. What must be known of the original is worked out once for all of them."""

    def __init__(self, original: Document) -> None:
        self._original = original
        self._scopes = View(original.proto).scopes
        self._prefix = _unused_prefix(original.proto)

    def document(self, operands: Mapping[Key, Operand]) -> Document:
        """The original as it would have been exported with other scales: constants, and no shape that the old ones
        imply.

        `operands` names each node by scope path and output. The node keeps everything but its scales and sizes. In a
        neighbourhood all nodes stand in the main graph, wherever they came from.
        """
        reference = self._original.copy()
        self._write(reference.proto, operands)
        return reference

    def prepared(self, original: PreparedModel, operands: Mapping[Key, Operand]) -> PreparedModel:
        """The same for a session, made of what was prepared of the original."""
        model = ModelProto()
        model.CopyFrom(original.model)
        self._write(model, operands)
        return original.with_constants(model)

    def _write(self, model: ModelProto, operands: Mapping[Key, Operand]) -> None:
        """Edit a copy of the original, whose nodes stand where they do in the original."""
        scopes = self._scopes
        copies = [model.graph] if len(scopes.all) == 1 else [body for _, body in bodies(model)]
        pairs = list(zip(scopes.all, copies, strict=True))
        by_path = {scope.path: (scope, body) for scope, body in pairs}
        numbers = count()

        def fresh(name: str) -> str:
            return f"{self._prefix}{next(numbers)}_{name}"

        shared: dict[tuple[ScopePath, Extent], str] = {}

        def constant(path: ScopePath, value: Extent) -> str:
            """One for all nodes of the scope that read it."""
            if (path, value) not in shared:
                shared[path, value] = fresh(f"constant_{value.kind.value}")
            return shared[path, value]

        main = by_path[MAIN]
        places = []
        for (path, output), operand in operands.items():
            scope, body = by_path.get(path, main)
            places.append((scope.producers[output], scope, body, operand))
        # From the last node to the first, so that what is inserted moves none that is still to come.
        places.sort(key=lambda place: place[0], reverse=True)
        for position, scope, body, operand in places:
            node = body.node[position]
            dialect = dialect_of(node.op_type, scope.opset)
            scales, sizes = dialect.scales_input, dialect.sizes_input
            by_sizes = not isinstance(operand, Extent) or operand.kind is ExtentKind.SIZES
            if scales is None or (by_sizes and sizes is None):
                raise ValueError(f"{dialect.name} takes no {'sizes' if by_sizes else 'scales'} as an input")
            computing = [] if isinstance(operand, Extent) else operand.nodes(fresh)
            read = constant(scope.path, operand) if isinstance(operand, Extent) else computing[-1].output[0]
            wanted = {sizes if by_sizes else scales: read, scales if by_sizes else sizes: ""}
            if by_sizes and not dialect.inputs[scales].optional:  # Resize-11 wants a tensor there, if an empty one
                wanted[scales] = constant(scope.path, Extent(ExtentKind.SCALES, ()))
            inputs = node.input
            for place, name in wanted.items():
                if place is not None:
                    inputs.extend([""] * (place + 1 - len(inputs)))
                    inputs[place] = name
            while not inputs[-1]:
                inputs.pop()
            for before in reversed(computing):
                body.node.insert(position, before)
        for (path, value), name in shared.items():
            node = helper.make_node("Constant", [], [name], value=_tensor(value, name))
            by_path[path][1].node.insert(0, node)
        _drop_unread_initializers(model, copies)
        for scope, body in pairs:
            _forget_shapes(scope, body)


def _unused_prefix(model: ModelProto) -> str:
    """Letters that stand nowhere in the file, so that a name that begins with them is new."""
    taken = model.SerializeToString()
    prefix = "reference"
    while prefix.encode() in taken:
        prefix += "_"
    return prefix


def _drop_unread_initializers(model: ModelProto, copies: Sequence[Body]) -> None:
    """onnxruntime refuses a model of IR 3 with an initializer that no node reads: it is listed as an input."""
    if model.ir_version >= 4:
        return
    read = {value.name for value in model.graph.output}
    read.update(name for body in copies for node in body.node for name in node.input)
    unread = {tensor.name for tensor in model.graph.initializer} - read
    for entries in (model.graph.initializer, model.graph.input):
        for index in reversed([index for index, entry in enumerate(entries) if entry.name in unread]):
            del entries[index]


def _forget_shapes(scope: Scope, body: Body) -> None:
    """Forget every size that the old scales may have made; those of a body keep their rank, which onnxruntime wants."""
    # One size for each axis, at whatever scale; onnxruntime demands to know how many (onnx/defs/tensor/utils.cc).
    if body.value_info:
        sizes = {name for node in body.node if node.op_type == "Resize" for name in node.input[3:4]}
        values = [value for value in body.value_info if value.name in sizes]
        del body.value_info[:]
        body.value_info.extend(values)
    if not isinstance(body, GraphProto):
        return
    for value in body.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    for value in body.input if scope.parent is not None else ():  # what a Loop carries may change its size too
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
