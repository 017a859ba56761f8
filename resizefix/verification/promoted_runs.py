"""An original and its promotion, run at points of a trial; a session stays open as long as it is needed.

Where sizes alone do not say whether a site is free, the promoted model is run with one input moved. A promotion that
feeds sizes is exact only where scale times size is whole; other sizes are tried to measure by how much it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np
from onnx import ModelProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.values import Dims, dims_of, set_shape
from resizefix.promotion import Coupling, Freedom, InputBinding, PromotedInput
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.ort_session import CannotRunError, Session
from resizefix.runtimes.prepared_model import PreparedModel, prepare_for_ort
from resizefix.scope_path import Key, ScopePath
from resizefix.shapes.stored_shapes import ModelView, Shapes
from resizefix.verification.compare import half_units
from resizefix.verification.engine import Engine, Watched
from resizefix.verification.fitting import MemoryBudget, Runner
from resizefix.verification.reference_model import Operand
from resizefix.verification.scale_points import ScalePoint, at_old_values, even_value, moved_points, other_values
from resizefix.verification.trial import Answer, Point, Side, Trial
from resizefix.verification.upstream import Dependence
from resizefix.verification.verification import Progress

_MOST_SAID = 8


@dataclass
class PromotedPoint(Point):
    """A point of the trial at some scales: the operands that they make in the original, which holds them, and the
    feeds without them."""

    scales: ScalePoint = field(kw_only=True)
    operands: Mapping[Key, Operand] = field(kw_only=True)
    unscaled: Feeds = field(kw_only=True)
    prepared: PreparedModel | None = None

    @property
    def values(self) -> dict[str, tuple[float, ...]]:
        """The values of the promoted inputs."""
        return {source.name: tuple(value) for source, value in self.scales.values}

    @property
    def at(self) -> str:
        """The values of the inputs, or the first of them, as text."""
        values = self.values
        text = ", ".join(f"{name}={list(value)}" for name, value in islice(values.items(), _MOST_SAID))
        return text if len(values) <= _MOST_SAID else f"{text}, …"


class PromotedRuns:
    """An original that runs, and a promotion of it that is looked at: the feeds that they accept and what they make of
    them.

    Its `engine` holds the runs that were compared, and differences that the promotion brings with it as notes.
    """

    def __init__(self, original: Document, engine: Engine, alone: Sequence[PromotedInput] = ()) -> None:
        """`alone`: the inputs of the promotion of these nodes, which were extracted from a model.

        Raises CannotLoadError or CannotRunError where onnxruntime cannot run the original, UsageError for bad shapes.
        """
        self._original = original
        self._is_alone = bool(alone)
        self._budget = MemoryBudget(original, engine.conditions.limits, alone=self._is_alone)
        self._prepared = prepare_for_ort(original)  # each is opened at two levels
        self.engine = engine
        session = engine.open(original, prepared=self._prepared, optimized=False)
        fitted = self.engine.fit_as_declared(original, session, self._budget, is_part=self._is_alone)
        self._feeds, self._outputs = fitted.feeds, fitted.outputs
        self.engine.start_from(fitted)
        self._budget.start_from(fitted.feeds)
        self._others = list(fitted.others)  # feeds of other sizes and other values
        self._is_open = len(fitted.others) > 1  # sizes are
        self._by_sizes: list[tuple[PromotedPoint, float]] = []  # that differ from the original with scales, by how much
        self._probed: Watched | None = None  # the promotion without optimisation
        self._seen = frozenset[ScopePath]()  # the bodies that it ran in sessions that were closed
        self.passed_over = frozenset[ScopePath]()  # those of the bodies behind an input that it did not run
        self.not_rebaked: set[str] = set()  # inputs at some of whose values no original is loaded to compare with
        self._promoted = original  # the one that is looked at
        self._inputs: Sequence[PromotedInput] = ()
        self._points: dict[tuple[ScalePoint, int], PromotedPoint] = {}
        # What a node reads that a point does not move, also where the original computes it from a size that moves.
        self._as_exported: Mapping[Key, Operand] = {}
        self._trial = Trial(engine, self._open_before, self._open_after, too_large=self._too_large)

    def _look_at(self, promoted: Document, inputs: Sequence[PromotedInput]) -> None:
        """From here on points are those of this promotion; what it makes of them is kept as long as it is looked at."""
        if promoted is not self._promoted:
            self._probed, self._seen, self._points = None, frozenset(), {}
        self._promoted, self._inputs = promoted, inputs
        self._as_exported = at_old_values(inputs).baked

    def require_fed_by(self, promoted: Document) -> None:
        """Raises CannotRunError where the original's scales follow an input that the promoted model has not: they
        are unknown."""
        fed_names = {value.name for value in promoted.proto.graph.input}
        for name in self._feeds:
            if name not in fed_names:
                reason = f"its scales follow {name!r}"
                raise CannotRunError(reason, reason=reason)

    def _takes(self, point: PromotedPoint) -> bool:
        """Whether the original that holds the scales takes these feeds, too."""
        self._close()
        return isinstance(self._trial.answer(point, Side.BEFORE), Mapping)

    def _point(self, scales: ScalePoint, feeds: Feeds) -> PromotedPoint:
        """The point at these scales; there is one, whose runs are made once."""
        key = scales, id(feeds)
        if key not in self._points:
            fed = {**feeds, **scales.feeds(self._inputs)}
            operands = {**self._as_exported, **scales.baked}
            cost = self._budget.cost(feeds, scales)
            self._points[key] = PromotedPoint(fed, id(scales), cost, scales=scales, operands=operands, unscaled=feeds)
        return self._points[key]

    def _answer(self, scales: ScalePoint, feeds: Feeds) -> Answer:
        """What the promoted model makes at a scale point without optimisation."""
        return self._trial.answer(self._point(scales, feeds), Side.AFTER)

    def _too_large(self, session: Runner, point: Point) -> CannotRunError | None:
        assert isinstance(point, PromotedPoint)
        return self._budget.refusal(session.label, self._feeds, point.scales)

    def _open_after(self, optimized: bool) -> Session | Watched:
        """The promoted model; without optimisation bodies are watched, and it stays open until another model is."""
        if optimized:
            return self.engine.open(self._promoted, optimized=True)
        self._probed = self._probed or self.engine.open_watched(self._promoted)
        return self._probed

    def _close(self) -> None:
        """Close the promoted model before another one is opened: each maps or holds all weights."""
        self._seen |= self._seen_now
        self._probed = None

    @property
    def _seen_now(self) -> frozenset[ScopePath]:
        """The bodies that the promotion ran."""
        return self._seen if self._probed is None else self._seen | self._probed.seen

    def _open_before(self, point: Point, optimized: bool) -> Session:
        """The original that holds the scales or sizes of the point as constants."""
        assert isinstance(point, PromotedPoint)
        prepared = self._prepared if self._is_old(point) else self._reference(point)
        return self.engine.open(self._original, prepared=prepared, optimized=optimized)

    @staticmethod
    def _is_old(point: PromotedPoint) -> bool:
        return all(tuple(value) == tuple(source.value) for source, value in point.scales.values)

    def _reference(self, point: PromotedPoint) -> PreparedModel:
        if point.prepared is None:  # each is opened at two levels
            point.prepared = self._budget.references.prepared(self._prepared, point.operands)
        return point.prepared

    def _moved_points(self, inputs: Sequence[PromotedInput]) -> list[ScalePoint]:
        return moved_points(inputs, self._fits, self._cost)

    def _cost(self, scales: ScalePoint) -> float | None:
        return self._budget.turned(scales) if self._budget.is_light else self._budget.cost(self._feeds, scales)

    def _fits(self, scales: ScalePoint) -> bool:
        return self._budget.reject_reason(self._feeds, scales) is None


def half_units_of(original: Document, inputs: Sequence[PromotedInput]) -> float:
    """How far outputs may differ for what these inputs resize in half precision before them."""
    view = ModelView(original)
    scopes = view.scopes
    sites = (driven for source in inputs for driven in source.sites)
    homes = (scopes.definition(scopes.by_path.get(driven.scope, scopes.main), driven.input) for driven in sites)
    return half_units(view.shapes.elem_type(home.key) for home in homes if home is not None)


_STEPS = (1, 2, 4, 8, 16, 32)  # networks with skips want multiples of a power of two
_SMALL = 4  # such a step is taken from half the size, which costs a quarter
_SPATIAL = 2  # the axes before are batch and channels


def follow_whole_sizes(source: PromotedInput) -> bool:
    """Whether a site of the input is fed sizes that mean its old scale only where the product with an open size is
    whole."""
    return any(_follows(driven) for driven in source.sites)


def _follows(driven: InputBinding) -> bool:
    open_axes = [position for position in driven.scaled if driven.resized_dims[position] is None]
    return driven.by_shape and any(not float(driven.base[position]).is_integer() for position in open_axes)


def without_whole_sizes(
    original: Document, feeds: Mapping[str, Value], inputs: Sequence[PromotedInput]
) -> Iterator[dict[str, Value]]:
    """Feeds at whose sizes the old scale of one of these sites makes no whole number; the model need not run with
    them."""
    sites = [driven for source in inputs for driven in source.sites if _follows(driven)]
    for step in _STEPS if sites else ():
        moved = _of_other_sizes(original, feeds, step)
        if moved is not None and _is_broken(original, moved, sites):
            yield moved


def _of_other_sizes(original: Document, feeds: Mapping[str, Value], step: int) -> dict[str, Value] | None:
    moved: dict[str, Value] = {}
    for entry in original.proto.graph.input:
        value, dims = feeds.get(entry.name), dims_of(entry.type)
        if not isinstance(value, np.ndarray) or len(dims) != value.ndim:
            continue
        for axis, dim in enumerate(dims[_SPATIAL:], _SPATIAL):
            if not isinstance(dim, int):
                size = value.shape[axis]
                length = (size // 2 if step <= _SMALL else size) + step
                value = np.take(value, np.arange(length) % size, axis)
                moved[entry.name] = value
    return {**feeds, **moved} if moved else None


def _is_broken(original: Document, feeds: Mapping[str, Value], sites: Sequence[InputBinding]) -> bool:
    copy = original.copy()
    for entry in copy.proto.graph.input:
        value = feeds.get(entry.name)
        if isinstance(value, np.ndarray):
            set_shape(entry, value.shape)
    shapes = Shapes(copy.proto)
    return any(_makes_no_whole(driven, shapes.dims((driven.scope, driven.input))) for driven in sites)


def _makes_no_whole(driven: InputBinding, dims: Dims | None) -> bool:
    over = driven.denominator or 1
    for position in driven.scaled if dims is not None else ():
        axis = position if driven.axes is None else driven.axes[position]
        size = dims[axis] if dims is not None and axis < len(dims) else None
        if isinstance(size, int) and size * round(driven.base[position] * over) % over:
            return True
    return False


_MOST_COST = 1.5  # forward passes of a run
_FINDING = Diagnostic("verification.finding-free")


@dataclass
class Prober:
    """Moves the inputs of one promoted `model`.

    `breaks_at` runs it at a scale point, not optimized, and says where it breaks; `fits` says of a scale point whether
    the machine has the memory for it, `cost` how many forward passes it takes. What does not move keeps its old value.
    Where `affords` no longer holds, what is left is unknown.
    """

    model: ModelProto
    breaks_at: Callable[[ScalePoint], str | None]
    inputs: Sequence[PromotedInput]
    fits: Callable[[ScalePoint], bool]
    cost: Callable[[ScalePoint], float | None]
    progress: Progress
    affords: Callable[[], bool] = lambda: True

    @cached_property
    def _dependence(self) -> Dependence:
        return Dependence(self.model)

    def probe(self) -> dict[Key, Coupling]:
        """The verdict for every site; those that share an input share it."""
        self.progress.expect(len(self.inputs))
        couplings: dict[Key, Coupling] = {}
        pending = [list(self.inputs)] if self.inputs else []
        while pending:
            group = pending.pop()
            if not self.affords():
                couplings.update(_verdicts(group, Freedom.UNKNOWN, None))
                self.progress.done(_FINDING, len(group))
                continue
            broken = self._broken(group)
            if broken is None or len(group) == 1:
                couplings.update(_verdicts(group, Freedom.FREE if broken is None else Freedom.COUPLED, broken))
                self.progress.done(_FINDING, len(group))
                continue
            guilty = self._only_one_above(broken, group)
            if guilty is not None:
                couplings.update(_verdicts([guilty], Freedom.COUPLED, broken))
                self.progress.done(_FINDING)
                pending.append([source for source in group if source is not guilty])
            else:
                pending += [group[len(group) // 2 :], group[: len(group) // 2]]
        return couplings

    def _broken(self, group: Sequence[PromotedInput]) -> str | None:
        """Where the model breaks when all of them move, in two ways; of one alone, where it breaks at a whole step too,
        which keeps sizes even. None: nowhere."""
        points = moved_points(group, self.fits, self.cost)
        if len(group) == 1:
            values = other_values(group[0], self.fits)[:1], even_value(group[0])
            steps, smaller = ([ScalePoint(((group[0], value),)) for value in each] for each in values)
            if smaller and any((self.cost(point) or 0.0) > _MOST_COST for point in steps):
                steps = smaller
            return next(filter(None, map(self.breaks_at, steps)), None)
        return next((broken for point in points if (broken := self.breaks_at(point)) is not None), None)

    def _only_one_above(self, node: str, group: Sequence[PromotedInput]) -> PromotedInput | None:
        """The one input of the group that the node depends on: alone it breaks the model there too."""
        above = self._dependence.above(node, [driven.key for source in group for driven in source.sites])
        if above is None:
            return None
        guilty = [source for source in group if any(driven.key in above for driven in source.sites)]
        return guilty[0] if len(guilty) == 1 else None


def _verdicts(sources: Sequence[PromotedInput], verdict: Freedom, breaks_at: str | None) -> dict[Key, Coupling]:
    return {driven.key: Coupling(driven.label, verdict, breaks_at) for source in sources for driven in source.sites}
