"""Nearest of a static size, for targets without Gather: an axis split into samples, which a Concat puts in order."""

from __future__ import annotations

from resizefix.document.node_builder import NodeBuilder
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.lowerings.copies import copied, index_map
from resizefix.lowerings.gather import shrinking_first, why_not_gathered
from resizefix.lowerings.lowering import Lowering


def _write(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    for axis in shrinking_first(subject):
        size, *_ = axis.known
        samples = builder.split(x, axis.index, [1] * size) if size > 1 else [x]
        x = builder.add("Concat", *(samples[index] for index in index_map(subject, axis).tolist()), axis=axis.index)
    return copied(subject)


SPLIT_CONCAT = Lowering("split_concat", frozenset({"Split", "Concat"}), why_not_gathered, _write)
