"""The pages of docs/reference are what the code says today."""

import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("make_reference", FOLDER / "make_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pages()


@pytest.mark.parametrize("name", ["cli.md", "api.md", "targets.md", "equivalences.md", "json.md"])
def test_a_page_is_up_to_date(made, name):
    assert (FOLDER / name).read_text() == made[name], "run: python docs/reference/make_reference.py"
