"""Provenance: where the scales or sizes of one node come from. What they mean is `Interpolation`'s business."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class OriginKind(str, Enum):
    """The words of the JSON contract."""

    ATTRIBUTE = "attribute"
    INITIALIZER = "initializer"
    CONSTANT = "constant"  # a Constant node, in any of its spellings
    COMPUTED = "computed"  # folded from constants and input shapes
    GRAPH_INPUT = "graph-input"  # the caller feeds it, with or without a default
    RUNTIME = "runtime"  # depends on tensor data


@dataclass(frozen=True)
class Origin:
    """`name` is the operand's tensor, or the graph input behind it; `shared_by` the other nodes that read the same
    constant; `chain` the operators between the operand and where it comes from, last first.

    For a computed operand: `says` is what the output size follows, in words; `recovered_scales` are the float32 scales
    that give its sizes, if every axis is a constant multiple, and `right_under_every_rule` says whether they do so in
    every runtime and at every size. `reason` says why no constant stands for the operand (it completes "its scales …"),
    or why its value is not known.
    """

    kind: OriginKind
    name: str | None = None
    shared_by: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    recovered_scales: tuple[float, ...] | None = None
    reason: str | None = None
    says: str | None = None
    right_under_every_rule: bool | None = None
