"""What runtimes do by a cause of their own, found by random cases and read in their sources: a row of each rule."""

from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from case_facts import facts, judged, rows, rules

from resizefix.interop import opened
from resizefix.targets.collect_facts import facts_of
from resizefix.targets.facts import OperandSource, Roi
from resizefix.targets.target import Effect

# Targets, a node, and the rules that it breaks there.
CAUSES = """
# OpenCV 5 samples an axis that keeps its length.
opencv-5 | TF_HALF mode=linear values=1,1,2,1 | equal-lengths-are-sampled
opencv-5 | TF_HALF nm=ceil values=1,1,2,1 | equal-lengths-are-sampled
opencv-5 | TF_HALF nm=floor values=1,1,2,1 |
opencv-5 | TF_HALF mode=linear form=sizes values=1,2,5,7 |
opencv-5 | TF_HALF mode=linear form=sizes_concat values=1,2,10,7 | equal-lengths-are-sampled
# It multiplies by in/out in single precision, and takes what is within 1e-6 of a half for a tie.
opencv-5 | nm=floor form=sizes values=1,2,5,1 | ties-of-the-ratio
opencv-5 | form=sizes values=1,2,14,7 shape=1x2x8x7 |
opencv-5 | form=sizes values=1,2,28,7 shape=1x2x32x7 | ties-of-the-ratio
# It resizes integers where it computes the extent, and reads the scales of the image alone.
opencv-5 | dtype=int32 form=sizes_concat values=1,2,10,14 |
opencv-5 | dtype=int32 | no-int32
opencv-5 tvm | values=1,0.3,2,2 | image-axes-alone
opencv-4 | values=1,0.3,2,2 ct=asymmetric nm=floor | image-axes-alone
opencv-5 | LISTED values=2,2,1,1 | listed-axes-in-order
opencv-5 | LISTED values=1,1,1,1 |
opencv-4 | form=sizes_like values=1,2,10,14 dyn=1 ct=asymmetric nm=floor |
opencv-4 | mode= | mode-is-written
opencv-5 | values=1,1,0.1,1 | output-is-not-empty
opencv-5 | mode=cubic ct=half_pixel_symmetric form=sizes_in values=1,2,10,14 | symmetric-is-asymmetric
opencv-5 | CROPPED form=scales_in | no-crop
opencv-5 | CROPPED form=sizes_in values=1,2,9,9 roi=1 | crop-is-not-computed
# MNN divides lengths where it has sizes, and copies channels that keep their length.
mnn | nm=floor form=sizes values=1,2,5,1 | nearest-mode-ignored
mnn | nm=floor values=1,1.3,2,2 | kept-channels-are-copied
mnn | dtype=int32 values=1,1,2,2,2 shape=1x1x2x3x4 |
mnn | dtype=uint8 values=1,1,2,2,2 shape=1x1x2x3x4 | no-integer-volumes
mnn | ct=pytorch_half_pixel values=1,1,2,2,2 shape=1x1x1x3x4 |
mnn | CROPPED values=1,1,1,1 |
mnn | opset=18 mode=linear aa=1 values=1,1,2,1.1 | antialias-ignored
mnn | opset=18 mode=linear aa=1 values=1,1,2,1 |
mnn | mode=linear values=1,1.25 shape=1x3 | unchanged-sizes-are-sampled
mnn | mode= values=1,1,2,1 | no-mode-is-linear
mnn | mode= values=1,1.1,1.1,1 shape=1x2x4x16 | no-mode-is-linear unchanged-sizes-are-sampled
mnn | mode= ct=align_corners values=1,1,0.6,1 shape=1x1x4x4 |
mnn | values=2 shape=7 | lines-are-read
mnn | VOLUME values=1,4,2,7,4 | depth-of-pytorch-half-pixel
mnn | VOLUME values=1,4,1,7,4 |
mnn | VOLUME values=1,4,1,7,4 dyn=1 |
mnn | VOLUME form=scales values=1,1,0.5,2,2 |
mnn | TF_HALF mode=linear values=1,1,1,1 | equal-lengths-are-sampled
mnn | dtype=int32 mode=linear values=1,1,1,1 | no-interpolated-integers
mnn | dtype=uint8 mode=cubic form=sizes values=1,2,5,7 | no-interpolated-integers
# tract
tract | LISTED values=2,2,1,1 | all-axes-in-order
tract | LISTED values=2,2,1,1 dyn=d0d1d2d3 | all-open-axes-in-order
tract | opset=18 axes=3,2 nm=floor values=2,3 |
tract | opset=18 mode=linear aa=1 values=1,1,2,1.1 | kept-axes-are-filtered
tract | opset=18 mode=linear aa=1 values=1,1,2,1 |
tract | CROPPED mode=linear dtype=int32 | integers-are-summed-otherwise
tract | CROPPED form=sizes values=1,2,5,1 shape=1x2x5x1 |
tract | CROPPED opset=18 axes=2,3 values=2,2 | roi-of-listed-axes
tract | mode= |
tract | mode=linear values=1,1,1.1,1.1 | unchanged-sizes-are-sampled
tract | mode=linear dtype=uint8 ct=asymmetric |
tract | mode=linear dtype=uint8 values=1,1,3,3 | integers-are-summed-otherwise
tract | mode=linear dtype=int32 values=1,1.0000153 shape=2x3 | integers-are-summed-otherwise
tract | mode=linear dtype=int32 values=1,1 shape=2x3 |
tract openvino | NEXT_TO_A_TIE | ties-are-exact
tract | NEXT_TO_A_TIE values=1,2,5,14 shape=1x2x5x7 |
tract | TO_NEGATIVE_AXES axes=-2,-1 | policy-of-negative-axes
tract | TO_NEGATIVE_AXES axes=2,3 |
tract | SMOOTH_CROP values=1,2,10,4 |
tract | LISTED_SIZES mode=linear | listed-sizes-of-known-lengths
tract | LISTED_SIZES nm=ceil |
tract | LISTED_SIZES mode=linear dyn=0 |
# TVM
tvm | CROPPED values=1,1,2,0.2 | corners-of-one-pixel
tvm | CROPPED dyn=1 | crops-of-known-lengths
tvm | CROPPED values=1,1,2,1 | crop-is-not-computed
tvm | mode=linear ct=align_corners values=1,0.5,2,2 | image-axes-alone
tvm | op=Upsample opset=7 values=1,1.1,2,2 shape=1x1x5x7 | three-to-five-axes upsample-rounds-to-even
tvm | TF_HALF nm=ceil values=1,1,1,2 | equal-lengths-are-sampled
tvm | TF_HALF nm=ceil values=1,1,1,1 | equal-lengths-are-sampled
tvm opencv-4 | form=scales_list nm=floor ct=asymmetric | constant-is-a-tensor
opencv-5 tract | form=scales_list nm=floor ct=asymmetric |
tvm | mode=linear opset=18 axes=-4,-3,-2,-1 |
tvm | mode=linear values=1,2,10,14 form=sizes_concat |
tvm | TO_OPEN_LENGTHS ct=asymmetric | open-lengths-are-divided
tvm | TO_OPEN_LENGTHS ct=align_corners mode=cubic | open-lengths-are-divided
tvm | TO_OPEN_LENGTHS ct=align_corners form=sizes values=1,2,2,14 | open-lengths-are-divided
tvm | TO_OPEN_LENGTHS ct=align_corners form=sizes values=1,2,1,14 | corners-of-one-pixel
tvm | TO_OPEN_LENGTHS ct=half_pixel |
tvm | TO_OPEN_LENGTHS ct=asymmetric dyn=d3 |
tvm | TO_OPEN_LENGTHS ct=asymmetric form=sizes values=1,2,1,14 |
tvm | SMOOTH_CROP values=1,2,10,4 | antialias-ignored
tvm | SMOOTH_CROP values=1,2,10,14 |
# ncnn
ncnn | mode=cubic ct=half_pixel values=1,1,1.001,1.001 | cubic-copies-are-sampled
ncnn | mode=linear values=1,2,14 form=sizes shape=1x2x7 | line-by-scales
ncnn | mode=linear form=sizes values=1,2,5,7 |
ncnn | mode=linear form=sizes_cnode values=1,2,5,7 | net-has-layers
# OpenVINO
openvino | mode=cubic ct=half_pixel values=1,1.001,1,1 | cubic-last-two-axes
openvino | values=1,1,0.1,1 |
openvino | values=1,2,10,14 form=sizes dyn=d0 |
openvino | values=1,1,1.3333333,1 shape=1x1x6x6 | lengths-are-rounded-down
openvino | mode=linear values=1,1,1.1,1.1 |
openvino | TO_NEGATIVE_AXES axes=2,3 values=5,7 |
openvino | TO_NEGATIVE_AXES axes=2,3 values=5,6 | aspect-policy-ignored
# those that were read in their sources
coreml | mode=linear form=sizes values=1,2,9,9 dyn=d0 | other-lengths-are-known
coreml | mode=linear form=sizes values=1,2,9,9 dyn=1 |
coreml tidl | ct=asymmetric nm=floor |
coreml | mode=linear ct=asymmetric | coordinate-transformation-mode
coreml | mode=linear ct=half_pixel values=1,1,1.5,1.5 | whole-factors
coreml | mode=linear opset=18 axes=2,3 values=2,4 |
coreml | mode=linear opset=18 axes=3,2 values=2,4 | axes-in-order
nnapi | mode=linear ct=asymmetric |
nnapi | ct=half_pixel | nearest-floor coordinate-transformation-mode
nnapi | mode=linear ct=half_pixel values=1,1,0.5,0.5 | whole-parts
migraphx | mode=cubic ct=half_pixel coeff=-0.5 |
migraphx | mode=cubic ct=half_pixel excl=1 | no-exclude-outside
migraphx | op=Upsample opset=9 mode=linear | upsample-is-half-pixel
migraphx | op=Upsample opset=9 |
tidl | ct=asymmetric nm=floor values=1,1,3,3 | powers-of-two
tidl | mode=linear ct=asymmetric | linear-is-half-pixel
tidl | mode=linear ct=half_pixel values=1,1,2,4 | one-scale
"""


@pytest.mark.parametrize(("names", "words", "broken"), rows(CAUSES))
def test_a_cause_is_a_row(names, words, broken):
    for name in names.split():
        found = judged(name, words)
        assert [one.rule for one in found if one.effect is not Effect.NOTED] == broken.split(), name


NOTED = """
opencv-5 | mode=linear dyn=1 | heights-of-two
opencv-5 | nm=ceil form=sizes_shape values=1,2,9,12 dyn=1 | ties-of-some-lengths
opencv-5 | TF_HALF mode=linear form=scales_in | equal-lengths-may-be-sampled
mnn | TF_HALF mode=linear form=sizes values=1,2,10,7 dyn=1 | equal-lengths-may
mnn opencv-4 | values=1,1,0.5,0.5 dyn=1 | short-inputs-are-empty
openvino | mode=linear values=1,1,1.25,1.25 dyn=1 | short-inputs-are-copied
ncnn | form=sizes_like values=1,2,10,14 dyn=1 | fed-fractions
openvino opencv-5 tvm ncnn | form=sizes values=2,2,10,14 shape=2x2x5x7 dyn=d0 | open-batch-of-sizes
mnn | nm=floor form=sizes values=1,4,10,14 dyn=d1 | open-batch-of-sizes
tvm | mode=linear ct=align_corners values=1,1,0.3,0.5 dyn=1 | corners-may-be-one-pixel
"""


@pytest.mark.parametrize(("names", "words", "note"), rows(NOTED))
def test_what_only_some_lengths_show_is_noted(names, words, note):
    for name in names.split():
        noted = [one.rule for one in judged(name, words) if one.effect is Effect.NOTED]
        assert any(rule.startswith(note) for rule in noted), noted
        assert "scales_in" in words or not any(rule.startswith(note) for rule in rules(name, f"{words} dyn=0"))


@pytest.mark.parametrize(("name", "takes"), [("openvino", False), ("ncnn", False), ("mnn", True), ("tract", True)])
def test_a_node_that_names_the_domain_of_the_standard(name, takes):
    model = onnx.load(Path(__file__).parents[2] / "fixtures" / "handmade" / "explicit_ai_onnx_domain.onnx")
    (found,) = facts_of(opened(model))
    assert ("domain-is-empty" not in rules(name, found)) is takes


CHAIN = frozenset({"Cast", "Concat", "Constant", "Floor", "Gather", "Mul", "Shape", "Slice", "Unsqueeze"})


@pytest.mark.parametrize(("opset", "is_one"), [(11, True), (13, False)])
def test_opencv_takes_the_chain_of_shapes_for_one_node_below_opset_13_alone(opset, is_one):
    known = facts(f"form=sizes values=1,2,10,14 opset={opset}")
    computed = {"source": OperandSource.SHAPE, "values": None, "computed_by": CHAIN}
    found = replace(known, **computed, n_inputs=4, roi=Roi.EMPTY, unnamed_scales=False)
    assert ("lengths-stay-whole" in rules("opencv-5", found)) is not is_one
    assert ("fused-chains-are-not-cubic" in rules("opencv-5", replace(found, mode="cubic"))) is is_one


@pytest.mark.parametrize("name", ["opencv-4", "opencv-5"])
@pytest.mark.parametrize(
    ("computed_by", "taken"),
    [
        ("Shape Slice Cast Mul Concat", True),
        ("Shape Gather Unsqueeze Concat", True),
        ("Shape Gather Cast Mul Floor Unsqueeze Concat", False),
    ],
)
def test_opencv_computes_with_a_single_length_in_whole_numbers_alone(name, computed_by, taken):
    known = facts("ct=asymmetric nm=floor")
    computed = replace(known, source=OperandSource.SHAPE, values=None, computed_by=frozenset(computed_by.split()))
    assert ("lengths-stay-whole" not in rules(name, computed)) is taken


@pytest.mark.parametrize("name", ["opencv-4", "opencv-5"])
@pytest.mark.parametrize(("words", "taken"), [("op=Upsample opset=9", True), ("opset=10", False)])
def test_opencv_takes_the_factors_of_an_upsample_out_of_its_chain(name, words, taken):
    known, chain = facts(words), CHAIN | {"Div"}
    computed = replace(known, source=OperandSource.SHAPE, values=None, static_values=known.values, computed_by=chain)
    assert ("lengths-stay-whole" not in rules(name, computed)) is taken


@pytest.mark.parametrize("opset", [11, 13])
def test_an_empty_tensor_in_the_place_of_scales_is_one_extent_too_many_for_tvm(opset):
    known = facts(f"mode= form=sizes opset={opset} values=1,2,10,14")
    assert "one-extent" in rules("tvm", replace(known, unnamed_scales=False))
    assert "one-extent" not in rules("tvm", replace(known, unnamed_scales=True))


@pytest.mark.parametrize("name", ["openvino", "opencv-5", "mnn"])
def test_scales_that_are_fed_for_batch_and_channels_are_noted(name):
    fed = "ct=asymmetric nm=floor form=scales_in opset=18"
    assert "fed-axes" in rules(name, fed)
    assert "fed-axes" not in rules(name, f"{fed} axes=2,3 values=2,2") | rules(name, f"{fed} form=scales")


def test_the_producer_decides_of_linear_in_opencv():
    plain, of_pytorch = (
        judged("opencv-4", f"op=Upsample opset=9 mode=linear producer={name}") for name in ("", "pytorch")
    )
    assert [(broken.rule, broken.effect) for broken in plain] == [("old-linear", Effect.REJECTED)]
    assert [(broken.rule, broken.effect) for broken in of_pytorch] == [("old-linear-of-pytorch", Effect.DIFFERENT)]
