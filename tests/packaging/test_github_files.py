"""The files that GitHub reads: they are well-formed, and what they run and ask for exists."""

import os
import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed (mkdocs brings it)")
GITHUB = Path(__file__).parents[2] / ".github"


def load(path):
    return yaml.safe_load((GITHUB / path).read_text(encoding="utf-8"))


def test_the_workflow_runs_what_decides_on_linux_and_the_tests_elsewhere():
    jobs = load("workflows/ci.yml")["jobs"]
    versions = re.findall(
        r"Programming Language :: Python :: (3\.\d+)", (GITHUB.parent / "pyproject.toml").read_text(encoding="utf-8")
    )
    for name in ("decide", "tests"):
        assert jobs[name]["strategy"]["matrix"]["python"] == versions
    assert jobs["oldest"]["steps"][1]["with"]["python-version"] == versions[0]
    runs = [step["run"] for step in jobs["decide"]["steps"] if "run" in step]
    assert runs == [".ci/run"]
    assert os.name == "nt" or (GITHUB.parent / runs[0]).stat().st_mode & 0o111
    assert jobs["tests"]["strategy"]["matrix"]["system"] == ["macos-latest", "windows-latest"]


@pytest.mark.parametrize("template", ["a-model.yml", "a-rule.yml"])
def test_an_issue_asks_for_the_message_and_the_model(template):
    form = load(f"ISSUE_TEMPLATE/{template}")
    asked = {field["id"]: field for field in form["body"]}
    for identity in ("message", "inspect"):
        assert asked[identity]["validations"]["required"]
    assert asked["inspect"]["attributes"]["label"] == "resizefix inspect MODEL --json"
    assert {"versions", "target"} & set(asked)
