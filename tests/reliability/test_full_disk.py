"""Where there is no room or no right to write, all files stay as they were, and a sentence says why."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from exhaustive import EXHAUSTIVE
from saves import SAVES, before_and_after, files, prepared, run

PAGE = 4096
each_save = pytest.mark.parametrize(
    "name", SAVES if EXHAUSTIVE else ["replacing", "in place, with a data file", "away from its data"]
)


def refused(report, because):
    last = report.last
    assert last.error is None, last.error
    return last.code == 2 and f"cannot be written: {because}. Nothing was changed." in " ".join(last.stderr.split())


@each_save
def test_a_file_that_may_not_become_large_enough_is_not_written(worker, tmp_path, name):
    save = SAVES[name]
    before_and_after(worker, tmp_path, save)
    written = [path.stat().st_size for path in (tmp_path / "work").rglob("*") if path.is_file()]
    needed = max(written)
    outcomes = set()
    for limit in (needed // 4, needed - 1, needed):
        folder = prepared(tmp_path, save)
        old = files(folder)
        report = worker.run(["promote-scales", *save.command, "--no-verify"], folder=folder, file_bytes=limit)
        outcomes.add(report.last.code)
        if report.last.code != 0:
            assert refused(report, "File too large")
            assert files(folder) == old
    assert outcomes == {0, 2}


@pytest.fixture
def disk(tmp_path):
    """A file system of its own, whose size `resized` sets."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"a file system cannot be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def remounted(disk, options):
    subprocess.run(["mount", "-o", f"remount,{options}", disk], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts as Linux does")
@each_save
def test_a_full_disk_leaves_all_as_it_was(worker, disk, name):
    save = SAVES[name]
    _, new, _ = before_and_after(worker, disk, save)
    outcomes = []
    for pages in (0, 1, 5, 9, 10, 30):  # OUT is 10 pages large
        remounted(disk, "size=1m")
        folder = prepared(disk, save)
        old = files(folder)
        state = os.statvfs(disk)
        used = state.f_blocks - state.f_bfree
        remounted(disk, f"nr_blocks={used + pages},size={(used + pages) * PAGE}")
        report = run(worker, folder, save)
        outcomes.append(report.last.code)
        if report.last.code == 0:
            assert files(folder) == new
        else:
            assert refused(report, "No space left on device")
            assert files(folder) == old
    assert outcomes[0] == 2
    assert outcomes[-1] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="mounts as Linux does")
@each_save
def test_a_disk_that_may_only_be_read_leaves_all_as_it_was(worker, disk, name):
    folder = prepared(disk, SAVES[name])
    old = files(folder)
    remounted(disk, "ro")
    assert refused(run(worker, folder, SAVES[name]), "Read-only file system")
    assert files(folder) == old


@each_save
def test_a_folder_that_may_not_be_written_leaves_all_as_it_was(worker, tmp_path, name):
    save = SAVES[name]
    folder = prepared(tmp_path, save)
    old = files(folder)
    target = (folder / save.out).parent
    target.chmod(0o555)
    try:
        report = worker.run(["promote-scales", *save.command, "--no-verify"], folder=folder, unprivileged=True)
    finally:
        target.chmod(0o755)
    assert refused(report, "Permission denied")
    assert files(folder) == old


def test_a_model_that_may_not_be_read_is_said_to_be_so(worker, tmp_path):
    folder = prepared(tmp_path, SAVES["new"])
    (folder / "model.onnx").chmod(0)
    report = worker.run(["promote-scales", "model.onnx", "out.onnx"], folder=folder, unprivileged=True)
    assert report.last.code == 2
    assert "'model.onnx' is not readable" in report.last.stderr


def test_a_file_that_may_not_be_written_is_replaced_where_its_folder_may(worker, tmp_path):
    """As `mv` and `sed -i` do: a file is protected by the folder that holds its name. It stays read-only."""
    folder = prepared(tmp_path, SAVES["in place"])
    (folder / "model.onnx").chmod(0o444)
    old = files(folder)
    command = ["promote-scales", *SAVES["in place"].command, "--no-verify"]
    assert worker.run(command, folder=folder, unprivileged=True).last.code == 0
    assert files(folder) != old
    assert (folder / "model.onnx").stat().st_mode & 0o777 == 0o444


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
@pytest.mark.parametrize(
    "arguments",
    [
        "inspect model.onnx",
        "inspect model.onnx --json",
        "--help",
        "inspect nowhere",
        "promote-scales model.onnx out.onnx",
    ],
)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_an_answer_that_cannot_be_printed_is_no_traceback(commands, tmp_path, arguments, stream):
    folder = prepared(tmp_path, SAVES["new"])
    done = commands.run(arguments.split(), folder, **{stream: os.open("/dev/full", os.O_WRONLY)})
    silent = "out.onnx" in arguments or (stream == "stderr" and "nowhere" not in arguments)
    assert done.code == (0 if silent else 2)
    if stream == "stdout" and "nowhere" not in arguments:
        assert done.stderr == "resizefix: the answer cannot be printed: No space left on device\n"
