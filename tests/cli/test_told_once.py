"""What a command that writes says: where it wrote, how to run it, what to beware of, and every reason once."""

import re
import shutil
from pathlib import Path

import pytest

from resizefix.cli import main

FIXTURES = Path(__file__).parents[2] / "fixtures"
SRCNN, UNET, BISENET = (
    FIXTURES / f"{name}.onnx" for name in ("srcnn_x3_opset11", "unet_nearest_opset11", "bisenet_x8_linear_opset11")
)


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as done:
            main([str(argument) for argument in arguments])
        told = capsys.readouterr()
        return done.value.code, told.out, told.err

    return call


@pytest.mark.parametrize("options", [(), ("--form", "factor", "--input-name", 'it\'s "x"'), ("--for", "tensorrt")])
def test_the_lines_of_python_run_the_promoted_model(run, options):
    code, out, _ = run("promote-scales", SRCNN, "any.onnx", *options)
    assert code == 0
    assert out.splitlines()[-1] == "wrote any.onnx"
    (lines,) = re.findall(r"to run it:\n((?:  .*\n){3})wrote", out)
    told = {}
    exec(re.sub("^  ", "", lines, flags=re.MULTILINE), told)
    assert told["outputs"][0].shape == (1, 3, 60, 72)


@pytest.mark.parametrize(
    "arguments",
    [("promote-scales", SRCNN), ("trt-legacy", BISENET), ("legalize", BISENET, "--target", "tensorrt-7.0")],
)
def test_a_command_that_writes_says_what_it_wrote(run, arguments):
    command, model, *options = arguments
    code, out, _ = run(command, model, "out.onnx", *options)
    assert (code, out.splitlines()[-1]) == (0, "wrote out.onnx")
    code, out, _ = run(command, model, "other.onnx", *options, "--dry-run")
    assert (code, out.splitlines()[-1]) == (0, "nothing was written (--dry-run)")
    assert not Path("other.onnx").exists()
    shutil.copy(model, "in.onnx")
    assert run(command, "in.onnx", "--in-place", *options)[1].splitlines()[-1] == "wrote in.onnx"


def test_coupled_nodes_that_are_promoted_all_the_same_are_named_with_the_node_that_breaks(run):
    _, out, _ = run("promote-scales", UNET, "any.onnx", "--allow-coupled")
    assert "warning: another scale of /Resize breaks the model at '/Concat'; only the old value was run\n" in out


def test_targets_that_refuse_only_the_promoted_model_are_named_with_what_they_accept(run):
    _, out, _ = run("promote-scales", SRCNN, "any.onnx")
    (warning,) = (line for line in out.splitlines() if line.startswith("warning: "))
    assert "accepted the model before and refuse it now; they accept what --for tensorrt makes" in warning
    assert run("check", SRCNN, "--target", "tensorrt-10")[0] == 0
    assert run("check", "any.onnx", "--target", "tensorrt-10")[0] == 1
    assert "warning" not in run("promote-scales", SRCNN, "integer.onnx", "--for", "tensorrt")[1]
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
    assert [line.split()[1] for line in out.splitlines() if "tensorrt" in line] == ["tensorrt-7.0"]
    _, out, _ = run("trt-legacy", BISENET, "b.onnx", "-v")
    assert sum(line.startswith(("* tensorrt", "  tensorrt")) for line in out.splitlines()) == 6
