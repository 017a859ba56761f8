"""A node that changes no size is a copy. onnxruntime copies even where a scale is not 1 (upsample.cc, BaseCompute)."""

from __future__ import annotations

from resizefix.document.node_builder import NodeBuilder
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.lowerings.lowering import Closeness, Lowering


def _why_not(subject: ResizeSpec) -> str | None:
    return None if subject.is_copy else "the size changes, or may change"


def _write(subject: ResizeSpec, x: str, builder: NodeBuilder) -> Closeness:
    builder.add("Identity", x)
    return Closeness(exact=True, bound=0.0, note="a copy")


IDENTITY = Lowering(
    name="identity",
    operators=frozenset({"Identity"}),
    computes=False,
    condition=_why_not,
    write=_write,
)
