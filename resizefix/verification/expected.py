"""A model against numbers that something else computed: the framework it was exported from, or ONNX's own tests.

The model runs in onnxruntime without optimisation, so that every node computes what it says. Numbers are compared in
the wider of two floating-point types; other types must be the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Context

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.outcome import ErrorBound, TensorDifference
from resizefix.runtimes.inputs import Feeds, Value, as_stored
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.verification.compare import Sides, compare, reported
from resizefix.verification.engine import Engine, run_of
from resizefix.verification.fitting import MemoryBudget
from resizefix.verification.in_runtime import is_right
from resizefix.verification.signatures import Feeding
from resizefix.verification.verification import (
    Conditions,
    ExpectedTensor,
    ResizePlace,
    SiteDrift,
    Verification,
    site_drifts,
)
from resizefix.verification.views import views_of

_SIDES = Sides("expected", "computed")
_SMALLEST = 1e-30
_UPWARDS = Context(prec=2, rounding=ROUND_CEILING)


@dataclass(frozen=True)
class Expected:
    """What tensors of a model must be, by name; `source` is what holds them, in words."""

    values: Mapping[str, Value]
    source: str
    notes: Sequence[str] = field(default=())


def verify_expected(
    document: Document,
    expected: Expected,
    places: Sequence[ResizePlace],
    feeds: Feeds,
    conditions: Conditions,
    allowed: ErrorBound,
    feeding: Feeding,
) -> Verification:
    """Whether the model, given `feeds`, computes what is expected of its outputs and of tensors of its main graph.

    `places` are its resizes. A model that does not run fails with that as the reason.
    """
    engine = Engine(conditions)
    try:
        computed = _computed(engine, document, expected, feeds)
    except (CannotLoadError, CannotRunError, BrokenOffError) as error:
        return replace(engine.verdict(str(error)), expected=expected.source)
    return _Comparison(document, expected, computed, allowed).verification(engine, places, feeds, feeding)


def _computed(engine: Engine, document: Document, expected: Expected, feeds: Feeds) -> dict[str, Value]:
    """The outputs, and the further tensors that are expected. The outputs come from the file as it is: to look at a
    tensor can move the Casts around half precision."""
    refusal = MemoryBudget(document, engine.conditions.limits).refusal(engine.label, feeds)
    if refusal is not None:
        raise refusal
    outputs = engine.run(document, feeds)
    inner = [name for name in expected.values if name not in outputs]
    return {**engine.run(document, feeds, extra_outputs=inner), **outputs} if inner else outputs


class _Comparison:
    """Each expected tensor and the computed one, and how they differ."""

    def __init__(
        self, document: Document, expected: Expected, computed: Mapping[str, Value], allowed: ErrorBound
    ) -> None:
        self._document, self._expected, self._allowed = document, expected, allowed
        self._outputs = [value.name for value in document.proto.graph.output]
        made_inside = [name for node in document.proto.graph.node for name in node.output]
        order = [name for name in dict.fromkeys((*self._outputs, *made_inside)) if name in expected.values]
        pairs = {name: _in_one_type(expected.values[name], computed[name]) for name in order}
        self._before = {name: before for name, (before, _) in pairs.items()}
        self._after = {name: after for name, (_, after) in pairs.items()}
        self._differences = compare(self._before, self._after, _SIDES)
        self._notes = [
            Diagnostic(
                "verification.expected-type", name=name, file=_type(expected.values[name]), model=_type(computed[name])
            )
            for name in order
            if _type(expected.values[name]) != _type(computed[name])
            and _type(self._before[name]) == _type(self._after[name])
        ]
        self._right = {
            each.tensor: is_right(each, self._before[each.tensor], self._after[each.tensor], allowed)
            for each in self._differences.tensors
        }

    def verification(
        self, engine: Engine, places: Sequence[ResizePlace], feeds: Feeds, feeding: Feeding
    ) -> Verification:
        """What the comparison comes to."""
        bound = reported(self._allowed, self._before, self._differences) if self._allowed.is_elementwise else 0.0
        engine.runs.append(run_of(self._differences, feeds, bound=bound, fed=feeding))
        left = [name for name in self._outputs if name not in self._before]
        engine.not_tested += [Diagnostic("verification.not-expected", name=name) for name in left]
        engine.notes += [*self._expected.notes, *self._notes]
        if left:
            engine.notes.append(
                Diagnostic("verification.outputs-not-expected", names=", ".join(left), source=self._expected.source)
            )
        drifts = site_drifts(self._document, places, self._before, self._of, self._standing_for)
        failure = self._why(drifts, places)
        if failure is not None and engine.notes:
            failure = Diagnostic("verification.expected-and-notes", why=failure, notes="; ".join(engine.notes))
        files = ", ".join(dict.fromkeys(feeding.files.values()))
        shown = {name: self._before[name] for name in self._outputs if name in self._before}
        return replace(
            engine.verdict(failure),
            sites=drifts,
            expected=self._expected.source,
            views=views_of(files, shown, self._after) if files else (),
            tensors=tuple(
                ExpectedTensor(each, not self._right[each.tensor], each.tensor in self._outputs)
                for each in self._differences.tensors
            ),
        )

    def _of(self, name: str) -> tuple[Sequence[TensorDifference], bool]:
        return [each for each in self._differences.tensors if each.tensor == name], self._right[name]

    def _standing_for(self, name: str) -> list[str]:
        """The tensor, or the nearest before it of which something is expected; none of what is fed."""
        producers = {output: node for node in self._document.proto.graph.node for output in node.output if output}
        nearest, seen, waiting = [], {name}, [name]
        while waiting:
            one = waiting.pop()
            if one in self._before:
                nearest.append(one)
            elif one in producers:
                before = [given for given in producers[one].input if given and given not in seen]
                seen.update(before)
                waiting += before
        return nearest

    def _why(self, drifts: Sequence[SiteDrift], places: Sequence[ResizePlace]) -> Diagnostic | None:
        """What differs most, which tolerance allows it, and where it begins; None where nothing differs."""
        wrong = [each for each in self._differences.tensors if not self._right[each.tensor]]
        if not wrong:
            return None
        of_outputs = [each for each in wrong if each.tensor in self._outputs] or wrong
        worst = max(of_outputs, key=lambda each: each.max_rel_diff)
        others = [each.tensor for each in of_outputs if each is not worst]
        why: str = worst.reason or ""
        if others:
            why = Diagnostic("verification.expected-also", why=why, names=", ".join(others[:8]), count=len(others))
        most = max(each.max_abs_diff for each in wrong)
        if math.isfinite(most):
            why = Diagnostic("verification.expected-tolerance", why=why, atol=_at_least(most))
        else:
            why = Diagnostic("verification.expected-no-tolerance", why=why)
        return self._begun(why, drifts, places)

    def _begun(self, why: str, drifts: Sequence[SiteDrift], places: Sequence[ResizePlace]) -> Diagnostic:
        source, first = self._expected.source, next((drift for drift in drifts if drift.first), None)
        if first is not None:
            data = next(place.data for place in places if place.key[1] == first.output and not place.key[0].steps)
            is_seen = data in self._before or not self._is_made(data)
            code = "verification.expected-first-resize" if is_seen else "verification.expected-first-resize-or-before"
            return Diagnostic(code, source=source, node=first.node, data=data, why=why)
        if any(drift.differs for drift in drifts):
            return Diagnostic("verification.expected-before-resizes", source=source, why=why)
        code = "verification.expected-differs"
        if not drifts and places:
            code = "verification.expected-without-resizes"
        return Diagnostic(code, source=source, why=why)

    def _is_made(self, name: str) -> bool:
        return any(name in node.output for node in self._document.proto.graph.node)


def _in_one_type(expected: Value, computed: Value) -> tuple[Value, Value]:
    """Both in the wider of two floating-point types, which holds every number of the other; else as they are."""
    if not isinstance(expected, np.ndarray) or not isinstance(computed, np.ndarray):
        return expected, computed
    expected = as_stored(expected, computed.dtype)
    if {expected.dtype.kind, computed.dtype.kind} != {"f"} or expected.dtype == computed.dtype:
        return expected, computed
    wide = np.result_type(expected.dtype, computed.dtype)
    return expected.astype(wide), computed.astype(wide)


def _type(value: Value) -> str:
    return value.dtype.name if isinstance(value, np.ndarray) else type(value).__name__


def _at_least(difference: float) -> float:
    """A tolerance of two digits that is no smaller. That of zeros with another sign may be as small as one likes."""
    return float(_UPWARDS.create_decimal_from_float(difference)) if difference else _SMALLEST
