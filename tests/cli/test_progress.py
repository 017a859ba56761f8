"""Long work says how far it has come, on a terminal and nowhere else."""

import os
import re
from pathlib import Path

import pytest
from fixture_models import SRCNN
from forked_commands import Commands, Terminal

from resizefix.cli.streams import line_within
from resizefix.printable import columns

AT_ONCE = "from resizefix.cli import streams; streams._QUIET_FOR = 0"


def on_a_terminal(commands: Commands, *arguments: str, columns: int = 80) -> str:
    """What a terminal of so many columns is sent on stderr."""
    said = []
    with Terminal() as terminal:
        done = commands.run(
            arguments,
            Path.cwd(),
            stderr=terminal.theirs,
            settings={**os.environ, "COLUMNS": str(columns)},
            before=AT_ONCE,
            meanwhile=lambda: said.append(terminal.read()),
        )
    assert done.code == 0, said
    return said[0]


@pytest.mark.parametrize("limits", [(), ("--timeout", "60")])
def test_on_a_terminal_a_line_shows_how_far_it_is_and_goes_away(commands, tmp_path, limits):
    said = on_a_terminal(commands, "promote-scales", str(SRCNN), str(tmp_path / "out.onnx"), *limits)
    assert "verifying" in said
    assert "100%" in said
    assert said.rstrip("\r\n").endswith("\x1b[2K")


def test_quietly_nothing_is_shown(commands, tmp_path):
    assert on_a_terminal(commands, "promote-scales", str(SRCNN), str(tmp_path / "out.onnx"), "--quiet") == ""


def test_into_a_file_nothing_is_shown(commands, tmp_path):
    done = commands.run(["promote-scales", str(SRCNN), str(tmp_path / "out.onnx")], Path.cwd(), before=AT_ONCE)
    assert (done.code, done.stderr) == (0, "")


@pytest.mark.parametrize("width", [80, 50, 24])
def test_no_line_is_longer_than_the_terminal_is_wide(commands, tmp_path, width):
    said = on_a_terminal(commands, "promote-scales", str(SRCNN), str(tmp_path / "out.onnx"), columns=width)
    lines = [line for line in re.split(r"\r|\n|\x1b\[2K", said) if line]
    assert lines
    assert all("%" in line for line in lines)
    assert max(map(len, lines)) < width


WORDS = [
    "",
    "x",
    "the original at /decoder/up.3/Resize_scales = 1, 1, 2.5, 2.5, at the default level",
    "縮放" * 30,
    "\x1b[31m",
]


@pytest.mark.parametrize("most", [1, 2, 5, 17, 39, 57, 79, 99, 300])
def test_a_line_of_any_words_at_any_time_fits_and_shows_what_it_has_room_for(most):
    for what in WORDS:
        for made, total in ((0, 0), (0, 7), (3, 7), (7, 7), (9, 7), (1, 99999)):
            for took in (0.0, 1.0, 400000.0):
                line = line_within(most, made, total, took, f"verifying: {what}")
                assert columns(line) <= most
                assert line.isprintable()
                assert most < 5 or re.search(r"\d%", line), line
                assert most < 79 or "#" * 8 in line or made < 7, line


def test_a_line_says_the_part_that_is_done_and_the_time_that_is_left():
    assert line_within(79, 1, 4, 20.0, "verifying: one") == f"{'verifying: one':43}  [{'####':16}]   25%  00:01:00"
    assert line_within(79, 4, 4, 20.0, "verifying: all").endswith("  [################]  100%  00:00:00")
    assert line_within(30, 1, 4, 20.0, "verifying: what is long") == " 25%  00:01:00  veri…t is long"
