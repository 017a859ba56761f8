"""Which bodies of a model ran: branches of If, bodies of Loop and Scan, at whatever depth, in local functions too.

A copy of the model computes it: every body counts itself in a vector (`carried_vector.py`). onnxruntime computes the
rest as before where it does not optimise.

Which bodies of If, Loop and Scan a change may reach though no feed ran them.

A model that runs says nothing of a body that it passed over: other data may take it, and another scale break it there.
Where both models hold it in the same node, which reads the same, it can make no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from onnx import NodeProto

from resizefix.document.document import Document
from resizefix.document.scopes import Scope, names_read, reads
from resizefix.document.view import View
from resizefix.promotion import PromotedInput
from resizefix.runtimes.inputs import Feeds, TensorInput, Value
from resizefix.runtimes.ort_session import Session
from resizefix.scope_path import Key, ScopePath
from resizefix.verification.carried_vector import CarriedVector, watched_bodies
from resizefix.verification.dependence import Dependence
from resizefix.verification.upstream import Place, Upstream

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

    @property
    def notes(self) -> tuple[str, ...]:
        """How it differs from a user's session."""
        return self.session.notes

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
    arms = {scope: position for position, scope in enumerate(watched_bodies(scopes))}
    if not arms or scopes.main.opset < _SINCE:
        return None

    def itself(vector: CarriedVector, scope: Scope, first: list[NodeProto], last: list[NodeProto]) -> str | None:
        if scope not in arms:
            return None
        value = np.zeros(len(arms), np.float32)
        value[arms[scope]] = 1
        return vector.constant(first, value)

    flag = CarriedVector(copy, scopes, arms, np.zeros(len(arms), np.float32), "Sum", itself).write()
    return None if flag is None else (copy, tuple(scope.path for scope in arms), flag)


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
