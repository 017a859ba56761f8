"""What the README tells to type is typed here, in order, in a folder that holds nothing but the fixtures."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

from resizefix.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
# These answer with their exit code: 1 is "it differs", "a target rejects it".
ANSWERS_NO = {"diff", "check"}
# pipelines.md has no symptom; its blocks for Ray and Dask need these.
SYMPTOMS = sorted(page for page in (ROOT / "docs" / "how-to").glob("*.md") if page.stem != "pipelines")
NEEDED = ("tf2onnx", "paddle2onnx", "ray", "dask")
# tests/interop/test_right_after_export.py types these, where torch is installed.
ILLUSTRATIVE = ("torch",)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("reader")
    (path / "fixtures").symlink_to(ROOT / "fixtures")
    return path


def run_page(text: str, page: str, capsys) -> None:
    """Types a page's blocks in order; `# exit code 1` behind a line is what it must end with."""
    told: dict[str, object] = {"__name__": page}
    for language, block in re.findall(r"^```(console|python)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        missing = [name for name in NEEDED if f"{name}." in block and not find_spec(name)]
        if missing or any(f"{name}." in block for name in ILLUSTRATIVE):
            print(f"{page}: a block is not run: {missing or ILLUSTRATIVE}")
            continue
        if language == "python":
            exec(compile(block, page, "exec"), told)
            continue
        for line in block.splitlines():
            assert line.startswith("$ resizefix "), line
            arguments = shlex.split(line.removeprefix("$ resizefix "), comments=True)
            with pytest.raises(SystemExit) as done:
                main(arguments)
            marked = re.search(r"# exit code (\d)$", line)
            allowed = (
                {int(marked[1])} if marked else {0, 1} if arguments[0] in ANSWERS_NO and page == "README.md" else {0}
            )
            assert done.value.code in allowed, (line, capsys.readouterr().err)


def test_every_console_and_python_block_runs_in_order(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert len(re.findall(r"^```(?:console|python)$", README, re.MULTILINE)) >= 4
    run_page(README, "README.md", capsys)


@pytest.mark.parametrize("page", SYMPTOMS, ids=lambda page: page.stem)
def test_the_symptom_of_every_how_to_is_reproduced_and_cured(page, tmp_path, monkeypatch, capsys):
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(), page.name, capsys)


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
