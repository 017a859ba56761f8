"""The shapes that a candidate stores, held against every run of it.

onnxruntime believes a stored shape at the default level, other readers at any. One is wrong where a number differs from
the run, a symbol is two sizes, or the rank differs. What the model before says wrongly of itself, too, is no fault of
the change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.values import Dims, dims_of
from resizefix.errors import ResizefixError
from resizefix.runtimes.inputs import Feeds

if TYPE_CHECKING:
    from resizefix.verification.engine import Engine

Made = Mapping[str, tuple[int, ...]]


@dataclass
class StoredShapes:
    """What `candidate` stores of its main graph. `measured` are the names whose shapes a run must tell; `saw` takes
    them."""

    before: Document
    candidate: Document
    wrong: dict[str, str] = field(default_factory=dict)
    """What is wrong, by the name of the tensor or the symbol: how."""
    _feeds: Feeds | None = None

    def __post_init__(self) -> None:
        self._dims = _stored(self.candidate)
        made = {name for node in self.candidate.proto.graph.node for name in node.output}
        self.measured = tuple(name for name in self._dims if name in made)

    def saw(self, feeds: Feeds, made: Made) -> None:
        """Look at one run without optimisation."""
        fed = {name: value.shape for name, value in feeds.items() if isinstance(value, np.ndarray)}
        wrong = contradictions(self._dims, {**fed, **made})
        if wrong and not self.wrong:
            self._feeds = feeds
        self.wrong = {**wrong, **self.wrong}

    def why_wrong(self, engine: Engine) -> Diagnostic | None:
        """What is wrong in the candidate and not in the model before, which is run if there is anything."""
        if not self.wrong:
            return None
        left = {name: how for name, how in self.wrong.items() if name not in self._wrong_before(engine)}
        name, how = next(iter(left.items()), ("", ""))
        return Diagnostic("verification.stored-shape", name=name, how=how) if left else None

    def _wrong_before(self, engine: Engine) -> set[str]:
        """What the model before says wrongly of itself; of one that does not run, all that the candidate left as it
        was."""
        own = StoredShapes(self.before, self.before)
        session = engine.open_measured(self.before, own)
        if session is not None:
            for feeds in (self._feeds, None):
                try:
                    if feeds is not None:
                        session.run(session.taken(feeds))
                    else:
                        engine.fit(self.before, shapes={}, held=own)
                except ResizefixError:
                    continue
                return set(own.wrong)
        old = _stored(self.before)
        symbols = {dim for dims in old.values() for dim in dims if isinstance(dim, str)}
        return symbols | {name for name, dims in self._dims.items() if old.get(name) == dims}


def contradictions(stored: Mapping[str, Dims], made: Made) -> dict[str, str]:
    """What stored shapes say that a run does not bear out, by the name of the tensor or the symbol."""
    wrong: dict[str, str] = {}
    sizes: dict[str, int] = {}
    for name, dims in stored.items():
        shape = made.get(name)
        if shape is None:
            continue
        if len(dims) != len(shape):
            wrong[name] = f"{_text(dims)}, and it is {list(shape)}"
            continue
        for dim, size in zip(dims, shape, strict=True):
            if isinstance(dim, int) and dim != size:
                wrong.setdefault(name, f"{_text(dims)}, and it is {list(shape)}")
            elif isinstance(dim, str) and sizes.setdefault(dim, size) != size:
                wrong.setdefault(dim, f"{sizes[dim]} and {size}")
    return wrong


def _text(dims: Dims) -> str:
    return f"[{', '.join('?' if dim is None else str(dim) for dim in dims)}]"


def _stored(document: Document) -> dict[str, Dims]:
    """The shapes of tensors that the main graph stores; a constant that is listed as an input is none of them."""
    graph = document.proto.graph
    constants = {tensor.name for tensor in graph.initializer}
    values = (*graph.input, *graph.value_info, *graph.output)
    return {
        value.name: dims_of(value.type)
        for value in values
        if value.type.HasField("tensor_type")
        and value.type.tensor_type.HasField("shape")
        and value.name not in constants
    }
