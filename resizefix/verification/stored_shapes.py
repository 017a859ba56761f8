"""The shapes that a file stores, held against every run of it; and the feeds that they demand.

onnxruntime believes a stored shape at the default level, other readers at any. One is wrong where a number differs from
the run, a symbol is two sizes, or the rank differs. What the model before says wrongly of itself, too, is no fault of
the change. Where the file fixes the size of an output that an input decides, anything else that is fed contradicts it:
then there is nothing to compare with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from onnx import NodeProto

from resizefix.diagnostics import Diagnostic, RefusedError, ResizefixError
from resizefix.dialects.dialect import RESIZES, dialect_of, is_resize
from resizefix.document.document import Document
from resizefix.document.scopes import DEFAULT_DOMAINS, DefinitionKind, Scopes
from resizefix.document.values import Array, Dims, dims_of, set_shape
from resizefix.document.view import View
from resizefix.runtimes.inputs import Feeds, shapes_of
from resizefix.runtimes.ort_session import Session
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.dependents import Dependents
from resizefix.shapes.output_size import BROADCASTING, KEEPING
from resizefix.shapes.stored_shapes import Shapes

if TYPE_CHECKING:
    from resizefix.verification.engine import Engine

ShapesOfRun = Mapping[str, tuple[int, ...]]


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
        made_inside = {name for node in self.candidate.proto.graph.node for name in node.output}
        self.measured = tuple(dict.fromkeys(name for name, _ in self._dims if name in made_inside))

    def saw(self, feeds: Feeds, ran: ShapesOfRun) -> None:
        """Look at one run without optimisation."""
        fed = shapes_of(feeds)
        wrong = contradictions(self._dims, {**fed, **ran})
        if not wrong.keys() <= self.wrong.keys():
            self._feeds.append(feeds)
        if wrong:
            self._wrong_anyway |= contradictions(self._old, {**fed, **ran}).keys()
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
                    engine.fit(self.before, shapes={}, session=session)
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


def contradictions(stored: Iterable[tuple[str, Dims]], ran: ShapesOfRun) -> dict[Conflict, str]:
    """What stored shapes say that a run does not bear out, and how."""
    wrong: dict[Conflict, str] = {}
    sizes: dict[str, int] = {}
    for name, dims in stored:
        shape = ran.get(name)
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


def feeds_from_declared_shapes(document: Document, given: Mapping[str, Sequence[int]]) -> dict[str, Array]:
    """Values for the inputs that are the scales or sizes of a node between tensors of fixed size, by name.

    `given` are the shapes of inputs that the user fixes.
    """
    graph = document.proto.graph
    inputs = {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}
    if not any(node.op_type in RESIZES and not inputs.isdisjoint(node.input[1:]) for node in graph.node):
        return {}
    scopes = View(document.proto).scopes
    fed = [
        (node, position, name)
        for node in scopes.main.body.node
        if is_resize(node)
        for position, name in enumerate(node.input)
        if position and name and (definition := scopes.definition(scopes.main, name)) is not None
        if definition.kind is DefinitionKind.INPUT
    ]
    if not fed:
        return {}
    fixed = document.copy().proto
    for value in fixed.graph.input:
        if value.name in given:
            set_shape(value, list(given[value.name]))
    shapes, declared = Shapes(fixed), dict[str, Array]()
    for node, position, name in fed:
        try:
            dialect = dialect_of(node.op_type, scopes.main.opset)
        except RefusedError:  # another node, that is not valid
            continue
        before, after = shapes.dims((MAIN, node.input[0])), _behind(scopes, shapes, node)
        lengths = _lengths(node, before), _lengths(node, after)
        if lengths[0] is None or lengths[1] is None or len(lengths[0]) != len(lengths[1]):
            continue
        if position == dialect.sizes_input:
            declared[name] = np.array(lengths[1], np.int64)
        elif position == dialect.scales_input and 0 not in lengths[0]:
            declared[name] = np.array(lengths[1], np.float32) / np.array(lengths[0], np.float32)
    return declared


def _behind(scopes: Scopes, shapes: Shapes, node: NodeProto) -> Dims | None:
    """The fixed sizes of what a node makes, or else of what is made of that elementwise: sizes that it may have."""
    pending = [node.output[0]]
    seen = set(pending)
    while pending:
        name = pending.pop()
        dims = shapes.dims((MAIN, name))
        if dims is not None and all(isinstance(size, int) for size in dims):
            return dims
        definition = scopes.definition(scopes.main, name)
        for reader in () if definition is None else scopes.readers(definition):
            node_behind = reader.node
            if node_behind is None or reader.scope is not scopes.main or node_behind.domain not in DEFAULT_DOMAINS:
                continue
            keeps = node_behind.op_type in BROADCASTING or (node_behind.op_type in KEEPING and reader.position == 0)
            if keeps and node_behind.output[0] not in seen:
                seen.add(node_behind.output[0])
                pending.append(node_behind.output[0])
    return shapes.dims((MAIN, node.output[0]))


def _lengths(node: NodeProto, dims: Dims | None) -> list[int] | None:
    """The sizes on the axes that the node's operand has a number for; None where one is not fixed."""
    if dims is None:
        return None
    axes = next((list(attribute.ints) for attribute in node.attribute if attribute.name == "axes"), range(len(dims)))
    sizes = [dims[axis] for axis in axes if -len(dims) <= axis < len(dims)]
    fixed = [size for size in sizes if isinstance(size, int)]
    return fixed if len(fixed) == len(list(axes)) else None
