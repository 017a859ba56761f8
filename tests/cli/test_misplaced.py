from __future__ import annotations

import shutil

import pytest
from fixture_models import SRCNN


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("input-size m.onnx o.onnx --size 40x48", "SIZE is the last argument"),
        ("input-size m.onnx o.onnx 40,48", "write 40x48"),
        ("input-size m.onnx o.onnx 1x3x40x48", "write 40x48"),
        ("opset m.onnx o.onnx opset=17", "the version is the last argument"),
        ("set m.onnx o.onnx --mode linear", "write mode=VALUE, without dashes"),
        ("promote-scales m.onnx o.onnx scale=4", "resizefix set IN OUT scale=4"),
        ("legalize m.onnx o.onnx tensorrt-8.0", "--target tensorrt-8.0"),
        ("freeze-scales m.onnx o.onnx scales=1,1,4,4", "--set scales=1,1,4,4"),
        ("legalize tensorrt-8.0 m.onnx o.onnx", "--target tensorrt-8.0"),
        ("legalize tensorrt-8.0 m.onnx", "a target is given by --target tensorrt-8.0"),
        ("check tensorrt-8.0 m.onnx", "--target tensorrt-8.0"),
        ("check m.onnx --target tensorrt 8.6", "--target tensorrt-8.6"),
        ("input-size 40x48 m.onnx o.onnx", "SIZE is the last argument: write m.onnx o.onnx 40x48"),
        ("opset 17 m.onnx", "N is the last argument: write m.onnx 17"),
        ("input-size m.onnx o.onnx", "Missing argument 'SIZE'"),
        ("opset m.onnx o.onnx", "Missing argument 'N'"),
        ("inspect m.onnx --at 4", "--at is an option of promote-scales"),
    ],
)
def test_a_word_in_the_wrong_form_is_answered_with_the_right_one(call, tmp_path, monkeypatch, line, said):
    monkeypatch.chdir(tmp_path)
    shutil.copy(SRCNN, "m.onnx")
    code, _, err = call(*line.split())
    assert code == 2
    assert said in err
    assert "Did you mean" not in err
    assert not (tmp_path / "o.onnx").exists()


@pytest.mark.parametrize("line", ["legalize m.onnx o.onnx --target tensorrt-8.0 --sede 1", "inspect m.onnx --jsn"])
def test_what_stands_in_its_place_is_not_spoken_of(call, tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    shutil.copy(SRCNN, "m.onnx")
    _, _, err = call(*line.split())
    assert "Did you mean" in err


def test_out_that_exists_is_not_asked_for_before_in_is_there(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(SRCNN, "m.onnx")
    code, _, err = call("promote-scales", "gone.onnx", "m.onnx")
    assert code == 2
    assert "gone.onnx: there is no such file; m.onnx exists: IN comes before OUT" in err


def test_one_number_is_no_size_of_an_image(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(SRCNN, "m.onnx")
    code, _, err = call("input-size", "m.onnx", "o.onnx", "640")
    assert code == 2
    assert "input 'input' has a height and a width: write 640x640, or 20x640 for another width alone" in err
