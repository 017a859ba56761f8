"""Operators that jump: a difference in the last bits of what they read can change what they give altogether.

A peak picker compares neighbours, TopK sorts near-ties: behind a change that is right but for rounding they may answer
otherwise, and this says nothing. So what they read is compared instead of what is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from onnx import NodeProto, TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.scopes import DEFAULT_DOMAINS, names_read
from resizefix.document.text import listed
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, Session
from resizefix.verification.compare import compare, default_level_bounds, relative_bounds, within
from resizefix.verification.engine import DifferenceError, Engine
from resizefix.verification.trial import Side

_JUMPING = frozenset({
    "ArgMax", "ArgMin", "Ceil", "Equal", "Floor", "Greater", "GreaterOrEqual", "Hardmax", "Less", "LessOrEqual", "Mod",
    "NonMaxSuppression", "NonZero", "Round", "Sign", "TopK", "Unique",
})  # fmt: skip
_MOST_NAMED = 3


class Jumps(NamedTuple):
    """`operators`: those of the main graph that jump first; `read`: what they read; `smooth`: outputs of the model that
    do not depend on any of them."""

    operators: tuple[str, ...]
    read: tuple[str, ...]
    smooth: tuple[str, ...]


def jumps_of(document: Document, other: Document, equal: Collection[str] = ()) -> Jumps | None:
    """The operators that jump, of which both models have the inputs; None where no output depends on one.

    Of `equal` tensors both models made the same: what reads those alone gives the same, too.
    """
    graph = document.proto.graph
    there = {name for node in other.proto.graph.node for name in node.output}
    made_inside = {name for node in graph.node for name in node.output} - set(equal)
    behind: set[str] = set()
    operators: dict[str, None] = {}
    read: dict[str, None] = {}
    for node in graph.node:
        if not behind.isdisjoint(names_read(node)):
            behind.update(node.output)
        elif _jumps(node) and not made_inside.isdisjoint(node.input):
            behind.update(node.output)
            operators[node.op_type] = None
            read.update(dict.fromkeys(name for name in node.input if name in made_inside and name in there))
    outputs = [value.name for value in graph.output]
    smooth = tuple(name for name in outputs if name not in behind)
    return Jumps(tuple(operators), tuple(read), smooth) if read and len(smooth) < len(outputs) else None


def _equal_before_jumps(
    engine: Engine,
    documents: tuple[Document, Document],
    open_: Callable[[Side, bool, Sequence[str]], Session],
    feeds: Feeds,
    optimized: bool,
) -> set[str]:
    """What operators that jump read, however far behind others, and both models make alike bit for bit."""
    made_inside = [{name for node in one.proto.graph.node for name in node.output} for one in documents]
    read = {name for node in documents[0].proto.graph.node if _jumps(node) for name in node.input}
    names = sorted(read.intersection(*made_inside))
    before, after = (engine.outputs(open_(side, optimized, names), feeds) for side in Side)
    return {name for name in names if compare({name: before[name]}, {name: after[name]}).bitwise}


def _jumps(node: NodeProto) -> bool:
    if node.domain not in DEFAULT_DOMAINS:
        return False
    to = next((attribute.i for attribute in node.attribute if attribute.name == "to"), TensorProto.FLOAT)
    whole = to not in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16)
    return node.op_type in _JUMPING or (node.op_type == "Cast" and whole)


def agree_before_jumps(
    engine: Engine,
    documents: tuple[Document, Document],
    open_: Callable[[Side, bool, Sequence[str]], Session],
    feeds: Feeds,
    relative: float | None = None,
) -> Diagnostic | None:
    """The sentence that says that only what jumps differs; None where more does, or nothing jumps.

    `open_` opens one of the models at a level with more outputs. Compared is the default level; with
    `relative`, the level without optimisation within that part of a tensor's largest value.
    """
    if jumps_of(*documents) is None:
        return None
    optimized = relative is None
    try:
        jumps = jumps_of(*documents, _equal_before_jumps(engine, documents, open_, feeds, optimized))
        if jumps is None:
            return None
        before = _seen(engine, open_(Side.BEFORE, optimized, jumps.read), feeds, jumps)
        after = _seen(engine, open_(Side.AFTER, optimized, jumps.read), feeds, jumps)
        if relative is None:
            plain = _seen(engine, open_(Side.BEFORE, False, jumps.read), feeds, jumps)
            bounds = default_level_bounds(plain, before)
        else:
            bounds = relative_bounds(before, relative)
    except (CannotLoadError, CannotRunError):
        return None
    if not within(compare(before, after), bounds):
        return None
    return Diagnostic("verification.only-jumps", operators=listed(jumps.operators[:_MOST_NAMED]))


def require_agreement_before(
    engine: Engine,
    documents: tuple[Document, Document],
    open_: Callable[[Side, bool, Sequence[str]], Session],
    feeds: Feeds,
    relative: float,
    moved: Callable[[Sequence[str]], Mapping[str, float]],
) -> Diagnostic | None:
    """The sentence about operators that jump behind a change: what they read was compared; None: there is none.

    Allowed is the part `relative` of a tensor's largest value, or by how much `moved` says that noise moves it. Raises
    DifferenceError for a tensor that differs by more.
    """
    jumps = jumps_of(*documents)
    if jumps is None:
        return None
    try:
        before, after = (_seen(engine, open_(side, False, jumps.read), feeds, jumps) for side in Side)
    except (CannotLoadError, CannotRunError):
        return None
    read = [name for name in jumps.read if name in before and name in after]
    comparison = compare({name: before[name] for name in read}, {name: after[name] for name in read})
    differing = {one.tensor: one for one in comparison.differing}
    if not differing:
        return None
    bounds = relative_bounds({name: before[name] for name in read}, relative)
    if not within(comparison, bounds):
        allowed = moved(list(differing))
        for name, difference in differing.items():
            if difference.max_rel_diff > max(allowed.get(name, 0.0), bounds[name].bound):
                raise DifferenceError("verification.differs-before-jump", name=name, why=comparison.reason)
    behind = {
        node.op_type: None
        for node in documents[0].proto.graph.node
        if _jumps(node) and not differing.keys().isdisjoint(node.input)
    }
    return Diagnostic("verification.jumps-behind", operators=listed(list(behind)[:_MOST_NAMED]))


def _seen(engine: Engine, session: Session, feeds: Feeds, jumps: Jumps) -> Mapping[str, Value]:
    tensors = engine.outputs(session, feeds)
    return {name: tensors[name] for name in dict.fromkeys((*jumps.read, *jumps.smooth)) if name in tensors}
