"""The part of a model behind the nodes that a promotion changes; the part before computes the same at every scale.

So large weights that stand before are mapped and read once, not at every scale.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from onnx import ModelProto, NodeProto, helper

from resizefix.document.scopes import names_read
from resizefix.runtimes.inputs import Value
from resizefix.runtimes.ort_session import MAPPED_FROM
from resizefix.runtimes.prepared_model import PreparedModel, external_bytes_of


@dataclass(frozen=True)
class PartBehind:
    """`nodes`: its positions in the model; `boundary`: what it reads of the part before."""

    whole: PreparedModel
    nodes: Sequence[int]
    boundary: tuple[str, ...]

    def prepared(self, given: Mapping[str, Value]) -> PreparedModel:
        """The part as a model with inputs for the boundary, of the types and sizes of what is `given`."""
        model = ModelProto()
        model.CopyFrom(self.whole.model)
        graph, kept = model.graph, [self.whole.model.graph.node[index] for index in self.nodes]
        del graph.node[:]
        graph.node.extend(kept)
        read = {name for node in kept for name in _read_by(node)}
        made = {name for node in kept for name in node.output}
        for field, needed in ((graph.initializer, read), (graph.input, read), (graph.value_info, made)):
            entries = [entry for entry in field if entry.name in needed]
            del field[:]
            field.extend(entries)
        for name in self.boundary:
            array = given[name]
            assert isinstance(array, np.ndarray)
            elem_type = helper.np_dtype_to_tensor_dtype(array.dtype)
            graph.input.append(helper.make_tensor_value_info(name, elem_type, array.shape))
        return replace(self.whole, model=model)  # as large as the whole: opened with the same options


def part_behind(whole: PreparedModel, moved: Collection[str]) -> PartBehind | None:
    """The part behind the tensors that are `moved`; None where it is no smaller, or all outputs are not in it."""
    graph = whole.model.graph
    if whole.external_bytes < MAPPED_FROM or whole.random or graph.sparse_initializer:
        return None
    behind, reached = [], set(moved)
    for index, node in enumerate(graph.node):
        if not reached.isdisjoint(_read_by(node)) or not reached.isdisjoint(node.output):
            behind.append(index)
            reached.update(node.output)
    inside = set(behind)
    if any(not reached.isdisjoint(_read_by(node)) for index, node in enumerate(graph.node) if index not in inside):
        return None  # nodes stand in another order than they run in
    before = {name for index, node in enumerate(graph.node) if index not in inside for name in node.output}
    read = {name for index in behind for name in _read_by(graph.node[index])}
    weights = {tensor.name: tensor for tensor in graph.initializer}
    carried = sum(external_bytes_of(weights[name]) for name in read & weights.keys())
    if carried > whole.external_bytes / 2 or not all(value.name in reached for value in graph.output):
        return None
    constants = [k for k, node in enumerate(graph.node) if k not in inside and node.op_type == "Constant"]
    constants = [k for k in constants if not read.isdisjoint(graph.node[k].output)]
    given = {name for k in constants for name in graph.node[k].output}
    return PartBehind(whole, sorted((*behind, *constants)), tuple(sorted((read & before) - given)))


def _read_by(node: NodeProto) -> set[str]:
    return names_read(node) - {""}
