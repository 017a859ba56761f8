"""Long work says how far it has come, on a terminal and nowhere else."""

from pathlib import Path

import pytest
from fixture_models import SRCNN
from forked_commands import Commands, Terminal

AT_ONCE = "from resizefix.cli import progress; progress._QUIET_FOR = 0"


def on_a_terminal(commands: Commands, *arguments: str) -> str:
    """What the terminal is sent on stderr."""
    said = []
    with Terminal() as terminal:
        done = commands.run(
            arguments,
            Path.cwd(),
            stderr=terminal.theirs,
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
