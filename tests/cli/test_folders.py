"""Folders and patterns of models: which files they name, where results go, what is refused before anything runs."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from child_python import ended
from fixture_models import SRCNN, UNET
from onnx_text import model

from resizefix.cli import files, many
from resizefix.cli.many import work

SMALL = """(float[1,1,4,4] x) => (float[1,1,8,8] y) <float[4] s = {1, 1, 2, 2}> { [up] y = Resize (x, , s) }"""
PLAIN = "(float[1] x) => (float[1] y) { y = Relu (x) }"
FREE = ("--no-verify",)


def put(path: Path, text: str = SMALL) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model(text), path)
    return path


def below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


@pytest.fixture
def zoo(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b.onnx", "a.onnx", "sub/deep/c.onnx", "sub/b.onnx"):
        put(tmp_path / "zoo" / name)
    (tmp_path / "zoo" / "notes.txt").write_text("no model")
    return tmp_path / "zoo"


def test_a_folder_is_all_models_below_it_and_subfolders_are_kept(zoo, answered):
    put(zoo / "plain.onnx", PLAIN)
    answer = answered("promote-scales", "zoo", "--output-dir", "new", *FREE)
    names = ["a.onnx", "b.onnx", "plain.onnx", "sub/b.onnx", "sub/deep/c.onnx"]
    assert [one["model"] for one in answer["models"]] == [f"zoo/{name}" for name in names]
    assert answer["summary"]["models"] == len(names)
    written = [one["output"] for one in answer["models"] if one["output"]]
    assert below(Path("new")) == [name.removeprefix("new/") for name in sorted(written)]
    assert {"new/a.onnx", "new/sub/deep/c.onnx"} <= set(written)


def test_a_model_that_is_right_already_is_copied_byte_for_byte(zoo, answered):
    answer = answered("repair", "zoo", "--output-dir", "new", *FREE)
    assert {one["outcome"] for one in answer["models"]} == {"already"}
    for name in ("a.onnx", "sub/deep/c.onnx"):
        assert Path("new", name).read_bytes() == (zoo / name).read_bytes()


def test_a_pattern_keeps_the_folders_below_its_first_wildcard(zoo, answered):
    answer = answered("repair", "zoo/**/*.onnx", "--output-dir", "new", *FREE)
    assert answer["summary"]["already"] == 4
    assert below(Path("new")) == ["a.onnx", "b.onnx", "sub/b.onnx", "sub/deep/c.onnx"]
    assert [one["model"] for one in answered("inspect", "zoo/?.onnx")["models"]] == ["zoo/a.onnx", "zoo/b.onnx"]


def test_a_file_whose_name_is_like_a_pattern_is_that_file(zoo, answered):
    put(zoo / "[ab].onnx")
    assert answered("inspect", "zoo/[ab].onnx")["model"] == "zoo/[ab].onnx"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["opset", "17"], "opset 17; its 1 resize node stays as written"),
        (["input-size", "8x8"], "x: 1x1x4x4 becomes 1x1x8x8"),
        (["input-size", "--batch", "2"], "x: 1x1x4x4 becomes 2x1x4x4"),
    ],
)
def test_the_word_behind_the_files_may_stand_behind_many(zoo, call, answered, words, reason):
    command, *last = words
    code, out, err = call(command, "zoo/sub", "zoo/a.onnx", "zoo/?.onnx", *last, "--output-dir", "new", *FREE)
    assert (code, "would both be written to new" in err) == (2, True)  # a.onnx was named twice
    code, out, _ = call(command, "zoo/sub", "zoo/a.onnx", *last, "--output-dir", "new", *FREE)
    assert code == 0
    assert [row.split(maxsplit=3)[3] for row in out.splitlines()[:-1]] == [reason] * 3
    assert below(Path("new")) == ["a.onnx", "b.onnx", "deep/c.onnx"]
    answered(command, "zoo/a.onnx", "alone.onnx", *last, *FREE)
    assert Path("new/a.onnx").read_bytes() == Path("alone.onnx").read_bytes()


def test_check_answers_for_a_zoo(zoo, call):
    code, out, _ = call("check", "zoo", "--target", "tensorrt-10")
    *rows, last = out.splitlines()
    assert code == (0 if "refused" not in last else 1)
    assert len(rows) == 4
    assert last.startswith("4 models: 4 ")


def test_results_inside_the_folder_are_not_read_again(zoo, answered):
    for _ in range(2):
        answer = answered("repair", "zoo", "--output-dir", "zoo/results", "--force", *FREE)
        assert answer["summary"]["already"] == answer["summary"]["models"] == 4
    assert len(answered("repair", "zoo/**/*.onnx", "--output-dir", "zoo/results", "--dry-run", *FREE)["models"]) == 4


def test_a_folder_inside_the_folder_of_results_is_read(zoo, answered):
    answer = answered("repair", "zoo/sub", "--output-dir", "zoo", "--force", *FREE)
    assert [one["output"] for one in answer["models"]] == ["zoo/b.onnx", "zoo/deep/c.onnx"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["repair", "zoo", "--output-dir", "zoo"], "is the folder for the results, too"),
        (["repair", "zoo"], "name a folder for the results with --output-dir DIR"),
        (["repair", "zoo/a.onnx", "--jsonl"], "--jsonl is for several models"),
        (["repair", "empty", "--output-dir", "new"], "the folder empty has no .onnx file"),
        (["repair", "zoo/*.pb", "--output-dir", "new"], "no file matches zoo/*.pb"),
        (["repair", "zoo", "zoo/sub", "--output-dir", "new"], "would both be written to new"),
        (["repair", "zoo/a.onnx", "zoo/sub", "--output-dir", "zoo/sub", "--force"], "is the folder for the results"),
        (["check", "zoo", "--json", "--jsonl"], "give one of them"),
        (["opset", "zoo", "17"], "name a folder for the results with --output-dir DIR"),
        (["opset", "zoo", "--output-dir", "new"], "Missing argument 'N'"),
        (["opset", "zoo/a.onnx", "zoo/b.onnx", "--output-dir", "new"], "Missing argument 'N'"),
        (["opset", "zoo/a.onnx", "zoo/b.onnx", "zoo/sub/b.onnx", "17"], "more than two paths are given"),
        (["input-size", "zoo", "--output-dir", "new"], "Missing argument 'SIZE'"),
        (["input-size", "zoo", "8x8", "--output-dir", "new", "--ask"], "--ask asks about one model"),
        (["check", "zoo", "--html", "page.html"], "--html writes the report of one model"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(zoo, call, monkeypatch, words, says):
    Path("empty").mkdir()
    before = below(Path.cwd())
    monkeypatch.setattr(many, "WORKER", "sys:exit")
    code, _, err = call(*words)
    assert (code, says in err) == (2, True), err
    assert below(Path.cwd()) == before
    assert not Path("new").exists()


def test_two_models_that_would_have_one_name_are_both_named(zoo, call):
    _, _, err = call("repair", "zoo", "zoo/sub", "--output-dir", "new")
    assert "zoo/b.onnx and zoo/sub/b.onnx would both be written to new/b.onnx" in err


def test_a_folder_that_cannot_be_read_is_named(zoo, call, monkeypatch):
    """Root reads every folder: the walk is told what the system says to others."""
    walk = os.walk

    def refused(folder, onerror, followlinks):
        onerror(PermissionError(13, "Permission denied", "zoo/sub"))
        return walk(folder)

    monkeypatch.setattr(files.os, "walk", refused)
    code, _, err = call("inspect", "zoo")
    assert (code, "the folder zoo/sub cannot be read: Permission denied" in err) == (2, True)


def test_what_is_no_model_is_one_failure_and_costs_no_other_its_answer(zoo, answered):
    (zoo / "aa.onnx").write_bytes(b"PK\x03\x04")
    answer = answered("repair", "zoo", "--output-dir", "new", *FREE)
    assert answer["exit_code"] == 2
    assert (answer["summary"]["already"], answer["summary"]["unusable"]) == (4, 1)
    assert not Path("new/aa.onnx").exists()


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_links_are_followed_and_each_folder_is_read_once(zoo, answered):
    put(Path("elsewhere/e.onnx"))
    os.symlink("../elsewhere", zoo / "linked")
    os.symlink("..", zoo / "sub" / "up")
    os.symlink("nowhere.onnx", zoo / "dangling.onnx")
    os.symlink("a.onnx", zoo / "same.onnx")
    answer = answered("repair", "zoo", "--output-dir", "new", *FREE)
    by_name = {one["model"].removeprefix("zoo/"): one["outcome"] or "unusable" for one in answer["models"]}
    assert by_name.pop("dangling.onnx") == "unusable"
    names = {"a.onnx", "b.onnx", "linked/e.onnx", "same.onnx", "sub/b.onnx", "sub/deep/c.onnx"}
    assert by_name == dict.fromkeys(names, "already")
    assert not Path("new/same.onnx").is_symlink()


def test_hidden_files_and_folders_are_left_out(zoo, answered):
    put(zoo / ".git" / "a.onnx")
    put(zoo / "._a.onnx")
    assert answered("inspect", "zoo")["summary"]["models"] == 4


@pytest.mark.skipif(os.name == "nt" or os.uname().sysname == "Darwin", reason="names are Unicode there")
def test_a_name_that_is_not_utf_8_is_read_and_written(zoo, answered, call):
    name = os.fsdecode(b"m\xff.onnx")
    shutil.move(zoo / "a.onnx", zoo / name)
    answer = answered("repair", "zoo", "--output-dir", "new", *FREE)
    assert answer["summary"]["already"] == 4
    assert Path("new", name).exists()
    code, out, _ = call("inspect", "zoo")
    assert (code, r"zoo/m\udcff.onnx" in out) == (0, True)


def test_external_data_goes_along_and_data_of_another_model_stays(zoo, answered, call):
    external = model(SMALL.replace("(x, , s)", "(x, , s) z = Add (y, w)"))
    # Not the scales: that these stand in another file is a fault.
    external.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1], np.float32), "w"))
    onnx.save(
        external, zoo / "sub" / "b.onnx", save_as_external_data=True, location="b.data", size_threshold=0,
        convert_attribute=False,
    )  # fmt: skip
    answer = answered("legalize", "zoo", "--target", "onnxruntime", "--output-dir", "new", *FREE)
    assert answer["summary"]["already"] == 4, answer
    assert Path("new/sub/b.data").read_bytes() == (zoo / "sub/b.data").read_bytes()
    shutil.copy(zoo / "sub/b.data", zoo / "sub/c.onnx")  # data of a model that results would replace
    holder = onnx.load(zoo / "sub" / "b.onnx", load_external_data=False)
    data = holder.graph.initializer[-1].external_data
    next(entry for entry in data if entry.key == "location").value = "c.onnx"
    onnx.save(holder, zoo / "sub" / "b.onnx")
    before = (zoo / "sub/c.onnx").read_bytes()
    code, _, err = call("repair", "zoo/sub/b.onnx", "zoo/sub/deep", "--output-dir", "zoo/sub", "--force", *FREE)
    assert code == 2, err
    assert (zoo / "sub/c.onnx").read_bytes() == before


def test_quiet_prints_the_summary_alone_and_jsonl_a_line_for_each_model(zoo, call):
    assert call("inspect", "zoo", "-q")[1] == "4 models: 4 inspected\n"
    code, out, err = call("inspect", "zoo", "--jsonl")
    assert (code, err) == (0, "")
    assert [json.loads(line)["model"] for line in out.splitlines()] == [
        f"zoo/{name}" for name in ("a.onnx", "b.onnx", "sub/b.onnx", "sub/deep/c.onnx")
    ]


def test_a_row_has_the_model_its_outcome_the_seconds_and_one_reason(zoo, call):
    shutil.copy(UNET, zoo / "unet.onnx")
    _, out, _ = call("promote-scales", "zoo/a.onnx", "zoo/unet.onnx", "--output-dir", "new")
    first, second, last = (line.split(maxsplit=3) for line in out.splitlines())
    assert (first[:2], first[3]) == (["zoo/a.onnx", "changed"], "1 of 1 resize node changed")
    assert second[:2] == ["zoo/unet.onnx", "refused"]
    assert float(first[2]) > 0
    assert " ".join(last) == "2 models: 1 changed, 1 refused; results are in new"


def test_folders_of_refused_models_do_not_stay(zoo, call):
    (zoo / "bad").mkdir()
    shutil.copy(UNET, zoo / "bad" / "unet.onnx")
    call("promote-scales", "zoo", "--output-dir", "new", *FREE)
    assert Path("new/sub/deep/c.onnx").exists()
    assert not Path("new/bad").exists()


def test_two_hundred_models_start_one_process(tmp_path, answered, monkeypatch):
    started = tmp_path / "started"
    (tmp_path / "counted.py").write_text(
        "import pathlib, os\n"
        "from resizefix.cli.many import work\n"
        f"with open({str(started)!r}, 'a') as file: file.write(f'{{os.getpid()}}\\n')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(many, "WORKER", "counted:work")
    for number in range(200):
        put(tmp_path / "zoo" / f"{number}.onnx", PLAIN)
    answer = answered("inspect", tmp_path / "zoo")
    assert answer["summary"]["already"] == 200
    assert len(started.read_text().splitlines()) == 1


def test_what_a_worker_answers_is_what_the_command_alone_prints(zoo, answered):
    together = answered("inspect", "zoo")["models"]
    assert together == [answered("inspect", one["model"]) for one in together]
    assert callable(work)


def test_on_a_terminal_the_table_has_a_head(zoo):
    done = ended("-m", "resizefix", "inspect", "zoo", env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": "80"})
    head = done.stdout.splitlines()[0]
    assert all(word in head for word in ("model", "outcome", "seconds", "reason"))
    assert "\x1b[" in head


def test_a_real_network_is_promoted_as_it_is_alone(zoo, answered):
    shutil.rmtree(zoo)
    zoo.mkdir()
    shutil.copy(SRCNN, zoo / "s.onnx")
    answered("promote-scales", "zoo", "--output-dir", "new")
    answered("promote-scales", "zoo/s.onnx", "alone.onnx")
    assert Path("new/s.onnx").read_bytes() == Path("alone.onnx").read_bytes()


def test_results_that_exist_are_said_to_exist_with_the_command_that_replaces_them(zoo, call):
    command = ("repair", "zoo/sub", "--output-dir", "new", *FREE)
    call(*command)
    shutil.rmtree("new/deep")
    code, out, _ = call(*command)
    rows = out.splitlines()
    assert code == 2
    assert [row.split()[1] for row in rows[:2]] == ["exists", "already"]
    assert rows[2:4] == ["2 models: 1 already, 1 exists; results are in new", "next, to replace what exists:"]
    code, out, _ = call(*shlex.split(rows[4])[1:])
    assert (code, out.splitlines()[-1]) == (0, "2 models: 2 already; results are in new")


def test_a_row_says_the_first_of_many_reasons_and_verbosely_all(zoo, call):
    text = """(float[1,1,h,w] x) => (float[1,1,a,b] y) <float[4] s = {1, 1, 2, 2}>
        { [up] y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (x, , s) }"""
    put(zoo / "sub" / "deep" / "c.onnx", text)
    command = ("trt-legacy", "zoo/sub/deep", "--output-dir", "new", *FREE)
    (short, *_), (long, *_) = (call(*command, *more)[1].splitlines() for more in ((), ("-v",)))
    first, more, nothing = short.partition(" (and more, which -v says)")
    assert (bool(more), nothing) == (True, "")
    assert first.split("refused")[1].split(maxsplit=1)[1] in long
    assert len(first) < 450 < 900 < len(long)
