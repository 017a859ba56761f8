"""How every operation rewrites sites: plan each, change a copy of the model, look at the result, go on with the rest.

No plan is made by facts that an earlier change made untrue: what is left is planned anew on the changed model.

What shapes say after an edit: which sizes a promoted site keeps at any value of all new inputs, where another promoted
site stands before it; and the rank of what the body of a Scan gives. onnxruntime makes room for the latter before it
runs the body, and works the rank out where it can ("Subgraph must have the shape set for all outputs",
core/providers/cpu/controlflow/scan_utils.cc), which an edit may put out of its reach. Then it is written into the file,
and said.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Generic, TypeVar

from onnx import FunctionProto, GraphProto, TensorProto, ValueInfoProto, numpy_helper

from resizefix.diagnostics import Diagnostic, UnreadableModelError
from resizefix.document.document import Document
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, Scope, Scopes, bodies, is_operator, node_label
from resizefix.document.values import Dims, set_shape
from resizefix.interpolation import Extent, ExtentKind
from resizefix.operations.site import PartnerSizes, Site
from resizefix.operations.sites import sites_in
from resizefix.outcome import Outcome, Status
from resizefix.promotion import InputBinding, PromotedInput
from resizefix.scope_path import Key
from resizefix.shapes.dependents import Dependents
from resizefix.shapes.model_types import ModelTypes
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.output_size import KEEPING
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.value_types import dims_of
from resizefix.targets.collect_facts import facts_by_key
from resizefix.targets.target import Target, Violation, judge

if TYPE_CHECKING:
    from resizefix.dialects.intended import IntendedNode
    from resizefix.opsets.verdict import Blocker, OpsetStep

P = TypeVar("P")
Planned = tuple[Site, P]


@dataclass(frozen=True, eq=False)
class Rewritten:
    """What an operation made: `after`, a changed copy of `before`, and what happened to each site, in the order in
    which they were given. The rest is empty where the operation has none.

    `before` is the user's document, or that raised to the opset that the operation needs. `inputs` are the graph inputs
    that a promotion makes, `extents` the constants, or the sizes of another tensor, that nodes are given. `intended` is
    what nodes must compute now. `touched` are values that other nodes make than before, `types` tensors of another
    element type, `rederived` those whose stored shapes were made true; `opset` is the version of ai.onnx that fixes
    brought the model to. In a model in another opset, `steps` is what became of other operators; `blockers` have no
    form there, and then the copy is half rewritten and of no use.
    """

    before: ModelView
    after: ModelView
    outcomes: tuple[Outcome, ...]
    inputs: tuple[PromotedInput, ...] = ()
    extents: Mapping[Key, Extent | PartnerSizes] = field(default_factory=dict)
    intended: tuple[IntendedNode, ...] = ()
    touched: frozenset[Key] = frozenset()
    types: frozenset[Key] = frozenset()
    rederived: frozenset[Key] = frozenset()
    opset: int | None = None
    steps: tuple[OpsetStep, ...] = ()
    blockers: tuple[Blocker, ...] = ()

    @property
    def document(self) -> Document:
        """The copy."""
        return self.after.document

    @property
    def complete(self) -> bool:
        """Whether nothing stands in the way."""
        return not self.blockers and all(outcome.status is not Status.REFUSED for outcome in self.outcomes)

    @property
    def exact(self) -> bool:
        """Whether every node gives every bit that it gave."""
        return all(step.error.exact for step in self.steps) and all(outcome.exact for outcome in self.outcomes)

    def with_document(self, document: Document) -> Rewritten:
        """The same of this document."""
        return self if document is self.document else replace(self, after=ModelView(document))


class Operation(ABC, Generic[P]):
    """What one operation decides and does; `P` is its plan for one site."""

    looks_again = False
    """Whether sites that were left as they are may be changed once others are."""

    @abstractmethod
    def plan(self, view: ModelView, sites: Sequence[Site]) -> Sequence[P | Outcome]:
        """For each site what becomes of it, or its outcome where nothing does. Changes nothing."""

    @abstractmethod
    def apply(self, document: Document, plans: Sequence[Planned[P]]) -> Sequence[Outcome]:
        """Makes all the changes in `document`, and gives the outcome of each."""

    def objections(self, view: ModelView, changed: Collection[Key]) -> Mapping[Key, str]:
        """Which of the changed sites must not stay so, and why, seen on the changed model. They are refused, and the
        others planned anew."""
        return {}

    def later(self, first: Outcome, now: Outcome) -> Outcome:
        """What is said of a site that was left as it is at `first`."""
        return first


def rewrite(view: ModelView, sites: Sequence[Site], operation: Operation[P]) -> Rewritten:
    """A copy of the document in which the operation has done what it can to `sites`; the document stays as it is.

    An operation that looks again is asked about what it left until nothing changes.
    """
    before, outcomes = view, dict[int, Outcome]()
    work = dict(enumerate(sites))
    refused: dict[int, Outcome] = {}
    while True:
        asked = {place: site for place, site in work.items() if place not in refused}
        planned = dict(zip(asked, operation.plan(view, list(asked.values())), strict=True))
        plans = {place: (asked[place], plan) for place, plan in planned.items() if not isinstance(plan, Outcome)}
        document = view.document.copy()
        changed = dict(zip(plans, operation.apply(document, list(plans.values())), strict=True))
        after = ModelView(document)
        objections = operation.objections(after, {site.key for site, _ in plans.values()}) if plans else {}
        if objections:
            refused |= {
                place: site.outcome(Status.REFUSED, objections[site.key])
                for place, (site, _) in plans.items()
                if site.key in objections
            }
            continue
        now = {place: plan for place, plan in planned.items() if isinstance(plan, Outcome)} | refused | changed
        for place in work:
            first = outcomes.get(place)
            outcomes[place] = now[place] if first is None else operation.later(first, now[place])
        left = {site.key: place for place, site in work.items() if place not in plans}
        again = sites_in(after) if operation.looks_again and plans and left else []
        work = {left[site.key]: site for site in again if site.key in left}
        if not work:
            return Rewritten(before, after, tuple(outcomes[place] for place in range(len(sites))))
        view, refused = after, {}


def broken_rules(
    view: ModelView, sites: Collection[Key], target: Target
) -> Iterator[tuple[Key, tuple[Violation, ...]]]:
    """Which rules of the target each of the sites breaks."""
    for key, facts in facts_by_key(view, sites):
        yield key, judge(target, facts)


# ---- shapes after an edit ----

_Open = tuple[int, frozenset[int]] | None  # the rank and the axes that an input moves; None: all


# They make other axes of those that they read.
_MOVING = frozenset(
    {"DepthToSpace", "Einsum", "Expand", "Flatten", "Gather", "GatherND", "MatMul", "Reshape", "SpaceToDepth", "Split"}
    | {"Squeeze", "Tile", "Transpose", "Unsqueeze"}
)

# Each axis of what they make follows the same one of what they read, if any.
_IN_PLACE = KEEPING | {"AveragePool", "Conv", "ConvTranspose", "MaxPool", "Pad"}


def kept_dims(scopes: Scopes, plans: Sequence[InputBinding]) -> dict[Key, Dims | None]:
    """The sizes of each site's output that no value of the inputs changes. An axis that a site does not scale follows
    the sites before it."""
    groups: dict[_Open, list[InputBinding]] = {}
    for driven in plans:
        groups.setdefault(_open(driven.output_dims), []).append(driven)
    sizes = {driven.key: driven.output_dims for driven in plans}
    moving = {
        (scope.path, name)
        for scope in scopes.all
        for node in scope.body.node
        if node.op_type in _MOVING and scopes.called(node) is None  # the nodes of what is called are here, too
        for name in node.output
        if name
    }
    if len(groups) < 2 and not moving:  # what is before a site moves the axes that it moves itself
        return sizes
    for moved, group in groups.items():
        dependents = Dependents(scopes)
        dependents.add(driven.key for driven in group)
        behind_moving = Dependents(scopes)
        behind_moving.add(moving & dependents.resized)
        for driven in plans:
            dims = sizes[driven.key]
            source = scopes.definition(scopes.by_path[driven.scope], driven.input)
            if dims is not None and source is not None and source.key in dependents.resized:
                through = (
                    moved
                    if source.key not in behind_moving.resized
                    else _turned(scopes, source, group, moved, dependents)
                )
                sizes[driven.key] = _opened(driven, dims, through)
    return sizes


def _turned(scopes: Scopes, source: Definition, group: Sequence[InputBinding], moved: _Open, at: Dependents) -> _Open:
    """The axes of `source` that sites of the group move, where nothing else stands between than Transposes and nodes
    that leave every axis in its place; None: any axis may follow them. `at` are the tensors that sites reach."""
    return None if moved is None else _Turning(scopes, frozenset(driven.key for driven in group), moved, at).of(source)


@dataclass
class _Turning:
    """Follows axes back to the sites with these keys, each of which moves `moved`; around loops until no turn moves
    more."""

    scopes: Scopes
    keys: frozenset[Key]
    moved: tuple[int, frozenset[int]]
    reached: Dependents
    _around: dict[Key, frozenset[int]] = field(default_factory=dict)  # axes of what a loop carries, so far
    _open: set[Key] = field(default_factory=set)  # of these, what is followed now

    def of(self, source: Definition) -> _Open:
        """The axes of a tensor that follow the sites."""
        while True:
            before = dict(self._around)
            axes = self._axes(source)
            if axes is None or before == self._around:
                return None if axes is None else (self.moved[0], axes)

    def _axes(self, current: Definition | None) -> frozenset[int] | None:
        if current is None:
            return None
        if current.key not in self.reached.resized:
            return frozenset()
        node = current.node
        if node is None:
            return self._carried(current)
        if not (current.key in self.keys or node.op_type == "Transpose" or node.op_type in _IN_PLACE):
            return None
        axes = self._axes(self.scopes.definition(current.scope, node.input[0]))
        if axes is None or current.key in self.keys:
            return None if axes is None else axes | self.moved[1]
        if node.op_type != "Transpose":
            return axes
        order = list(attribute_of(node, "perm") or range(self.moved[0])[::-1])
        if sorted(order) != list(range(self.moved[0])):
            return None
        return frozenset(axis for axis, before in enumerate(order) if before in axes)

    def _carried(self, current: Definition) -> frozenset[int] | None:
        """The axes of what a Loop hands on to its next turn: at the start, and as a turn leaves it."""
        scope = current.scope
        loop = None if scope.parent is None or scope.owner is None else scope.parent.body.node[scope.owner]
        if (
            loop is None
            or scope.parent is None
            or not is_operator(loop, "Loop")
            or isinstance(scope.body, FunctionProto)
        ):
            return None
        if current.key in self._open:
            return self._around.get(current.key, frozenset())
        at = [value.name for value in scope.body.input].index(current.name)
        self._open.add(current.key)
        start = self._axes(self.scopes.definition(scope.parent, loop.input[at]))
        left = self._axes(self.scopes.definition(scope, scope.body.output[at - 1].name))
        self._open.remove(current.key)
        if start is None or left is None:
            return None
        self._around[current.key] = start | left
        return start | left


def _open(dims: Dims | None) -> _Open:
    return None if dims is None else (len(dims), frozenset(axis for axis, size in enumerate(dims) if size is None))


def _opened(driven: InputBinding, dims: Dims, moved: _Open) -> Dims:
    """The sizes without those on the axes that follow what moved; sizes that the node is given follow nothing."""
    axes = range(len(dims)) if moved is None or moved[0] != len(dims) else moved[1]
    given: set[int] = set()
    if driven.reads is ExtentKind.SIZES and not driven.by_shape:
        given = set(range(len(dims))) if driven.axes is None else {axis % len(dims) for axis in driven.axes}
    return tuple(None if axis in axes and axis not in given else size for axis, size in enumerate(dims))


_MOST_NUMBERS = 64  # of an operand that decides about sizes: one or two for each axis


def store_scan_ranks(document: Document, changed: Collection[Key]) -> dict[Key, str]:
    """Give a rank, as far as it is known, to those outputs of a Scan's body that depend on what was changed and have
    no stored shape; what to tell of it, by what was changed."""
    model = document.proto
    if not changed or not any(node.op_type == "Scan" for _, body in bodies(model) for node in body.node):
        return {}
    view = ModelView(_with_operands_inline(document))
    scopes = view.scopes
    open_outputs = [(scope, value.name) for scope in scopes.all for value in _open_outputs(scope)]
    if not open_outputs:
        return {}
    from resizefix.shapes.axis_sizes import AxisSizes  # few models hold a Scan

    reached = {key: _dependents(scopes, key) for key in changed}
    sizes = AxisSizes(view)
    inferred = ModelTypes(scopes, document.array, as_runtime=True).types
    outputs = {(path, value.name): value for path, body in bodies(model) if path.is_body for value in body.output}
    names_of: dict[Key, list[str]] = {}
    for scope, name in open_outputs:
        definition = scopes.definition(scope, name)
        if definition is None or dims_of(inferred[definition.scope.path].get(name)) is not None:
            continue
        causes = [key for key, dependents in reached.items() if definition.key in dependents]
        rank = sizes.rank(definition.key) if causes else None
        if rank is None:
            continue
        set_shape(outputs[scope.path, name], [None] * rank)
        for key in causes:
            names_of.setdefault(key, []).append(_name_of(scope))
    return {
        key: Diagnostic("operations.rank-stored", names=" and ".join(dict.fromkeys(names)))
        for key, names in names_of.items()
    }


def _open_outputs(scope: Scope) -> list[ValueInfoProto]:
    """The outputs of a Scan's body that have no stored shape; of Scan-8, which has a batch axis, none."""
    if scope.parent is None or scope.owner is None or scope.opset < 9:
        return []
    holder = scope.parent.body.node[scope.owner]
    if holder.op_type != "Scan" or holder.domain not in DEFAULT_DOMAINS or not isinstance(scope.body, GraphProto):
        return []
    return [value for value in scope.body.output if not value.type.tensor_type.HasField("shape")]


def _with_operands_inline(document: Document) -> Document:
    """A copy that holds the few numbers of an operand: what lies in another file fails inference, and with it that of
    the Scan around it, which is no matter of ranks."""
    copy = document.copy()
    for _, body in bodies(copy.proto):
        constants = [attribute.t for node in body.node if node.op_type == "Constant" for attribute in node.attribute]
        for tensor in (*constants, *(body.initializer if isinstance(body, GraphProto) else ())):
            if tensor.data_location == TensorProto.EXTERNAL and prod(tensor.dims) <= _MOST_NUMBERS:
                with suppress(UnreadableModelError):  # a file that is not there
                    tensor.CopyFrom(numpy_helper.from_array(document.array(tensor), tensor.name))
    return copy


def _dependents(scopes: Scopes, key: Key) -> set[Key]:
    dependents = Dependents(scopes)
    dependents.add([key])
    return dependents.reached


def _name_of(scope: Scope) -> str:
    """The Scan whose body this is, as messages call it."""
    assert scope.parent is not None
    assert scope.owner is not None
    return node_label(scope.parent.body.node[scope.owner], scope.owner)
