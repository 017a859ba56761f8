"""What a node must compute after a change, so that the verification shares no code with the change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from onnx import NodeProto

from resizefix.dialects.dialect import Operands
from resizefix.document.values import Array
from resizefix.interpolation import Interpolation
from resizefix.scope_path import Key


class IntendedStep(NamedTuple):
    """A node that computes a part of an operand, and the version of ai.onnx that it is spelled in."""

    node: NodeProto
    opset: int


class Chain(NamedTuple):
    """What an operand is computed by, as the request says it: `steps` in order, the last of which makes `name`.

    `constants` are the numbers that they read, `leaves` the tensors of the model that no change touches.
    """

    name: str
    steps: tuple[IntendedStep, ...]
    constants: Mapping[str, Array]
    leaves: tuple[str, ...]


@dataclass(frozen=True)
class IntendedNode:
    """A changed node: the index of its site, its key in both models, the tensor that it resizes, and what it must
    compute from the operands that it had.

    `keeps`: that is what it computed before, bit for bit if `exact`, else within `bound`, a part of the largest value
    that is resized (None: not known). `near`: how far the new nodes may lie from `wanted`, in the same measure; 0 where
    they are the same kernel. `values`: what its roi, scales and sizes must be, as far as the request says so; `chains`:
    how others of them are computed. What neither says is what the model computes.
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
    chains: Mapping[str, Chain] = field(default_factory=dict)
