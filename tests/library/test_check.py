"""The verdicts: rules for every target, and what a parser says beside them. Models are those of fixtures/."""

import pytest
from fixture_models import FIXTURES, SRCNN
from live_parser import needs_tensorrt
from onnx_text import model

import resizefix
from resizefix.diagnostics import UnreadableModelError, UsageError
from resizefix.document.document import Document
from resizefix.library.check import Verdict, check, check_all
from resizefix.runtimes import tensorrt as tensorrt_live
from resizefix.runtimes.tensorrt import LiveError, LiveVerdict
from resizefix.targets.target import Effect
from resizefix.targets.tensorrt import TENSORRT_TARGETS

HANDMADE = FIXTURES / "handmade"
NAMES = [target.name for target in TENSORRT_TARGETS]


def rules(name, target):
    verdict = check(HANDMADE / f"{name}.onnx", target=target)
    found = {violation.rule: violation for violation in verdict.violations}
    assert len(found) == len(verdict.violations)
    return found


# ---- what users bring, each reported as one violation with its fix ---------------------------------------------------


HYBRID = "Old tutorials write this form; it is no valid ONNX, and no parser since 5.1 takes it"
# A model, the targets, the rule and its effect there, and what the violation says.
FOUND = [
    ("upsample9_hybrid", NAMES[1:], "upsample-not-hybrid", Effect.REJECTED,
     (HYBRID, "give the scales as second input", "import opset 8")),
    ("upsample9_hybrid", NAMES[:1], "hybrid-is-taken-here-alone", Effect.NOTED, ("other parsers forbid it",)),
    ("scales_graph_input", NAMES[6:7], "runtime-extent-is-integer", Effect.REJECTED,
     ("must be int32 or int64", "freeze them")),  # there scales must be weights
    ("scales_graph_input", NAMES[7:], "runtime-extent-is-integer", Effect.REJECTED,
     ("must be int32 or int64", "freeze them", "--shape-inputs")),
    ("scales_graph_input_default", NAMES[6:], "default-becomes-constant", Effect.NOTED,
     ("the network has no such input any more", "that TensorRT takes")),
    ("foreign_upsample", NAMES[6:], "domain-is-overlooked", Effect.DIFFERENT,
     ("Upsample of the domain acme", "rename the operator")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "target", "rule", "effect", "says"),
    [(name, target, *rest) for name, targets, *rest in FOUND for target in targets],
)
def test_what_users_bring_is_reported_with_its_rule_and_its_fix(name, target, rule, effect, says):
    violation = rules(name, target)[rule]
    assert violation.effect is effect
    assert all(text in f"{violation.because} {violation.fix}" for text in says)


@pytest.mark.parametrize("target", NAMES)
def test_what_is_one_fault_is_reported_once(target):
    assert {"upsample-form-of-its-opset", "exactly-two-inputs"}.isdisjoint(rules("upsample9_hybrid", target))
    assert "default-becomes-constant" not in rules("ir3_weights_as_inputs", target)
    if target in NAMES[6:]:
        assert len(rules("scales_graph_input_default", target)) == len(rules("foreign_upsample", target)) == 1
        assert check(HANDMADE / "scales_graph_input_default.onnx", target=target).accepted


def foreign(text):
    return model(f"(float[1,2,4,5] x) => (float[a,b,c,d] y) {{ {text} }}", 13, "acme")


def test_a_node_of_another_domain_and_another_form_is_refused_with_the_rule_it_breaks():
    (violation,) = check(foreign("[up] y = acme.Resize (x)"), target="tensorrt-rtx").violations
    assert (violation.node, violation.effect) == ("up", Effect.REJECTED)
    assert "names neither scales nor sizes" in violation.because


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("y = acme.Resize (x)", "onnxruntime"),  # which looks at the domain
        ("y = acme.ResizeNearest (x)", "tensorrt-rtx"),
    ],
)
def test_other_names_and_other_runtimes_have_no_such_violation(text, target):
    assert check(foreign(text), target=target).violations == ()


def test_the_default_domain_spelled_out_is_not_another_one():
    assert check(HANDMADE / "explicit_ai_onnx_domain.onnx", target="tensorrt-rtx").violations == ()


def test_half_scales_are_refused_as_a_tensor_and_taken_for_zeros_as_a_constant():
    folded = rules("scales_half_precision", "tensorrt-rtx")["tensor-scales-are-float"]
    assert (folded.effect, "float16" in folded.because) == (Effect.REJECTED, True)
    constant = model("(float[1,2,4,5] x) => (float[a,b,c,d] y) <float16[4] s = {1, 1, 2, 2}> { y = Resize (x, , s) }")
    found = {broken.rule: broken.effect for broken in check(constant, target="tensorrt-10").violations}
    assert found["extent-is-not-float16"] is Effect.DIFFERENT


# ---- a parser beside the rules --------------------------------------------------------------------------------------


YES = LiveVerdict("TensorRT-RTX 9.9", True)
NO = LiveVerdict("TensorRT-RTX 9.9", False, (LiveError("conv", "y", 0, "Conv", "no"),))


def test_no_parser_is_asked_unless_one_is_wanted(stand_in):
    parser = stand_in()
    verdict = check(SRCNN, target="tensorrt-rtx")
    assert (verdict.live, verdict.live_reason, parser.time_limits) == (None, None, [])


def test_tensorrt_is_asked_once_for_all_targets_it_speaks_for_and_says_for_which_it_stands_in(stand_in):
    parser = stand_in(YES)
    rtx, ten = check_all(SRCNN, ["tensorrt-rtx", "tensorrt-10"], live=True, timeout=7)
    assert rtx.live.parser == "TensorRT-RTX 9.9"
    assert ten.live.parser.startswith("TensorRT-RTX 9.9, standing in for TensorRT 10")
    assert (len(parser.asked), parser.time_limits) == (1, [7])


def test_a_model_that_the_parser_refuses_is_not_taken_though_every_rule_is_kept(stand_in):
    stand_in(NO)
    verdict = check(SRCNN, target="tensorrt-rtx", live=True)
    assert (verdict.accepted, verdict.taken) == (True, False)


def test_a_model_that_breaks_a_rule_is_not_taken_though_the_parser_takes_it(stand_in):
    stand_in(YES)
    verdict = check(HANDMADE / "foreign_upsample.onnx", target="tensorrt-rtx", live=True)
    assert (verdict.accepted, verdict.taken) == (False, False)


@pytest.mark.parametrize("target", [name for name in NAMES if name not in ("tensorrt-10", "tensorrt-rtx")])
def test_an_older_target_has_no_parser_and_the_verdict_says_so(stand_in, target):
    parser = stand_in()
    verdict = check(HANDMADE / "upsample7_attribute.onnx", target=target, live=True)
    assert verdict.live is None
    assert f"no parser of {target} can run here" in str(verdict.live_reason)
    assert not verdict.taken
    assert parser.asked == []


def test_without_the_extra_the_rules_accept_the_parser_takes_nothing_and_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setattr(tensorrt_live, "MODULE", "no_such_bindings")
    monkeypatch.setattr(tensorrt_live.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(tensorrt_live.sys, "platform", "linux")
    verdict = check(SRCNN, target="tensorrt-rtx", build=True)
    assert (verdict.live, verdict.accepted, verdict.taken) == (None, True, False)
    assert "pip install 'resizefix[tensorrt]'" in str(verdict.live_reason)


def test_elsewhere_than_on_linux_it_is_said_that_there_is_none(monkeypatch):
    monkeypatch.setattr(tensorrt_live, "MODULE", "no_such_bindings")
    monkeypatch.setattr(tensorrt_live.sys, "platform", "darwin")
    verdict = check(SRCNN, target="tensorrt-rtx", live=True)
    assert "runs on x86-64 Linux alone" in str(verdict.live_reason)


def test_onnxruntime_is_asked_itself():
    verdict = check(SRCNN, target="onnxruntime", live=True)
    assert (verdict.live.parser, verdict.live.accepted, verdict.taken) == ("onnxruntime, CPU", True, True)
    unknown = check(foreign("y = acme.Blur (x)"), target="onnxruntime", live=True)
    assert (unknown.accepted, unknown.taken) == (True, False)
    assert "acme:Blur" in unknown.live.errors[0].message


def test_what_cannot_be_asked_is_a_usage_error():
    with pytest.raises(UsageError, match=r"there is no target 'tensorrt-99'"):
        check(SRCNN, target="tensorrt-99", live=True)
    with pytest.raises(UsageError, match="tensorrt-rtx or tensorrt-10 only"):
        check(SRCNN, target="tensorrt-8.0", build=True, profile={"input": {"opt": [1]}})


def test_the_public_names_are_there():
    assert resizefix.check is check
    assert resizefix.Verdict is Verdict


# ---- the real one ---------------------------------------------------------------------------------------------------


@needs_tensorrt
def test_the_rules_and_tensorrt_rtx_agree_on_every_resize_of_every_fixture():
    from resizefix.runtimes.tensorrt import LiveParser

    too_lax, too_strict, judged = [], [], 0
    with LiveParser() as parser:
        for path in sorted(FIXTURES.rglob("*.onnx")):
            try:
                document = Document.open(path)
            except UnreadableModelError:
                continue
            verdict = check(document, target="tensorrt-rtx")
            found = parser.ask(document.light_bytes(), document.folder)
            assert isinstance(found, LiveVerdict), path
            judged += 1
            refused = [error for error in found.errors if error.op_type in ("Resize", "Upsample")]
            rejected = [broken for broken in verdict.violations if broken.effect is Effect.REJECTED]
            too_lax += [(path.name, refused)] if refused and not rejected else []
            too_strict += [(path.name, rejected)] if rejected and found.accepted else []
    assert (too_lax, too_strict) == ([], [])
    assert judged > 80


@needs_tensorrt
def test_a_dynamic_model_is_parsed_and_built_and_the_ranges_are_reported():
    verdict = check(FIXTURES / "srcnn_x3_opset11_dynamic.onnx", target="tensorrt-10", build=True)
    assert (verdict.live.built, verdict.taken, verdict.live_reason) == (True, True, None)
    assert verdict.live.chosen == ("input",)
    assert verdict.live.profile["input"]["min"] < verdict.live.profile["input"]["max"]


@needs_tensorrt
def test_a_parser_that_takes_too_long_is_not_waited_for():
    verdict = check(HANDMADE / "foreign_upsample.onnx", target="tensorrt-rtx", live=True, timeout=0.001)
    assert verdict.live is None
    assert verdict.live_reason == "TensorRT-RTX did not answer within 0.001 s"
