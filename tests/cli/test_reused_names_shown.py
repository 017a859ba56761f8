"""`inspect` names the dimensions that stand for several lengths, and the JSON of commands what is asked and lost."""

from __future__ import annotations

import numpy as np
import onnx
import ort_runs
from fixture_models import FIXTURES, SRCNN

REUSED = FIXTURES / "broken" / "reused_name_onnx.onnx"


def test_inspect_lists_names_of_several_lengths_in_text_and_json(answered, call):
    found = answered("inspect", REUSED)
    assert [fault["name"] for fault in found["faults"]] == ["height", "width"]
    assert {fault["fault"] for fault in found["faults"]} == {"dimension-name-reused"}
    _, text, _ = call("inspect", REUSED)
    assert "fault dimension-name-reused height" in text
    assert answered("inspect", SRCNN)["faults"] == []


def test_repair_gives_each_length_a_name_and_leaves_none_to_list(answered, tmp_path):
    repaired = answered("repair", REUSED, tmp_path / "out.onnx")
    assert [outcome["status"] for outcome in repaired["outcomes"]] == ["unchanged", "changed", "changed"]
    assert answered("inspect", tmp_path / "out.onnx")["faults"] == []
    x = np.random.default_rng(0).standard_normal((1, 2, 6, 5)).astype(np.float32)
    before, after = (ort_runs.run(onnx.load(path), {"x": x})[0] for path in (REUSED, tmp_path / "out.onnx"))
    np.testing.assert_array_equal(before, after)


def test_repair_raises_a_model_whose_names_it_parts(answered, tmp_path):
    repaired = answered("repair", REUSED, tmp_path / "out.onnx", "--opset", "18")
    assert [outcome["status"] for outcome in repaired["outcomes"]] == ["changed", "changed", "changed"]
    assert onnx.load(tmp_path / "out.onnx").opset_import[0].version == 18


def test_a_name_between_two_rows_is_said_beside_the_row_that_judges(answered):
    found = answered("check", SRCNN, "--target", "tensorrt-8.6")
    assert found["targets"]["tensorrt-8.5"]["asked"] == "tensorrt-8.6"
    assert "asked" not in answered("check", SRCNN, "--target", "tensorrt-8.5")["targets"]["tensorrt-8.5"]
    listed = answered("check", "--target", "tensorrt-8.6", "--target", "list")
    assert listed["judged_as"] == {"tensorrt-8.6": "tensorrt-8.5"}
    assert "judged_as" not in answered("check", "--target", "list")


def test_targets_that_a_rewrite_loses_are_in_the_json(answered, tmp_path):
    promoted = answered("promote-scales", SRCNN, tmp_path / "any.onnx")
    assert "tensorrt-8.5" in promoted["lost_targets"]
    legal = answered("legalize", SRCNN, tmp_path / "legal.onnx", "--target", "tensorrt-7.0", "--no-verify")
    assert isinstance(legal["lost_targets"], list)
    changed = answered("set", SRCNN, tmp_path / "set.onnx", "mode=nearest", "--no-verify")
    assert changed["lost_targets"] == ["ncnn", "qnn"]
    assert answered("repair", REUSED, tmp_path / "out.onnx")["lost_targets"] == []
