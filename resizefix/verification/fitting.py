"""Feeds that a model runs with, and what it makes of them: found by trying, within the memory that there is.

Whether the machine has the memory to run a model at some sizes and scales is asked before it is run."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.text import few
from resizefix.runtimes.inputs import Feeds, Value, shapes_of
from resizefix.runtimes.limits import Footprint, Limits, footprint, in_words
from resizefix.runtimes.ort_session import CannotRunError
from resizefix.scope_path import Key
from resizefix.verification.feeds import Feeder, TooLargeError
from resizefix.verification.reference_model import ReferenceModels

if TYPE_CHECKING:
    from resizefix.verification.scale_points import ScalePoint
    from resizefix.verification.upstream import Dependence

_REMEMBERED = 4
_FEW = 200  # nodes
_LIGHT = 2**20  # elements that are computed
_OF_A_NODE = 2**11  # elements: it takes about two microseconds
_TURNS = 4  # of a Loop: how many it makes is seldom known
_KEPT = 8  # times what nodes alone make: both models', at the old scales and two others, which are a half larger


class OverBudgetError(CannotRunError):
    """The model was not run because its tensors would take more memory than may be used."""


class MemoryBudget:
    """What an original may take, at the scales it has and at others.

    Shape inference of the whole model says it exactly; it is asked when what it said of similar scales does not do.
    """

    def __init__(self, original: Document, limits: Limits, *, alone: bool = False) -> None:
        """`alone`: the original consists of nodes that were extracted; all that they make is kept."""
        self._original = original
        self._most = limits.bytes
        self._times = _KEPT if alone else 1
        self._earlier: deque[_InferredSizes] = deque(maxlen=_REMEMBERED)
        self._as_it_is: dict[object, Footprint] = {}  # by the shapes of the inputs
        self._own: Mapping[str, tuple[int, ...]] = {}  # shapes of the feeds of `start_from`
        self._inferences: dict[object, Footprint] = {}  # by shapes and operands
        self._asked: frozenset[Key] = frozenset()
        self._turning: frozenset[Key] = frozenset()  # those that a Loop feeds back to themselves

    @cached_property
    def references(self) -> ReferenceModels:
        """What makes the original with other scales."""
        return ReferenceModels(self._original)

    @cached_property
    def _dependence(self) -> Dependence:
        from resizefix.verification.upstream import Dependence  # of models whose scales move

        return Dependence(self._original.proto)

    def reject_reason(self, feeds: Mapping[str, Value], scales: ScalePoint | None = None) -> str | None:
        """Why the original is not run on these feeds, with `scales` in it (None: its own); None: it fits."""
        factors, shapes = _growth(scales), shapes_of(feeds)
        alike = [one for one in self._earlier if one.shapes == shapes]
        if any(self._is_small(one, factors) for one in alike):  # of all first: to follow paths takes long
            return None
        if any(self._suffices(one, factors) for one in alike):
            return None
        inferred = self._inferred(shapes, scales)
        taken = inferred.peak * (self._times if scales is None else 1)  # at smaller sizes they show as much
        if taken > self._most:
            return Diagnostic("verification.over-budget", taken=in_words(taken), most=in_words(self._most))
        if scales is None:
            self._as_it_is[_sorted(shapes)] = inferred
        self._earlier.appendleft(_InferredSizes(shapes, factors, inferred.peak))
        return None

    def refusal(
        self, label: str | None, feeds: Mapping[str, Value], scales: ScalePoint | None = None
    ) -> OverBudgetError | None:
        """The error for a model of that name which is not run for that reason."""
        why = self.reject_reason(feeds, scales)
        return None if why is None else OverBudgetError("verification.not-run", label=label, why=why, reason=why)

    def start_from(self, feeds: Mapping[str, Value]) -> None:
        """Count a run on these feeds as one forward pass."""
        self._own = shapes_of(feeds)

    def cost(self, feeds: Mapping[str, Value], scales: ScalePoint | None = None) -> float | None:
        """What a run costs, in runs on the feeds of `start_from`, by the elements that nodes make; None where that is
        not known. Of few nodes inference says it exactly, of many it follows from how much sites grow. What a Loop
        hands on to its next turn grows with each."""
        by_elements, turned = self._by_elements(feeds, scales), self.turned(scales)
        return by_elements if turned is None else max(turned, by_elements or 1.0)

    def computed(self, feeds: Mapping[str, Value]) -> float:
        """What a run on these feeds computes, as far as inference was asked: elements made of one or a few others, and
        for each node what calling it costs. At least what is fed."""
        own = self._as_it_is.get(_sorted(shapes_of(feeds)))
        elements = sum(math.prod(shape) for shape in shapes_of(feeds).values()) if own is None else sum(own.work)
        return elements + _OF_A_NODE * len(self._original.proto.graph.node)

    def turned(self, scales: ScalePoint | None) -> float | None:
        """How many times larger the turns of Loops make what they hand on; None where nothing grows so."""
        larger = {key: factor for key, factor in _growth(scales).items() if factor > 1 and key[0].is_body}
        new = frozenset(larger) - self._asked
        self._asked |= new
        if new:
            from resizefix.verification.upstream import fed_back  # few models have bodies

            self._turning |= fed_back(self._original.proto, new)
        growing = [factor for key, factor in larger.items() if key in self._turning]
        return math.prod(growing) ** _TURNS if growing else None

    def _by_elements(self, feeds: Mapping[str, Value], scales: ScalePoint | None) -> float | None:
        shapes = shapes_of(feeds)
        factors = {key: factor for key, factor in _growth(scales).items() if factor != 1}
        if scales is not None and factors and len(self._original.proto.graph.node) <= _FEW:
            old = replace(scales, values=tuple((source, tuple(source.value)) for source, _ in scales.values))
            with suppress(ValueError):  # Upsample-7 holds its scales as an attribute, and no constant can be written
                return _ratio(self._inferred(shapes, scales).work, self._inferred(self._own, old).work)
        taken, own = self._as_it_is.get(_sorted(shapes)), self._as_it_is.get(_sorted(self._own))
        grown = self._dependence.grown(factors)
        if taken is None or own is None or grown is None or len(grown) != len(taken.work):
            return None
        return _ratio([work * factor for work, factor in zip(taken.work, grown, strict=True)], own.work)

    @property
    def is_light(self) -> bool:
        """Whether a forward pass is so little that nothing is saved."""
        own = self._as_it_is.get(_sorted(self._own))
        return own is None or sum(own.work) < _LIGHT

    def _inferred(self, shapes: Mapping[str, tuple[int, ...]], scales: ScalePoint | None) -> Footprint:
        operands = {} if scales is None else scales.baked
        asked_for = _sorted(shapes), tuple(sorted(operands.items()))
        if asked_for not in self._inferences:
            self._inferences[asked_for] = footprint(self.references.document(operands), shapes)
        return self._inferences[asked_for]

    def has_room(self, feeds: Mapping[str, Value], times: int) -> bool:
        """Whether so many times what the tensors take at one time fit, as far as is known without inference."""
        shapes = shapes_of(feeds)
        return any(one.shapes == shapes and self._is_small(one, {}, times) for one in self._earlier)

    def _is_small(self, earlier: _InferredSizes, factors: Mapping[Key, float], times: int = 1) -> bool:
        """Whether it fits even if all sites were on one path."""
        ratios = _ratios(earlier, factors)
        largest = math.prod(max(1.0, ratio) for ratio in ratios.values())
        return not any(path for path, _ in ratios) and earlier.peak * largest * times <= self._most / 2

    def _suffices(self, earlier: _InferredSizes, factors: Mapping[Key, float]) -> bool:
        """Whether it fits, each site on the paths that it is on."""
        growth = self._dependence.growth({key: ratio for key, ratio in _ratios(earlier, factors).items() if ratio != 1})
        return growth is not None and earlier.peak * growth <= self._most / 2


@dataclass(frozen=True)
class _InferredSizes:
    """What the tensors take at these shapes, each site's output being so many times larger than at the old scales."""

    shapes: Mapping[str, tuple[int, ...]]
    factors: Mapping[Key, float]
    peak: int


def _sorted(shapes: Mapping[str, tuple[int, ...]]) -> object:
    return tuple(sorted(shapes.items()))


def _ratio(work: Sequence[float], own: Sequence[float]) -> float | None:
    return sum(work) / sum(own) if sum(own) else None


def _ratios(earlier: _InferredSizes, factors: Mapping[Key, float]) -> dict[Key, float]:
    """How many times more the output of each site may take than what is known, squared: attention makes of each size
    its square."""
    sites = earlier.factors.keys() | factors.keys()
    return {key: (factors.get(key, 1.0) / earlier.factors.get(key, 1.0)) ** 2 for key in sites}


def _growth(scales: ScalePoint | None) -> dict[Key, float]:
    factors = {}
    for source, value in () if scales is None else scales.values:
        for driven in source.sites:
            pairs = zip(driven.operand(value), driven.base, strict=True)
            factors[driven.key] = math.prod(new / old for new, old in pairs if old > 0)
    return factors


@dataclass(frozen=True)
class Fitted:
    """Feeds, and what the model made of them. `others` are feeds of other values, and sizes where the file leaves them
    open, the most telling first; the model need not run with them. `equal`: inputs whose open sizes must be equal, as
    other sizes were refused. `is_plain`: they count without optimisation alone, where stored sizes are not believed.

    `vacuous`: every output is empty, so that comparing them says nothing.
    """

    feeds: dict[str, Value]
    outputs: dict[str, Value]
    others: tuple[dict[str, Value], ...] = ()
    equal: tuple[str, ...] = ()
    is_plain: bool = False

    @property
    def vacuous(self) -> bool:
        """Whether there is no number in any output."""
        return bool(self.outputs) and all(is_empty(value) for value in self.outputs.values())

    @property
    def overflows(self) -> bool:
        """Whether an output holds numbers that no network means: comparing them says little."""
        floats = (value for value in self.outputs.values() if isinstance(value, np.ndarray) and value.dtype.kind == "f")
        with np.errstate(invalid="ignore", over="ignore"):
            return any(value.size and not np.abs(value).max() < _LARGEST for value in floats)


class Runner(Protocol):
    """What runs a model: a session, or one that is watched."""

    @property
    def label(self) -> str:
        """What errors call the model."""

    def taken(self, feeds: Feeds) -> dict[str, Value]:
        """Those of `feeds` that the model has an input for."""

    def run(self, feeds: Feeds) -> dict[str, Value]:
        """The outputs by name."""

    def contradicts(self, results: Mapping[str, Value]) -> bool:
        """Whether an output has another size than the file fixes."""


_MOST_NAMED = 3
_LARGEST = 1e30  # beyond it a network overflowed
_MOST_CONTRADICTING = 4  # times the first feeds: a file whose shapes are stale contradicts itself whatever it is fed


def fit_feeds(
    session: Runner,
    feeder: Feeder,
    *,
    attempts: int = 24,
    budget: MemoryBudget | None = None,
    is_part: bool = False,
) -> Fitted:
    """Tries the feeder's candidates and returns the first that the model runs with, giving one number at least.

    A candidate that is over the `budget` of memory is not run.

    Outputs of a size that the file fixes otherwise are put off: a few more candidates are tried, for an input that says
    sizes may say those. Only if there is no such candidate, one whose outputs are all empty. Inputs of another model
    that the feeder knows too are in the feeds, and not given to this one. Raises CannotRunError with what the most
    sensible candidate met, and the inputs whose sizes were chosen here: `--shape` can choose others, but not of a model
    that `is_part` of the user's.
    """
    first_error: CannotRunError | None = None
    empty: Fitted | None = None
    contradicting: list[Fitted] = []
    spent = 0
    candidates = islice(feeder.candidates(), attempts)
    while True:
        try:
            feeds = next(candidates, None)
        except TooLargeError as error:
            raise OverBudgetError("verification.not-run", label=session.label, why=error, reason=str(error)) from error
        if feeds is None:
            break
        taken = session.taken(feeds)
        own = _elements(taken)
        if contradicting and spent + own > _MOST_CONTRADICTING * _elements(session.taken(contradicting[0].feeds)):
            continue  # what is compared later needs its share of the cost of a proof
        refusal = None if budget is None else budget.refusal(session.label, taken)
        try:
            if refusal is not None:
                raise refusal
            fitted = _sensible(session, feeder, feeds)
        except CannotRunError as error:
            first_error = first_error or error
            continue
        if fitted.vacuous:
            empty = empty or fitted
        elif session.contradicts(fitted.outputs):
            contradicting.append(fitted)
            spent += own
        else:
            return fitted
    if contradicting:
        return contradicting[0]
    if empty is not None:
        return empty
    if first_error is not None:
        raise first_error if is_part else with_shapes_to_give(first_error, feeder)
    reason = Diagnostic("verification.too-large-at-every-size")
    raise CannotRunError("verification.not-run", label=session.label, why=reason, reason=reason)


def _elements(feeds: Mapping[str, Value]) -> int:
    return max(1, sum(value.size for value in feeds.values() if isinstance(value, np.ndarray)))


def _sensible(session: Runner, feeder: Feeder, feeds: dict[str, Value]) -> Fitted:
    """What the model makes of these feeds; of pictures of the same size, where it overflows with noise."""
    fitted = Fitted(feeds, session.run(session.taken(feeds)), tuple(feeder.others(feeds)), feeder.must_be_equal)
    if fitted.overflows:
        pictures = fitted.others[-1] if fitted.others else feeds
        with suppress(CannotRunError):
            instead = replace(fitted, feeds=pictures, outputs=session.run(session.taken(pictures)))
            return fitted if instead.overflows else instead
    return fitted


def with_shapes_to_give(error: CannotRunError, feeder: Feeder) -> CannotRunError:
    """The error, with the names of the inputs whose sizes were chosen here: `--shape` can choose others."""
    names = feeder.chosen_sizes
    if not names or isinstance(error, OverBudgetError):
        return error
    named = few(names, _MOST_NAMED)
    why = Diagnostic("verification.give-shapes", why=str(error), names=named)
    return CannotRunError(why, reason=error.reason, node=error.node, op_type=error.op_type)


def is_empty(value: Value) -> bool:
    """Whether a value holds no number at all."""
    if isinstance(value, np.ndarray):
        return value.size == 0
    if isinstance(value, list):
        return all(is_empty(item) for item in value)
    return not value


def of_other_sizes(session: Runner, first: Fitted, budget: MemoryBudget) -> list[Fitted]:
    """A second feed where sizes or extents are open: more images, taller than wide; none where the model before
    takes none. One at which it contradicts its own stored sizes is the last choice."""
    contradicting: list[Fitted] = []
    for feeds in () if first.vacuous else first.others[:-1]:
        taken = session.taken(feeds)
        if budget.reject_reason(taken) is None:
            with suppress(CannotRunError):
                fitted = Fitted(feeds, session.run(taken))
                if fitted.vacuous or fitted.overflows:
                    continue
                if not session.contradicts(fitted.outputs):
                    return [fitted]
                contradicting.append(replace(fitted, is_plain=True))
    return contradicting[:1]
