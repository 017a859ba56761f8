"""More feeds than the first: drawn at random, kept only where the model runs with them; and those that reach a body.

How many there are goes by what a run costs. A model of few numbers gets many; of others every further feed must pay:
an image with every small input at random, and where there is a small input the same with all signs turned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np

from resizefix.document.document import Document
from resizefix.runtimes.inputs import InputKind, TensorInput, Value, shapes_of
from resizefix.runtimes.ort_session import CannotRunError
from resizefix.scope_path import ScopePath
from resizefix.verification.crossings import (
    Crossings,
    crossings_of,
    half_way,
    largest,
    mean_size,
    moved,
    numbers_fed,
    numbers_of,
)
from resizefix.verification.draws import SMALL, Drawer
from resizefix.verification.engine import Engine, Watched
from resizefix.verification.feed_rows import ROWS_OF_A_TURN, SPECIAL_NUMBERS, FeedRow, SpecialNumbers, looking_row, row
from resizefix.verification.feeds import Feeder
from resizefix.verification.fitting import Fitted, MemoryBudget
from resizefix.verification.sizing import SIZINGS, SMALL_SIZINGS
from resizefix.verification.telling_values import LIGHT, TellingValues

# How many further feeds a model gets by the numbers that it holds, is fed and gives: a run takes about so long.
OF_LIGHT = (
    (2**12, 128),  # 0.05 ms
    (2**15, 48),
    (LIGHT, 32),
)
# Elements that a run computes, which takes a tenth of a second: a model of few numbers may make many of them, or loop.
_MOST_COMPUTED = 2**27
_BRIEF = 2**21  # a millisecond
OF_ANY = 2  # the rows of usual numbers
_OTHER_SIZES = 5  # of a light model with open sizes
_MOST_TURNS = 40  # of rows, for a model that names many numbers
_ROWS_OF_A_SIZE = 3  # that are drawn at each of those
_FIRST_CRITICAL = 500  # the number of the first row that is drawn for it
_SIZINGS = (*SMALL_SIZINGS, *SIZINGS[:6])
_SIZES_ASKED = 24  # of the feeder's candidates, many of which have the same sizes
_LOOKED_FOR = 96  # feeds that are tried of a light model for a body that did not run
_LOOKED_FOR_DEAR = 4
_FIRST_SIZES = 6  # that a first feed is drawn at
_FIRST_ROWS = 24  # of each
_BORDERS = 12  # feeds that are moved to a condition's border, in two ways each
_HALVINGS = 12  # on the way to a border
_TRIES = 3  # rows for each feed that is wanted
_ROOM = 6  # times what a run takes that must be free before sizes are drawn


@dataclass
class FurtherFeeds:
    """Draws feeds for a model that runs as `runner`. `feeder` knows the inputs.

    `first` is the feed that it is known to run with, and was run with last. `tried`: how often the model was run for
    further ones; `ran`: the bodies that ran on the feeds that were kept.
    """

    runner: Watched
    feeder: Feeder
    first: Fitted
    origin: TellingValues
    budget: MemoryBudget
    bases: list[Fitted] = field(default_factory=list)
    tried: int = 0
    ran: frozenset[ScopePath] = frozenset()
    _next: int = 0  # row
    _ran_on: list[tuple[Fitted, frozenset[ScopePath]]] = field(default_factory=list)
    _seen: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.bases = [self.first]
        self._seen.add(_identity(self.first.feeds))
        self.budget.reject_reason(self.runner.taken(self.first.feeds))  # so that it knows what the first run takes
        self.computed = self.budget.computed(self.runner.taken(self.first.feeds)) * self.runner.turns
        self._drawer = Drawer(self.feeder.seed, self.origin.edges, self.origin.deciding)
        room = self.budget.has_room(self.runner.taken(self.first.feeds), _ROOM)
        self._drawn = [entry for entry in self.feeder.drawn if room or entry.name not in self.origin.deciding]
        self._drawn += [
            entry
            for entry in self.feeder.defaulted
            if entry.name in self.origin.defaults and entry.kind is InputKind.TENSOR
            if room or entry.name not in self.origin.deciding
        ]

    @cached_property
    def _weight(self) -> int:
        values = (*self.first.feeds.values(), *self.first.outputs.values())
        return self.origin.weight + sum(map(numbers_of, values))

    @property
    def computed_per_number(self) -> float:
        """How many elements a run computes for each number that it is fed."""
        return self.computed / max(numbers_fed(self.first.feeds), 1)

    @property
    def is_light(self) -> bool:
        """Whether a run costs next to nothing."""
        return self._weight <= LIGHT and self.computed <= _MOST_COMPUTED

    @property
    def is_brief(self) -> bool:
        """Whether a run takes less time than a thread."""
        return self._weight <= OF_LIGHT[0][0] and self.computed <= _BRIEF

    def enough(self, *, exact: bool = True) -> int:
        """How many further feeds the model needs by default. Not `exact`: only of usual numbers, of both signs."""
        if not self._drawn:
            return 0
        if not exact:
            return OF_ANY
        for most, feeds in OF_LIGHT if self.is_light else ():
            if self._weight <= most:
                return max(feeds, self._until_every_edge) if self.is_brief else feeds
        usual = (self._usual(self.first, entry) for entry in self._drawn)
        return 1 + any(numbers_of(value) <= SMALL for value in usual)

    @property
    def _until_every_edge(self) -> int:
        """So many rows that every number that the model names for an input is stood on, and passed on both sides."""
        turns = max((len({*named, 0, 1}) for named in self.origin.edges.numbers.values()), default=0)
        return ROWS_OF_A_TURN * min(turns, _MOST_TURNS)

    def at_other_sizes(self) -> list[Fitted]:
        """The usual feeds at a few other sizes that the file leaves open, where the model runs with them, the smallest
        first; rows are drawn at them, too."""
        by_shapes: dict[object, dict[str, Value]] = {}
        for feeds in islice(self.feeder.candidates(_SIZINGS), _SIZES_ASKED) if self.is_light else ():
            by_shapes.setdefault(tuple(shapes_of(feeds).items()), feeds)
        by_shapes.pop(tuple(shapes_of(self.first.feeds).items()), None)
        smaller_first: list[Fitted] = []
        for feeds in sorted(by_shapes.values(), key=numbers_fed):
            fitted = self._run(feeds) if numbers_fed(feeds) <= LIGHT and len(smaller_first) < _OTHER_SIZES else None
            if fitted is not None and not fitted.vacuous:
                self._keep(smaller_first, fitted)
        self.bases += smaller_first
        return smaller_first

    def at_critical_sizes(self) -> list[Fitted]:
        """Feeds at the sizes at which either model begins to do something else, as far as such feeds are light."""
        fitted_there: list[Fitted] = []
        critical = self.origin.critical_shapes(self.feeder, self.first.feeds) if self.is_light else ()
        for number, shapes in enumerate(critical):
            feeds = self.feeder.of_shapes(self.first.feeds, shapes)
            base = None if feeds is None else self._run(feeds)
            if base is None or base.vacuous:
                continue
            self._keep(fitted_there, base)
            for further in range(_ROWS_OF_A_SIZE):
                first = _FIRST_CRITICAL + _ROWS_OF_A_SIZE * number
                fitted = self._fitted(row(first + further) if further > 1 else row(further), base)
                if fitted is not None:
                    self._keep(fitted_there, fitted)
        return fitted_there

    def rows(self, wanted: int) -> list[Fitted]:
        """So many feeds, or as many as can be drawn. Of a model whose runs are dear, one that overflows or saturates is
        replaced where another one does not."""
        telling: list[Fitted] = []
        silent: list[Fitted] = []
        for _ in range(_TRIES * wanted):
            if len(telling) == wanted:
                break
            fitted = self._fitted(row(self._next))
            self._next += 1
            if fitted is not None and (self.is_light or tells(fitted)):
                self._keep(telling, fitted)
            elif fitted is not None:
                silent.append(fitted)
        return telling + silent[: wanted - len(telling)]

    def reaching(self, missing: frozenset[ScopePath]) -> list[Fitted]:
        """Feeds with which bodies run that did not."""
        reaching: list[Fitted] = []
        tries = _LOOKED_FOR if self.is_light else _LOOKED_FOR_DEAR
        for number in range(tries if self._drawn else 0):
            if not missing:
                break
            fitted = self._fitted(looking_row(number))
            if fitted is not None and missing & self.runner.ran:
                missing -= self.runner.ran
                self._keep(reaching, fitted)
        return reaching

    def borders(self) -> list[Fitted]:
        """Feeds on the two sides of conditions, as near to each other as they come: a condition that is another one in
        the other model has its border elsewhere."""
        ends_of_all: list[Fitted] = []
        ran_on = self._ran_on if self.is_light and any(ran != self._ran_on[0][1] for _, ran in self._ran_on) else []
        # Of every size: small numbers, and such as limits are for.
        by_size = sorted(ran_on, key=lambda one: mean_size(one[0].feeds))[:: -(-len(ran_on) // _BORDERS) or 1]
        for one, ran in by_size:
            # Not the next one, which may be the opposite: all numbers half way between the two are 0.
            others = (other for other, ran_other in ran_on[2:] if ran != ran_other)
            shapes = shapes_of(one.feeds)
            other = next((other for other in others if shapes_of(other.feeds) == shapes), None)
            ends_of_all += [] if other is None else self._border(one, other)
            # The same numbers a little less and a little more keep their distances.
            most = 2 * largest(one.feeds)
            ends = [self._run(self._moved(one.feeds, by), same_sizes=True) for by in (-most, most)]
            if ends[0] is not None and ends[1] is not None:
                ends_of_all += self._border(ends[0], ends[1])
        return ends_of_all

    def _moved(self, feeds: dict[str, Value], by: float) -> dict[str, Value]:
        """With a number added to all that decides no size and no count: that of a loop's turns stays modest."""
        free = {name: value for name, value in feeds.items() if name not in self.origin.deciding}
        return {**feeds, **moved(free, by)}

    def at_crossings(self, engine: Engine, documents: Sequence[Document], *, brief: bool) -> list[Fitted]:
        """Feeds at which a tensor inside a model passes a number that the model names."""
        fitted: list[Fitted] = []
        for document in documents if self.is_light else ():
            crossings = crossings_of(engine, document, self.computed_per_number, brief=brief)
            fitted += [] if crossings is None else self.crossing(crossings)
        return fitted

    def crossing(self, crossings: Crossings) -> list[Fitted]:
        """Feeds next to each other between which a tensor inside one of the models passes a number that it names."""
        crossing: list[Fitted] = []
        for feeds in crossings.between([self.first, *(one for one, _ in self._ran_on)]):
            fitted = self._run(feeds, same_sizes=True)
            if fitted is not None and not fitted.vacuous:
                self._keep(crossing, fitted)
        return crossing

    def special(self) -> list[tuple[SpecialNumbers, Fitted]]:
        """The first feed with the negative zero, NaN and the infinities among its numbers, where the model runs so."""
        drawn = {entry.name for entry in self._drawn if entry.name not in self.origin.deciding}
        usual = {name: value for name, value in self.first.feeds.items() if name in drawn}
        fed = [(one, self._run({**self.first.feeds, **one.among(usual)}, same_sizes=True)) for one in SPECIAL_NUMBERS]
        return [(one, fitted) for one, fitted in fed if fitted is not None and not fitted.vacuous]

    def _border(self, one: Fitted, other: Fitted) -> list[Fitted]:
        """Two feeds between these, near to each other, on which other bodies run; none where the same run on these."""
        ran = []
        for end in (one, other):
            self._run(end.feeds, same_sizes=True)
            ran.append(self.runner.ran)
        apart = ran[0] ^ ran[1]
        for _ in range(_HALVINGS if apart else 0):
            between = self._run(half_way(one.feeds, other.feeds), same_sizes=True)
            if between is None:
                break
            if apart & (self.runner.ran ^ ran[0]):
                other = between
            else:
                one = between
        return [one, other] if apart else []

    def _keep(self, among: list[Fitted], fitted: Fitted) -> None:
        self.ran |= self.runner.ran
        self._ran_on.append((fitted, self.runner.ran))
        among.append(fitted)

    def _fitted(self, row: FeedRow, base: Fitted | None = None) -> Fitted | None:
        """The row at the sizes of a base, by default one in turn, with as many of its values as the model runs with;
        None where that is none."""
        turn = row.number + row.number // ROWS_OF_A_TURN  # so that every kind of row comes at every size
        base = self.bases[turn % len(self.bases)] if base is None else base
        drawn = {entry.name: self._drawer.value(entry, self._usual(base, entry), row) for entry in self._drawn}
        for names in self._shrinking(base):
            feeds = {**base.feeds, **{name: drawn[name] for name in names}}
            identity = _identity(feeds)
            if identity in self._seen:
                return None
            self._seen.add(identity)
            fitted = self._run(feeds, same_sizes=True)
            if fitted is not None and not fitted.vacuous:
                return fitted
        return None

    def _usual(self, base: Fitted, entry: TensorInput) -> Value:
        return base.feeds[entry.name] if entry.name in base.feeds else self.origin.defaults[entry.name]

    def _shrinking(self, base: Fitted) -> Iterator[list[str]]:
        """Names of the inputs to draw: all of them, then without those that a model is likely to refuse."""
        left = list(self._drawn)
        yield [entry.name for entry in left]
        for is_likely in (self._decides, self._is_index, self._is_text):
            likely = [entry for entry in left if not is_likely(base, entry)]
            if likely and len(likely) < len(left):
                left = likely
                yield [entry.name for entry in left]
        if len(self._drawn) > 1:  # the others may be right, one by one
            yield from ([entry.name] for entry in self._drawn if entry not in left)

    def _decides(self, base: Fitted, entry: TensorInput) -> bool:
        return entry.name in self.origin.deciding

    def _is_index(self, base: Fitted, entry: TensorInput) -> bool:
        value = self._usual(base, entry)
        return isinstance(value, np.ndarray) and value.dtype.kind in "iu"

    def _is_text(self, base: Fitted, entry: TensorInput) -> bool:
        value = self._usual(base, entry)
        return not isinstance(value, np.ndarray) or value.dtype.kind in "O"

    def _run(self, feeds: dict[str, Value], *, same_sizes: bool = False) -> Fitted | None:
        taken = self.runner.taken(feeds)
        if not (self.is_light and same_sizes) and self.budget.reject_reason(taken) is not None:
            return None
        self.tried += 1
        try:
            outputs = self.runner.run(taken)
        except CannotRunError:
            return None
        if self.runner.contradicts(outputs) and not self.runner.contradicts(self.first.outputs):
            return None
        return Fitted(feeds, outputs)


def drawn_first(runner: Watched, feeder: Feeder, origin: TellingValues, budget: MemoryBudget) -> Fitted | None:
    """A first feed drawn at random, for a model that refuses the likeliest ones: at a few sizes, and at those that it
    asks for. None where none of so many is one, or the model is not light."""
    if origin.weight > LIGHT:
        return None
    usual = list(islice(feeder.candidates(_SIZINGS), _FIRST_SIZES))
    usual += [
        feeds
        for shapes in (origin.critical_shapes(feeder, usual[0]) if usual else ())
        if (feeds := feeder.of_shapes(usual[0], shapes)) is not None
    ]
    drawer = Drawer(feeder.seed, origin.edges, origin.deciding)
    for number in range(-1, _FIRST_ROWS):
        for feeds in (feeds for feeds in usual if numbers_fed(feeds) <= LIGHT):
            values = {entry.name: drawer.value(entry, feeds[entry.name], row(number)) for entry in feeder.drawn}
            tried = feeds if number < 0 else {**feeds, **values}
            taken = runner.taken(tried)
            with suppress(CannotRunError):
                if budget.reject_reason(taken) is None:
                    fitted = Fitted(tried, runner.run(taken))
                    if not (fitted.vacuous or runner.contradicts(fitted.outputs)):
                        return fitted
    return None


def tells(fitted: Fitted) -> bool:
    """Whether every output says something: finite numbers that are not all the same. One that overflows or saturates
    may hide any difference."""
    return all(map(_tells, fitted.outputs.values()))


def _tells(value: Value) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fV" or value.size == 0:
        return True
    finite = np.isfinite(value.astype(np.float32, copy=False))
    return bool(finite.all()) and (value.size == 1 or bool((value != value.flat[0]).any()))


def _identity(feeds: Mapping[str, Value]) -> bytes:
    return repr([(name, _bytes(value)) for name, value in sorted(feeds.items())]).encode(errors="replace")


def _bytes(value: Value) -> object:
    if isinstance(value, list):
        return [_bytes(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return value.shape, hash(value.tobytes())
    return value.tolist() if isinstance(value, np.ndarray) else value
