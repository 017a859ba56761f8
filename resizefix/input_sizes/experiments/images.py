"""Another batch: every image must get what the model before makes of it alone.

The model before is the oracle: it is run image by image, which knows nothing of how the batch was changed. An output,
or a tensor inside, that is not these results side by side mixes the images, or answers for the first alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from resizefix.document.document import Document
from resizefix.document.scopes import node_label
from resizefix.document.values import Array
from resizefix.input_sizes.refusal import refuse
from resizefix.runtimes.inputs import Value
from resizefix.verification.compare import distances, largest_finite
from resizefix.verification.engine import DifferenceError, Engine, run_of
from resizefix.verification.feeds import pictures_like
from resizefix.verification.trial import BothLevels, Point, Side, Trial

_OTHER_ORDER = 1e-4  # what a sum in another order may differ by, relative to the largest value
_MOST_LOOKED_AT = 2**26  # elements of all tensors that are looked at to name the node
_FLIPPED = 1e-3  # of the largest value, on average: where single values of a quantised model round the other way
_LIKE_THE_ORIGINAL = 4  # times what optimising moves the original
# What the images of a batch are multiplied by, three of them and two: alike; and far apart, for a normalisation that
# asks how large the values are, as "divide by 255 if any is above 1". With two alone, a mean and a swap can look alike.
_BRIGHTNESS = ((1.0, 1.0, 1.0), (1.0, 255.0, 1 / 16), (255.0, 1 / 16))


def require_each_alone(
    engine: Engine, single: Document, many: Document, axes: Mapping[str, int], held: int, count: int | None = None
) -> None:
    """Raises SizeRefusedError with the node at which images of a batch are mixed.

    `single` takes `held` images, `many` as many as are fed, or `count`. `axes` is the batch axis of each input that has
    one.
    """
    fitted = engine.fit(single, shapes={})
    for factors in _BRIGHTNESS:
        images = [
            {name: _brighter(value, factors[number % len(factors)]) for name, value in picture.items()}
            for number in range(count or held * len(factors))
            for picture in [pictures_like(fitted.feeds, number)]
        ]
        _require_side_by_side(engine, (single, many), fitted.feeds, images, axes, held, is_bright=len(set(factors)) > 1)


def _require_side_by_side(
    engine: Engine,
    models: tuple[Document, Document],
    feeds: Mapping[str, Value],
    images: Sequence[Mapping[str, Value]],
    axes: Mapping[str, int],
    held: int,
    *,
    is_bright: bool,
) -> None:
    single, many = models
    alone = [{name: _first(value, axes.get(name), held) for name, value in image.items()} for image in images]
    together = dict(feeds)
    for name, axis in axes.items():
        parts = [np.take(np.asarray(image[name]), [0], axis) for image in images]
        together[name] = np.concatenate(parts, axis)
    each = [engine.run(single, {**feeds, **{name: image[name] for name in axes}}) for image in alone]
    if is_bright and not all(_is_finite(value) for one in each for value in one.values()):
        return  # numbers that are too large say nothing
    made = engine.run(many, together)
    if not all(_is_side_by_side(made[name], [one[name] for one in each], held, is_output=True) for name in made):
        raise refuse(_mixing_node(engine, single, many, together, alone, axes, held), "verification.images-mix")
    point = Point(together, after={False: made})
    moved = Trial.of(engine, single, many).moved(point, Side.AFTER)
    engine.runs.append(run_of(moved.level, together, optimized=True))
    require_usual_move(engine, single, moved, point, lambda: Point(feeds))


def require_usual_move(
    engine: Engine, original: Document, moved: BothLevels, point: Point, of_original: Callable[[], Point]
) -> None:
    """Raises DifferenceError where optimising moves a model of another size or batch by more than the original.

    `point` is the one at which the model `moved`; `of_original` gives one at which the original runs.
    """
    if moved.agrees:
        return
    usual = Trial.of(engine, original, original).moved(of_original(), Side.BEFORE).level.max_rel_diff
    plain, fused = (point.outputs(Side.AFTER, optimized=optimized) for optimized in (False, True))
    # A quantised model moves when it is optimised, as the original does.
    if moved.level.max_rel_diff > _LIKE_THE_ORIGINAL * usual and not flips(original, plain, fused):
        raise DifferenceError("verification.input-size-optimized", reason=moved.level.reason)


def _brighter(value: Value, factor: float) -> Value:
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    return np.asarray(value * factor, value.dtype)


def _is_finite(value: Value) -> bool:
    return not isinstance(value, np.ndarray) or value.dtype.kind != "f" or bool(np.isfinite(value).all())


def _first(value: Value, axis: int | None, held: int) -> Value:
    """An image as often as the model takes images."""
    if axis is None or not isinstance(value, np.ndarray):
        return value
    return np.repeat(np.take(value, [0], axis), held, axis)


def _is_side_by_side(made: Value, each: Sequence[Value], held: int, *, is_output: bool) -> bool:
    """Whether a result is what the images alone give, along one axis; or does not depend on the image."""
    one = each[0]
    if not isinstance(made, np.ndarray) or not isinstance(one, np.ndarray) or made.ndim != one.ndim:
        return not isinstance(made, np.ndarray)
    if all(_near(made, other) for other in each):
        return True
    apart = [axis for axis in range(made.ndim) if made.shape[axis] != one.shape[axis]]
    for axis in apart if len(apart) == 1 else range(made.ndim) if len(each) == held else ():
        is_batch = one.shape[axis] == held or axis == 0 or not is_output
        if is_batch and one.shape[axis] % held == 0 and made.shape[axis] * held == one.shape[axis] * len(each):
            shares = [np.take(other, range(one.shape[axis] // held), axis) for other in map(np.asarray, each)]
            if _near(made, np.concatenate(shares, axis)):
                return True
    return False


def _near(one: Value, other: Value) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray) or one.shape != other.shape:
        return False
    if one.dtype.kind not in "fiubV" or not one.size:
        return bool(np.array_equal(one, other))
    apart: Array = distances(one, other)
    return float(apart.max()) <= _OTHER_ORDER * max(largest_finite(other), 1e-12)


def _mixing_node(
    engine: Engine,
    single: Document,
    many: Document,
    together: Mapping[str, Value],
    alone: Sequence[Mapping[str, Value]],
    axes: Mapping[str, int],
    held: int,
) -> str:
    """The first node of the main graph whose result mixes images, while what it reads does not."""
    made_before = {name for node in single.proto.graph.node for name in node.output if name}
    shown = [name for node in many.proto.graph.node for name in node.output if name and name in made_before]
    made = engine.run(many, together, extra_outputs=shown)
    if sum(value.size for value in made.values() if isinstance(value, np.ndarray)) > _MOST_LOOKED_AT:
        return "the model"
    each = [engine.run(single, {**together, **feeds}, extra_outputs=shown) for feeds in alone]
    nodes = many.proto.graph.node
    for index, node in enumerate(nodes):
        for name in node.output:
            value = made.get(name)
            is_number = isinstance(value, np.ndarray) and value.dtype.kind in "fV"
            if is_number and not _is_side_by_side(value, [one.get(name) for one in each], held, is_output=False):
                return node_label(node, index)
    results = {value.name for value in many.proto.graph.output}
    last = (node_label(node, index) for index, node in enumerate(nodes) if results.intersection(node.output))
    return next(last, "the model")


def flips(before: Document, plain: Mapping[str, Value], optimized: Mapping[str, Value]) -> bool:
    """Whether the model is quantised and optimising lets few of its values round the other way."""
    if not any(node.op_type.startswith(("QuantizeLinear", "QLinear")) for node in before.proto.graph.node):
        return False
    for name, value in plain.items():
        one, other = np.asarray(value), np.asarray(optimized[name])
        if one.shape != other.shape or one.dtype.kind != "f":
            return False
        large = float(np.abs(one).max(initial=0.0))
        if float(np.abs(one.astype(np.float64) - other).mean()) > _FLIPPED * large:
            return False
    return True
