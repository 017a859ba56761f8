"""From the table to rewrites of a node: one step, and the smallest chain of steps to a form somebody accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from heapq import heappop, heappush
from itertools import count

from resizefix.diagnostics import Diagnostic
from resizefix.equivalences.axis_forms import forms_of
from resizefix.equivalences.index_map import Form
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.equivalences.table import EQUIVALENCES, AxisEquivalence, Equivalence, NodeEquivalence
from resizefix.interpolation import Interpolation

_ROWS = tuple(row for row in EQUIVALENCES if isinstance(row, AxisEquivalence))
_EXACT_ROWS = tuple(row for row in _ROWS if row.exact)


@dataclass(frozen=True)
class AxisStep:
    """One rewrite: the equivalences it rests on (several where axes take it for different reasons) and its result."""

    equivalences: tuple[Equivalence, ...]
    subject: ResizeSpec

    @property
    def exact(self) -> bool:
        """Whether every equivalence is exact."""
        return all(equivalence.exact for equivalence in self.equivalences)

    @property
    def label(self) -> str:
        """ "E5" or "E4, E5"."""
        return ", ".join(equivalence.label for equivalence in self.equivalences)


def rewrites(subject: ResizeSpec, *, allow_inexact: bool = False) -> Iterator[AxisStep]:
    """Everything one step away from `subject`: first the other forms, then the whole-node rewrites, in table order."""
    yield from _other_forms(subject, allow_inexact)
    for equivalence in EQUIVALENCES:
        if isinstance(equivalence, NodeEquivalence) and (equivalence.exact or allow_inexact):
            rewritten = equivalence.rewrite(subject)
            if not isinstance(rewritten, Diagnostic):
                yield from (AxisStep((equivalence,), other) for other in rewritten)


def reasons(subject: ResizeSpec) -> tuple[tuple[Equivalence, Diagnostic], ...]:
    """Why each whole-node equivalence that does not hold for `subject` does not."""
    rewritten = ((row, row.rewrite(subject)) for row in EQUIVALENCES if isinstance(row, NodeEquivalence))
    return tuple((row, reason) for row, reason in rewritten if isinstance(reason, Diagnostic))


def smallest_chain(
    subject: ResizeSpec, accepts: Callable[[ResizeSpec], bool], *, allow_inexact: bool = False
) -> tuple[AxisStep, ...] | None:
    """The shortest chain of rewrites to a subject that `accepts` takes; () if it takes `subject` itself, None if none.

    With `allow_inexact` a chain with fewer inexact steps comes before a shorter one, so an exact chain wins.
    """
    order = count()
    queue: list[tuple[int, int, int, tuple[AxisStep, ...]]] = [(0, 0, next(order), ())]
    nearest = {subject: (0, 0)}  # by what is queued: its inexact steps and its length
    while queue:
        inexact, length, _, chain = heappop(queue)
        here = chain[-1].subject if chain else subject
        if nearest[here] < (inexact, length):
            continue
        if accepts(here):
            return chain
        for step in _steps(here, allow_inexact):
            cost = inexact + (not step.exact), length + 1
            if step.subject not in nearest or cost < nearest[step.subject]:
                nearest[step.subject] = cost
                heappush(queue, (*cost, next(order), (*chain, step)))
    return None


@lru_cache(maxsize=1024)  # a model has few kinds of sites, and many of each
def _steps(subject: ResizeSpec, allow_inexact: bool) -> tuple[AxisStep, ...]:
    return tuple(rewrites(subject, allow_inexact=allow_inexact))


def _other_forms(subject: ResizeSpec, allow_inexact: bool) -> Iterator[AxisStep]:
    """The forms that every axis may take, each axis by its own chain of axis equivalences."""
    reachable = [_reachable(axis, subject.form, subject.interpolation, allow_inexact) for axis in subject.listed]
    for form in forms_of(subject.interpolation.mode):
        if form != subject.form and all(form in forms for forms in reachable):
            used = reduce(frozenset.union, (forms[form] for forms in reachable))
            coordinates, rounding = form
            interpolation = replace(
                subject.interpolation, coordinate_transformation_mode=coordinates, nearest_mode=rounding
            )
            reasons_in_order = tuple(sorted(used, key=lambda equivalence: equivalence.number))
            yield AxisStep(reasons_in_order, replace(subject, interpolation=interpolation))


@lru_cache(maxsize=1024)
def _reachable(
    axis: Axis, start: Form, interpolation: Interpolation, allow_inexact: bool
) -> dict[Form, frozenset[AxisEquivalence]]:
    """Every form this axis may take, with the equivalences that lead there: the exact ones first."""
    found: dict[Form, frozenset[AxisEquivalence]] = {start: frozenset()}
    for usable in (_EXACT_ROWS, _ROWS if allow_inexact else ()):
        frontier = list(found)
        while frontier:
            form = frontier.pop(0)
            for row in usable:
                others = row.alike(axis, form, interpolation)
                if not others <= found.keys():
                    for other in sorted(others - found.keys()):
                        found[other] = found[form] | {row}
                        frontier.append(other)
    return found
