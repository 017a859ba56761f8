"""Interpolation that is written as other operators, written as Resize again (`set form=resize`)."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from onnx import NodeProto

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.dialect import NO_NUMBERS, Dialect, Operands, dialect_of
from resizefix.dialects.write import write
from resizefix.document.edits import FreshNames, NodeBuilder, add_initializer, remove_unread, replace_nodes
from resizefix.document.scopes import names_in
from resizefix.document.text import node_text, numbers_text
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.faults.framework import PYTORCH, is_nearest_exact_of_torch
from resizefix.interpolation import ExtentKind, Interpolation
from resizefix.lowerings.lowering import FINITE, rounding
from resizefix.lowerings.recovered import NEAREST_EXACT
from resizefix.operations.foreign_resizes import foreign_resizes
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.written_resizes import WrittenResize, first_other, open_written, size_to_fix, written_resizes
from resizefix.outcome import ErrorBound, Outcome, Status
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.collect_facts import facts_by_key
from resizefix.targets.onnxruntime_target import ONNXRUNTIME
from resizefix.targets.target import Effect, judge

_FIRST_WITH_SIZES = 11


def places(view: ModelView) -> list[WrittenResize]:
    """Every place where something else is a resize."""
    return [*written_resizes(view), *open_written(view), *foreign_resizes(view)]


def not_at_every_size(view: ModelView) -> dict[Key, Diagnostic]:
    """Of each place of open sizes that is no resize at some, at which; of an export of PyTorch, also that PyTorch
    computes the resize there."""
    is_export = view.model.producer_name == PYTORCH
    others = {}
    for place in open_written(view) if (wrong := first_other(view)) else ():
        if place.key in wrong:
            sizes, assumed = wrong[place.key], place.assumed
            other = Diagnostic("operations.other-indices", lengths="x".join(map(str, sizes)))
            form = assumed.interpolation.coordinate_transformation_mode, assumed.interpolation.nearest_mode
            as_torch = is_export and assumed.is_by_scales and form == NEAREST_EXACT
            if as_torch and all(is_nearest_exact_of_torch(scale, sizes) for scale in assumed.scales):
                other = Diagnostic("operations.other-than-pytorch", other=other)
            others[place.key] = other
    return others


def write_as_resize(
    view: ModelView, found: Sequence[WrittenResize], patterns: Sequence[str], first_index: int
) -> Rewritten:
    """A copy in which those of the places `found` that the patterns name (all without any) are Resize nodes;
    `first_index` is the index of the first, behind the resizes that the model has.

    A place whose Resize onnxruntime has no kernel for is refused: no run could verify it.
    """
    others = {
        key: Diagnostic("operations.resize-not-at-every-size", other=other, size=size_to_fix(view))
        for key, other in not_at_every_size(view).items()
    }
    named = [
        (index, place)
        for index, place in enumerate(found, start=first_index)
        if not patterns or any(fnmatch.fnmatchcase(place.label, pattern) for pattern in patterns)
    ]
    written = _rewritten(view, named, others)
    refused = {
        key: Diagnostic("operations.target-refuses", target=ONNXRUNTIME.name, rule_name=broken.rule, why=broken.because)
        for key, facts in facts_by_key(ModelView(written.document), written.touched)
        for broken in reversed(judge(ONNXRUNTIME, facts))
        if broken.effect is Effect.REJECTED
    }
    return _rewritten(view, named, {**others, **refused}) if refused else written


def _rewritten(
    view: ModelView, named: Sequence[tuple[int, WrittenResize]], refused: Mapping[Key, Diagnostic]
) -> Rewritten:
    """`write_as_resize` of these places, without those that are refused already."""
    rewritten = view.document.copy()
    fresh = FreshNames(names_in(view.model)).fresh
    scopes = ModelView(rewritten).scopes
    outcomes: list[Outcome] = []
    unread: list[Key] = []
    touched: set[Key] = set()
    for index, place in named:
        old = place.scope.body.node[place.scope.producers[place.y]]
        before = Outcome(index, place.label, Status.UNCHANGED, before=node_text(old))
        try:
            if place.key in refused:
                raise RefusedError(refused[place.key])
            builder, error = _written(view, place, NodeBuilder(fresh, place.scope.opset, place.y))
        except RefusedError as refusal:
            outcomes.append(replace(before, status=Status.REFUSED, reason=refusal.diagnostic))
            continue
        scope = scopes.by_path[place.scope.path]
        unread += [one.key for one in scopes.sources(scope, scope.body.node[scope.producers[place.y]])]
        for tensor in builder.initializers:
            add_initializer(rewritten.proto, tensor)
        replace_nodes(scope.body, {place.y: builder.nodes})
        scopes = ModelView(rewritten).scopes
        touched.add(place.key)
        after = tuple(node_text(node) for node in builder.nodes)
        outcomes.append(
            replace(
                before, status=Status.CHANGED, reason=_reason(place), after=after, exact=error.exact, bound=error.bound
            )
        )
    remove_unread(rewritten.proto, unread)
    return Rewritten(view, ModelView(rewritten), tuple(outcomes), touched=frozenset(touched))


def _reason(place: WrittenResize) -> Diagnostic:
    operators = ", ".join(place.operator_names)
    if place.source is not None:
        return Diagnostic("operations.resize-of-source", operator=operators, source=place.source)
    return Diagnostic("operations.resize-again", operators=operators, assumed=assumed_text(place))


def assumed_text(place: WrittenResize) -> str:
    """What is assumed, and what computes the same at these sizes."""
    one = place.assumed
    how = numbers_text(np.array(one.scales, np.float32)) if one.is_by_scales else list(place.lengths)
    extent = Diagnostic("operations.by-scales" if one.is_by_scales else "operations.by-sizes", numbers=how)
    text = f"{spelled(one.interpolation)}, {extent}"
    if not place.others:
        return text
    other = spelled(place.others[0])
    return Diagnostic("operations.assumed-among", assumed=text, count=len(place.others), other=other)


def spelled(meaning: Interpolation) -> str:
    """`nearest half_pixel round_prefer_ceil`."""
    words = [meaning.mode.value, meaning.coordinate_transformation_mode.value]
    words += [meaning.nearest_mode.value] if meaning.nearest_mode is not None else []
    words += ["antialias"] if meaning.antialias else []
    return " ".join(words)


def _written(view: ModelView, place: WrittenResize, builder: NodeBuilder) -> tuple[NodeBuilder, ErrorBound]:
    """The nodes that take the place's place. Raises RefusedError where its opset has no word for it."""
    opset = place.scope.opset
    if opset < _FIRST_WITH_SIZES:
        raise RefusedError("operations.resize-needs-opset", opset=opset, needed=_FIRST_WITH_SIZES)
    dialect, meaning = dialect_of("Resize", opset), place.interpolation
    by_scales, values = _extent(place)
    if values is not None:
        extent = builder.value(
            np.array(values, np.float32 if by_scales else np.int64), "scales" if by_scales else "sizes"
        )
    else:
        assert place.computed is not None
        extent = place.computed(builder)
    node = _node(meaning, place, dialect, extent, builder, by_scales=by_scales)
    builder.append(node)
    node = builder.nodes[-1]
    node.output[0] = place.y
    return builder, _error(view, place, values, by_scales)


def _extent(place: WrittenResize) -> tuple[bool, list[float] | None]:
    """Whether scales are given, and the number of each axis; None: they are computed."""
    if place.computed is not None:
        return False, None
    one = place.assumed
    if one.is_by_scales:
        values = [1.0] * place.rank
        for axis, scale in zip(place.axes, one.scales, strict=True):
            values[axis] = scale
        return True, values
    if place.whole is None:
        raise RefusedError("operations.resize-of-open-batch")
    return False, [float(size) for size in place.whole]


def _node(
    meaning: Interpolation, place: WrittenResize, dialect: Dialect, extent: str, builder: NodeBuilder,
    *, by_scales: bool,
) -> NodeProto:  # fmt: skip
    empty = None
    if dialect.roi_input is not None and not dialect.inputs[dialect.roi_input].optional:
        empty = builder.value(NO_NUMBERS, "no_roi")
    scales = extent if by_scales else empty
    operands = Operands(place.x, roi=empty, scales=scales, sizes=None if by_scales else extent)
    return write(meaning, operands, dialect, name=place.label, output=place.y)


def _error(view: ModelView, place: WrittenResize, values: Sequence[float] | None, by_scales: bool) -> ErrorBound:
    if place.source is not None:
        return ErrorBound()
    if place.interpolation.nearest_mode is not None:
        is_copy = not {"MatMul", "ConvTranspose"} & set(place.operators)
        return ErrorBound() if is_copy else ErrorBound(exact=False, conditions=(FINITE,))
    dims = view.dims(place.scope, place.x) or ()
    shape = tuple(size if isinstance(size, int) else None for size in dims)
    kind = ExtentKind.SCALES if by_scales else ExtentKind.SIZES
    subject = ResizeSpec(place.interpolation, kind, tuple(values or ()), shape, view.elem_type(place.scope, place.x))
    gains = [2.0] * len(place.axes)
    return ErrorBound(
        False, rounding(subject, gains, 16 * len(place.axes)) + 4 * place.assumed.error, conditions=(FINITE,)
    )
