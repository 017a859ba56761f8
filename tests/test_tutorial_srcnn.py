"""The tutorial's network, frozen at ×3 by its exporter, runs at any factor and gives what torch computes there."""

import numpy as np
import pytest
from fixture_models import DYNAMIC, SRCNN, srcnn_of_torch
from ort_runs import opened

import resizefix

AT = {"2": (2, 2), "2.5": (2.5, 2.5), "3": (3, 3), "4": (4, 4), "2x3": (2, 3)}


@pytest.mark.parametrize("path", [SRCNN, DYNAMIC], ids=lambda path: path.stem)
def test_promoted_it_equals_torch_at_other_factors(path, tmp_path):
    result = resizefix.promote_scales(path, at=list(AT.values()))
    assert all(run.bitwise for run in result.verification.runs if not run.optimized)
    result.model.save(tmp_path / "promoted.onnx")
    session = opened(str(tmp_path / "promoted.onnx"), optimized=True)
    (source,) = result.inputs
    for factor, scales in AT.items():
        image, wanted = srcnn_of_torch(factor)
        (output,) = session.run(None, {"input": image, source.name: np.array([1, 1, *scales], np.float32)})
        np.testing.assert_allclose(output, wanted, rtol=0, atol=1e-5)
