"""`verify --feed photo.png`: both models are fed the picture, and the page shows what they make of it."""

import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from fixture_models import SRCNN

from resizefix.reports.pictures import png
from resizefix.runtimes.catalogue import runtime_named

Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """`x3.onnx`; `nearest.onnx`, which computes otherwise; and a picture that fits both."""
    made = tmp_path_factory.mktemp("fed")
    model = onnx.load(SRCNN)
    onnx.save(model, made / "x3.onnx")
    (resize,) = (node for node in model.graph.node if node.op_type == "Resize")
    next(entry for entry in resize.attribute if entry.name == "mode").s = b"nearest"
    onnx.save(model, made / "nearest.onnx")
    rows, columns = np.mgrid[0:20, 0:24]
    (made / "photo.png").write_bytes(png(np.stack([rows * 12, columns * 10, rows + columns], -1).astype(np.uint8)))
    return made


@pytest.fixture
def verify(call, folder, monkeypatch):
    monkeypatch.chdir(folder)
    return partial(call, "verify")


def names_of_pictures(page: Path) -> list[str]:
    return re.findall(r'<img src="data:image/png;base64,[^"]+" alt="([^:"]+): output, photo.png"', page.read_text())


@pytest.mark.parametrize("feed", ["photo.png", "input=photo.png"])
def test_the_page_shows_the_outputs_for_a_picture(verify, folder, feed):
    code, out, _ = verify("x3.onnx", "nearest.onnx", "--feed", feed, "--html", "page.html", "--force", "--json")
    answer = json.loads(out)["verification"]
    assert (code, answer["status"]) == (1, "failed")
    assert answer["reason"].endswith("; photo.png: NCHW, red, green, blue, divided by 255")
    assert (answer["runs"][0]["files"], answer["runs"][0]["values"]) == ({"input": "photo.png"}, {})
    assert names_of_pictures(folder / "page.html") == ["Before", "After", "Difference"]
    assert "input = photo.png" in (folder / "page.html").read_text()


def test_names_of_inputs_and_of_pictures_may_hold_what_stands_between_them(verify, folder):
    model = onnx.load(folder / "x3.onnx")
    old, model.graph.input[0].name = model.graph.input[0].name, "a=b"
    reader = next(node for node in model.graph.node if old in node.input)
    reader.input[list(reader.input).index(old)] = "a=b"
    onnx.save(model, folder / "odd.onnx")
    (folder / "c=d.png").write_bytes((folder / "photo.png").read_bytes())
    for feed, file in (("a=b=photo.png", "photo.png"), ("a=b=c=d.png", "c=d.png"), ("c=d.png", "c=d.png")):
        code, out, _ = verify("odd.onnx", "odd.onnx", "--feed", feed, "--json")
        assert (code, json.loads(out)["verification"]["runs"][0]["files"]) == (0, {"a=b": file})
    words = ("--feed", "a=b_scales=1,1,3,3", "--json")
    promoted = ("promote-scales", "odd.onnx", "odd-any.onnx", "--input-name", "a=b_scales", "-q")
    assert verify.func(*promoted)[0] == 0
    code, out, _ = verify("odd.onnx", "odd-any.onnx", *words)
    assert (code, json.loads(out)["verification"]["runs"][0]["values"]) == (0, {"a=b_scales": [1, 1, 3, 3]})


def test_without_a_picture_there_is_none_on_the_page(verify, folder):
    assert verify("x3.onnx", "x3.onnx", "--html", "plain.html")[0] == 0
    assert "<img" not in (folder / "plain.html").read_text()


def test_a_runtime_is_named_wherever_it_is_compared(verify, folder):
    pytest.importorskip(runtime_named("openvino").name)
    words = ("--runtime", "openvino", "--feed", "photo.png", "--html", "openvino.html", "--markdown", "openvino.md")
    code, out, err = verify("x3.onnx", "nearest.onnx", *words)
    assert code == 1
    name = re.search(r"onnxruntime and (OpenVINO [\d.]+)", out)[1]
    assert re.search(rf"\d in onnxruntime and [\d.-]+ in {name} at \[", err)
    page, text = ((folder / f"openvino.{ending}").read_text() for ending in ("html", "md"))
    assert names_of_pictures(folder / "openvino.html") == ["onnxruntime", name, "Difference"]
    assert name in text
    for written in (out, err):
        assert not re.search(r"\b(before|after)\b", written)
    assert f"in onnxruntime and in {name}" in page


@pytest.mark.parametrize(
    ("feeds", "why"),
    [
        (["y=photo.png"], "y: the model has no such input to feed"),
        (["photo.png", "input=photo.png"], "input input is fed twice"),
        (["gone.png"], "is not a feed; write for example input=photo.png"),
        (["y=1,2"], "Neither model has an input 'y'"),
    ],
)
def test_a_feed_that_does_not_fit_is_a_usage_error(verify, feeds, why):
    code, _, err = verify("x3.onnx", "nearest.onnx", *(word for feed in feeds for word in ("--feed", feed)))
    assert code == 2
    assert why in err


def test_a_picture_for_one_of_several_inputs_must_say_which(verify, folder):
    model = onnx.load(folder / "x3.onnx")
    model.graph.input.append(onnx.helper.make_tensor_value_info("mask", onnx.TensorProto.FLOAT, [1, 3, 20, 24]))
    onnx.save(model, folder / "two.onnx")
    code, _, err = verify("two.onnx", "two.onnx", "--feed", "photo.png")
    assert (code, "say which input it is for, as INPUT=photo.png; the inputs are input, mask" in err) == (2, True)
