"""Another export of the same network as an oracle: the readings with which one file becomes the other.

Readings are tried until the model for the other file's size computes what that file does, bit for bit. What is found
holds at any size: nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

from resizefix.document.document import Document
from resizefix.errors import RefusedError, UsageError
from resizefix.origins.input_sizes.input_axes import image_inputs
from resizefix.origins.input_sizes.refusal import Assumed, Choices, SizeRefusedError, readings_of
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.verification.compare import compare
from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import Engine

_MOST_TRIES = 96

Make = Callable[[Choices], tuple[Document, list[Assumed]]]
"""Makes the model of the other file's size with these choices; raises SizeRefusedError."""


def size_of(other: Document) -> dict[str, int]:
    """The sizes of the axes of the other file's image. Raises UsageError where they are open."""
    image = image_inputs(other.proto, ())[0]
    sizes = {name: image.old(name) for name in image.axes}
    if None in sizes.values():
        raise UsageError("library.like-is-open", name=image.name)
    return {name: size for name, size in sizes.items() if size is not None}


def choices_like(other: Document, make: Make, choices: Choices, rules: Conditions) -> Choices:
    """The choices with which the model computes what the other file does. Raises RefusedError where none do."""
    engine = Engine(rules, "the other file")
    fitted = engine.fit(other, shapes={})
    last: SizeRefusedError | None = None
    for tried, one in enumerate(_tried(make, choices)):
        if tried == _MOST_TRIES:
            break
        if isinstance(one, SizeRefusedError):
            last = one
            continue
        made, chosen = one
        try:
            found = engine.run(made, fitted.feeds)
        except (CannotLoadError, CannotRunError, UsageError):
            continue
        if compare(fitted.outputs, found).bitwise:
            return chosen
    node = "the model" if last is None else last.node
    raise RefusedError("library.like-not-reached", node=node, tries=_MOST_TRIES)


def _tried(make: Make, choices: Choices) -> Iterator[tuple[Document, Choices] | SizeRefusedError]:
    """Each model that readings make: those of the questions first, then those against the conventions."""
    pending, made = [choices], []
    while pending:
        current = pending.pop(0)
        try:
            document, assumed = make(current)
        except SizeRefusedError as error:
            pending += [current.with_reading(error.node, one.name) for one in error.readings]
            yield error
            continue
        made.append((current, assumed))
        yield document, current
    for current, assumed in made:
        against = [readings_of(use.args) for use in assumed if use.args]
        for count in (1, 2):
            for some in combinations(against, count):
                other = current
                for node, name in (pair for pairs in some for pair in pairs):
                    other = other.with_pattern(node, name)
                try:
                    yield make(other)[0], other
                except SizeRefusedError as error:
                    yield error
