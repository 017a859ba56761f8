"""Another export of the same network as an oracle: the readings with which one file becomes the other.

Readings are tried until the model for the other file's size computes what that file does, bit for bit. What is found
holds at any size: nothing is assumed.

`resizefix.input_size`: another size of the input, or any; the constants that follow it are found and rewritten.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import combinations

from onnx import ModelProto, ValueInfoProto

from resizefix.diagnostics import Diagnostic, RefusedError, UsageError, option
from resizefix.document.document import Document
from resizefix.document.scopes import node_label
from resizefix.document.values import Dims, dims_of
from resizefix.input_sizes.questions import Question, proposal, questions
from resizefix.input_sizes.refusal import KEEP, Assumed, Choices, SizeRefusedError, readings_of
from resizefix.interop import opened
from resizefix.library.bounded import operation
from resizefix.library.result import Demand, Resolution, Result, failed, not_verified
from resizefix.library.seam import never
from resizefix.library.size_work import SizeWork
from resizefix.outcome import Status
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.shapes.image_axes import ImageInput, image_inputs, of_proportions
from resizefix.verification.compare import compare
from resizefix.verification.engine import Engine
from resizefix.verification.verification import (
    ChangeOptions,
    Conditions,
    Run,
    Unpack,
    Verification,
    VerificationStatus,
    conditions,
)

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
        document, chosen = one
        try:
            outputs = engine.run(document, fitted.feeds)
        except (CannotLoadError, CannotRunError, UsageError):
            continue
        if compare(fitted.outputs, outputs).bitwise:
            return chosen
    node = "the model" if last is None else last.node
    raise RefusedError("library.like-not-reached", node=node, tries=_MOST_TRIES)


def _tried(make: Make, choices: Choices) -> Iterator[tuple[Document, Choices] | SizeRefusedError]:
    """Each model that readings make: those of the questions first, then those against the conventions."""
    pending, working = [choices], []
    while pending:
        current = pending.pop(0)
        try:
            document, assumed = make(current)
        except SizeRefusedError as error:
            pending += [current.with_reading(error.node, one.name) for one in error.readings]
            yield error
            continue
        working.append((current, assumed))
        yield document, current
    for current, assumed in working:
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


ANY = "any"
SAME_SIZE = Diagnostic("library.input-size-same")
_SIDES = ("depth", "height", "width")


@operation(Demand(every=True), inlines=never)
def input_size(
    document: Document,
    *,
    size: tuple[int, ...] | int | str | None = None,
    batch: int | str | None = None,
    input: Sequence[tuple[str, tuple[int, ...]]] = (),
    keep: Sequence[str] = (),
    follow_input: Sequence[str] = (),
    read: Sequence[tuple[str, str]] = (),
    assume: str = "usual",
    was: tuple[int, ...] | int | None = None,
    like: str | os.PathLike[str] | ModelProto | None = None,
    keep_overridable: bool = False,
    interpolate_positions: bool = False,
    inline: bool = False,
    verify: bool = True,
    **run: Unpack[ChangeOptions],
) -> Result[Document]:
    """Give the model's image inputs another height and width, or let them be "any"; the batch likewise.

    Every constant that follows the input's size is found and written anew, or computed when the model runs. Such are
    shapes of Reshape, sizes of Resize, kernels of global pools and grids of positions. Where weights depend on the
    size, nothing is changed and the outcome names the node and the reason. Where the file admits several readings, the
    result's `resolution.choices` has all of them. `keep` and `follow_input` (patterns on names of nodes) and `read`
    (pairs of a pattern and a reading) choose. `resolution.assumed` has each use of a convention; `assume`: "none"
    switches these off. `interpolate_positions`: learned tables of positions are interpolated, as ViT and DINO do; those
    outcomes are not exact. `size`: depth, height and width, height and width, or a length; None: any, or where `batch`
    or `like` is given, as that says. `like`: the same network, exported at another size: the readings are solved from
    it. `input` names the inputs, where not all images of one size are meant: others keep their proportion to the first;
    {"left": (1, 3, 192, 640)} gives shapes. `inline`: local functions are inlined first. Raises UsageError for options
    that do not fit, VerificationFailedError where the verification fails.
    """
    names, shapes = [name for name, _ in input], {name: shape for name, shape in input if shape}
    if shapes and (len(shapes) < len(names) or not size is batch is like is None):
        raise UsageError("library.input-size-shapes-alone")
    size = (size,) if isinstance(size, int) else size
    if size is batch is like is None and not shapes:
        size = ANY
    other = None if like is None else opened(like)
    sizes = {} if other is None else size_of(other)
    if size is None and other is not None:
        size = tuple(sizes[name] for name in _SIDES if name in sizes)
    asked = {} if shapes else _asked(size, batch)
    resolution = Resolution(size, batch)
    choices = Choices(
        keep, follow_input, interpolate_positions, read, assume != "none", keeps_overridable=keep_overridable
    )
    _require_nodes(document, choices)
    was = (was,) if isinstance(was, int) else was or ()
    old = dict(zip(_SIDES[len(_SIDES) - len(was) :], was, strict=True))
    if other is not None:
        choices = _solved(document, names, choices, other, old, conditions(**run))
    rules = conditions(**run) if verify else None
    if shapes:
        return _in_turn(document, of_proportions(document.proto, shapes), choices, resolution, rules)
    work = SizeWork(document, names, choices, asked, old)
    _require_all_sides(size, image_inputs(document.proto, names))
    work.other = other if asked == {name: sizes.get(name) for name in asked} else None
    return _done(work, resolution, rules)


def _joined(one: Result[Document], other: Result[Document]) -> Result[Document]:
    """Two steps as one: the weaker of what both verifications say."""
    first, second = one.verification, other.verification
    weaker = first if first.status is VerificationStatus.UNREFUTED else second
    proof = replace(weaker.with_further(second), runs=(*first.runs, *second.runs))
    was, now = one.resolution, other.resolution
    assert was is not None
    assert now is not None
    resolution = replace(
        now,
        inferred=(*was.inferred, *now.inferred),
        assumed=(*was.assumed, *now.assumed),
        approximate=(*was.approximate, *now.approximate),
        shapes=(*was.shapes, *now.shapes),
    )
    return replace(other, outcomes=(*one.outcomes, *other.outcomes), verification=proof, resolution=resolution)


def _in_turn(
    document: Document,
    groups: Sequence[tuple[list[str], dict[str, int]]],
    choices: Choices,
    resolution: Resolution,
    rules: Conditions | None,
) -> Result[Document]:
    """The model with another size of each group of inputs, one group after another."""
    results: list[Result[Document]] = []
    for names, asked in groups:
        before = results[-1].model if results else document
        result = _done(SizeWork(before, names, choices, {**asked}, {}), resolution, rules)
        if any(outcome.status is Status.REFUSED for outcome in result.outcomes):
            return replace(result, model=document)
        results.append(result)
    changed = [result for result in results if result.changed] or results[:1]
    joined = changed[0]
    for result in changed[1:]:
        joined = _joined(joined, result)
    return replace(joined, model=results[-1].model)


def _require_all_sides(size: tuple[int, ...] | str | None, images: Sequence[ImageInput]) -> None:
    """Raises UsageError for one number where an image has a height and a width, and for two where it has one side, but
    for the number of its channels before that."""
    for image in images:
        if isinstance(size, tuple) and len(size) == 2 and "height" not in image.axes and size[0] not in image.dims:
            raise UsageError("library.two-sizes-of-one", name=image.name, size=size[1])
        if isinstance(size, tuple) and len(size) == 1 and "height" in image.axes:
            old = image.old("height") or "HEIGHT"
            raise UsageError("library.one-size-of-two", name=image.name, size=size[0], old=old)


def _done(work: SizeWork, resolution: Resolution, rules: Conditions | None) -> Result[Document]:
    """Make the model, and verify it where there are rules for that."""
    document = work.before
    try:
        work.make()
    except SizeRefusedError as error:
        if error.readings:
            return _asking(work, error, resolution)
        return work.refused(work.with_offer(error), resolution)
    if work.document is document:
        return Result(document, (), (), Verification(VerificationStatus.SKIPPED, SAME_SIZE), resolution=resolution)
    resolution = replace(
        resolution,
        inferred=tuple(work.inferred),
        assumed=tuple(work.assumed),
        rule=work.rule,
        approximate=tuple(work.approximate),
        shapes=_changed_shapes(document, work.document),
    )
    if rules is None:
        return Result(work.document, work.outcomes, (), not_verified(), resolution=resolution)
    try:
        verification = work.proof(rules)
    except SizeRefusedError as error:
        again = work.with_batch_behind(error)
        if again is not None:
            return _done(again, resolution, rules)
        return _refuted(work, error if work.named else work.with_one_input(error, rules), resolution)
    if verification.status is VerificationStatus.FAILED:
        raise failed(Result(document, work.outcomes, (), verification, resolution=resolution))
    outcomes = work.outcomes
    worst = max((run for run in verification.runs if not run.optimized), key=_difference, default=None)
    if worst is not None and not all(outcome.exact for outcome in outcomes) and resolution.size == ANY:
        far, at = worst.max_abs_diff, worst.shapes
        outcomes = tuple(replace(outcome, max_abs_diff=far, measured_at=at) for outcome in outcomes)
    return Result(work.document, outcomes, (), verification, resolution=resolution)


def _difference(run: Run) -> float:
    return run.max_abs_diff


def _solved(
    document: Document,
    names: Sequence[str],
    choices: Choices,
    other: Document,
    was: Mapping[str, int],
    rules: Conditions,
) -> Choices:
    """The choices with which the model becomes the other file."""
    wanted: dict[str, int | str] = {**size_of(other)}

    def make(tried: Choices) -> tuple[Document, list[Assumed]]:
        work = SizeWork(document, names, tried, wanted, was)
        work.make()
        return work.document, work.assumed

    solved = choices_like(other, make, choices, rules)
    try:  # what was assumed on the way is proven now
        for use in make(solved)[1]:
            solved = solved.with_proof(use.node)
    except SizeRefusedError:
        pass
    return solved


def _refuted(work: SizeWork, error: SizeRefusedError, resolution: Resolution) -> Result[Document]:
    """The refusal of a model that an experiment spoke against; with what the user may choose all the same."""
    if error.readings:
        question = Question((error.node,), error.value, error.reason, error.readings, error.readings[0].name)
        resolution = replace(resolution, choices=(question,))
    return work.refused(error, resolution)


def _asked(size: tuple[int, ...] | str | None, batch: int | str | None) -> dict[str, int | str]:
    """What each axis of an image shall be."""
    asked: dict[str, int | str] = {}
    if isinstance(size, tuple):
        asked |= dict(zip(_SIDES[-len(size) :], size, strict=True))
    elif size is not None:
        asked |= dict.fromkeys(_SIDES, ANY)
    if batch is not None:
        asked["batch"] = batch
    if not asked:
        raise UsageError("library.input-size-nothing-asked")
    return asked


def _asking(work: SizeWork, first: SizeRefusedError, resolution: Resolution) -> Result[Document]:
    """The refusal with all that is to be chosen, and the options of a proposal."""

    def make(choices: Choices) -> None:
        SizeWork(work.before, work.named, choices, work.asked, work.was, work.mixes).make()

    asked = questions(make, work.choices, first, work.operator_of)
    if not asked:
        offer = work.with_offer(first)
        if first.readings:
            offer.reason = Diagnostic("origins.input-size-exported", why=offer.reason)
        return work.refused(offer, resolution)
    asked = [
        replace(one, why=Diagnostic("origins.input-size-kept-or-exported", why=one.why))
        if [reading.name for reading in one.readings] == [KEEP]
        else one
        for one in asked
    ]
    why = next((one.why for one in asked if first.node in one.nodes), first.reason)
    error = SizeRefusedError(first.node, why, proposal(asked))
    return work.refused(error, replace(resolution, choices=tuple(asked)))


def _changed_shapes(before: Document, after: Document) -> tuple[tuple[str, Dims, Dims], ...]:
    """The graph inputs whose stored shape changed, and the outputs that have other numbers."""
    old, new = before.proto.graph, after.proto.graph
    inputs, outputs = _pairs(old.input, new.input), _pairs(old.output, new.output)
    changed = [pair for pair in inputs if pair[1] != pair[2]]
    for name, was, now in outputs:
        numbers = [isinstance(left, int) and isinstance(right, int) for left, right in zip(was, now, strict=False)]
        if was != now and all(numbers):
            changed.append((name, was, now))
    return tuple(changed)


def _pairs(old: Iterable[ValueInfoProto], new: Iterable[ValueInfoProto]) -> list[tuple[str, Dims, Dims]]:
    stored = {value.name: value.type for value in old}
    return [(one.name, dims_of(stored[one.name]), dims_of(one.type)) for one in new if one.name in stored]


def _require_nodes(document: Document, choices: Choices) -> None:
    """Raises UsageError for a pattern that names no node, and for a node that both options name: one would be lost."""
    labels = [node_label(node, index) for index, node in enumerate(document.proto.graph.node)]
    read = [pattern for pattern, _ in choices.read]
    for patterns, typed in ((choices.keep, "--keep"), (choices.follow, "--follow"), (read, "--read")):
        for pattern in patterns:
            if not any(fnmatchcase(label, pattern) for label in labels):
                raise UsageError("library.input-size-no-such-node", option=option(typed), pattern=pattern)
    follow_alone = Choices((), choices.follow)
    for label in labels:
        if choices.of(label) == "keep" and follow_alone.of(label) == "follow":
            raise UsageError("library.input-size-both-choices", label=label)
