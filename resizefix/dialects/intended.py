"""What a node must compute after a change, so that the verification shares no code with the change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from resizefix.dialects.row import Operands
from resizefix.document.values import Array
from resizefix.interpolation import Interpolation
from resizefix.scope_path import Key


@dataclass(frozen=True)
class IntendedNode:
    """A changed node: the index of its site, its key in both models, the tensor that it resizes, and what it must
    compute from the operands that it had.

    `keeps`: that is what it computed before, bit for bit if `exact`, else within `bound`, a part of the largest value
    that is resized (None: not known). `near`: how far the new nodes may lie from `wanted`, in the same measure; 0 where
    they are the same kernel. `values`: what its roi, scales and sizes must be, as far as the request says so; the
    others are what the model computes.
    """

    index: int
    label: str
    key: Key
    data: str
    wanted: Interpolation
    operands: Operands
    keeps: bool
    exact: bool
    bound: float | None
    near: float
    values: Mapping[str, Array] = field(default_factory=dict)
