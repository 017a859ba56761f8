"""What a runtime does not take of the operators that may stand in a node's place: rows of data, like its rules.

"documented": docs/operators.md of onnx-tensorrt, which lists the types of every operator since 8.0.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from onnx import TensorProto

EVERY_MOVE = frozenset({"Concat", "Gather", "Reshape", "Shape", "Slice", "Unsqueeze"})
"""The operators of lowerings that move samples, all but Identity."""


@dataclass(frozen=True)
class OperatorLimit:
    """Operators that take no tensor of these element types, or of these ranks."""

    operators: frozenset[str]
    source: str
    types: frozenset[int] = frozenset()
    ranks: frozenset[int] = frozenset()

    def refuses(self, operators: Collection[str], elem_type: int, rank: int) -> str | None:
        """Why one of `operators` does not take such a tensor; None: they all do, as far as this row knows."""
        refused = sorted(self.operators & set(operators))
        if not refused or (elem_type not in self.types and rank not in self.ranks):
            return None
        what = TensorProto.DataType.Name(elem_type).lower() if elem_type in self.types else f"rank {rank}"
        return f"takes no {what} in {', '.join(refused)}"


BEFORE_6_0 = OperatorLimit(
    frozenset({"ConvTranspose"}), "onnx-tensorrt 5.0 and 5.1, importer of ConvTranspose", ranks=frozenset({5})
)
BEFORE_7_0 = OperatorLimit(
    frozenset({"AveragePool"}), "onnx-tensorrt 5.0 to 6.0, importer of AveragePool", ranks=frozenset({5})
)
NO_UINT8 = OperatorLimit(
    EVERY_MOVE | {"Identity"},
    "onnx-tensorrt 5.0 to 8.4, convertDtype: there is no such tensor",
    types=frozenset({TensorProto.UINT8}),
)
UINT8_IS_CAST = OperatorLimit(
    EVERY_MOVE,
    "documented from 8.5 on; measured on TensorRT-RTX 1.7.1 (bool, int8, int32 and int64 are taken everywhere)",
    types=frozenset({TensorProto.UINT8}),
)
AT_THE_EDGES = frozenset({TensorProto.UINT8})
"""Documented from 8.6 on ("Cast"); measured on TensorRT-RTX 1.7.1: "TensorRT does not support UINT8 types for
intermediate tensors"."""
