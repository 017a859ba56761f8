"""`resizefix MODEL` is `resizefix inspect MODEL`."""

import json
import shutil
from pathlib import Path

import pytest

from resizefix.cli import main

MODEL = Path(__file__).parents[2] / "fixtures" / "srcnn_x3_opset11.onnx"


def answer(capsys, *words):
    with pytest.raises(SystemExit) as done:
        main(list(words))
    return done.value.code, capsys.readouterr()


def test_a_model_alone_is_inspected(capsys):
    assert answer(capsys, str(MODEL)) == answer(capsys, "inspect", str(MODEL))
    code, printed = answer(capsys, str(MODEL), "--json")
    assert (code, json.loads(printed.out)["command"]) == (0, "inspect")


def test_a_file_of_any_name_is_a_model(tmp_path, monkeypatch, capsys):
    shutil.copy(MODEL, tmp_path / "network")
    monkeypatch.chdir(tmp_path)
    assert answer(capsys, "network")[0] == 0


def test_a_file_of_the_name_of_a_command_is_no_model(tmp_path, monkeypatch, capsys):
    shutil.copy(MODEL, tmp_path / "check")
    monkeypatch.chdir(tmp_path)
    code, printed = answer(capsys, "check")
    assert code == 2
    assert "Missing argument" in printed.err


@pytest.mark.parametrize("word", ["nowhere.onnx", "no/where"])
def test_a_model_that_is_missing_is_named(capsys, word):
    code, printed = answer(capsys, word)
    assert code == 2
    assert printed.err.startswith(f"resizefix inspect: {word}")


def test_a_word_that_is_no_file_is_no_command(capsys):
    code, printed = answer(capsys, "inspekt")
    assert code == 2
    assert "No such command" in printed.err
