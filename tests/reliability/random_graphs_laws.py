"""The laws: an operation refuses truly, or makes a file that independent runs cannot tell from the original."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto
from random_graphs_called import TARGETS, asked, assert_untouched, called
from random_graphs_case import Case, Tally
from random_graphs_claims import (
    CONTRADICTIONS,
    HALF,
    assert_as_claimed,
    called_exact,
    disputes_constants,
    feeds_that_run,
    is_contradiction,
)  # fmt: skip
from random_graphs_places import Placed
from random_graphs_refusals import assert_true_freeze_refusal, assert_true_refusal
from random_graphs_runs import Ran, Runner, baked, difference, fed_value, reads, visible

import resizefix
from resizefix.document.document import Document
from resizefix.operations.diff import diff

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.coupling import answers
from benchmarks.stored_sizes import broken as broken_shapes

# What runs, and `repair` changes all the same: runtimes differ in it, it holds for one size alone, or digits are lost.
UNWISE = {None, "lost-pixel", "frozen-batch", "quantised-extent"}
FUSED = 2e-5  # relative to the largest value: sums in another order at onnxruntime's default level
_NO_SIZE = "Scale value should be greater than 0"
_NO_BUFFER = "Shape mismatch attempting to re-use buffer"


def inspected(case: Case, tally: Tally) -> None:
    """Every site is found, is what was drawn, and comes from where it was drawn to come from."""
    found = {site.output: site for site in case.sites}
    assert set(found) == {site.output for site in case.drawn.sites}, "other sites"
    for drawn in case.drawn.sites:
        site = found[drawn.output]
        tally.sites[f"{drawn.spelling.op_type}-{site.since_version}"] += 1
        tally.sites[f"from {drawn.way.kind}"] += 1
        tally.sites[f"in {drawn.place}"] += 1
        if site.interpolation is None:
            continue
        assert_read_as_drawn(drawn, site)
        kind = site.origin.kind.value
        if drawn.way.name == "Constant→Identity":  # of an initializer too
            expected = {"initializer", "constant", "computed"}
        elif drawn.way.kind in ("attribute", "initializer", "constant", "runtime"):
            expected = {drawn.way.kind}
        else:  # what is computed can also turn out constant, what follows an input follows what else it is made of
            expected = {"computed", "graph-input"} if drawn.way.kind == "computed" else {"graph-input"}
        if drawn.spelling.opset >= 9 and case.drawn.model.ir_version >= 4:
            assert kind in expected, f"{drawn.output}: {drawn.way.name} was taken for {kind}"
        values = site.extent.values
        if values is not None and site.extent.kind.value == drawn.spelling.kind:
            near = np.allclose(values, drawn.values, rtol=1e-6)
            assert near, f"{drawn.output} ({drawn.way.name}): {drawn.values} read as {values}"
    if case.runs:
        contradicted = [answer for answer in answers(case.path) if answer.contradicts]
        assert not contradicted, f"sizes say otherwise than a run: {contradicted}"
        mended = {
            outcome.fault for outcome in resizefix.repair(str(case.path), verify=False, on_refusal="return").outcomes
        }
        assert mended <= UNWISE, f"a right model was repaired: {mended}"


def assert_read_as_drawn(drawn: Placed, site: Any) -> None:
    """The attributes that `inspect` reads are those that were drawn, or what the opset has in their place."""
    said, read = drawn.spelling.attributes, site.interpolation
    assert read.mode.value == said.get("mode", "nearest"), f"mode {read.mode}"
    if drawn.spelling.opset >= 11:
        coordinates = said.get("coordinate_transformation_mode", "half_pixel")
        assert read.coordinate_transformation_mode.value == coordinates, f"{read.coordinate_transformation_mode}"
    smooth = read.mode.value != "nearest"
    assert read.antialias == bool(smooth and said.get("antialias")), f"antialias {read.antialias}"


def promoted(case: Case, tally: Tally, **options: Any) -> None:
    """Fed the old values it computes the same bits; fed others, what the re-baked original computes."""
    name = asked("promote-scales", options)

    def call(path: Path, **more: Any) -> Any:
        return resizefix.promote_scales(str(path), on_refusal="return", **{**options, **more})

    result = called(case, tally, name, lambda **more: call(case.path, shape=case.shapes, **more))
    if result is None:
        return
    for outcome in result.outcomes:
        if outcome.status.value != "changed":
            tally.refused("promote-scales", outcome.reason)
            assert_true_refusal(case, outcome, result)
    if not result.changed:
        assert_untouched(case, result)
        return
    after = case.save(result, "promoted")
    added = [(source.name, TensorProto.INT64 if source.elem_type == "int64" else TensorProto.FLOAT)
             for source in result.inputs]  # fmt: skip
    case.assert_signature(after, added=added, removed=set())
    case.assert_only_changed(result, after)
    if not case.drawn.external:
        wrong = list(broken_shapes(case.model, onnx.load(after), result.inputs))
        assert not wrong, wrong
    runner = Runner(after)
    if case.runs:
        for fed in (True, False):  # a default is the old value, fed or not
            feeds = case.drawn.feeds | {s.name: fed_value(s) for s in result.inputs if fed or not s.optional}
            assert_promoted_as_claimed(case, tally, result, runner.run(feeds), {}, "at the old values ")
        assert_moved(case, tally, result, runner, Runner(after, optimized=True))
        assert_free(case, result, runner)
    again = call(after, shape={}, verify=False)
    changed = {o.node for o in result.outcomes if o.status.value == "changed"}
    coupled = {coupling.node for coupling in result.verification.coupling if coupling.verdict.value == "coupled"}
    assert options.get("allow_coupled") or not changed & coupled, f"coupled, and promoted: {changed & coupled}"
    twice = {o.node for o in again.outcomes if o.status.value == "changed"} & changed
    assert not twice, f"promoted twice: {twice}"
    if not options.get("verify", True) and not any(o.status.value == "refused" for o in result.outcomes):
        # a refused node may go ahead then: the new shapes say more of it, or another shared input is for it
        assert case.save(again, "again").read_bytes() == after.read_bytes(), "a second run changed something"
    frozen_again(case, tally, result, after, runner)


def assert_moved(case: Case, tally: Tally, result: Any, runner: Runner, optimized: Runner) -> None:
    """Each input alone, then all, at two times the old numbers and at a fraction: against the re-baked original, and at
    the default level, where onnxruntime folds sizes that are stored, against itself."""
    tried: list[dict[str, tuple[float, ...]]] = []
    for step in (2.0, 1.5):
        moved = {source.name: _moved(source, step) for source in result.inputs}
        tried += [{name: value} for name, value in moved.items()] if len(moved) > 1 else []
        tried.append(moved)
    for values in tried:
        feeds = dict(case.drawn.feeds)
        for source in result.inputs:
            feeds[source.name] = fed_value(source, values.get(source.name, source.value))
        said = runner.run(feeds)
        assert_promoted_as_claimed(case, tally, result, said, values, f"at {values}: ")
        folded = optimized.run(feeds)
        if said.error is None and not is_contradiction(folded.error or "") and not case.rounds_to_steps:
            apart = difference(said, folded)
            assert apart <= (HALF if case.halves else FUSED), f"at {values}, optimised: {apart}; {folded.error}"


def assert_free(case: Case, result: Any, runner: Runner) -> None:
    """What the probe calls free runs at another scale: at two times the old one, or a whole step above it. Not at any:
    a chain behind it can make of a larger size what a kernel refuses."""
    free = {coupling.node for coupling in result.verification.coupling if coupling.verdict.value == "free"}
    for source in result.inputs:
        if not {driven.label for driven in source.sites} <= free:
            continue
        old = {other.name: fed_value(other) for other in result.inputs}
        errors = [
            runner.run(feeds | old | {source.name: fed_value(source, value)}).error
            for feeds in feeds_that_run(case)
            for value in (_moved(source, 2.0), _stepped(source))
        ]
        known = all(any(part in (error or "") for part in (*CONTRADICTIONS, "ShapeInferenceError")) for error in errors)
        assert None in errors or known, f"called free, and {source.name} moved alone: {errors}"


def _stepped(source: Any) -> tuple[float, ...]:
    if source.elem_type == "int64":
        return _moved(source, 3.0)
    moved = zip(_moved(source, 2.0), source.value, strict=True)
    return tuple(old if old == new else old + 1 if old < 1 else float(np.floor(old)) + 1 for new, old in moved)


def assert_promoted_as_claimed(
    case: Case, tally: Tally, result: Any, said: Ran, values: dict[str, tuple[float, ...]], at: str
) -> None:
    """What was computed is what the original computes with these scales; where TensorRT takes sizes that are not
    the scales, and the result says inexact, what it computes with these sizes."""
    operands, by_shape = {}, []
    for source in result.inputs:
        value = values.get(source.name, source.value)
        for driven in source.sites:
            operands[driven.output] = (driven.kind.value, _operand(driven, value))
            if driven.by_shape and any(scale % 1 for scale in operands[driven.output][1]):
                by_shape.append(driven)
    truth = case.ran
    if values:
        truth = Runner(case.save_proto(baked(case.model, operands), "baked")).run(case.drawn.feeds)
        if truth.error is not None and any(part in truth.error for part in (*CONTRADICTIONS, "ShapeInferenceError")):
            return
    # a scale that makes an axis empty runs, a size of 0 does not
    both = (truth.error is None) == (said.error is None) or _NO_SIZE in (said.error or "")
    if by_shape and both and difference(truth, said):
        assert values or not called_exact(result), f"{at}called exact, and sizes sample elsewhere"
        sized = _said_as_sizes(case, operands, by_shape)
        if sized is None:
            tally.operations["not judged: the shape inside a body"] += 1
            return
        same_error = _NO_SIZE in (sized.error or "") or said.error is None
        assert same_error, f"{at}promoted {said.error}; with the sizes that the graph makes {sized.error}"
        assert not difference(sized, said) or (case.halves and difference(sized, said) <= HALF), (
            f"{at}{difference(sized, said)} apart from the original with the sizes that the graph makes"
        )
        return
    assert (truth.error is None) == (said.error is None), f"{at}re-baked {truth.error}; promoted {said.error}"
    assert_as_claimed(case, result, truth, said, lowered=0.0, at=at)


def _said_as_sizes(case: Case, operands: dict[str, Any], by_shape: list[Any]) -> Ran | None:
    """What the original computes with sizes in the place of some scales: the shape that comes times the numerators."""
    names = [driven.input for driven in by_shape]
    known = {name for node in case.model.graph.node for name in node.output}
    known |= {entry.name for entry in case.model.graph.input}
    if not set(names) <= known:
        return None
    operands = dict(operands)
    for driven in by_shape:  # in their order: the shape that comes to one follows from those before it
        model = visible(baked(case.model, operands), [driven.input])
        ran = Runner(case.save_proto(model, "shapes")).run(case.drawn.feeds)
        lengths = (
            case.drawn.feeds[driven.input].shape
            if driven.input in case.drawn.feeds
            else (ran.outputs[driven.input].shape)
        )
        axes = driven.axes or range(len(lengths))
        numerators = [round(scale * driven.denominator) for scale in operands[driven.output][1]]
        sizes = [lengths[axis] * number // driven.denominator for axis, number in zip(axes, numerators, strict=True)]
        operands[driven.output] = ("sizes", sizes)
    return Runner(case.save_proto(baked(case.model, operands), "sized")).run(case.drawn.feeds)


def _moved(source: Any, step: float) -> tuple[float, ...]:
    value = list(source.value)
    driven = source.sites[0]
    entries = range(len(value)) if driven.form.value in ("factor", "spatial") else driven.scaled
    for position in entries:
        number = value[position] * (2 if source.elem_type == "int64" and driven.form.value != "sizes" else step)
        value[position] = int(number) if source.elem_type == "int64" else float(np.float32(number))
    return tuple(value)


def _operand(driven: Any, value: Sequence[float]) -> tuple[float, ...]:
    """What the node is to read when the input is fed `value`, by what the forms promise (docs of --form)."""
    numbers = [number / driven.denominator for number in value] if driven.denominator else list(value)
    if driven.form.value in ("scales", "sizes"):
        return tuple(numbers)
    full = list(driven.base)
    for count, position in enumerate(driven.entries):
        full[position] = numbers[0 if driven.form.value == "factor" else count]
    return tuple(full)


def frozen_again(case: Case, tally: Tally, promotion: Any, path: Path, runner: Runner) -> None:
    """promote → freeze is the way back: no input is left over, and what is computed are the bits of the promoted model
    fed the old values, which are those of the original where the promotion is exact."""
    values = {source.name: source.value for source in promotion.inputs}
    tally.operations["promote→freeze"] += 1
    result = resizefix.freeze_scales(str(path), set=values, verify=False, on_refusal="return")
    frozen = {outcome.node for outcome in result.outcomes if outcome.status.value == "changed"}
    missing = {outcome.node for outcome in promotion.outcomes if outcome.status.value == "changed"} - frozen
    assert not missing, f"not frozen: {missing}"
    after = case.save(result, "back")
    left = {entry.name for entry in onnx.load(after, load_external_data=False).graph.input}
    drive = {site.origin.name for site in case.sites if site.origin.kind.value == "graph-input" and site.origin.name}
    case.assert_signature(after, removed=drive - left)  # inputs with a default are frozen at it
    if not case.runs:
        return
    sizes_said_as_scales = any(
        driven.kind.value == "scales" and case.placed_by(driven.output).spelling.kind == "sizes"
        for source in promotion.inputs
        for driven in source.sites
    )
    said = Runner(after).run(case.drawn.feeds)
    if said.error is not None and (sizes_said_as_scales or is_contradiction(said.error)) and disputes_constants(case):
        # onnxruntime's shape inference rounds another way than its kernel (5 → 9), and a body's output has no room
        tally.refused("promote→freeze", "onnxruntime contradicts itself about the size")
        return
    fed = runner.run(case.drawn.feeds | {source.name: fed_value(source) for source in promotion.inputs})
    if _NO_SIZE in (fed.error or "") and said.error is None:  # scales again, which may make an axis empty
        fed = case.ran
    assert_as_claimed(case, result, fed, said, lowered=0.0, at="frozen at the old values: ")
    if called_exact(promotion) and called_exact(result) and said.error is None:
        assert not difference(case.ran, said), "promote → freeze is not the identity"
    moved = {source.name: _moved(source, 2.0) for source in promotion.inputs}
    fed = runner.run(
        case.drawn.feeds | {source.name: fed_value(source, moved[source.name]) for source in promotion.inputs}
    )
    if fed.error is None:
        result = resizefix.freeze_scales(str(path), set=moved, verify=False, on_refusal="return")
        said = Runner(case.save(result, "elsewhere")).run(case.drawn.feeds)
        assert_as_claimed(case, result, fed, said, lowered=0.0, at=f"frozen at {moved}: ")


def frozen(case: Case, tally: Tally) -> None:
    """What is fed or computed becomes constant; nothing computed changes."""
    values = {site.input: case.drawn.feeds[site.input].reshape(-1).tolist() for site in case.drawn.sites if site.input}
    drives = {site.origin.name for site in case.sites if site.origin.kind.value == "graph-input"}
    values = {name: value for name, value in values.items() if name in drives}
    result = called(
        case,
        tally,
        "freeze-scales",
        lambda **more: resizefix.freeze_scales(
            str(case.path), set=values, shape=case.shapes, on_refusal="return", **more
        ),
    )
    if result is None:
        return
    for outcome in result.outcomes:
        if outcome.status.value != "changed":
            tally.refused("freeze-scales", outcome.reason)
            assert_true_freeze_refusal(case, outcome)
    if not result.changed:
        assert_untouched(case, result)
        return
    after = case.save(result, "frozen")
    left = {entry.name for entry in onnx.load(after, load_external_data=False).graph.input}
    case.assert_signature(after, removed=set(values) - left)
    for name in set(values) & left:
        assert reads(onnx.load(after, load_external_data=False), name), f"{name} is left over"
    case.assert_only_changed(result, after, removed=set(values))
    if case.runs:
        said = Runner(after).run(case.drawn.feeds)
        if (
            result.verification.passed
            and _NO_BUFFER in (said.error or "")
            and _NO_BUFFER in (case.optimized.error or "")
        ):
            # Optimised, the original fails with the same: it folds what was frozen. The result must say so.
            told = result.verification.reason or ""
            assert "at which onnxruntime does not run the model before" in told, f"not told: {said.error}"
            said = Runner(after, reuse=False).run(case.drawn.feeds)
        assert_as_claimed(case, result, case.ran, said, lowered=0.0)
    again = resizefix.freeze_scales(str(after), verify=False, on_refusal="return")
    changed = {o.node for o in result.outcomes if o.status.value == "changed"}
    twice = {o.node for o in again.outcomes if o.status.value == "changed"}
    assert not twice & changed, f"frozen twice: {twice & changed}"
    if not any(o.status.value == "refused" for o in result.outcomes):
        # a refused node may go ahead then, where the sizes that became known tell what its chain makes
        assert case.save(again, "again").read_bytes() == after.read_bytes(), "a second run changed something"


def judged(case: Case, tally: Tally) -> None:
    """check answers for every target; diff finds nothing between a file and itself."""
    for target in TARGETS:
        verdict = resizefix.check(str(case.path), target=target)
        tally.operations["check"] += 1
        assert verdict.accepted == all(v.effect.value != "rejected" for v in verdict.violations) or not verdict.accepted
    document = Document.open(case.path)
    assert not diff(document, document), "a file differs from itself"
