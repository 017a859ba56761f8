"""Promote and back: frozen at the old values, or fed them, a model computes what it computed before."""

import onnx_text
import pytest
from fixture_models import FIXTURES, SRCNN

import resizefix
from resizefix.library.verify import old_values

BISENET = FIXTURES / "bisenet_x8_nearest_opset11.onnx"
PROMOTABLE = (
    "srcnn_x3_opset11", "srcnn_x3_opset11_dynamic", "bisenet_x8_nearest_opset9", "bisenet_x8_linear_opset10",
    "bisenet_x8_linear_dynamo18", "esrgan_x4_opset17", "scripted_if_opset11", "computed_sizes_opset11",
    "handmade/shared_scales", "handmade/nhwc", "handmade/ir3_weights_as_inputs",
)  # fmt: skip


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
    verification = resizefix.verify(path, frozen.model, runs=2)
    assert verification.passed, verification.reason
    assert all(run.bitwise for run in verification.runs if not run.optimized)


def test_a_fed_scale_without_a_value_is_refused_with_the_option():
    promoted = resizefix.promote_scales(SRCNN, input_name="s")
    frozen = resizefix.freeze_scales(promoted.model, on_refusal="return")
    assert not frozen.changed
    assert frozen.outcomes[0].retry_args[0] == "--set"


def test_computed_scales_become_constants_that_give_the_same_sizes():
    frozen = resizefix.freeze_scales(FIXTURES / "computed_scales_opset9.onnx")
    assert frozen.changed
    assert frozen.verification.passed
    (site,) = resizefix.inspect(frozen.model)
    assert site.extent.values == (1, 1, 2, 2)


@pytest.mark.parametrize("turned", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("form", ["scales", "spatial", "factor", "sizes"])
@pytest.mark.parametrize("path", [SRCNN, BISENET], ids=lambda path: path.stem)
def test_fed_what_is_proposed_a_promoted_model_is_the_old_one(path, form, turned):
    result = resizefix.promote_scales(path, form=form, verify=False)
    pair = (result.model, resizefix.Document.open(path)) if turned else (resizefix.Document.open(path), result.model)
    with pytest.raises(resizefix.UsageError) as missing:
        resizefix.verify(*pair)
    proposed = dict(word.split("=") for word in missing.value.retry_args[1::2])
    assert list(proposed) == [source.name for source in result.inputs]
    feed = {name: [float(value) for value in values.split(",")] for name, values in proposed.items()}
    assert feed == {source.name: list(source.value) for source in result.inputs}
    assert resizefix.verify(*pair, feed=feed).passed


def test_what_the_other_model_does_not_fix_is_not_known():
    first, second = (resizefix.promote_scales(SRCNN, input_name=name, verify=False).model for name in ("a", "b"))
    assert old_values(first, second) == {}


def test_what_drives_no_resize_is_not_known():
    plain, more = (
        onnx_text.document(f"(float[2] x{given}) => (float[2] y) {{{y}}}")
        for given, y in (("", "y = Neg(x)"), (", float[2] s", "y = Add(x, s)"))
    )
    assert old_values(plain, more) == {}


def test_other_scales_than_those_of_the_export_are_proposed():
    promoted = resizefix.promote_scales(SRCNN, input_name="s", verify=False).model
    frozen = resizefix.freeze_scales(promoted, set={"s": [1, 1, 2.5, 1.8]}, verify=False).model
    with pytest.raises(resizefix.UsageError) as missing:
        resizefix.verify(frozen, promoted)
    assert missing.value.retry_args == ("--feed", "s=1,1,2.5,1.8")


def test_entries_that_lie_apart_are_picked_from_the_input():
    model = onnx_text.model("(float[1,2,3,4] x) => (float[] y) <float[4] s = {1, 2, 1, 2}> { y = Resize (x, , s) }")
    promoted = resizefix.promote_scales(model, form="spatial")
    assert promoted.inputs[0].value == (2, 2)
    assert promoted.verification.passed
