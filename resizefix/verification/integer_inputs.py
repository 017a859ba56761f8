"""Inputs that hold whole numbers where they held floats: the model before is fed the quotients, at several values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.document.document import Document
from resizefix.document.values import Array
from resizefix.runtimes.inputs import Feeds, TensorInput, Value
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, Session
from resizefix.verification.compare import compare
from resizefix.verification.engine import DifferenceError, Engine, run_of
from resizefix.verification.feeds import TooLargeError
from resizefix.verification.fitting import MemoryBudget, is_empty
from resizefix.verification.signatures import Feeding
from resizefix.verification.sizing import SIZINGS, Shape, image_of, roles_of, sized, vector_value
from resizefix.verification.trial import AtDefault, Point, Side, Trial
from resizefix.verification.verification import Conditions, Verification

_ENOUGH = 4  # points
_LEAST = 2  # of several values: with one, a constant would pass
_MOST_TRIED = 60
# By which an image is resized: all axes, or another number for the last, so that a swap shows.
_FACTORS = ((2.0, 1.5), (0.5, None), (1.5, 2.0), (1.0, None), (3.0, None), (0.75, 1.25))


class Numerators(NamedTuple):
    """An input that holds numerators over `denominator`; `gives_scales`: a resize reads the quotients as scales."""

    name: str
    denominator: int
    gives_scales: bool


def prove_integer_inputs(
    before: Document, after: Document, inputs: Sequence[Numerators], conditions: Conditions
) -> Verification:
    """Whether `after`, fed whole numbers, computes every bit of what `before` computes of the quotients.

    At several values, at both levels. Fails where the model before runs with fewer than two.
    """
    engine = Engine(conditions)
    engine.hold(before, after)
    try:
        plain = _OfQuotients(engine.open(before, optimized=False, label="BEFORE"), inputs)
        points = list(_points(engine, before, plain, inputs))
        if len(points) < _LEAST:
            names = ", ".join(one.name for one in inputs)
            return engine.verdict(Diagnostic("verification.few-whole-numbers", names=names))
        trial = Trial(
            engine,
            lambda _, optimized: _OfQuotients(engine.open(before, optimized=optimized, label="BEFORE"), inputs),
            lambda optimized: engine.open(after, optimized=optimized, label="AFTER"),
            lambda point, optimized: _judge(engine, point, inputs, optimized=optimized),
            which="the model before",
        )
        trial.run(points)
    except DifferenceError as error:
        return engine.verdict(error.diagnostic)
    except (CannotLoadError, CannotRunError, BrokenOffError) as error:
        return engine.verdict(str(error))
    return engine.verdict()


class _OfQuotients:
    """A session of the model before, which is fed what the model after is."""

    def __init__(self, session: Session, inputs: Sequence[Numerators]) -> None:
        self.session, self.label, self.notes = session, session.label, session.notes
        self._denominators = {one.name: one.denominator for one in inputs}
        self._dtypes = {
            entry.name: np.dtype(_DTYPES[session.types[entry.name]])
            for entry in session.inputs
            if entry.name in self._denominators
        }

    def taken(self, feeds: Feeds) -> dict[str, Value]:
        """The feeds, whole numbers as quotients in the input's own type."""
        quotients = {
            # numpy makes a number of an array without axes, which onnxruntime does not take
            name: np.asarray(np.asarray(feeds[name]).astype(dtype) / dtype.type(self._denominators[name]))
            for name, dtype in self._dtypes.items()
        }
        return self.session.taken({**feeds, **quotients})

    def run(self, feeds: Feeds) -> dict[str, Value]:
        """The outputs by name."""
        return self.session.run(feeds)

    def contradicts(self, results: Mapping[str, Value]) -> bool:
        """Whether an output has another size than the file fixes."""
        return self.session.contradicts(results)


_DTYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}


def _points(engine: Engine, before: Document, session: _OfQuotients, inputs: Sequence[Numerators]) -> Iterator[Point]:
    """Values that the model before runs with, no two alike; the same ones are not tried at two sizes."""
    budget, seen, tried = MemoryBudget(before, engine.conditions.limits), set[bytes](), 0
    count = 0
    for feeds in _feeds(engine, session.session.inputs, inputs):
        values = b"".join(np.asarray(feeds[one.name]).tobytes() for one in inputs)
        if values in seen:
            continue
        tried += 1
        if tried > _MOST_TRIED or count == _ENOUGH:
            return
        taken = session.taken(feeds)
        if budget.reject_reason(taken) is not None:
            continue
        try:
            outputs = engine.outputs(session, feeds)
        except CannotRunError:
            continue
        if all(map(is_empty, outputs.values())):
            continue
        seen.add(values)
        count += 1
        yield Point(feeds, before={False: outputs})


def _feeds(engine: Engine, inputs: Sequence[TensorInput], driving: Sequence[Numerators]) -> Iterator[Feeds]:
    """Feeds for the model after: sizes and scales around those of the image."""
    names = {one.name for one in driving}
    others = [entry for entry in inputs if entry.name not in names]
    chosen = [entry for entry in inputs if entry.name in names]
    declared = {entry.name: tuple(int(dim or 0) for dim in entry.shape or ()) for entry in chosen}
    free = {name: shape for name, shape in engine.conditions.shapes.items() if name not in names}
    for as_scales, sizing in product((False, True), SIZINGS):
        shapes = sized(others, sizing, free)
        try:
            feeds = next(engine.feeder(others, shapes=shapes).candidates([sizing]), None)
        except (UsageError, TooLargeError):
            continue
        for factors in _FACTORS if feeds is not None else ():
            yield {
                **(feeds or {}),
                **{
                    one.name: _numerators(one, declared[one.name], others, shapes, factors, as_scales=as_scales)
                    for one in driving
                },
            }


def _numerators(
    one: Numerators,
    shape: Shape,
    others: Sequence[TensorInput],
    shapes: Mapping[str, Shape],
    factors: tuple[float, float | None],
    *,
    as_scales: bool,
) -> Array:
    """Whole numbers that ask for the image to be resized so; an input that gives scales is not asked for sizes."""
    image = image_of(others)
    size = shapes[image.name] if image is not None else (8, 8)
    roles = roles_of(image.shape if image is not None and image.shape is not None else size)
    if one.gives_scales or as_scales:
        vector = vector_value(shape, "f", size, roles, *factors)
        scales = np.full(shape, factors[0]) if vector is None else vector
        return np.asarray(np.maximum(np.round(scales * one.denominator), 1), np.int64)
    vector = vector_value(shape, "i", size, roles, *factors) if shape not in ((), (1,)) else None
    lengths = np.full(shape, max(round(size[-1] * factors[0]), 1)) if vector is None else vector
    return lengths.astype(np.int64)


def _judge(engine: Engine, point: Point, inputs: Sequence[Numerators], *, optimized: bool) -> None:
    """Raises DifferenceError for anything but the same bits, at the default level for more than optimising moves."""
    after, before = (point.outputs(side, optimized=optimized) for side in (Side.AFTER, Side.BEFORE))
    fed = Feeding({one.name: None for one in inputs})
    if not optimized:
        differences = compare(before, after)
        engine.runs.append(run_of(differences, point.feeds, fed=fed))
        if not differences.bitwise:
            raise DifferenceError("verification.differs-unoptimised", why=differences.reason)
        return
    AtDefault(point.outputs(Side.BEFORE, optimized=False), before, after).require(engine, point.feeds, fed=fed)
