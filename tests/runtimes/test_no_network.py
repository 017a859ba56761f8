"""No command and no call looks up a host, or writes outside OUT's folder and the temporary one: every system call that
opens a socket or makes a file is read out of strace.

onnxruntime ≥ 1.29 has a client that reports to its vendor: at the import it writes below the home folder, and nine
seconds after a session, and every five after that, it looks up a host. So one process that had sessions stays until
30 s after its first one, and 15 s after its last, while all other tests of this file run. The compiled Python files
are left out: pip writes them.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import onnxruntime
import pytest
from click import Context
from live_runtimes import why_missing

from resizefix.cli import group
from resizefix.runtimes.catalogue import ROWS, RUNTIMES
from resizefix.runtimes.tensorrt import unavailable

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "fixtures" / "srcnn_x3_opset11.onnx"
STRACE = shutil.which("strace")
CALLS = "socket,connect,open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,symlink,symlinkat"
WRITING = re.compile(r"O_(?:WRONLY|RDWR|CREAT)")
# `openat(AT_FDCWD</here>, "name", …) = 3</here/name>`: names are whole behind -y, but for those that other calls take.
OPENED = re.compile(r"= \d+<(?P<path>[^>]*)>")
NAMED = re.compile(r'(?:<(?P<folder>/[^>]*)>, )?"(?P<name>[^"]*)"')
STAYS = 30
COMMANDS = (
    ("inspect", "in.onnx"),
    ("promote-scales", "in.onnx", "promoted.onnx", "--keep-default"),
    ("freeze-scales", "promoted.onnx", "frozen.onnx"),
    ("trt-legacy", "in.onnx", "legacy.onnx", "--allow-inexact"),
    ("legalize", "in.onnx", "legal.onnx", "--target", "onnxruntime", "--fastest"),
    ("check", "in.onnx", "--html", "check.html"),
    ("verify", "in.onnx", "promoted.onnx"),
    ("diff", "in.onnx", "promoted.onnx"),
    ("repair", "in.onnx", "repaired.onnx"),
    ("input-size", "in.onnx", "sized.onnx", "32x32"),
    ("opset", "in.onnx", "opset.onnx", "9", "--allow-inexact"),
    ("set", "in.onnx", "set.onnx", "mode=linear"),
    ("explain", "Attribute not found: height_scale", "in.onnx"),
    ("target", "new", "my-npu"),
    ("check", "in.onnx", "--target", "my-npu.toml"),
    ("promote-scales", "in.onnx", "frozen.onnx", "--output-dir", "many", "--jobs", "2"),
)
# What the process of a command does at its end, and what its workers do: the others run in one process, one by one.
PROCESSES = (1, len(COMMANDS) - 1)
IN_ONE = f"""
from resizefix.cli import main
for words in {[list(words) for place, words in enumerate(COMMANDS) if place not in PROCESSES]}:
    try:
        main(words)
    except SystemExit as ended:
        assert ended.code in (0, 1, None), words
"""
LIBRARY = f"""
import contextlib, time, resizefix
resizefix.promote_scales("in.onnx", keep_default=True, timeout=60).model.save("promoted.onnx")
until = time.monotonic() + {STAYS}
for call in (
    lambda: resizefix.inspect("in.onnx"),
    lambda: resizefix.freeze_scales("promoted.onnx"),
    lambda: resizefix.trt_legacy("in.onnx", allow_inexact=True),
    lambda: resizefix.legalize("in.onnx", target="tensorrt-5.0", allow_inexact=True),
    lambda: resizefix.check("in.onnx", target="tensorrt-10"),
    lambda: resizefix.verify("in.onnx", "promoted.onnx"),
    lambda: resizefix.diff("in.onnx", "promoted.onnx"),
    lambda: resizefix.repair("in.onnx"),
    lambda: resizefix.opset("in.onnx", opset=18),
    lambda: resizefix.input_size("in.onnx", size=(32, 32)),
    lambda: resizefix.set_interpolation("in.onnx", mode="linear"),
    lambda: resizefix.explain("Attribute not found: height_scale"),
):
    with contextlib.suppress(resizefix.RefusedError):
        call()
time.sleep(max(until - time.monotonic(), {STAYS} / 2))  # also the last call has the first look-up behind it
"""

traced_only = pytest.mark.skipif(STRACE is None, reason="strace is not installed")


class Place:
    """A folder to work in, a temporary folder and a home, all empty but for the model."""

    def __init__(self, folder: Path) -> None:
        self.out, self.temporary, self.home, self.logs = (folder / name for name in ("out", "tmp", "home", "logs"))
        for made in (self.out, self.temporary, self.home, self.logs):
            made.mkdir(parents=True)
        shutil.copy(MODEL, self.out / "in.onnx")
        dropped = ("CI", "GITHUB_ACTIONS", "ORT_RUNNING_UNIT_TESTS", "ORT_DISABLE_TELEMETRY", "PYTEST_CURRENT_TEST")
        kept = {name: value for name, value in os.environ.items() if name not in dropped and "XDG" not in name}
        self.environment = {
            **kept,
            **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self.temporary)),
            "HOME": str(self.home),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def start(self, *words: str, traced: bool = True) -> subprocess.Popen[str]:
        """A Python with these words on its command line."""
        trace = [
            STRACE,
            "-ff",
            "--seccomp-bpf",
            "-qq",
            "-y",
            "-s",
            "4096",
            "-e",
            f"trace={CALLS}",
            "-o",
            str(self.logs / "log"),
        ]
        command = [*(trace if traced else ()), sys.executable, *words]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen(
            command, cwd=self.out, env=self.environment, text=True, start_new_session=True, **streams
        )

    def run(self, *words: str, traced: bool = True) -> None:
        """A command, which must give an answer."""
        self.python("-m", "resizefix", *words, traced=traced)

    def python(self, *words: str, traced: bool = True) -> None:
        """A Python with these words, which must end by itself."""
        started = self.start(*words, traced=traced)
        said, _ = started.communicate()
        assert started.returncode in (0, 1), (words, said)
        assert "Traceback" not in said, (words, said)

    def strayed(self) -> list[str]:
        """The system calls that opened a socket to the internet, or made a file that is none of the user's."""
        lines = (line for log in self.logs.iterdir() for line in log.read_text(errors="replace").splitlines())
        return [line for line in lines if self._is_stray(line)]

    def left(self) -> list[str]:
        """What stands in the home and the temporary folder."""
        return [str(path) for folder in (self.home, self.temporary) for path in folder.rglob("*")]

    def _is_stray(self, line: str) -> bool:
        call, _, rest = line.partition("(")
        if call in ("socket", "connect"):
            return "AF_INET" in rest or "resolve" in rest
        if re.search(r"= -\d", rest):
            return False
        if call.startswith("open"):
            opened = OPENED.search(rest)
            return opened is not None and bool(WRITING.search(rest)) and self._is_outside(opened["path"])
        # A name alone is below the folder of the process, which is one of the two.
        names = (os.path.join(named["folder"] or "", named["name"]) for named in NAMED.finditer(rest))
        return any(self._is_outside(name) for name in names if name.startswith("/"))

    def _is_outside(self, path: str) -> bool:
        whole = os.path.realpath(path)
        return not whole.startswith((str(self.out.resolve()), str(self.temporary.resolve()), "/dev/", "/proc/self/"))


@pytest.fixture(scope="module")
def stays(tmp_path_factory):
    """A process that makes every call of the library and stays, and the place where it works."""
    place = Place(tmp_path_factory.mktemp("stays"))
    library = place.start("-c", LIBRARY)
    yield library, place
    if library.poll() is None:  # no test waited for it
        os.killpg(library.pid, signal.SIGKILL)
        library.communicate()


@traced_only
@pytest.mark.usefixtures("stays")
def test_no_command_reaches_a_network_or_leaves_a_file(tmp_path):
    place = Place(tmp_path)
    first, last = (COMMANDS[number] for number in PROCESSES)
    place.run(*first)
    place.python("-c", IN_ONE)
    place.run(*last)
    assert place.strayed() == []
    assert place.left() == []


@traced_only
def test_no_runtime_that_is_asked_reaches_a_network_or_leaves_a_file(tmp_path):
    """Each is a process of its own below the one command."""
    asked = [name for name in dict.fromkeys(row.target for row in ROWS) if name in RUNTIMES and not why_missing(name)]
    asked += [] if unavailable() else ["tensorrt-rtx"]
    place = Place(tmp_path)
    place.run("check", "in.onnx", "--live", *(f"--target={target}" for target in asked))
    assert place.strayed() == []
    assert place.left() == []


def test_commands_leave_nothing_behind_where_no_system_call_is_traced(tmp_path):
    place = Place(tmp_path)
    place.run("promote-scales", "in.onnx", "promoted.onnx", traced=False)
    assert place.left() == []
    assert sorted(path.name for path in place.out.iterdir()) == ["in.onnx", "promoted.onnx"]


@traced_only
@pytest.mark.skipif(
    sys.platform != "linux" or tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 29),
    reason="onnxruntime reports nothing on Linux before 1.29",
)
def test_who_says_otherwise_in_the_environment_is_obeyed_and_the_trace_shows_it(tmp_path):
    place = Place(tmp_path)
    place.environment["ORT_DISABLE_TELEMETRY"] = "0"
    place.run("promote-scales", "in.onnx", "promoted.onnx")
    assert any(str(place.home) in line for line in place.strayed())


def test_every_command_is_among_those_that_are_traced():
    assert {command for command, *_ in COMMANDS} == set(group.list_commands(Context(group)))


def test_it_is_said_before_onnxruntime_is_imported_and_to_one_that_was_there_before(tmp_path):
    said = (
        "import os, sys, resizefix.runtimes; print(os.environ['ORT_DISABLE_TELEMETRY'], 'onnxruntime' in sys.modules)"
    )
    place = Place(tmp_path)
    assert place.start("-c", said, traced=False).communicate()[0].split() == ["1", "False"]
    place.environment["ORT_DISABLE_TELEMETRY"] = "0"
    assert place.start("-c", said, traced=False).communicate()[0].split() == ["0", "False"]
    del place.environment["ORT_DISABLE_TELEMETRY"]
    early = "import onnxruntime as ort; ort.disable_telemetry_events = lambda: print('told'); "
    early += "import resizefix.runtimes.ort_session"
    assert place.start("-c", early, traced=False).communicate()[0].split() == ["told"]


@traced_only
def test_no_call_reaches_a_network_or_leaves_a_file_also_half_a_minute_later(stays):
    library, place = stays
    said, _ = library.communicate()
    assert library.returncode == 0, said
    assert place.strayed() == []
    assert place.left() == []
