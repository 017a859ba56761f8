"""Whether the machine has the memory to run a model at some sizes and scales, asked before it is run."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.runtimes.inputs import Value, shapes_of
from resizefix.runtimes.limits import Footprint, Limits, footprint, in_words
from resizefix.runtimes.ort_session import CannotRunError
from resizefix.scope_path import Key
from resizefix.verification.reference_model import ReferenceModels
from resizefix.verification.scale_points import ScalePoint
from resizefix.verification.upstream import Dependence, fed_back

_REMEMBERED = 4
_FEW = 200  # nodes
_LIGHT = 2**20  # elements that are computed
_OF_A_NODE = 2**11  # elements: it takes about two microseconds
_TURNS = 4  # of a Loop: how many it makes is seldom known
_KEPT = 8  # times what nodes alone make: both models', at the old scales and two others, which are a half larger
_AS_IT_IS = ScalePoint(())


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
        return Dependence(self._original.proto)

    def reject_reason(self, feeds: Mapping[str, Value], scales: ScalePoint = _AS_IT_IS) -> str | None:
        """Why the original is not run on these feeds, with the scales of a scale point in it; None: it fits."""
        factors, shapes = _growth(scales), shapes_of(feeds)
        alike = [one for one in self._earlier if one.shapes == shapes]
        if any(self._is_small(one, factors) for one in alike):  # of all first: to follow paths takes long
            return None
        if any(self._suffices(one, factors) for one in alike):
            return None
        inferred = self._inferred(shapes, scales)
        taken = inferred.peak * (self._times if scales is _AS_IT_IS else 1)  # at smaller sizes they show as much
        if taken > self._most:
            return Diagnostic("verification.over-budget", taken=in_words(taken), most=in_words(self._most))
        if scales is _AS_IT_IS:
            self._as_it_is[_sorted(shapes)] = inferred
        self._earlier.appendleft(_InferredSizes(shapes, factors, inferred.peak))
        return None

    def refusal(
        self, label: str | None, feeds: Mapping[str, Value], scales: ScalePoint = _AS_IT_IS
    ) -> OverBudgetError | None:
        """The error for a model of that name which is not run for that reason."""
        why = self.reject_reason(feeds, scales)
        return None if why is None else OverBudgetError("verification.not-run", label=label, why=why, reason=why)

    def start_from(self, feeds: Mapping[str, Value]) -> None:
        """Count a run on these feeds as one forward pass."""
        self._own = shapes_of(feeds)

    def cost(self, feeds: Mapping[str, Value], scales: ScalePoint = _AS_IT_IS) -> float | None:
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

    def turned(self, scales: ScalePoint) -> float | None:
        """How many times larger the turns of Loops make what they hand on; None where nothing grows so."""
        larger = {key: factor for key, factor in _growth(scales).items() if factor > 1 and key[0].is_body}
        new = frozenset(larger) - self._asked
        self._asked |= new
        self._turning |= fed_back(self._original.proto, new)
        growing = [factor for key, factor in larger.items() if key in self._turning]
        return math.prod(growing) ** _TURNS if growing else None

    def _by_elements(self, feeds: Mapping[str, Value], scales: ScalePoint) -> float | None:
        shapes = shapes_of(feeds)
        factors = {key: factor for key, factor in _growth(scales).items() if factor != 1}
        if factors and len(self._original.proto.graph.node) <= _FEW:
            old = ScalePoint(tuple((source, tuple(source.value)) for source, _ in scales.values))
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

    def _inferred(self, shapes: Mapping[str, tuple[int, ...]], scales: ScalePoint) -> Footprint:
        asked_for = _sorted(shapes), tuple(sorted(scales.baked.items()))
        if asked_for not in self._inferences:
            self._inferences[asked_for] = footprint(self.references.document(scales.baked), shapes)
        return self._inferences[asked_for]

    def has_room(self, feeds: Mapping[str, Value], scales: ScalePoint, times: int) -> bool:
        """Whether so many times what the tensors take at one time fit, as far as is known without inference."""
        factors, shapes = _growth(scales), shapes_of(feeds)
        return any(one.shapes == shapes and self._is_small(one, factors, times) for one in self._earlier)

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


def _growth(scales: ScalePoint) -> dict[Key, float]:
    factors = {}
    for source, value in scales.values:
        for driven in source.sites:
            pairs = zip(driven.operand(value), driven.base, strict=True)
            factors[driven.key] = math.prod(new / old for new, old in pairs if old > 0)
    return factors
