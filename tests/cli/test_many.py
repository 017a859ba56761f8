"""Several models in one call: one answer, in order, and no model costs another its own."""

import re

import pytest
from fixture_models import BISENET, ESRGAN, FIXTURES, SRCNN, UNET

from resizefix.cli import many


def test_what_is_said_of_each_is_what_it_alone_is_reported(answered):
    together = answered("check", SRCNN, ESRGAN, "--target", "tensorrt-8.0", "--jobs", "2")
    alone = [answered("check", model, "--target", "tensorrt-8.0") for model in (SRCNN, ESRGAN)]
    assert together["models"] == alone
    assert together["exit_code"] == max(answer["exit_code"] for answer in alone)
    words = ("changed", "already", "refused", "failed", "unusable")
    assert sum(together["summary"][word] for word in words) == together["summary"]["models"] == 2
    assert [one["outcome"] for one in alone] == [("already", "refused")[one["exit_code"]] for one in alone]


def test_each_is_written_under_its_name_and_the_worst_code_is_the_answer(answered, tmp_path):
    answer = answered("promote-scales", SRCNN, UNET, ESRGAN, "--output-dir", tmp_path / "new")
    assert [one["exit_code"] for one in answer["models"]] == [0, 1, 0]  # the U-Net is coupled
    assert answer["exit_code"] == 1
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [ESRGAN.name, SRCNN.name]


def test_for_a_person_there_is_a_line_for_each_and_one_for_all(call, tmp_path):
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"PK\x03\x04")
    code, out, _ = call("inspect", SRCNN, str(broken))
    first, second, last = out.splitlines()
    assert code == 2
    assert re.fullmatch(rf"{SRCNN} +inspected +[\d.]+  1 resize node, 1 promotable", first)
    assert re.match(rf"{broken} +unusable +[\d.]+  ", second)
    assert last == "2 models: 1 inspected, 1 unusable"


def test_a_process_that_dies_is_that_models_failure(answered, monkeypatch):
    monkeypatch.setattr(many, "WORKER", "sys:exit")
    answer = answered("inspect", SRCNN, ESRGAN)
    assert answer["exit_code"] == 1
    assert [one["outcome"] for one in answer["models"]] == ["failed", "failed"]
    assert [one["model"] for one in answer["models"]] == [str(SRCNN), str(ESRGAN)]
    assert all("ended with status 1" in one["error"] for one in answer["models"])


def test_a_process_that_is_killed_is_named_with_its_signal(answered, monkeypatch, tmp_path):
    (tmp_path / "killed_worker.py").write_text("import os\ndef work(*_): os.kill(os.getpid(), 9)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(many, "WORKER", "killed_worker:work")
    (answer,) = answered("promote-scales", SRCNN, "--output-dir", tmp_path / "new")["models"]
    assert (answer["exit_code"], answer["outcome"]) == (1, "failed")
    assert answer["error"] == f"{SRCNN}: the process that worked on it was ended by signal 9. Nothing was written."
    assert not (tmp_path / "new").exists()


def test_why_a_target_refuses_is_said_with_node_rule_and_mend(call):
    code, out, _ = call("check", SRCNN, ESRGAN, "--target", "tensorrt-5.0", "--target", "tensorrt-5.1")
    assert code == 1
    first, *_, last = out.splitlines()
    assert re.match(rf"{SRCNN} +refused +[\d.]+  tensorrt-5.0, tensorrt-5.1: ", first)
    said, more = first.split("tensorrt-5.1: ")[1].split(" (and ")
    assert more.endswith(" more, which -v lists)")
    assert last == "2 models: 2 refused"
    _, out, _ = call("check", SRCNN, ESRGAN, "--target", "tensorrt-5.0", "--target", "tensorrt-5.1", "-v")
    (said,) = {line.strip() for line in out.splitlines() if line.startswith("    /Resize: this parser has no")}
    assert said.startswith("/Resize: this parser has no importer for Resize")
    assert said.endswith("write Upsample-7 in a model of opset 7 or 8")


def test_of_a_command_that_writes_it_is_said_what_was_changed(call, tmp_path):
    code, out, _ = call("trt-legacy", BISENET, "--output-dir", tmp_path)
    assert code == 0
    first, last = out.splitlines()
    assert re.fullmatch(rf"{BISENET} +changed +[\d.]+  3 of 3 resize nodes changed", first)
    assert last == f"1 model: 1 changed; results are in {tmp_path}"


@pytest.mark.parametrize("command", ["check", "legalize"])
def test_the_targets_are_listed_whatever_models_are_given(call, command):
    code, out, _ = call(command, SRCNN, ESRGAN, UNET, "--target", "list")
    assert code == 0
    assert out.splitlines()[0] == "tensorrt-5.0  5.0"


def test_the_hook_for_pre_commit_calls_what_there_is(call):
    hooks = (FIXTURES.parent / ".pre-commit-hooks.yaml").read_text()
    command, *arguments = hooks.split("entry: resizefix ")[1].splitlines()[0].split()
    code, out, _ = call(command, *arguments, "--target", "onnxruntime", SRCNN, ESRGAN)
    assert code == 0
    assert out.splitlines()[-1] == "2 models: 2 already"
