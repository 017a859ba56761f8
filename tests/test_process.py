"""The process that a command works in can be ended at any time, and takes no more than it was given."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import onnx
import pytest
from child_python import ended
from exhaustive import EXHAUSTIVE
from onnx_text import model

import resizefix
from resizefix import process

resource = pytest.importorskip("resource")
RESIZEFIX = [sys.executable, "-m", "resizefix"]
pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="commands run in a process of their own where one forks"
)

SIMPLE = """(float[1,1,8,8] x) => (float[1,1,16,16] y) <float[4] s = {1, 1, 2, 2}> { [up] y = Resize (x, , s) }"""
# Nothing ends one node from outside, and no look at the clock between two nodes ends it either.
ONE_NODE = """(float[1,1,8,8] x) => (float[1,1,16,16] y, float[9000,9000] z)
    <float[4] s = {1, 1, 2, 2}, int64[2] many = {9000, 9000}>
    { [up] y = Resize (x, , s) a = ConstantOfShape (many) [slow] z = MatMul (a, a) }"""
LOOP = """(float[1,1,8,8] x) => (float[1,1,16,16] y, float z)
    <float[4] s = {1, 1, 2, 2}, int64 n = {4611686018427387904}, bool t = {1}, float zero = {0}>
    { [up] y = Resize (x, , s) z = Loop (n, t, zero) <body = b (int64 i, bool c, float a) => (bool c2, float a2)
      { c2 = Identity (c) a2 = Identity (a) }> }"""
COMMANDS = [
    "promote-scales model.onnx out.onnx",
    "trt-legacy model.onnx out.onnx --json",
    "verify model.onnx model.onnx",
    "promote-scales model.onnx other.onnx third.onnx --output-dir out --jobs 2",
    "promote-scales model.onnx out.onnx --timeout 100 --memory-limit 20G",
]


FILLED = ("model", "other", "third")


def fill(place: Path, text: str) -> None:
    for name in FILLED:
        onnx.save(model(text), place / f"{name}.onnx")
    resizefix.promote_scales(place / "model.onnx", verify=False).model.save(place / "promoted.onnx")


def running_below(pid: int) -> set[int]:
    """The processes that a process started, and those that they did."""
    found: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state != "Z":
                found.setdefault(int(parent), []).append(int(folder.name))
    below: set[int] = set()
    waiting = [pid]
    while waiting:
        children = found.get(waiting.pop(), [])
        below.update(children)
        waiting += children
    return below


@pytest.mark.parametrize(("line", "text"), [*((line, ONE_NODE) for line in COMMANDS), (COMMANDS[0], LOOP)])
def test_ctrl_c_ends_a_command_within_a_second_whatever_onnxruntime_does(tmp_path, line, text):
    place = tmp_path
    fill(place, text)
    before = sorted(path.name for path in place.iterdir())
    command = subprocess.Popen(
        [*RESIZEFIX, *line.split()], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not computes(below := running_below(command.pid)):
        assert command.poll() is None
        time.sleep(0.05)
    time.sleep(0.2)
    share = max(os.getloadavg()[0] / (os.cpu_count() or 1), 1.0)  # of the machine is not this test's
    began = time.monotonic()
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=10)
    assert time.monotonic() - began < 1 * share
    name = line.split()[0]
    is_many = "--output-dir" in line
    why = "after 0 of 3 models; every file that was written is whole" if is_many else "; nothing was written"
    assert (command.returncode, err) == (130, f"resizefix {name}: interrupted{' ' * is_many}{why}\n")
    shown = "3 models: 3 not run\n" if is_many else ""
    assert json.loads(out)["exit_code"] == 130 if "--json" in line else out == shown
    assert below
    while any(is_running(pid) for pid in below):
        assert time.monotonic() - began < 1 * share
    assert sorted(path.name for path in place.iterdir()) in (before, sorted([*before, "out"]))


def computes(pids: set[int]) -> bool:
    """Whether a model runs in one of these processes: with its first run, a second thread starts to keep the time."""
    return any(len(list(Path("/proc").glob(f"{pid}/task/[0-9]*"))) > 1 for pid in pids)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def run(line: str, place: Path, **limits: int) -> tuple[int, str, str]:
    """The exit code and both streams of a command, under `ulimit` of these kinds."""

    def limit() -> None:
        for kind, most in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{kind}"), (most, most))

    done = ended("-m", "resizefix", *line.split(), cwd=place, preexec_fn=limit)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("line", "megabytes"),
    [
        *(("inspect model.onnx --json", most) for most in (60, 150)),
        *(("promote-scales model.onnx out.onnx --json", most) for most in (60, 100, 150, 300)),
    ],
)
def test_too_little_memory_is_a_sentence_and_one_document(tmp_path, line, megabytes):
    fill(tmp_path, SIMPLE)
    code, out, err = run(line, tmp_path, AS=megabytes << 20)
    answer = json.loads(out)
    assert answer["exit_code"] == code
    assert (code == 0) == (answer["error"] is None) == (err == "") == (
        tmp_path / "out.onnx"
    ).exists() or "inspect" in line
    assert "error in resizefix" not in err
    assert err.count("\n") <= 1


@pytest.mark.parametrize("megabytes", [1200, 2500, 4500] if EXHAUSTIVE else [1200, 4500])
def test_too_little_memory_for_another_scale_is_no_size_that_must_fit(tmp_path, megabytes):
    """Of the limit, two more tensors are left or less than one, whatever was estimated."""
    whole = "float[1,64,256,256] x) => (float[1,64,2048,2048] y, float[1,64,2048,2048] z"
    scales = "float[4] s = {1, 1, 8, 8}"
    onnx.save(
        model(f'({whole}) <{scales}> {{ y = Resize <mode = "nearest"> (x, "", s) z = Relu (y) }}'),
        tmp_path / "model.onnx",
    )
    code, _, err = run("promote-scales model.onnx out.onnx", tmp_path, AS=megabytes << 20)
    assert "must fit" not in err
    assert code == 0 or "too little memory" in err


@pytest.mark.parametrize("files", [5, 8, 12])
def test_too_few_open_files_too(tmp_path, files):
    fill(tmp_path, SIMPLE)
    code, out, err = run("promote-scales model.onnx out.onnx --json", tmp_path, NOFILE=files)
    assert json.loads(out)["exit_code"] == code
    assert (code == 0) == (err == "") == (tmp_path / "out.onnx").exists()
    assert "error in resizefix" not in err
    assert "\x1b" not in err


@pytest.mark.parametrize("line", ["promote-scales {} out.onnx", "promote-scales model.onnx out.onnx", "inspect {}"])
def test_a_folder_that_is_gone_is_named(tmp_path, line):
    fill(tmp_path, SIMPLE)
    gone = tmp_path / "gone"
    gone.mkdir()
    command = " ".join([*RESIZEFIX, line.format(tmp_path / "model.onnx")])
    done = subprocess.run(["sh", "-c", f"rmdir {gone}; {command}"], cwd=gone, capture_output=True, text=True)
    assert "error in resizefix" not in done.stderr
    assert done.returncode == 2 or line == "inspect {}"
    assert not done.stderr or "no longer exists" in done.stderr or "there is no such file" in done.stderr


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (signal.SIGALRM, "time was up after 5 s (--timeout)"),
        (signal.SIGSEGV, "was ended by signal 11; it was allowed 1.0 GiB of memory (--memory-limit)"),
    ],
)
def test_a_process_that_is_ended_is_named_and_leaves_no_file(tmp_path, number, sentence):
    program = f"""
import os, sys
import resizefix
from resizefix import process
from resizefix.cli import main
note = process.note
def die_before_placing(**facts):
    if facts.get("placing"):
        note(seconds=5, memory=2**30)
        os.kill(os.getpid(), {number})
    note(**facts)
process.note = die_before_placing
main()
"""
    fill(tmp_path, SIMPLE)
    done = ended("-c", program, "promote-scales", "model.onnx", "out.onnx", "--no-verify", cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.endswith("Nothing was written.\n")
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.onnx" for name in (*FILLED, "promoted")}


def test_what_a_process_may_take_is_bounded_by_default(tmp_path):
    fill(tmp_path, SIMPLE)
    program = """
import resource, signal, sys
from resizefix.cli import main, envelope
found = []
monitored = envelope.process.bound
def bound(*limits):
    monitored(*limits)
    print(resource.getrlimit(resource.RLIMIT_DATA)[0], signal.getitimer(signal.ITIMER_REAL)[0], file=sys.stderr)
envelope.process.bound = bound
main()
"""
    for line in ("inspect model.onnx", "check model.onnx --target onnxruntime", "diff model.onnx other.onnx"):
        memory, seconds = ended("-c", program, *line.split(), cwd=tmp_path).stderr.split()[:2]
        assert 0 < int(memory) <= process.free_memory()
        assert 300 <= float(seconds) <= 610


def test_the_process_that_watches_loads_nothing_that_starts_threads():
    code = "import sys, resizefix.cli; from resizefix import process; print(*sys.modules.keys() & set(process._HEAVY))"
    assert ended("-c", code).stdout.split() == []


def test_a_command_works_in_a_process_that_another_one_watches(tmp_path):
    fill(tmp_path, SIMPLE)
    code = """
import os
from resizefix import cli
run = cli._run
cli._run = lambda invocation: print("works in a child of", os.getppid(), flush=True) or run(invocation)
print("watched by", os.getpid(), flush=True)
cli.main()
"""
    done = ended("-c", code, "inspect", "model.onnx", "other.onnx", cwd=tmp_path)
    watching, working = done.stdout.splitlines()[:2]
    assert watching.removeprefix("watched by") == working.removeprefix("works in a child of"), done.stderr


def test_ctrl_c_while_the_command_line_loads_ends_without_a_traceback():
    code = (
        "import sys, runpy\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'resizefix.cli':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "runpy.run_module('resizefix', run_name='__main__')\n"
    )
    done = ended("-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_limit_that_the_system_refuses_is_left_out(monkeypatch):
    """As macOS does at times."""
    noted = {}

    def refused(*_):
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(process, "_watched", True)
    monkeypatch.setattr(process, "_end_with_parent", lambda: None)
    monkeypatch.setattr(process, "note", lambda **facts: noted.update(facts))
    monkeypatch.setattr(signal, "setitimer", lambda *_: None)
    monkeypatch.setattr(resource, "setrlimit", refused)
    process.bound(5, None, 2)
    assert noted == {"seconds": 5, "code": 2}
