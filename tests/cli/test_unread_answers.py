"""A reader that goes away (`| head -1`) changes neither files nor the exit code. With a closed stdout (`>&-`), as with
a full disk behind it, the exit code is 0 if and only if OUT is there."""

import errno
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from fixture_models import FIXTURES, SRCNN
from forked_commands import Commands

import resizefix
from resizefix.cli import streams
from resizefix.reports import text

RESIZEFIX = [sys.executable, "-m", "resizefix"]
# The code is that of the answer, whoever reads it.
READING = [
    ("inspect model.onnx", 0),
    ("inspect model.onnx other.onnx", 0),
    ("inspect model.onnx --markdown", 0),
    ("inspect model.onnx --html page.html --json", 0),
    ("check model.onnx --target onnxruntime --json", 0),
    ("check model.onnx --target tensorrt-5.0", 1),
    ("check --target list", 0),
    ("verify model.onnx model.onnx --json", 0),
    ("diff model.onnx model.onnx", 0),
    ("diff model.onnx other.onnx", 1),
    ("diff model.onnx other.onnx --json", 1),
]
WRITING = [
    "promote-scales model.onnx out.onnx",
    "freeze-scales other.onnx out.onnx --set /Resize_scales=1,1,2,2 --no-verify --json",
    "trt-legacy model.onnx out.onnx --no-verify",
    "legalize model.onnx out.onnx --target tensorrt-8.0 --no-verify --json",
    "promote-scales model.onnx --in-place --no-verify",
]
SHORT = [
    ("--help", 0),
    ("--version", 0),
    ("promote-scales --help", 0),
    ("check --version", 0),
    ("", 2),
    ("inspect --nonsense", 2),
    ("inspect missing.onnx", 2),
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`model.onnx`, and `other.onnx`, in which its scales are promoted."""
    folder = tmp_path_factory.mktemp("models")
    shutil.copy(FIXTURES / "srcnn_x3_opset11.onnx", folder / "model.onnx")
    resizefix.promote_scales(folder / "model.onnx", verify=False).model.save(folder / "other.onnx")
    return folder


@pytest.fixture
def place(models: Path, tmp_path: Path) -> Path:
    for model in models.iterdir():
        shutil.copy(model, tmp_path)
    return tmp_path


@pytest.fixture
def unread(commands: Commands, place: Path) -> Callable[..., tuple[int, str]]:
    """The exit code and stderr of a command whose stdout nobody reads."""

    def run(line: str, *, unbuffered: bool = False, both: bool = False) -> tuple[int, str]:
        writer = nobody()
        settings = {**os.environ, "PYTHONUNBUFFERED": "1" if unbuffered else ""}
        done = commands.run(
            line.split(), place, stdout=writer, stderr=os.dup(writer) if both else None, settings=settings
        )
        return done.code, done.stderr

    return run


def nobody() -> int:
    """A pipe to write into that nothing reads."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def started(line: str, place: Path) -> tuple[int, str]:
    """The same of an interpreter that is started for the command."""
    writer = nobody()
    try:
        done = subprocess.run([*RESIZEFIX, *line.split()], cwd=place, stdout=writer, stderr=subprocess.PIPE, text=True)
    finally:
        os.close(writer)
    return done.returncode, done.stderr


@pytest.mark.parametrize(("line", "code"), READING, ids=[line for line, _ in READING])
def test_a_command_that_reads_ends_with_its_answer(line, code, place, unread):
    page = place / "page.html"
    assert unread(line) == (code, "")
    assert "--html" not in line or page.read_text().rstrip().endswith("</html>")


@pytest.mark.parametrize("line", WRITING)
def test_a_command_that_writes_has_written_the_whole_model(line, place, unread, commands):
    assert unread(line) == (0, "")
    written = place / ("out.onnx" if "out.onnx" in line else "model.onnx")
    onnx.checker.check_model(onnx.load(written), full_check=True)
    again = "read.onnx"
    aside = [again if word == "out.onnx" else word for word in line.split()]
    if "--in-place" in line:
        assert written.read_bytes() == (place / "other.onnx").read_bytes()
    else:
        assert commands.run(aside, place).code == 0
        assert written.read_bytes() == (place / again).read_bytes()
    assert not list(place.glob(".resizefix-*"))


@pytest.mark.parametrize(("line", "code"), [READING[5], (WRITING[0], 0)])
def test_an_interpreter_of_its_own_ends_so_too(line, code, place):
    assert started(line, place) == (code, "")


def test_several_models_are_all_written(place, unread):
    assert unread("promote-scales model.onnx second.onnx --output-dir out --no-verify")[0] == 2
    shutil.copy(place / "model.onnx", place / "second.onnx")
    line = "promote-scales model.onnx second.onnx --output-dir out --no-verify --force"
    assert unread(line) == (0, "")
    promoted = (place / "other.onnx").read_bytes()
    assert [path.read_bytes() == promoted for path in sorted((place / "out").iterdir())] == [True, True]


@pytest.mark.parametrize(("line", "code"), SHORT, ids=[line or "nothing" for line, _ in SHORT])
def test_help_versions_and_complaints_too(line, code, tmp_path):
    found, said = started(line, tmp_path)
    assert found == code
    assert bool(said) == (code == 2)
    assert "Traceback" not in said


@pytest.mark.parametrize("line", ["inspect model.onnx", "promote-scales model.onnx out.onnx --no-verify", "--help"])
def test_without_a_buffer_too(line, unread):
    assert unread(line, unbuffered=True) == (0, "")


@pytest.mark.parametrize(("line", "code"), [("inspect missing.onnx", 2), ("check model.onnx --target tensorrt-5.0", 1)])
def test_a_pipe_of_both_streams_too(line, code, unread):
    assert unread(line, both=True) == (code, "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash to close streams with")
@pytest.mark.parametrize(
    ("line", "code", "closed"),
    [
        # Nobody asks a question to hear nothing: a 0 would be taken for the answer.
        *((line, 2, ">&-") for line, _ in READING if "--html" not in line),
        ("check model.onnx --target tensorrt-5.0 --json", 2, "<&- >&- 2>&-"),
        ("diff model.onnx other.onnx --quiet", 1, ">&-"),
        ("promote-scales model.onnx out.onnx", 0, "<&- >&- 2>&-"),
        ("legalize model.onnx out.onnx --target tensorrt-8.0 --json", 0, ">&-"),
        ("promote-scales model.onnx - --no-verify", 2, ">&-"),
        ("--help", 2, ">&-"),
        ("inspect missing.onnx", 2, ">&-"),
        ("inspect missing.onnx", 2, "<&- >&- 2>&-"),
    ],
)
def test_with_a_closed_stdout_out_is_there_if_and_only_if_the_exit_code_is_0(line, code, closed, place):
    command = " ".join([*RESIZEFIX, line, closed])
    done = subprocess.run(["bash", "-c", command], cwd=place, capture_output=True, text=True)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert ("out.onnx" in line) == (place / "out.onnx").exists() == (code == 0)
    if "promote" in line and code == 0:
        assert (place / "out.onnx").read_bytes() == (place / "other.onnx").read_bytes()


def test_a_pipe_whose_reader_has_gone_is_no_error_on_windows(monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    outlet = streams._Outlet(writing, "w")
    gone = OSError(errno.EINVAL, "Invalid argument")
    monkeypatch.setattr(streams, "_ON_WINDOWS", True)
    assert streams._reader_has_gone(gone)
    assert outlet.write(b"x") == 1
    assert outlet.error is None
    monkeypatch.setattr(streams, "_ON_WINDOWS", False)
    assert not streams._reader_has_gone(gone)
    outlet.close()


@pytest.mark.parametrize("windows", [True, False])
def test_a_windows_console_keeps_its_stream_that_takes_characters(windows, monkeypatch):
    class Console(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    console = Console(os.fdopen(os.open(os.devnull, os.O_WRONLY), "wb"), encoding="utf-8")
    monkeypatch.setattr(streams, "_ON_WINDOWS", windows)
    monkeypatch.setattr(streams, "is_watched", lambda: False)
    made = streams.Streams.__new__(streams.Streams)
    made._outlets = []
    assert (made._through_an_outlet(console) is console) == windows
    assert console.errors == ("backslashreplace" if windows else "strict")


@pytest.fixture
def full(commands: Commands, place: Path) -> Callable[[str], tuple[int, str]]:
    """The exit code and stderr of a command whose stdout is a full disk."""

    def run(line: str) -> tuple[int, str]:
        done = commands.run(line.split(), place, stdout=os.open("/dev/full", os.O_WRONLY))
        return done.code, done.stderr

    return run


needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")


@needs_full
@pytest.mark.parametrize(
    "line", [*WRITING, "legalize model.onnx out.onnx --target onnxruntime", "promote-scales model.onnx - --no-verify"]
)
def test_on_a_full_disk_out_is_there_if_and_only_if_the_exit_code_is_0(line, place, full):
    before = (place / "model.onnx").read_bytes()
    code, said = full(line)
    written = (place / "out.onnx").exists() or (place / "model.onnx").read_bytes() != before
    assert (code == 0) == written
    assert "cannot be printed: No space left on device" in said or "cannot be written" in said or code == 1


@needs_full
def test_on_a_full_disk_a_command_that_reads_fails(full):
    code, said = full("inspect model.onnx")
    assert code == 2
    assert "cannot be printed" in said


def test_an_answer_that_cannot_be_shown_unwrites_nothing(tmp_path, call, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(text, "show_written", broken)
    code, _, said = call("promote-scales", SRCNN, tmp_path / "out.onnx", "--no-verify")
    assert (code, (tmp_path / "out.onnx").exists()) == (0, True)
    assert "the result is written, and cannot be shown: this is an error in resizefix (ZeroDivisionError" in " ".join(
        said.split()
    )
    assert "Nothing was written" not in said
