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
    if subject.interpolation.mode is not Mode.NEAREST:
        return why_not_mode(subject.interpolation, Mode.NEAREST)
    return why_not_static(subject.scaled)


def growth(axis: Axis) -> float:
    """How many times as long a static axis gets."""
    assert axis.out is not None
    assert axis.size is not None
    return axis.out / axis.size


def _write(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    for axis in sorted(subject.scaled, key=growth):  # shrink first
        x = builder.add("Gather", x, builder.value(index_map(subject, axis), "indices"), axis=axis.index)
    return copied(subject)


GATHER = Lowering(
    name="gather",
    operators=frozenset({"Gather"}),
    computes=False,
    condition=why_not_gathered,
    write=_write,
)
