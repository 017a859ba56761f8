"""What the original makes with other scales, where that is known without running it as a whole.

Without optimisation: node by node (`promoted_nodes`). At the default level: the same, where optimising moves no bit of
the promoted model; else the part behind large weights, fed what the nodes before make (`part_behind`). A part counts
only where its bits are those of the promoted model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from resizefix.document.document import Document
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, Session
from resizefix.runtimes.prepared_model import PreparedModel
from resizefix.scope_path import Key
from resizefix.verification.compare import compare
from resizefix.verification.part_behind import part_behind
from resizefix.verification.promoted_nodes import PromotedNodes, Seen
from resizefix.verification.promoted_session import PromotedSession
from resizefix.verification.reference_model import Operand
from resizefix.verification.scale_points import ScalePoint

Open = Callable[..., Session]  # of a document, its prepared model, and whether it is optimized
_MOST_SAID = 8


@dataclass
class Point:
    """A scale point, and what is known of both models at it.

    `feeds` are what the promoted model is fed, of the shapes `shapes`; `values` those of the promoted inputs, and
    `operands` what they make in the original. `found` is what the promoted model makes at one level; `seen` what its
    nodes read and made without optimisation, `agreed` the digest of the outputs that both models then made. `reference`
    is the original that holds the operands, once it was made.
    """

    scales: ScalePoint
    feeds: Feeds
    shapes: Mapping[str, Sequence[int]]
    values: Mapping[str, Sequence[float]]
    operands: Mapping[Key, Operand]
    found: Mapping[str, Value] | CannotRunError
    seen: Seen | None = None
    agreed: bytes | None = None
    reference: PreparedModel | None = None

    @property
    def runs(self) -> bool:
        """Whether the promoted model runs at it."""
        return not isinstance(self.found, CannotRunError)

    @cached_property
    def at(self) -> str:
        """The values of the inputs, or the first of them, as text."""
        text = ", ".join(f"{name}={list(value)}" for name, value in islice(self.values.items(), _MOST_SAID))
        return text if len(self.values) <= _MOST_SAID else f"{text}, …"

    def agree(self) -> None:
        """Note that both models make these bits without optimisation. The digest is kept: the outputs themselves would
        take twice the memory."""
        self.agreed = _digest(self.found) if isinstance(self.found, Mapping) else None


class OriginalInParts:
    """The nodes that a session of the promoted model shows, and what the nodes before them make."""

    def __init__(self, original: Document, session: PromotedSession, feeds: Feeds, open_: Open) -> None:
        self._original = original
        self._nodes: PromotedNodes | None = session.nodes
        self._before = session.before
        self._feeds = feeds
        self._open = open_

    def makes(
        self, point: Point, reference: Callable[[], PreparedModel], optimized: bool
    ) -> Mapping[str, Value] | None:
        """What the original makes with the operands of a point, where it is what was found of the promoted model; None
        where only the whole can tell. `reference` gives the original that holds them as constants."""
        found = point.found
        if not isinstance(found, Mapping):
            return None
        if optimized and point.agreed is not None and point.agreed == _digest(found):
            return found
        if self._nodes is None or (optimized and not self._before):
            return None
        try:
            if optimized:
                return self._behind(self._nodes, reference(), found)
            return found if self._by_nodes(self._nodes, point) else None
        except (CannotLoadError, CannotRunError):
            return None

    def _by_nodes(self, nodes: PromotedNodes, point: Point) -> bool:
        seen = point.seen
        if seen is None:
            return False
        document, prepared = nodes.reference(seen.read, point.operands)
        return compare(self._open(document, prepared, optimized=False).run(seen.read), seen.made).bitwise

    def _behind(
        self, nodes: PromotedNodes, reference: PreparedModel, found: Mapping[str, Value]
    ) -> Mapping[str, Value] | None:
        part = part_behind(reference, nodes.made)
        if part is None or not self._before.keys() >= set(part.boundary):
            return None
        session = self._open(self._original, part.prepared(self._before), optimized=True)
        made = session.run(session.taken({**self._feeds, **self._before}))
        return made if compare(made, found).bitwise else None


def _digest(outputs: Mapping[str, Value]) -> bytes | None:
    """What tells the outputs from others by their types, shapes and bits; None where one is no tensor of numbers."""
    from hashlib import blake2b  # costs as much as a small session, and parts do without

    digest = blake2b(digest_size=32)
    for name, value in outputs.items():
        if not isinstance(value, np.ndarray) or value.dtype.hasobject:
            return None
        digest.update(repr((name, value.dtype.name, value.shape)).encode())
        digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    return digest.digest()
