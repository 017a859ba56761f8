"""The rules of the targets beyond TensorRT against what the runtimes did: `runtimes.tsv`, measured 2026-11-22.

The table has every third of the 410 measured cases (m…) and of 700 random ones (o…). The answers are three: fine,
different (computed otherwise without an error), refused. Where neither is known the extent is fed or computed from
lengths that are not known: what is left out of `UNKNOWABLE` must agree.
"""

import sys
from dataclasses import replace
from pathlib import Path

import onnx
import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

import resizefix  # noqa: E402
from benchmarks.runtime_cases import ANSWERS, model_of, rows  # noqa: E402
from benchmarks.targets_agreement import COLUMNS, judged, with_facts  # noqa: E402
from resizefix.equivalences.index_map import nearest_indices  # noqa: E402
from resizefix.interop import opened  # noqa: E402
from resizefix.targets.catalogue import TARGETS  # noqa: E402
from resizefix.targets.collect_facts import facts_of  # noqa: E402
from resizefix.targets.deviations import by_ratio  # noqa: E402
from resizefix.targets.facts import OperandSource  # noqa: E402
from resizefix.targets.sampling import alike, resized, samples_alike, samplings  # noqa: E402
from resizefix.targets.target import Effect, judge  # noqa: E402

CASES = rows(Path(__file__).with_name("runtimes.tsv"))
FACTS = with_facts(CASES)
ANSWERS.update({answer: answer for answer in ("fine", "different", "refused")})
MOST_UNKNOWN = {"opencv-4": 2, "opencv-5": 8, "mnn": 5, "tvm": 5}


def is_unknowable(case):
    """The extent is fed, or the input's lengths are not known, or the extent is computed from them."""
    return case["form"] in ("scales_in", "sizes_in", "scales_concat", "sizes_shape") or case["dyn"] == "1"


@pytest.mark.parametrize("target", COLUMNS)
def test_the_rules_say_what_the_runtime_did(target):
    found = list(judged(FACTS, target, target))
    wrong = [(case["id"], did, said) for case, did, said, _ in found if did != said and not is_unknowable(case)]
    explained = EXPLAINED.get(target, {})
    assert {id: (did, said) for id, did, said in wrong} == explained
    unknown = [case["id"] for case, did, said, _ in found if did != said and is_unknowable(case)]
    assert len(unknown) <= MOST_UNKNOWN.get(target, 0), unknown
    assert len(found) >= 50


# Disagreements of cases that are known in full, each with its cause.
EXPLAINED: dict[str, dict[str, tuple[str, str]]] = {
    # A crash in a node that is computed otherwise on other days: antialias while an axis shrinks.
    "openvino": {"o93": ("refused", "different")},
    # It reads a width that is not the tensor's, which was not 0 that day.
    "mnn": {"o339": ("different", "refused")},
    # Of a batch of three the wrong length is not refused.
    "qnn": {"m611": ("different", "refused")},
}


def facts(**columns):
    case = {
        "id": "", "op": "Resize", "opset": "13", "form": "scales", "values": "1,1,2,2", "shape": "1x2x5x7", **columns,
    }  # fmt: skip
    (found,) = facts_of(opened(model_of(case)[0]))
    return found


def test_a_deviation_counts_only_where_other_samples_are_read():
    holds = samples_alike(by_ratio)
    assert holds(facts(mode="linear", ct="half_pixel"))
    assert holds(facts(mode="linear", ct="align_corners", values="1,1,1.5,1.5"))
    assert not holds(facts(mode="linear", ct="half_pixel", values="1,1,1.5,1.5"))
    assert holds(facts(mode="linear", ct="half_pixel", values="1,2,7,10", form="sizes"))
    assert not holds(facts(mode="linear", ct="half_pixel", values="1,1,1.5,1.5", dyn="1"))
    assert holds(facts(mode="linear", ct="half_pixel", values="1,1,2,2", dyn="1"))


def test_samplings_are_those_of_onnxruntime():
    (height, width) = samplings(facts(mode="nearest", ct="half_pixel", nm="ceil", values="1,1,1.8,0.6"))
    assert (height.size, height.out, width.size, width.out) == (5, 9, 7, 4)
    assert nearest_indices(width.form, width.scale, 7, 4).tolist() == [1, 2, 4, 6]
    assert alike(height, height)
    assert not alike(height, width)


@pytest.mark.parametrize(
    ("columns", "axes"),
    [
        ({"values": "1,2,1,1"}, {1}),
        ({"values": "2,3", "axes": "-1,-2", "opset": "18"}, {2, 3}),
        ({"values": "1,2,10,7", "form": "sizes"}, {2}),
        ({"form": "scales_in"}, {2, 3}),
    ],
)
def test_which_axes_are_resized(columns, axes):
    assert {axis for axis, *_ in resized(facts(mode="nearest", **columns))} == axes


def test_the_producer_decides_of_linear_in_opencv():
    by_name = {target.name: target for target in TARGETS}
    plain = judge(by_name["opencv-4"], facts(op="Upsample", opset="9", mode="linear"))
    torch = judge(by_name["opencv-4"], facts(op="Upsample", opset="9", mode="linear", producer="pytorch"))
    assert [(broken.rule, broken.effect) for broken in plain] == [("old-linear", Effect.REJECTED)]
    assert [(broken.rule, broken.effect) for broken in torch] == [("old-linear-of-pytorch", Effect.DIFFERENT)]


CHAIN = """{
  shape = Shape (x)
  two = Constant <value = int64 {2}> ()
  three = Constant <value = int64 {3}> ()
  factor = Constant <value = float {FACTOR}> ()
  front = Constant <value = int64[1] {0}> ()
  h = Gather (shape, two)
  hf = Cast <to = 1> (h)
  hm = Mul (hf, factor)
  hr = Floor (hm)
  hu = Unsqueeze (hr, front)
  w = Gather (shape, three)
  wf = Cast <to = 1> (w)
  wm = Mul (wf, factor)
  wr = Floor (wm)
  wu = Unsqueeze (wr, front)
  hw = Concat <axis = 0> (hu, wu)
  hwi = Cast <to = 7> (hw)
  kept = Constant <value = int64[2] {1, 2}> ()
  sizes = Concat <axis = 0> (kept, hwi)
  y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, e, e, sizes)
}"""


@pytest.mark.parametrize(("factor", "rules"), [("2", []), ("1.5", ["factors-in-shape-chains"])])
def test_opencv_cuts_the_factors_of_a_chain_of_shapes_off(factor, rules):
    head = '<ir_version: 8, opset_import: ["" : 11]> g (float[1,2,h,w] x) => (float[1,2,?,?] y) <float[0] e = {}>'
    (found,) = facts_of(opened(onnx.parser.parse_model(head + CHAIN.replace("FACTOR", factor))))
    target = next(target for target in TARGETS if target.name == "opencv-4")
    assert [broken.rule for broken in judge(target, found)] == rules


def test_sizes_that_follow_open_lengths_are_looked_at_where_these_are_usual_ones():
    found = facts(mode="nearest", form="sizes_shape", values="1,2,9,12", dyn="1")
    assert found.usual_values[0] == ((1, 2, 9, 10), (1, 2, 16, 18))
    assert {axis for axis, *_ in resized(found)} == {2, 3}
    assert facts(mode="nearest", form="sizes_shape", values="1,2,9,12").usual_values == ()


NEXT_TO_A_TIE = {
    "mode": "nearest", "ct": "asymmetric", "nm": "round_prefer_ceil", "form": "sizes", "values": "1,2,5,16",
    "shape": "1x2x5x13",
}  # fmt: skip
VOLUME = {"mode": "nearest", "ct": "pytorch_half_pixel", "form": "sizes", "shape": "1x4x3x7x4"}
TO_NEGATIVE_AXES = {"mode": "linear", "opset": "18", "form": "sizes", "values": "10,16", "policy": "not_smaller"}
TO_OPEN_LENGTHS = {"mode": "linear", "values": "1,1,1,2", "dyn": "d2"}
SMOOTH_CROP = {
    "mode": "cubic", "ct": "tf_crop_and_resize", "aa": "1", "opset": "18", "form": "sizes",
    "roi": "0,0,0,0.1,1,1,1,0.8",
}  # fmt: skip
LISTED_SIZES = {"opset": "18", "axes": "2,3", "form": "sizes", "values": "10,14", "dyn": "d0"}


@pytest.mark.parametrize(
    ("name", "columns", "rules"),
    [
        ("opencv-4", {}, ["mode-is-written"]),
        ("mnn", {"values": "1,1,2,1"}, ["no-mode-is-linear"]),
        ("tract", {}, []),
        ("opencv-5", {"mode": "nearest", "values": "1,1,0.1,1"}, ["output-is-not-empty"]),
        ("openvino", {"mode": "nearest", "values": "1,1,0.1,1"}, []),
        ("openvino", {"mode": "nearest", "values": "1,2,10,14", "form": "sizes", "dyn": "d0"}, []),
        ("openvino", {"mode": "nearest", "values": "1,1,1.3333333,1", "shape": "1x1x6x6"},
         ["lengths-are-rounded-down"]),
        ("tract", {"mode": "linear", "values": "1,1,1.1,1.1"}, ["unchanged-sizes-are-sampled"]),
        ("openvino", {"mode": "linear", "values": "1,1,1.1,1.1"}, []),
        ("tvm", {"mode": "linear", "opset": "18", "axes": "-4,-3,-2,-1"}, []),
        ("tvm", {"mode": "linear", "values": "1,2,10,14", "form": "sizes_concat"}, []),
        ("ncnn", {"mode": "linear", "values": "1,2,14", "form": "sizes", "shape": "1x2x7"}, ["line-by-scales"]),
        ("mnn", {"mode": "nearest", "values": "2", "shape": "7"}, ["lines-are-read"]),
        ("tract", {"mode": "linear", "dtype": "uint8", "ct": "asymmetric"}, []),
        ("tract", {"mode": "linear", "dtype": "uint8", "values": "1,1,3,3"}, ["integers-are-summed-otherwise"]),
        ("openvino", NEXT_TO_A_TIE, ["ties-are-exact"]),
        ("tract", NEXT_TO_A_TIE, ["ties-are-exact"]),
        ("tract", {**NEXT_TO_A_TIE, "values": "1,2,5,14", "shape": "1x2x5x7"}, []),
        ("tract", {"mode": "linear", "dtype": "int32", "values": "1,1.0000153", "shape": "2x3"},
         ["integers-are-summed-otherwise"]),
        ("tract", {"mode": "linear", "dtype": "int32", "values": "1,1", "shape": "2x3"}, []),
        ("tract", {**TO_NEGATIVE_AXES, "axes": "-2,-1"}, ["policy-of-negative-axes"]),
        ("tract", {**TO_NEGATIVE_AXES, "axes": "2,3"}, []),
        ("openvino", {**TO_NEGATIVE_AXES, "axes": "2,3", "values": "5,7"}, []),
        ("openvino", {**TO_NEGATIVE_AXES, "axes": "2,3", "values": "5,6"}, ["aspect-policy-ignored"]),
        ("tvm", {**TO_OPEN_LENGTHS, "ct": "asymmetric"}, ["open-lengths-are-divided"]),
        ("tvm", {**TO_OPEN_LENGTHS, "ct": "align_corners", "mode": "cubic"}, ["open-lengths-are-divided"]),
        ("tvm", {**TO_OPEN_LENGTHS, "ct": "half_pixel"}, []),
        ("tvm", {**SMOOTH_CROP, "values": "1,2,10,4"}, ["antialias-ignored"]),
        ("tvm", {**SMOOTH_CROP, "values": "1,2,10,14"}, []),
        ("tract", {**SMOOTH_CROP, "values": "1,2,10,4"}, []),
        ("tvm", {**TO_OPEN_LENGTHS, "ct": "asymmetric", "dyn": "d3"}, []),
        ("tvm", {**TO_OPEN_LENGTHS, "ct": "asymmetric", "form": "sizes", "values": "1,2,1,14"}, []),
        ("tvm", {**TO_OPEN_LENGTHS, "ct": "align_corners", "form": "sizes", "values": "1,2,2,14"},
         ["open-lengths-are-divided"]),
        ("tvm", {**TO_OPEN_LENGTHS, "ct": "align_corners", "form": "sizes", "values": "1,2,1,14"},
         ["corners-of-one-pixel"]),
        ("tract", {"mode": "linear", **LISTED_SIZES}, ["listed-sizes-of-known-lengths"]),
        ("tract", {"mode": "nearest", "nm": "ceil", **LISTED_SIZES}, []),
        ("tract", {"mode": "linear", **LISTED_SIZES, "dyn": "0"}, []),
        ("mnn", {"ct": "align_corners", "values": "1,1,0.6,1", "shape": "1x1x4x4"}, []),
        ("mnn", {"values": "1,1.1,1.1,1", "shape": "1x2x4x16"}, ["no-mode-is-linear", "unchanged-sizes-are-sampled"]),
        ("opencv-5", {"mode": "cubic", "ct": "half_pixel_symmetric", "form": "sizes_in", "values": "1,2,10,14"},
         ["symmetric-is-asymmetric"]),
        ("mnn", {**VOLUME, "values": "1,4,2,7,4"}, ["depth-of-pytorch-half-pixel"]),
        ("mnn", {**VOLUME, "values": "1,4,1,7,4"}, []),
        ("mnn", {**VOLUME, "values": "1,4,1,7,4", "dyn": "1"}, []),
        ("mnn", {**VOLUME, "form": "scales", "values": "1,1,0.5,2,2"}, []),
        ("ncnn", {"mode": "linear", "form": "sizes", "values": "1,2,5,7"}, []),
        ("ncnn", {"mode": "linear", "form": "sizes_cnode", "values": "1,2,5,7"}, ["net-has-layers"]),
        ("opencv-5",
         {"mode": "linear", "ct": "tf_half_pixel_for_nn", "opset": "12", "form": "sizes_concat", "values": "1,2,10,7"},
         ["equal-lengths-are-sampled"]),
        ("opencv-5", {"mode": "nearest", "ct": "tf_crop_and_resize", "form": "scales_in", "roi": "0,0,0,0.1,1,1,1,0.8"},
         ["no-crop"]),
        ("opencv-5",
         {"mode": "nearest", "ct": "tf_crop_and_resize", "form": "sizes_in", "values": "1,2,9,9", "roi": "1"},
         ["crop-is-not-computed"]),
    ],
)  # fmt: skip
def test_what_random_cases_have_shown(name, columns, rules):
    target = next(target for target in TARGETS if target.name == name)
    found = facts(**{"ct": "", **columns})
    assert [broken.rule for broken in judge(target, found) if broken.effect is not Effect.NOTED] == rules


def test_what_an_open_length_may_become_is_noted():
    tvm, mnn = (next(target for target in TARGETS if target.name == name) for name in ("tvm", "mnn"))
    shrinks = {"mode": "linear", "ct": "align_corners", "values": "1,1,0.3,0.5", "dyn": "1"}
    assert [broken.rule for broken in judge(tvm, facts(**shrinks))] == ["corners-may-be-one-pixel"]
    of_open_channels = {"mode": "nearest", "nm": "floor", "form": "sizes", "values": "1,4,10,14", "dyn": "d1"}
    assert "open-batch-of-sizes" in {broken.rule for broken in judge(mnn, facts(**of_open_channels))}


@pytest.mark.parametrize("name", ["openvino", "opencv-5", "mnn"])
def test_scales_that_are_fed_for_batch_and_channels_are_noted(name):
    target = next(target for target in TARGETS if target.name == name)
    fed = {"mode": "nearest", "ct": "asymmetric", "nm": "floor", "form": "scales_in", "opset": "18"}
    assert "fed-axes" in {broken.rule for broken in judge(target, facts(**fed))}
    listed = facts(**{**fed, "axes": "2,3", "values": "2,2"})
    assert "fed-axes" not in {broken.rule for broken in judge(target, listed)}
    assert "fed-axes" not in {broken.rule for broken in judge(target, facts(**{**fed, "form": "scales"}))}


@pytest.mark.parametrize("name", ["qnn", "coreml", "nnapi", "migraphx", "tidl", "rknn"])
def test_what_was_not_run_says_so(name):
    target = next(target for target in TARGETS if target.name == name)
    assert "not run here" in target.parser
    assert all("not run here" in rule.source for rule in target.rules)


@pytest.mark.parametrize(
    ("name", "columns", "rules"),
    [
        ("coreml", {"mode": "nearest", "ct": "asymmetric", "nm": "floor"}, []),
        ("coreml", {"mode": "linear", "ct": "asymmetric"}, ["coordinate-transformation-mode"]),
        ("coreml", {"mode": "linear", "ct": "half_pixel", "values": "1,1,1.5,1.5"}, ["whole-factors"]),
        ("coreml", {"mode": "linear", "opset": "18", "axes": "2,3", "values": "2,4"}, []),
        ("coreml", {"mode": "linear", "opset": "18", "axes": "3,2", "values": "2,4"}, ["axes-in-order"]),
        ("nnapi", {"mode": "linear", "ct": "asymmetric"}, []),
        ("nnapi", {"mode": "nearest", "ct": "half_pixel"}, ["nearest-floor", "coordinate-transformation-mode"]),
        ("nnapi", {"mode": "linear", "ct": "half_pixel", "values": "1,1,0.5,0.5"}, ["whole-parts"]),
        ("migraphx", {"mode": "cubic", "ct": "half_pixel", "coeff": "-0.5"}, []),
        ("migraphx", {"mode": "cubic", "ct": "half_pixel", "excl": "1"}, ["no-exclude-outside"]),
        ("migraphx", {"op": "Upsample", "opset": "9", "mode": "linear"}, ["upsample-is-half-pixel"]),
        ("migraphx", {"op": "Upsample", "opset": "9", "mode": "nearest"}, []),
        ("tidl", {"mode": "nearest", "ct": "asymmetric", "nm": "floor"}, []),
        ("tidl", {"mode": "nearest", "ct": "asymmetric", "nm": "floor", "values": "1,1,3,3"}, ["powers-of-two"]),
        ("tidl", {"mode": "linear", "ct": "asymmetric"}, ["linear-is-half-pixel"]),
        ("tidl", {"mode": "linear", "ct": "half_pixel", "values": "1,1,2,4"}, ["one-scale"]),
    ],
)
def test_rules_read_in_sources(name, columns, rules):
    target = next(target for target in TARGETS if target.name == name)
    assert [broken.rule for broken in judge(target, facts(**columns))] == rules


@pytest.mark.parametrize(
    ("computed_by", "taken"),
    [
        ({"Shape", "Slice", "Cast", "Mul", "Concat"}, True),
        ({"Shape", "Gather", "Unsqueeze", "Concat"}, True),
        ({"Shape", "Gather", "Cast", "Mul", "Floor", "Unsqueeze", "Concat"}, False),
    ],
)
@pytest.mark.parametrize("name", ["opencv-4", "opencv-5"])
def test_opencv_computes_with_a_single_length_in_whole_numbers_alone(name, computed_by, taken):
    target = next(target for target in TARGETS if target.name == name)
    known = facts(mode="nearest", ct="asymmetric", nm="floor")
    computed = replace(known, source=OperandSource.SHAPE, values=None, computed_by=frozenset(computed_by))
    assert ("lengths-stay-whole" not in {broken.rule for broken in judge(target, computed)}) is taken


@pytest.mark.parametrize(("columns", "taken"), [({"op": "Upsample", "opset": "9"}, True), ({"opset": "10"}, False)])
def test_opencv_takes_the_factors_of_an_upsample_out_of_its_chain(columns, taken):
    known = facts(mode="nearest", **columns)
    chain = frozenset({"Cast", "Concat", "Constant", "Div", "Floor", "Gather", "Mul", "Shape", "Slice", "Unsqueeze"})
    computed = replace(known, source=OperandSource.SHAPE, values=None, static_values=known.values, computed_by=chain)
    for target in (one for one in TARGETS if one.name in ("opencv-4", "opencv-5")):
        assert ("lengths-stay-whole" not in {broken.rule for broken in judge(target, computed)}) is taken


@pytest.mark.parametrize("opset", ["11", "13"])
def test_an_empty_tensor_in_the_place_of_scales_is_one_extent_too_many_for_tvm(opset):
    target = next(target for target in TARGETS if target.name == "tvm")
    known = facts(form="sizes", opset=opset, values="1,2,10,14")
    named = replace(known, unnamed_scales=False)
    assert "one-extent" in {broken.rule for broken in judge(target, named)}
    unnamed = replace(known, unnamed_scales=True)
    assert "one-extent" not in {broken.rule for broken in judge(target, unnamed)}


@pytest.mark.parametrize("name", ["opencv-4", "opencv-5", "ncnn", "tvm", "mnn", "tract", "openvino", "onnxruntime"])
def test_a_constant_behind_its_resize_is_refused_and_legalized_where_the_order_counts(name):
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 13]>
        g (float[1,2,3,4] x) => (float[1,2,6,8] y) {
            h = Relu (x)
            y = Resize
                <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (h, , s)
            s = Constant <value: tensor = float[4] {1, 1, 2, 2}> ()
        }""")
    target = next(target for target in TARGETS if target.name == name)
    broken = [found.rule for facts in facts_of(opened(model)) for found in judge(target, facts)]
    assert broken == (["operands-come-first"] if name in ("opencv-4", "opencv-5", "ncnn", "tvm") else [])
    made = resizefix.legalize(model, target=name, live=False)
    assert [found.rule for facts in facts_of(opened(made.model)) for found in judge(target, facts)] == []
    resize, *rest = (node for node in made.model.graph.node if node.op_type != "Relu")
    assert resize.op_type == "Resize"
    assert len(rest) == (not broken)
