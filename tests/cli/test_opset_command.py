"""`resizefix opset IN OUT N`: where it writes, what it says, and how it ends."""

import json

import onnx
import pytest
from fixture_models import FIXTURES, SRCNN

NEAREST = FIXTURES / "bisenet_x8_nearest_dynamo18.onnx"


def opset_of(path) -> int:
    return next(entry.version for entry in onnx.load(path).opset_import if not entry.domain)


@pytest.mark.parametrize("number", ["9", "11", "13", "17", "21"])
def test_it_writes_the_model_in_that_opset(call, tmp_path, number):
    code, said, _ = call("opset", NEAREST, tmp_path / "out.onnx", number)
    assert code == 0
    assert "bitwise equal" in said
    assert opset_of(tmp_path / "out.onnx") == int(number)


def test_what_is_in_the_way_ends_with_1_and_names_the_operator_and_nothing_is_written(call, tmp_path):
    code, _, error = call("opset", SRCNN, tmp_path / "out.onnx", "9")
    assert code == 1
    assert "Resize has no form in opset 9" in error
    assert not (tmp_path / "out.onnx").exists()


def test_out_may_be_left_out_where_another_option_stands_for_it(call, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(NEAREST.read_bytes())
    assert call("opset", model, "13", "--dry-run")[0] == 0
    assert opset_of(model) == 18
    assert call("opset", model, "13", "--in-place")[0] == 0
    assert opset_of(model) == 13
    assert call("opset", model, "11", "-o", tmp_path / "other.onnx")[0] == 0
    assert opset_of(tmp_path / "other.onnx") == 11


def test_the_opset_that_it_has_is_already_there(call, tmp_path):
    code, *_ = call("opset", NEAREST, tmp_path / "out.onnx", "18")
    assert code == call("set", NEAREST, tmp_path / "same.onnx", "mode=nearest", "-n", "#0")[0]
    assert not (tmp_path / "out.onnx").exists()
    assert call("opset", NEAREST, tmp_path / "out.onnx", "18", "--copy-unchanged")[0] == 0
    assert (tmp_path / "out.onnx").read_bytes() == NEAREST.read_bytes()


@pytest.mark.parametrize("words", [("6",), ("29",), ("newest",), ("13.5",), ()], ids=" ".join)
def test_an_opset_that_there_is_not_ends_with_2(call, tmp_path, words):
    assert call("opset", NEAREST, tmp_path / "out.onnx", *words)[0] == 2


def test_json_says_what_became_of_each_node(call, tmp_path):
    code, said, _ = call("opset", NEAREST, tmp_path / "out.onnx", "13", "--json")
    found = json.loads(said)
    assert (code, found["opset"], found["exit_code"]) == (0, 13, 0)
    assert {step["op"] for step in found["steps"]} == {"ReduceMean"}
    assert all(step["exact"] and step["what"] and step["since_version"] == 18 for step in found["steps"])
    assert {outcome["status"] for outcome in found["outcomes"]} == {"changed"}
