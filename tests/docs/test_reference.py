"""The pages of docs/reference are what the code says today."""

import importlib.util
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "resizefix"
FOLDER = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("make_reference", FOLDER / "make_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pages()


@pytest.mark.parametrize(
    "name",
    [
        "cli.md",
        "api.md",
        "targets.md",
        "../zh/reference/targets.md",
        "equivalences.md",
        "messages.md",
        "../zh/reference/messages.md",
        "json.md",
        "../layout.md",
        "target-files.md",
        "../../resizefix/targets/foreign/devices/target.schema.json",
    ],
)
def test_a_page_is_up_to_date(made, name):
    assert (FOLDER / name).read_text() == made[name], "run: python docs/reference/make_reference.py"


def test_no_table_of_a_made_page_has_an_empty_cell(made):
    for name, text in made.items():
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert [row for row in rows if re.search(r"\|\s*\|", row)] == [], name


def test_the_matrix_has_every_target_and_a_cell_for_each(made):
    from resizefix.targets.catalogue import TARGETS

    matrix = made["targets.md"].partition("## TensorRT\n")[0]
    heads = re.findall(r"^\| feature \|(.*)\|$", matrix, re.MULTILINE)
    assert sum(head.count("](#") for head in heads) == len(TARGETS)
    marks = re.findall(r"^\| .*? \|((?: [✓≠✗] \|)+)$", matrix, re.MULTILINE)
    assert {len(row.split("|")) - 1 for row in marks} == {head.count("](#") for head in heads}
    assert {mark for row in marks for mark in row.split("|") if mark} == {" ✓ ", " ≠ ", " ✗ "}


def test_every_room_of_the_package_is_in_the_layout_with_what_it_is_for(made):
    rows = re.findall(r"^\| `resizefix/([\w/]*)` \| (.+) \|$", made["../layout.md"], re.MULTILINE)
    rooms = {path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")}
    assert sorted(room.strip("/") or "." for room, _ in rows) == sorted(rooms)
    assert [row for row in rows if len(row[1].split()) < 3] == []


def test_the_walks_of_the_layout_name_files_that_are_there(made):
    walks = made["../layout.md"].partition("## Every room")[0]
    named = re.findall(r"`(?:resizefix/)?([a-z_]+/\w+\.py)`", walks)
    here = PACKAGE.parent
    assert len(named) > 20
    assert [name for name in named if not (PACKAGE / name).exists() and not (here / name).exists()] == []
