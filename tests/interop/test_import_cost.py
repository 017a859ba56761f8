from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("onnx", "numpy", "onnxruntime", "google.protobuf", "onnx_graphsurgeon", "onnx_ir", "torch", "click", "rich")


def loaded_by(code: str) -> set[str]:
    command = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    return set(done.stdout.split()) & set(HEAVY)


def test_importing_resizefix_imports_nothing_heavy():
    assert loaded_by("import resizefix; assert 'promote_scales' in dir(resizefix) or resizefix.__all__") == set()


def test_errors_can_be_caught_for_nothing():
    assert loaded_by("from resizefix import ResizefixError, RefusedError, __version__") == set()


@pytest.mark.parametrize("name", ["inspect", "promote_scales", "check"])
def test_a_call_is_looked_up_without_running_or_drawing_anything(name):
    loaded = loaded_by(f"from resizefix import {name}")
    assert "onnx" in loaded  # the test can fail
    assert loaded <= {"onnx", "numpy", "google.protobuf"}
