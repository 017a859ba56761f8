"""What one change of a model was to change; everything else stays as it is, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from onnx import NodeProto

from resizefix.document.document import Document
from resizefix.document.scopes import node_label
from resizefix.document.values import Array, Dims
from resizefix.scope_path import Key


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
        kept = {_key(node) for node in self.after.proto.graph.node} - {value.name for value in graph.output}
        return [name for index in sorted(self.nodes) if (name := _key(graph.node[index])) in kept]

    def label(self, output: str) -> str:
        """What reports call the node with this output."""
        for index, node in enumerate(self.before.proto.graph.node):
            if output in node.output:
                return node_label(node, index)
        return output


def _key(node: NodeProto) -> str:
    return next((name for name in node.output if name), "")
