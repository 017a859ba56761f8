"""`--help` fits a narrow terminal, and its examples can be typed as they stand."""

import re
import shlex
import shutil

import pytest
from fixture_models import FIXTURES

from resizefix.cli import group

COMMANDS = group.list_commands(None)
# Each after the one that writes what it reads.
IN_ORDER = [
    "inspect", "promote-scales", "freeze-scales", "trt-legacy", "legalize", "repair", "set", "input-size", "opset",
    "check", "verify", "explain", "diff", "target",
]  # fmt: skip
ANSWERS_NO = {"check", "diff"}


@pytest.fixture
def help_of(call, monkeypatch):
    def ask(*words: str) -> str:
        monkeypatch.setenv("COLUMNS", "80")
        code, said, _ = call(*words) if words and words[-1] == "--help-all" else call(*words, "--help")
        assert code == 0
        return said

    return ask


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=lambda words: " ".join(words) or "all")
def test_no_line_is_wider_than_80_columns_and_the_last_is_an_example(help_of, command):
    said = help_of(*command)
    assert [line for line in said.splitlines() if len(line) > 80] == []
    assert len(re.findall(r"^ +Example: resizefix .*$", said, re.MULTILINE)) == 1


GROUPS = {
    "Look": ["inspect", "check", "explain", "target"],
    "Fix": ["promote-scales", "repair", "trt-legacy", "legalize"],
    "Change on purpose": ["set", "input-size", "opset", "freeze-scales"],
    "Compare": ["verify", "diff"],
}


def test_help_lists_the_commands_in_groups(help_of):
    said = help_of()
    listed = {
        title: re.findall(r"^  ([a-z-]+)  ", text, re.MULTILINE)
        for title, text in re.findall(r"^([A-Z][a-z ]+):\n((?:  .*\n)+)", said, re.MULTILINE)
        if title != "Options"
    }
    assert listed == GROUPS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen_and_the_rest_is_one_option_away(help_of, command):
    short = help_of(command)
    assert len(short.splitlines()) <= 40, "say it in one line, or make an option rare"
    known = {name for param in group.get_command(None, command).params for name in param.opts if name[:2] == "--"}
    assert "RANGE" not in short, "a word of click, not of the reader"
    assert {name for name in known if name not in short} <= {"--minShapes", "--optShapes", "--maxShapes"}
    if "--help-all" in short:
        assert "Also, explained by" not in (everything := help_of(command, "--help-all"))
        assert {name for name in known if name not in everything} == set()


def test_the_examples_run_in_order(help_of, call, tmp_path, monkeypatch):
    shutil.copy(FIXTURES / "srcnn_x3_opset11.onnx", tmp_path / "x3.onnx")
    shutil.copy(FIXTURES / "bisenet_x8_nearest_opset9.onnx", tmp_path / "bisenet.onnx")
    shutil.copy(FIXTURES / "broken" / "fp16_scales_const_13.onnx", tmp_path / "fp16.onnx")
    shutil.copy(FIXTURES / "sizes" / "torch213ts_cls_avgpool_a.onnx", tmp_path / "model_640.onnx")
    monkeypatch.chdir(tmp_path)
    assert sorted(IN_ORDER) == sorted(COMMANDS)
    for command in IN_ORDER:
        (example,) = re.findall(r"^ +Example: resizefix (.*)$", help_of(command), re.MULTILINE)
        code, _, error = call(*shlex.split(example))
        assert code in ({0, 1} if command in ANSWERS_NO else {0}), (example, error)
    written = {path.name for path in tmp_path.iterdir()}
    assert written >= {"x3.html", "any.onnx", "x2.onnx", "bisenet_legacy.onnx", "x3_trt8.onnx", "changes.html"}
