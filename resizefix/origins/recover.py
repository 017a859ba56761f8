"""From the operand of a resize to what its output size follows, and to the constants that can stand for the chain.

The walk (`trace`) says what each entry is and the run (`measure`) confirms it, or takes its place where it ends; a
scale is fitted to the sizes that come out, and counts only if it holds at sizes that had no part in finding it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from resizefix.document.scopes import Scope
from resizefix.document.text import counted
from resizefix.document.values import Array
from resizefix.interpolation import ExtentKind, Interpolation
from resizefix.origins.measure import MeasuredChain, extract_subgraph
from resizefix.scope_path import Key
from resizefix.shapes.axis_sizes import AxisSizes, traced_values
from resizefix.shapes.expression import UntraceableError
from resizefix.shapes.operand import Known
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.values import Unknown

if TYPE_CHECKING:  # most operands are constants or inputs as they stand
    from resizefix.origins.axis_relation import AxisRelation
    from resizefix.origins.entries import DimResolver, Entry


class Recovery(NamedTuple):
    """What a computed operand turned out to be.

    `statements` has one for each of its entries. `kind` and `values` are constant scales or sizes that compute the same
    for every input the file allows; None where there are none, and then `reason` completes "its scales/sizes …".
    """

    statements: tuple[AxisRelation, ...]
    says: str
    kind: ExtentKind
    values: tuple[float, ...] | tuple[int, ...] | None
    reason: str | None

    @property
    def scales(self) -> tuple[float, ...] | None:
        """The recovered float32 scales, one for each entry, if every axis is a constant multiple."""
        scales = tuple(statement.scale for statement in self.statements if statement.scale is not None)
        return scales if len(scales) == len(self.statements) else None

    @property
    def right_under_every_rule(self) -> bool:
        """Whether the scales give the chain's sizes under every runtime's rule at every size tried."""
        return self.scales is not None and all(statement.caveat is None for statement in self.statements)


class Recoverer:
    """Recovers operands against one state of a document. `given` are values of graph inputs, taken as constants."""

    def __init__(self, view: ModelView, given: Mapping[str, Array] | None = None) -> None:
        self.view = view
        self.axis_sizes = AxisSizes(view)
        self.values = traced_values(self.axis_sizes, given)

    def constant(self, scope: Scope, operand: str) -> Array | None:
        """The operand's value if no size and no input has a part in it, also where only onnxruntime computes it."""
        traced = self.values.of(scope, operand)
        if isinstance(traced, Known):
            return traced.value
        try:
            chain = self._extracted(scope, operand)
            return None if chain.sizes else chain.run(lambda size: 1)
        except UntraceableError:
            return None

    def recover(
        self, scope: Scope, data: str, operand: str, kind: ExtentKind, interpolation: Interpolation
    ) -> Recovery | str:
        """What `operand` is to the resize of `data`; or, as a sentence, why neither the walk nor the run can tell."""
        from resizefix.origins.axis_relation import Subject, state
        from resizefix.origins.entries import DimResolver

        policy = interpolation.keep_aspect_ratio_policy
        try:
            if policy is not None and kind is ExtentKind.SIZES:
                raise UntraceableError("origins.policy-changes-size", value=policy.value)
            traced = self.values.of(scope, operand)
            length = math.prod(traced.shape) if isinstance(traced, Known) else None
            own, rank = self._own(scope, data, length if interpolation.axes is None else None)
            meanings = DimResolver(self.axis_sizes, own, rank)
            entries = self._entries(scope, operand, traced, meanings)
            axes = _axes(interpolation, rank, len(entries))
            subject = Subject(kind, interpolation, meanings, rank)
            statements = tuple(state(subject, entry, axis) for entry, axis in zip(entries, axes, strict=True))
        except UntraceableError as error:
            return str(error)
        return _recovery(statements, rank, kind)

    def _own(self, scope: Scope, data: str, length: int | None) -> tuple[Key, int]:
        definition = self.view.scopes.definition(scope, data)
        if definition is None:
            raise UntraceableError("document.nothing-defines", name=repr(data))
        definition = self.view.calls.origin(definition)
        rank = self.axis_sizes.rank(definition.key) or length
        if rank is None:
            raise UntraceableError("origins.rank-unknown", data=data)
        return definition.key, rank

    def _entries(self, scope: Scope, operand: str, traced: Known | Unknown, meanings: DimResolver) -> Sequence[Entry]:
        from resizefix.origins.entries import TracedEntry, confirm, measured_entries

        if isinstance(traced, Unknown):
            try:
                return measured_entries(self._extracted(scope, operand), meanings)
            except UntraceableError as error:
                raise UntraceableError(f"{traced.reason}; {error}") from error
        if len(traced.shape) != 1:
            raise UntraceableError("origins.chain-not-a-vector", ndim=len(traced.shape))
        entries = [TracedEntry.meaning(element, meanings) for element in traced.elements]
        chain = self._extracted(scope, operand)
        confirm(chain, meanings, entries)
        return entries

    def _extracted(self, scope: Scope, operand: str) -> MeasuredChain:
        definition = self.view.scopes.definition(scope, operand)
        if definition is None:
            raise UntraceableError("document.nothing-defines", name=repr(operand))
        return extract_subgraph(self.view, self.values, definition)


def _axes(interpolation: Interpolation, rank: int, length: int) -> tuple[int, ...]:
    axes = interpolation.axes if interpolation.axes is not None else tuple(range(rank))
    if len(axes) != length:
        raise UntraceableError(
            "origins.length-of-extent", numbers=counted(length, "number"), axes=counted(len(axes), "axis", "axes")
        )
    return tuple(axis % rank for axis in axes)


def _recovery(statements: tuple[AxisRelation, ...], rank: int, kind: ExtentKind) -> Recovery:
    from resizefix.origins.axis_relation import says

    words = says(statements, rank)
    values = tuple(value for statement in statements if (value := statement.value) is not None and 0 < value < np.inf)
    if len(values) == len(statements):
        return Recovery(statements, words, kind, values, None)
    exact = tuple(statement.exact for statement in statements if statement.exact is not None)
    if len(exact) == len(statements):
        return Recovery(statements, words, ExtentKind.SCALES, exact, None)
    missing = [statement for statement in statements if statement.exact is None]
    # An axis that the file leaves open says what to do about it; one that it fixes stands in the way only then.
    missing.sort(key=lambda statement: (statement.is_plain, statement.value is not None))
    telling = missing[0]
    return Recovery(statements, words, kind, None, telling.why)
