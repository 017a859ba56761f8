"""Whatever a file is, a command answers with an exit code and a sentence: in bounded time and memory, with nothing raw,
nothing left and nothing read that lies outside of the model's folder.

Each hostile file meets one of the commands, or a few, in turn: each command meets files of every group. One process
answers for a dozen files. With RESIZEFIX_EXHAUSTIVE=1 (or `python tests/reliability/survey.py`) each file meets each
command, in a process of its own.
"""

import json
import math
from itertools import cycle, islice

import pytest
from exhaustive import EXHAUSTIVE
from hostile_bytes import flipped, random_numbers, truncated
from hostile_groups import GROUPS, SECRET, SECRET_NAME
from hostile_models import file_of, model
from hostile_names import NAMES, named, raw_characters
from survey import COMMANDS, answered, judged
from watching import Watch

AT_A_TIME = 1 if EXHAUSTIVE else 12  # files to one process, whose first command takes ten times as long as the next


def batches():
    for group, made in GROUPS.items():
        files = list(made())
        each = len(COMMANDS) if EXHAUSTIVE else math.ceil(len(COMMANDS) / len(files))
        turns = cycle(COMMANDS)
        cases = [(name, fill, list(islice(turns, each))) for name, fill in files]
        for start in range(0, len(cases), AT_A_TIME):
            yield pytest.param(cases[start : start + AT_A_TIME], id=f"{group}-{start}")


@pytest.mark.parametrize("cases", list(batches()))
def test_hostile_files_are_answered(worker, tmp_path, cases):
    assert answered(worker, tmp_path, cases)[1] == {}


def many(worker, place, files, command):
    """One command on many small files."""
    for number, content in enumerate(files):
        (place / f"{number}.onnx").write_bytes(content)
    lines = [[word.replace("model.onnx", f"{number}.onnx") for word in command] for number in range(len(files))]
    for start in range(0, len(lines), 50):
        report = worker.run(*lines[start : start + 50], folder=place, seconds=20)
        assert judged(report) == []


def test_a_model_cut_off_at_every_byte_is_answered(worker, tmp_path):
    many(worker, tmp_path, list(truncated()), ["promote-scales", "model.onnx", "--dry-run", "--no-verify"])


@pytest.mark.parametrize("seed", range(2 if not EXHAUSTIVE else 40))
def test_models_with_flipped_bits_are_answered(worker, tmp_path, seed):
    many(worker, tmp_path, list(flipped(150, seed)), ["promote-scales", "model.onnx", "--dry-run", "--no-verify"])


@pytest.mark.parametrize("seed", range(1 if not EXHAUSTIVE else 40))
def test_any_bits_for_scales_are_answered(worker, tmp_path, seed):
    command = ["legalize", "model.onnx", "--dry-run", "--target", "tensorrt-5.0", "--no-verify"]
    many(worker, tmp_path, list(random_numbers(100, seed)), command)


def test_what_a_name_says_reaches_no_page_and_no_report_raw(worker, tmp_path):
    command = ["inspect", "model.onnx", "--html", "model.onnx.html", "--markdown", "model.onnx.md", "-q"]
    many(worker, tmp_path, [named(text).SerializeToString() for text in NAMES.values()], command)
    pages = [path for path in tmp_path.iterdir() if path.suffix != ".onnx"]
    assert len(pages) == 2 * len(NAMES)
    assert [path.name for path in pages if raw_characters(path.read_text(encoding="utf-8"))] == []


def test_what_lies_outside_of_the_folder_is_neither_read_nor_taken_along(worker, tmp_path):
    """The scales that lie there are 7; no answer knows of them, and no result holds them."""
    homes, names = [], []
    for name, fill in GROUPS["external data"]():
        names.append(name)
        homes.append(tmp_path / name / "home")
        homes[-1].mkdir(parents=True)
        fill(homes[-1])
    inspecting, promoting = ["inspect", "model.onnx", "--json"], ["promote-scales", "model.onnx", "out.onnx"]
    report = worker.run(*[inspecting] * len(homes), *[promoting] * len(homes), folder=tmp_path, folders=homes * 2)
    assert judged(report) == []
    for name, home, run in zip(names, homes, report.runs, strict=False):
        assert "7, 7" not in json.dumps(json.loads(run.stdout)), name
        assert not (home / "out.onnx").exists() or SECRET.tobytes() not in (home / "out.onnx").read_bytes(), name


def test_a_good_model_is_not_taken_for_a_hostile_one(worker, tmp_path):
    report, found = answered(worker, tmp_path, [("good", file_of(model()), COMMANDS[:4])])
    assert found == {}
    assert [run.code for run in report.runs] == [0, 0, 0, 0]


def test_a_file_that_is_read_outside_of_the_folder_is_noticed(worker, tmp_path):
    """The checks above can fail: a command is told to read what it should not by itself."""

    def filled(folder):
        (folder.parent / SECRET_NAME).write_bytes(model().SerializeToString())
        file_of(model())(folder)

    _, found = answered(worker, tmp_path, [("nosy", filled, [["diff", "model.onnx", f"../{SECRET_NAME}"]])])
    assert any(SECRET_NAME in text for text in found["all"])
    assert not Watch.is_possible() or any(text.startswith("what lies outside") for text in found["nosy"])
