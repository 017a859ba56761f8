"""A model against numbers that something else computed: which output differs, by how much, at which resize first."""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnx_text
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import resizefix
from resizefix.diagnostics import UsageError
from resizefix.verification.verification import VerificationStatus

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tests" / "reliability"))

from backend_cases import backend_cases  # noqa: E402

SAMPLE = np.load(ROOT / "fixtures" / "torch_interpolate_sample.npz")
# The standard's own expectations that onnxruntime does not meet: it takes the exact length where the standard cuts.
NOT_MET = {"test_resize_downsample_scales_linear_align_corners", "test_resize_downsample_scales_cubic_align_corners"}
TWO = onnx_text.model("""(float[1,2,4,4] x) => (float[1,2,16,16] z, float[1,2,8,8] t) <float[4] s = {1, 1, 2, 2}> {
    [a] r = Relu (x)
    [up1] y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric"> (r, , s)
    [b] t = Sigmoid (y)
    [up2] u = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (t, , s)
    [c] z = Abs (u)
}""")
X = np.random.default_rng(0).standard_normal((1, 2, 4, 4), np.float32)


def dump() -> dict[str, np.ndarray]:
    """Every tensor of the model, as onnx's own evaluator of the standard computes it."""
    model = onnx.ModelProto()
    model.CopyFrom(TWO)
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in "ryu")
    names = [value.name for value in model.graph.output]
    values = ReferenceEvaluator(model).run(None, {"x": X})
    return {name: np.asarray(value, np.float32) for name, value in zip(names, values, strict=True)}


DUMP = dump()
NEAR = {"atol": 1e-6}


def against(expect, **options):
    return resizefix.verify(TWO, expect=expect, feed={"x": X}, **options)


def first(verification):
    return [site.node for site in verification.sites if site.first]


def recorded(name, folder):
    """A model that torch exported, what it was fed and what torch computed, as files."""
    model = onnx.load_from_string(SAMPLE[f"{name}.onnx"].tobytes())
    onnx.save(model, folder / "m.onnx")
    np.savez(folder / "in.npz", **{model.graph.input[0].name: SAMPLE[f"{name}.x0"]})
    np.savez(folder / "out.npz", **{model.graph.output[0].name: SAMPLE[f"{name}.y0"]})
    return {"before": folder / "m.onnx", "expect": folder / "out.npz", "feed": folder / "in.npz"}


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("1d-linear-scale_factor_1.8__recompute-TorchScript-10", "/Resize"),
        ("1d-linear-scale_factor_2-TorchScript-9", "/Upsample"),
        ("3d-trilinear-scale_factor_0.5-TorchScript-10", "/Resize"),
    ],
)
def test_an_old_export_of_linear_differs_from_torch_at_its_resize(tmp_path, name, node):
    files = recorded(name, tmp_path)
    found = resizefix.verify(files.pop("before"), **files, **NEAR)
    assert found.status is VerificationStatus.FAILED
    assert found.tensors[0].max_abs_diff > 0.1
    assert first(found) == [node]
    assert str(found.reason).endswith('`repair` with prefer="pytorch" makes this resize compute what PyTorch does')
    repaired = resizefix.repair(tmp_path / "m.onnx", prefer="pytorch").model
    assert resizefix.verify(repaired, **files, atol=1e-5).passed


@pytest.mark.parametrize(
    "name",
    ["2d-bicubic-scale_factor_0.7-TorchScript-11", "1d-nearest-exact-scale_factor_1.8-dynamo-18"],
)
def test_an_export_that_is_right_agrees_with_torch(tmp_path, name):
    files = recorded(name, tmp_path)
    assert resizefix.verify(files.pop("before"), **files, **NEAR).passed


@pytest.mark.parametrize("case", backend_cases(), ids=lambda case: case.name)
def test_a_case_of_the_standard_agrees_with_its_test_data_set(tmp_path, case):
    folder = tmp_path / "test_data_set_0"
    folder.mkdir()
    for at, (name, value) in enumerate(case.feeds.items()):
        (folder / f"input_{at}.pb").write_bytes(numpy_helper.from_array(value, name).SerializeToString())
    (folder / "output_0.pb").write_bytes(numpy_helper.from_array(case.expected).SerializeToString())
    found = resizefix.verify(case.model, expect=folder, rtol=case.rtol, atol=case.atol)
    assert found.passed == (case.name not in NOT_MET), found.reason
    assert found.passed or len(first(found)) == 1


SHIPPED = Path(onnx.__file__).parent / "backend" / "test" / "data"


@pytest.mark.parametrize("name", ["pytorch-converted/test_ConvTranspose2d", "pytorch-converted/test_PixelShuffle"])
def test_a_data_set_as_the_onnx_package_ships_it_is_read(name):
    model = SHIPPED / name / "model.onnx"
    assert resizefix.verify(model, expect=SHIPPED / name / "test_data_set_0", rtol=1e-3, atol=1e-6).passed


def test_a_dump_that_agrees_passes_and_lists_every_resize():
    found = against(DUMP, **NEAR)
    assert (found.status, [site.node for site in found.sites]) == (VerificationStatus.PASSED, ["up1", "up2"])
    assert {each.tensor for each in found.tensors if each.is_output} == {"z", "t"}


@pytest.mark.parametrize(
    ("moved", "node", "said"),
    [
        ("yzutr", [], "before any resize does"),
        ("ytuz", ["up1"], "the first resize that does is up1:"),
        ("uz", ["up2"], "the first resize that does is up2:"),
        (
            "z",
            [],
            "differs from the mapping of expected arrays: output 'z' differs in 512 of 512 elements, by at most 0.5",
        ),
    ],
)
def test_the_first_resize_is_that_whose_input_agrees(moved, node, said):
    found = against({name: value + 0.5 * (name in moved) for name, value in DUMP.items()}, **NEAR)
    assert (found.status, first(found)) == (VerificationStatus.FAILED, node)
    assert said in str(found.reason)
    assert {each.tensor for each in found.tensors if each.differs} == set(moved)


def test_an_input_that_the_dump_lacks_is_judged_by_what_stands_before_it():
    given = {name: DUMP[name] + 0.5 * (name in "uz") for name in "yuz"}
    found = against(given, **NEAR)
    assert first(found) == ["up2"]
    assert "up2, or a node between it and the tensors compared before it ('t' is not among them)" in str(found.reason)
    assert first(against({**given, "y": DUMP["y"] + 1}, **NEAR)) == ["up1"]


def test_without_tensors_of_resizes_the_answer_says_what_to_add():
    found = against({"z": DUMP["z"] + 1})
    assert (found.status, found.sites) == (VerificationStatus.FAILED, ())
    assert "to see which resize differs first, give its tensors too" in str(found.reason)


@pytest.mark.parametrize("off", [3e-7, 1.23456e-3, 0.86, 1234.5])
def test_the_tolerance_that_is_named_passes_and_a_smaller_one_does_not(off):
    expect = {name: DUMP[name] + np.float32(off) for name in "zt"}
    named = float(str(against(expect).reason).split("atol=")[1].split()[0])
    assert against(expect, atol=named).passed
    assert not against(expect, atol=named * 0.9).passed


def test_nothing_but_every_bit_passes_without_a_tolerance():
    computed = {each: value for each, value in DUMP.items() if each in "ry"}  # copies of the input: every bit is sure
    assert against(computed).passed
    signs = {"r": np.where(DUMP["r"] == 0, np.float32(-0.0), DUMP["r"])}
    assert "differs in the sign of zeros" in str(against(signs).reason)


def test_outputs_and_names_that_are_not_compared_are_named():
    found = against({"z": DUMP["z"], "Z": X}, **NEAR)
    assert found.passed
    assert "not compared, because they are not in the mapping of expected arrays: t" in str(found.reason)
    assert "not compared, because the model's main graph has no such tensors: Z" in str(found.reason)
    assert "output 't': nothing is expected of it" in found.not_tested


def test_another_shape_or_type_differs_and_no_tolerance_allows_it():
    found = against({"z": DUMP["z"][..., 1:]}, atol=1e9)
    assert "output 'z' is float32[1, 2, 16, 15] expected and float32[1, 2, 16, 16] computed" in str(found.reason)
    assert "no tolerance would allow it" in str(found.reason)
    assert not against({"z": DUMP["z"].astype(np.int64)}, atol=1e9).passed


def test_a_wider_floating_point_type_is_compared_as_numbers_and_said():
    found = against({"z": DUMP["z"].astype(np.float64)}, **NEAR)
    assert found.passed
    assert "'z' is float64 in the file and float32 in the model; its numbers were compared" in str(found.reason)
    assert not against({"z": DUMP["z"].astype(np.float64) + 1e-3}, **NEAR).passed


def test_one_file_may_hold_inputs_and_outputs(tmp_path):
    np.savez(tmp_path / "both.npz", x=X, **DUMP)
    assert resizefix.verify(TWO, expect=tmp_path / "both.npz", **NEAR).passed


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"expect": {"z": X}}, r"feed 'x' \(float\[1,2,4,4\]\)"),
        ({"expect": {}, "feed": {"x": X}}, "nothing is expected"),
        (
            {"expect": {"a": X}, "feed": {"x": X}},
            "the mapping of expected arrays holds 'a', and the model's outputs are 'z', 't'",
        ),
        (
            {"expect": {"z": np.zeros((1, 0))}, "feed": {"x": X}},
            "no array in the mapping of expected arrays holds a number",
        ),
        ({"expect": {"z": X}, "feed": {"x": X, "y": X}}, "no such input"),
        ({"expect": {"z": X}, "feed": {"x": X[0, 0]}}, "does not fit input 'x'"),
        ({"expect": {"z": X}, "feed": {"x": X}, "runtime": "openvino"}, "leave out: runtime"),
        ({"expect": {"z": X}, "feed": {"x": X}, "runs": 2, "shape": {"x": (1, 2, 4, 4)}}, "leave out: runs, shape"),
        ({"expect": "missing.npz", "feed": {"x": X}}, "there is no file 'missing.npz'"),
        ({"expect": 3, "feed": {"x": X}}, "expect"),
    ],
)
def test_what_cannot_be_compared_is_a_usage_error(options, said):
    with pytest.raises(UsageError, match=said):
        resizefix.verify(TWO, **options)


def test_a_second_model_is_refused():
    with pytest.raises(UsageError, match="leave out: the second model"):
        resizefix.verify(TWO, TWO, expect={"z": X}, feed={"x": X})


def test_a_model_that_does_not_run_fails_with_the_reason(tmp_path):
    files = recorded("1d-nearest-scale_factor_0.5-TorchScript-9", tmp_path)
    found = resizefix.verify(files.pop("before"), **files)
    assert found.status is VerificationStatus.FAILED
    assert "Scale value should be greater than or equal to 1" in str(found.reason)
