"""Workers of a folder that are killed, and Ctrl-C in the middle of one: whole files, and one answer for each model."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import onnx
import pytest
from exhaustive import EXHAUSTIVE
from fixture_models import SRCNN
from onnx_text import model

import resizefix
from resizefix.pool import Pool
from resizefix.worker import Worker

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
MODELS, LEAST_KILLED = (500, 8) if EXHAUSTIVE else (150, 3)
SMALL = """(float[1,1,4,4] x) => (float[1,1,8,8] y) <float[4] s = {1, 1, 2, 2}> { [up] y = Resize (x, , s) }"""
INSPECT = {
    "model": str(SRCNN),
    "more": (),
    "html": None,
    "markdown": None,
    "force": False,
    "timeout": None,
    "memory_limit": None,
    "as_json": True,
    "quiet": True,
    "verbose": False,
}
COMMAND = [sys.executable, "-m", "resizefix", "promote-scales", "zoo", "--output-dir", "new", "--no-verify"]


def fill(place: Path, count: int) -> list[str]:
    (place / "zoo").mkdir()
    content = model(SMALL).SerializeToString()
    names = [f"{number:03}.onnx" for number in range(count)]
    for name in names:
        (place / "zoo" / name).write_bytes(content)
    return names


def workers_of(session: int) -> list[int]:
    """The processes of this session that wait for models or work on one."""
    workers = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, of = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(of) == session and state != "Z" and b"resizefix.worker" in (folder / "cmdline").read_bytes():
                workers.append(int(folder.name))
        except OSError:
            continue
    return workers


def started(place: Path, *options: str, stdout: Any = subprocess.PIPE) -> subprocess.Popen[str]:
    (place / "new").mkdir()
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*COMMAND, *options], cwd=place, stdout=stdout, stderr=pipe, text=True, start_new_session=True
    )


def require_whole(folder: Path, names: set[str]) -> None:
    """What lies in the folder are these files, each a promoted model, and nothing unfinished."""
    assert {path.name for path in folder.iterdir()} == names
    for name in names:
        (site,) = resizefix.inspect(folder / name)
        assert site.origin.kind.value == "graph-input"


@pytest.mark.parametrize("seed", [1])
def test_every_model_is_answered_once_whenever_workers_are_killed(tmp_path, seed):
    names, chance = fill(tmp_path, MODELS), random.Random(seed)
    with open(tmp_path / "out.json", "w+", encoding="utf-8") as out:  # a pipe that nothing reads would fill up
        command, killed = started(tmp_path, "--json", "--jobs", "2", stdout=out), 0
        following = 0
        while command.poll() is None:
            time.sleep(chance.uniform(0.0, 0.05))
            workers = workers_of(command.pid)
            if workers and len(os.listdir(tmp_path / "new")) >= following:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(chance.choice(workers), signal.SIGKILL)
                    killed += 1
                following = len(os.listdir(tmp_path / "new")) + chance.randint(5, 60)
        out.seek(0)
        answer = json.load(out)
    assert [one["model"] for one in answer["models"]] == [f"zoo/{name}" for name in names]
    outcomes = [one["outcome"] for one in answer["models"]]
    assert set(outcomes) <= {"changed", "failed"}
    assert answer["summary"]["failed"] == outcomes.count("failed") <= killed
    assert answer["summary"]["not_run"] == 0
    assert all(one["exit_code"] == ("changed", "failed").index(one["outcome"]) for one in answer["models"])
    assert answer["exit_code"] == command.returncode == 1
    assert killed >= LEAST_KILLED
    print(f"{len(names)} models, {killed} workers killed: {Counter(outcomes)}")
    for one in answer["models"]:
        assert (one["output"] is None) == (one["outcome"] == "failed")
        assert one["outcome"] == "changed" or re.search("ended by signal 9.* Nothing was written.$", one["error"])
    require_whole(tmp_path / "new", {Path(one["output"]).name for one in answer["models"] if one["output"]})


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_leaves_whole_files_and_prints_what_was_done(tmp_path, as_json):
    fill(tmp_path, 120)
    command = started(tmp_path, *(["--json"] if as_json else []))
    while len(list((tmp_path / "new").glob("*.onnx"))) < 20:
        assert command.poll() is None
        time.sleep(0.02)
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=20)
    assert command.returncode == 130
    said = re.search(r"interrupted after (\d+) of 120 models; every file that was written is whole\n$", err)
    assert said is not None, err
    done = int(said[1])
    assert 20 <= done < 120
    if as_json:
        answer = json.loads(out)
        assert answer["exit_code"] == 130
        assert answer["summary"] == {
            "models": 120, "changed": done, "already": 0, "refused": 0, "failed": 0, "unusable": 0,
            "not_run": 120 - done,
        }  # fmt: skip
        names = {Path(one["model"]).name for one in answer["models"]}
    else:
        *rows, last = out.splitlines()
        assert last == f"120 models: {done} changed, {120 - done} not run; results are in new"
        names = {Path(row.split()[0]).name for row in rows}
    assert len(names) == done
    require_whole(tmp_path / "new", names)
    assert not workers_of(command.pid)


def test_a_model_whose_worker_was_killed_while_it_waited_is_no_failure(monkeypatch):
    """A process that ended before it had begun says nothing about the model that it would have got."""
    asked = Worker.ask
    killed = []

    def killed_first(worker, request, seconds=None):
        if not killed:
            killed.append(worker._running.process.pid)
            os.kill(killed[0], signal.SIGKILL)
        return asked(worker, request, seconds)

    monkeypatch.setattr(Worker, "ask", killed_first)
    with Pool("resizefix.cli.many:work", [("inspect", INSPECT)], 1) as pool:
        (answered,) = pool.answers()
    assert killed
    assert (answered.error, answered.answer["outcome"]) == (None, "already")


def test_onnx_reads_what_was_written(tmp_path):
    fill(tmp_path, 3)
    assert started(tmp_path).wait() == 0
    for path in (tmp_path / "new").iterdir():
        onnx.checker.check_model(str(path), full_check=True)
