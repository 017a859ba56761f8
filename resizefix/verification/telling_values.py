"""What models say about the values that tell two of them apart: bounds, defaults, and sizes at which one changes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from onnx import TensorProto

from resizefix.document.document import Document
from resizefix.document.scopes import bodies
from resizefix.document.values import Array
from resizefix.runtimes.inputs import Value, shapes_of
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.edges import Edges, edges
from resizefix.verification.feeds import Feeder
from resizefix.verification.sizing import Shape
from resizefix.verification.upstream import deciding_inputs

LIGHT = 2**18  # numbers that a model holds, is fed and gives: up to here a run takes 1 ms
_CRITICAL_SIZES = 32  # at which it begins to do something else


@dataclass
class TellingValues:
    """What two models say about the values that tell them apart, taken together."""

    edges: Edges
    deciding: frozenset[str]
    defaults: Mapping[str, Array]
    weight: int
    documents: tuple[Document, ...] = ()

    @classmethod
    def of(cls, *documents: Document) -> TellingValues:
        """What these models say."""
        named = [edges(document) for document in documents]
        numbers: dict[str, tuple[float, ...]] = {}
        for one in named:
            for name, values in one.numbers.items():
                numbers[name] = tuple(sorted({*numbers.get(name, ()), *values}))
        texts = tuple(dict.fromkeys(text for one in named for text in one.texts))
        deciding = frozenset[str]().union(*(deciding_inputs(document.proto) for document in documents))
        defaults: dict[str, Array] = {}
        for document in documents:
            names = {value.name for value in document.proto.graph.input}
            for tensor in document.proto.graph.initializer:
                if tensor.name in names and math.prod(tensor.dims) < LIGHT:
                    defaults.setdefault(tensor.name, document.array(tensor))
        return cls(Edges(numbers, texts), deciding, defaults, max(map(weight, documents)), documents)

    def critical_shapes(self, feeder: Feeder, first: Mapping[str, Value]) -> list[dict[str, Shape]]:
        """Shapes of all inputs that are those of a feed but for one open axis: with the sizes of that at which one of
        the models begins to do something else, and with the sizes just below, which come last."""
        from resizefix.shapes.critical_sizes import OpenAxis, critical_sizes, with_size  # of models with open sizes

        shapes = shapes_of(first)
        pairs: dict[tuple[OpenAxis, int, int], None] = {}
        axes = feeder.open_axes(shapes)
        for document in self.documents if axes else ():
            view = ModelView(document)
            for axis in axes:
                critical = critical_sizes(view, shapes, axis, LIGHT)
                pairs.update(((axis, *sizes), None) for sizes in islice(critical, _CRITICAL_SIZES))
        sizes = {(axis, high): None for axis, _, high in pairs} | {(axis, low): None for axis, low, _ in pairs}
        return [with_size(shapes, axis, size) for axis, size in islice(sizes, _CRITICAL_SIZES)]


def weight(document: Document) -> int:
    """How many numbers the constants of a model are."""
    held = 0
    for _, body in bodies(document.proto):
        tensors: list[TensorProto] = list(getattr(body, "initializer", ()))
        tensors += [attribute.t for node in body.node for attribute in node.attribute if attribute.HasField("t")]
        held += sum(math.prod(tensor.dims) for tensor in tensors)
    return held
