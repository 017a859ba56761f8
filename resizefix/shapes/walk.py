"""Sizes followed forward through the main graph: what becomes of every tensor when a resize takes another scale.

Nothing is run. Each case gives some resizes other operands; all cases are followed in one pass, side by side with the
old operands, and a tensor is looked at only where its sizes differ from the old ones. A case ends at the first node
whose inputs no longer fit together, which is where onnxruntime would stop, or at one of which it is not known whether
they do: an operator without a row, a body, a local function, a size that depends on data.
"""

import math
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto, TypeProto, helper

from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, Scope, in_order, node_label
from resizefix.document.values import Array
from resizefix.interpolation import ExtentKind
from resizefix.scope_path import Key
from resizefix.shapes.dependents import SizeReach
from resizefix.shapes.expression import Expression, Number, UntraceableError
from resizefix.shapes.inference import ConflictError, FixedDims, NumberReading, Numbers, UnknownSizesError
from resizefix.shapes.operand import SHAPE_READERS
from resizefix.shapes.output_size import BROADCASTING, kernel_length
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.table import PASSING, has_row
from resizefix.shapes.values import Values

OLD = -1  # the case in which every resize keeps its operand
_MOST_VALUES = 1024  # of a tensor that lists sizes
_ONE = frozenset({1})
_DEEPEST_SCOPE = 16  # bodies in bodies, functions that call functions
_EXACT = 2**24  # up to here every size is a float32
_MOST_STEPS = 200_000  # nodes times cases: a file may multiply them; what is left then is unknown


class Moved(NamedTuple):
    """What one resize reads: `old`, and other scales or sizes in some cases. `axes` as its node names them."""

    kind: ExtentKind
    axes: tuple[int, ...] | None
    old: tuple[float, ...]
    cases: Mapping[int, tuple[float, ...]]

    def at(self, case: int) -> tuple[float, ...]:
        """The operand in a case."""
        return self.cases.get(case, self.old)


class WalkEnded(NamedTuple):
    """Where a case ended. `fits` is False where the node's inputs do not fit together, None where that is not known.

    `partner` is the input that keeps its sizes where the case moves another.
    """

    fits: bool | None
    node: str
    partner: str | None = None


class OldSizesError(Exception):
    """The inputs' sizes do not fit the model even with the old operands."""


@dataclass
class _Inquiry:
    """What the flows of all scopes share."""

    moved: Mapping[Key, Moved]
    cases: frozenset[int]
    ended: dict[int, WalkEnded] = field(default_factory=dict)
    steps: int = 0
    numbers: Numbers = field(default_factory=Numbers)


class SizeFlow:
    """Follows sizes through one scope of a view, and through the branches and functions that its nodes run."""

    def __init__(self, view: ModelView, inputs: Mapping[str, FixedDims]) -> None:
        """Of the main graph. `inputs` are sizes for its inputs where the file leaves some open."""
        self._view = view
        self._scopes = view.scopes
        self._scope = view.scopes.main
        self._outer: SizeFlow | None = None
        self._arguments: Mapping[str, str] = {}  # of a function's call, by the names of the function's inputs
        self._is_certain = True  # whether the scope runs when the model does
        self._is_open = bool(inputs)  # whether sizes are worked out here, node by node
        self._old: dict[str, FixedDims | None] = dict(inputs)
        self._varied: MutableMapping[str, Mapping[int, FixedDims | None]] = {}
        self._listing: MutableMapping[str, frozenset[int]] = {}  # names whose values differ: lists of sizes
        self._values: dict[int, Values] = {}  # by case
        self._inquiry = _Inquiry({}, frozenset())

    def ends(self, moved: Mapping[Key, Moved], cases: Iterable[int]) -> dict[int, WalkEnded]:
        """Where the cases end that do not go through; `moved` holds the resizes that a case may move, by their outputs.

        Raises OldSizesError where the given sizes do not fit together in the first place.
        """
        self._inquiry = _Inquiry(moved, frozenset(cases))
        self._walk(self._reach.wanted() if self._is_open else None)
        return self._inquiry.ended

    def work_out(self, names: Iterable[str]) -> None:
        """Work out the sizes of these tensors, and of those that they are made of: then `old` says them.

        Raises OldSizesError.
        """
        self._walk(self._reach.behind(names))

    def _walk(self, wanted: set[int] | None) -> None:
        places = self._scope.producers
        sites = {places[name]: moved for (path, name), moved in self._inquiry.moved.items() if path == self._scope.path}
        bodies = {*sites, *self._reach.inside, *self._reach.captured}
        is_open = self._is_open
        varied, listing = self._varied.keys(), self._listing.keys()
        nodes = self._scope.body.node
        is_sorted = all(places.get(name, -1) < index for index, node in enumerate(nodes) for name in node.input)
        for index in range(len(nodes)) if is_sorted else in_order(list(nodes)):
            node = nodes[index]
            if wanted is not None and index not in wanted:
                continue
            # Most nodes are passed over here: the model may have a hundred thousand.
            if index not in bodies:
                read = node.input
                if not is_open and varied.isdisjoint(read) and listing.isdisjoint(read):
                    continue
                if read and node.op_type in PASSING and self._passed_on(node, read):
                    continue
            self._follow(index, node, sites.get(index))
            if self._inquiry.cases and len(self._inquiry.ended) >= len(self._inquiry.cases):
                break

    @cached_property
    def _reach(self) -> SizeReach:
        cases = {key: frozenset(moved.cases) for key, moved in self._inquiry.moved.items()}
        return SizeReach(self._scopes, self._scope, cases)

    # ---- one node ----

    def _follow(self, index: int, node: NodeProto, moved: Moved | None) -> None:
        cases = {*self._reach.inside.get(index, ()), *(() if moved is None else moved.cases)}
        for name in self._reach.read(index, node):
            cases.update(self._varied.get(name, ()), self._listing.get(name, ()))
        cases = {case for case in cases if case not in self._inquiry.ended}
        if not cases and not self._is_open:
            return
        label = node_label(node, index)
        self._inquiry.steps += len(cases) + 1
        if self._inquiry.steps > _MOST_STEPS:
            self._end(cases, label)
        elif (inner := self._inner(index, node)) is not None:
            self._enter(node, cases, inner, label)
        else:
            self._compute(node, moved, cases, label)

    def _compute(self, node: NodeProto, moved: Moved | None, cases: set[int], label: str) -> None:
        dims_at: Callable[[int], list[FixedDims | None]] = (
            NumberReading(self, self._inquiry.numbers, node, self._scope.opset).made
            if moved is None
            else partial(self._resized, node, moved)
        )
        try:
            old = dims_at(OLD)
        except ConflictError as conflict:
            if self._is_open and self._is_certain:
                raise OldSizesError(label) from conflict
            old = []
        except UnknownSizesError:
            old = []
        for name, dims in zip(node.output, old, strict=False):
            if name and dims is not None and (self._is_open or self.old(name) is None):
                self._old[name] = dims
        for case in sorted(cases):
            try:
                if not old:
                    raise UnknownSizesError
                self._store(node, case, old, dims_at(case))
            except ConflictError as conflict:
                if self._is_certain:
                    self._inquiry.ended[case] = WalkEnded(False, label, self._partner(node, case, conflict))
                else:
                    self._end([case], label)
            except UnknownSizesError:
                self._end([case], label)
        differs = cases.difference(self._inquiry.ended)
        if differs and (node.op_type in SHAPE_READERS or self._lists(node)):
            self._listing.update(dict.fromkeys(filter(None, node.output), frozenset(differs)))

    def _resized(self, node: NodeProto, moved: Moved, case: int) -> list[FixedDims | None]:
        dims = self.dims(node.input[0], case)
        if dims is None:
            raise UnknownSizesError
        return [resized_by(dims, moved.kind, moved.axes, moved.at(case))]

    # ---- branches and functions ----

    def _inner(self, index: int, node: NodeProto) -> "list[SizeFlow] | None":
        """The flows through what a node runs: a function, one branch or both; none where that cannot be followed."""
        function = self._scopes.called(node)
        if function is not None:
            return [self._within(function, dict(zip(function.body.input, node.input, strict=False)))]
        bodies = self._scopes.held.get((self._scope.path, index))
        if bodies is None:
            return None
        if node.op_type != "If" or node.domain not in DEFAULT_DOMAINS:
            return []
        condition = self.value(node.input[0], OLD) if node.input and node.input[0] not in self._listing else None
        if condition is not None:
            wanted = "then_branch" if condition.all() else "else_branch"
            return [self._within(body, None) for body in bodies if body.path.attribute == wanted]
        return [self._within(body, None, is_certain=False) for body in bodies]

    def _new(self) -> "SizeFlow":
        return SizeFlow(self._view, {})

    def _within(self, scope: Scope, arguments: Mapping[str, str] | None, *, is_certain: bool = True) -> "SizeFlow":
        """The flow through a body, or with `arguments` through a function."""
        flow = self._new()
        flow._scope, flow._outer, flow._inquiry = scope, self, self._inquiry
        flow._is_certain = self._is_certain and is_certain
        if arguments is None:
            flow._is_open = self._is_open
            flow._varied, flow._listing = ChainMap({}, self._varied), ChainMap({}, self._listing)
        else:
            flow._is_open, flow._arguments = True, arguments
            for formal, actual in arguments.items():
                flow._old[formal] = self.old(actual) if actual else None
                if actual in self._varied:
                    flow._varied[formal] = self._varied[actual]
                if actual in self._listing:
                    flow._listing[formal] = self._listing[actual]
        return flow

    def _enter(self, node: NodeProto, cases: set[int], flows: "Sequence[SizeFlow]", label: str) -> None:
        if not flows or self._depth > _DEEPEST_SCOPE:
            self._end(cases, label)
            return
        for flow in flows:
            flow._walk(None)
        outputs = (flow._scope.body.output for flow in flows)
        for name, *given in zip(node.output, *outputs, strict=False):
            inner = [value if isinstance(value, str) else value.name for value in given]
            if not name:
                continue
            ways = list(zip(flows, inner, strict=True))
            old = _common(flow.old(output) for flow, output in ways)
            if old is not None and (self._is_open or self.old(name) is None):
                self._old[name] = old
            differing = {case for flow, output in ways for case in flow._varied.get(output, ())}
            differing -= self._inquiry.ended.keys()
            if differing:
                dims_by_case = {case: _common(flow.dims(output, case) for flow, output in ways) for case in differing}
                self._varied[name] = dims_by_case
            listed = {case for flow, output in ways for case in flow._listing.get(output, ())}
            if listed:
                self._listing[name] = frozenset(listed)

    @property
    def _depth(self) -> int:
        return 0 if self._outer is None else self._outer._depth + 1

    def _passed_on(self, node: NodeProto, read: Sequence[str]) -> bool:
        """Whether it is seen at once that the output has the sizes of the first input in every case."""
        first, *others = read
        varied, listing = self._varied, self._listing
        source = varied.get(first)
        outputs = node.output
        if first in listing or len(outputs) != 1 or node.domain not in DEFAULT_DOMAINS:
            return False
        for name in others:
            if name in listing or (name in varied and varied[name] is not source):
                return False
            if node.op_type in BROADCASTING and name not in varied and not self._is_single(name, source, first):
                return False
        if self._is_open:
            self._old[outputs[0]] = self.old(first)
        if source is not None:
            varied[outputs[0]] = source
        return True

    def _is_single(self, name: str, source: Mapping[int, FixedDims | None] | None, first: str) -> bool:
        """Whether a tensor is one number, broadcast to another of its rank or a higher one."""
        dims = self.old(name)
        other = self.old(first) if source is None else next(iter(source.values()))
        return dims is not None and other is not None and len(dims) <= len(other) and _ONE.issuperset(dims)

    def _lists(self, node: NodeProto) -> bool:
        """Whether values that differ go through the node: a few numbers, made of lists of sizes."""
        return any(name in self._listing for name in node.input) and all(
            (dims := self.old(name)) is None or int(np.prod(dims, dtype=object)) <= _MOST_VALUES or has_row(node)
            for name in node.output
            if name
        )

    def _store(
        self, node: NodeProto, case: int, old: Sequence[FixedDims | None], new: Sequence[FixedDims | None]
    ) -> None:
        for name, before, after in zip(node.output, old, new, strict=False):
            if after is None and before is not None:
                raise UnknownSizesError
            if name and (after != before or after is None):
                varied = self._varied.setdefault(name, {})
                assert isinstance(varied, dict)
                varied[case] = after

    def _end(self, cases: Iterable[int], label: str) -> None:
        self._inquiry.ended.update(dict.fromkeys(cases, WalkEnded(None, label)))

    def _partner(self, node: NodeProto, case: int, conflict: ConflictError) -> str | None:
        names = [node.input[position] for position in conflict.positions if position < len(node.input)]
        staying = [name for name in names if name and case not in self._varied.get(name, ())]
        return staying[0] if staying else None

    # ---- sizes and values ----

    def old(self, name: str) -> FixedDims | None:
        """The sizes of a tensor with the old operands; None where they are not known."""
        if name not in self._old:
            home = self._home(name)
            if home is not self:
                return None if home is None else home.old(name)
            dims = self._view.shapes.dims((self._scope.path, name)) if not self._scope.in_function else None
            fixed = tuple(size for size in dims or () if isinstance(size, int))
            self._old[name] = fixed if dims is not None and len(fixed) == len(dims) else None
        return self._old[name]

    def _home(self, name: str) -> "SizeFlow | None":
        """The flow through the scope that defines a name which is read here."""
        if self._outer is None or self._scope.defines(name):
            return self
        return None if self._scope.parent is None else self._outer._home(name)

    def dims(self, name: str, case: int) -> FixedDims | None:
        """The sizes of a tensor in a case."""
        varied = self._varied.get(name)
        return self.old(name) if varied is None or case not in varied else varied[case]

    def type_of(self, name: str, case: int) -> TypeProto | None:
        """The type of a tensor in a case; None where its sizes are not known."""
        dims, home = self.dims(name, case), self._home(name)
        elem_type = None if home is None else self._view.shapes.elem_type((home._scope.path, name))
        return None if dims is None else helper.make_tensor_type_proto(elem_type or TensorProto.FLOAT, dims)

    def value(self, name: str, case: int) -> Array | None:
        """The value of a list of sizes in a case; None where it depends on more than sizes."""
        home = self._home(name)
        if home is not self:
            return None if home is None else home.value(name, case)
        if case not in self._values:
            self._values[case] = Values(
                self._view.document.array,
                self._scopes,
                constants=self._view.constants,
                sizes=partial(self._sizes, case),
                given=partial(self._argument, case),
            )
        return self._values[case].array(self._scope, name)

    def _sizes(self, case: int, definition: Definition) -> list[Expression]:
        home = self._home(definition.name)
        dims = None if home is None or home._scope is not definition.scope else self.dims(definition.name, case)
        if dims is None:
            raise UntraceableError("origins.rank-of-shape-unknown", name=definition.name)
        return [Number(size, "int64") for size in dims]

    def _argument(self, case: int, definition: Definition) -> Array | None:
        """What the call gives for an input of the function."""
        home = self._home(definition.name)
        actual = None if home is None or home._scope is not definition.scope else home._arguments.get(definition.name)
        outer = None if home is None else home._outer
        return outer.value(actual, case) if outer is not None and actual else None


def _common(shapes: Iterable[FixedDims | None]) -> FixedDims | None:
    """What they all are; None where they differ."""
    distinct = set(shapes)
    return distinct.pop() if len(distinct) == 1 else None


@lru_cache(maxsize=1024)
def resized_by(
    dims: FixedDims, kind: ExtentKind, axes: tuple[int, ...] | None, operand: tuple[float, ...]
) -> FixedDims:
    """What a resize makes of sizes, as onnxruntime's kernels do. Raises UnknownSizesError for what does not run."""
    named = range(len(dims)) if axes is None else axes
    if len(named) != len(operand) or not all(-len(dims) <= axis < len(dims) for axis in named):
        raise UnknownSizesError
    if not all(map(math.isfinite, operand)):
        raise UnknownSizesError
    sizes = list(dims)
    for axis, number in zip(named, operand, strict=True):
        if kind is ExtentKind.SIZES:
            sizes[axis] = int(number)
        elif number != 1 or dims[axis] > _EXACT:
            sizes[axis] = kernel_length(number, dims[axis])
    return tuple(sizes)
