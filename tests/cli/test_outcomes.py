"""What became of a model is one word in exit code, JSON, library and text, and OUT is there or not accordingly."""

from __future__ import annotations

import shutil

import onnx
import pytest
from fixture_models import FIXTURES, SRCNN
from onnx_text import model

import resizefix
from resizefix.library.options import CHANGING, OUT_ENDINGS

CODES = {"changed": 0, "already": 0, "refused": 1, "failed": 1, "unusable": 2}
EMPTY = FIXTURES / "handmade" / "no_resize.onnx"
UNET, DYNAMIC = FIXTURES / "unet_nearest_opset11.onnx", FIXTURES / "srcnn_x3_opset11_dynamic.onnx"
BROKEN = FIXTURES / "broken" / "fp16_scales_const_07.onnx"
OF_DATA = "(float[1,3,8,8] x, float[4] d) => (float[?,?,?,?] y) { s = Relu (d) y = Resize (x, , s) }"
AREA = '(float[1,3,8,8] x) => (float[?,?,?,?] y) <float[4] s = {1,1,2,2}> { y = Resize <mode = "area"> (x, , s) }'
FED = "(float[1,3,8,8] x, float[4] s) => (float[?,?,?,?] y) { y = Resize (x, , s) }"
ONES = ",".join("1" * 12)
WEIGHTS = f"(float[1,3,2,2] x) => (float[?,?] y) <float[12,1] w = {{{ONES}}}> {{ f = Flatten (x) y = Gemm (f, w) }}"

# command, model, what is typed behind OUT, what became of the model
TABLE = [
    ("promote-scales", SRCNN, [], "changed"),
    ("promote-scales", FED, [], "already"),
    ("promote-scales", UNET, [], "refused"),
    ("promote-scales", EMPTY, [], "refused"),
    ("promote-scales", SRCNN, ["-n", "nosuch"], "unusable"),
    ("freeze-scales", FED, ["--set", "s=1,1,2,2"], "changed"),
    ("freeze-scales", SRCNN, [], "already"),
    ("freeze-scales", FED, [], "refused"),
    ("freeze-scales", EMPTY, [], "refused"),
    ("freeze-scales", FED, ["--set", "s=1,1"], "unusable"),
    ("trt-legacy", SRCNN, [], "changed"),
    ("trt-legacy", EMPTY, [], "already"),
    ("trt-legacy", OF_DATA, [], "refused"),
    ("trt-legacy", "missing.onnx", [], "unusable"),
    ("legalize", SRCNN, ["--target", "tensorrt-8.0"], "changed"),
    ("legalize", SRCNN, ["--target", "tensorrt-10"], "already"),
    ("legalize", EMPTY, ["--target", "tensorrt-10"], "already"),
    ("legalize", OF_DATA, ["--target", "tensorrt-8.0"], "refused"),
    ("legalize", SRCNN, ["--target", "nosuch"], "unusable"),
    ("repair", BROKEN, [], "changed"),
    ("repair", SRCNN, [], "already"),
    ("repair", EMPTY, [], "already"),
    ("repair", AREA, [], "refused"),
    ("repair", "missing.onnx", [], "unusable"),
    ("set", SRCNN, ["scale=2"], "changed"),
    ("set", SRCNN, ["mode=cubic"], "already"),
    ("set", SRCNN, ["form=repeat"], "refused"),
    ("set", EMPTY, ["mode=linear"], "refused"),
    ("set", SRCNN, ["mod=linear"], "unusable"),
    ("opset", SRCNN, ["17"], "changed"),
    ("opset", SRCNN, ["11"], "already"),
    ("opset", SRCNN, ["9"], "refused"),
    ("opset", SRCNN, ["0"], "unusable"),
    ("input-size", SRCNN, ["32x32"], "changed"),
    ("input-size", SRCNN, ["20x24"], "already"),
    ("input-size", WEIGHTS, ["16x16"], "refused"),
    ("input-size", SRCNN, ["32xx"], "unusable"),
]


@pytest.fixture
def given(tmp_path, monkeypatch):
    """The path of a model of the table, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def file(source):
        if isinstance(source, str) and source.endswith(".onnx"):
            return source
        if isinstance(source, str):
            onnx.save(model(source), "in.onnx")
        else:
            shutil.copy(source, "in.onnx")
        return "in.onnx"

    return file


def ids(row):
    return " ".join(map(str, (row[0], str(getattr(row[1], "stem", row[1]))[:20], *row[2])))


def default_of(command, arguments):
    return "in" + OUT_ENDINGS[command].format(opset="".join(arguments[-1:]))


@pytest.mark.parametrize("row", TABLE, ids=ids)
def test_exit_code_json_text_and_the_file_say_the_same(call, answered, given, tmp_path, row):
    command, source, arguments, word = row
    named, out = given(source), tmp_path / "out.onnx"
    options = [] if word == "changed" else ["--no-verify"]
    answer = answered(command, named, out, *arguments, *options)
    assert answer["outcome"] == (None if word == "unusable" else word)
    assert answer["exit_code"] == CODES[word]
    assert out.exists() == (word == "changed")
    assert answer["output"] == (str(out) if word == "changed" else None)
    assert (answer["error"] is None) == (CODES[word] == 0)
    assert (answer["reason"] is None) == (word == "changed")
    out.unlink(missing_ok=True)
    code, text, err = call(command, named, out, *arguments, *options)
    assert code == CODES[word]
    said = {
        "changed": any(line.startswith("wrote ") for line in text.splitlines()),
        "already": any(line.startswith("already ") for line in text.splitlines()),
        "refused": err.startswith(f"resizefix {command}: refused: "),
        "failed": err.startswith(f"resizefix {command}: failed: "),
    }
    assert [name for name, holds in said.items() if holds] == ([] if word == "unusable" else [word])


@pytest.mark.parametrize("row", [row for row in TABLE if row[3] == "already"], ids=ids)
def test_where_nothing_is_needed_a_copy_is_asked_for_and_strict_is_exit_code_1(call, answered, given, tmp_path, row):
    command, source, arguments, _ = row
    named, out = given(source), tmp_path / "out.onnx"
    answer = answered(command, named, out, *arguments, "--no-verify", "--strict")
    assert (answer["outcome"], answer["exit_code"], out.exists()) == ("already", 1, False)
    code, text, _ = call(command, named, out, *arguments, "--no-verify")
    assert (code, "out.onnx was not written, and --copy-unchanged writes a copy" in " ".join(text.split())) == (0, True)
    code, _, _ = call(command, named, out, *arguments, "--no-verify", "--copy-unchanged", "--strict")
    assert (code, out.read_bytes()) == (0, (tmp_path / named).read_bytes())


@pytest.mark.parametrize("row", [row for row in TABLE if row[3] == "changed"], ids=ids)
def test_out_has_a_default_name_and_is_not_replaced_without_force(call, given, tmp_path, row):
    command, source, arguments, _ = row
    named, default = given(source), tmp_path / default_of(command, arguments)
    assert call(command, named, *arguments, "--no-verify")[0] == 0
    written = default.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["in.onnx", default.name])
    code, _, err = call(command, named, *arguments, "--no-verify")
    assert (code, "--force" in err, default.read_bytes() == written) == (2, True, True)
    assert call(command, named, *arguments, "--no-verify", "--force")[0] == 0


OPTIONS = {
    "--set": lambda text: ("set", {text.partition("=")[0]: [float(n) for n in text.partition("=")[2].split(",")]}),
    "--target": lambda text: ("target", text),
}


@pytest.mark.parametrize("row", [row for row in TABLE if row[3] != "unusable"], ids=ids)
def test_the_library_says_the_same_and_raises_for_what_is_refused_alone(given, row):
    command, source, arguments, word = row
    named = given(source)
    if command == "set":
        options = dict(pair.split("=") for pair in arguments)
        options = {name: float(value) if name == "scale" else value for name, value in options.items()}
    elif command == "opset":
        options = {"opset": int(arguments[0])}
    elif command == "input-size":
        options = {"size": tuple(map(int, arguments[0].split("x")))}
    else:
        options = dict(OPTIONS[name](value) for name, value in zip(arguments[::2], arguments[1::2], strict=True))
    call = getattr(resizefix, "set_interpolation" if command == "set" else command.replace("-", "_"))
    result = call(named, **options, verify=False, on_refusal="return")
    assert result.outcome.value == word
    assert bool(result) == (word == "changed")
    if word == "refused":
        with pytest.raises(resizefix.RefusedError) as caught:
            call(named, **options, verify=False)
        assert caught.value.result.outcome.value == word
    else:
        assert call(named, **options, verify=False).outcome.value == word


@pytest.mark.parametrize("command", CHANGING)
def test_a_result_that_a_check_refutes_has_failed(call, answered, given, tmp_path, monkeypatch, command):
    source, arguments = next(row[1:3] for row in TABLE if row[0] == command and row[3] == "changed")
    monkeypatch.setattr("resizefix.verification.outside_plan.outside_plan", lambda *_: "it differs elsewhere")
    named, out = given(source), tmp_path / "out.onnx"
    answer = answered(command, named, out, *arguments)
    assert (answer["outcome"], answer["exit_code"], answer["output"], out.exists()) == ("failed", 1, None, False)
    code, _, err = call(command, named, out, *arguments, "--copy-unchanged")
    assert (code, err.startswith(f"resizefix {command}: failed: "), out.exists()) == (1, True, False)


AGAIN = [row for row in TABLE if row[3] == "changed" and row[0] in CHANGING]


@pytest.mark.parametrize("row", AGAIN, ids=ids)
def test_a_command_on_its_own_output_finds_nothing_to_do(answered, given, tmp_path, row):
    command, source, arguments, _ = row
    named = given(source)
    assert answered(command, named, "once.onnx", *arguments, "--no-verify")["outcome"] == "changed"
    arguments = [] if command == "freeze-scales" else arguments  # the input is gone
    again = answered(command, "once.onnx", "twice.onnx", *arguments, "--no-verify")
    assert (again["outcome"], again["exit_code"], (tmp_path / "twice.onnx").exists()) == ("already", 0, False)


IDEMPOTENT = {
    "promote-scales": [], "freeze-scales": [], "trt-legacy": [], "legalize": ["--target", "tensorrt-8.0"], "repair": [],
    "set": ["mode=nearest"], "opset": ["15"],
}  # fmt: skip


@pytest.mark.parametrize("command", IDEMPOTENT)
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.onnx")), ids=lambda path: path.stem)
def test_on_every_fixture_what_was_changed_once_needs_nothing_more(answered, given, command, path):
    named, words = given(path), IDEMPOTENT[command]
    first = answered(command, named, "once.onnx", *words, "--no-verify")
    if first["outcome"] != "changed":
        return
    again = answered(command, "once.onnx", "twice.onnx", *words, "--no-verify")
    # Nodes that were refused are refused again, while others are as asked.
    refused = any(outcome["status"] == "refused" for outcome in first["outcomes"])
    assert again["outcome"] == ("refused" if refused else "already"), again["reason"]


def test_size_and_opset_stand_behind_in_and_out_or_behind_in_alone(answered, given):
    named = given(SRCNN)
    for command, word, default in (("input-size", "32x32", "in.resized.onnx"), ("opset", "17", "in.opset17.onnx")):
        for before, out in (([named], default), ([named, "o.onnx"], "o.onnx"), ([named, "-o", "p.onnx"], "p.onnx")):
            assert answered(command, *before, word, "--no-verify", "--force")["output"] == out
    assert answered("set", named, "scale=2", "--no-verify")["output"] == "in.set.onnx"
    assert answered("set", "mode=nearest", named, "q.onnx", "--no-verify")["output"] == "q.onnx"


def test_many_models_are_counted_by_the_same_words(answered, given, tmp_path):
    named = given(SRCNN)
    (tmp_path / "text.onnx").write_text("no model")
    shutil.copy(EMPTY, tmp_path / "empty.onnx")
    onnx.save(model(FED), "fed.onnx")
    answer = answered("promote-scales", named, "fed.onnx", "empty.onnx", "text.onnx", "--output-dir", "done")
    assert [one["outcome"] for one in answer["models"]] == ["changed", "already", "refused", None]
    expected = {"models": 4, "changed": 1, "already": 1, "refused": 1, "failed": 0, "unusable": 1}
    assert {word: answer["summary"][word] for word in expected} == expected


def test_a_document_of_a_command_that_changes_nothing_has_an_outcome_too(answered, given):
    named = given(SRCNN)
    asked = [
        (["inspect", named], "already"),
        (["check", named, "--target", "tensorrt-10"], "already"),
        (["check", named, "--target", "tensorrt-8.0"], "refused"),
        (["verify", named, named], "already"),
        (["diff", named, UNET], "failed"),
        (["inspect", "missing.onnx"], None),
    ]
    for words, word in asked:
        assert answered(*words)["outcome"] == word, words
