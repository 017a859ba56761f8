"""Replacements of an interpolation by other operators, for runtimes that lack a mode. One replacement per file.

Canonical form in, ONNX nodes out: `lower(Subject(…), x=…, y=…, opset=…, fresh=…)`. Measured in docs/lowerings.md.
"""

from resizefix.lowerings.lowering import Lowered, Lowering
from resizefix.lowerings.subject import Subject
from resizefix.lowerings.table import LOWERINGS, lower

__all__ = ["LOWERINGS", "Lowered", "Lowering", "Subject", "lower"]
