"""`explain`: for a model that has the fault, the command that it prints succeeds."""

import io
import shlex
import shutil
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fixture_models import FIXTURES, SRCNN
from models_of_messages import MODELS, OTHERS, WITHOUT, S, text_model

import resizefix
from resizefix.library.fix_trials import FixTrials
from resizefix.messages.table import MESSAGES
from resizefix.targets.catalogue import TARGETS
from resizefix.words import quoted

TARGET_NAMES = {target.name for target in TARGETS}


def written(model, folder):
    if isinstance(model, str):
        return FIXTURES / f"{model}.onnx"
    onnx.save(model, folder / "model.onnx")
    return folder / "model.onnx"


@pytest.mark.parametrize("text", MODELS, ids=lambda text: text[:50])
def test_the_command_for_a_model_that_has_the_fault_succeeds(text, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    model, wanted = MODELS[text]
    path = written(model, tmp_path)
    found = next(one for one in resizefix.explain(text, path) if one.message == text)
    program, name, *rest = shlex.split(found.command)
    assert (program, name, rest[0]) == ("resizefix", wanted, str(path))
    code, _, error = call(name, *rest)
    assert code == 0, error
    assert Path(rest[1]).is_file()


def test_every_message_has_a_model_or_a_reason_why_there_is_none():
    by_size = {"Got invalid dimensions for input: … Got: 364 Expected: 518"}
    nothing_to_type = {message.text for message in MESSAGES if not message.fixes}
    known = MODELS.keys() | WITHOUT.keys() | OTHERS.keys() | by_size | nothing_to_type
    assert {message.text for message in MESSAGES} == known
    assert not MODELS.keys() & WITHOUT.keys()


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.text[:50])
def test_what_a_fix_names_is_there(message, call):
    for name, *options in message.fixes:
        assert call(name, "--help")[0] == 0
        if "--target" in options:
            target = options[options.index("--target") + 1]
            assert target in TARGET_NAMES


@pytest.mark.parametrize("text", OTHERS, ids=lambda text: text[:50])
def test_the_command_for_another_runtime_succeeds(text, tmp_path, monkeypatch, call):
    """It is given without verification, with which `explain` has tried it."""
    monkeypatch.chdir(tmp_path)
    path = written(OTHERS[text], tmp_path)
    found = next(one for one in resizefix.explain(text, path) if one.message == text)
    assert found.cause_gone is not False or found.then is not None, found
    _, name, source, out, *options = shlex.split(found.command)
    code, _, error = call(name, source, out, *options, "--no-verify")
    assert code == 0, error
    assert Path(out).is_file()


def test_no_other_fix_is_tried_where_the_first_is_accepted(monkeypatch):
    """Each trial is a whole command with its verification."""
    tried = []
    trial = FixTrials.trial
    monkeypatch.setattr(FixTrials, "trial", lambda self, fix: tried.append(fix) or trial(self, fix))
    text = "QNN EP: Resize doesn't support anti-aliasing."
    (message,) = (message for message in MESSAGES if message.text == text)
    assert len(message.fixes) > 1
    assert resizefix.explain(text, OTHERS[text])[0].command == "resizefix legalize MODEL OUT --target qnn"
    assert tried == [message.fixes[0]]


CONVOLVED = text_model(
    14, 'h = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) a = Shape (x) '
    'r = Resize <mode = "linear"> (h, "", "", a) y = Add (r, x)', "", "float", "[1, 3, h, w]",
)  # fmt: skip
FED = text_model(13, 'y = Resize <mode = "cubic"> (x, "", s)', "").SerializeToString()


def with_input(name):
    model = onnx.load_from_string(FED)
    model.graph.input.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4]))
    return model


@pytest.mark.parametrize(
    ("text", "model", "commands", "target"),
    [
        ("Attribute not found: height_scale", text_model(9, 'y = Upsample <mode = "linear"> (x, s)'),
         ["trt-legacy"], "tensorrt-5.0"),
        ("Neither sizes nor scales makes sense", CONVOLVED, ["freeze-scales"], "tract"),
        ("is a shape tensor and must have type Int32 or Int64. Type is Float", with_input("s"),
         ["promote-scales"], "tensorrt-10"),
        ("This version of TensorRT does not support cubic interpolation!", with_input("s"),
         ["freeze-scales", "legalize"], "tensorrt-8.0"),
        ("Attribute not found: height_scale", text_model(13, "y = Upsample (x, s)"),
         ["repair", "trt-legacy"], "tensorrt-5.0"),
        ("Compute Shape Error for", with_input("s"), ["freeze-scales", "legalize"], "mnn"),
    ],
)  # fmt: skip
def test_what_is_called_a_fix_ends_with_a_model_that_the_target_accepts(
    text, model, commands, target, tmp_path, monkeypatch, call
):
    monkeypatch.chdir(tmp_path)
    onnx.save(model, "m.onnx")
    found = next(one for one in resizefix.explain(text, "m.onnx") if one.message == text)
    lines = [shlex.split(line) for line in (found.command, found.then) if line]
    assert [line[1] for line in lines] == commands
    for line in lines:
        code, _, error = call(*line[1:])
        assert code == 0, error
    assert resizefix.check(lines[-1][3], target=target).accepted
    code, said, _ = call("explain", text, "m.onnx")
    assert code == 0
    assert "fixes it" in said or "two commands fix it" in said


def test_a_target_that_accepts_the_model_is_named(call):
    code, said, _ = call("explain", "Antialiasing is not supported currently.", SRCNN)
    assert code == 0
    assert "by its rules, tensorrt-10 accepts the resizes of" in said


@pytest.mark.parametrize("text", ["mode attribute is bilinear. It can only be nearest(default) or linear or cubic",
                                  "Op registered for Upsample is deprecated in domain_version of 11"])  # fmt: skip
def test_a_model_without_the_fault_gets_the_cause_and_no_command(text, call):
    assert [one.command for one in resizefix.explain(text, SRCNN)] == [None]
    code, said, _ = call("explain", text, SRCNN)
    assert code == 0
    assert "no command changes" in said


@pytest.mark.parametrize("text", ["mode attribute is bilinear. It can only be nearest(default) or linear or cubic",
                                  "no such message"])  # fmt: skip
def test_the_command_in_an_answer_names_a_file_as_a_shell_takes_it(text, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(SRCNN, "-my model.onnx")
    _, out, err = call("explain", text, "--", "-my model.onnx")
    assert f"`resizefix inspect {quoted('./-my model.onnx')} -" in " ".join((out + err).split())


def test_without_a_model_the_command_is_a_template():
    (found,) = resizefix.explain("Resize scales must be an initializer!")
    assert found.command == "resizefix legalize MODEL OUT --target tensorrt-8.0"


@pytest.mark.parametrize("fed", [(24, 40), (32, 32)])
def test_a_model_of_another_input_size_is_given_the_size_that_was_fed(fed, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    model = text_model(13, 'y = Resize (x, "", s)')
    onnx.save(model, "m.onnx")
    image = np.zeros((1, 3, *fed), np.float32)
    with pytest.raises(Exception, match="Got invalid dimensions") as said:
        ort.InferenceSession("m.onnx").run(None, {"x": image})
    (found,) = resizefix.explain(str(said.value), "m.onnx")
    assert found.command == f"resizefix input-size m.onnx m.resized.onnx {fed[0]}x{fed[1]}"
    assert call(*shlex.split(found.command)[1:])[0] == 0
    (made,) = ort.InferenceSession("m.resized.onnx").run(None, {"x": image})
    assert made.shape == (1, 3, 2 * fed[0], 2 * fed[1])


def test_where_the_reading_is_a_choice_the_command_is_called_an_example(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    both = text_model(13, 'y = Resize (x, "", s, z)', f"{S}, int64[4] z = {{1, 3, 20, 20}}")
    onnx.save(both, "m.onnx")
    code, said, _ = call("explain", "Either `sizes` or `scales` must be provided, but not both of them", "m.onnx")
    assert code == 0
    assert "put your own values after --prefer:" in said
    assert "--prefer sizes" in said


def test_a_model_in_memory_is_not_changed():
    model = text_model(13, 'y = Resize <mode = "bilinear"> (x, "", s)')
    before = model.SerializeToString()
    (found,) = resizefix.explain(
        "mode attribute is bilinear. It can only be nearest(default) or linear or cubic", model
    )
    assert found.command == "resizefix repair MODEL OUT"
    assert model.SerializeToString() == before


@pytest.mark.parametrize("message", ["", "  \n", None, 7])
def test_a_message_that_is_no_text_is_a_usage_error(message):
    with pytest.raises(resizefix.UsageError, match="paste what the runtime printed"):
        resizefix.explain(message)


def test_the_command_line_answers_and_an_unknown_message_says_what_to_send(call, answered):
    code, said, _ = call("explain", "Resize scales must be an initializer!")
    assert code == 0
    assert "TensorRT 6.0 to 8.2 takes scales from an initializer" in said
    assert "read more: docs/how-to/scales-must-be-constant.md" in said
    document = answered("explain", "no such thing")
    assert (document["exit_code"], document["matches"]) == (1, [])
    assert "no such thing" in document["report"]
    assert call("explain", "Resize scales must be an initializer!", "no_such_file.onnx")[0] == 2


ALL_FOUR = text_model(13, 'y = Resize <mode = "linear"> (x, "", s)', "float[4] s = {4, 4, 4, 4}")


def test_scales_that_multiply_the_batch_are_shown_with_the_command_for_height_and_width(answered, tmp_path, call):
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    onnx.save(ALL_FOUR, path)
    (fault,) = answered("explain", "'Linear' mode only supports:", path)["findings"]["faults"]
    assert (fault["fault"], fault["fix"]) == ("scales-batch-too", "scales=1,1,4,4")
    assert f"`resizefix set {path} OUT scales=1,1,4,4`" in " ".join(call("explain", "no such thing", path)[1].split())
    assert call("set", path, out, fault["fix"])[0] == 0
    assert ort.InferenceSession(out).run(None, {"x": np.zeros((1, 3, 8, 8), np.float32)})[0].shape == (1, 3, 32, 32)
    assert answered("explain", "no such thing", SRCNN)["findings"]["faults"] == []


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("Required inputs (['h', 'x']) are missing from input feed (['y']).", "this model has no input h; it has x"),
        ("Required inputs (['x']) are missing from input feed (['y']).", "feed x (float[1,3,8,8]) together"),
        ("Missing Input: x", "feed x (float[1,3,8,8]) together"),
    ],
)
def test_inputs_that_were_not_fed_are_looked_for_in_the_model(message, said):
    (found,) = resizefix.explain(message, FIXED)
    assert found.command is None
    assert said in str(found.reason)


@pytest.mark.parametrize(
    "message",
    [
        "Non-zero status code returned while running Resize node. Name:'{}' Message: 'Linear' mode only supports:",
        "Type 'tensor(float16)' of input parameter (1105) of operator (Resize) in node ({}) is invalid.",
        'While parsing node number 80 [Resize -> "{}"]: Resize scales must be an initializer!',
        "In node 3 with name: {} and operator: Resize (importResize): Antialiasing is not supported currently.",
        "While validating ONNX node '<Node(Resize): {}>': All axes values should less than input rank: 4",
        "> Node [Resize@ai.onnx]:(onnx_node!{}) parse error: in function 'parseResize'",
    ],
)
def test_a_node_that_the_model_does_not_have_is_said_to_be_of_another_file(message, answered, tmp_path):
    onnx.save(text_model(13, '[up] y = Resize (x, "", s)'), tmp_path / "m.onnx")
    for name, missing in (("up", []), ("y", []), ("/model.13/Resize", ["/model.13/Resize"])):
        answer = answered("explain", message.format(name), tmp_path / "m.onnx")
        assert answer["matches"]
        assert answer["findings"]["not_there"] == missing
    # The end of the text may be the middle of the name.
    assert answered("explain", message[: message.index("{}")] + "u", tmp_path / "m.onnx")["findings"]["not_there"] == []


@pytest.mark.parametrize(("encoding", "end"), [("utf-8", b"caf\xe9"), ("utf-8-sig", b""), ("utf-16", b"")])
def test_a_message_is_read_from_stdin_as_editors_and_shells_write_it(encoding, end, monkeypatch, answered):
    text = "\x1b[31m[E] Resize scales must\nbe an initializer!\x1b[0m\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode(encoding) + end)))
    answer = answered("explain", "-")
    assert answer["exit_code"] == 0
    (match,) = answer["matches"]
    assert {"message", "runtime", "cause", "page", "command"} < set(match)


FIXED = text_model(13, 'y = Resize (x, "", s)')
BATCH = "Got invalid dimensions for input: x for the following indices\n index: 0 Got: 5 Expected: 1\n Please fix"


def test_a_batch_that_was_fed_gets_a_command_after_which_it_runs(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    onnx.save(FIXED, "m.onnx")
    (found,) = resizefix.explain(BATCH, "m.onnx")
    assert found.command == "resizefix input-size m.onnx m.resized.onnx 8x8 --batch 5"
    assert found.cause_gone
    assert call(*shlex.split(found.command)[1:])[0] == 0
    (made,) = ort.InferenceSession("m.resized.onnx").run(None, {"x": np.zeros((5, 3, 8, 8), np.float32)})
    assert made.shape == (5, 3, 16, 16)


@pytest.mark.parametrize("model", [None, FIXED])
def test_a_message_about_the_channels_gets_no_command(model):
    (found,) = resizefix.explain(BATCH.replace("index: 0", "index: 1"), model)
    assert found.command is None
    assert "axis 1" in found.reason


SKIP = text_model(
    13, 'h = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) r = Resize (h, "", s) y = Concat <axis = 1> (r, x)'
)


def test_what_works_at_some_sizes_only_is_not_called_a_fix(call, tmp_path, monkeypatch):
    """The halves of an odd size are not doubled to it."""
    monkeypatch.chdir(tmp_path)
    onnx.save(SKIP, "m.onnx")
    text = "Non concat axis dimensions must match: Axis 3 has mismatched dimensions of 18 and 17"
    (found,) = resizefix.explain(text, "m.onnx")
    assert found.cause_gone is not None or found.command is None
    _, said, _ = call("explain", text, "m.onnx")
    assert "fixes it" not in said


def test_what_onnxruntime_runs_before_and_after_is_not_called_a_fix():
    (found,) = resizefix.explain("Scale value should be greater than 0", SRCNN)
    assert (found.command, found.cause_gone) == (None, None)


def test_where_no_command_helps_each_that_was_tried_is_named_with_its_reason():
    text = "The input tensor cannot be reshaped to the requested shape"
    weights = ", ".join(["1"] * 12)
    constants = f"int64[2] z = {{1, 12}}, float[12, 1] w = {{{weights}}}"
    model = text_model(13, "f = Reshape (x, z) y = MatMul (f, w)", constants, data="[1,3,h,w]")
    (found,) = resizefix.explain(text, model)
    assert found.command is None
    assert found.tried[0][0].split()[1] == "input-size"
    assert all(reason for _, reason in found.tried)


def test_the_nearest_messages_have_distances_and_commands(answered):
    document = answered("explain", "only floor is supported as nearest_mode of this version")
    assert (document["exit_code"], document["matches"]) == (1, [])
    first = document["nearest"][0]
    assert first["message"] == "This version of TensorRT only supports floor nearest_mode!"
    assert 0.2 < first["distance"] < 0.6
    assert first["command"] == "resizefix legalize MODEL OUT --target tensorrt-7.2"


def test_what_is_all_but_a_message_is_a_match_with_its_distance(answered):
    document = answered("explain", "resize scale should be an initialiser")
    (match,) = document["matches"]
    assert (document["exit_code"], match["message"]) == (0, "Resize scales must be an initializer!")
    assert match["distance"] < 0.2


@pytest.mark.parametrize(
    "text", ["This version of TensorRT only supports floor nearest_mode!", "Resize scales must be an initializer!"]
)
def test_a_rule_that_the_model_keeps_is_not_said_to_be_fixed(text):
    (one,) = resizefix.explain(text, SRCNN)
    assert (one.rule_broken, one.accepted_before, one.cause_gone) == (False, False, None)


@pytest.mark.parametrize("text", ["Resize scales must be an initializer!", "[TRT] an unknown message"])
def test_the_model_says_what_it_shows(text, answered, call):
    model = FIXTURES / "handmade" / "scales_concat.onnx"
    findings = answered("explain", text, model)["findings"]
    assert (findings["sites"], findings["faults"], findings["run_error"]) == (1, [], None)
    assert findings["target"].startswith("tensorrt-")
    _, said, _ = call("explain", text, model)
    assert f"what {model} shows:" in " ".join(said.split())
    assert "onnxruntime runs it" in said


def test_faults_and_a_model_that_does_not_run_are_shown(answered):
    findings = answered("explain", "an unknown message", FIXTURES / "broken" / "mode_bilinear_opset11.onnx")["findings"]
    assert findings["faults"]
    assert findings["run_error"]
    assert findings["target"] is None


def test_the_model_may_stand_before_the_message(answered, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(FIXED, "m.onnx")
    one, other = answered("explain", BATCH, "m.onnx"), answered("explain", "m.onnx", BATCH)
    assert one["matches"] == other["matches"]
    assert one["matches"][0]["command"]


@pytest.mark.parametrize("words", [("-", BATCH), (BATCH, "-")])
def test_the_model_may_come_from_stdin_in_either_order(words, answered, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(FIXED.SerializeToString())))
    assert answered("explain", *words)["findings"]["sites"] == 1


def test_the_message_may_come_from_stdin_behind_the_model(answered, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(FIXED, "m.onnx")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BATCH.encode())))
    assert answered("explain", "m.onnx", "-")["matches"][0]["command"]


def test_a_model_alone_asks_for_the_message(call):
    code, _, error = call("explain", SRCNN)
    assert code == 2
    assert "Give the message, too" in error
