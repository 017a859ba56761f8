"""What the experiments on another size share: the image inputs, the tensors looked at, and the node to name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto

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


@dataclass
class Original:
    """The original as experiments see it: what it is fed and makes, and the tensors inside that both models make."""

    engine: Engine
    document: Document
    feeds: Feeds
    shown: Sequence[str]
    made: Mapping[str, Value]

    @classmethod
    def run(cls, engine: Engine, before: Document, after: Document) -> Original:
        """Where the tensors inside hold too many numbers, the outputs alone are looked at."""
        new = {name for node in after.proto.graph.node for name in node.output if name}
        outputs = {value.name for value in before.proto.graph.output}
        nodes = before.proto.graph.node
        shown = [name for node in nodes for name in node.output if name in new and name not in outputs]
        fitted = engine.fit(before, shapes={}, extra_outputs=shown)
        made = fitted.outputs
        if sum(value.size for value in made.values() if isinstance(value, np.ndarray)) > _MOST_LOOKED_AT:
            engine.not_tested.append(Diagnostic("verification.coverage-outputs-alone"))
            shown, made = [], {name: value for name, value in made.items() if name in outputs}
        return cls(engine, before, fitted.feeds, shown, made)

    @cached_property
    def session(self) -> Session:
        """The original, opened with the tensors that are looked at."""
        return self.engine.open(self.document, optimized=False, extra_outputs=self.shown)


def other_numbers(before: Document, after: Document) -> set[str]:
    """The labels of nodes whose attributes or constant data follow the size: what is local may have other values there.

    Whole numbers say where values go, and no more.
    """
    new = {name: node for node in after.proto.graph.node for name in node.output if name}
    old_data, new_data = _data(before), _data(after)
    labels = set()
    for index, node in enumerate(before.proto.graph.node):
        other = new.get(next((name for name in node.output if name), ""))
        if other is None:
            continue
        is_whole = node.op_type == "Constant" and not any(_is_data(one.t) for one in node.attribute)
        has_other_attributes = not is_whole and list(node.attribute) != list(other.attribute)
        pairs = zip(node.input, other.input, strict=False)
        if has_other_attributes or any(old_data.get(one) != new_data.get(two) for one, two in pairs):
            labels.add(node_label(node, index))
    return labels


def _is_data(tensor: TensorProto) -> bool:
    return tensor.data_type not in (TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL)


def _data(document: Document) -> dict[str, TensorProto]:
    """The initializers that hold data, without their names."""
    data = {}
    for one in document.proto.graph.initializer:
        if _is_data(one):
            data[one.name] = TensorProto()
            data[one.name].CopyFrom(one)
            data[one.name].name = ""
    return data


def other_factors(before: Document, old: Mapping[str, Value], new: Mapping[str, Value]) -> set[str]:
    """The labels of the nodes that resize by another factor, as an odd map is resized to its double less one."""
    labels = set()
    for index, node in enumerate(before.proto.graph.node):
        if node.op_type in ("Resize", "Upsample") and _factors(node, old) != _factors(node, new):
            labels.add(node_label(node, index))
    return labels


def _factors(node: NodeProto, made: Mapping[str, Value]) -> list[Fraction] | None:
    """None where the map is not known."""
    read, result = made.get(node.input[0]), made.get(node.output[0])
    if not isinstance(read, np.ndarray) or not isinstance(result, np.ndarray) or 0 in read.shape:
        return None
    return [Fraction(after, before) for before, after in zip(read.shape, result.shape, strict=True)]


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
