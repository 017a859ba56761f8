"""The laws of the rewrites that keep a model's signature: legalize and trt-legacy."""

from typing import Any

import onnx
from random_graphs_called import asked, assert_untouched, called
from random_graphs_case import Case, Tally, plain
from random_graphs_claims import APPROXIMATE, LOWERED, assert_as_claimed
from random_graphs_refusals import assert_true_blocker, assert_true_legacy_refusal, assert_true_legalize_refusal
from random_graphs_runs import Runner

import resizefix

INLINING = {"functions-are-inlined", "body-is-imported"}  # the rules for which functions are inlined


def legalized(case: Case, tally: Tally, target: str, **options: Any) -> None:
    """The target accepts what was rewritten, and it computes the same."""
    name = asked(f"legalize {target}", options)
    result = called(
        case,
        tally,
        name,
        lambda **more: resizefix.legalize(
            str(case.path), target=target, shape=case.shapes, on_refusal="return", **{**options, **more}
        ),
    )
    if result is None:
        return
    violations = resizefix.check(str(case.path), target=target).violations
    # Where functions are inlined first, nodes have other names than in the file.
    rules = {violation.rule for violation in violations}
    is_inlined = bool(rules & INLINING and onnx.load(case.path, load_external_data=False).functions)
    for outcome in () if is_inlined else result.outcomes:
        broken = {v.rule for v in violations if v.node == outcome.node and v.effect.value != "noted"}
        if not broken and "this shows once the others are rewritten" in outcome.reason:
            left = resizefix.check(str(case.save(result, "shown")), target=target).violations
            broken = {violation.rule for violation in left} or {"none, for it was mended"}
        if outcome.status.value == "refused":
            tally.refused("legalize", outcome.reason)
            assert_true_legalize_refusal(case, outcome, target, broken, options)
        else:
            mends = outcome.status.value == "changed" or "once the others are rewritten" in outcome.reason
            assert mends == bool(broken), f"{outcome.status}, and it breaks {broken}"
    if not result.changed:
        assert_untouched(case, result)
        return
    after = case.save(result, "legal")
    case.assert_signature(after, removed=set())
    if not is_inlined:
        case.assert_only_changed(result, after)
    if case.runs:
        lowered = APPROXIMATE if options.get("allow_inexact") else LOWERED
        assert_as_claimed(case, result, case.ran, Runner(after).run(case.drawn.feeds), lowered=lowered)
    refused = sum(outcome.status.value == "refused" for outcome in result.outcomes)
    left = [v for v in resizefix.check(str(after), target=target).violations if v.effect.value != "noted"]
    assert len({v.node for v in left}) <= refused, f"{target} still refuses {left[0].rule}: {left[0].because}"
    again = resizefix.legalize(str(after), target=target, on_refusal="return", **{**options, "verify": False})
    assert not again.changed, "legalized twice"
    assert case.save(again, "again").read_bytes() == after.read_bytes(), "a second run changed something"


def made_legacy(case: Case, tally: Tally, **options: Any) -> None:
    """A valid model of opset 8 at most, every resize an Upsample with attribute; or nothing at all."""
    name = asked("trt-legacy", options)
    result = called(
        case,
        tally,
        name,
        lambda **more: resizefix.trt_legacy(str(case.path), shape=case.shapes, on_refusal="return", **options, **more),
    )
    if result is None:
        return
    for outcome in result.outcomes:
        if outcome.status.value == "refused":
            tally.refused("trt-legacy", outcome.reason)
            assert_true_legacy_refusal(case, outcome, options)
    for blocker in result.blockers:
        tally.refused("trt-legacy", f"blocked by {plain(str(blocker))}")
        assert_true_blocker(case, blocker)
    if result.verification.reason in ("nothing was converted", "there is nothing to do"):
        assert_untouched(case, result)
        return
    after = case.save(result, "legacy")
    model = onnx.load(str(after), load_external_data=False)
    assert max(entry.version for entry in model.opset_import if not entry.domain) <= 8
    assert model.ir_version <= 3
    # loaded: the checker of files does not read the external data that a Reshape follows
    onnx.checker.check_model(onnx.load(after), full_check=True)
    resizes = [node for node in model.graph.node if node.op_type in ("Upsample", "Resize")]
    assert all(node.op_type == "Upsample" and len(node.input) == 1 for node in resizes)
    assert [entry.name for entry in model.graph.output] == [entry.name for entry in case.model.graph.output]
    if case.runs:
        lowered = APPROXIMATE if options.get("allow_inexact") else LOWERED
        assert_as_claimed(case, result, case.ran, Runner(after).run(case.drawn.feeds), lowered=lowered)
    again = resizefix.trt_legacy(str(after), verify=False, on_refusal="return")
    assert again.verification.reason == "there is nothing to do", "converted twice"
    assert case.save(again, "again").read_bytes() == after.read_bytes(), "a second run changed something"
