"""Whatever happens while a file is written, the input is as it was and OUT the old file or the complete new one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import pytest
from exhaustive import EXHAUSTIVE
from hostile_models import model, resize, scales
from onnx import helper, numpy_helper
from worker import Report, Worker

from resizefix.document.document import Document

Files = dict[str, bytes]
ERRORS = ("ENOSPC", "EIO", "EROFS", "EACCES", "EDQUOT", "EFBIG", "EPERM", "EXDEV", "ENOSYS", "EINVAL")


class Save(NamedTuple):
    """A command that writes `out`, in a folder that `fill`s hold."""

    command: list[str]
    out: str
    old: bool = False  # whether OUT is there already
    external: bool = False  # whether the model keeps its weights in other files


SAVES = {
    "new": Save(["model.onnx", "out.onnx"], "out.onnx"),
    "replacing": Save(["model.onnx", "out.onnx", "--force"], "out.onnx", old=True),
    "in place": Save(["model.onnx", "--in-place"], "model.onnx"),
    "with a data file": Save(["model.onnx", "out.onnx", "--save-as-external-data"], "out.onnx"),
    "replacing, with a data file": Save(
        ["model.onnx", "out.onnx", "--force", "--save-as-external-data"], "out.onnx", old=True
    ),
    "in place, with a data file": Save(["model.onnx", "--in-place", "--save-as-external-data"], "model.onnx"),
    "beside its data": Save(["model.onnx", "out.onnx"], "out.onnx", external=True),
    "in place, with data beside it": Save(["model.onnx", "--in-place"], "model.onnx", external=True),
    "away from its data": Save(["model.onnx", "away/out.onnx"], "away/out.onnx", external=True),
    "away, replacing": Save(["model.onnx", "away/out.onnx", "--force"], "away/out.onnx", old=True, external=True),
}


def with_weights() -> onnx.ModelProto:
    weights = np.random.default_rng(0).standard_normal((2, 64, 64)).astype(np.float32)
    nodes = [
        helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(weights[0], "w")),
        helper.make_node("Add", ["x", "w"], ["t"]),
        helper.make_node("Add", ["t", "v"], ["u"]),
        resize("u"),
    ]
    inputs = [helper.make_tensor_value_info("x", 1, [1, 1, 64, 64])]
    return model(nodes, [scales(1, 1, 2, 2), numpy_helper.from_array(weights[1], "v")], inputs=inputs)


def prepared(place: Path, save: Save) -> Path:
    folder = place / "work"
    if folder.exists():
        shutil.rmtree(folder)
    (folder / "away").mkdir(parents=True)
    made = with_weights()
    if save.external:
        onnx.save(
            made, folder / "model.onnx", save_as_external_data=True, all_tensors_to_one_file=False, size_threshold=0
        )
    else:
        onnx.save(made, folder / "model.onnx")
    (folder / "model.onnx").chmod(0o640)
    if save.old:
        (folder / save.out).write_bytes(model().SerializeToString())
    return folder


def files(folder: Path) -> Files:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run(worker: Worker, folder: Path, save: Save, **fault: object) -> Report:
    return worker.run(["promote-scales", *save.command, "--no-verify"], folder=folder, fault=fault or {"count": True})


def temporary(name: str) -> bool:
    return Path(name).name.startswith(".resizefix-") and name.endswith(".tmp")


def is_old_or_new(found: Files, save: Save, old: Files, new: Files) -> str:
    """Which of the two the files are, apart from files under names that nobody reads. Anything else fails."""
    lasting = {name: content for name, content in found.items() if not temporary(name)}
    assert {name: content for name, content in lasting.items() if name in old and name != save.out} == {
        name: content for name, content in old.items() if name != save.out
    }
    if lasting.get(save.out) == new[save.out]:
        assert lasting == new
        return "new"
    assert lasting.get(save.out) == old.get(save.out)
    # A data file may be there already, whole, and the model that reads it not yet.
    assert all(new[name] == content for name, content in lasting.items() if name not in old)
    return "old"


def before_and_after(worker: Worker, place: Path, save: Save) -> tuple[Files, Files, list[str]]:
    folder = prepared(place, save)
    old = files(folder)
    report = run(worker, folder, save)
    assert report.last.code == 0, report.last
    Document.open(folder / save.out).to_proto()
    return old, files(folder), report.calls


def some(calls: list[str]) -> Iterable[int]:
    """All calls, or of several in a row of the same kind the first and the last."""
    ends = {0, len(calls) - 1}
    turning = {i for i in range(1, len(calls)) if calls[i] != calls[i - 1]}
    return range(len(calls)) if EXHAUSTIVE else sorted(ends | turning)


each_save = pytest.mark.parametrize(
    "name", SAVES if EXHAUSTIVE else ["new", "in place", "replacing, with a data file", "away, replacing"]
)


@each_save
def test_a_process_killed_at_any_call_leaves_the_old_file_or_the_new_one(worker, tmp_path, name):
    save = SAVES[name]
    old, new, calls = before_and_after(worker, tmp_path, save)
    seen = set()
    for at in some(calls):
        for how in ("kill", "kill half", "kill after") if EXHAUSTIVE else ("kill", "kill half"):
            if how == "kill half" and calls[at] not in ("write", "copy_file_range", "sendfile"):
                continue
            folder = prepared(tmp_path, save)
            report = run(worker, folder, save, at=at, how=how)
            assert report.signal == 9
            seen.add(is_old_or_new(files(folder), save, old, new))
            again = [*save.command, *(["--force"] if "--in-place" not in save.command else [])]
            if EXHAUSTIVE and files(folder).get(save.out) == old.get(save.out):
                assert run(worker, folder, save._replace(command=again)).last.code == 0
                assert is_old_or_new(files(folder), save, old, new) == "new"
    assert seen == {"old", "new"}


@each_save
@pytest.mark.parametrize("forever", [False, True])
def test_an_error_at_any_call_leaves_everything_as_it_was_or_does_not_matter(worker, tmp_path, name, forever):
    save = SAVES[name]
    old, new, calls = before_and_after(worker, tmp_path, save)
    for at in some(calls):
        for how in ERRORS if EXHAUSTIVE else ERRORS[:1]:
            folder = prepared(tmp_path, save)
            report = run(worker, folder, save, at=at, how=how, forever=forever)
            found = files(folder)
            state = is_old_or_new(found, save, old, new)
            where = f"{how} at {at} ({calls[at]})"
            assert report.last.error is None, report.last.error
            if report.last.code == 0:
                assert state == "new", where
            else:
                assert report.last.code == 2, where
                assert "cannot be written" in report.last.stderr, where
                assert state == "old", where
            if not (forever or calls[at] == "unlink"):  # what cannot be removed remains
                assert found in (old, new), where


@pytest.mark.parametrize("name", SAVES)
def test_calls_that_write_less_than_asked_are_repeated(worker, tmp_path, name):
    save = SAVES[name]
    _, new, _ = before_and_after(worker, tmp_path, save)
    folder = prepared(tmp_path, save)
    report = run(worker, folder, save, how="short")
    assert report.last.code == 0
    assert files(folder) == new


def test_in_place_keeps_the_mode_and_the_link(worker, tmp_path):
    folder = prepared(tmp_path, SAVES["in place"])
    (folder / "link.onnx").symlink_to("model.onnx")
    assert worker.run(["promote-scales", "link.onnx", "--in-place", "--no-verify"], folder=folder).last.code == 0
    assert os.readlink(folder / "link.onnx") == "model.onnx"
    assert (folder / "model.onnx").stat().st_mode & 0o777 == 0o640
    assert len(Document.open(folder / "model.onnx").proto.graph.input) == 2
