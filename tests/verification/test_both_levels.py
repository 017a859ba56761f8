"""Each proof of each command runs the disabled and the default level: the levels are counted, engine by engine."""

import sys
from collections import defaultdict
from pathlib import Path

import onnx
import onnx.parser
import pytest

import resizefix
from resizefix.diagnostics import ResizefixError
from resizefix.verification.engine import Engine
from resizefix.verification.verification import VerificationStatus

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

from mutants import COMMANDS  # noqa: E402

FIXTURES = ROOT / "fixtures"
RESIZES = ("handmade/shared_scales", "handmade/resize10_up_and_down", "handmade/if_outer_initializer")
FILES = {
    "repair": ("broken/fp16_scales_const_03", "broken/lost_asymmetric_01", "broken/scales_of_two_axes_caffe2onnx"),
    "input-size": ("srcnn_x3_opset11", "handmade/resize11_tf_crop", "sizes/torch213ts_coordconv_a"),
    "input-size --batch": ("srcnn_x3_opset11", "sizes/torch213ts_coordconv_a"),
    "--opset": ("handmade/resize10_up_and_down", "srcnn_x3_opset11", "broken/lost_asymmetric_01"),
}
# onnxruntime does not run it as a whole, so that nodes are proven alone.
UNRUNNABLE = """<ir_version: 8, opset_import: ["" : 13, "other.ops" : 1]>
g (float[1, 3, 8, 9] x) => (float[1, 3, 16, 27] z) <float[4] scales = {1, 1, 2, 3}>
{
   y = Resize <mode = "linear"> (x, "", scales)
   z = other.ops.Unknown (y)
}"""
ALONE = [
    (resizefix.promote_scales, {}),
    (resizefix.legalize, {"target": "tensorrt-7.0", "live": False}),
    (resizefix.set_interpolation, {"mode": "cubic"}),
    (resizefix.set_interpolation, {"form": "sizes"}),
    (resizefix.trt_legacy, {"size": (8, 9)}),
]


@pytest.fixture
def proofs(monkeypatch):
    """The levels at which each engine that passed a verdict opened sessions."""
    levels: dict[int, set[bool]] = defaultdict(set)
    passed: list[tuple[Engine, set[bool]]] = []
    opened, measured, verdict = Engine.open, Engine.open_measured, Engine.verdict

    def open_at(self, document, *, optimized, **given):
        levels[id(self)].add(optimized)
        return opened(self, document, optimized=optimized, **given)

    def open_measured(self, *given, **named):
        levels[id(self)].add(False)
        return measured(self, *given, **named)

    def given(self, failure=None):
        found = verdict(self, failure)
        if (
            found.status is VerificationStatus.PASSED and found.runs
        ):  # without runs it compared nothing: an experiment that only looks
            passed.append((self, levels[id(self)]))  # the engine is held, so that its id is no other's
        return found

    monkeypatch.setattr(Engine, "open", open_at)
    monkeypatch.setattr(Engine, "open_measured", open_measured)
    monkeypatch.setattr(Engine, "verdict", given)
    return passed


@pytest.mark.parametrize("name", dict.fromkeys(command.name for command in COMMANDS))
def test_each_proof_runs_both_levels(name, proofs):
    rows = [command for command in COMMANDS if command.name == name]
    written = 0
    for command in rows:
        for file in FILES.get(name, RESIZES):
            try:
                result = command.call(str(FIXTURES / f"{file}.onnx"), **command.options)
            except ResizefixError:
                continue
            if result.changed:
                written += 1
                assert any(run.optimized for run in result.verification.runs)
    assert written
    assert len(proofs) >= written
    assert all(levels == {False, True} for _, levels in proofs)


@pytest.mark.parametrize(("call", "options"), ALONE, ids=lambda one: getattr(one, "__name__", str(one)))
def test_nodes_alone_are_proven_at_both_levels(call, options, proofs, tmp_path):
    path = tmp_path / "unrunnable.onnx"
    onnx.save(onnx.parser.parse_model(UNRUNNABLE), path)
    result = call(path, **options)
    assert result.changed
    assert {run.optimized for run in result.verification.runs} == {False, True}


def test_verify_runs_both_levels(proofs):
    path = FIXTURES / "handmade" / "shared_scales.onnx"
    assert resizefix.verify(path, path).passed
    assert [levels for _, levels in proofs] == [{False, True}]
