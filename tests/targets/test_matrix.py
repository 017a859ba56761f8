"""The rules against 897 cases measured on TensorRT-RTX 1.4.0, 1.5.0, 1.6.1, 1.7.1 and onnxruntime 1.32.0.

matrix.tsv holds the verdicts, and how the resize layer of the parsed network was set up. Versions 1.5.0 to 1.7.1 gave
the same verdict in every case.
"""

import functools

import pytest
from matrix_models import MATRIX, build

from resizefix.document.document import Document
from resizefix.targets.collect_facts import facts_of
from resizefix.targets.facts import SiteFacts
from resizefix.targets.onnxruntime_target import ONNXRUNTIME
from resizefix.targets.target import Effect, Target, judge
from resizefix.targets.tensorrt import TENSORRT_TARGETS

TENSORRT_10, TENSORRT_RTX = TENSORRT_TARGETS[-2:]
RULES = {rule.name: rule for rule in TENSORRT_RTX.rules}

# What no rule about a resize node can know.
NOT_THE_NODE = {
    "scales=Cast(int64[4]) (no profile values)|st": "built without an optimization profile",
    "scales=Cast(int64[4]) (no profile values)|dyn": "built without an optimization profile",
    "sizes int64 graph input [4] (no profile values)|st": "built without an optimization profile",
    "sizes int64 graph input [4] (no profile values)|dyn": "built without an optimization profile",
    "dyn H/W without profile|dyn": "built without an optimization profile",
    "QDQ uint8 around Resize nearest|st": "the zero point of a QuantizeLinear is refused",
    "QDQ uint8 around Resize nearest|dyn": "the zero point of a QuantizeLinear is refused",
}


@functools.cache
def facts(case: str) -> tuple[SiteFacts, ...]:
    return facts_of(Document.from_proto(build(case)[0]))


def rejections(target: Target, case: str) -> list[str]:
    found = [violation for node in facts(case) for violation in judge(target, node)]
    return [violation.rule for violation in found if violation.effect is Effect.REJECTED]


def test_the_matrix_has_all_cases_and_each_rebuilds_to_a_model_with_a_resize():
    assert len(MATRIX) == 897
    assert all(facts(row["case"]) for row in MATRIX)


@pytest.mark.parametrize("target", [TENSORRT_RTX, TENSORRT_10], ids=lambda target: target.name)
def test_a_node_is_rejected_by_the_rules_where_the_parser_or_the_builder_rejected_it_and_nowhere_else(target):
    wrong = [
        (row["case"], row["rtx_1.7.1"], rejected)
        for row in MATRIX
        if row["case"] not in NOT_THE_NODE
        and bool(rejected := rejections(target, row["case"])) != (row["rtx_1.7.1"] != "ok")
    ]
    assert wrong == []


def test_the_cases_left_out_are_rejected_though_no_rule_about_the_node_is_broken():
    verdicts = {row["case"]: row["rtx_1.7.1"] for row in MATRIX}
    assert all(verdicts[case] != "ok" for case in NOT_THE_NODE)
    assert [case for case in NOT_THE_NODE if rejections(TENSORRT_RTX, case)] == []


def test_onnxruntime_runs_a_node_where_the_rules_say_so_and_nowhere_else():
    wrong = [
        (row["case"], rejected)
        for row in MATRIX
        if bool(rejected := rejections(ONNXRUNTIME, row["case"])) != (row["onnxruntime_1.32.0"] != "runs")
    ]
    assert wrong == []


COORDINATES = {
    "half_pixel": "HALF_PIXEL",
    "pytorch_half_pixel": "HALF_PIXEL",
    "align_corners": "ALIGN_CORNERS",
    "asymmetric": "ASYMMETRIC",
    "tf_half_pixel_for_nn": "(x + 0.5) / scale",  # TensorRT has no such transformation
}
ROUNDINGS = {"floor": "FLOOR", "ceil": "CEIL", "round_prefer_floor": "HALF_DOWN", "round_prefer_ceil": "HALF_UP"}


def asked_for(node: SiteFacts) -> tuple[str, ...]:
    """The settings of TensorRT's resize layer that compute what ONNX says."""
    mode = "LINEAR" if node.mode == "bilinear" else node.mode.upper()
    coordinates = node.coordinate_transformation_mode if node.has_coordinates else "asymmetric"
    rounding = ROUNDINGS[node.nearest_mode] if node.has_coordinates else "FLOOR"
    if (mode, coordinates, rounding) == ("NEAREST", "tf_half_pixel_for_nn", "HALF_DOWN"):
        return mode, "HALF_PIXEL", "CEIL", "FORMULA"  # equal: round-half-down of x+½ is the ceiling of x
    selector = "UPPER" if coordinates == "pytorch_half_pixel" else "FORMULA"
    return mode, COORDINATES[coordinates], rounding if mode == "NEAREST" else "", selector


def test_the_parser_sets_its_layer_up_as_onnx_says_where_no_rule_says_that_it_differs():
    seen = 0
    for row in MATRIX:
        if not row["resize_layer"]:
            continue
        mode, coordinates, rounding, selector = row["resize_layer"].split()
        made = (mode, coordinates, rounding if mode == "NEAREST" else "", selector)
        node = facts(row["case"])[0]
        assert (made == asked_for(node)) == RULES["tf-half-pixel-is-for-nearest"].holds(node), row
        seen += 1
    assert seen == 675


def test_release_1_4_differs_for_int8_alone():
    differing = {row["case"] for row in MATRIX if row["rtx_1.4.0"] != row["rtx_1.7.1"]}
    int8 = {row["case"] for row in MATRIX if not RULES["int8-from-1.5"].holds(facts(row["case"])[0])}
    assert int8 <= differing
    assert all("int8" in case for case in differing - int8)  # QuantizeLinear and DequantizeLinear around the node


@pytest.mark.parametrize("target", TENSORRT_TARGETS, ids=lambda target: target.name)
def test_every_target_gives_every_case_a_verdict_in_words(target):
    for row in MATRIX:
        for node in facts(row["case"]):
            for violation in judge(target, node):
                assert violation.node
                assert "{" not in violation.because + violation.fix
                assert any(word in violation.source for word in ("onnx-tensorrt", "measured", "NvInfer"))
