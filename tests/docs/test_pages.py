"""Every shell and Python block of every English page is typed; test_chinese_pages.py says the Chinese have the same."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from page import ROOT, blocks, commands, messages_of, title, type_page

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *(page for page in sorted(DOCS.rglob("*.md")) if "zh" not in page.relative_to(DOCS).parts)]
# tests/docs/test_pipelines_page.py types pipelines.md, whose blocks are scripts.
TYPED = [
    page
    for page in PAGES
    if page.stem != "pipelines" and any(block.language in ("console", "python") for block in blocks(page))
]
SYMPTOMS = [page for page in sorted((DOCS / "how-to").glob("*.md")) if page.stem != "pipelines"]
# Blocks for a shell: who types them. What stands for a page stands for all of its blocks.
SHELL = {
    "README.md": "the first block below, the second by .ci/run",
    "index.md": "the lines of the tutorial, below",
    "library.md": "tf2onnx and paddle2onnx by tests/interop/test_right_after_export.py",
    "tutorial.md": "below",
    "check-before-you-deploy.md": "it measures, and prints other times on each machine; the tests of --fastest type it",
    "pipelines.md": "tests/cli/test_completion.py",
    "opsets.md": "minutes of measuring; tests/test_benchmarks.py types it small",
    "lowerings.md": "minutes of measuring; tests/test_benchmarks.py types it small",
    "performance.md": "minutes of measuring; tests/test_benchmarks.py types it small",
}


# A new user types them one after the other in the folder of the repository.
FIRST = [ROOT / "README.md", DOCS / "tutorial.md"]


# test_message_pages.py types those of error messages.
TYPED_HERE = [page for page in TYPED if page not in FIRST and page not in SYMPTOMS]


@pytest.mark.parametrize("page", TYPED_HERE, ids=lambda page: page.stem)
def test_every_block_of_a_page_does_what_the_page_says(page, folder, capsys):
    type_page(page, capsys)


def test_the_readme_and_then_the_tutorial_do_what_they_say_in_one_folder(folder, capsys):
    for page in FIRST:
        type_page(page, capsys)


def test_every_block_for_a_shell_is_typed_by_somebody():
    with_shell = {page.name for page in PAGES if any(block.language == "sh" for block in blocks(page))}
    assert with_shell == set(SHELL)


def test_other_blocks_are_no_code():
    assert {block.language for page in PAGES for block in blocks(page)} <= {
        "console",
        "python",
        "sh",
        "toml",
        "yaml",
        "text",
    }


def test_a_command_that_prints_something_else_is_noticed(tmp_path, capsys):
    page = tmp_path / "wrong.md"
    page.write_text("# Wrong\n\n```console\n$ resizefix --version\nresizefix, version 0.0\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"wrong\.md, line 3"):
        type_page(page, capsys)
    page.write_text("# Wrong\n\n```console\n$ resizefix inspect none.onnx\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"wrong\.md, line 3"):
        type_page(page, capsys)


def shell(script: str, folder: Path) -> str:
    """The script in bash. Dependencies and what builds the package come from this environment, not from a network."""
    ours = os.pathsep.join(entry for entry in sys.path if Path(entry).name == "site-packages")
    settings = {"PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PYTHONPATH": ours}
    place = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env=os.environ | place | settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# Unpacking pip takes seconds, and .ci/run does it: the environment is made without, and the one at hand installs.
WITHOUT_PIP = """
python3() { [ "$1 $2" = "-m venv" ] && command python3 -m venv --without-pip "$3" || command python3 "$@"; }
pip() { python -m pip "$@"; }
"""


def test_the_tutorial_and_the_readme_install_into_a_fresh_environment(folder):
    for name in ("resizefix", "docs/pictures"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.png", "*.svg"))
    for name in ("pyproject.toml", "setup.cfg", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    install, draw = (block.text for block in blocks(DOCS / "tutorial.md") if block.language == "sh")
    readme = next(block.text for block in blocks(ROOT / "README.md") if block.language == "sh").strip()
    home = next(block.text for block in blocks(DOCS / "index.md") if block.language == "sh")
    assert home == install
    assert readme.split(" && ") == install.splitlines()  # so that one environment is enough for both
    said = shell(f"{WITHOUT_PIP}{readme}\nwhich resizefix\ncd docs && resizefix --version\ncd ..\n{draw}", folder)
    assert f"{folder}/.venv/bin/resizefix" in said
    assert "resizefix, version" in said
    assert (folder / "docs" / "pictures" / "srcnn_at_any_scale.png").exists()


def test_the_readme_installs_in_one_block_and_tests_in_another():
    install, test = (block.text.strip() for block in blocks(ROOT / "README.md") if block.language == "sh")
    assert len(install.splitlines()) == len(test.splitlines()) == 1
    assert "venv" in install, "pip of Debian and Homebrew installs nothing outside of one"
    assert "pytest" not in install, "who copies the first block does not start the tests"
    assert "venv" in test
    assert "pytest" in test


@pytest.mark.parametrize("page", ["index.md", "zh/index.md"])
def test_every_command_is_on_the_first_page(page):
    from resizefix.cli import group

    first = (DOCS / page).read_text(encoding="utf-8")
    names = group.list_commands(None)  # type: ignore[arg-type]
    assert [name for name in names if f"resizefix {name}" not in first] == []


@pytest.mark.parametrize("readme", ["README.md", "README.zh-CN.md"])
def test_the_readme_is_read_in_a_minute(readme):
    """English words; a Chinese character counts as two thirds of one."""
    text = (ROOT / readme).read_text(encoding="utf-8")
    chinese = re.findall(r"[\u4e00-\u9fff]", text)
    assert len(re.sub(r"[\u4e00-\u9fff]", " ", text).split()) + len(chinese) * 2 // 3 <= 500


def test_every_message_with_a_section_is_on_the_first_page_and_titles_differ():
    first = (DOCS / "index.md").read_text(encoding="utf-8")
    leads = re.findall(r"\(how-to/([\w-]+)\.md(?:#[^)]*)?\)", first)
    several = [page for page in SYMPTOMS if len(messages_of(page)) > 1]
    assert [page.stem for page in several if leads.count(page.stem) != len(messages_of(page))] == []
    assert {page.stem for page in SYMPTOMS} <= set(leads)
    titles = [title(page) for page in SYMPTOMS]
    assert len(set(titles)) == len(titles)


def test_no_page_types_what_cannot_be_typed():
    for page in TYPED:
        for block in blocks(page):
            if block.language == "console":
                assert list(commands(block))


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md", "docs/promises.md", "docs/zh/promises.md"])
def test_what_a_promotion_costs_is_said_as_it_was_measured(page):
    """Forward passes with verification, and times of a copy without."""
    lines = (DOCS / "performance.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    heading = next(row for row in rows if len(row) > 3 and row[3] == "verified, passes")
    row = dict(zip(heading, next(row for row in rows if row[1:2] and row[1].startswith("1.4 GB")), strict=True))
    text = (ROOT / page).read_text(encoding="utf-8")
    assert row["verified, passes"] in text
    assert row["`--no-verify`, times cp and sync"] in text
