"""docs/how-to/pipelines.md, typed as it stands; Ray and Dask where they are installed.

tests/interop/test_right_after_export.py types its script for a folder of models.
"""

import importlib.util
import re
import shlex
import shutil
from pathlib import Path

import pytest
from child_python import printed
from fixture_models import SRCNN

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "pipelines.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_commands_do_what_the_page_says(folder, call):
    lines = "".join(blocks("console")).splitlines()
    assert len(lines) == 5
    said = ""
    for line in lines:
        code, out, error = call(*shlex.split(line.removeprefix("$ resizefix "), comments=True))
        assert code == (1 if "# exit code 1" in line else 0), (line, error)
        said += out
    summary = '"summary": {"models": 2, "changed": 0, "already": 2, "refused": 0, "failed": 0, "unusable": 0, '
    assert summary + '"not_run": 0}' in said


LAST_RUN_WITH = {"ray": "ray 2.60.0", "dask.distributed": "dask 2026.8.0"}


@pytest.mark.parametrize("engine", ["ray", "dask.distributed"])
def test_the_calls_run_under_an_engine(folder, engine):
    if importlib.util.find_spec(engine.split(".")[0]) is None:
        pytest.skip(f"{engine} is not installed; the block last ran with {LAST_RUN_WITH[engine]}")
    (block,) = (block for block in blocks("python") if f"import {engine}" in block)
    (folder / "many_models.py").write_text(block, encoding="utf-8")
    (folder / "exported").mkdir()
    for name in ("srcnn_x3_opset11", "handmade/truncated"):
        shutil.copy(ROOT / "fixtures" / f"{name}.onnx", folder / "exported")
    said = printed("many_models.py")
    if engine != "ray":
        answers = ["exported/srcnn_x3_opset11.onnx 1 passed", "exported/truncated.onnx UnreadableModelError"]
        assert said.splitlines() == answers
        assert [path.name for path in (folder / "any_scale").iterdir()] == ["srcnn_x3_opset11.onnx"]


def test_no_model_is_lost_when_a_worker_is_killed():
    if importlib.util.find_spec("dask") is None:
        pytest.skip(f"dask is not installed; 500 models last ran with {LAST_RUN_WITH['dask.distributed']}")
    said = printed("benchmarks/killed_worker.py", "--models", 12, "--kills", 1, cwd=ROOT)
    assert "12 answers, 0 lost, 0 answered twice, 0 wrong; 6 of 6 files promoted" in said


def test_the_hook_of_the_page_is_the_hook_there_is_and_its_options_are_options(call):
    hook, action = blocks("yaml")
    (name,) = re.findall(r"- id: (\S+)", hook)
    assert f"- id: {name}\n" in (ROOT / ".pre-commit-hooks.yaml").read_text()
    (arguments,) = re.findall(r"args: \[(.*)\]", hook)
    assert call("check", *arguments.split(", "), SRCNN)[0] == 0
    (run,) = re.findall(r"- run: resizefix (.*)", action)
    code, _, error = call(*run.replace("models/*.onnx", str(SRCNN)).replace(" --live", "").split())
    assert code == 0, error
