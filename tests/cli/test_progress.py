"""Long work says how far it has come, on a terminal and nowhere else."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

MODEL = Path(__file__).parents[2] / "fixtures" / "srcnn_x3_opset11.onnx"
PROGRAM = """
import sys
from resizefix.cli import main, progress
progress._QUIET_FOR = 0
main(sys.argv[1:])
"""


def on_a_terminal(*arguments: str) -> str:
    """What the terminal is sent on stderr."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.DEVNULL, stderr=theirs, stdin=subprocess.DEVNULL
    ) as process:
        os.close(theirs)
        said = b""
        try:
            while piece := os.read(ours, 4096):
                said += piece
        except OSError:  # the other end is closed
            pass
    assert process.returncode == 0, said
    os.close(ours)
    return said.decode()


@pytest.mark.parametrize("limits", [(), ("--timeout", "60")])
def test_on_a_terminal_a_line_shows_how_far_it_is_and_goes_away(tmp_path, limits):
    said = on_a_terminal("promote-scales", str(MODEL), str(tmp_path / "out.onnx"), *limits)
    assert "verifying" in said
    assert "100%" in said
    assert said.rstrip("\r\n").endswith("\x1b[2K")


def test_quietly_nothing_is_shown(tmp_path):
    assert on_a_terminal("promote-scales", str(MODEL), str(tmp_path / "out.onnx"), "--quiet") == ""


def test_into_a_file_nothing_is_shown(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "promote-scales", str(MODEL), str(tmp_path / "out.onnx")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
