"""What a type checker, and with it an editor, knows in a user's script."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from child_python import ended

import resizefix

ROOT = Path(__file__).parents[2]
# A line with `# wrong` must be an error, every other must not.
SCRIPT = """
from pathlib import Path

import onnx
from onnx import ModelProto

import resizefix

labels: list[str] = [site.label for site in resizefix.inspect("model.onnx")]
result = resizefix.promote_scales(Path("model.onnx"), form="factor", at=[[2], [4]], timeout=60)
result.model.save("any.onnx")
value: tuple[float, ...] = tuple(result.inputs[0].value)
status: str = result.outcomes[0].status.value
proto: ModelProto = resizefix.legalize(onnx.load("model.onnx"), target="tensorrt-8.0").model
frozen: ModelProto = resizefix.freeze_scales(proto, set={"scales": [1, 1, 4, 4]}).model
old: resizefix.Document = resizefix.trt_legacy("model.onnx").model
right: resizefix.Document = resizefix.repair(old).model
passed: bool = resizefix.verify("model.onnx", "any.onnx", atol=1e-5).passed
taken: bool = resizefix.check("model.onnx", target="tensorrt-10").accepted
changes: list[str] = [change.what for change in resizefix.diff("model.onnx", proto)]
resized: resizefix.Document = resizefix.input_size("model.onnx", size=(64, 96), batch="any").model
newer: resizefix.Document = resizefix.opset("model.onnx", opset=17).model
nearest: resizefix.Result[resizefix.Document] = resizefix.set_interpolation("model.onnx", mode="nearest")
lines: list[str | None] = [found.command for found in resizefix.explain("Resize scales must be an initializer!", old)]
sites: list[resizefix.Site] = resizefix.inspect(resized)
verdict: resizefix.Verdict = resizefix.check(resized, target="onnxruntime")
known: list[resizefix.Explanation] = resizefix.explain("Antialiasing is not supported currently.")
try:
    resizefix.freeze_scales("model.onnx").model.save("frozen.onnx", overwrite=True)
except resizefix.VerificationFailedError as error:
    failed: bool = error.result.verification.passed
except (resizefix.UsageError, resizefix.UnreadableModelError, resizefix.CannotWriteError) as error:
    code: int = error.exit_code
except (resizefix.RefusedError, resizefix.ResizefixError) as error:
    node: str | None = error.node
version: str = resizefix.__version__
mixed = resizefix.promote_scales("model.onnx", at=[2, 4]), resizefix.promote_scales("model.onnx", at=[2, (2, 3)])
every: bool = all(one.accepted for one in resizefix.check("model.onnx"))
resizefix.promote_scales("model.onnx", frm="factor")  # wrong
resizefix.promote_scales(3)  # wrong
resizefix.inspect(3)  # wrong
resizefix.verify("model.onnx", 5)  # wrong
resizefix.input_size("model.onnx", size="any").model.upper()  # wrong
resizefix.promote_scales("model.onnx", at=3)  # wrong
resizefix.check("model.onnx", target=8)  # wrong
result.models  # wrong
"""
WRONG = {number for number, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith("# wrong")}


def test_the_script_uses_every_public_name():
    assert {name for name in resizefix.__all__ if f"resizefix.{name}" not in SCRIPT} == set()


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "user.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def test_mypy_knows_every_call(script):
    # With the settings that .ci/run has: it leaves what mypy knows of numpy and onnx.
    settings = ["--config-file", str(ROOT / "setup.cfg"), "--cache-dir", str(ROOT / ".mypy_cache")]
    done = ended("-m", "mypy", *settings, script, cwd=script.parent)
    assert {int(line) for line in re.findall(r"user\.py:(\d+): error", done.stdout)} == WRONG, done.stdout


def test_pyright_knows_every_call(script):
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed (pip install pyright; it brings its program from npm)")
    done = ended("-m", "pyright", "--pythonpath", sys.executable, script, cwd=script.parent)
    if done.returncode not in (0, 1):
        pytest.skip(f"pyright does not run here: {(done.stderr or done.stdout).strip()[-200:]}")
    assert {int(line) for line in re.findall(r"user\.py:(\d+):\d+ - error", done.stdout)} == WRONG, done.stdout
