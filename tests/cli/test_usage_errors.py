"""What cannot be meant, and what is not done: a sentence, an exit code, the same as JSON, and no file touched."""

import json
import os
import shlex

import click
import pytest
from fixture_models import BISENET, FIXTURES, SRCNN

from resizefix.cli import group

NAMED = {"SRCNN": SRCNN, "BISENET": BISENET, "NO_RESIZE": FIXTURES / "handmade" / "no_resize.onnx"}
NEAREST = "mode=nearest coordinates=asymmetric nearest_mode=floor"
# The exit code, the command, a part of the sentence.
ERRORS = f"""
2 | promote-scales SRCNN a.onnx --in-place | --in-place
2 | promote-scales SRCNN a.onnx -o b.onnx | twice
2 | promote-scales SRCNN exists.onnx | --force
2 | promote-scales SRCNN a.onnx -n nope | no resize node matches 'nope'
2 | promote-scales SRCNN a.onnx --input-name input | already uses
2 | promote-scales SRCNN a.onnx --at 1,2,3 | --at
2 | promote-scales SRCNN a.onnx --shape nope:1,3,8,8 | no input 'nope'
2 | promote-scales SRCNN a.onnx --shape input | not a shape
2 | promote-scales SRCNN a.onnx --form factor --at 2,3.5 | holds one number for all axes; give one number
2 | promote-scales BISENET a.onnx --at 0.5 | takes no scale below 1; give larger scales
2 | promote-scales SRCNN a.onnx --denominator 10 --dry-run | --denominator 10 --dry-run --for tensorrt
2 | promote-scales missing.onnx a.onnx | no such file
2 | promote-scales . a.onnx | folder
2 | promote-scales text.onnx a.onnx | text.onnx
2 | promote-scales cut.onnx a.onnx | cut.onnx
2 | promote-scales noise.onnx a.onnx | noise.onnx
2 | promote-scales SRCNN nowhere/a.onnx | nowhere
2 | inspect missing.onnx | no such file
2 | inspect dangling.onnx | gone.onnx, and there is no such file
2 | input-size SRCNN a.onnx anyy | did you mean any? 'anyy' is not a size
2 | input-size SRCNN a.onnx 48x64 --batch an | did you mean any? 'an' is not a batch
2 | verify SRCNN SRCNN --runtime openvno | did you mean openvino?
2 | trt-legacy SRCNN --target tensorrt-8.0 | legalize writes for the others
2 | inspect SRCNN --html a --markdown a | same file
2 | inspect SRCNN --html - | --html needs a file name
2 | inspect SRCNN --html no/such/folder/a.html | cannot be written
2 | verify SRCNN missing.onnx | no such file
2 | nonsense | nonsense
2 | inspekt | No such command
2 | nowhere.onnx | resizefix inspect: nowhere.onnx
2 | no/where | resizefix inspect: no/where
1 | promote-scales NO_RESIZE a.onnx | no Upsample or Resize
2 | check SRCNN --target tensorrt-99 | there is no target 'tensorrt-99'
2 | check SRCNN --target tensorrt-rtx --min-shapes input:1x3x8x8 | add --build
2 | check SRCNN --target tensorrt-rtx --build --opt-shapes nope:1 | there is no input 'nope'
2 | check SRCNN --target tensorrt-rtx --build --opt-shapes 1x3x8x8 | is not a shape
2 | check SRCNN --target tensorrt-rtx --build --opt-shapes input:1xAx8x8 | is not a shape
2 | check SRCNN --target tensorrt-rtx --build --min-shapes input:1x1x8x8 | opt, max is missing
2 | check SRCNN --target tensorrt-8.0 --build --opt-shapes input:1x1x8x8 | tensorrt-rtx or tensorrt-10
2 | check SRCNN --target tensorrt-rtx --live --timeout 0 | --timeout
2 | input-size SRCNN a.onnx 48x64 -n #0 | --keep and --follow choose what a node does
2 | set SRCNN a.onnx | give what to set as KEY=VALUE; the keys are mode, coordinates, nearest_mode
2 | set SRCNN text.onnx | give what to set as KEY=VALUE; the keys are mode, coordinates, nearest_mode
2 | set SRCNN text.onnx --json | give what to set as KEY=VALUE; the keys are mode, coordinates, nearest_mode
2 | set SRCNN a.onnx mod=nearest | there is no key 'mod' to set; did you mean mode? There are mode, coordinates
2 | set SRCNN a.onnx mode=linaer | mode=linaer: did you mean linear? Give nearest, linear, cubic
2 | set mode=linaer | mode=linaer: did you mean linear? Give nearest, linear, cubic
2 | set missing.onnx mode=linaer | mode=linaer: did you mean linear?
2 | set SRCNN a.onnx coordinates=asimetric | coordinates=asimetric: did you mean asymmetric?
2 | set SRCNN a.onnx form=gathr | form=gathr: did you mean gather?
2 | set SRCNN a.onnx sizes=parner | sizes=parner: did you mean partner?
2 | set SRCNN a.onnx antialias=ture | antialias=ture: did you mean true?
2 | set SRCNN a.onnx mode= | mode=: give nearest, linear, cubic
2 | set SRCNN a.onnx mode=cubic mode=linear | mode is given twice
2 | set mode=linear | Missing argument 'IN'
1 | set SRCNN a.onnx mode=cubic --strict | there is nothing to do: every selected node is like this already
1 | set SRCNN a.onnx nearest_mode=floor | nearest_mode has no meaning with mode=cubic; add mode=nearest
1 | set BISENET a.onnx coordinates=half_pixel | it works with --opset 11
2 | set SRCNN a.onnx {NEAREST} --feed y=a.png | the model has no such input to feed; it has input
2 | set SRCNN a.onnx {NEAREST} --feed input=a.png | there is no file 'a.png' to feed
2 | set SRCNN a.onnx {NEAREST} --feed photo | is not a feed; write for example input=photo.png
2 | set SRCNN a.onnx {NEAREST} --html a.onnx | --html and OUT both name a.onnx
# several models
2 | promote-scales a.onnx b.onnx c.onnx | use --output-dir DIR
2 | promote-scales a/m.onnx b/m.onnx --output-dir new | a/m.onnx and b/m.onnx would both be written to new/m.onnx
2 | promote-scales a.onnx b.onnx --output-dir new --in-place | combined with --in-place
2 | inspect a.onnx b.onnx --html page.html | --html writes the report of one model
"""
ROWS = [line.split(" | ") for line in ERRORS.strip().splitlines() if not line.startswith("#")]


@pytest.mark.parametrize(("code", "line", "says"), ROWS)
def test_what_is_not_done_is_said_and_nothing_is_written(call, tmp_path, monkeypatch, code, line, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exists.onnx").write_bytes(b"mine")
    (tmp_path / "text.onnx").write_text("hello, this is not a model\n" * 40)
    (tmp_path / "dangling.onnx").symlink_to("gone.onnx")
    (tmp_path / "cut.onnx").write_bytes(SRCNN.read_bytes()[:-100])
    (tmp_path / "noise.onnx").write_bytes(bytes(range(256)) * 4)
    before = sorted(os.listdir(tmp_path))
    words = [NAMED.get(word, word) for word in shlex.split(line)]
    found, _, err = call(*words)
    assert found == int(code)
    assert says in " ".join(err.split())
    found, text, _ = call(*words, "--json")
    assert found == json.loads(text)["exit_code"] == int(code)
    assert code == "1" or json.loads(text)["error"]
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "exists.onnx").read_bytes() == b"mine"


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
    out = ["b.onnx"] if command in ("verify", "diff", "target") else []
    required = [] if option == "--target" else REQUIRED.get(command, [])
    code, _, err = call(command, "a.onnx", *out, option, "", *required, "--json")
    assert (code, option in err.splitlines()[0]) == (2, True), err
    assert "no such file" not in err, "it is the option that is at fault"
    assert list(tmp_path.iterdir()) == []


CHOICES = [
    (name, option.opts[0], word)
    for name, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option) and isinstance(option.type, click.Choice)
    for word in option.type.choices
]


@pytest.mark.parametrize(("command", "option", "word"), CHOICES, ids=lambda part: str(part).strip("-"))
def test_for_a_word_that_lacks_a_letter_the_word_is_proposed(call, command, option, word):
    code, _, err = call(command, "a.onnx", "b.onnx", option, word[:2] + word[3:])
    assert (code, f"did you mean {word}? There are " in " ".join(err.split())) == (2, True), err


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
