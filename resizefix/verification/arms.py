"""Which bodies of a model ran: branches of If, bodies of Loop and Scan, at whatever depth, in local functions too.

A copy of the model computes it: every body counts itself in a vector that its holder hands on, and the main graph has
that vector as one more output. Nothing else changes, and onnxruntime computes the rest as before where it does not
optimise.

Which bodies of If, Loop and Scan a change may reach though no feed ran them.

A model that runs says nothing of a body that it passed over: other data may take it, and another scale break it there.
Where both models hold it in the same node, which reads the same, it can make no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np
from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from resizefix.document.document import Document
from resizefix.document.edits import insert_nodes
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope, Scopes, is_operator, names_in, names_read, reads
from resizefix.document.view import View
from resizefix.promotion import PromotedInput
from resizefix.runtimes.inputs import Feeds, TensorInput, Value
from resizefix.runtimes.ort_session import Session
from resizefix.scope_path import Key, ScopePath
from resizefix.verification.dependence import Dependence
from resizefix.verification.upstream import Place, Upstream

_MOST = 1000  # bodies of one model
_DEEPEST = 60  # bodies in bodies: what walks them is recursive
_SCAN_SINCE = 9  # before, a Scan had another signature
_SINCE = 6  # before, Sum had another signature


class Watched:
    """A session that notes which bodies ran: `ran` in the last run, `seen` in any. `turns`: how often one of them did
    in the last run, at least 1. `arms`: the paths of the bodies that are watched."""

    def __init__(self, session: Session, arms: Sequence[ScopePath] = (), flag: str | None = None) -> None:
        self.session = session
        self.arms = arms
        self.ran: frozenset[ScopePath] = frozenset()
        self.seen: frozenset[ScopePath] = frozenset()
        self.turns = 1
        self._flag = flag

    @property
    def arms_watched(self) -> frozenset[ScopePath]:
        """The bodies that may run."""
        return frozenset(self.arms)

    @property
    def inputs(self) -> tuple[TensorInput, ...]:
        """What to feed."""
        return self.session.inputs

    @property
    def label(self) -> str:
        """What errors call the model."""
        return self.session.label

    def taken(self, feeds: Feeds) -> dict[str, Value]:
        """Those of `feeds` that this model has an input for."""
        return self.session.taken(feeds)

    def contradicts(self, results: Mapping[str, Value]) -> bool:
        """Whether an output has another size than the file fixes."""
        return self.session.contradicts(results)

    def run(self, feeds: Feeds) -> dict[str, Value]:
        """The outputs by name; `ran` are the bodies that this run came through."""
        outputs = self.session.run(feeds)
        flags = outputs.pop(self._flag) if self._flag is not None else None
        if isinstance(flags, np.ndarray):
            self.ran = frozenset(self.arms[int(at)] for at in np.flatnonzero(flags))
            self.seen |= self.ran
            self.turns = max(1, int(flags.max()))
        return outputs


def watched_copy(document: Document) -> tuple[Document, tuple[ScopePath, ...], str] | None:
    """A copy with one more output, how often each body ran; the paths of the bodies, and the name of the output. None
    where there is no body to watch, or too many."""
    copy = document.copy()
    scopes = View(copy.proto).scopes
    arms = [scope for scope in scopes.all if scope.parent is not None and _is_watched(scope)]
    arms = [scope for scope in arms if scope.path.function is None or scope.path.function in scopes.reached]
    if not 0 < len(arms) <= _MOST or max(len(scope.path) for scope in arms) > _DEEPEST or scopes.main.opset < _SINCE:
        return None
    watch = _ArmWatch(scopes, arms)
    flag = watch.flagged(scopes.main)
    if flag is None:
        return None
    copy.proto.graph.output.append(watch.declared(flag))
    return copy, tuple(scope.path for scope in arms), flag


def _is_watched(scope: Scope) -> bool:
    """Whether it is a body of such an operator, and so are all that it stands in."""
    while scope.parent is not None and scope.owner is not None:
        node = scope.parent.body.node[scope.owner]
        if not is_operator(node, "If", "Loop", "Scan") or (node.op_type == "Scan" and scope.opset < _SCAN_SINCE):
            return False
        scope = scope.parent
    return True


class _ArmWatch:
    """Adds to every body of `arms`, and to all that hold one, a vector that says which of them ran."""

    def __init__(self, scopes: Scopes, arms: Sequence[Scope]) -> None:
        self._scopes = scopes
        self._positions = {scope: position for position, scope in enumerate(arms)}
        self._taken = names_in(scopes.model)
        self._functions: dict[Scope, str | None] = {}

    def declared(self, name: str) -> ValueInfoProto:
        """The vector as an input or output of a body."""
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [len(self._positions)])

    def flagged(self, scope: Scope) -> str | None:
        """Make the vector of this body and of all in it; its name, None where there is none to watch."""
        first: list[NodeProto] = []  # before all others
        parts = [self._constant(first, self._positions[scope])] if scope in self._positions else []
        for index, node in enumerate(scope.body.node):
            function = self._scopes.called(node)
            bodies = [body for body in self._scopes.held.get((scope.path, index), []) if body in self._positions]
            if function is not None:
                part = self._call(node, function)
            else:
                part = self._holder(node, bodies, first) if bodies else None
            if part is not None:
                parts.append(part)
        if not parts:
            return None
        name = self._fresh()
        last = helper.make_node("Sum" if len(parts) > 1 else "Identity", parts, [name])
        insert_nodes(scope.body, len(scope.body.node), [last])
        insert_nodes(scope.body, 0, first)
        return name

    def _call(self, node: NodeProto, function: Scope) -> str | None:
        """One more output of a local function that holds a body to watch, and of its call."""
        if function not in self._functions:
            name = self._functions[function] = self.flagged(function)
            if name is not None and isinstance(function.body, FunctionProto):
                function.body.output.append(name)
                if not any(entry.domain in DEFAULT_DOMAINS for entry in function.body.opset_import):
                    function.body.opset_import.append(helper.make_opsetid("", function.opset))
        if self._functions[function] is None:
            return None
        node.output.extend([""] * (len(function.body.output) - 1 - len(node.output)))
        return self._out(node, len(node.output))

    def _holder(self, node: NodeProto, bodies: Sequence[Scope], first: list[NodeProto]) -> str:
        """One more output of an If, Loop or Scan and of its bodies. The sum is carried between turns."""
        flags = [(body, self.flagged(body)) for body in bodies]
        if node.op_type == "If":
            for body, flag in flags:
                cast("GraphProto", body.body).output.append(self.declared(flag or ""))
            return self._out(node, len(node.output))
        ((body, flag),) = flags
        graph = cast("GraphProto", body.body)
        if node.op_type == "Loop":
            node.input.extend([""] * (2 - len(node.input)))
            carried = len(node.input)
            at_input, at_output, at_result = carried, carried - 1, carried - 2
        else:
            scanned = next(attribute.i for attribute in node.attribute if attribute.name == "num_scan_inputs")
            at_input = at_output = at_result = len(node.input) - scanned
        before, joined = self._fresh(), self._fresh()
        graph.input.insert(at_input, self.declared(before))
        graph.node.append(helper.make_node("Sum", [flag or "", before], [joined]))
        graph.output.insert(at_output, self.declared(joined))
        node.input.insert(at_input, self._constant(first, None))
        return self._out(node, at_result)

    def _out(self, node: NodeProto, position: int) -> str:
        name = self._fresh()
        node.output.insert(position, name)
        return name

    def _constant(self, first: list[NodeProto], position: int | None) -> str:
        value = np.zeros(len(self._positions), np.float32)
        if position is not None:
            value[position] = 1
        name = self._fresh()
        first.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)))
        return name

    def _fresh(self) -> str:
        name = f"ran_{len(self._taken)}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def bodies_behind(document: Document, inputs: Sequence[PromotedInput]) -> dict[ScopePath, frozenset[Key]]:
    """The bodies that hold a site of these inputs or that read what depends on one, each with these sites."""
    scopes = View(document.proto).scopes
    bodies = [scope for scope in scopes.all if scope.path.is_body]
    sites = [driven.key for source in inputs for driven in source.sites]
    if not bodies or not sites:
        return {}
    dependence = Dependence(document.proto)
    outside = [key for key in sites if key[0].function is None]
    behind: dict[ScopePath, frozenset[Key]] = {}
    for scope in bodies:
        if scope.path.function is not None:  # which call reads what is not followed
            if scope.path.function in scopes.reached:
                behind[scope.path] = frozenset(sites)
            continue
        inside = {key for key in sites if _holds(key[0], scope.path) or (key[0] and _holds(scope.path, key[0]))}
        inside.update(key for key in sites if key[0].function is not None)
        names = {name for inner in bodies if _holds(inner.path, scope.path) for name, _ in reads(inner)}
        inside.update(dependence.behind({*names, *_carried(scope)}, outside))
        if inside:
            behind[scope.path] = frozenset(inside)
    return behind


def _holds(inner: ScopePath, outer: ScopePath) -> bool:
    return inner[: len(outer)] == outer


def _carried(scope: Scope) -> set[str]:
    """What a Loop or Scan hands on to its body, at whatever depth that stands."""
    names: set[str] = set()
    current: Scope | None = scope
    while current is not None and current.parent is not None and current.owner is not None:
        node = current.parent.body.node[current.owner]
        names.update(node.input if node.op_type != "If" else ())
        current = current.parent
    return names


def are_held_alike(before: Document, after: Document, paths: Iterable[ScopePath]) -> bool:
    """Whether each of the bodies stands in both models in a node of the same text, and so do all nodes and constants
    from which that reads anything."""
    sides = Upstream(before.proto), Upstream(after.proto)
    for path in paths:
        texts = [_text(side, path) for side in sides]
        if texts[0] is None or texts[0] != texts[1]:
            return False
    return True


def _text(upstream: Upstream, path: ScopePath) -> frozenset[bytes] | None:
    """The messages of the node that holds a body and of what it is made from; None where there is none."""
    scope = upstream.scopes.by_path.get(path)
    if scope is None or scope.parent is None or scope.owner is None:
        return None
    holder = scope.parent.body.node[scope.owner]
    texts = {holder.SerializeToString(deterministic=True)}
    pending: list[Place] = [(scope.parent, name) for name in names_read(holder)]
    seen = set(pending)
    while pending:
        place = pending.pop()
        step = upstream.step(place)
        if step.node is not None:
            texts.add(step.node.SerializeToString(deterministic=True))
        elif step.definition is not None and step.definition.tensor is not None:
            texts.add(step.definition.tensor.SerializeToString(deterministic=True))
        elif step.definition is not None and step.definition.node is not None:
            texts.add(step.definition.node.SerializeToString(deterministic=True))
        new = [source for source in step.sources if source not in seen]
        seen.update(new)
        pending += new
    return frozenset(texts)
