"""The dialect of a node: all rows, and the choice among them by operator and opset version."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeGuard

from onnx import NodeProto

from resizefix.dialects.resize import RESIZE_10, RESIZE_11, RESIZE_13, RESIZE_18, RESIZE_19
from resizefix.dialects.row import Attribute, Dialect, Input, Operands
from resizefix.dialects.upsample import UPSAMPLE_1, UPSAMPLE_7, UPSAMPLE_9
from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.errors import RefusedError

__all__ = ["DIALECTS", "Attribute", "Dialect", "Input", "Operands", "dialect_of", "is_resize"]

DIALECTS: tuple[Dialect, ...] = (
    UPSAMPLE_1,
    UPSAMPLE_7,
    UPSAMPLE_9,
    RESIZE_10,
    RESIZE_11,
    RESIZE_13,
    RESIZE_18,
    RESIZE_19,
)

RESIZES = frozenset(row.op_type for row in DIALECTS)


def is_resize(node: NodeProto | None) -> TypeGuard[NodeProto]:
    """Whether a node is an Upsample or Resize of ai.onnx."""
    return node is not None and node.op_type in RESIZES and node.domain in DEFAULT_DOMAINS


@lru_cache(maxsize=64)
def dialect_of(op_type: str, opset_version: int) -> Dialect:
    """The dialect of an Upsample or Resize node in a model that imports this version of the default opset.

    Raises:
        RefusedError: Upsample at opset 10 or later, Resize before 10, an operator that is neither, no such opset.

    """
    for row in DIALECTS:
        if row.op_type == op_type and row.since_version <= opset_version <= (row.last_opset or opset_version):
            return row
    raise RefusedError(_why_none(op_type, opset_version), op_type=op_type, opset=opset_version, rule="dialect")


def _why_none(op_type: str, opset_version: int) -> str:
    if op_type == "Upsample" and opset_version >= 10:
        return "dialects.upsample-was-removed"
    if op_type == "Resize" and 1 <= opset_version <= 9:
        return "dialects.resize-is-younger"
    if op_type not in RESIZES:
        return "dialects.no-resize"
    return "dialects.no-such-opset"
