"""The way back from `promote_scales`: scales that are fed or computed become constants.

A graph input that drives a site is replaced by the value it is given, or by its default; a computed chain by the
constants that compute the same for every input the file allows (`origins.recover`). What nothing reads any more is
removed, and shapes that became fixed are written down again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.read import read
from resizefix.document.document import Document
from resizefix.document.edits import (
    drop_named,
    drop_unread_arguments,
    remove_unread,
    set_input,
)
from resizefix.document.scopes import DefinitionKind, Scope, Scopes, node_label
from resizefix.document.text import counted, node_text
from resizefix.document.values import Array, Dims, numbers_in
from resizefix.document.view import View
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.interpolation import ExtentKind
from resizefix.operations.given_values import ConstantWriter, GivenValues, named
from resizefix.operations.replacement import why_unverifiable
from resizefix.operations.rewriter import Operation, Rewritten, rewrite
from resizefix.operations.site import ReadSite, Site
from resizefix.origins.classify import OriginKind
from resizefix.origins.recover import Recoverer
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.dependents import Dependents
from resizefix.shapes.operand import SHAPE_READERS
from resizefix.shapes.stored_shapes import ModelView, is_invented, rederive
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.facts import OperandSource, SiteFacts


@dataclass(frozen=True, eq=False)
class _FreezePlan:
    """What a site's operand becomes: `value`, as scales or sizes.

    Without a value the chain stays and its inputs become constants, of which `note` tells the user. `rois` are inputs
    behind the roi, which become constants too. `for_all`: so do all inputs, whoever else reads them.
    """

    site: ReadSite
    kind: ExtentKind
    value: Array | None
    inputs: tuple[str, ...] = ()
    note: str | None = None
    conditions: tuple[str, ...] = ()
    rois: tuple[str, ...] = ()
    for_all: bool = False

    @property
    def fixed(self) -> tuple[str, ...]:
        """The inputs that become constants themselves, for all who read them."""
        only_here = self.value is not None and not self.for_all
        return self.rois if only_here else (*self.inputs, *self.rois)


def freeze_scales(
    document: Document,
    sites: Sequence[Site],
    *,
    values: Mapping[str, Sequence[float]] | None = None,
    all_uses: bool = False,
    view: ModelView | None = None,
) -> tuple[Rewritten, Mapping[str, tuple[float, ...]]]:
    """A copy of the document in which the scales of the selected sites are constants; `document` stays as it is. Fed
    the values that are returned with it, the document before computes what the copy does.

    `values` are for graph inputs, in row-major order; one that has a default need not be named. With `all_uses` such an
    input becomes a constant for all other nodes that read it, too. `view` is the document's, where there is one
    already. Raises UsageError for a name that drives none of the sites, and for values that its type or shape does not
    take.
    """
    view = view or ModelView(document)
    operation = _Freeze(GivenValues(view, sites, values or {}), all_uses=all_uses)
    return rewrite(view, sites, operation), operation.used


class _Freeze(Operation[_FreezePlan]):
    def __init__(self, given: GivenValues, *, all_uses: bool) -> None:
        self._given = given
        self._all_uses = all_uses
        self._scopes = given.scopes
        self._recoverer = Recoverer(given.view, given.arrays)
        self.used: dict[str, tuple[float, ...]] = {}

    def plan(self, view: ModelView, sites: Sequence[Site]) -> Sequence[_FreezePlan | Outcome]:
        facts = facts_in(view) if sites else ()
        plans = [(site, self._plan(site)) for site in sites]
        return [
            replace(plan, conditions=why_unverifiable(_facts_of(plan, facts[site.index])))
            if isinstance(plan, _FreezePlan)
            else plan
            for site, plan in plans
        ]

    def apply(self, document: Document, plans: Sequence[tuple[Site, _FreezePlan]]) -> Sequence[Outcome]:
        nodes = _apply(document, [plan for _, plan in plans], self._given)
        self.used = {name: self._given.numbers(name) for _, plan in plans for name in (*plan.inputs, *plan.rois)}
        staying = _staying(document.proto, self.used)
        return [
            site.outcome(
                Status.CHANGED,
                "; ".join(filter(None, (plan.note, *map(staying.get, plan.inputs), *plan.conditions))) or None,
                after=(node_text(nodes[site.key]),),
                condition=", ".join(plan.conditions) or None,
            )
            for site, plan in plans
        ]

    def _plan(self, site: Site) -> _FreezePlan | Outcome:
        """What the site's operands become; or why they stay as they are."""
        plan, rois = self._plan_of_extent(site), self._given.behind_roi(site.index)
        if not rois or not isinstance(site, ReadSite):
            return plan
        missing = [name for name in rois if name not in self._given.arrays]
        if missing:
            why = Diagnostic("operations.input-without-value", extent="roi", name=repr(missing[0]))
            return site.outcome(Status.REFUSED, why)
        if isinstance(plan, _FreezePlan):
            return replace(plan, rois=rois)
        if plan.status is Status.REFUSED:
            return plan
        note = Diagnostic("operations.roi-became-constant", inputs=", ".join(map(repr, rois)))
        return _FreezePlan(site, site.extent.kind, None, note=note, rois=rois)

    def _plan_of_extent(self, site: Site) -> _FreezePlan | Outcome:
        kind = site.origin.kind
        if not isinstance(site, ReadSite):
            return site.outcome(Status.REFUSED, site.reason)
        if kind.is_constant:
            reason = Diagnostic("operations.constant-already", extent=site.extent.kind.value)
            return site.outcome(Status.UNCHANGED, reason)
        if kind is OriginKind.COMPUTED and site.extent.values is not None:
            dtype = np.float32 if site.extent.kind is ExtentKind.SCALES else np.int64
            return _FreezePlan(site, site.extent.kind, np.array(site.extent.values, dtype))
        if kind is not OriginKind.GRAPH_INPUT:
            return site.outcome(Status.REFUSED, site.reason)
        misled = _shape_that_is_misled(self._scopes, site)
        if misled is not None:
            return site.outcome(Status.REFUSED, Diagnostic("operations.shape-behind-policy", reader=misled))
        plan = self._of_inputs(site)
        return site.outcome(Status.REFUSED, plan) if isinstance(plan, str) else plan

    def _of_inputs(self, site: ReadSite) -> _FreezePlan | str:
        kind, inputs = site.extent.kind, self._given.behind(site.index)
        missing = [name for name in inputs if name not in self._given.arrays]
        if missing:
            return Diagnostic("operations.input-without-value", extent=kind.value, name=repr(missing[0]))
        operand = site.operand[1]
        scope = self._scopes.by_path[site.scope.path]
        value = self._recoverer.constant(scope, operand)
        if value is None:
            recovery = self._recoverer.recover(scope, site.input, operand, kind, site.reading.interpolation)
            if isinstance(recovery, str) or recovery.values is None:
                return self._only_inputs(site, inputs, recovery if isinstance(recovery, str) else recovery.reason)
            kind = recovery.kind
            value = np.array(recovery.values, np.float32 if kind is ExtentKind.SCALES else np.int64)
        wrong = _wrong(value, kind, site.dialect.min_scale) or _misfit(value, kind, site)
        if wrong is not None:
            return wrong
        other = self._given.other_reader(site) if self._all_uses else None
        if other is None:
            return _FreezePlan(site, kind, value, inputs)
        note = Diagnostic("operations.constant-for-others", inputs=", ".join(map(repr, inputs)), other=other)
        return _FreezePlan(site, kind, value, inputs, note, for_all=True)

    def _only_inputs(self, site: ReadSite, inputs: tuple[str, ...], why: str | None) -> _FreezePlan:
        """The chain stays, and the inputs themselves become constants, for all who read them."""
        kind, other = site.extent.kind, self._given.other_reader(site)
        note = Diagnostic(
            "operations.input-became-constant" if other is None else "operations.input-became-constant-for-others",
            inputs=", ".join(map(repr, inputs)),
            other=other,
            extent=kind.value,
            why=why,
        )
        return _FreezePlan(site, kind, None, inputs, note)


def _facts_of(plan: _FreezePlan, facts: SiteFacts) -> SiteFacts:
    """What a target sees of the site once its operand is the constant."""
    if plan.value is None:
        return facts
    return replace(
        facts,
        extent=plan.kind,
        source=OperandSource.INITIALIZER,
        values=tuple(plan.value.astype(np.float64).tolist()),
        length=plan.value.size,
        operand_rank=1,
        operand_type=TensorProto.FLOAT if plan.kind is ExtentKind.SCALES else TensorProto.INT64,
    )


def _wrong(value: Array, kind: ExtentKind, min_scale: float) -> str | None:
    """Why a value that was given cannot be the operand."""
    numbers = value.reshape(-1).tolist()
    if value.dtype.kind not in "biuf":
        name = "float32" if kind is ExtentKind.SCALES else "int64"
        dtype = "strings" if value.dtype == object else value.dtype
        return Diagnostic("operations.operand-type", what=f"its {kind.value}", found=dtype, name=name)
    if value.ndim != 1:
        return Diagnostic("operations.would-be-no-vector", extent=kind.value, shape=list(value.shape))
    if not np.all(np.isfinite(value.astype(np.float64))) or min(numbers, default=1) <= 0:
        return Diagnostic("operations.would-not-be-positive", extent=kind.value, numbers=numbers)
    if kind is ExtentKind.SCALES and min(numbers, default=min_scale) < min_scale:
        return Diagnostic("operations.would-be-below", numbers=numbers, least=f"{min_scale:g}")
    return None


def _misfit(value: Array, kind: ExtentKind, site: ReadSite) -> str | None:
    """Why a vector that was given is not as long as the node wants it: one number for each axis."""
    axes = site.interpolation.axes
    listed = site.input_dims if axes is None else axes
    if listed is None or value.size == len(listed):
        return None
    numbers = counted(value.size, "number")
    if axes is None:
        return Diagnostic("operations.would-not-fit-rank", extent=kind.value, numbers=numbers, rank=len(listed))
    return Diagnostic("operations.would-not-fit-axes", extent=kind.value, numbers=numbers, axes=list(axes))


def _apply(document: Document, plans: Sequence[_FreezePlan], given: GivenValues) -> Mapping[Key, NodeProto]:
    """The sites' nodes as they are now."""
    model = document.proto
    scopes = View(model).scopes
    nodes = {plan.site.key: _node(scopes, plan.site) for plan in plans}
    writer = ConstantWriter(model, scopes, defaults_kept=given.defaults)
    operands: list[Key] = []
    for plan in plans:
        sources = scopes.sources(_scope(scopes, plan.site), nodes[plan.site.key], 1)
        operands.extend(definition.key for definition in sources)
    for group in _by_operand(plans, scopes):
        _write(group, nodes, scopes, writer)
    for name in dict.fromkeys(name for plan in plans for name in plan.fixed):
        writer.fix_input(name, given.arrays[name])
    writer.finish()
    remove_unread(model, [*operands, *writer.orphans])
    inputs = {name for plan in plans for name in (*plan.inputs, *plan.rois)}
    drop_unread_arguments(model, inputs)
    _drop_inputs(model, inputs)
    for plan in plans:
        if read(nodes[plan.site.key], plan.site.dialect).interpolation != plan.site.reading.interpolation:
            raise AssertionError(f"{plan.site.label}: freezing changed its meaning")
    _write_shapes(document, [plan for plan in plans if plan.inputs])
    return nodes


def _by_operand(plans: Sequence[_FreezePlan], scopes: Scopes) -> list[list[_FreezePlan]]:
    """Plans that give one tensor one value, together."""
    groups: dict[object, list[_FreezePlan]] = {}
    for plan in plans:
        if plan.value is None:
            continue
        definition = scopes.definition(_scope(scopes, plan.site), plan.site.operand[1])
        identity = plan.kind, plan.value.dtype, plan.value.tobytes()
        groups.setdefault((None if definition is None else definition.key, identity), []).append(plan)
    return list(groups.values())


def _write(
    group: Sequence[_FreezePlan], nodes: Mapping[Key, NodeProto], scopes: Scopes, writer: ConstantWriter
) -> None:
    """Under the operand's own name if only these sites read it and as what they are: then no node changes."""
    first = group[0]
    assert first.value is not None
    scope = _scope(scopes, first.site)
    position, name = first.site.operand
    definition = scopes.definition(scope, name)
    slot = first.site.dialect.slot(first.kind)
    readers = [(nodes[plan.site.key], position) for plan in group]
    if slot == position and definition is not None and writer.replace(definition, first.value, readers):
        return
    for plan in group:
        node = nodes[plan.site.key]
        constant = writer.add(_scope(scopes, plan.site), f"{plan.site.output}_{plan.kind.value}", first.value)
        if slot != position:
            set_input(node, position, "")
        set_input(node, slot, constant)


def _drop_inputs(model: ModelProto, names: set[str]) -> None:
    """Without those of the inputs that nothing reads any more, and their defaults."""
    scopes = View(model).scopes
    definitions = [scopes.definition(scopes.main, name) for name in sorted(names)]
    unread = [
        definition.name for definition in definitions if definition is not None and not scopes.readers(definition)
    ]
    drop_named(model.graph.input, unread)
    remove_unread(model, [(MAIN, name) for name in unread])


def _staying(model: ModelProto, names: Iterable[str]) -> dict[str, str]:
    """Of inputs that are graph inputs yet, what says so and names who reads them."""
    scopes = View(model).scopes
    held = [scopes.definition(scopes.main, name) for name in names]
    fed = [
        one for one in held if one is not None and one.kind in (DefinitionKind.INPUT, DefinitionKind.DEFAULTED_INPUT)
    ]
    readers = {one.name: (one, scopes.readers(one)[0]) for one in fed if scopes.readers(one)}
    return {
        name: Diagnostic("operations.input-stays", name=repr(name), other=named(reader, one))
        for name, (one, reader) in readers.items()
    }


def _shape_that_is_misled(scopes: Scopes, site: ReadSite) -> str | None:
    """The first node behind that asks for the shape of what a policy makes on axes that are counted from the end; None:
    there is none.

    onnxruntime resizes nothing then, and its shape inference takes the sizes for those of the policy once they are
    constant: a Shape node behind is folded to them.
    """
    said = site.interpolation
    if said is None or said.keep_aspect_ratio_policy is None or min(said.axes or (0,)) >= 0:
        return None
    behind = Dependents(scopes)
    behind.add([site.key])
    for scope in scopes.all:
        for index, node in enumerate(scope.body.node):
            read = scopes.definition(scope, node.input[0]) if node.op_type in SHAPE_READERS and node.input else None
            if read is not None and read.key in behind.resized:
                return node_label(node, index)
    return None


def _write_shapes(document: Document, plans: Sequence[_FreezePlan]) -> None:
    """Shapes that hold at the frozen values. Again as long as the output of one site fixes the input of the next."""
    seeds: dict[Key, Dims | None] = {}
    for _ in range(len(plans)):
        view = ModelView(document)
        dims_by_key = {plan.site.key: _output_dims(plan, view) for plan in plans}
        if dims_by_key == seeds:
            return
        seeds = dims_by_key
        rederive(document.proto, seeds, names_hold=True)


def _output_dims(plan: _FreezePlan, view: ModelView) -> Dims | None:
    """Sizes on axes that the constants fix; on the others their names, None for one that may not be true now."""
    dims = view.dims(_scope(view.scopes, plan.site), _node(view.scopes, plan.site).input[0])
    stored = view.shapes.dims(plan.site.key)
    axes = None if dims is None else _frozen_axes(plan, dims)
    if dims is None or axes is None:
        return None if stored is None else tuple(map(_given_name, stored))
    names = stored if stored is not None and len(stored) == len(dims) else (None,) * len(dims)
    out: list[int | str | None] = []
    for axis, size, name in zip(axes, dims, names, strict=True):
        if axis.out is not None:
            out.append(axis.out)
        else:
            out.append(size if axis.is_copied else _given_name(name))
    return tuple(out)


def _given_name(size: int | str | None) -> str | None:
    """The name that the file gives a size."""
    return size if isinstance(size, str) and not is_invented(size) else None


def _frozen_axes(plan: _FreezePlan, dims: Dims) -> tuple[Axis, ...] | None:
    """What the constant makes of each axis, nothing being known where the chain stays; None for a rank that the
    operand does not fit."""
    meaning = plan.site.interpolation
    count = len(dims if meaning.axes is None else meaning.axes)
    values = (None,) * count if plan.value is None else tuple(plan.value.tolist())
    try:
        return ResizeSpec(meaning, plan.kind, values, numbers_in(dims)).axes
    except ValueError:
        return None


def _scope(scopes: Scopes, site: Site) -> Scope:
    return scopes.by_path[site.scope.path]


def _node(scopes: Scopes, site: Site) -> NodeProto:
    scope = _scope(scopes, site)
    node: NodeProto = scope.body.node[scope.producers[site.output]]
    return node
