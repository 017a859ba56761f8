"""The call of torch that a node was exported from, as the dynamo exporter names it in the node's metadata.

`torch.ops.aten._upsample_bilinear2d_aa.default](args = (%x, [14, 9], False, 0.7, 0.7), kwargs = {})`: the factors stand
behind the sizes, and are missing in a call by size.
"""

from __future__ import annotations

import ast
import re
from types import EllipsisType
from typing import Any, NamedTuple

from onnx import NodeProto

_KEY = "pkg.torch.onnx.fx_node"
_CALL = re.compile(
    r"torch\.ops\.aten\._?upsample_(?:bilinear|bicubic)2d(?:_aa)?\.(default|vec)\]\(args = \((.*)\), kwargs = \{\}\)"
)
_AXES = 2


class TorchCall(NamedTuple):
    """The sizes and the factors of the height and width; None: it has none, `...`: one that the file does not tell."""

    sizes: tuple[int | EllipsisType, ...] | None
    factors: tuple[float, ...] | None

    def gives(self, size: int, out: int, place: int, *, fixed: bool) -> bool:
        """Whether the call makes `size` into `out` on its axis `place`: else the node has another extent since.
        `fixed`: the node's sizes are constants."""
        if self.factors is not None:
            return int(size * self.factors[place]) == out
        wanted = ... if self.sizes is None else self.sizes[place]
        return wanted == out or (wanted is ... and not fixed)


def torch_call(node: NodeProto) -> TorchCall | None:
    """The call; None where nothing is said of one, or not all."""
    said = next((entry.value for entry in getattr(node, "metadata_props", ()) if entry.key == _KEY), "")
    found = _CALL.search(said)
    if found is None:
        return None
    try:
        arguments = ast.literal_eval("(" + re.sub(r"%\w+", "...", found[2]) + ",)")
    except (ValueError, SyntaxError):
        return None
    if len(arguments) < 3:  # what is resized, sizes, align_corners
        return None
    behind = arguments[3:]
    if found[1] == "vec":
        behind = behind[0] if behind and behind[0] is not None else ()
    factors = tuple(each for each in behind if each is not None) if isinstance(behind, (tuple, list)) else (...,)
    sizes = None if arguments[1] is None else _pair(arguments[1], int)
    if (factors and _pair(factors, float) is None) or (not factors and sizes is None):
        return None
    return TorchCall(sizes, _pair(factors, float) if factors else None)


def _pair(values: Any, kind: type) -> tuple[Any, ...] | None:
    """A number for each of the two axes; None: these are none."""
    if not isinstance(values, (tuple, list)) or len(values) != _AXES:
        return None
    known = all(type(each) is kind or (kind is int and each is ...) for each in values)
    return tuple(values) if known else None
