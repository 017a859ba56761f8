"""Where what a resize makes meets another tensor, whose length TensorRT must see to be equal.

Measured on TensorRT-RTX 1.7.1: behind a division of floats by an even number that is no power of two (6, 10, 12, 14,
18, 20, 24) it does not for some ranges of sizes; behind one by odd numbers and powers of two it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from onnx import NodeProto

from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, Scope, node_label
from resizefix.document.values import Array, Dims
from resizefix.shapes.operand import attribute_of, readers_first
from resizefix.shapes.output_size import BROADCASTING, KEEPING
from resizefix.shapes.stored_shapes import ModelView

_MOVING = frozenset({"Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze"})
_MOST_FOLLOWED = 64


class Meeting(NamedTuple):
    """`node`, at `position` in its scope, reads `own`, made of what a resize makes, and `partner`; `axes` are those
    whose sizes must be equal and are open."""

    position: int
    node: NodeProto
    own: str
    partner: str
    axes: tuple[int, ...]


def hidden_at(view: ModelView, scope: Scope, resize: NodeProto, above: Iterable[Definition]) -> str:
    """The label of the node where a resize meets such a tensor; empty: there is none, or no such division `above`,
    in what computes its scales or sizes."""
    quotients = (
        one.node is not None and one.node.op_type == "Div" and _is_hidden_by(view.value(one.scope, one.node.input[1]))
        for one in above
    )
    met = next(meetings(view, scope, resize), None) if resize.output and any(quotients) else None
    return "" if met is None else node_label(met.node, met.position)


def _is_hidden_by(divisor: Array | None) -> bool:
    """Whether lengths behind a division by this constant are hidden from TensorRT."""
    if divisor is None or divisor.dtype.kind != "f":
        return False
    numbers = [abs(float(number)) for number in divisor.ravel() if np.isfinite(number)]
    return any(number > 0 and number % 2 == 0 and float(np.log2(number)) % 1 != 0 for number in numbers)


def meetings(view: ModelView, scope: Scope, node: NodeProto) -> Iterator[Meeting]:
    """Where the output of a resize meets a tensor of open sizes that it is not made of, in the same scope."""
    carried = [node.output[0]]
    seen = set(carried)
    for name in carried:
        definition = view.scopes.definition(scope, name)
        for reader in view.scopes.readers(definition) if definition is not None else ():
            if reader.node is None or reader.node_index is None or reader.scope is not scope:
                continue
            if reader.node.domain not in DEFAULT_DOMAINS or _is_pinned(view, scope, reader.node, seen):
                continue
            yield from _at(view, scope, reader.node_index, name, node)
            follows = reader.node.op_type in KEEPING | BROADCASTING | _MOVING | {"Concat"}
            if follows and reader.node.output[0] not in seen and len(seen) < _MOST_FOLLOWED:
                seen.add(reader.node.output[0])
                carried.append(reader.node.output[0])


def _at(view: ModelView, scope: Scope, index: int, own: str, resize: NodeProto) -> Iterator[Meeting]:
    node = scope.body.node[index]
    if node.op_type not in BROADCASTING and node.op_type != "Concat":
        return
    dims = view.dims(scope, own)
    for partner in node.input:
        theirs = view.dims(scope, partner) if partner and partner != own else None
        if theirs is None or dims is None or len(theirs) != len(dims) or _is_alike(view, scope, partner, resize):
            continue
        joined = int(attribute_of(node, "axis", 0)) % len(dims) if node.op_type == "Concat" else None
        axes = _open_axes(dims, theirs, joined)
        if axes:
            yield Meeting(index, node, own, partner, axes)


def _open_axes(dims: Dims, theirs: Dims, joined: int | None) -> tuple[int, ...]:
    """Not the batch: no resize follows it."""
    pairs = enumerate(zip(dims, theirs, strict=True))
    return tuple(
        axis for axis, (mine, other) in pairs if axis and axis != joined and not (isinstance(mine, int) or other == 1)
    )


def _is_alike(view: ModelView, scope: Scope, partner: str, resize: NodeProto) -> bool:
    """Whether another resize made the partner by the same scales or sizes."""
    definition = view.scopes.definition(scope, partner)
    maker = None if definition is None else definition.node
    return maker is not None and maker.op_type == resize.op_type and maker.input[1:] == resize.input[1:]


def _is_pinned(view: ModelView, scope: Scope, node: NodeProto, carried: set[str]) -> bool:
    """Whether a Reshape takes sizes of a tensor that is not made of what the resize makes."""
    if node.op_type != "Reshape" or len(node.input) < 2 or view.value(scope, node.input[1]) is not None:
        return False
    start = view.scopes.definition(scope, node.input[1])

    def operands(definition: Definition) -> list[Definition]:
        maker = definition.node
        return [] if maker is None or maker.op_type == "Shape" else view.scopes.sources(definition.scope, maker)

    shapes = (definition.node for definition in (readers_first(start, operands) if start is not None else ()))
    return any(maker is not None and maker.op_type == "Shape" and maker.input[0] not in carried for maker in shapes)
