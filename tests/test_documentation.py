"""What the README tells to type is typed here, in order, in a folder that holds nothing but the fixtures."""

import re
import shlex
from pathlib import Path

import pytest

from resizefix.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
# These answer with their exit code: 1 is "it differs", "a target rejects it".
ANSWERS_NO = {"diff", "check"}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("reader")
    (path / "fixtures").symlink_to(ROOT / "fixtures")
    return path


def test_every_console_and_python_block_runs_in_order(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    found = re.findall(r"^```(console|python)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert len(found) >= 4
    for language, text in found:
        if "torch." in text:
            continue  # tests/interop/test_right_after_export.py types these, where torch is installed
        if language == "python":
            exec(compile(text, "README.md", "exec"), {})
            continue
        for line in text.splitlines():
            assert line.startswith("$ resizefix "), line
            arguments = shlex.split(line.removeprefix("$ resizefix "))
            with pytest.raises(SystemExit) as done:
                main(arguments)
            allowed = {0, 1} if arguments[0] in ANSWERS_NO else {0}
            assert done.value.code in allowed, (line, capsys.readouterr().err)


def test_the_first_block_is_two_lines_that_do_all_their_set_up():
    (first, *_) = blocks("sh")
    install, test = first.strip().splitlines()
    assert install.startswith("pip install . && resizefix promote-scales fixtures/")
    assert "venv" in test
    assert "pytest" in test


def test_every_command_is_in_the_readme():
    from resizefix.cli import group

    commands = group.list_commands(None)  # type: ignore[arg-type]
    assert [name for name in commands if f"resizefix {name}" not in README] == []
