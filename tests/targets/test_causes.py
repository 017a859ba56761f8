"""What runtimes do by a cause of their own, found by random cases and read in their sources: a row of each rule."""

import sys
from dataclasses import replace
from pathlib import Path

import onnx
import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from benchmarks.runtime_cases import model_of  # noqa: E402
from resizefix.interop import opened  # noqa: E402
from resizefix.targets.catalogue import TARGETS  # noqa: E402
from resizefix.targets.collect_facts import facts_of  # noqa: E402
from resizefix.targets.facts import OperandSource, Roi  # noqa: E402
from resizefix.targets.target import Effect, judge  # noqa: E402

CASE = {
    "id": "", "op": "Resize", "opset": "13", "mode": "nearest", "form": "scales", "values": "1,1,2,2",
    "shape": "1x2x5x7",
}  # fmt: skip


def judged(name, columns):
    (found,) = facts_of(opened(model_of({**CASE, **columns})[0]))
    return judge(next(target for target in TARGETS if target.name == name), found)


TF_HALF = {"opset": "12", "ct": "tf_half_pixel_for_nn"}
CROPPED = {"ct": "tf_crop_and_resize", "roi": "0,0,0,0.1,1,1,1,0.8"}
LISTED = {"opset": "18", "axes": "3,2,1,0", "nm": "floor"}


@pytest.mark.parametrize(
    ("name", "columns", "rules"),
    [
        # OpenCV 5 samples an axis that keeps its length.
        ("opencv-5", {**TF_HALF, "mode": "linear", "values": "1,1,2,1"}, ["equal-lengths-are-sampled"]),
        ("opencv-5", {**TF_HALF, "nm": "ceil", "values": "1,1,2,1"}, ["equal-lengths-are-sampled"]),
        ("opencv-5", {**TF_HALF, "nm": "floor", "values": "1,1,2,1"}, []),
        ("opencv-5", {**TF_HALF, "mode": "linear", "form": "sizes", "values": "1,2,5,7"}, []),
        # It multiplies by in/out in single precision, and takes what is within 1e-6 of a half for a tie.
        ("opencv-5", {"nm": "floor", "form": "sizes", "values": "1,2,5,1"}, ["ties-of-the-ratio"]),
        ("opencv-5", {"form": "sizes", "values": "1,2,14,7", "shape": "1x2x8x7"}, []),
        ("opencv-5", {"form": "sizes", "values": "1,2,28,7", "shape": "1x2x32x7"}, ["ties-of-the-ratio"]),
        # It resizes integers where it computes the extent, and reads the scales of the image alone.
        ("opencv-5", {"dtype": "int32", "form": "sizes_concat", "values": "1,2,10,14"}, []),
        ("opencv-5", {"dtype": "int32"}, ["no-int32"]),
        ("opencv-5", {"values": "1,0.3,2,2"}, ["image-axes-alone"]),
        ("opencv-4", {"values": "1,0.3,2,2", "ct": "asymmetric", "nm": "floor"}, ["image-axes-alone"]),
        ("tvm", {"values": "1,0.3,2,2"}, ["image-axes-alone"]),
        ("opencv-5", {**LISTED, "values": "2,2,1,1"}, ["listed-axes-in-order"]),
        ("opencv-5", {**LISTED, "values": "1,1,1,1"}, []),
        ("opencv-4", {"form": "sizes_like", "values": "1,2,10,14", "dyn": "1", "ct": "asymmetric", "nm": "floor"}, []),
        # MNN divides lengths where it has sizes, and copies channels that keep their length.
        ("mnn", {"nm": "floor", "form": "sizes", "values": "1,2,5,1"}, ["nearest-mode-ignored"]),
        ("mnn", {"nm": "floor", "values": "1,1.3,2,2"}, ["kept-channels-are-copied"]),
        ("mnn", {"dtype": "int32", "values": "1,1,2,2,2", "shape": "1x1x2x3x4"}, []),
        ("mnn", {"dtype": "uint8", "values": "1,1,2,2,2", "shape": "1x1x2x3x4"}, ["no-integer-volumes"]),
        ("mnn", {"ct": "pytorch_half_pixel", "values": "1,1,2,2,2", "shape": "1x1x1x3x4"}, []),
        ("mnn", {**CROPPED, "values": "1,1,1,1"}, []),
        ("mnn", {"opset": "18", "mode": "linear", "aa": "1", "values": "1,1,2,1.1"}, ["antialias-ignored"]),
        ("mnn", {"opset": "18", "mode": "linear", "aa": "1", "values": "1,1,2,1"}, []),
        ("mnn", {"mode": "linear", "values": "1,1.25", "shape": "1x3"}, ["unchanged-sizes-are-sampled"]),
        # tract
        ("tract", {**LISTED, "values": "2,2,1,1"}, ["all-axes-in-order"]),
        ("tract", {**LISTED, "values": "2,2,1,1", "dyn": "d0d1d2d3"}, ["all-open-axes-in-order"]),
        ("tract", {"opset": "18", "axes": "3,2", "nm": "floor", "values": "2,3"}, []),
        ("tract", {"opset": "18", "mode": "linear", "aa": "1", "values": "1,1,2,1.1"}, ["kept-axes-are-filtered"]),
        ("tract", {"opset": "18", "mode": "linear", "aa": "1", "values": "1,1,2,1"}, []),
        ("tract", {**CROPPED, "mode": "linear", "dtype": "int32"}, ["integers-are-summed-otherwise"]),
        ("tract", {**CROPPED, "form": "sizes", "values": "1,2,5,1", "shape": "1x2x5x1"}, []),
        ("tract", {**CROPPED, "opset": "18", "axes": "2,3", "values": "2,2"}, ["roi-of-listed-axes"]),
        # TVM
        ("tvm", {**CROPPED, "values": "1,1,2,0.2"}, ["corners-of-one-pixel"]),
        ("tvm", {**CROPPED, "dyn": "1"}, ["crops-of-known-lengths"]),
        ("tvm", {"mode": "linear", "ct": "align_corners", "values": "1,0.5,2,2"}, ["image-axes-alone"]),
        ("tvm", {"op": "Upsample", "opset": "7", "values": "1,1.1,2,2", "shape": "1x1x5x7"},
         ["three-to-five-axes", "upsample-rounds-to-even"]),
        *(
            (name, {"form": "scales_list", "nm": "floor", "ct": "asymmetric"}, ["constant-is-a-tensor"])
            for name in ("opencv-4", "tvm")
        ),
        *((name, {"form": "scales_list", "nm": "floor", "ct": "asymmetric"}, []) for name in ("opencv-5", "tract")),
        *(
            ("tvm", {**TF_HALF, "nm": "ceil", "values": values}, ["equal-lengths-are-sampled"])
            for values in ("1,1,1,2", "1,1,1,1")
        ),
        ("mnn", {**TF_HALF, "mode": "linear", "values": "1,1,1,1"}, ["equal-lengths-are-sampled"]),
        ("mnn", {"dtype": "int32", "mode": "linear", "values": "1,1,1,1"}, ["no-interpolated-integers"]),
        ("mnn", {"dtype": "uint8", "mode": "cubic", "form": "sizes", "values": "1,2,5,7"},
         ["no-interpolated-integers"]),
        ("tvm", {**CROPPED, "values": "1,1,2,1"}, ["crop-is-not-computed"]),
        ("ncnn", {"mode": "cubic", "ct": "half_pixel", "values": "1,1,1.001,1.001"}, ["cubic-copies-are-sampled"]),
        # others
        ("openvino", {"mode": "cubic", "ct": "half_pixel", "values": "1,1.001,1,1"}, ["cubic-last-two-axes"]),
        ("coreml", {"mode": "linear", "form": "sizes", "values": "1,2,9,9", "dyn": "d0"}, ["other-lengths-are-known"]),
        ("coreml", {"mode": "linear", "form": "sizes", "values": "1,2,9,9", "dyn": "1"}, []),
    ],
)  # fmt: skip
def test_a_cause_is_a_row(name, columns, rules):
    broken = [one.rule for one in judged(name, columns) if one.effect is not Effect.NOTED]
    assert broken == rules


@pytest.mark.parametrize(
    ("name", "columns", "note"),
    [
        ("opencv-5", {"mode": "linear", "dyn": "1"}, "heights-of-two"),
        ("opencv-5", {"nm": "ceil", "form": "sizes_shape", "values": "1,2,9,12", "dyn": "1"}, "ties-of-some-lengths"),
        ("opencv-5", {**TF_HALF, "mode": "linear", "form": "scales_in"}, "equal-lengths-may-be-sampled"),
        ("mnn", {**TF_HALF, "mode": "linear", "form": "sizes", "values": "1,2,10,7", "dyn": "1"}, "equal-lengths-may"),
        *((name, {"values": "1,1,0.5,0.5", "dyn": "1"}, "short-inputs-are-empty") for name in ("opencv-4", "mnn")),
        ("openvino", {"mode": "linear", "values": "1,1,1.25,1.25", "dyn": "1"}, "short-inputs-are-copied"),
        ("ncnn", {"form": "sizes_like", "values": "1,2,10,14", "dyn": "1"}, "fed-fractions"),
        *(
            (name, {"form": "sizes", "values": "2,2,10,14", "shape": "2x2x5x7", "dyn": "d0"}, "open-batch-of-sizes")
            for name in ("openvino", "opencv-5", "tvm", "ncnn")
        ),
    ],
)
def test_what_only_some_lengths_show_is_noted(name, columns, note):
    noted = [one.rule for one in judged(name, columns) if one.effect is Effect.NOTED]
    assert any(rule.startswith(note) for rule in noted), noted
    closed = [one.rule for one in judged(name, {**columns, "dyn": "0", "form": columns.get("form", "scales")})]
    assert columns.get("form") == "scales_in" or not any(rule.startswith(note) for rule in closed)


@pytest.mark.parametrize(("name", "takes"), [("openvino", False), ("ncnn", False), ("mnn", True), ("tract", True)])
def test_a_node_that_names_the_domain_of_the_standard(name, takes):
    model = onnx.load(ROOT / "fixtures" / "handmade" / "explicit_ai_onnx_domain.onnx")
    (found,) = facts_of(opened(model))
    target = next(target for target in TARGETS if target.name == name)
    assert ("domain-is-empty" not in {broken.rule for broken in judge(target, found)}) is takes


@pytest.mark.parametrize(("opset", "rules"), [(11, []), (13, ["lengths-stay-whole"])])
def test_opencv_takes_the_chain_of_shapes_for_one_node_below_opset_13_alone(opset, rules):
    chain = frozenset({"Cast", "Concat", "Constant", "Floor", "Gather", "Mul", "Shape", "Slice", "Unsqueeze"})
    (known,) = facts_of(opened(model_of({**CASE, "form": "sizes", "values": "1,2,10,14", "opset": str(opset)})[0]))
    found = replace(
        known, source=OperandSource.SHAPE, values=None, computed_by=chain, n_inputs=4, roi=Roi.EMPTY,
        unnamed_scales=False,
    )  # fmt: skip
    broken = [one.rule for one in judge(next(target for target in TARGETS if target.name == "opencv-5"), found)]
    assert [rule for rule in broken if rule == "lengths-stay-whole"] == rules
    cubic = replace(found, mode="cubic")
    broken = [one.rule for one in judge(next(target for target in TARGETS if target.name == "opencv-5"), cubic)]
    assert ("fused-chains-are-not-cubic" in broken) is (not rules)
