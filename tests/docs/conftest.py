"""Where a page is typed."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: new, with the models of the repository at hand."""
    (tmp_path / "fixtures").symlink_to(Path(__file__).parents[2] / "fixtures")
    monkeypatch.chdir(tmp_path)
    return tmp_path
