"""What one change of a model was to change; everything else stays as it is, byte for byte.

What two models say about the feeds that tell them apart: numbers and texts that they name, and critical sizes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice

from onnx import NodeProto, TensorProto

from resizefix.document.document import Document
from resizefix.document.scopes import bodies, node_label
from resizefix.document.values import Array, Dims
from resizefix.runtimes.inputs import Value, shapes_of
from resizefix.scope_path import Key
from resizefix.shapes.critical_sizes import OpenAxis, critical_sizes
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.edges import Edges, edges
from resizefix.verification.feeds import Feeder
from resizefix.verification.sizing import Shape
from resizefix.verification.upstream import deciding_inputs


@dataclass(frozen=True)
class Plan:
    """What may differ between a model and what became of it.

    `nodes`: other nodes may stand in the place of these, each named by a tensor that it makes; what only their operands
    needed may go. `new_inputs`: graph inputs that there were not. `input_shapes`: inputs that take another shape, and
    that shape, where None is left open and any name will do. `frozen`: graph inputs that may become constants, and
    their numbers in row-major order. `types`: tensors whose stored element type may change. `renamed`: inputs and
    outputs of the main graph whose open axes may have other names.
    `operands` and `attributes`: the exact numbers of some nodes, by a tensor that the node makes and by the position or
    the attribute; None where the numbers are not known before the model runs. With them, constants may keep their names
    and have other numbers, if only those nodes read them.
    `integers`: inputs of the main graph that hold int64 now, and the number that each is divided by behind its Cast;
    all who read the input read the quotient.
    `opset`: the model is brought to that version of ai.onnx, and nodes are spelled as it has them. `is_rebuilt`: on the
    way functions are inlined and constants folded.
    """

    nodes: frozenset[Key] = frozenset()
    new_inputs: frozenset[str] = frozenset()
    input_shapes: Mapping[str, Dims] = field(default_factory=dict)
    frozen: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    types: frozenset[Key] = frozenset()
    renamed: frozenset[str] = frozenset()
    operands: Mapping[tuple[Key, int], Array] | None = None
    attributes: Mapping[tuple[Key, str], tuple[float, ...]] = field(default_factory=dict)
    integers: Mapping[str, int] = field(default_factory=dict)
    opset: int | None = None
    is_rebuilt: bool = False

    @property
    def changes_constants(self) -> bool:
        """Whether constants that planned nodes alone read may have other numbers."""
        return self.operands is not None


@dataclass(frozen=True)
class SizeStep:
    """A change of the input size: the nodes that were to change, by their place in the model before."""

    before: Document
    after: Document
    nodes: frozenset[int]

    @property
    def outputs(self) -> list[str]:
        """The first result of every node that was to change; not of those that the model gives anyway, or that went
        because nothing reads them now."""
        graph = self.before.proto.graph
        names_now = {_key(node) for node in self.after.proto.graph.node} - {value.name for value in graph.output}
        return [name for index in sorted(self.nodes) if (name := _key(graph.node[index])) in names_now]

    def label(self, output: str) -> str:
        """What reports call the node with this output."""
        for index, node in enumerate(self.before.proto.graph.node):
            if output in node.output:
                return node_label(node, index)
        return output


def _key(node: NodeProto) -> str:
    return next((name for name in node.output if name), "")


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
        shapes = shapes_of(first)
        pairs: dict[tuple[OpenAxis, int, int], None] = {}
        axes = feeder.open_axes(shapes)
        for document in self.documents if axes else ():
            view = ModelView(document)
            for axis in axes:
                critical = critical_sizes(view, shapes, axis, LIGHT)
                pairs.update(((axis, *sizes), None) for sizes in islice(critical, _CRITICAL_SIZES))
        sizes = {(axis, high): None for axis, _, high in pairs} | {(axis, low): None for axis, low, _ in pairs}
        return [axis.at(shapes, size) for axis, size in islice(sizes, _CRITICAL_SIZES)]


def weight(document: Document) -> int:
    """How many numbers the constants of a model are."""
    held = 0
    for _, body in bodies(document.proto):
        tensors: list[TensorProto] = list(getattr(body, "initializer", ()))
        tensors += [attribute.t for node in body.node for attribute in node.attribute if attribute.HasField("t")]
        held += sum(math.prod(tensor.dims) for tensor in tensors)
    return held
