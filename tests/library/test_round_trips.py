"""Promote and back: frozen at the old values, a model computes what it computed before it was promoted."""

from pathlib import Path

import pytest

import resizefix

FIXTURES = Path(__file__).parents[2] / "fixtures"
PROMOTABLE = [
    "srcnn_x3_opset11",
    "srcnn_x3_opset11_dynamic",
    "bisenet_x8_nearest_opset9",
    "bisenet_x8_linear_opset10",
    "bisenet_x8_linear_dynamo18",
    "esrgan_x4_opset17",
    "scripted_if_opset11",
    "computed_sizes_opset11",
    "handmade/shared_scales",
    "handmade/nhwc",
    "handmade/ir3_weights_as_inputs",
]


@pytest.mark.parametrize("form", ["scales", "spatial", "factor"])
@pytest.mark.parametrize("name", PROMOTABLE)
def test_frozen_at_the_old_values_it_is_the_original_bit_for_bit(name, form):
    path = FIXTURES / f"{name}.onnx"
    promoted = resizefix.promote_scales(path, form=form, allow_coupled=True, verify=False)
    if not promoted.changed:
        assert form == "factor", [outcome.reason for outcome in promoted.outcomes]
        return
    frozen = resizefix.freeze_scales(
        promoted.model, set={source.name: source.value for source in promoted.inputs}, verify=False
    )
    assert frozen.changed
    verification = resizefix.verify(path, frozen.model)
    assert verification.passed, verification.reason
    assert all(run.bitwise for run in verification.runs if not run.optimized)


def test_a_fed_scale_without_a_value_is_refused_with_the_option():
    promoted = resizefix.promote_scales(FIXTURES / "srcnn_x3_opset11.onnx", input_name="s")
    frozen = resizefix.freeze_scales(promoted.model)
    assert not frozen.changed
    assert frozen.outcomes[0].retry_args[0] == "--set"


def test_computed_scales_become_constants_that_give_the_same_sizes():
    frozen = resizefix.freeze_scales(FIXTURES / "computed_scales_opset9.onnx")
    assert frozen.changed
    assert frozen.verification.passed
    (site,) = resizefix.inspect(frozen.model)
    assert site.extent.values == (1, 1, 2, 2)
