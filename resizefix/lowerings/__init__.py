"""Replacements of an interpolation by other operators, for runtimes that lack a mode. One file for each kind.

Canonical form in, ONNX nodes out: `lower(ResizeSpec(…), x=…, y=…, opset=…, fresh=…)` gives each that applies.
Measured in docs/lowerings.md.
"""

from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.lowerings.lowering import Lowering
from resizefix.lowerings.table import LOWERINGS, lower

__all__ = ["LOWERINGS", "Lowering", "ResizeSpec", "lower"]
