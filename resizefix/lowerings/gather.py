"""Nearest of a static size: one Gather per scaled axis with the index map onnxruntime computes, whatever it is."""

from __future__ import annotations

from resizefix.document.node_builder import NodeBuilder
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.interpolation import Mode
from resizefix.lowerings.conditions import why_not_mode, why_not_static
from resizefix.lowerings.copies import copied, index_map
from resizefix.lowerings.lowering import Lowering


def why_not_gathered(subject: ResizeSpec) -> str | None:
    """Why there is no constant list of the samples that are copied; None: there is."""
    return why_not_mode(subject.interpolation, Mode.NEAREST) or why_not_static(subject.scaled)


def shrinking_first(subject: ResizeSpec) -> list[Axis]:
    """The static axes that are scaled, those that grow the most last."""

    def growth(axis: Axis) -> float:
        size, out, _ = axis.known
        return out / size

    return sorted(subject.scaled, key=growth)


def _write(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    for axis in shrinking_first(subject):
        x = builder.add("Gather", x, builder.value(index_map(subject, axis), "indices"), axis=axis.index)
    return copied(subject)


GATHER = Lowering("gather", frozenset({"Gather"}), why_not_gathered, _write)
