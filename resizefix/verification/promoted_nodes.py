"""The nodes that a promotion changes, alone with other scales as constants, fed what the promoted model fed them.

With optimisation disabled every node runs as it stands. So where all other nodes are the same in both models, and each
changed node makes the same bits of the same tensor, the original with these scales makes node by node what the promoted
model makes. It need not run as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, helper

from resizefix.document.document import Document
from resizefix.document.scopes import names_read
from resizefix.document.values import Array
from resizefix.promotion import PromotedInput
from resizefix.runtimes.inputs import Value
from resizefix.runtimes.prepared_model import PreparedModel, prepare_for_ort
from resizefix.scope_path import MAIN, Key
from resizefix.verification.reference_model import Operand, ReferenceModels


@dataclass(frozen=True)
class Seen:
    """What the nodes read and made in a run, by the names of the tensors."""

    read: Mapping[str, Array]
    made: Mapping[str, Array]


class PromotedNodes:
    """`data`: what the nodes resize, without constants and what one of them makes; `made`: their outputs."""

    def __init__(self, original: Document, nodes: Mapping[str, NodeProto]) -> None:
        """`nodes` are those of the original, by their outputs."""
        self._original = original
        self._nodes = nodes
        graph = original.proto.graph
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        resized = dict.fromkeys(node.input[0] for node in nodes.values())
        self.data = tuple(name for name in resized if name not in nodes and name not in self._constants)
        self.made = tuple(nodes)

    def reference(self, fed: Mapping[str, Array], operands: Mapping[Key, Operand]) -> tuple[Document, PreparedModel]:
        """The nodes with these scales or sizes as constants, and inputs for what is `fed`."""
        graph = GraphProto(name="promoted nodes")
        for name, array in fed.items():
            elem_type = helper.np_dtype_to_tensor_dtype(array.dtype)
            graph.input.append(helper.make_tensor_value_info(name, elem_type, [None] * array.ndim))
        read = {name for node in self._nodes.values() for name in node.input}
        graph.initializer.extend(tensor for name, tensor in self._constants.items() if name in read)
        graph.node.extend(self._nodes.values())
        for name in self.made:
            graph.output.add(name=name)
        proto = self._original.proto
        model = ModelProto(ir_version=max(proto.ir_version, 4), graph=graph, opset_import=proto.opset_import)
        document = Document.of_part(model, self._original)
        return document, ReferenceModels(document).prepared(prepare_for_ort(document), operands)

    def seen(self, values: Mapping[str, Value]) -> Seen | None:
        """What the nodes read and made in a run; None where that is not compared alone.

        onnxruntime computes half precision between casts whose places depend on the neighbours.
        """
        read, made = plain_only(values, self.data), plain_only(values, self.made)
        return None if read is None or made is None else Seen(read, made)


def promoted_nodes(original: Document, promoted: Document, inputs: Sequence[PromotedInput]) -> PromotedNodes | None:
    """The nodes that differ, where all others are the same in both models; None where that is not so or not seen."""
    sites = [driven for source in inputs for driven in source.sites]
    if any(driven.scope != MAIN or driven.by_shape for driven in sites):
        return None
    changed = {driven.output for driven in sites}
    nodes = _only_differing(original.proto, promoted.proto, changed)
    if nodes is None or nodes.keys() != changed:
        return None
    constants = {tensor.name for tensor in original.proto.graph.initializer}
    if original.proto.ir_version >= 4 and any(value.name in constants for value in original.proto.graph.input):
        return None  # which the caller may replace
    others = {name for node in nodes.values() for name in _other_operands(node)}
    return PromotedNodes(original, nodes) if others <= constants else None


def _other_operands(node: NodeProto) -> list[str]:
    """The operands that no constant replaces: the roi of Resize since opset 11."""
    return [name for name in node.input[1:2] if name] if len(node.input) > 2 else []


def _only_differing(before: ModelProto, after: ModelProto, changed: Collection[str]) -> dict[str, NodeProto] | None:
    """The nodes of `before` that make what is `changed`; None where anything else reads or is something else."""
    around = [
        (list(model.opset_import), list(model.functions), list(model.graph.sparse_initializer))
        for model in (before, after)
    ]
    if around[0] != around[1]:
        return None
    kept = {node.output[0]: node for node in after.graph.node if node.output}
    found: dict[str, NodeProto] = {}
    touched = {value.name for value in after.graph.input} - {value.name for value in before.graph.input}
    for node in before.graph.node:
        name = node.output[0] if node.output else ""
        same = kept.get(name)
        if name in changed:
            found[name] = node
        elif same is None:
            touched.update(node.output)
        elif same != node:
            return None
    results = [[value.name for value in model.graph.output] for model in (before, after)]
    constants = [{tensor.name: tensor for tensor in model.graph.initializer} for model in (before, after)]
    touched.update(name for name in constants[0].keys() | constants[1].keys() if _differ(name, *constants))
    if results[0] != results[1] or not touched.isdisjoint(results[0]):
        return None
    for node in before.graph.node if touched else ():  # functions see no names of the graph
        if not touched.isdisjoint(names_read(node)) and not (node.output and node.output[0] in changed):
            return None
    return found


def _differ(name: str, before: Mapping[str, object], after: Mapping[str, object]) -> bool:
    return name not in before or name not in after or before[name] != after[name]


def plain_only(values: Mapping[str, Value], names: Iterable[str]) -> dict[str, Array] | None:
    """Those of the names, where all are tensors of types that onnxruntime computes as they are; else None."""
    found = {}
    for name in names:
        value = values.get(name)
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu" or value.dtype == np.float16:
            return None
        found[name] = value
    return found
