"""Two models, one for another input size, and the nodes in which they differ."""

from __future__ import annotations

from dataclasses import dataclass

from onnx import NodeProto

from resizefix.document.document import Document
from resizefix.document.scopes import node_label


@dataclass(frozen=True)
class Step:
    """A change from one model to the next: the nodes that were to change, by their place in the model before."""

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
