"""The proof of another input size: what can be proven where there is no original of that size to compare with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec

import numpy as np

from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.document.document import Document
from resizefix.document.text import counted, each_of
from resizefix.input_sizes.experiments.coverage import require_covered
from resizefix.input_sizes.experiments.image_experiments import Original, Picture
from resizefix.input_sizes.experiments.images import require_each_alone, require_usual_move
from resizefix.input_sizes.experiments.locality import require_local
from resizefix.input_sizes.experiments.there_and_back import require_same_back
from resizefix.input_sizes.following import Following
from resizefix.input_sizes.refusal import refuse
from resizefix.runtimes.inputs import Value
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, Session
from resizefix.verification.compare import compare, relative_bounds, within
from resizefix.verification.engine import DifferenceError, Engine, run_of
from resizefix.verification.plan import SizeStep
from resizefix.verification.trial import AtDefault, Point, Side, Trial
from resizefix.verification.verification import Conditions, Verification, VerificationStatus

P = ParamSpec("P")
_LABEL = Diagnostic("verification.model-of-new-size")
_OTHER_ORDER = 1e-5  # what a sum in another order may differ by, relative to the largest value


def _refusing(
    prove: Callable[Concatenate[Engine, Document, P], None],
) -> Callable[Concatenate[Document, Conditions, P], Verification]:
    """Gives a proof its engine, and takes the verdict. It raises SizeRefusedError where onnxruntime does not run the
    model before, or the one of the new size."""

    @wraps(prove)
    def proof(before: Document, rules: Conditions, /, *given: P.args, **named: P.kwargs) -> Verification:
        engine = Engine(rules, _LABEL)
        try:
            prove(engine, before, *given, **named)
        except DifferenceError as error:
            return engine.verdict(error.diagnostic)
        except (CannotLoadError, CannotRunError) as error:
            node, reason = error.node or "the model", error.reason
            original = _why_original_fails(before, rules)
            if original is not None:
                raise refuse(original[0] or node, "verification.input-size-original", reason=original[1]) from error
            raise refuse(node, "verification.input-size-does-not-run", reason=reason) from error
        except (BrokenOffError, UsageError) as error:
            reason = getattr(error, "reason", str(error))
            return Verification(
                VerificationStatus.FAILED, Diagnostic("verification.input-size-does-not-run", reason=reason)
            )
        return engine.verdict()

    return proof


def _why_original_fails(before: Document, rules: Conditions) -> tuple[str | None, str] | None:
    """The node and the reason for which onnxruntime does not run the original; None where it does."""
    try:
        for optimized in (False, True):
            Engine(rules, _LABEL).fit(before, shapes={}, optimized=optimized)
    except (CannotLoadError, CannotRunError) as error:
        return error.node, error.reason
    return None


@_refusing
def prove_plan(engine: Engine, before: Document, at_old: SizeStep) -> None:
    """Compare each node for which the plan has other numbers at the old size than the file: its bits must be equal."""
    fitted = engine.fit(before, shapes={}, extra_outputs=at_old.outputs)
    made = engine.run(at_old.after, fitted.feeds, extra_outputs=at_old.outputs)
    wrong = _node_differs(at_old, fitted.outputs, made, exact=True)
    if wrong is not None:
        raise DifferenceError("verification.input-size-plan", node=wrong[0], reason=wrong[1])
    engine.compared(fitted.outputs, made, fitted.feeds)
    plain, after = (_without(values, at_old.outputs) for values in (fitted.outputs, made))
    point = Point(fitted.feeds, before={False: plain}, after={False: after})
    _require_optimised_alike(Trial.of(engine, before, at_old.after), point)


def _require_optimised_alike(trial: Trial, point: Point) -> None:
    """Compare the default level of two models that agree without optimisation."""
    engine, level = trial.engine, trial.at_default(point)
    if level is None:
        moved = trial.moved(point, Side.AFTER)
        engine.runs.append(run_of(moved.level, point.feeds, optimized=True))
        if not moved.agrees:
            raise DifferenceError("verification.input-size-optimized", reason=moved.level.reason)
    else:
        level.require(engine, point.feeds)


@_refusing
def prove_fixed(engine: Engine, before: Document, step: SizeStep, found: Following, wanted: Mapping[str, int]) -> None:
    """Run the model of the new size at both optimisation levels; every output and every changed node's must have the
    derived size."""
    engine.hold(before, step.after)
    fitted = engine.fit(step.after, extra_outputs=step.outputs)
    _require_shapes(found, wanted, fitted.outputs)
    point = Point(fitted.feeds, after={False: _without(fitted.outputs, step.outputs)})
    moved = Trial.of(engine, before, step.after).moved(point, Side.AFTER)

    def of_original() -> Point:
        old = engine.fit(before, shapes={})
        return Point(old.feeds, before={False: old.outputs})

    require_usual_move(engine, before, moved, point, of_original)
    engine.runs.append(run_of(moved.level, fitted.feeds, optimized=True))
    engine.notes.append(
        Diagnostic("verification.input-size-fixed", nodes=counted(len(step.nodes), "changed node"))
        if step.nodes
        else Diagnostic("verification.input-size-fixed-unchanged")
    )


def _without(values: Mapping[str, Value], names: Sequence[str]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if name not in names}


def _node_differs(
    step: SizeStep, before: Mapping[str, Value], after: Mapping[str, Value], *, exact: bool
) -> tuple[str, str] | None:
    """The first changed node that computes something else, and how; None: there is none. The nodes before it agree, so
    that it has the same operands: no later node can hide it."""
    for name in step.outputs:
        difference = compare({name: before[name]}, {name: after[name]})
        near = not exact and within(difference, relative_bounds({name: after[name]}, _OTHER_ORDER))
        if not (difference.bitwise or near):
            return step.label(name), difference.reason or ""
    return None


@_refusing
def prove_same(engine: Engine, before: Document, after: Document) -> None:
    """Compare two models of which one takes the size that the other has fixed, and no constant had to change.

    At the default level too: sizes that the file fixes are folded there, in the types that the file computes them in.
    """
    engine.hold(before, after)
    fitted = engine.fit(after)
    plain = engine.run(before, fitted.feeds)
    level = engine.compared(plain, fitted.outputs, fitted.feeds)
    if level.reason is not None:
        raise DifferenceError(level.reason)
    point = Point(fitted.feeds, before={False: plain}, after={False: fitted.outputs})
    _require_optimised_alike(Trial.of(engine, before, after), point)


@_refusing
def prove_each_alone(
    engine: Engine,
    _: Document,
    single: Document,
    many: Document,
    axes: Mapping[str, int],
    held: int,
    count: int | None = None,
) -> None:
    """Compare a model of another batch with the one before, run image by image (`images.require_each_alone`)."""
    engine.hold(single, many)
    require_each_alone(engine, single, many, axes, held, count)


@_refusing
def prove_on_images(
    engine: Engine, before: Document, after: Document, pictures: Mapping[str, Picture], is_kept: Callable[[str], bool]
) -> None:
    """Look whether each part of the image still matters (`coverage.require_covered`), and whether what is local stays
    local (`locality.require_local`)."""
    original = Original.run(engine, before, after)
    require_covered(engine, original, after, pictures, is_kept)
    require_local(engine, original, after, pictures, is_kept)


@_refusing
def prove_back(engine: Engine, before: Document, back: Document | str, is_kept: Callable[[str], bool]) -> None:
    """Look whether the model of the new size, converted back to the old one, gives the same bits
    (`there_and_back.require_same_back`); `back` is that model, or the node at which it cannot be had."""
    if isinstance(back, str):
        engine.not_tested.append(Diagnostic("verification.not-tested-back", node=back))
    else:
        require_same_back(engine, Original.run(engine, before, back), back, is_kept)


@_refusing
def prove_any(
    engine: Engine,
    _: Document,
    step: SizeStep,
    found: Following,
    references: Sequence[tuple[Mapping[str, int], Document]],
    exact: bool,
) -> None:
    """Compare a model for any size with one for each of a few sizes, the old one first; and each changed node.

    The original is the reference at the old size; at others it is the model with the constants of that size, which says
    that both ways of writing it agree. `exact`: every bit must be equal; else sums may be in another order.
    """
    engine.hold(step.before, step.after)
    inner, sessions = step.outputs, dict[bool, Session]()

    def opened(optimized: bool) -> Session:
        shown = () if optimized else inner
        sessions[optimized] = engine.open(step.after, optimized=optimized, extra_outputs=shown)
        return sessions[optimized]

    def judge(point: Point, optimized: bool) -> None:
        made, fused = point.outputs(Side.AFTER, optimized=optimized), point.before.get(True)
        plain = point.outputs(Side.BEFORE, optimized=False)
        whole = _without(plain, inner)
        if optimized:  # a reference that is not optimised says what is computed, and not how far that moves
            AtDefault(whole, fused if isinstance(fused, Mapping) else whole, made).require(engine, point.feeds)
            return
        size, wrong = str(point.reference), _node_differs(step, plain, made, exact=exact)
        if wrong is not None:
            node, reason = wrong
            raise DifferenceError("verification.input-size-node-differs", node=node, size=size, reason=reason)
        made = _without(made, inner)
        level = engine.compared(whole, made, point.feeds)
        is_near = not exact and within(level, relative_bounds(made, _OTHER_ORDER))
        if not (level.bitwise or is_near) or sessions[False].contradicts(made):
            raise DifferenceError("verification.input-size-any-differs", size=size, reason=level.reason)

    points, documents = [], dict[object, Document]()
    for symbols, reference in references:
        fitted = engine.fit(reference, shapes={}, extra_outputs=inner)
        _require_shapes(found, symbols, fitted.outputs)
        size = " x ".join(str(length) for length in symbols.values())
        documents[size] = reference
        points.append(Point(fitted.feeds, size, before={False: fitted.outputs}))
    trial = Trial(
        engine, lambda point, optimized: engine.open(documents[point.reference], optimized=optimized), opened, judge
    )
    for optimized in (False, True):
        trial.level(points, optimized=optimized)
    if len(references) < 2:
        engine.not_tested.append(Diagnostic("verification.not-tested-sizes"))
    sizes = ", ".join("x".join(str(length) for length in symbols.values()) for symbols, _ in references)
    engine.notes.append(
        Diagnostic("verification.input-size-any", sizes=sizes, nodes=each_of(len(step.nodes), "changed"))
        if step.nodes
        else Diagnostic("verification.input-size-any-unchanged", sizes=sizes)
    )


def _require_shapes(found: Following, wanted: Mapping[str, int], outputs: Mapping[str, Value]) -> None:
    """Raises DifferenceError where an output has another shape than was derived."""
    for name, value in outputs.items():
        dims = found.flow.dims.get(name)
        if dims is None or not isinstance(value, np.ndarray):
            continue
        derived = [None if found.sizes.is_opaque(dim) else found.length(wanted, dim) for dim in dims]
        pairs = zip(derived, value.shape, strict=False)
        if len(derived) != value.ndim or any(size not in (None, made) for size, made in pairs):
            shape = list(value.shape)
            raise DifferenceError("verification.input-size-shape", name=name, found=shape, wanted=derived)
