"""Nearest resizes by size as Gathers of the pixels that PyTorch takes, where no scale of a Resize takes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from resizefix.diagnostics import Diagnostic, code_of
from resizefix.document.document import Document
from resizefix.document.edits import FreshNames, NodeBuilder, remove_unread, replace_nodes
from resizefix.document.scopes import names_in
from resizefix.document.text import node_texts
from resizefix.faults.fault import Fault
from resizefix.faults.framework import BY_INDICES, Lengths, lengths_of, torch_indices
from resizefix.faults.resize_node import ResizeNode
from resizefix.faults.table import faults_of, resize_nodes
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView


@dataclass(frozen=True)
class GatheredNode:
    """A Gather for each scaled axis of the tensor `data`: `axes` are these axes with their lengths, `after` the new
    nodes as text."""

    data: str
    axes: Mapping[int, Lengths]
    after: tuple[str, ...]
    why: Diagnostic


def is_by_indices(fault: Fault) -> bool:
    """Whether the fault is that only a list of the pixels takes those of PyTorch."""
    return code_of(fault.fix) == BY_INDICES


def with_torch_indices(document: Document, keys: Collection[Key]) -> tuple[Document, dict[Key, GatheredNode]]:
    """A copy of the document in which those of these resizes are Gathers whose only fault that is, and these by their
    keys. The pixels are constants: the lengths are those that the file fixes."""
    view = ModelView(document)
    changed = document.copy()
    fresh = FreshNames(names_in(changed.proto)).fresh
    gathered: dict[Key, GatheredNode] = {}
    unread: list[Key] = []
    for node in resize_nodes(view):
        key = (node.scope.path, node.output)
        faults = faults_of(node) if key in keys else []
        lengths = lengths_of(node)
        if len(faults) != 1 or not is_by_indices(faults[0]) or lengths is None:
            continue
        builder = NodeBuilder(fresh, node.scope.opset, node.output)
        axes = {
            axis: one
            for axis, one in zip(node.axes_of(len(lengths)), lengths, strict=True)
            if axis is not None and one.size != one.out
        }
        _write(node, axes, builder)
        scope = ModelView(changed).scopes.by_path[node.scope.path]
        unread += [home.key for name in node.node.input[1:] if name and (home := node.definition(name)) is not None]
        replace_nodes(scope.body, {node.output: builder.nodes})
        because = faults[0].because
        why = Diagnostic("operations.pixels-of-torch", because=because, axes=sorted(axes))
        gathered[key] = GatheredNode(node.x, axes, tuple(node_texts(builder.nodes)), why)
    remove_unread(changed.proto, unread)
    return changed, gathered


def _write(node: ResizeNode, axes: Mapping[int, Lengths], builder: NodeBuilder) -> None:
    """A Gather for each axis, that which grows the most last; the last one makes what the resize made."""
    ordered = sorted(axes, key=lambda axis: axes[axis].out / axes[axis].size)
    x = node.x
    for axis in ordered:
        indices = builder.constant_node(torch_indices(axes[axis]), "indices")
        x = builder.add("Gather", x, indices, into=node.output if axis == ordered[-1] else None, axis=axis)


def gathered_outcome(outcome: Outcome, node: GatheredNode) -> Outcome:
    """The outcome of a site that became Gathers."""
    return Outcome(
        outcome.index, outcome.node, Status.CHANGED, node.why, outcome.before, node.after, exact=False,
        fault=outcome.fault,
    )  # fmt: skip
