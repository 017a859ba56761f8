"""The project's addresses stand in pyproject.toml alone, and everything that shows one follows them."""

import importlib.metadata
import re
from pathlib import Path

import pytest

from resizefix.addresses import address, page_address

ROOT = Path(__file__).parents[2]
tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no tomllib")
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
WITH_PUBLISHED_LINES = ("README.md", "README.zh-CN.md", "docs/index.md", "docs/zh/index.md")


class Metadata:
    """A package's metadata with these addresses."""

    def __init__(self, *rows):
        self.rows = rows

    def get_all(self, name):
        assert name == "Project-URL"
        return list(self.rows) or None


@pytest.fixture
def published(monkeypatch):
    rows = ("Documentation, https://docs.example/resizefix/", "Issues, https://issues.example/")
    monkeypatch.setattr(importlib.metadata, "metadata", lambda name: Metadata(*rows))


def test_without_a_setting_no_address_is_invented(monkeypatch, call):
    monkeypatch.setattr(importlib.metadata, "metadata", lambda name: Metadata())
    assert address("Issues") is None
    assert page_address("docs/index.md") is None
    assert "docs/index.md in the repository" in call("--help")[1]
    assert "://" not in call("explain", "no such message at all")[1]


def test_the_help_the_pages_and_the_report_follow_the_setting(published, call):
    assert page_address("docs/index.md") == "https://docs.example/resizefix/"
    assert page_address("docs/how-to/a-lost-pixel.md") == "https://docs.example/resizefix/how-to/a-lost-pixel/"
    help_text = " ".join(call("--help")[1].split())
    assert "Documentation: https://docs.example/resizefix/. Report a problem: https://issues.example/." in help_text
    said = call("explain", "Resize scales must be an initializer!")[1]
    assert "read more: https://docs.example/resizefix/how-to/scales-must-be-constant/" in said
    assert "please report it at https://issues.example/" in " ".join(
        " ".join(call("explain", "no such message")[1:]).split()
    )


@pytest.mark.parametrize("page", WITH_PUBLISHED_LINES)
def test_lines_for_a_published_package_are_shown_where_an_address_is_set_and_only_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "resizefix" in text
    hidden = re.findall(r"<!-- published\n(.*?)-->", text, re.DOTALL)
    assert bool(hidden) is not bool(URLS)
    shown = re.sub(r"(?s)<!--.*?-->", "", text)
    assert ("pip install resizefix" in shown) is bool(URLS)


def test_a_tag_that_a_page_names_exists_or_is_to_be_replaced():
    for page in ("docs/how-to/pipelines.md", "docs/zh/how-to/pipelines.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert re.findall(r"^ +rev: (\S+)", text, re.MULTILINE) == ["TAG"]
        assert "`TAG`" in text
