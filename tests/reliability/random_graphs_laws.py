"""The laws: an operation refuses truly, or makes a file that independent runs cannot tell from the original."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from random_graphs_case import Case, Tally, plain
from random_graphs_refusals import assert_true_refusal
from random_graphs_runs import Runner, baked, difference

import resizefix
from resizefix.document.document import Document
from resizefix.operations.diff import diff

TARGETS = (
    "tensorrt-5.0", "tensorrt-5.1", "tensorrt-6.0", "tensorrt-7.0", "tensorrt-7.1", "tensorrt-7.2", "tensorrt-8.0",
    "tensorrt-8.4", "tensorrt-8.5", "tensorrt-9", "tensorrt-10", "tensorrt-rtx", "onnxruntime",
)  # fmt: skip
# onnxruntime's shape inference against its own kernels (5 → 9), or branches of one If against each other: a constant
# tells the inference what it did not know before, and the model is refused.
CONTRADICTIONS = (
    "Can't merge shape info",
    "pre-allocated output",
    "Shape mismatch attempting to re-use buffer",
    "must have the shape set",
)
DISPUTED = ("at the default optimisation level", "Incompatible dimensions")
# Relative to the outputs' largest value, as the library itself bounds replacements by other operators.
LOWERED = 1e-5
HALF = 2e-3  # float16 has eleven bits


def inspected(case: Case, tally: Tally) -> None:
    """Every site is found, is what was drawn, and comes from where it was drawn to come from."""
    found = {site.output: site for site in case.sites}
    assert set(found) == {site.output for site in case.drawn.sites}, "other sites"
    for drawn in case.drawn.sites:
        site = found[drawn.output]
        tally.sites[f"{drawn.spelling.op_type}-{site.since_version}"] += 1
        tally.sites[f"from {drawn.way.kind}"] += 1
        tally.sites[f"in {drawn.place}"] += 1
        if site.reading is None:
            continue
        mode = drawn.spelling.attributes.get("mode", "nearest")
        assert site.interpolation.mode.value == mode, f"mode {site.interpolation.mode}"
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


def promoted(case: Case, tally: Tally, **options: Any) -> None:
    """Fed the old values it computes the same bits; fed others, what the re-baked original computes."""
    name = _asked("promote-scales", options)
    result = _called(case, tally, name, lambda: resizefix.promote_scales(str(case.path), shape=case.shapes, **options))
    if result is None:
        return
    for outcome in result.outcomes:
        if outcome.status.value != "changed":
            tally.refused("promote-scales", outcome.reason)
            assert_true_refusal(case, outcome, result)
    if not result.changed:
        _assert_untouched(case, result)
        return
    after = case.save(result, "promoted")
    case.assert_only_changed(result, after)
    runner = Runner(after)
    if case.runs:
        feeds = dict(case.drawn.feeds)
        for source in result.inputs:
            if not source.optional or case.rng.random() < 0.5:
                feeds[source.name] = _fed(source, source.value)
            assert source.name in runner.input_names or source.optional, f"{source.name} is no input"
        exact = all(outcome.exact for outcome in result.outcomes)
        # sizes for TensorRT sample elsewhere at fractional scales, and say so
        assert (apart := difference(case.ran, runner.run(feeds))) <= case.last_bits or not exact, f"{apart} apart"
        assert_moved(case, result, runner)
    if not options.get("input_name"):
        again = resizefix.promote_scales(str(after), **{**options, "verify": False})
        changed = {o.node for o in result.outcomes if o.status.value == "changed"}
        twice = {o.node for o in again.outcomes if o.status.value == "changed"} & changed
        assert not twice, f"promoted twice: {twice}"
    if "denominator" not in options and case.rng.random() < 0.7:
        frozen_again(case, tally, result, after)


def assert_moved(case: Case, result: Any, runner: Runner) -> None:
    """Each input alone, then all, at two times the old numbers and at a fraction: against the re-baked original."""
    tried: list[dict[str, tuple[float, ...]]] = []
    for step in (2.0, 1.5):
        moved = {source.name: _moved(source, step) for source in result.inputs}
        tried += [{name: value} for name, value in moved.items()] if len(moved) > 1 else []
        tried.append(moved)
    exact = all(outcome.exact for outcome in result.outcomes)
    for values in tried:
        feeds, operands = dict(case.drawn.feeds), {}
        for source in result.inputs:
            value = values.get(source.name, source.value)
            feeds[source.name] = _fed(source, value)
            for driven in source.sites:
                operands[driven.output] = (driven.kind.value, _operand(driven, value))
        truth = Runner(case.save_proto(baked(case.model, operands), "baked")).run(case.drawn.feeds)
        said = runner.run(feeds)
        if truth.error is not None and any(part in truth.error for part in (*CONTRADICTIONS, "ShapeInferenceError")):
            continue
        apart = difference(truth, said)
        if exact and (truth.error is None) != (said.error is None):
            raise AssertionError(f"at {values}: re-baked {truth.error}; promoted {said.error}")
        assert apart <= case.last_bits or not exact, f"at {values}: {apart} apart from the re-baked original"


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


def _fed(source: Any, value: Sequence[float]) -> np.ndarray:
    return np.array(value, np.int64 if source.elem_type == "int64" else np.float32)


def frozen_again(case: Case, tally: Tally, promotion: Any, path: Path) -> None:
    """promote → freeze computes what the original computes, and needs no other feeds."""
    values = {source.name: source.value for source in promotion.inputs}
    tally.operations["promote→freeze"] += 1
    result = resizefix.freeze_scales(str(path), set=values, verify=False)
    assert result.changed, "nothing was frozen"
    after = case.save(result, "back")
    left = {entry.name for entry in onnx.load(str(after), load_external_data=False).graph.input} & set(values)
    assert not left, f"still inputs: {left}"
    if not case.runs:
        return
    sizes_said_as_scales = any(
        driven.kind.value == "scales" and case.placed_by(driven.output).spelling.kind == "sizes"
        for source in promotion.inputs
        for driven in source.sites
    )
    error = Runner(after).run(case.drawn.feeds).error
    if error is not None and (sizes_said_as_scales or any(part in error for part in CONTRADICTIONS)):
        # onnxruntime's shape inference rounds another way than its kernel (5 → 9), and a body's output has no room
        tally.refused("promote→freeze", "onnxruntime contradicts itself about the size")
        return
    case.assert_same(after, exact=all(outcome.exact for outcome in promotion.outcomes), bound=1.0)


def frozen(case: Case, tally: Tally) -> None:
    """What is fed or computed becomes constant; nothing computed changes."""
    values = {site.input: case.drawn.feeds[site.input].reshape(-1).tolist() for site in case.drawn.sites if site.input}
    drives = {site.origin.name for site in case.sites if site.origin.kind.value == "graph-input"}
    values = {name: value for name, value in values.items() if name in drives}
    result = _called(
        case, tally, "freeze-scales", lambda: resizefix.freeze_scales(str(case.path), set=values, shape=case.shapes)
    )
    if result is None:
        return
    for outcome in result.outcomes:
        if outcome.status.value != "changed":
            tally.refused("freeze-scales", outcome.reason)
            kind = case.sites[outcome.index].origin.kind.value
            if outcome.status.value == "unchanged":
                assert kind in ("attribute", "initializer", "constant"), outcome.reason
            else:
                assert kind not in ("attribute", "initializer", "graph-input"), outcome.reason
    if not result.changed:
        _assert_untouched(case, result)
        return
    after = case.save(result, "frozen")
    case.assert_only_changed(result, after, removed=set(values))
    if case.runs:
        case.assert_same(after, exact=True)
    again = resizefix.freeze_scales(str(after), verify=False)
    changed = {o.node for o in result.outcomes if o.status.value == "changed" and not o.reason}
    assert not {o.node for o in again.outcomes if o.status.value == "changed"} & changed, "frozen twice"


def legalized(case: Case, tally: Tally, target: str, **options: Any) -> None:
    """The target accepts what was rewritten, and it computes the same."""
    name = _asked(f"legalize {target}", options)
    result = _called(
        case, tally, name, lambda: resizefix.legalize(str(case.path), target=target, shape=case.shapes, **options)
    )
    if result is None:
        return
    verdict = resizefix.check(str(case.path), target=target)
    if any(outcome.status.value == "refused" for outcome in result.outcomes):
        assert not verdict.accepted, "refused what the target accepts"
    for outcome in result.outcomes:
        if outcome.status.value == "refused":
            tally.refused("legalize", outcome.reason)
    if not result.changed:
        _assert_untouched(case, result)
        return
    after = case.save(result, "legal")
    case.assert_only_changed(result, after)
    if case.runs:
        exact = all(outcome.exact for outcome in result.outcomes)
        inexact = options.get("allow_inexact", False)
        case.assert_same(after, exact=exact, bound=0.5 if inexact else _bound(case))
    if all(outcome.status.value != "refused" for outcome in result.outcomes):
        left = [v for v in resizefix.check(str(after), target=target).violations if v.effect.value == "rejected"]
        assert not left, f"{target} still refuses {left[0].rule}: {left[0].because}"
    again = resizefix.legalize(str(after), target=target, **{**options, "verify": False})
    assert not again.changed or any(o.status.value == "refused" for o in result.outcomes), "legalized twice"


def made_legacy(case: Case, tally: Tally, **options: Any) -> None:
    """A valid model of opset 8 at most, every resize an Upsample with attribute; or nothing at all."""
    name = _asked("trt-legacy", options)
    result = _called(case, tally, name, lambda: resizefix.trt_legacy(str(case.path), shape=case.shapes, **options))
    if result is None:
        return
    for outcome in result.outcomes:
        if outcome.status.value == "refused":
            tally.refused("trt-legacy", outcome.reason)
    for blocker in result.blockers:
        tally.refused("trt-legacy", f"blocked by {plain(str(blocker))}")
    if result.verification.status.value != "passed":
        _assert_untouched(case, result)
        return
    after = case.save(result, "legacy")
    model = onnx.load(str(after), load_external_data=False)
    assert max(entry.version for entry in model.opset_import if not entry.domain) <= 8
    onnx.checker.check_model(str(after), full_check=True)
    resizes = [node for node in model.graph.node if node.op_type in ("Upsample", "Resize")]
    assert all(node.op_type == "Upsample" and len(node.input) == 1 for node in resizes)
    exact = all(outcome.exact for outcome in result.outcomes)
    if case.runs:
        case.assert_same(after, exact=exact, bound=0.5 if options.get("allow_inexact") else _bound(case))
    again = resizefix.trt_legacy(str(after), verify=False)
    assert again.verification.reason == "there is nothing to do" or not again.changed, "converted twice"


def _bound(case: Case) -> float:
    if any(node.op_type == "QuantizeLinear" for node in case.model.graph.node):
        return 1.0  # a last bit may be a whole step there
    halves = any(site.x.dtype == "float16" for site in case.drawn.sites)
    return HALF if halves else LOWERED


def judged(case: Case, tally: Tally) -> None:
    """check answers for every target; diff finds nothing between a file and itself."""
    for target in TARGETS:
        verdict = resizefix.check(str(case.path), target=target)
        tally.operations["check"] += 1
        assert verdict.accepted == all(v.effect.value != "rejected" for v in verdict.violations) or not verdict.accepted
    document = Document.open(case.path)
    assert not diff(document, document), "a file differs from itself"


def _asked(operation: str, options: dict[str, Any]) -> str:
    return operation + "".join(f" {key}={value}" for key, value in sorted(options.items()) if key != "verify")


def _called(case: Case, tally: Tally, name: str, call: Callable[[], Any]) -> Any:
    """The result; None where the file cannot be proven, which may only be where onnxruntime does not run it."""
    tally.operations[name] += 1
    try:
        result = call()
    except resizefix.VerificationFailedError as error:
        excused = any(part in str(error) for part in CONTRADICTIONS) or not case.runs_optimized
        excused = excused or (case.is_disputed and any(part in str(error) for part in DISPUTED))
        if case.runs and not case.says_nothing and not excused:
            raise AssertionError(f"{name}: {error}") from error
        tally.refused(name.split()[0], f"not proven: {error}")
        return None
    except resizefix.ResizefixError as error:
        tally.refused(name.split()[0], str(error))
        return None
    tally.operations[f"{name.split()[0]}: {'changed' if result.changed else 'not changed'}"] += 1
    return result


def _assert_untouched(case: Case, result: Any) -> None:
    assert case.save(result, "same").read_bytes() == case.bytes, "nothing changed, and yet other bytes"
