"""Nearest of a static size: one Gather per scaled axis with the index map onnxruntime computes, whatever it is."""

from __future__ import annotations

from resizefix.document.node_builder import NodeBuilder
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.interpolation import Mode
from resizefix.lowerings.conditions import why_not_mode, why_not_static
from resizefix.lowerings.copies import copied, index_map
from resizefix.lowerings.lowering import Lowering


def _why_not(subject: ResizeSpec) -> str | None:
    if subject.interpolation.mode is not Mode.NEAREST:
        return why_not_mode(subject.interpolation, Mode.NEAREST)
    return why_not_static(subject.scaled)


def _growth(axis: Axis) -> float:
    assert axis.out is not None
    assert axis.size is not None
    return axis.out / axis.size


def _write(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    for axis in sorted(subject.scaled, key=_growth):  # shrink first
        x = builder.add("Gather", x, builder.value(index_map(subject, axis), "indices"), axis=axis.index)
    return copied(subject)


GATHER = Lowering(
    name="gather",
    operators=frozenset({"Gather"}),
    computes=False,
    condition=_why_not,
    write=_write,
)
