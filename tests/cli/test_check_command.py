"""`resizefix check` as people and programs call it."""

import json
import re
from functools import partial

import onnx
import pytest
from fixture_models import DYNAMIC, FIXTURES, SRCNN, UNET
from live_parser import missing, needs_tensorrt

import resizefix
from resizefix.runtimes import tensorrt as tensorrt_live
from resizefix.runtimes.catalogue import RUNTIMES
from resizefix.runtimes.tensorrt import LiveError, LiveVerdict, NetworkInput
from resizefix.targets.catalogue import TARGETS

ANTIALIAS = FIXTURES / "handmade" / "resize18_antialias.onnx"


@pytest.fixture
def check(call):
    return partial(call, "check")


@pytest.fixture
def judged(answered):
    """The answer of `check --json`, and what it says of its first target."""

    def run(*words):
        answer = answered("check", *words)
        return answer, next(iter(answer["targets"].values()))

    return run


X = NetworkInput("input", (1, 3, 17, 17))
YES = LiveVerdict("TensorRT-RTX 9.9", True, inputs=(X,))
NO = LiveVerdict("TensorRT-RTX 9.9", False, (LiveError("node\x1b[31m", "y", 3, "Relu", "line one\nline two"),))


def test_the_json_has_the_promised_fields_for_each_target(judged):
    answer, _ = judged(SRCNN, "--target", "tensorrt-8.0", "--target", "tensorrt-rtx")
    assert answer["exit_code"] == 1  # 8.0 has no cubic
    assert answer["targets"]["tensorrt-rtx"] == {"accepted": True, "violations": [], "live": None, "live_reason": None}
    (broken,) = answer["targets"]["tensorrt-8.0"]["violations"]
    assert {"node", "rule", "because", "source", "fix", "mend", "effect"} == broken.keys()
    assert broken["rule"] == "not-cubic"


def test_live_adds_what_the_parser_said(judged, stand_in):
    stand_in(NO)
    answer, target = judged(SRCNN, "--target", "tensorrt-rtx", "--live")
    assert answer["exit_code"] == 1
    error = {"node": "node\x1b[31m", "op": "Relu", "output": "y", "message": "line one\nline two"}
    nothing = {"built": None, "profile": {}, "chosen": [], "nodes": []}
    assert target["live"] == {"parser": "TensorRT-RTX 9.9", "accepted": False, "errors": [error], **nothing}


def test_a_person_reads_who_refuses_what_and_nothing_a_terminal_would_act_on(check, stand_in):
    stand_in(NO)
    code, text, _ = check(SRCNN, "--target", "tensorrt-rtx", "--live")
    assert code == 1
    assert "tensorrt-rtx  accepted" in text
    assert "live: TensorRT-RTX 9.9 refuses the model" in text
    assert "node\\x1b[31m: line one\n    line two" in text
    assert "not about an Upsample or Resize" in text
    assert "\x1b" not in text


def test_a_refused_resize_that_no_rule_foresaw_is_to_be_reported(check, stand_in):
    surprise = LiveVerdict("TensorRT-RTX 9.9", False, (LiveError("down", "y", 3, "Resize", "no"),))
    stand_in(surprise)
    assert "please report it" in check(SRCNN, "--target", "tensorrt-rtx", "--live")[1]
    stand_in(surprise)
    assert "please report it" not in check(ANTIALIAS, "--target", "tensorrt-rtx", "--live")[1]


def test_a_stand_in_is_called_one(judged, stand_in):
    stand_in(YES)
    answer, target = judged(SRCNN, "--target", "tensorrt-10", "--live")
    assert answer["exit_code"] == 0
    assert "standing in for TensorRT 10" in target["live"]["parser"]


def test_a_target_that_no_parser_stands_for_is_not_accepted_live(check):
    code, text, err = check(SRCNN, "--target", "tensorrt-8.5", "--live", "--json")
    target = json.loads(text)["targets"]["tensorrt-8.5"]
    assert (code, target["accepted"], target["live"]) == (2, True, None)
    assert "no parser of tensorrt-8.5 can run here" in target["live_reason"]
    assert err == f"resizefix check: {target['live_reason']}\n"


def test_without_the_extra_one_sentence_says_how_to_install_it_and_nothing_is_accepted(check, monkeypatch):
    monkeypatch.setattr(tensorrt_live, "MODULE", "no_such_bindings")
    monkeypatch.setattr(tensorrt_live.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(tensorrt_live.sys, "platform", "linux")
    for model, by_rules in ((SRCNN, True), (ANTIALIAS, False)):
        code, text, err = check(model, "--target", "tensorrt-rtx", "--target", "tensorrt-10", "--build", "--json")
        assert code == 2
        answer = json.loads(text)
        assert [(one["accepted"], one["live"]) for one in answer["targets"].values()] == [(by_rules, None)] * 2
        assert answer["error"] in err
        assert err.count("\n") == 1
        assert "pip install 'resizefix[tensorrt]'" in err
    verdict = resizefix.check(SRCNN, target="tensorrt-rtx", live=True)
    assert (verdict.accepted, verdict.taken) == (True, False)


@pytest.mark.parametrize("name", sorted(RUNTIMES.keys() & {target.name for target in TARGETS} - {"onnxruntime"}))
def test_no_runtime_that_is_not_there_accepts_a_model(check, monkeypatch, name, tmp_path):
    monkeypatch.setenv(RUNTIMES[name].variable, str(tmp_path / "python"))
    code, _, err = check(SRCNN, "--target", name, "--live")
    assert code == 2
    assert RUNTIMES[name].title in err


def test_without_a_target_those_are_asked_that_are_there(check, monkeypatch, tmp_path):
    monkeypatch.setattr(tensorrt_live, "MODULE", "no_such_bindings")
    for row in RUNTIMES.values():
        monkeypatch.setenv(row.variable, str(tmp_path / "python"))
    code, text, err = check(SRCNN, "--live", "--json")
    verdicts = json.loads(text)["targets"]
    assert code == (0 if all(one["accepted"] for one in verdicts.values()) else 1)
    assert verdicts["onnxruntime"]["live"]["accepted"]
    missing = [one["live_reason"] for one in verdicts.values() if one["live_reason"]]
    assert (
        err == f"resizefix check: {len(missing)} targets have no runtime here and are checked with built-in "
        "rules only; -v says why of each\n"
    )
    assert "TensorRT" in check(SRCNN, "--live", "--json", "-v")[2]


def test_shapes_are_read_as_trtexec_writes_them(check, stand_in):
    open_input = NetworkInput("input", (None, 3, None, None))
    built = LiveVerdict("TensorRT-RTX 9.9", True, built=True, inputs=(open_input,))
    for shapes in (
        ("--min-shapes", "input:1x3x8x8", "--opt-shapes", "input:1x3x8x16", "--max-shapes", "input:1x3x32x32"),
        ("--minShapes=input:1,3,8,8", "--optShapes=input:1,3,8,16", "--maxShapes=input:[1,3,32,32]"),
    ):
        asked = stand_in(LiveVerdict("TensorRT-RTX 9.9", True, inputs=(open_input,)), built)
        code, text, _ = check(DYNAMIC, "--target", "tensorrt-rtx", "--build", "--timeout", "5", *shapes)
        assert code == 0
        assert "takes the model and builds the engine" in text
        assert "built for input: 1x3x8x8 … 1x3x8x16 … 1x3x32x32\n" in text
        profile = {"input": {"min": [1, 3, 8, 8], "opt": [1, 3, 8, 16], "max": [1, 3, 32, 32]}}
        assert (asked.asked[-1], asked.time_limits) == ({"build": True, "profile": profile}, [5])


def test_ranges_that_were_chosen_are_reported_as_such(check, stand_in):
    open_input = NetworkInput("input", (None, 3, None, None))
    parsed = LiveVerdict("TensorRT-RTX 9.9", True, inputs=(open_input,))
    failed = LiveVerdict("TensorRT-RTX 9.9", True, (LiveError(None, None, None, "", "no"),), False)
    stand_in(parsed, failed, failed)
    code, text, _ = check(DYNAMIC, "--target", "tensorrt-rtx", "--build")
    assert code == 1
    assert "it parses, but no engine is built" in text
    assert "(chosen here)" in text


def test_several_shapes_may_stand_in_one_value():
    from resizefix.library.option_values import SHAPES

    assert SHAPES.read is not None
    read = SHAPES.read("a:1x3x8x8,tower/b:0:2,c:1,3,[4]")
    assert read == {"a": (1, 3, 8, 8), "tower/b:0": (2,), "c": (1, 3, 4)}


def test_without_a_target_all_of_them_are_judged(check, judged):
    answer, _ = judged(SRCNN)
    assert (answer["exit_code"], list(answer["targets"])) == (1, [target.name for target in TARGETS])
    for name, verdict in answer["targets"].items():
        assert judged(SRCNN, "--target", name)[0]["targets"] == {name: verdict}
    *lines, last = check(SRCNN, "--all")[1].splitlines()
    found = lines.index("what the rules found:")
    lines, words = lines[:found], lines[found + 1 :]
    assert len(lines) == len({target.runtime for target in TARGETS})
    assert lines[0].startswith("TensorRT     8.5 and later accept the resizes; 5.0 to 8.4 reject the resizes  ")
    named = {violation["rule"] for verdict in answer["targets"].values() for violation in verdict["violations"]}
    assert named == {line.split(":")[0].strip() for line in words}
    assert '  not-cubic: "This version of TensorRT does not support cubic interpolation!"' in "\n".join(words)
    assert last == "check with --target NAME, or -v, prints each node and how to fix it"


def test_by_default_a_runtime_is_a_line_and_old_releases_are_summed_up(check):
    code, text, _ = check(SRCNN)
    assert code == 1
    *lines, old, _ = text.splitlines()
    assert lines[:3] == [
        "TensorRT     8.5 and later accept the resizes; 8.0 to 8.4 reject the resizes  not-cubic (1 node)",
        "onnxruntime  accepts the resizes",
        "OpenVINO     accepts the resizes",
    ]
    assert "OpenCV       5 accepts the resizes; 4 rejects the resizes  not-cubic (1 node)" in lines
    assert "MNN          computes something else  cubic-before-the-first-sample (1 node)" in lines
    assert old == "TensorRT 5.0 to 7.2: none of them accepts the resizes; --all shows them"
    assert all(len(line) <= 130 for line in lines)


def test_a_release_between_two_rows_is_shown_by_the_name_that_was_asked_for(check, judged):
    _, text, _ = check(SRCNN, "--target", "TensorRT-8.6", "--target", "tensorrt", "--target", "opencv")
    assert [line.strip() for line in text.splitlines()] == [
        "tensorrt-8.6, judged as tensorrt-8.5 accepted",
        "tensorrt-10   accepted",
        "opencv-5      accepted",
    ]
    assert list(judged(SRCNN, "--target", "tensorrt-8.6")[0]["targets"]) == ["tensorrt-8.5"]


def test_a_file_of_a_target_is_judged_by_the_name_in_it(check, judged, call, tmp_path):
    path = tmp_path / "mine.toml"
    assert call("target", "new", "my-npu", "-o", path)[0] == 0
    code, text, _ = check(SRCNN, "--target", path)
    assert (code, "my-npu        rejected" in text) == (1, True)
    page, markdown = tmp_path / "m.html", tmp_path / "m.md"
    answer, _ = judged(SRCNN, "--target", path, "--html", page, "--markdown", markdown)
    assert list(answer["targets"]) == ["my-npu"]
    assert "my-npu" in page.read_text()
    assert "my-npu" in markdown.read_text()
    assert call("target", "new", "my-npu", "-o", path)[0] == 2
    assert call("target", "new", "qnn")[0] == 2
    assert call("target", "new", "My NPU")[0] == 2


def test_the_matrix_has_a_row_for_each_node_and_a_column_for_each_target(judged, tmp_path):
    page, text = tmp_path / "m.html", tmp_path / "m.md"
    for targets in ([], ["--target", "tensorrt-5.0", "--target", "onnxruntime"]):
        answer, _ = judged(UNET, *targets, "--html", page, "--markdown", text, "--force")
        assert (answer["exit_code"], answer["html"], answer["markdown"]) == (1, str(page), str(text))
        (header,) = re.findall(r"^\| node \| (.*) \|$", text.read_text(), re.MULTILINE)
        names = [name.strip("` ") for name in header.split(" | ")]
        assert sorted(names) == sorted(answer["targets"])
        marks = ["✓" if answer["targets"][name]["accepted"] else "✕" for name in names]
        for name in ("#0 /Resize", "#1 /Resize_1"):
            assert f"| `{name}` | {' | '.join(marks)} |" in text.read_text()
        cells = re.findall(r'<td class="(?:yes|no)" data-label="([^"]+)">(.)</td>', page.read_text())
        assert sorted(cells) == sorted(2 * list(zip(names, marks, strict=True)))
        assert "upsample-alone" in text.read_text()
        assert "upsample-alone" in page.read_text()


def test_a_node_that_is_only_taken_for_a_resize_has_its_row(check, tmp_path):
    model = onnx.load(SRCNN)
    (node,) = (node for node in model.graph.node if node.op_type == "Resize")
    node.name, node.domain = "<b>|*evil*", "other"
    onnx.save(model, tmp_path / "m.onnx")
    code, text, _ = check(tmp_path / "m.onnx", "--markdown")
    assert code == 1
    assert "| <code>\\<b\\>&#124;\\*evil\\*</code> | ✕ |" in text
    assert "domain-is-overlooked" in text


@pytest.mark.parametrize(
    ("typed", "row"),
    [
        ("TensorRT-8.6", "tensorrt-8.5"),
        ("tensorrt-8.6.1.6", "tensorrt-8.5"),
        ("tensorrt-8.2", "tensorrt-8.0"),
        ("TENSORRT-5.1.5", "tensorrt-5.1"),
        ("tensorrt-9.3", "tensorrt-9"),
        ("tensorrt-10.16", "tensorrt-10"),
        ("tensorrt", "tensorrt-10"),
        ("TensorRT-RTX", "tensorrt-rtx"),
        ("ONNXRuntime", "onnxruntime"),
    ],
)
def test_a_version_is_judged_by_the_row_that_covers_it(judged, typed, row):
    assert judged(SRCNN, "--target", typed)[0]["targets"].keys() == {row}


@pytest.mark.parametrize(
    "typed", ["tensorrt-4", "tensorrt-11", "tensorrt-", "tensorrt-8.", "openmind", "tensorrt 8", "listing"]
)
def test_what_no_row_covers_is_no_target(check, typed):
    code, _, err = check(SRCNN, "--target", typed)
    nearest = r"(?:did you mean (.*)\? )?docs/reference/targets.md has all"
    said = re.search(f"there is no target '(.*)'; {nearest}", err)
    assert code == 2
    assert said is not None, err
    assert said[1] == typed
    near = said[2].split(" or ") if said[2] else []
    assert set(near) <= {target.name for target in TARGETS}
    assert near or typed == "listing"


@needs_tensorrt
def test_the_real_parser_refuses_antialias_and_names_the_node(judged):
    answer, target = judged(ANTIALIAS, "--target", "tensorrt-rtx", "--live")
    (error,) = target["live"]["errors"]
    assert (answer["exit_code"], target["live"]["accepted"], error["op"]) == (1, False, "Resize")
    assert "Antialiasing is not supported" in error["message"]


@needs_tensorrt
def test_the_real_builder_builds_a_dynamic_model_for_the_shapes_given(judged):
    shapes = ("--min-shapes", "input:1x3x8x8", "--opt-shapes", "input:1x3x16x16", "--max-shapes", "input:2x3x32x32")
    answer, target = judged(DYNAMIC, "--target", "tensorrt-rtx", "--build", *shapes)
    assert (answer["exit_code"], target["live"]["built"], target["live"]["chosen"]) == (0, True, [])
    assert target["live"]["profile"]["input"]["max"] == [2, 3, 32, 32]


@pytest.mark.parametrize(
    ("name", "options"), [("scales_graph_input", ["--set", "scales=1,1,2,2"]), ("scales_graph_input_default", [])]
)
def test_an_input_that_tensorrt_does_not_take_can_be_frozen_and_fed_as_integers(
    check, judged, call, tmp_path, name, options
):
    frozen, fed = tmp_path / "frozen.onnx", tmp_path / "fed.onnx"
    given = FIXTURES / "handmade" / f"{name}.onnx"
    code, text, _ = call("check", given, "--target", "tensorrt-rtx")
    assert code == 0 or re.search("resizefix (freeze-scales|legalize .*--shape-inputs)", text.splitlines()[-1])
    assert call("freeze-scales", given, frozen, *options)[0] == 0
    assert call("promote-scales", frozen, fed, "--for", "tensorrt")[0] == 0
    answer, target = judged(fed, "--target", "tensorrt-rtx", "--build")
    assert (answer["exit_code"], target["violations"]) == (0, [])
    if missing is None:
        assert target["live"]["built"] is True
