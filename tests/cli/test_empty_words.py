"""No word may be empty, and under --json stdout is one document whatever is asked."""

import json

import click
import pytest

from resizefix.cli import group

COMMANDS = {name: group.get_command(None, name) for name in group.list_commands(None)}
VALUES = [
    (name, option.opts[0])
    for name, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag and option.name not in ("help", "version")
]
POSITIONS = [(name, number) for name, command in COMMANDS.items() for number in range(2)]
REQUIRED = {"legalize": ["--target", "onnxruntime"]}
TEXTS = [
    ["--help"],
    ["--version"],
    *([name, flag] for name in COMMANDS for flag in ("--help", "-h", "--version")),
    *([name, "--target", "list"] for name in ("check", "legalize", "trt-legacy")),
    ["check", "--target", "list", "--target", "onnxruntime"],
    ["check", "a.onnx", "b.onnx", "--target", "LIST"],
    [],
    ["no-such-command"],
]


@pytest.mark.parametrize(("command", "option"), VALUES, ids=lambda part: str(part).strip("-"))
def test_an_empty_value_is_a_usage_error_that_names_the_option(call, tmp_path, monkeypatch, command, option):
    monkeypatch.chdir(tmp_path)
    out = ["b.onnx"] if command in ("verify", "diff") else []
    required = [] if option == "--target" else REQUIRED.get(command, [])
    code, _, err = call(command, "a.onnx", *out, option, "", *required, "--json")
    assert (code, option in err.splitlines()[0]) == (2, True), err
    assert "no such file" not in err, "it is the option that is at fault"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("command", "number"), POSITIONS)
def test_an_empty_name_of_a_file_is_a_usage_error(call, tmp_path, monkeypatch, command, number):
    monkeypatch.chdir(tmp_path)
    words = ["a.onnx", "b.onnx"]
    words[number] = ""
    code, out, err = call(command, *words, *REQUIRED.get(command, []), "--json")
    assert (code, "the value is empty; give a value" in err, json.loads(out)["exit_code"]) == (2, True, 2)


@pytest.mark.parametrize("words", TEXTS, ids=" ".join)
def test_what_is_only_text_is_one_document_under_json_too(call, words):
    code, text, _ = call(*words, "--json")
    answer = json.loads(text)
    assert answer["exit_code"] == code
    assert (answer["error"] is None) == (code == 0)
    assert {"resizefix", "command", "model", "output"} <= answer.keys()
    if "list" in words:
        assert answer["targets"]["tensorrt-7.2"] == {"covers": "7.2 and later 7.x"}
