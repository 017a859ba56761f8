"""What a change did, in a table of before and after (nodes, inputs, opset, file size, targets, time), and the lines of
Python that run a promoted model in onnxruntime.

A small table of texts: for a terminal, for a pipe, and for a notebook.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from onnx import ModelProto, TensorProto, TypeProto

from resizefix.document.text import counted, listed, number_text
from resizefix.document.values import dims_in, dims_of, numbers_in
from resizefix.interpolation import ExtentKind
from resizefix.operations.site import Site
from resizefix.operations.sites import sites_in
from resizefix.outcome import Outcome, Status
from resizefix.printable import printable
from resizefix.reports.screen import Table
from resizefix.reports.wording import Standing, extent, few_targets, meaning, operator, place, standing, tensor
from resizefix.shapes.stored_shapes import ModelView

if TYPE_CHECKING:
    from resizefix.document.document import Document
    from resizefix.library.result import Result
    from resizefix.library.verdict import TargetsMoved


_MOST_GROUPS = 4
_MOST_TENSORS = 4
# What stands for a node's operator in ONNX text, behind its outputs: `"y" = Resize <…> (x)`.
_OPERATOR = re.compile(r'^(?:\[[^\]]*\] )?(?:"(?:[^"\\]|\\.)*"|[^"=])*= ?([\w.]+)')
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


@dataclass(frozen=True)
class Made:
    """A changed model next to the old one. `files`: the bytes of both, with their external data; None: not written."""

    before: ModelView
    after: ModelView
    moved: TargetsMoved
    files: tuple[int, int | None]
    seconds: float


def result_table(result: Result, change: Made) -> Table:
    """A row for each group of changed nodes that are alike, and one for all else that changed."""
    rows = [
        *_node_rows(result.outcomes, change),
        *_model_rows(change),
        *_tensor_rows("input", change, _inputs(change.before), _inputs(change.after)),
        *_tensor_rows("output", change, _outputs(change.before), _outputs(change.after)),
        ("file size", size_text(change.files[0]), "" if change.files[1] is None else size_text(change.files[1])),
        _target_row(change.moved),
        ("time", "", f"{change.seconds:.2g} s" if change.seconds < 10 else f"{change.seconds:.0f} s"),
    ]
    return Table(("", "before", "after"), tuple(rows))


def size_text(size: int) -> str:
    """`78.5 kB`."""
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size} B"


def file_bytes(path: str | os.PathLike[str], document: Document) -> int:
    """How many bytes the file of a model has, with those of the files that hold data of it."""
    folder = os.path.dirname(os.fspath(path))
    files = [os.path.join(folder, name) for name in document.data_files()]
    return os.path.getsize(path) + sum(os.path.getsize(file) for file in files if os.path.isfile(file))


def _node_rows(outcomes: Sequence[Outcome], change: Made) -> list[tuple[str, str, str]]:
    """A row for each group of changed nodes whose looks before and after are the same; the last counts the others."""
    before = {site.index: site for site in sites_in(change.before)}
    after = {site.key: site for site in sites_in(change.after)}
    groups: dict[tuple[str, str], list[str]] = {}
    for outcome in outcomes:
        if outcome.status is Status.CHANGED and outcome.index in before:
            old = before[outcome.index]
            new = after.get(old.key)
            looks = _looks(old), _replacement(outcome.after) if new is None else _looks(new)
            groups.setdefault(looks, []).append(place(old))
    rows = [(labels[0] if len(labels) == 1 else f"{len(labels)} nodes", *looks) for looks, labels in groups.items()]
    rest = rows[_MOST_GROUPS:]
    if len(rest) < 2:
        return rows
    return [*rows[:_MOST_GROUPS], (f"{len(rest)} more kinds of nodes", "-v lists them", "")]


def _looks(site: Site) -> str:
    """Operator and mode in the first line; scales or sizes, and the type, in the second."""
    fed = standing(site) is Standing.FED
    sizes = f"{_extent_word(site)} fed by an input" if fed else extent(site.extent)
    kind = tensor(None, site.elem_type) or "unknown type"
    of_data = kind if site.elem_type == TensorProto.FLOAT else f"data {kind}"  # not the type of the scales
    return f"{operator(site)} {meaning(site.interpolation)}\n{sizes}, {of_data}"


def _extent_word(site: Site) -> str:
    return "sizes" if site.extent.kind is ExtentKind.SIZES else "scales"


def _replacement(texts: Sequence[str]) -> str:
    """`2 MatMul, 1 Transpose`: the operators of nodes that took the place of another."""
    counts = Counter(match[1] for text in texts if (match := _OPERATOR.match(text)) and match[1] != "Constant")
    return ", ".join(f"{count} {printable(name)}" for name, count in counts.items()) or "other nodes"


def _model_rows(change: Made) -> list[tuple[str, str, str]]:
    """The opset, the IR version and the number of nodes where they changed."""
    before, after = change.before, change.after
    numbers = [
        ("opset", before.scopes.main.opset, after.scopes.main.opset),
        ("IR version", before.model.ir_version, after.model.ir_version),
        ("nodes", len(before.model.graph.node), len(after.model.graph.node)),
    ]
    return [(name, str(old), str(new)) for name, old, new in numbers if old != new]


def _inputs(view: ModelView) -> dict[str, str]:
    graph = view.model.graph
    stored = {tensor.name for tensor in graph.initializer}
    return {value.name: _type_text(value.type) for value in graph.input if value.name not in stored}


def _outputs(view: ModelView) -> dict[str, str]:
    return {value.name: _type_text(value.type) for value in view.model.graph.output}


def _type_text(kind: TypeProto) -> str:
    return tensor(dims_of(kind), kind.tensor_type.elem_type)


def _tensor_rows(word: str, change: Made, old: dict[str, str], new: dict[str, str]) -> list[tuple[str, str, str]]:
    """Inputs or outputs of the model that are new, gone, or of another shape or type."""
    rows = [
        (f"{word} {printable(name)}", old.get(name, ""), new.get(name, ""))
        for name in dict.fromkeys((*old, *new))
        if old.get(name) != new.get(name)
    ]
    rest = len(rows) - _MOST_TENSORS
    return rows if rest < 2 else [*rows[:_MOST_TENSORS], (f"{rest} more {word}s", "", "")]


def _target_row(moved: TargetsMoved) -> tuple[str, str, str]:
    """How many targets accept the resizes; those that did not before by name, the others are named by a warning."""
    now = [str(len(moved.after))]
    if moved.lost:
        now.append(f"{len(moved.lost)} lost")
    if moved.gained:
        now.append(f"gained {listed(few_targets([target.name for target in moved.gained]))}")
    return "accepted by", counted(len(moved.before), "target"), "\n".join([f"{now[0]} targets", *now[1:]])


# As numpy calls them; inputs of other types need more than a line.
_DTYPES = {
    TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64", TensorProto.FLOAT16: "float16",
    TensorProto.INT64: "int64", TensorProto.INT32: "int32", TensorProto.INT16: "int16", TensorProto.INT8: "int8",
    TensorProto.UINT8: "uint8", TensorProto.UINT16: "uint16", TensorProto.BOOL: "bool_",
}  # fmt: skip
_MOST_NAMED = 16


def python_lines(result: Result, model: ModelProto, path: str) -> tuple[str, ...]:
    """Lines that feed the promoted inputs the old values and the others zeros, at the shapes that were verified.

    Empty where an input has a type that numpy lacks.
    """
    first = result.verification.runs[0] if result.verification.runs else None
    values: dict[str, Sequence[Any]] = {} if first is None else dict(first.values)
    values.update((source.name, source.value) for source in result.inputs)
    shapes: Mapping[str, Sequence[int]] = {} if first is None else first.shapes
    constants = {tensor.name for tensor in model.graph.initializer}
    feeds: list[tuple[str, str]] = []
    for entry in model.graph.input:
        if entry.name in constants:
            continue
        dtype = _DTYPES.get(entry.type.tensor_type.elem_type)
        if dtype is None:
            return ()
        if entry.name in values:
            array = _array(tuple(values[entry.name]), dtype)
        else:
            array = f"np.zeros({_shape(entry.type.tensor_type, shapes.get(entry.name))}, np.{dtype})"
        feeds.append((entry.name, array))
    return (
        "import numpy as np, onnxruntime as ort",
        f"session = ort.InferenceSession({path!r}, providers=['CPUExecutionProvider'])",
        f"outputs = session.run(None, {{{_feed_words(feeds)}}})",
    )


def _shape(declared: TypeProto.Tensor, verified: Sequence[int] | None) -> tuple[int, ...]:
    """The verified shape if it fits the declared one; that of a node that was run alone may not."""
    if not declared.HasField("shape"):
        return tuple(verified or ())
    sizes = numbers_in(dims_in(declared.shape))
    if verified is None or len(verified) != len(sizes):
        verified = [size or 1 for size in sizes]
    return tuple(length if size is None else size for size, length in zip(sizes, verified, strict=True))


@lru_cache(maxsize=64)
def _array(values: tuple[float, ...], dtype: str) -> str:
    """An array in Python; most of a thousand inputs get the same values."""
    numbers = (number_text(value) if isinstance(value, float) else str(value) for value in values)
    return f"np.array([{', '.join(numbers)}], np.{dtype})"


def _feed_words(feeds: Sequence[tuple[str, str]]) -> str:
    """The items of a dict. Many inputs at the end that are fed alike, as those of a thousand sites, are one item."""
    alike = len(list(takewhile(lambda feed: feed[1] == feeds[-1][1], reversed(feeds))))
    named = len(feeds) - alike if alike > _MOST_NAMED else len(feeds)
    items = [f"{name!r}: {array}" for name, array in feeds[:named]]
    if named < len(feeds):
        items.append(f"**{{i.name: {feeds[-1][1]} for i in session.get_inputs()[{named}:]}}")
    return ", ".join(items)
