"""Twins to compare with: the original with other scales written as constants, and the neighbourhood of one node alone.

A twin is made with as little machinery as possible and shares none with the operations it judges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from resizefix.dialects.dialect import dialect_of
from resizefix.document.document import Document
from resizefix.document.edits import insert_nodes, remove_unread, set_input, set_shape
from resizefix.document.names import FreshNames
from resizefix.document.scopes import Scope, names_in
from resizefix.document.shapes import Key
from resizefix.document.view import View
from resizefix.interpolation import ExtentKind


@dataclass(frozen=True)
class Baked:
    """The operand to write as a constant: float32 scales or int64 sizes, a number for each entry that the node
    wants."""

    kind: ExtentKind
    values: tuple[float, ...]

    def tensor(self, name: str) -> TensorProto:
        """The operand as a tensor."""
        dtype = np.float32 if self.kind is ExtentKind.SCALES else np.int64
        return numpy_helper.from_array(np.array(self.values, dtype), name)


@dataclass(frozen=True)
class Ratio:
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
        made: list[NodeProto] = []

        def add(op_type: str, *inputs: str, **attributes: Any) -> str:
            output = fresh(f"{self.data}_{op_type}")
            made.append(helper.make_node(op_type, inputs, [output], **attributes))
            return output

        def constant(values: Sequence[int], dtype: type[np.generic]) -> str:
            return add("Constant", value=numpy_helper.from_array(np.array(values, dtype)))

        lengths = add("Shape", self.data)
        if self.axes is not None:
            lengths = add("Gather", lengths, constant(self.axes, np.int64))
        lengths = add("Cast", lengths, to=TensorProto.DOUBLE)
        products = add("Mul", lengths, constant(self.numerators, np.float64))
        quotients = add("Div", products, constant([self.denominator], np.float64))
        add("Cast", add("Floor", quotients), to=TensorProto.INT64)
        return made


def rebake(original: Document, operands: Mapping[Key, Baked | Ratio]) -> Document:
    """The original as it would have been exported with other scales: constants, and no shape that the old ones imply.

    `operands` names each node by scope path and output. The node keeps everything but its scales and sizes. In a
    neighbourhood all nodes stand in the main graph, wherever they came from.
    """
    twin = original.copy()
    model = twin.proto
    scopes = View(model).scopes
    names = FreshNames(names_in(model))
    homes = [(scopes.by_path.get(path, scopes.main), output, baked) for (path, output), baked in operands.items()]
    nodes = [(scope, scope.body.node[scope.producers[output]], baked) for scope, output, baked in homes]
    old = [
        definition.key
        for scope, node, _ in nodes
        for name in node.input[1:]
        if name and (definition := scopes.definition(scope, name)) is not None
    ]
    for scope, node, baked in nodes:
        dialect = dialect_of(node.op_type, scope.opset)
        scales, sizes = dialect.scales_input, dialect.sizes_input
        by_sizes = isinstance(baked, Ratio) or baked.kind is ExtentKind.SIZES
        if scales is None or (by_sizes and sizes is None):
            raise ValueError(f"{dialect.name} takes no {'sizes' if by_sizes else 'scales'} as an input")
        outermost = scope.body if scope.in_function else model.graph
        if isinstance(baked, Ratio):
            made = baked.nodes(names.fresh)
            insert_nodes(scope.body, list(scope.body.node).index(node), made)
            operand = made[-1].output[0]
        else:
            operand = names.fresh(f"{node.output[0]}_{baked.kind.value}")
            insert_nodes(outermost, 0, [_constant_node(baked.tensor(operand))])
        if sizes is not None:
            set_input(node, sizes, operand if by_sizes else "")
        if not by_sizes:
            set_input(node, scales, operand)
        elif dialect.inputs[scales].optional:
            node.input[scales] = ""
        else:  # Resize-11 wants a tensor there, if an empty one
            empty = names.fresh(f"{operand}_no_scales")
            insert_nodes(outermost, 0, [_constant_node(Baked(ExtentKind.SCALES, ()).tensor(empty))])
            set_input(node, scales, empty)
    remove_unread(model, old)  # onnxruntime refuses a model of IR 3 with an initializer that nobody reads
    for scope in scopes.all:
        _forget_shapes(scope)
    return twin


def _constant_node(tensor: TensorProto) -> NodeProto:
    return helper.make_node("Constant", [], [tensor.name], value=tensor)


def _forget_shapes(scope: Scope) -> None:
    body = scope.body
    # One size for each axis, at whatever scale; onnxruntime demands to know how many (onnx/defs/tensor/utils.cc).
    sizes = {name for node in body.node if node.op_type == "Resize" for name in node.input[3:4]}
    kept = [value for value in body.value_info if value.name in sizes]
    del body.value_info[:]
    body.value_info.extend(kept)
    if not isinstance(body, GraphProto):
        return
    for value in body.output:
        if value.type.HasField("tensor_type"):
            set_shape(value, None)
    if scope.parent is not None:  # what a Loop carries may change its size too
        for value in body.input:
            if value.type.tensor_type.HasField("shape"):
                set_shape(value, [None] * len(value.type.tensor_type.shape.dim))  # onnxruntime wants the rank
