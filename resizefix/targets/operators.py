"""What a runtime does not take of the operators that may stand in a node's place: rows of data, like its rules."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from onnx import TensorProto

EVERY_MOVE = frozenset({"Concat", "Gather", "Reshape", "Shape", "Slice", "Unsqueeze"})
"""The operators of lowerings that move samples, all but Identity."""


class OperatorLimit(NamedTuple):
    """Operators that take no tensor of these element types, or of these ranks.

    `only_at_the_edges`: no tensor inside the network has these types, but its inputs and outputs may, through a Cast.
    It holds for the releases from `since` to `until`, both included, like a rule.
    """

    operators: frozenset[str]
    source: str
    types: frozenset[int] = frozenset()
    ranks: frozenset[int] = frozenset()
    only_at_the_edges: bool = False
    since: str = ""
    until: str = ""

    def refuses(self, operators: Collection[str], elem_type: int, rank: int) -> str | None:
        """Why one of `operators` does not take such a tensor; None: they all do, as far as this row knows."""
        refused = sorted(self.operators & set(operators))
        if not refused or (elem_type not in self.types and rank not in self.ranks):
            return None
        what = TensorProto.DataType.Name(elem_type).lower() if elem_type in self.types else f"rank {rank}"
        return f"takes no {what} in {', '.join(refused)}"
