"""The rules of the targets beyond TensorRT against what the runtimes did: `runtimes.tsv`, measured 2026-11-22.

The table has every third of the 410 measured cases (m…) and of 700 random ones (o…). The answers are three: fine,
different (computed otherwise without an error), refused. Where neither is known the extent is fed or computed from
lengths that are not known: what is left out of `UNKNOWABLE` must agree.
"""

from functools import cache
from pathlib import Path

import onnx_text
import pytest
from case_facts import facts, rules
from case_facts import judged as judged_by

import resizefix
from benchmarks.runtime_cases import ANSWERS, rows
from benchmarks.targets_agreement import COLUMNS, judged, with_facts
from resizefix.equivalences.kernel_arithmetic import nearest_indices
from resizefix.interop import opened
from resizefix.targets.catalogue import target_named
from resizefix.targets.collect_facts import facts_of
from resizefix.targets.facts import OperandSource
from resizefix.targets.foreign.deviations import by_ratio
from resizefix.targets.foreign.sampling import alike, resized, samples_alike, samplings

CASES = rows(Path(__file__).with_name("runtimes.tsv"))
ANSWERS.update({answer: answer for answer in ("fine", "different", "refused")})
MOST_UNKNOWN = {"opencv-4": 2, "opencv-5": 8, "mnn": 5, "tvm": 5}


@cache
def facts_of_cases():
    return with_facts(CASES)


def is_unknowable(case):
    """The extent is fed, or the input's lengths are not known, or the extent is computed from them."""
    return case["form"] in ("scales_in", "sizes_in", "scales_concat", "sizes_shape") or case["dyn"] == "1"


@pytest.mark.parametrize("target", COLUMNS)
def test_the_rules_say_what_the_runtime_did(target):
    found = list(judged(facts_of_cases(), target, target))
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


@pytest.mark.parametrize(
    ("words", "alike"),
    [
        ("ct=half_pixel", True),
        ("ct=align_corners values=1,1,1.5,1.5", True),
        ("ct=half_pixel values=1,1,1.5,1.5", False),
        ("ct=half_pixel values=1,2,7,10 form=sizes", True),
        ("ct=half_pixel values=1,1,1.5,1.5 dyn=1", False),
        ("ct=half_pixel values=1,1,2,2 dyn=1", True),
    ],
)
def test_a_deviation_counts_only_where_other_samples_are_read(words, alike):
    assert samples_alike(by_ratio)(facts(f"mode=linear {words}")) is alike


def test_samplings_are_those_of_onnxruntime():
    (height, width) = samplings(facts("ct=half_pixel nm=ceil values=1,1,1.8,0.6"))
    assert (height.size, height.out, width.size, width.out) == (5, 9, 7, 4)
    assert nearest_indices(width.form, width.scale, 7, 4).tolist() == [1, 2, 4, 6]
    assert alike(height, height)
    assert not alike(height, width)


@pytest.mark.parametrize(
    ("words", "axes"),
    [
        ("values=1,2,1,1", {1}),
        ("values=2,3 axes=-1,-2 opset=18", {2, 3}),
        ("values=1,2,10,7 form=sizes", {2}),
        ("form=scales_in", {2, 3}),
    ],
)
def test_which_axes_are_resized(words, axes):
    assert {axis for axis, *_ in resized(facts(words))} == axes


CHAIN = """{
  shape = Shape (x)
  two = Constant <value = int64 {2}> ()
  three = Constant <value = int64 {3}> ()
  factor = Constant <value = float {FACTOR}> ()
  h = Gather (shape, two)
  hf = Cast <to = 1> (h)
  hm = Mul (hf, factor)
  hr = Floor (hm)
  hu = Unsqueeze <axes = [0]> (hr)
  w = Gather (shape, three)
  wf = Cast <to = 1> (w)
  wm = Mul (wf, factor)
  wr = Floor (wm)
  wu = Unsqueeze <axes = [0]> (wr)
  hw = Concat <axis = 0> (hu, wu)
  hwi = Cast <to = 7> (hw)
  kept = Constant <value = int64[2] {1, 2}> ()
  sizes = Concat <axis = 0> (kept, hwi)
  y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, e, e, sizes)
}"""


@pytest.mark.parametrize(("factor", "broken"), [("2", []), ("1.5", ["factors-in-shape-chains"])])
def test_opencv_cuts_the_factors_of_a_chain_of_shapes_off(factor, broken):
    text = "(float[1,2,h,w] x) => (float[1,2,?,?] y) <float[0] e = {}>" + CHAIN.replace("FACTOR", factor)
    (found,) = facts_of(onnx_text.document(text, 11))
    assert [one.rule for one in judged_by("opencv-4", found)] == broken


def test_sizes_that_follow_open_lengths_are_looked_at_where_these_are_usual_ones():
    found = facts("form=sizes_shape values=1,2,9,12 dyn=1")
    assert found.usual_values[0] == ((1, 2, 9, 10), (1, 2, 16, 18))
    assert {axis for axis, *_ in resized(found)} == {2, 3}
    assert facts("form=sizes_shape values=1,2,9,12").usual_values == ()


@pytest.mark.parametrize(
    ("words", "values", "axes"),
    [
        ("form=sizes_shape values=1,2,9,12", (1.0, 2.0, 9.0, 12.0), {2: 9, 3: 12}),
        ("form=sizes_shape values=1,2,10,14", (1.0, 2.0, 10.0, 14.0), {2: 10, 3: 14}),
        ("form=sizes_shape values=1,2,9,12 dyn=1", None, None),
        ("form=sizes_in values=1,2,9,12", None, None),
    ],
)
def test_what_is_computed_from_fixed_sizes_is_known_to_runtimes_that_compile_for_a_shape(words, values, axes):
    found = facts(f"mode=linear {words}")
    assert (found.values, found.static_values) == (None, values)
    if axes is not None:
        assert found.source is OperandSource.SHAPE
        assert {axis: out for axis, _, out, _ in resized(found)} == axes


@pytest.mark.parametrize("name", ["qnn", "coreml", "nnapi", "migraphx", "tidl", "rknn"])
def test_what_was_not_run_says_so(name):
    target = target_named(name)
    assert "not run here" in target.parser
    assert all("not run here" in rule.source for rule in target.rules)


@pytest.mark.parametrize("name", ["opencv-4", "opencv-5", "ncnn", "tvm", "mnn", "tract", "openvino", "onnxruntime"])
def test_a_constant_behind_its_resize_is_refused_and_legalized_where_the_order_counts(name):
    model = onnx_text.model("""(float[1,2,3,4] x) => (float[1,2,6,8] y) {
            h = Relu (x)
            y = Resize
                <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (h, , s)
            s = Constant <value: tensor = float[4] {1, 1, 2, 2}> ()
        }""")
    (before,) = facts_of(opened(model))
    broken = rules(name, before)
    assert broken == ({"operands-come-first"} if name in ("opencv-4", "opencv-5", "ncnn", "tvm") else set())
    made = resizefix.legalize(model, target=name, live=False)
    assert not any(rules(name, after) for after in facts_of(opened(made.model)))
    resize, *rest = (node for node in made.model.graph.node if node.op_type != "Relu")
    assert resize.op_type == "Resize"
    assert len(rest) == (not broken)
