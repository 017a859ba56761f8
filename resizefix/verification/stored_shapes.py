"""The shapes that a candidate stores, held against every run of it.

onnxruntime believes a stored shape at the default level, other readers at any. One is wrong where a number differs from
the run, a symbol is two sizes, or the rank differs. What the model before says wrongly of itself, too, is no fault of
the change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.values import Dims, dims_of
from resizefix.document.view import View
from resizefix.errors import ResizefixError
from resizefix.runtimes.inputs import Feeds
from resizefix.runtimes.ort_session import Session
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.dependents import Dependents

if TYPE_CHECKING:
    from resizefix.verification.engine import Engine

Made = Mapping[str, tuple[int, ...]]


class Conflict(NamedTuple):
    """What a file says and a run does not bear out: a size of a tensor's axis, its rank (no axis), or a symbol (nothing
    else)."""

    name: str
    axis: int | None = None
    said: int | None = None


@dataclass
class StoredShapes:
    """What `candidate` stores of its main graph. `measured` are the names whose shapes a run must tell; `saw` takes
    them. `rederived`: tensors of `before` whose shapes, and those behind them, the change was to make true."""

    before: Document
    candidate: Document
    rederived: frozenset[Key] = frozenset()
    wrong: dict[Conflict, str] = field(default_factory=dict)
    """What is wrong, and how."""
    _feeds: list[Feeds] = field(default_factory=list)  # those that showed something wrong, each something new
    _wrong_anyway: set[Conflict] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._dims, self._old = _stored(self.candidate), _stored(self.before)
        made = {name for node in self.candidate.proto.graph.node for name in node.output}
        self.measured = tuple(dict.fromkeys(name for name, _ in self._dims if name in made))

    def saw(self, feeds: Feeds, made: Made) -> None:
        """Look at one run without optimisation."""
        fed = {name: value.shape for name, value in feeds.items() if isinstance(value, np.ndarray)}
        wrong = contradictions(self._dims, {**fed, **made})
        if not wrong.keys() <= self.wrong.keys():
            self._feeds.append(feeds)
        if wrong:
            self._wrong_anyway |= contradictions(self._old, {**fed, **made}).keys()
        self.wrong = {**wrong, **self.wrong}

    def why_wrong(self, engine: Engine) -> Diagnostic | None:
        """What is wrong in the candidate and not in the model before, which is run if there is anything."""
        if not self.wrong:
            return None
        excused = self._wrong_before(engine)
        left = {conflict.name: how for conflict, how in self.wrong.items() if conflict not in excused}
        name, how = next(iter(left.items()), ("", ""))
        return Diagnostic("verification.stored-shape", name=name, how=how) if left else None

    def _wrong_before(self, engine: Engine) -> set[Conflict]:
        """What the model before says wrongly of itself. Of one that does not run it is what the candidate's run shows
        to be wrong there, but for what the change was to make true."""
        own = StoredShapes(self.before, self.before)
        session = engine.open_measured(self.before, own)
        if session is not None:
            ran = [_runs(session, feeds) for feeds in self._feeds]
            with suppress(ResizefixError):
                if not any(ran):
                    engine.fit(self.before, shapes={}, held=own)
                return set(own.wrong)
        if not self.rederived:
            return self._wrong_anyway
        dependents = Dependents(View(self.before.proto).scopes)
        dependents.add(self.rederived)
        return {one for one in self._wrong_anyway if (MAIN, one.name) not in dependents.resized}


def _runs(session: Session, feeds: Feeds) -> bool:
    try:
        session.run(session.taken(feeds))
    except ResizefixError:
        return False
    return True


def contradictions(stored: Iterable[tuple[str, Dims]], made: Made) -> dict[Conflict, str]:
    """What stored shapes say that a run does not bear out, and how."""
    wrong: dict[Conflict, str] = {}
    sizes: dict[str, int] = {}
    for name, dims in stored:
        shape = made.get(name)
        if shape is None:
            continue
        how = Diagnostic("verification.stored-against-run", stored=_text(dims), shape=list(shape))
        if len(dims) != len(shape):
            wrong[Conflict(name, None, len(dims))] = how
            continue
        for axis, (dim, size) in enumerate(zip(dims, shape, strict=True)):
            if isinstance(dim, int) and dim != size:
                wrong[Conflict(name, axis, dim)] = how
            elif isinstance(dim, str) and sizes.setdefault(dim, size) != size:
                wrong.setdefault(Conflict(dim), f"{sizes[dim]} and {size}")
    return wrong


def _text(dims: Dims) -> str:
    return f"[{', '.join('?' if dim is None else str(dim) for dim in dims)}]"


def _stored(document: Document) -> list[tuple[str, Dims]]:
    """The shapes of tensors that the main graph stores, one by one; a constant that is listed as an input is none of
    them."""
    graph = document.proto.graph
    constants = {tensor.name for tensor in graph.initializer}
    return [
        (value.name, dims_of(value.type))
        for value in (*graph.input, *graph.value_info, *graph.output)
        if value.type.HasField("tensor_type")
        and value.type.tensor_type.HasField("shape")
        and value.name not in constants
    ]
