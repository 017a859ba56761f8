"""Every command that writes hands its candidate over at one seam; what differs outside the plan is not written."""

from pathlib import Path

import pytest

import resizefix
from resizefix.library import seam
from resizefix.library.result import VerificationFailedError

FIXTURES = Path(__file__).parents[2] / "fixtures"
# Each command with a file that it changes.
CALLS = {
    "promote-scales": (resizefix.promote_scales, "handmade/shared_scales.onnx", {}),
    "promote-scales --opset": (resizefix.promote_scales, "handmade/shared_scales.onnx", {"opset": 18}),
    "freeze-scales": (resizefix.freeze_scales, "handmade/scales_concat.onnx", {}),
    "trt-legacy": (resizefix.trt_legacy, "handmade/resize10_up_and_down.onnx", {}),
    "legalize": (resizefix.legalize, "handmade/resize18_antialias.onnx", {"target": "tensorrt-8.0", "live": False}),
    "repair": (resizefix.repair, "broken/lost_asymmetric_01.onnx", {}),
    "opset up": (resizefix.opset, "handmade/shared_scales.onnx", {"opset": 18}),
    "opset down": (resizefix.opset, "handmade/resize18_antialias.onnx", {"opset": 13, "allow_inexact": True}),
    "set": (resizefix.set_interpolation, "handmade/shared_scales.onnx", {"mode": "cubic"}),
    "input-size": (resizefix.input_size, "srcnn_x3_opset11.onnx", {"size": (64, 96)}),
    "input-size any": (resizefix.input_size, "srcnn_x3_opset11.onnx", {"size": "any", "batch": "any"}),
}


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("command", CALLS)
def test_a_change_outside_the_plan_is_not_written_by_any_command(command, verify, monkeypatch):
    call, file, options = CALLS[command]
    submitted = seam.submitted
    handed = []

    def edited(before, candidate, plan):
        handed.append(plan)
        candidate = candidate.copy()
        candidate.proto.metadata_props.add(key="more", value="1")
        return submitted(before, candidate, plan)

    monkeypatch.setattr(seam, "submitted", edited)
    with pytest.raises(VerificationFailedError, match="no change of it was planned"):
        call(FIXTURES / file, verify=verify, **options)
    assert handed
