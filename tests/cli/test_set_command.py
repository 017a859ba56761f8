"""`resizefix set`: words that are settings, exit codes, JSON, the page with pictures."""

import base64
import re
import shlex
import struct
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from fixture_models import BISENET, DYNAMIC, SRCNN

import resizefix
from resizefix.reports.pictures import data_url, png

NEAREST = ("mode=nearest", "coordinates=asymmetric", "nearest_mode=floor")


@pytest.fixture
def set_(call):
    return partial(call, "set")


def test_the_node_is_changed_and_the_difference_reported(set_, tmp_path):
    code, text, _ = set_(SRCNN, tmp_path / "o.onnx", *NEAREST)
    assert code == 0
    assert "mode cubic → nearest, coordinates half_pixel → asymmetric, nearest_mode floor" in text
    assert re.search(r"at the node, random values: differs by up to 2\.\d+", text)
    assert re.search(r"output output, random values: differs by up to 0\.\d+", text)
    (site,) = resizefix.inspect(tmp_path / "o.onnx")
    assert site.interpolation.nearest_mode.value == "floor"


def test_json_has_the_differences(answered):
    answer = answered("set", SRCNN, "--dry-run", *NEAREST)
    (outcome,) = answer["outcomes"]
    assert (answer["exit_code"], answer["verification"]["status"], outcome["exact"]) == (0, "passed", False)
    assert outcome["max_abs_diff"] == outcome["node_diffs"][0]["max_abs_diff"] > 1
    assert outcome["output_diffs"][0]["feed"] == "random values"


def test_a_setting_may_stand_before_a_file_and_a_file_may_hold_an_equals_sign(set_, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mode=x.onnx").write_bytes(SRCNN.read_bytes())
    assert set_(*NEAREST, "./mode=x.onnx", "./a=b.onnx")[0] == 0
    assert (tmp_path / "a=b.onnx").exists()


def test_the_page_shows_before_after_and_difference(set_, tmp_path):
    data = np.random.default_rng(0).random((1, 3, 20, 24), np.float32)
    size = [dim.dim_value for dim in onnx.load(SRCNN).graph.input[0].type.tensor_type.shape.dim]
    np.save(tmp_path / "x.npy", np.resize(data, size).astype(np.float32))
    page, out = tmp_path / "p.html", tmp_path / "o.onnx"
    words = (SRCNN, out, *NEAREST, "--feed", f"input={tmp_path / 'x.npy'}", "--html", page)
    code, text, _ = set_(*words)
    assert code == 0
    assert f"wrote {page}" in text
    text = page.read_text()
    pictures = re.findall(r'<img src="(data:image/png;base64,[^"]+)" alt="(\w+): ', text)
    assert [name for _, name in pictures] == ["Before", "After", "Difference"] * 4
    assert len({url for url, _ in pictures}) == len(pictures)
    assert "img-src data:" in text
    assert set_(*words, "--force")[0] == 0
    assert set_(*words)[0] == 2


def test_the_command_to_type_next_raises_the_model(set_, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, _, text = set_(BISENET, "o.onnx", "coordinates=half_pixel", "-n", "#2")
    (again,) = re.findall(r"^  resizefix set (.*)$", text, re.MULTILINE)
    assert again.endswith("--opset 11")
    assert set_(*shlex.split(again))[0] == 0
    assert [site.op_type for site in resizefix.inspect("o.onnx")] == ["Resize"] * 3


def test_what_is_not_changed_stays_byte_for_byte(set_, tmp_path):
    assert set_(SRCNN, tmp_path / "o.onnx", *NEAREST)[0] == 0
    before, after = SRCNN.read_bytes(), (tmp_path / "o.onnx").read_bytes()
    nodes = onnx.load(SRCNN).graph.node
    old = next(node for node in nodes if node.op_type == "Resize").SerializeToString()
    head, tail = before.split(old)
    assert after.endswith(tail)
    first = nodes[0].SerializeToString()  # the length of the graph stands before it, that of the node in its last bytes
    kept = head[head.index(first) : -4]
    assert after[after.index(first) :].startswith(kept)


def test_several_models(answered, tmp_path):
    answer = answered("set", SRCNN, DYNAMIC, "--output-dir", tmp_path, *NEAREST)
    assert answer["exit_code"] == 0
    assert [model["outcomes"][0]["status"] for model in answer["models"]] == ["changed", "changed"]
    assert len(list(tmp_path.iterdir())) == 2


def pixels_of(data: bytes) -> np.ndarray:
    """A decoder of its own for what `png` writes."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + content)
        chunks[kind], at = content, at + 12 + length
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert depth == 8
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape((height, width, 3) if colour == 2 else (height, width))


@pytest.mark.parametrize("shape", [(3, 5), (3, 5, 3), (1, 1)])
def test_a_picture_is_what_other_readers_read(shape, tmp_path):
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    assert np.array_equal(pixels_of(png(pixels)), pixels)
    assert base64.b64decode(data_url(pixels).partition(",")[2]) == png(pixels)
    (tmp_path / "p.png").write_bytes(png(pixels))
    assert np.array_equal(np.asarray(Image.open(tmp_path / "p.png")), pixels)
