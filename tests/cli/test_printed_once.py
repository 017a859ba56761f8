"""What a command that writes says: where it wrote, how to run it, what to beware of, and every reason once."""

import re
import shutil
from pathlib import Path

import onnx
import pytest
from fixture_models import FIXTURES, SRCNN, UNET
from onnx_text import model

from resizefix.reports.text import show_lost_targets
from resizefix.runtimes.tensorrt import LiveError, LiveVerdict
from resizefix.targets.catalogue import target_named

BISENET = FIXTURES / "bisenet_x8_linear_opset11.onnx"


@pytest.fixture
def run(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return call


@pytest.mark.parametrize("options", [(), ("--form", "factor", "--input-name", 'it\'s "x"'), ("--for", "tensorrt")])
def test_the_lines_of_python_run_the_promoted_model(run, options):
    code, out, _ = run("promote-scales", SRCNN, "any.onnx", *options)
    assert code == 0
    assert out.splitlines()[-1] == "wrote any.onnx"
    (lines,) = re.findall(r"to run it:\n((?:  .*\n){3})wrote", out)
    captured = {}
    exec(re.sub("^  ", "", lines, flags=re.MULTILINE), captured)
    assert captured["outputs"][0].shape == (1, 3, 60, 72)


@pytest.mark.parametrize(
    "arguments", [("promote-scales", SRCNN), ("trt-legacy", BISENET), ("legalize", BISENET, "--target", "tensorrt-7.0")]
)
def test_a_command_that_writes_says_what_it_wrote(run, arguments):
    command, given, *options = arguments
    code, out, _ = run(command, given, "out.onnx", *options)
    assert (code, out.splitlines()[-1]) == (0, "wrote out.onnx")
    code, out, _ = run(command, given, "other.onnx", *options, "--dry-run")
    assert (code, out.splitlines()[-1]) == (0, "nothing was written (--dry-run)")
    assert not Path("other.onnx").exists()
    shutil.copy(given, "in.onnx")
    assert run(command, "in.onnx", "--in-place", *options)[1].splitlines()[-1] == "wrote in.onnx"


def test_coupled_nodes_that_are_promoted_all_the_same_are_named_with_the_node_that_breaks(run):
    _, out, _ = run("promote-scales", UNET, "any.onnx", "--allow-coupled")
    assert "warning: another scale of /Resize breaks the model at '/Concat'; only the old value was verified\n" in out


def test_targets_that_refuse_only_the_promoted_model_are_named_with_what_they_accept(run):
    _, out, _ = run("promote-scales", SRCNN, "any.onnx")
    (warning,) = (line for line in out.splitlines() if line.startswith("warning: "))
    assert warning.startswith("warning: tensorrt-8.5 to tensorrt-rtx, ncnn, ")
    assert warning.endswith(" accepted the resizes before and no longer do")
    assert "to keep them: promote with --for tensorrt (tensorrt-8.5 to tensorrt-rtx); keep IN, whose scales are" in out
    assert run("check", SRCNN, "--target", "tensorrt-10")[0] == 0
    assert run("check", "any.onnx", "--target", "tensorrt-10")[0] == 1
    integer = run("promote-scales", SRCNN, "integer.onnx", "--for", "tensorrt")[1]
    assert "tensorrt" not in next(line for line in integer.splitlines() if line.startswith("warning: "))
    assert run("check", "integer.onnx", "--target", "tensorrt-10")[0] == 0


def test_no_reason_is_said_twice(run):
    _, out, err = run("promote-scales", UNET, "any.onnx")
    assert (out + err).count("'/Concat'") == 1
    assert run("promote-scales", SRCNN, "any.onnx", "-q")[0] == 0
    code, out, err = run("verify", SRCNN, "any.onnx", "--feed", "/Resize_scales=1,1,2,2")
    assert (code, out) == (1, "verification failed\n")
    assert "float32[1, 3, 60, 72] before and float32[1, 3, 40, 48] after" in err


def test_trt_legacy_reports_the_verdict_of_the_version_that_was_asked_for(run):
    _, out, _ = run("trt-legacy", BISENET, "a.onnx", "--target", "tensorrt-7.0")
    assert [line.split()[0] for line in out.splitlines() if line.startswith("  tensorrt")] == ["tensorrt-7.0"]
    _, out, _ = run("trt-legacy", BISENET, "b.onnx", "-v")
    assert sum(line.startswith(("* tensorrt", "  tensorrt")) for line in out.splitlines()) == 6


@pytest.mark.parametrize(
    "command",
    [("repair",), ("freeze-scales", "--copy-unchanged"), ("legalize", "--target", "tensorrt-10", "--copy-unchanged")],
)
def test_a_dry_run_that_would_copy_does_not_call_it_copied(run, command):
    code, out, err = run(command[0], SRCNN, "out.onnx", *command[1:], "--dry-run")
    assert code == 0
    assert "copied" not in out + err
    assert "nothing was written (--dry-run)" in out + err


def test_a_measured_difference_names_the_sizes_of_images_and_no_input_that_holds_scales(run):
    _, out, err = run("promote-scales", SRCNN, "out.onnx", "--for", "tensorrt", "--denominator", "10")
    assert "at input 1×3×20×24)" in out + err


def test_a_rewritten_model_that_does_not_run_is_not_called_by_the_path_of_the_one_before(run, tmp_path):
    made = model(
        """(float[1,1,h,4] x) => (float[a, b, c, d] y, float[1,1,h,4] z)
        <float[4] s = {1, 1, 2, 2}, int64[1] zero = {0}, int64[1] two = {2}> {
            z = Relu (x) n = Slice (x, zero, zero, two)
            [up] y = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (n, "", s)
        }"""
    )
    onnx.save(made, tmp_path / "empty.onnx")
    _, out, err = run("legalize", "empty.onnx", "out.onnx", "--target", "tensorrt-7.0")
    assert "AFTER cannot be run at node" in out + err


def test_no_other_model_is_suggested_where_the_one_that_was_named_is_there(run, tmp_path):
    made = model('(float[1,1,4,4] x) => (float[1,1,8,8] y) <float[4] s = {1, 1, 2, 2}> { y = Resize (x, "", s) }')
    weights = made.graph.initializer[0]
    weights.ClearField("float_data")
    weights.ClearField("raw_data")
    weights.data_location = onnx.TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="w.bin")
    weights.external_data.add(key="offset", value="1000000")
    (tmp_path / "w.bin").write_bytes(bytes(16))
    (tmp_path / "broken.onnx").write_bytes(made.SerializeToString())
    shutil.copy(SRCNN, tmp_path / "result1.onnx")
    code, _, err = run("promote-scales", "broken.onnx", "result2.onnx")
    assert code == 2
    assert "next" not in err
    _, _, err = run("inspect", "result2.onnx")
    assert "resizefix inspect result1.onnx" in err


def test_one_target_that_is_lost_refuses_and_several_refuse(capsys):
    one, other = target_named("tensorrt-7.1"), target_named("tensorrt-7.2")
    show_lost_targets([one], [one])
    assert capsys.readouterr().out.splitlines() == [
        "warning: tensorrt-7.1 accepted the resizes before and no longer does",
        "to keep it: promote with --for tensorrt (tensorrt-7.1)",
    ]
    show_lost_targets([one, other], [one])
    assert capsys.readouterr().out.splitlines() == [
        "warning: tensorrt-7.1 and tensorrt-7.2 accepted the resizes before and no longer do",
        "to keep them: promote with --for tensorrt (tensorrt-7.1); keep IN, whose scales are constants (tensorrt-7.2)",
    ]
    show_lost_targets([one])
    assert "to keep" not in capsys.readouterr().out


def test_every_command_that_writes_names_the_targets_that_it_loses(run):
    assert "warning: " not in run("legalize", SRCNN, "legal.onnx", "--target", "tensorrt-8.0")[1]
    _, out, _ = run("trt-legacy", BISENET, "legacy.onnx")
    assert "warning: tract, tvm, coreml, horizon and nnapi accepted the resizes before and no longer do\n" in out
    assert "to keep them" not in out  # which promote-scales alone says


def test_the_promotion_for_tensorrt_is_advised_only_where_it_is_made(run):
    scripted_if = FIXTURES / "scripted_if_opset11.onnx"
    _, out, err = run("promote-scales", scripted_if, "out.onnx")
    assert "accepted the resizes before and no longer do" in out + err
    assert "to keep them: keep IN, whose scales are constants\n" in out
    assert "--for tensorrt" not in out + err
    assert run("promote-scales", scripted_if, "integers.onnx", "--for", "tensorrt")[0] == 1


def test_what_the_real_parser_refuses_was_tried_and_not_written(run, monkeypatch):
    no = LiveVerdict("TensorRT-RTX 9.9", False, (LiveError("up", "y", 0, "Resize", "I do not\n  like it"),))
    monkeypatch.setattr("resizefix.library.live.live_verdict", lambda document, **_: no)
    code, out, err = run("promote-scales", SRCNN, "any.onnx", "--for", "tensorrt")
    assert (code, out.splitlines()[0], Path("any.onnx").exists()) == (1, "tried     /Resize", False)
    assert err.startswith(
        "resizefix promote-scales: failed: nothing was written. TensorRT-RTX 9.9 rejects the model at 'up'"
    )
    assert "I do not like it (it refuses the original too). --no-verify writes it anyway" in err
