"""Whether each part of the image still matters: an experiment that knows two files of one network, and no plan.

The image is cut into nine parts. Where every part of it decides a tensor of the original, every part must decide that
tensor at another size; a crop to a corner, or positions that were made for a smaller map, leave one out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.scopes import node_label
from resizefix.document.values import Array
from resizefix.input_sizes.experiments.image_experiments import Original, Picture, first_wrong, other_numbers
from resizefix.input_sizes.refusal import KEEP, asked
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.ort_session import Session
from resizefix.verification.engine import Engine
from resizefix.verification.feeds import pictures_like

_LEAST_SIDE = 6
_AMPLIFIED = 16
_SATURATING = frozenset({"Relu", "Clip", "HardSigmoid", "HardSwish", "Sigmoid", "Tanh", "ThresholdedRelu"})
# What is cut at an edge leaves out one of two opposite corners; changed in the new model, which may be large.
_CORNERS = ((0, 0), (2, 2))
_PARTS = tuple((row, column) for row in range(3) for column in range(3))


def require_covered(
    engine: Engine,
    original: Original,
    after: Document,
    pictures: Mapping[str, Picture],
    is_kept: Callable[[str], bool],
    parts: Sequence[tuple[int, int]] = _CORNERS,
) -> int:
    """Raises SizeRefusedError with the first node that leaves out a part of the image; how many tensors were looked at.

    `parts` are changed in the new model. `is_kept`: whether the user has decided about a node, by its label.
    """
    feeds = original.feeds
    if not pictures or any(_least_side(feeds, name, one) < _LEAST_SIDE for name, one in pictures.items()):
        engine.not_tested.append(Diagnostic("verification.coverage-too-small"))
        return 0
    old = _Responses(engine, original.session, feeds, pictures, original.made)
    whole = set.intersection(*(old.to(part) for part in _PARTS))
    sized = {name: np.empty(one.shape, np.asarray(feeds[name]).dtype) for name, one in pictures.items()}
    fed = {**feeds, **pictures_like(sized, 1)}
    session = engine.open(after, optimized=False, extra_outputs=original.shown)
    new = _Responses(engine, session, fed, pictures, engine.outputs(session, fed))
    for part in parts:
        lost = whole - new.to(part)
        if lost:
            lost -= new.to(part, amplified=True) | _saturated(original.document, after, new.to(part))
        label = first_wrong(original.document, lost, is_kept, new.to(part) | set(pictures)) if lost else None
        if label is not None:
            where = f"{('upper', 'middle', 'lower')[part[0]]} {('left', 'centre', 'right')[part[1]]}"
            meaning = Diagnostic("verification.reading-part-lost")
            raise asked(label, None, "verification.part-lost", {KEEP: meaning}, part=where)
    engine.tested.append(Diagnostic("verification.tested-coverage", tensors=len(whole)))
    return len(whole)


def _saturated(before: Document, after: Document, right: set[str]) -> set[str]:
    """What activations make of tensors that a part decides: where it decides no more, they are saturated here,
    as a ReLU of a mean that is below 0. They look at each sample alone, and so leave out no part."""
    changed = other_numbers(before, after)
    return {
        node.output[0]
        for index, node in enumerate(before.proto.graph.node)
        if node.op_type in _SATURATING and node_label(node, index) not in changed and right.intersection(node.input)
    }


def _least_side(feeds: Feeds, name: str, picture: Picture) -> int:
    shape = np.asarray(feeds[name]).shape
    return min(int(min(shape[axis], picture.shape[axis])) for axis in picture.axes)


class _Responses:
    """Which tensors of a model change with a part of the image."""

    def __init__(
        self,
        engine: Engine,
        session: Session,
        feeds: Mapping[str, Value],
        pictures: Mapping[str, Picture],
        made: Mapping[str, Value],
    ) -> None:
        self._engine, self._feeds, self._pictures = engine, feeds, pictures
        self._session, self._base = session, made
        self._known: dict[tuple[tuple[int, int], bool], set[str]] = {}

    def to(self, part: tuple[int, int], *, amplified: bool = False) -> set[str]:
        """The tensors of floats that another picture in this part changes; `amplified`: one of larger values."""
        key = part, amplified
        if key not in self._known:
            other = {name: self._with_part(name, part, amplified) for name in self._pictures}
            made = self._engine.outputs(self._session, {**self._feeds, **other})
            self._known[key] = {name for name, value in made.items() if _differs(value, self._base.get(name))}
        return self._known[key]

    def _with_part(self, name: str, part: tuple[int, int], amplified: bool) -> Array:
        old = np.asarray(self._feeds[name])
        value = np.asarray(pictures_like({name: old}, 2)[name])
        if amplified and value.dtype.kind == "f":
            value = (value * _AMPLIFIED).astype(value.dtype)
        place = [slice(None)] * old.ndim
        for axis, third in zip(self._pictures[name].axes, part, strict=True):
            place[axis] = slice(old.shape[axis] * third // 3, old.shape[axis] * (third + 1) // 3)
        made: Array = old.copy()
        made[tuple(place)] = value[tuple(place)]
        return made


def _differs(one: Value, other: Value | None) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray) or one.dtype.kind != "f":
        return False
    return one.shape != other.shape or not np.array_equal(one, other, equal_nan=True)
