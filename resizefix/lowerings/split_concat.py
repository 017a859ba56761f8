"""Nearest of a static size, for targets without Gather: an axis split into samples, which a Concat puts in order."""

from __future__ import annotations

import numpy as np

from resizefix.document.node_builder import NodeBuilder
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.error_bound import ErrorBound
from resizefix.lowerings.copies import copied, index_map
from resizefix.lowerings.gather import growth, why_not_gathered
from resizefix.lowerings.lowering import Lowering


def _write(subject: ResizeSpec, x: str, builder: NodeBuilder) -> ErrorBound:
    for axis in sorted(subject.scaled, key=growth):  # shrink first
        assert axis.size is not None
        indices = index_map(subject, axis)
        samples = builder.split(x, axis.index, [1] * axis.size) if axis.size > 1 else [x]
        x = builder.add("Concat", *(samples[index] for index in np.asarray(indices).tolist()), axis=axis.index)
    return copied(subject)


SPLIT_CONCAT = Lowering(
    name="split_concat",
    operators=frozenset({"Split", "Concat"}),
    computes=False,
    condition=why_not_gathered,
    write=_write,
)
