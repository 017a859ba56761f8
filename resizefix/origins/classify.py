"""Provenance: where the scales or sizes of one node come from. What they mean is `Interpolation`'s business.

Tells the kinds of origin apart: an operand that is constant, an input already, computed from shapes, or data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, overload

from onnx import NodeProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, DefinitionKind, Reader, Scope, node_label, subgraphs
from resizefix.document.values import Dims
from resizefix.scope_path import Key
from resizefix.shapes.operand import readers_first
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.values import Constant, Unknown

if TYPE_CHECKING:
    from resizefix.origins.recover import Recoverer


class OriginKind(str, Enum):
    """The words of the JSON contract."""

    ATTRIBUTE = "attribute"
    INITIALIZER = "initializer"
    CONSTANT = "constant"  # a Constant node, in any of its spellings
    COMPUTED = "computed"  # folded from constants and input shapes
    GRAPH_INPUT = "graph-input"  # the caller feeds it, with or without a default
    RUNTIME = "runtime"  # depends on tensor data

    @property
    def is_constant(self) -> bool:
        """Whether it is a constant that the node itself reads."""
        return self in (OriginKind.ATTRIBUTE, OriginKind.INITIALIZER, OriginKind.CONSTANT)


class Others(Sequence[str]):
    """The readers of a constant but for one node, said without a list of its own for each of thousands of nodes."""

    __slots__ = ("_all", "_without")

    def __init__(self, everybody: Sequence[str] = (), without: Sequence[int] = ()) -> None:
        """`without`: the places of the node among `everybody`."""
        self._all, self._without = everybody, frozenset(without)

    def __len__(self) -> int:
        return len(self._all) - len(self._without)

    def __iter__(self) -> Iterator[str]:
        return (label for place, label in enumerate(self._all) if place not in self._without)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...

    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice) and index.start is None and (index.stop or 0) > 0 and index.step is None:
            return tuple(islice(self, index.stop))
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class Origin(NamedTuple):
    """`name` is the operand's tensor, or the graph input behind it; `shared_by` the other nodes that read the same
    constant; `chain` the operators between the operand and where it comes from, last first.

    For a computed operand: `says` is what the output size follows, in words; `recovered_scales` are the float32 scales
    that give its sizes, if every axis is a constant multiple, and `right_under_every_rule` says whether they do so in
    every runtime and at every size. `reason` says why no constant stands for the operand (it completes "its scales …"),
    or why its value is not known.
    """

    kind: OriginKind
    name: str | None = None
    shared_by: Sequence[str] = ()
    chain: tuple[str, ...] = ()
    recovered_scales: tuple[float, ...] | None = None
    reason: str | None = None
    says: str | None = None
    right_under_every_rule: bool | None = None


# A caller-fed input that drives a resize is a handful of numbers; a larger one is the data that is resized.
_MOST_CONTROL_ELEMENTS = 16


_INPUTS = frozenset({DefinitionKind.INPUT, DefinitionKind.DEFAULTED_INPUT})


class Classifier:
    """Classifies operands against one state of a document; `recoverer` is asked for what is not plainly constant."""

    def __init__(self, view: ModelView, recoverer: Callable[[], Recoverer]) -> None:
        self._view = view
        self._recoverer = recoverer
        self._readers_of: dict[Key, _Readers] = {}

    def classify(self, scope: Scope, operand: str, reader: NodeProto) -> tuple[Origin, Constant | None]:
        """The origin of tensor `operand` as `reader` reads it in `scope`, and its value where it is constant."""
        definition = self._view.scopes.definition(scope, operand)
        if definition is None:
            why = Diagnostic("document.nothing-defines", name=repr(operand))
            return Origin(OriginKind.RUNTIME, operand, reason=why), None
        definition = self._view.calls.origin(definition)
        constant = self._view.constants.constant(definition)
        if constant is not None:
            return self.constant_origin(constant, operand, reader), constant
        if definition.scope is self._view.scopes.main and definition.kind in _INPUTS:
            return Origin(OriginKind.GRAPH_INPUT, definition.name), None
        recoverer = self._recoverer()
        value = recoverer.constant(scope, operand)
        walk = _OriginWalk(self._view, recoverer)
        walk.follow(definition)
        if value is not None:
            folded = Constant(value, definition, tuple(walk.chain))
            return self.constant_origin(folded, operand, reader), folded
        return self._moving_origin(walk, operand, definition), None

    def constant_origin(self, constant: Constant, operand: str, reader: NodeProto) -> Origin:
        """The origin of an operand whose value is known to be that constant."""
        others = self._readers(constant.definition).but(reader)
        if constant.definition.kind is DefinitionKind.INITIALIZER:
            return Origin(OriginKind.INITIALIZER, constant.definition.name, others)
        node = constant.definition.node
        if not constant.chain or (node is not None and node.op_type == "Constant"):
            return Origin(OriginKind.CONSTANT, operand, others)
        return Origin(OriginKind.COMPUTED, operand, others, tuple(link.op_type for link in constant.chain))

    def _readers(self, definition: Definition) -> _Readers:
        # Remembered: where all sites share one constant, all of them ask for all of them.
        if definition.key not in self._readers_of:
            self._readers_of[definition.key] = _Readers(self._view.scopes.readers(definition))
        return self._readers_of[definition.key]

    def _moving_origin(self, walk: _OriginWalk, operand: str, definition: Definition) -> Origin:
        chain = tuple(node.op_type for node in walk.chain)
        if walk.data:
            return Origin(OriginKind.RUNTIME, operand, chain=chain, reason=walk.data[0])
        if walk.controls:
            return Origin(OriginKind.GRAPH_INPUT, walk.controls[0], chain=chain)
        why = self._view.constants.follow(definition)
        if chain == ("Constant",) and isinstance(why, Unknown):
            return Origin(OriginKind.CONSTANT, operand, reason=Diagnostic("origins.differs-by-call", why=why.reason))
        return Origin(OriginKind.COMPUTED, operand, chain=chain)


class _Readers:
    """All that read one value, as labels."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        self._nodes = [reader.node for reader in readers]  # kept, so that each node keeps its id
        self._labels = tuple(
            "graph output" if reader.node is None else node_label(reader.node, reader.node_index or 0)
            for reader in readers
        )
        self._places: dict[int, list[int]] = {}
        for place, node in enumerate(self._nodes):
            self._places.setdefault(id(node), []).append(place)

    def but(self, node: NodeProto) -> Others:
        """Those that are not the node."""
        return Others(self._labels, self._places.get(id(node), ()))


class _OriginWalk:
    """Everything behind an operand, up to shapes, constants, inputs and data."""

    def __init__(self, view: ModelView, recoverer: Recoverer) -> None:
        self._view = view
        self._values = recoverer.values
        self.chain: list[NodeProto] = []
        self.controls: list[str] = []  # caller-fed inputs that are a few numbers
        self.data: list[str] = []  # what makes it run-time data, as sentences

    def follow(self, start: Definition) -> None:
        for _ in readers_first(start, lambda definition: self._visited(definition, direct=definition is start)):
            pass

    def _visited(self, definition: Definition, *, direct: bool) -> list[Definition]:
        """Note what a definition is; what it is computed from."""
        if definition.node is not None:
            return self._through(definition, definition.node)
        if definition.kind is DefinitionKind.INITIALIZER:
            return []
        argument = self._view.calls.argument(definition)
        if argument is None:
            self._at_input(definition, direct=direct)
        return [] if argument is None else [argument]

    def _through(self, definition: Definition, node: NodeProto) -> list[Definition]:
        self.chain.append(node)
        is_call = self._view.calls.result(definition) is not None
        if node.domain not in DEFAULT_DOMAINS and not is_call:
            called = {"domain": node.domain, "operator": node.op_type}
            self.data.append(Diagnostic("origins.unknown-operator", name=definition.name, **called))
        elif any(True for _ in subgraphs(node)) and not is_call and self._view.calls.branches(definition) is None:
            self.data.append(Diagnostic("origins.run-time-node", name=definition.name, operator=node.op_type))
            return []
        return self._values.across(definition, chosen=True)

    def _at_input(self, definition: Definition, *, direct: bool) -> None:
        name = definition.name
        if definition.scope is not self._view.scopes.main:
            where = definition.scope.path.steps[-1]
            code = "origins.input-of-function" if definition.scope.in_function else "origins.input-of-body"
            self.data.append(Diagnostic(code, name=name, where=where))
        elif direct or _is_few(self._view.shapes.dims(definition.key)):
            self.controls.append(name)
        else:
            self.data.append(Diagnostic("origins.depends-on-values", what="the input", name=name))


def _is_few(dims: Dims | None) -> bool:
    """Whether a tensor holds a handful of numbers: an open length counts as one, an open matrix does not."""
    if dims is None:
        return False
    if not all(isinstance(size, int) for size in dims):
        return len(dims) <= 1
    return math.prod(size for size in dims if isinstance(size, int)) <= _MOST_CONTROL_ELEMENTS
