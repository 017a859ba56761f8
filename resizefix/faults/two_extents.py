"""Scales and sizes that both hold a value: which of them counts, and where only you can say.

No runtime computes such a node. Where the two make the same lengths they may yet sample differently: 5 to 7 by 1.5, or
by 7/5.
"""

from collections.abc import Sequence

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import NodeEdit
from resizefix.document.text import numbers_text
from resizefix.document.values import Array
from resizefix.faults.extents import made_length
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.operators import left_out
from resizefix.faults.resize_node import Operand, ResizeNode, sizes_at

BOTH_EXTENTS = "both-extents"


def both_extents(node: ResizeNode, preferences: Preferences) -> Fault | None:
    """Scales and sizes both hold a value; ONNX allows one of them."""
    scales, sizes = node.extents
    if scales is None or sizes is None:
        return None
    because = Diagnostic("faults.both-extents")
    kept, why = _agreed(node, scales, sizes)
    if preferences.extent is not None:
        kept, why = preferences.extent, Diagnostic("faults.extent-kept", kept=preferences.extent)
    if kept is None:
        return Fault(BOTH_EXTENTS, because, why)
    dropped, name, initializers = ("sizes", "", []) if kept == "scales" else ("scales", *left_out(node))
    change = NodeEdit(node.with_input(node.places[dropped], name), initializers=initializers, resized=True)
    return Fault(BOTH_EXTENTS, because, why, change)


def _agreed(node: ResizeNode, scales: Operand, sizes: Operand) -> tuple[str | None, Diagnostic]:
    """Which of the two stays, and why; or None, and the two readings.

    Either may, where both make the same lengths and sample alike. Else it is the one that the other was made from, or
    with which the stored shape agrees.
    """
    apart = Diagnostic("faults.extents-disagree", scales=_text(scales), sizes=_text(sizes))
    if scales.value is None or sizes.value is None or scales.value.shape != sizes.value.shape:
        return None, apart
    axes = node.axes_of(len(scales.value))
    lengths = sizes_at(axes, node.input_dims)
    known = [length for length in lengths if isinstance(length, int) and length > 0]
    if len(known) < len(lengths):
        return None, apart
    by_scales = [made_length(float(scale), length) for scale, length in zip(scales.value, known, strict=True)]
    quotients = np.array(sizes.value, np.float32) / np.array(known, np.float32)
    is_alike = np.array_equal(quotients, scales.value)
    if by_scales == sizes.value.tolist() and (is_alike or _samples_by_lengths(node)):
        kept = "sizes" if is_alike and not _whole(scales.value, known) else "scales"
        return kept, Diagnostic("faults.extent-kept-alike", kept=kept)
    if np.allclose(quotients, scales.value, rtol=1e-5, atol=0):
        return "sizes", Diagnostic(
            "faults.extent-kept-rounded", scales=_text(scales), quotients=numbers_text(quotients)
        )
    if by_scales == sizes.value.tolist():
        why = {"scales": _text(scales), "sizes": _text(sizes), "quotients": numbers_text(quotients)}
        return None, Diagnostic("faults.extents-sample-otherwise", **why)
    stored = sizes_at(axes, node.stored_dims)
    fitting = "scales" if stored == by_scales else "sizes" if stored == sizes.value.tolist() else None
    return fitting, apart if fitting is None else Diagnostic("faults.extent-kept-stored", kept=fitting)


def _samples_by_lengths(node: ResizeNode) -> bool:
    """Whether the two lengths alone decide where samples lie, whatever the scale."""
    return node.attributes.get("coordinate_transformation_mode") in ("align_corners", "tf_crop_and_resize")


def _whole(scales: Array, lengths: Sequence[int]) -> bool:
    return all((float(scale) * length).is_integer() for scale, length in zip(scales, lengths, strict=True))


def _text(operand: Operand) -> str:
    return Diagnostic("faults.at-run-time") if operand.value is None else numbers_text(operand.value)
