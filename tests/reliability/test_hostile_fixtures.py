from __future__ import annotations

import json

import onnx
import pytest
from hostile_fixtures import HOSTILE, INDEX, answers, rows

ROWS = rows()
WRITTEN_WITH = json.loads(INDEX.read_text(encoding="utf-8"))["onnx"]


def test_the_index_lists_every_file():
    assert {row["file"] for row in ROWS} == {path.name for path in HOSTILE.glob("*.hostile")}


@pytest.mark.parametrize("row", ROWS, ids=[row["file"] for row in ROWS])
def test_what_once_broke_something_is_answered_with_its_sentence(worker, tmp_path, row):
    """After a change of words: python tests/reliability/hostile_fixtures.py."""
    found, wrong = answers(worker, tmp_path, row["file"])
    assert wrong == []
    assert {command: said[0] for command, said in found.items()} == {c: said[0] for c, said in row["answers"].items()}
    # Another version of onnx may say other things of the same file.
    if onnx.__version__ == WRITTEN_WITH:
        assert found == row["answers"]
