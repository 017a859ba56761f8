"""A node that changes no size is a copy. onnxruntime copies even where a scale is not 1 (upsample.cc, BaseCompute)."""

from __future__ import annotations

from resizefix.diagnostics import Diagnostic
from resizefix.document.node_builder import NodeBuilder
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.lowerings.lowering import Lowering


def _why_not(subject: ResizeSpec) -> str | None:
    return None if subject.is_copy else Diagnostic("lowerings.size-changes")


def _write(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    builder.add("Identity", x)
    return ErrorBound(note=Diagnostic("lowerings.copy"))


IDENTITY = Lowering("identity", frozenset({"Identity"}), _why_not, _write)
