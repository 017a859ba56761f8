"""Constant scales behind a DequantizeLinear: a quantiser took them for weights and rounded them.

onnxruntime's quantiser does this to an Upsample that it is asked to quantise: 1 becomes 1.0000153 in 16 bits and 0.996
in 8, so that a channel is lost. The step says how far a factor was moved, the stored shapes which factor it was.
"""

from __future__ import annotations

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.resized_length import kernel_length
from resizefix.document.edits import Change
from resizefix.document.text import numbers_text
from resizefix.document.values import Array
from resizefix.faults.conversions import QUANTISED_EXTENT
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.resize_node import Operand, ResizeNode
from resizefix.faults.types import plain_fraction, stored_pair

_PLAIN = 4  # 2, 1.5, 1.25, 1/3: factors that are meant without a stored shape
_ROUNDING = 1 + 1e-3  # the step and the product are float32


def quantised_scales(node: ResizeNode, _: Preferences) -> Fault | None:
    """Scales that a DequantizeLinear makes of stored integers, and that rounding moved."""
    place = 1 if set(node.operands) == {1} else node.places["scales"]
    operand = node.operands.get(place)
    read = None if operand is None else _dequantised(node, operand)
    if read is None:
        return None
    scales, step = read
    axes = node.axes_of(len(scales))
    found = [_factor(node, axis, scale, step) for axis, scale in zip(axes, scales.tolist(), strict=True)]
    because = Diagnostic("faults.scales-quantised", scales=numbers_text(scales))
    if any(scale is None for scale in found):
        fix = Diagnostic("faults.factor-unknown", half=step / 2)
        return Fault(QUANTISED_EXTENT, because, fix, keeps_numbers=False)
    value = np.array(found, np.float32)
    if np.array_equal(value, scales) and (node.rank is None or None not in axes):
        return None  # it runs as it is; too few of them are another fault, which is seen of a constant alone
    tensor = node.constant("scales", value)
    change = Change(node.with_input(place, tensor.name), initializers=[tensor], resized=True)
    fix = Diagnostic("faults.become", value=numbers_text(value))
    return Fault(QUANTISED_EXTENT, because, fix, change, keeps_numbers=False)


def _dequantised(node: ResizeNode, operand: Operand) -> tuple[Array, float] | None:
    """The vector that a DequantizeLinear makes of stored integers, and the distance of two values that it can make."""
    made = node.definition(operand.name)
    if made is None or made.node is None or made.node.op_type != "DequantizeLinear":
        return None
    stored, step, *zero = [None if not name else node.value_of(name) for name in made.node.input]
    if stored is None or step is None or step.size != 1 or stored.ndim != 1 or stored.dtype.kind not in "iu":
        return None
    origin = zero[0] if zero else None
    offset = 0 if origin is None else int(origin.reshape(-1)[0])
    factor = np.float32(step.reshape(-1)[0])
    return (stored.astype(np.int64) - offset).astype(np.float32) * factor, abs(float(factor))


def _factor(node: ResizeNode, axis: int | None, scale: float, step: float) -> float | None:
    """The factor that was rounded to this scale; None where it is not certain."""
    half = step / 2 * _ROUNDING
    low, high = scale - half, scale + half
    plain = plain_fraction((low + high) / 2, lambda factor: low <= factor <= high)
    size, out = stored_pair(node, axis)
    if size is None or out is None:
        return None if plain is None or plain.denominator > _PLAIN else float(plain)
    fits = plain is not None and kernel_length(float(plain), size) == out
    if plain is not None and fits and plain.denominator <= _PLAIN:
        return float(plain)
    if abs(out / size - scale) <= half:
        return out / size
    return float(plain) if plain is not None and fits else None
