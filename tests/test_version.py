import re
from pathlib import Path

from resizefix.version import __version__

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def test_the_package_and_its_metadata_have_one_version():
    stated = re.search(r'^version = "(.+)"$', PROJECT.read_text(), re.MULTILINE)
    assert stated is not None
    assert stated[1] == __version__
