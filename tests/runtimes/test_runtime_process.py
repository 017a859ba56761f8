"""A runtime that crashes, hangs, prints, writes, calls home or takes all memory costs its own process and no more.

The runtime is a package `openvino` of a few lines, in another Python: what it does, a real one may do.
"""

import contextlib
import os
import stat
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from live_runtimes import asked
from onnx_text import model

from resizefix.runtimes.catalogue import RUNTIMES, runtime_named
from resizefix.runtimes.runtime import Ending, LiveUnavailable, Runtime, RuntimeAnswer

MODEL = model("(float[1,1,2,2] x) => (float[1,1,2,2] y) { y = Relu (x) }")
X = {"x": np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)}
OPENVINO = """
import ctypes, os, signal, socket, subprocess, sys, time
__version__ = "1.2.3-4"
libc = ctypes.CDLL(None, use_errno=True)
def write(fd, data):
    try: os.write(fd, data)
    except OSError: pass
def on_load(): {on_load}
def on_run(): {on_run}
class Tensor:
    def get_names(self): return {{"x"}}
class Compiled:
    inputs = outputs = [Tensor()]
    def __call__(self, feeds):
        on_run()
        return [feeds["x"]]
class Core:
    def read_model(self, path): return path
    def compile_model(self, model, device, configuration):
        on_load()
        return Compiled()
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="native code is held back on Linux alone")


@pytest.fixture
def openvino(tmp_path):
    """A Python with a package `openvino` that does this."""
    opened = []

    def made(on_load: str = "pass", on_run: str = "pass", **limits: float) -> Runtime:
        place = tmp_path / "packages"
        place.mkdir()
        (place / "openvino.py").write_text(OPENVINO.format(on_load=on_load, on_run=on_run))
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={place} exec {sys.executable} "$@"\n')
        python.chmod(python.stat().st_mode | stat.S_IXUSR)
        opened.append(Runtime(runtime_named("openvino"), python=str(python), **limits))
        return opened[-1]

    yield made
    for runtime in opened:
        runtime.__exit__()


def test_what_it_prints_is_kept_and_neither_shown_nor_taken_for_an_answer(openvino, capfd):
    speak = 'os.write(1, b"on fd 1\\n"); os.write(2, b"on fd 2\\n"); print("from Python"); raise ValueError("no")'
    answer = asked(openvino(on_load=speak), MODEL, X)
    assert (answer.ending, answer.runtime) == (Ending.REFUSED_LOAD, "OpenVINO 1.2.3")
    assert answer.message == "no [on fd 1 / on fd 2 / from Python]"
    assert capfd.readouterr() == ("", "")


def test_what_a_runtime_says_on_several_lines_is_one_paragraph(openvino):
    answer = asked(openvino(on_load='raise ValueError("Check failed\\n   at line 2:\\nno")'), MODEL, X)
    assert answer.message == "Check failed at line 2: no"


def test_a_runtime_that_prints_without_end_is_given_its_time_and_takes_no_memory_here(openvino):
    began = time.monotonic()
    answer = asked(openvino(on_run="exec(\"while True: os.write(1, b'x' * 65536)\")", time_limit=1.5), MODEL, X)
    assert answer.ending is Ending.LATE
    assert answer.message == "OpenVINO 1.2.3 did not answer within 1.5 s"
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("os.abort()", "aborted"),
        ("ctypes.string_at(0)", "crashed (SIGSEGV)"),
        ("os._exit(0)", "ended with exit code 0"),
        ("os._exit(3)", "ended with exit code 3"),
    ],
)
def test_a_crash_is_a_result_at_the_step_where_it_came(openvino, does, said):
    runtime = openvino(on_run=f'print("last words", flush=True); {does}')
    for _ in range(2):  # the process is replaced
        answer = asked(runtime, MODEL, X)
        assert answer.ending is Ending.CRASHED_RUN
        assert answer.message == f"OpenVINO 1.2.3 {said} while it ran the model [last words]"


def test_a_crash_at_load_is_reported_from_one_at_run(openvino):
    answer = asked(openvino(on_load="os.abort()"), MODEL, X)
    assert answer.ending is Ending.CRASHED_LOAD
    assert answer.message == "OpenVINO 1.2.3 aborted while it loaded the model"


def test_a_runtime_that_hangs_is_ended_with_all_its_processes(openvino, tmp_path):
    runtime = openvino(on_load="subprocess.Popen(['sleep', '600.125']).wait()", time_limit=1.5)
    assert asked(runtime, MODEL, X).ending is Ending.LATE
    end = time.monotonic() + 5  # a process that was killed is gone a moment later
    while b"sleep\x00600.125\x00" in running() and time.monotonic() < end:
        time.sleep(0.05)
    assert b"sleep\x00600.125\x00" not in running()


def running():
    """The words of every process of this machine."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            commands.append(path.read_bytes())
    return commands


@linux
def test_it_gets_no_more_memory_than_allowed(openvino):
    answer = asked(openvino(on_load="bytearray(1 << 31)", memory=2**30), MODEL, X)
    assert (answer.ending, answer.message) == (Ending.REFUSED_LOAD, "MemoryError")


@linux
@pytest.mark.parametrize(
    "does",
    [
        "open({path!r}, 'w')",
        "os.close(libc.open({path!r}.encode(), os.O_CREAT | os.O_WRONLY, 0o644))",
        "os.mkdir({path!r})",
        "subprocess.run(['sh', '-c', 'echo x > ' + {path!r}], check=True)",
    ],
)
def test_it_writes_in_its_folder_alone(openvino, tmp_path, does):
    path = str(tmp_path / "written")
    runtime = openvino(on_load="open('here', 'w').write('x'); " + does.format(path=path))
    answer = asked(runtime, MODEL, X)
    assert answer.ending is Ending.REFUSED_LOAD
    assert not os.path.exists(path)
    assert (runtime.folder / "here").read_text() == "x"


@linux
@pytest.mark.parametrize(
    "does",
    [
        "socket.create_connection(('127.0.0.1', 9), 1)",
        "subprocess.run([sys.executable, '-c', 'import socket; socket.socket()'], check=True)",
        "exec('assert libc.socket(2, 1, 0) >= 0')",
        "exec('assert libc.socket(10, 2, 0) >= 0')",
    ],
)
def test_it_reaches_no_network(openvino, does):
    assert asked(openvino(on_load=does), MODEL, X).ending is Ending.REFUSED_LOAD


def test_a_process_broken_by_a_model_makes_no_objects_here(openvino, tmp_path):
    """It answers with a pickle that would run a command."""
    forged = f"cos\nsystem\n(S'touch {tmp_path}/made'\ntR.".encode()
    runtime = openvino(on_load=f"[write(fd, {forged!r}) for fd in range(3, 20)]")
    answer = asked(runtime, MODEL, X)
    assert answer.ending is Ending.CRASHED_LOAD
    assert not (tmp_path / "made").exists()


def test_its_folder_goes_with_it(openvino):
    runtime = openvino()
    answer = asked(runtime, MODEL, X, {"x": -X["x"]})
    assert answer == RuntimeAnswer("OpenVINO 1.2.3", Ending.RAN, "", answer.results)
    assert [result["y"].tolist() for result in answer.results] == [X["x"].tolist(), (-X["x"]).tolist()]
    assert runtime.folder.exists()
    runtime.__exit__()
    assert not runtime.folder.exists()


def test_a_missing_runtime_gets_the_command_that_installs_it(tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # no site-packages
    python.chmod(0o755)
    for name, row in RUNTIMES.items():
        with Runtime(row, python=str(python)) as runtime:
            # numpy is missing there too, which is said in the same way
            answer = asked(runtime, MODEL, X)
        assert isinstance(answer, LiveUnavailable), name
        assert f"pip install {row.install}" in answer.reason
        assert f"runtime_python={{{name!r}: PATH}}" in answer.reason


def test_a_python_that_is_none_is_no_error_here(tmp_path):
    with Runtime(runtime_named("openvino"), python=str(tmp_path / "nothing")) as runtime:
        answer = asked(runtime, MODEL, X)
    assert "nothing does not start" in answer.reason


def test_the_python_may_be_named_by_the_environment(monkeypatch):
    monkeypatch.setenv("RESIZEFIX_OPENCV_4_PYTHON", "/somewhere/python")
    with Runtime(runtime_named("opencv-4")) as runtime:
        assert runtime.python == "/somewhere/python"
    with Runtime(runtime_named("opencv-4"), python="/elsewhere/python") as runtime:
        assert runtime.python == "/elsewhere/python"
