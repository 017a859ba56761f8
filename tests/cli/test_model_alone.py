"""`resizefix SRCNN` is `resizefix inspect SRCNN`."""

import json
import shutil

import pytest
from fixture_models import SRCNN


def test_a_model_alone_is_inspected(call):
    assert call(str(SRCNN)) == call("inspect", str(SRCNN))
    code, out, _ = call(str(SRCNN), "--json")
    assert (code, json.loads(out)["command"]) == (0, "inspect")


def test_a_file_of_any_name_is_a_model(tmp_path, monkeypatch, call):
    shutil.copy(SRCNN, tmp_path / "network")
    monkeypatch.chdir(tmp_path)
    assert call("network")[0] == 0


def test_a_file_of_the_name_of_a_command_is_no_model(tmp_path, monkeypatch, call):
    shutil.copy(SRCNN, tmp_path / "check")
    monkeypatch.chdir(tmp_path)
    code, _, error = call("check")
    assert code == 2
    assert "Missing argument" in error


@pytest.mark.parametrize("word", ["nowhere.onnx", "no/where"])
def test_a_model_that_is_missing_is_named(call, word):
    code, _, error = call(word)
    assert code == 2
    assert error.startswith(f"resizefix inspect: {word}")


def test_a_word_that_is_no_file_is_no_command(call):
    code, _, error = call("inspekt")
    assert code == 2
    assert "No such command" in error
