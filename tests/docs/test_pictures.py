"""The tutorial's pictures are what their script makes today."""

import importlib.util
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
PHOTOGRAPH = "srcnn_at_any_scale.png"


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("make_pictures", FOLDER / "make_pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pictures()


def pixels(data: bytes) -> np.ndarray:
    """What `png` of the script wrote: no filter, four channels."""
    width, height = struct.unpack(">II", data[16:24])
    length = struct.unpack(">I", data[33:37])[0]
    rows = np.frombuffer(zlib.decompress(data[41 : 41 + length]), np.uint8).reshape(height, 1 + 4 * width)
    return rows[:, 1:].reshape(height, width, 4)


def test_every_picture_is_made_by_the_script(made):
    assert {path.name for path in FOLDER.iterdir() if path.suffix in (".png", ".svg")} == set(made)


@pytest.mark.parametrize("name", ["before.svg", "after.svg"])
def test_a_drawing_is_up_to_date(made, name):
    assert (FOLDER / name).read_bytes() == made[name], "run: python docs/pictures/make_pictures.py"


def test_the_photograph_is_up_to_date(made):
    there, now = (pixels(data).astype(int) for data in ((FOLDER / PHOTOGRAPH).read_bytes(), made[PHOTOGRAPH]))
    assert there.shape == now.shape
    # Another CPU may add in another order and round a pixel to the next of 256 levels.
    assert np.abs(there - now).max() <= 1, "run: python docs/pictures/make_pictures.py"
