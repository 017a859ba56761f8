"""A node that takes another's place is held to the bound of its own, at axes so short that little is rounded there; and
to what each of its fed numbers is for, also where stored sizes leave them one value."""

from pathlib import Path

import numpy as np
import onnx_text
import pytest
from onnx import TensorProto, helper, numpy_helper

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


@pytest.mark.parametrize(("kind", "read"), [("float", "(x, , e)"), ("int64", "(x, , , e)")])
@pytest.mark.parametrize("swaps", [False, True])
def test_height_and_width_of_fed_numbers_are_told_apart_where_stored_sizes_fix_them(kind, read, swaps, monkeypatch):
    submitted = seam.submitted

    def edited(before, candidate, plan):
        candidate = candidate.copy()
        graph = candidate.proto.graph
        order = helper.make_tensor("order", TensorProto.INT64, [4], [0, 1, 3, 2])
        graph.node.insert(0, helper.make_node("Constant", [], ["order"], value=order))
        graph.node.insert(1, helper.make_node("Gather", ["e", "order"], ["swapped"]))
        graph.node[-1].input[-1] = "swapped"
        return submitted(before, candidate, plan)

    resize = f'y = Resize <mode = "linear"> {read}'
    model = onnx_text.model(f"(float[1,1,4,4] x, {kind}[4] e) => (float[1,1,8,8] y) {{ {resize} }}", 13)
    if swaps:
        monkeypatch.setattr(seam, "submitted", edited)
        with pytest.raises(VerificationFailedError, match=r"before and .* after"):
            resizefix.opset(model, opset=18)
    else:
        assert resizefix.opset(model, opset=18).verification.passed
