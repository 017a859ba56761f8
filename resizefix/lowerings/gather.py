"""Nearest of a static size: one Gather per scaled axis with the index map onnxruntime computes, whatever it is."""

from __future__ import annotations

from resizefix.interpolation import Mode
from resizefix.lowerings.conditions import why_not_static
from resizefix.lowerings.lowering import Closeness, Lowering
from resizefix.lowerings.sampling import nearest_indices
from resizefix.lowerings.spelling import Spelling
from resizefix.lowerings.subject import Axis, Subject


def _why_not(subject: Subject) -> str | None:
    if subject.interpolation.mode is not Mode.NEAREST:
        return f"the mode is {subject.interpolation.mode.value}, not nearest"
    return why_not_static(subject.scaled)


def _growth(axis: Axis) -> float:
    assert axis.out is not None
    assert axis.size is not None
    return axis.out / axis.size


def _write(subject: Subject, x: str, spelling: Spelling) -> Closeness:
    interpolation = subject.interpolation
    assert interpolation.nearest_mode is not None
    for axis in sorted(subject.scaled, key=_growth):  # shrink first
        assert axis.size is not None
        assert axis.out is not None
        assert axis.scale is not None
        indices = nearest_indices(
            axis.size, axis.out, axis.scale, interpolation.coordinate_transformation_mode, interpolation.nearest_mode
        )
        x = spelling.node("Gather", x, spelling.constant(indices, "indices"), axis=axis.index)
    return Closeness(exact=True, bound=0.0, note="copies: infinities, NaN and negative zero come through")


GATHER = Lowering(
    name="gather",
    operators=frozenset({"Gather"}),
    computes=False,
    condition=_why_not,
    write=_write,
)
