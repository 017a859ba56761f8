"""What the experiments on another size share: the image inputs, the tensors looked at, and the node to name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.scopes import node_label
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.ort_session import Session
from resizefix.verification.engine import Engine

_MOST_LOOKED_AT = 1 << 24  # elements of all tensors; above, only the outputs are looked at
_RECURRENT = {"LSTM", "GRU", "RNN"}  # their last states forget the far end of a longer row


class Picture(NamedTuple):
    """An image input: its axes of height and width, and its shape at the other size."""

    axes: tuple[int, int]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Original:
    """The original, opened for experiments: what it is fed and makes, and the tensors inside that both models make."""

    document: Document
    feeds: Feeds
    shown: Sequence[str]
    session: Session
    made: Mapping[str, Value]

    @classmethod
    def opened(cls, engine: Engine, before: Document, after: Document) -> Original:
        """Where the tensors inside hold too many numbers, the outputs alone are looked at."""
        feeds = engine.fit(before, shapes={}).feeds
        new = {name for node in after.proto.graph.node for name in node.output if name}
        outputs = {value.name for value in before.proto.graph.output}
        nodes = before.proto.graph.node
        shown = [name for node in nodes for name in node.output if name in new and name not in outputs]
        session = engine.open(before, optimized=False, extra_outputs=shown)
        made = engine.made(session, feeds)
        if sum(value.size for value in made.values() if isinstance(value, np.ndarray)) > _MOST_LOOKED_AT:
            engine.not_tested.append(Diagnostic("verification.coverage-outputs-alone"))
            session, shown = engine.open(before, optimized=False), []
            made = {name: value for name, value in made.items() if name in outputs}
        return cls(before, feeds, shown, session, made)


def first_wrong(
    before: Document, wrong: set[str], is_kept: Callable[[str], bool], right: set[str] | None = None
) -> str | None:
    """The first node of the main graph that makes a wrong tensor, and, with `right`, reads a right one.

    What the user decided about may compute something else, there and behind it.
    """
    decided: set[str] = set()
    for index, node in enumerate(before.proto.graph.node):
        label = node_label(node, index)
        if is_kept(label) or decided.intersection(node.input):
            decided.update(node.output)
        elif wrong.intersection(node.output[:1] if node.op_type in _RECURRENT else node.output) and (
            right is None or right.intersection(node.input)
        ):
            return label
        elif node.op_type in _RECURRENT:
            decided.update(node.output[1:])
    return None
