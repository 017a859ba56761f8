"""Pictures and arrays out of files as the tensor that an input takes, or a sentence why they are none."""

import sys

import numpy as np
import pytest
from onnx import TensorProto
from PIL import Image

from resizefix.diagnostics import UsageError
from resizefix.interop.feed_file import fed_from_file
from resizefix.runtimes.inputs import TensorInput

PIXELS = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)


@pytest.fixture
def photo(tmp_path):
    path = tmp_path / "photo.png"
    Image.fromarray(PIXELS).save(path)
    return str(path)


def entry(*shape, kind=TensorProto.FLOAT):
    return TensorInput("x", kind, shape)


@pytest.mark.parametrize(
    ("shape", "kind", "wanted"),
    [
        ((1, 3, "h", "w"), TensorProto.FLOAT, (PIXELS.transpose(2, 0, 1)[None] / np.float32(255))),
        ((None, None, None, None), TensorProto.FLOAT, (PIXELS.transpose(2, 0, 1)[None] / np.float32(255))),
        ((1, 3, 5, 7), TensorProto.FLOAT16, (PIXELS.transpose(2, 0, 1)[None] / np.float32(255)).astype(np.float16)),
        (("n", 5, 7, 3), TensorProto.UINT8, PIXELS[None]),
        ((3, "h", "w"), TensorProto.UINT8, PIXELS.transpose(2, 0, 1)),
        (("h", "w", 3), TensorProto.DOUBLE, (PIXELS / np.float32(255)).astype(np.float64)),
    ],
)
def test_pixels_become_the_tensor(photo, shape, kind, wanted):
    value, note = fed_from_file(photo, entry(*shape, kind=kind))
    assert value.dtype == wanted.dtype
    assert np.array_equal(value, wanted)
    assert note.startswith("photo.png: N")
    assert ("divided by 255" in note) == (kind != TensorProto.UINT8)


def test_one_channel_is_the_luminance(photo):
    value, note = fed_from_file(photo, entry(1, 1, "h", "w"))
    assert value.shape == (1, 1, 5, 7)
    assert np.array_equal(value[0, 0], np.asarray(Image.open(photo).convert("L")) / np.float32(255))
    assert "grey" in note


def test_a_picture_is_fed_upright(tmp_path):
    image, exif = Image.fromarray(PIXELS), Image.Exif()
    exif[0x0112] = 6  # the camera was turned
    image.save(tmp_path / "turned.png", exif=exif)
    value, _ = fed_from_file(str(tmp_path / "turned.png"), entry(1, 3, "h", "w", kind=TensorProto.UINT8))
    assert np.array_equal(value[0].transpose(1, 2, 0), np.rot90(PIXELS, -1))


def test_an_array_is_fed_as_it_is(tmp_path):
    np.save(tmp_path / "x.npy", PIXELS)
    value, note = fed_from_file(str(tmp_path / "x.npy"), entry(1, kind=TensorProto.UINT8))
    assert np.array_equal(value, PIXELS)
    assert note == "x.npy as it is"


def test_an_array_of_another_type_is_said_to_be_converted(tmp_path):
    np.save(tmp_path / "x.npy", PIXELS.astype(np.float64))
    assert fed_from_file(str(tmp_path / "x.npy"), entry(1))[1] == "x.npy float64 as float32"


@pytest.mark.parametrize(
    ("found", "note"),
    [
        (entry(1, 3, 64, 64), "becomes [1, 3, 5, 7], which does not fit input 'x' (float[1,3,64,64])"),
        (entry(2, 3, "h", "w"), "cut or scale the picture first"),
        (entry(1, 64, "h", "w"), "has neither 1 nor 3 channels; give a .npy file"),
        (entry(1, 10), "takes no [N,C,H,W] or [C,H,W] of floats or uint8"),
        (entry(1, 3, "h", "w", kind=TensorProto.INT64), "takes no [N,C,H,W]"),
    ],
)
def test_a_picture_that_does_not_fit_is_refused(photo, found, note):
    with pytest.raises(UsageError) as error:
        fed_from_file(photo, found)
    assert note in str(error.value)


@pytest.mark.parametrize(("name", "content"), [("x.png", b"no picture"), ("x.npy", b"no array"), ("y.npy", b"")])
def test_files_that_are_none_are_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError):
        fed_from_file(str(tmp_path / name), entry(1, 3, "h", "w"))
    with pytest.raises(UsageError, match="there is no file"):
        fed_from_file(str(tmp_path / "none.png"), entry(1, 3, "h", "w"))


def test_pickled_objects_are_not_loaded(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(UsageError, match="file of one array"):
        fed_from_file(str(tmp_path / "x.npy"), entry(1))


def test_without_pillow_the_message_says_how_to_install_it(photo, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(UsageError) as error:
        fed_from_file(photo, entry(1, 3, "h", "w"))
    assert "pip install 'resizefix[images]'" in str(error.value)
