"""What was set is what is read back and what onnxruntime computes; nothing else of the file changes."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx_text import model
from resize_models import resize_model, run, sample

import resizefix
from resizefix.diagnostics import UsageError
from resizefix.document.document import Document
from resizefix.operations.diff import diff
from resizefix.outcome import Status

SHAPE = (1, 2, 5, 7)
SCALES = (1.0, 1.0, 2.0, 1.7)
FULL = {"mode": "linear", "coordinate_transformation_mode": "half_pixel", "nearest_mode": "floor"}
FULL |= {"cubic_coeff_a": -0.5}
BEFORE = resize_model(13, SHAPE, scales=SCALES, **FULL)
IMAGE = (1, 2, 6, 8)
BY_2_AND_3 = resize_model(13, IMAGE, scales=(1, 1, 2, 3), mode="linear")
FIXTURES = Path(__file__).parents[2] / "fixtures"
COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn")


def one(result):
    (outcome,) = result.outcomes
    return outcome


def meaning(model):
    (site,) = resizefix.inspect(model)
    return site.interpolation


def spec(model) -> dict:
    """The attributes that the node has."""
    node = next(node for node in model.graph.node if node.name == "up")
    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}


def apart(before, after, x: np.ndarray) -> np.ndarray:
    """How far the two models lie apart at each element."""
    return np.abs(run(before, x).astype(np.float64) - run(after, x))


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_what_was_set_is_read_back_and_computed(mode, coordinates):
    result = resizefix.set_interpolation(BEFORE, mode=mode, coordinates=coordinates)
    found = meaning(result.model)
    assert (found.mode.value, found.coordinate_transformation_mode.value) == (mode, coordinates)
    meant = {**FULL, "mode": mode, "coordinate_transformation_mode": coordinates}
    wanted = resize_model(13, SHAPE, scales=SCALES, **meant)
    x = sample(SHAPE)
    for optimized in (False, True):
        assert np.array_equal(run(result.model, x, optimized=optimized), run(wanted, x, optimized=optimized))
    if one(result).status is Status.CHANGED and not one(result).exact:
        assert one(result).max_abs_diff > 0
        assert apart(BEFORE, result.model, x).max() > 0


@pytest.mark.parametrize("value", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_every_rounding(value):
    meant = {"scales": (1, 1, 1.5, 2.5), "mode": "nearest", "coordinate_transformation_mode": "asymmetric"}
    result = resizefix.set_interpolation(resize_model(11, SHAPE, **meant), nearest_mode=value)
    wanted = resize_model(11, SHAPE, **meant, nearest_mode=value)
    assert np.array_equal(run(result.model, sample(SHAPE)), run(wanted, sample(SHAPE)))
    assert meaning(result.model).nearest_mode.value == value


def test_nothing_but_the_node_changes_and_setting_back_restores_it():
    before = resize_model(13, SHAPE, scales=SCALES, mode="nearest", nearest_mode="floor")
    there = resizefix.set_interpolation(before, mode="linear", coordinates="align_corners").model
    changes = diff(Document.from_proto(before), Document.from_proto(there))
    assert [(change.what, change.name) for change in changes] == [("node", "up")]
    back = resizefix.set_interpolation(there, mode="nearest", coordinates="half_pixel", nearest_mode="floor").model
    assert meaning(back) == meaning(before)
    assert np.array_equal(run(back, sample(SHAPE)), run(before, sample(SHAPE)))
    assert [change.name for change in diff(Document.from_proto(before), Document.from_proto(back))] == ["up"]


def test_an_attribute_that_no_longer_applies_is_dropped_and_reported():
    before = resize_model(11, SHAPE, scales=SCALES, mode="nearest", nearest_mode="ceil")
    outcome = one(result := resizefix.set_interpolation(before, mode="linear"))
    assert "nearest_mode dropped, which linear does not read" in outcome.reason
    assert "nearest_mode" not in spec(result.model)


def test_an_attribute_that_was_not_read_before_counts_where_the_mode_reads_it():
    result = resizefix.set_interpolation(resize_model(11, SHAPE, scales=SCALES, **FULL), mode="nearest")
    assert "nearest_mode floor" in one(result).reason
    assert meaning(result.model).nearest_mode.value == "floor"


@pytest.mark.parametrize(
    ("given", "key", "value"),
    [
        ("bilinear", "mode", "linear"),
        ("bicubic", "mode", "cubic"),
        ("NEAREST", "mode", "nearest"),
        ("align-corners", "coordinates", "align_corners"),
        ("align_corners", "coordinate_transformation_mode", "align_corners"),
    ],
)
def test_sensible_aliases_are_taken(given, key, value):
    result = resizefix.set_interpolation(BEFORE, **{key: given})
    found = meaning(result.model)
    assert value in (found.mode.value, found.coordinate_transformation_mode.value)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "give what to set as KEY=VALUE"),
        ({"mode": "lanczos"}, "mode=lanczos: give nearest, linear, cubic"),
        ({"coordinates": "half"}, "give half_pixel, half_pixel_symmetric, pytorch_half_pixel"),
        ({"nearest_mode": "simple"}, "give round_prefer_floor, round_prefer_ceil, floor, ceil"),
        ({"cubic_coeff_a": "inf"}, "cubic_coeff_a=inf: give a number"),
        ({"antialias": "2"}, "antialias=2: give 0 or 1"),
        ({"form": "lanczos"}, "form=lanczos: give scales, sizes, axes, resize, identity"),
        ({"mode": "linear", "nearest_mode": "floor"}, "nearest_mode is read with mode=nearest alone"),
        ({"mode": "nearest", "cubic_coeff_a": -0.5}, "cubic_coeff_a is read with mode=cubic alone"),
        ({"coordinates": "asymmetric", "extrapolation_value": 1}, "is read with coordinates=tf_crop_and_resize alone"),
        ({"extrapolation_value": "nan"}, "extrapolation_value=nan: give a number, as 0 or 0.5"),
        ({"mode": "nearest", "antialias": 1}, "antialias is read with mode=linear or cubic alone"),
        ({"mode": "nearest", "exclude_outside": 1}, "exclude_outside is read with mode=cubic or antialias=1 alone"),
        ({"coordinates": "asymmetric", "coordinate_transformation_mode": "asymmetric"}, "coordinates is given twice"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error_that_lists_what_can(settings, expected):
    with pytest.raises(UsageError) as error:
        resizefix.set_interpolation(BEFORE, **settings)
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"nearest_mode": "floor"}, "nearest_mode has no meaning with mode=linear; add mode=nearest"),
        ({"cubic_coeff_a": -0.5}, "cubic_coeff_a has no meaning with mode=linear; add mode=cubic"),
        ({"exclude_outside": True}, "add mode=cubic or antialias=1"),
        ({"extrapolation_value": 0}, "has no meaning with coordinates=half_pixel; coordinates=tf_crop"),
        ({"extrapolation_value": 1, "coordinates": "tf_crop_and_resize"}, "reads a roi, which the node does not have"),
        ({"coordinates": "tf_crop_and_resize"}, "reads a roi, which the node does not have"),
    ],
)
def test_a_setting_that_the_mode_does_not_read_is_refused(settings, expected):
    outcome = one(resizefix.set_interpolation(BEFORE, on_refusal="return", **settings))
    assert outcome.status is Status.REFUSED
    assert expected in outcome.reason


@pytest.mark.parametrize(
    ("opset", "settings", "needed"),
    [
        (8, {"coordinates": "half_pixel"}, 11),
        (9, {"mode": "cubic"}, 11),
        (9, {"form": "sizes"}, 11),
        (10, {"nearest_mode": "round_prefer_ceil"}, 11),
        (11, {"antialias": True}, 18),
        (13, {"form": "axes"}, 18),
        (17, {"coordinates": "half_pixel_symmetric", "antialias": True}, 19),
    ],
)
def test_what_an_opset_cannot_say_is_refused_with_the_opset_that_can(opset, settings, needed):
    mode = "nearest" if "nearest_mode" in settings else "linear"
    before = resize_model(opset, SHAPE, scales=(1, 1, 2, 3), mode=mode)
    outcome = one(resizefix.set_interpolation(before, on_refusal="return", **settings))
    assert outcome.status is Status.REFUSED
    assert outcome.reason.startswith(f"opset {opset} has no ")
    assert outcome.retry_args == ("--opset", str(needed))
    result = resizefix.set_interpolation(before, opset=needed, **settings)
    assert one(result).status is Status.CHANGED
    assert result.verification.passed
    assert result.model.opset_import[0].version == needed


def crop(value: float, roi: tuple[float, ...] = (0, 0, -0.5, 0, 1, 1, 1, 1.5), size: tuple[int, int] = (4, 6)):
    return model(
        f"""(float{list(SHAPE)} x) => (float[1, 2, {size[0]}, {size[1]}] y)
        <float[8] r = {{{", ".join(map(str, roi))}}}, int64[4] z = {{1, 2, {size[0]}, {size[1]}}}>
        {{ [up] y = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize",
            extrapolation_value: float = {float(value)}> (x, r, , z) }}""",
        13,
    )


@pytest.mark.parametrize("value", [0.0, 0.5, -3.0])
@pytest.mark.parametrize("more", [{}, {"coordinates": "tf_crop_and_resize"}, {"mode": "nearest"}])
def test_a_crop_gives_the_extrapolation_value_outside_of_the_image(value, more):
    before = crop(7.0)
    result = resizefix.set_interpolation(before, extrapolation_value=value, **more)
    assert result.verification.passed
    assert f"extrapolation_value 7 → {value:g}" in one(result).reason
    assert spec(result.model)["extrapolation_value"] == value
    wanted = resizefix.set_interpolation(crop(value), **more).model if "mode" in more else crop(value)
    x = sample(SHAPE)
    found = run(result.model, x)
    assert np.array_equal(found, run(wanted, x))
    assert (found[:, :, 0] == value).all()
    assert apart(before, result.model, x).max() > 0
    again = resizefix.set_interpolation(result.model, extrapolation_value=value)
    assert one(again).status is Status.UNCHANGED


def test_an_extrapolation_value_before_opset_11_is_refused():
    before = resize_model(10, SHAPE, scales=(1, 1, 2, 3), mode="linear")
    outcome = one(resizefix.set_interpolation(before, extrapolation_value=0, on_refusal="return"))
    assert outcome.status is Status.REFUSED
    assert outcome.reason.startswith("opset 10 has no extrapolation_value=0.0; opset 11 has")
    assert outcome.retry_args == ()


def test_to_raise_is_advised_only_where_it_helps():
    outcome = one(
        resizefix.set_interpolation(
            resize_model(9, SHAPE, scales=SCALES, mode="linear"), form="sizes", on_refusal="return"
        )
    )
    assert outcome.retry_args == ()
    assert outcome.reason.startswith("opset 9 has no form=sizes; opset 11 has, and form=sizes: scale 1.7")


@pytest.mark.parametrize(("opset", "scales", "same"), [(9, 2.0, "floor"), (10, 2.0, "floor"), (10, 0.5, "ceil")])
def test_before_opset_11_the_rounding_is_that_of_the_scales(opset, scales, same):
    scales = (1, 1, scales, scales)
    before = resize_model(opset, IMAGE, scales=scales, mode="linear")
    result = resizefix.set_interpolation(before, mode="nearest", coordinates="asymmetric", nearest_mode=same)
    assert one(result).status is Status.CHANGED
    wanted = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": same}
    assert not apart(resize_model(13, IMAGE, scales=scales, **wanted), result.model, sample(IMAGE)).any()
    other = {"floor": "ceil", "ceil": "floor"}[same]
    refused = one(resizefix.set_interpolation(before, mode="nearest", nearest_mode=other, on_refusal="return"))
    assert refused.retry_args == ("--opset", "11")


def test_a_change_that_keeps_the_meaning_is_verified_bit_for_bit():
    before = resize_model(13, SHAPE, scales=(1, 1, 2, 3), mode="nearest", nearest_mode="round_prefer_floor")
    result = resizefix.set_interpolation(before, coordinates="asymmetric", nearest_mode="floor")
    outcome = one(result)
    assert outcome.exact
    assert outcome.max_abs_diff is None
    assert "the same meaning at this size (an unscaled axis is copied, " in outcome.reason
    assert all(run.bitwise for run in result.verification.runs)
    assert {diff.max_abs_diff for diff in (*outcome.node_diffs, *outcome.output_diffs)} == {0.0}


@pytest.mark.parametrize("form", ["scales", "sizes", "axes", "gather", "matmul", "conv-transpose", "repeat"])
@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_a_form_computes_what_the_node_did(form, opset, mode):
    options = {"mode": mode, "coordinate_transformation_mode": "half_pixel"}
    before = resize_model(opset, IMAGE, scales=(1, 1, 2, 3), **options)
    result = resizefix.set_interpolation(before, form=form, on_refusal="return")
    outcome = one(result)
    lowering = {"gather": "nearest", "repeat": "nearest", "conv-transpose": "linear"}.get(form, mode)
    if form == "scales":
        assert outcome.status is Status.UNCHANGED
    elif (form == "axes" and opset < 18) or lowering != mode:
        assert outcome.status is Status.REFUSED
        assert outcome.reason.startswith(("form=", "opset "))
    else:
        assert outcome.status is Status.CHANGED
        x = sample(IMAGE)
        bound = 0 if outcome.exact else (outcome.bound or 0) * np.abs(x).max()
        assert apart(before, result.model, x).max() <= bound
        assert not outcome.exact or result.verification.runs[0].bitwise


def test_a_form_and_a_meaning_are_set_at_once():
    wanted = {"mode": "nearest", "coordinates": "asymmetric", "nearest_mode": "floor"}
    result = resizefix.set_interpolation(BY_2_AND_3, **wanted, form="gather")
    assert [node.op_type for node in result.model.graph.node].count("Gather") == 2
    x = sample(IMAGE)
    assert np.array_equal(run(result.model, x), x.repeat(2, 2).repeat(3, 3))
    assert one(result).max_abs_diff > 0


def test_scales_and_sizes_are_each_others_way_back():
    sizes = resizefix.set_interpolation(BY_2_AND_3, form="sizes").model
    assert resizefix.inspect(sizes)[0].extent.values == (1, 2, 12, 24)
    back = resizefix.set_interpolation(sizes, form="scales").model
    assert resizefix.inspect(back)[0].extent.values == (1, 1, 2, 3)
    assert not apart(BY_2_AND_3, back, sample(IMAGE)).any()


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", [(1, 1, 2, 2, 2), (1, 1, 1, 2, 3), (1, 1, 2, 1, 1), (1, 1, 0.5, 2, 1.5)])
def test_a_volume_becomes_two_resizes_of_four_dimensions(mode, scales):
    shape = (2, 3, 4, 5, 6)
    before = resize_model(13, shape, scales=scales, mode=mode)
    result = resizefix.set_interpolation(before, form="two-4d-resizes")
    outcome = one(result)
    assert outcome.status is Status.CHANGED
    kept = resizefix.inspect(result.model)
    assert len(kept) == (scales[2] != 1) + (scales[3:] != (1, 1))
    x = sample(shape)
    bound = 0 if mode == "nearest" else outcome.bound * np.abs(x).max()
    assert apart(before, result.model, x).max() <= bound


@pytest.mark.parametrize("form", ["scales", "sizes"])
@pytest.mark.parametrize("opset", [11, 12, 13])
def test_a_written_node_has_no_numbers_in_a_roi_that_its_mode_does_not_read(opset, form):
    """ncnn takes numbers there for a crop."""
    extent = {"scales": (1, 1, 2, 3)} if form == "sizes" else {"sizes": (1, 2, 12, 24)}
    before = resize_model(opset, IMAGE, mode="linear", **extent)
    result = resizefix.set_interpolation(before, form=form)
    assert result
    graph = result.model.graph
    (node,) = (node for node in graph.node if node.op_type == "Resize")
    lengths = {one.name: int(np.prod(one.dims)) for one in graph.initializer}
    assert lengths.get(node.input[1], 0) == 0


def test_what_onnxruntime_would_not_run_is_refused():
    before = resize_model(13, (1, 2, 4, 5, 6), scales=(1, 1, 2, 2, 2), mode="linear")
    outcome = one(resizefix.set_interpolation(before, mode="cubic", on_refusal="return"))
    assert outcome.status is Status.REFUSED
    assert outcome.reason.startswith("onnxruntime would not run it (")


def test_scales_that_are_fed_stay_fed():
    before = resize_model(13, (1, 2, "h", "w"), scales=(1, 1, 2, 2), mode="linear")
    fed = resizefix.promote_scales(before, input_name="scales").model
    result = resizefix.set_interpolation(fed, mode="nearest", feed={"scales": (1, 1, 3, 3)})
    assert result.verification.passed
    assert resizefix.inspect(result.model)[0].origin.kind.value == "graph-input"
    refused = one(resizefix.set_interpolation(fed, form="sizes", on_refusal="return"))
    assert "its scales are not constant; freeze-scales makes them constants" in refused.reason


@pytest.mark.parametrize("kind", [TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32, TensorProto.FLOAT16])
def test_other_types(kind):
    form, x = {"scales": SCALES, "kind": kind}, sample(SHAPE, kind)
    result = resizefix.set_interpolation(resize_model(13, SHAPE, **form), mode="linear", coordinates="asymmetric")
    wanted = resize_model(13, SHAPE, **form, mode="linear", coordinate_transformation_mode="asymmetric")
    assert np.array_equal(run(result.model, x), run(wanted, x))


def test_only_the_named_nodes_change():
    result = resizefix.set_interpolation(FIXTURES / "bisenet_x8_linear_opset11.onnx", mode="linear", node="#1")
    changed = [site.interpolation.mode.value for site in resizefix.inspect(result.model)]
    assert changed == ["nearest", "linear", "linear"]


def test_the_measured_difference_is_that_of_the_models():
    before = resize_model(13, SHAPE, scales=SCALES, mode="linear")
    x = sample(SHAPE, seed=5)
    result = resizefix.set_interpolation(before, mode="cubic", feed={"x": x})
    true = apart(before, result.model, x)
    for found in (*one(result).node_diffs, *one(result).output_diffs):
        assert found.max_abs_diff == pytest.approx(true.max(), rel=1e-12)
        assert found.mean_abs_diff == pytest.approx(true.mean(), rel=1e-12)
    assert one(result).max_abs_diff == pytest.approx(true.max(), rel=1e-12)


def test_half_precision_whose_last_bits_move_is_not_called_exact():
    result = resizefix.set_interpolation(FIXTURES / "esrgan_fp16_opset17.onnx", form="gather")
    differs = any(found.max_abs_diff for found in result.outcomes[0].output_diffs)
    assert {outcome.exact for outcome in result.outcomes} == {not differs}
    assert all(found.max_abs_diff == 0 for outcome in result.outcomes for found in outcome.node_diffs)


def test_a_node_whose_rank_nobody_knows_is_not_said_to_compute_the_same():
    text = """(float[] x) => (float[] y) { y = local.f (x) } <domain: "local", opset_import: ["" : 18]> f (x) => (y) {
            s = Constant <value_floats: floats = [2.0, 2.0]> ()
            [up] y = Resize <axes: ints = [2, 3], mode: string = "linear"> (x, , s) }"""
    result = resizefix.set_interpolation(model(text, 18, "local"), coordinates="asymmetric", verify=False)
    assert (one(result).status, one(result).exact) == (Status.CHANGED, False)


def test_a_coefficient_that_is_no_number_stays_where_it_is_not_set():
    before = resize_model(13, SHAPE, scales=SCALES, **{**FULL, "mode": "cubic", "cubic_coeff_a": float("nan")})
    result = resizefix.set_interpolation(before, coordinates="asymmetric", verify=False)
    assert one(result).status is Status.CHANGED
    assert np.isnan(spec(result.model)["cubic_coeff_a"])
