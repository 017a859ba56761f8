"""Sizes followed forward through the main graph: what becomes of every tensor when a resize takes another scale.

Nothing is run. Each case gives some resizes other operands; all cases are followed in one pass, side by side with the
old operands, and a tensor is looked at only where its sizes differ from the old ones. A case ends at the first node
whose inputs no longer fit together, which is where onnxruntime would stop, or at one of which it is not known whether
they do: an operator without a row, a body, a local function, a size that depends on data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto, TypeProto, helper

from resizefix.dialects.snapshot import Snapshot
from resizefix.document.constants import SHAPE_READERS, Constant
from resizefix.document.scopes import DEFAULT_DOMAINS, node_label, reads
from resizefix.interpolation import ExtentKind
from resizefix.opsets.evaluation import evaluate, is_evaluated
from resizefix.opsets.inference import Array
from resizefix.origins.axis_sizes import BROADCASTING
from resizefix.origins.size_rows import PASSING, ROWS, ConflictError, Dims, UnknownSizesError, resized_by
from resizefix.scope_path import MAIN

OLD = -1  # the case in which every resize keeps its operand
_MOST_VALUES = 1024  # of a tensor that lists sizes
_DEEPEST = 100  # nodes between a Shape and what reads the list that is made of it
_MOST_STEPS = 200_000  # nodes times cases: a file may multiply them; what is left then is unknown


@dataclass(frozen=True)
class Moved:
    """What one resize reads: `old`, and other scales or sizes in some cases. `axes` as its node names them."""

    kind: ExtentKind
    axes: tuple[int, ...] | None
    old: tuple[float, ...]
    cases: Mapping[int, tuple[float, ...]]

    def at(self, case: int) -> tuple[float, ...]:
        """The operand in a case."""
        return self.cases.get(case, self.old)


class Ended(NamedTuple):
    """Where a case ended. `fits` is False where the node's inputs do not fit together, None where that is not known.

    `partner` is the input that keeps its sizes where the case moves another.
    """

    fits: bool | None
    node: str
    partner: str | None = None


class OldSizesError(Exception):
    """The inputs' sizes do not fit the model even with the old operands."""


class SizeFlow:
    """Follows sizes over one snapshot of a document. `inputs` are sizes for graph inputs that the file leaves open."""

    def __init__(self, snapshot: Snapshot, inputs: Mapping[str, Dims]) -> None:
        self._scopes = snapshot.scopes
        self._main = snapshot.scopes.main
        self._constants = snapshot.constants
        self._shapes = snapshot.shapes
        self._old: dict[str, Dims | None] = dict(inputs)
        self._is_open = bool(inputs)
        self._varied: dict[str, Mapping[int, Dims | None]] = {}
        self._listing: dict[str, frozenset[int]] = {}  # names whose values differ in these cases: lists of sizes
        self._values: dict[tuple[str, int], Array | None] = {}
        self._ended: dict[int, Ended] = {}
        self._steps = 0

    def ends(self, moved: Mapping[str, Moved], cases: Sequence[int]) -> dict[int, Ended]:
        """Where the cases end that do not go through; `moved` holds the resizes that a case may move, by their outputs.

        Raises OldSizesError where the given sizes do not fit together in the first place.
        """
        wanted = self._wanted(moved) if self._is_open else None
        left = set(cases)
        for index, node in enumerate(self._main.body.node):
            if wanted is not None and index not in wanted:
                continue
            self._follow(index, node, moved.get(node.output[0]) if node.output else None)
            if len(self._ended) == len(left) and self._ended.keys() == left:
                break
        return self._ended

    # ---- what must be looked at where the file leaves sizes open ----

    def _wanted(self, moved: Iterable[str]) -> set[int]:
        """The nodes behind the resizes, and those from which the sizes of what these read follow."""
        reached = set(moved)
        wanted: set[int] = set()
        pending: list[str] = []
        for index, node in enumerate(self._main.body.node):
            if not reached.isdisjoint(node.output) or not reached.isdisjoint(self._read(index, node)):
                reached.update(filter(None, node.output))
                wanted.add(index)
                pending += node.input
        producers = self._main.producers
        while pending:
            index = producers.get(pending.pop(), -1)
            if index >= 0 and index not in wanted:
                wanted.add(index)
                pending += self._main.body.node[index].input
        return wanted

    @cached_property
    def _captured(self) -> dict[int, set[str]]:
        """What the bodies of a node read, by the node's position."""
        found: dict[int, set[str]] = {}
        for (path, index), bodies in self._scopes.held.items():
            if path:
                continue
            pending = list(bodies)
            while pending:
                body = pending.pop()
                found.setdefault(index, set()).update(name for name, _ in reads(body))
                for position in range(len(body.body.node)):
                    pending += self._scopes.held.get((body.path, position), ())
        return found

    def _read(self, index: int, node: NodeProto) -> Iterable[str]:
        captured = self._captured.get(index) if node.attribute else None
        return node.input if captured is None else [*node.input, *captured]

    # ---- one node ----

    def _follow(self, index: int, node: NodeProto, moved: Moved | None) -> None:
        varied, listing = self._varied, self._listing
        read = self._read(index, node)
        if moved is None:
            if not self._is_open and varied.keys().isdisjoint(read) and listing.keys().isdisjoint(read):
                return
            if node.op_type in PASSING and node.domain in DEFAULT_DOMAINS and self._passed_on(node):
                return
        cases: set[int] = set() if moved is None else set(moved.cases)
        for name in read:
            cases.update(varied.get(name, ()), listing.get(name, ()))
        cases.difference_update(self._ended)
        if not cases and not self._is_open:
            return
        default = node.domain in DEFAULT_DOMAINS
        row = ROWS.get(node.op_type) if default and not self._captured.get(index) else None
        self._steps += len(cases) + 1
        if moved is None and (row is None or self._steps > _MOST_STEPS):
            self._end(cases, Ended(None, node_label(node, index)))
            return
        view = _View(self, node, self._main.opset, OLD)

        def made(case: int) -> Sequence[Dims | None]:
            view.case = case
            if moved is not None:
                return [resized_by(view.dims(0), moved.kind, moved.axes, moved.at(case))]
            assert row is not None
            return row(view)

        try:
            old = list(made(OLD))
        except ConflictError as conflict:
            if self._is_open:
                raise OldSizesError from conflict
            old = []
        except UnknownSizesError:
            old = []
        self._store_old(node, old)
        for case in sorted(cases):
            try:
                if not old:
                    raise UnknownSizesError
                self._store(node, case, old, made(case))
            except ConflictError as conflict:
                self._ended[case] = Ended(False, node_label(node, index), self._partner(node, case, conflict))
            except UnknownSizesError:
                self._ended[case] = Ended(None, node_label(node, index))
        differs = cases.difference(self._ended)
        if differs and (node.op_type in SHAPE_READERS or self._lists(node)):
            for name in filter(None, node.output):
                listing[name] = frozenset(differs)

    def _passed_on(self, node: NodeProto) -> bool:
        """Whether it is seen at once that the output has the sizes of the first input in every case."""
        first, *others = node.input
        varied, listing = self._varied, self._listing
        source = varied.get(first)
        if first in listing or len(node.output) != 1:
            return False
        broadcasts = node.op_type in BROADCASTING
        for name in others:
            if name in listing or (name in varied and varied[name] is not source):
                return False
            if broadcasts and name not in varied and not self._is_single(name, source, first):
                return False
        if self._is_open:
            self._old[node.output[0]] = self.old(first)
        if source is not None:
            varied[node.output[0]] = source
        return True

    def _is_single(self, name: str, source: Mapping[int, Dims | None] | None, first: str) -> bool:
        """Whether a tensor is one number, broadcast to another of its rank or a higher one."""
        dims = self.old(name)
        other = self.old(first) if source is None else next(iter(source.values()))
        return dims is not None and other is not None and len(dims) <= len(other) and set(dims) <= {1}

    def _lists(self, node: NodeProto) -> bool:
        """Whether values that differ go through the node: a few numbers, made of lists of sizes."""
        return any(name in self._listing for name in node.input) and all(
            (dims := self.old(name)) is None
            or int(np.prod(dims, dtype=object)) <= _MOST_VALUES
            or is_evaluated(node.op_type)
            for name in node.output
            if name
        )

    def _store_old(self, node: NodeProto, made: Sequence[Dims | None]) -> None:
        for name, dims in zip(node.output, made, strict=False):
            if name and dims is not None and (self._is_open or self.old(name) is None):
                self._old[name] = dims

    def _store(self, node: NodeProto, case: int, old: Sequence[Dims | None], made: Sequence[Dims | None]) -> None:
        for name, before, after in zip(node.output, old, made, strict=False):
            if after is None and before is not None:
                raise UnknownSizesError
            if name and (after != before or after is None):
                found = self._varied.setdefault(name, {})
                assert isinstance(found, dict)
                found[case] = after

    def _end(self, cases: Iterable[int], ended: Ended) -> None:
        self._ended.update(dict.fromkeys(cases, ended))

    def _partner(self, node: NodeProto, case: int, conflict: ConflictError) -> str | None:
        names = [node.input[position] for position in conflict.positions if position < len(node.input)]
        kept = [name for name in names if name and case not in self._varied.get(name, ())]
        return kept[0] if kept else None

    # ---- sizes and values ----

    def old(self, name: str) -> Dims | None:
        """The sizes of a tensor with the old operands; None where they are not known."""
        if name not in self._old:
            dims = self._shapes.dims((MAIN, name))
            fixed = None if dims is None else tuple(size for size in dims if isinstance(size, int))
            self._old[name] = fixed if dims is not None and fixed is not None and len(fixed) == len(dims) else None
        return self._old[name]

    def dims(self, name: str, case: int) -> Dims | None:
        """The sizes of a tensor in a case."""
        found = self._varied.get(name)
        return self.old(name) if found is None or case not in found else found[case]

    def type_of(self, name: str, case: int) -> TypeProto | None:
        """The type of a tensor in a case; None where its sizes are not known."""
        dims = self.dims(name, case)
        elem_type = self._shapes.elem_type((MAIN, name)) or TensorProto.FLOAT
        return None if dims is None else helper.make_tensor_type_proto(elem_type, dims)

    def value(self, name: str, case: int, depth: int = 0) -> Array | None:
        """The value of a list of sizes in a case; None where it depends on more than sizes."""
        key = name, case
        if key not in self._values:
            self._values[key] = None if depth > _DEEPEST else self._evaluated(name, case, depth)
        return self._values[key]

    def _evaluated(self, name: str, case: int, depth: int) -> Array | None:
        definition = self._scopes.definition(self._main, name)
        if definition is None:
            return None
        node = definition.node
        if node is None or node.op_type == "Constant":
            found = self._constants.value_of(self._main, name)
            return found.value if isinstance(found, Constant) else None
        if not is_evaluated(node.op_type):
            return None
        operands: list[Array | None] = [None] * len(node.input)
        dims = self.dims(node.input[0], case) if node.input else None
        if node.op_type not in SHAPE_READERS:
            operands = [self.value(operand, case, depth + 1) if operand else None for operand in node.input]
        values = evaluate(node, operands, dims)
        return None if values is None else values[list(node.output).index(name)]


class _View:
    """One node in one case, as the rows see it."""

    def __init__(self, flow: SizeFlow, node: NodeProto, opset: int, case: int) -> None:
        self._flow = flow
        self.node = node
        self.opset = opset
        self.case = case
        self._attributes: dict[str, Any] | None = None

    def __len__(self) -> int:
        return len(self.node.input)

    def dims(self, position: int) -> Dims:
        """The sizes of an input. Raises UnknownSizesError."""
        name = self.node.input[position] if position < len(self.node.input) else ""
        found = self._flow.dims(name, self.case) if name else None
        if found is None:
            raise UnknownSizesError
        return found

    def has(self, position: int) -> bool:
        """Whether an input is given."""
        return position < len(self.node.input) and bool(self.node.input[position])

    def old(self, position: int) -> Dims:
        """The sizes of an input with the old operands. Raises UnknownSizesError."""
        found = self._flow.old(self.node.input[position])
        if found is None:
            raise UnknownSizesError
        return found

    def value(self, position: int) -> Array:
        """The value of an input that lists sizes. Raises UnknownSizesError."""
        found = self.value_of(self.node.input[position]) if self.has(position) else None
        if found is None:
            raise UnknownSizesError
        return found

    def value_of(self, name: str) -> Array | None:
        """The value of an input by its name."""
        return self._flow.value(name, self.case)

    def type_of(self, name: str) -> TypeProto | None:
        """The type of an input by its name."""
        return self._flow.type_of(name, self.case)

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute's value."""
        if self._attributes is None:
            self._attributes = {found.name: helper.get_attribute_value(found) for found in self.node.attribute}
        return self._attributes.get(name, default)
