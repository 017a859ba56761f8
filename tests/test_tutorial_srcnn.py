"""The tutorial's network, frozen at ×3 by its exporter, runs at any factor and gives what torch computes there."""

import numpy as np
import onnxruntime as ort
import pytest
from fixture_models import FIXTURES

import resizefix


@pytest.mark.parametrize("model", ["srcnn_x3_opset11", "srcnn_x3_opset11_dynamic"])
def test_promoted_it_equals_torch_at_other_factors(model, tmp_path):
    result = resizefix.promote_scales(FIXTURES / f"{model}.onnx", at=[[2], [3], [4], [2.5], [2, 3]])
    assert all(run.bitwise for run in result.verification.runs if not run.optimized)
    result.model.save(tmp_path / "promoted.onnx")
    session = ort.InferenceSession(tmp_path / "promoted.onnx", providers=["CPUExecutionProvider"])
    (source,) = result.inputs
    with np.load(FIXTURES / "srcnn_expected.npz") as expected:
        for key, scales in {"x2": (2, 2), "x2.5": (2.5, 2.5), "x3": (3, 3), "x4": (4, 4), "x2x3": (2, 3)}.items():
            feeds = {"input": expected["input"], source.name: np.array([1, 1, *scales], np.float32)}
            (output,) = session.run(None, feeds)
            assert output.shape == expected[f"output_{key}"].shape
            assert np.abs(output - expected[f"output_{key}"]).max() <= 1e-5, key
