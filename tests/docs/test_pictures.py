"""The tutorial's pictures are what their script makes today."""

import importlib.util
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
PHOTOGRAPH = "srcnn_at_any_scale.png"


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("make_pictures", FOLDER / "make_pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pictures()


def test_every_picture_is_made_by_the_script(made):
    assert {path.name for path in FOLDER.iterdir() if path.suffix in (".png", ".svg")} == set(made)


@pytest.mark.parametrize("name", ["before.svg", "after.svg"])
def test_a_drawing_is_up_to_date(made, name):
    assert (FOLDER / name).read_bytes() == made[name], "run: python docs/pictures/make_pictures.py"


def test_the_photograph_is_up_to_date(made):
    files = FOLDER / PHOTOGRAPH, io.BytesIO(made[PHOTOGRAPH])
    there, now = (np.asarray(Image.open(file)).astype(int) for file in files)
    assert there.shape == now.shape
    # Another CPU may add in another order and round a pixel to the next of 256 levels.
    assert np.abs(there - now).max() <= 1, "run: python docs/pictures/make_pictures.py"
