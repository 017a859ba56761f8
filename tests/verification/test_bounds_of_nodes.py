"""A node that takes another's place is held to the bound of its own, at axes so short that little is rounded there."""

from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper

import resizefix
from resizefix.library import seam
from resizefix.library.result import VerificationFailedError

DYNAMIC = Path(__file__).parents[2] / "fixtures" / "srcnn_x3_opset11_dynamic.onnx"


@pytest.mark.parametrize("allow_inexact", [False, True])
@pytest.mark.parametrize("off", [0.0, 1e-4])
def test_one_weight_of_a_cubic_resize_of_open_size_is_off(off, allow_inexact, monkeypatch):
    submitted = seam.submitted
    weights = []

    def edited(before, candidate, plan):
        candidate = candidate.copy()
        old = {tensor.name for tensor in before.proto.graph.initializer}
        for tensor in candidate.proto.graph.initializer:
            if tensor.name not in old and np.prod(tensor.dims) > 8:
                value = candidate.array(tensor).copy()
                value.flat[np.abs(value).argmax()] *= np.float32(1 + off)
                tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
                weights.append(tensor.name)
        return submitted(before, candidate, plan)

    monkeypatch.setattr(seam, "submitted", edited)
    options = {"target": "tensorrt-8.0", "live": False, "allow_inexact": allow_inexact}
    if off:
        with pytest.raises(VerificationFailedError, match="around '/Resize_output_0'"):
            resizefix.legalize(DYNAMIC, **options)
    else:
        assert [run.shapes["input"][2:] for run in resizefix.legalize(DYNAMIC, **options).verification.runs][-1] == [
            7,
            5,
        ]
    assert weights
