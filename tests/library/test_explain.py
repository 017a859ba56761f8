# ruff: noqa: E501
"""`explain`: for a model that has the fault, the command that it prints succeeds."""

import io
import shlex
import shutil
from pathlib import Path

import numpy as np
import onnx
import onnx_text
import onnxruntime as ort
import pytest
from fixture_models import FIXTURES, SRCNN

import resizefix
from resizefix.library import explain
from resizefix.messages.table import MESSAGES
from resizefix.shell_words import quoted
from resizefix.targets.catalogue import TARGETS

TARGET_NAMES = {target.name for target in TARGETS}
S = "float[4] s = {1, 1, 2, 2}"


def text_model(opset, nodes, rest=S, kind="float", data="[1,3,8,8]"):
    return onnx_text.model(f"({kind}{data} x) => ({kind}[a, b, c, d] y) <{rest}> {{ {nodes} }}", opset)


# By the command that fixes it and the wording of the message: a model that has its fault.
FIXED_BY: dict[str, dict[str, str | onnx.ModelProto]] = {
    "trt-legacy": {
        "Attribute not found: height_scale": "bisenet_x8_nearest_opset9",
        "No importer registered for op: Resize": "bisenet_x8_nearest_opset10",
        "No Adapter From Version $11 for Resize": "bisenet_x8_nearest_opset11",
    },
    "repair": {
        "Operator Upsample requires exactly 2 inputs. Current input size = 1": "handmade/upsample9_hybrid",
        'Assertion failed: attrs.contains("scales"): Attribute scales is missing':
            text_model(8, 'y = Upsample <mode = "linear"> (x, s)'),
        "The attribute mode can only be nearest, linear, or bilinear.": "handmade/resize_mode_bilinear",
        "This version of TensorRT only supports FLOAT scales input. Current scales weight type":
            "handmade/scales_half_precision",
        "Type 'tensor(float16)' of input parameter (…) of operator (Resize) in node (…) is invalid":
            "broken/fp16_scales_const_13",
        "Either 'sizes' or 'scales' must be provided, but not both of them": "handmade/resize_scales_and_sizes",
        "input 1 is marked single but has an empty string in the graph": "broken/empty_name_opset11_05",
        "Scale value should be greater than 0": "broken/upsample_downscales_01",
        "mode attribute is bilinear. It can only be nearest(default) or linear or cubic":
            "broken/mode_bilinear_opset11",
        "Op registered for Upsample is deprecated in domain_version of 11": "handmade/upsample_at_opset_11",
        "Unrecognized attribute: … for operator Resize":
            text_model(13, 'y = Resize <mode = "linear", align_corners = 1> (x, "", s)'),
        "No Op registered for Resize with domain_version of 9": text_model(9, "y = Resize (x, s)"),
        "Could not find an implementation for Resize(13) node": "handmade/upsample1_height_scale",
        "(…, Upsample, …) has input size 2 not in range [min=1, max=1]": text_model(7, "y = Upsample (x, s)"),
        "with schema(::Resize:11) has input size 2 not in range": text_model(11, "y = Resize (x, s)"),
        "Number of elements of input 'scales' must be same as rank of input 'X'":
            "broken/scales_of_two_axes_caffe2onnx",
        "coordinate_transform_mode:[…] is not supported!":
            text_model(13, 'y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners "> (x, "", s)'),
        "Mismatched attribute type in '… : cubic_coeff_a'":
            text_model(13, 'y = Resize <mode = "cubic", exclude_outside = 0.0> (x, "", s)'),
        "two nodes with same node name (…)": "broken/duplicate_output_name_01",
        "Type (tensor(float16)) of output arg (…) of node (…) does not match expected type (tensor(float))":
            "broken/fp16_scales_and_stale_type_02",
    },
    "legalize": {
        "Assertion failed: scales_input.is_weights()": "computed_scales_opset9",
        "Resize scales must be an initializer!": "handmade/scales_concat",
        "Assertion failed: ctx->tensors().count(inputName)": "bisenet_x8_nearest_opset11",
        "Assertion failed: (nbDims >= 1) && (nbDims <= 3)": "bisenet_x8_linear_opset9",
        "This version of TensorRT only supports asymmetric resize!": "bisenet_x8_linear_opset13",
        "This version of TensorRT only supports floor nearest_mode!": "handmade/sizes_constant",
        "This version of TensorRT does not support cubic interpolation!": "srcnn_x3_opset11",
        "TensorRT only supports half_pixel, pytorch_half_pixel, tf_half_pixel_for_nn, asymmetric and align_corners transformation modes!":
            "handmade/resize19_half_pixel_symmetric",
        "This version of TensorRT only support round_prefer_floor nearest mode in tf_half_pixel_for_nn!":
            "handmade/resize11_tf_half_pixel_for_nn",
        "Antialiasing is not supported currently.": "handmade/resize18_antialias",
        "Only 'stretch' is supported currently as 'keep_aspect_ratio_policy'.": "handmade/sizes_not_larger",
        "'axes' attribute is supported with 'scales' tensor only when it's trivial":
            text_model(18, 'h = Concat <axis = 0> (p, p) y = Resize <axes = [2, 3]> (x, "", h)', "float[1] p = {2}"),
        "first input has type Int32 but must have type Float, Half": "handmade/data_int32",
    },
    "freeze-scales": {
        "is a shape tensor and must have type Int32 or Int64. Type is Float": "handmade/scales_graph_input",
        "Assertion !isInFlight(p.second.symbolicRep) failed": "handmade/scales_graph_input",
        "Unsupported Upsample scales !": "computed_scales_opset9",
    },
    "promote-scales": {
        "Network has dynamic or shape inputs, but no optimization profile has been defined": "srcnn_x3_opset11",
        "Attempting to broadcast an axis by a dimension other than 1. 10 by 15": "handmade/stale_value_info",
        "Non concat axis dimensions must match": "handmade/two_sites_together",
        "…takes only whole numbers, so 2.5 cannot be fed; add --denominator 2": "srcnn_x3_opset11",
    },
}  # fmt: skip
MODELS = {text: (model, command) for command, rows in FIXED_BY.items() for text, model in rows.items()}
# Messages of which no model is here whose fault can be fixed, and why.
WITHOUT = {
    "This version of TensorRT only supports linear resizing on the outermost 3 dimensions": "onnxruntime runs no such node",
    "'Linear' mode only supports:": "onnxruntime runs no such node, so no other can be compared with it",
    "'Cubic' mode only support 2-D inputs ('Bicubic') or 4-D inputs with the corresponding outermost 2 scale values "
    "being 1": "onnxruntime runs no such node, so no other can be compared with it",
}
# Of the runtimes that refuse what onnxruntime takes: a model that has the fault of each message.
CUBIC = text_model(13, 'y = Resize <mode = "cubic"> (x, "", s)')
SYMMETRIC = text_model(19, 'y = Resize <coordinate_transformation_mode = "half_pixel_symmetric"> (x, "", s)')
COMPUTED = text_model(13, 'a = Shape (x) b = Mul (a, f) y = Resize (x, "", "", b)', "int64[4] f = {1, 1, 2, 2}")
UPSAMPLE = text_model(9, "y = Upsample (x, s)")
FRACTION = text_model(9, "y = Upsample (x, s)", "float[4] s = {1, 1, 1.5, 1.5}")
SHRUNK = text_model(18, 'y = Resize <antialias = 1, mode = "linear"> (x, "", s)', "float[4] s = {1, 1, 0.5, 0.5}")
FROM_THE_END = text_model(18, 'y = Resize <axes = [-2, -1]> (x, "", s)', "float[2] s = {2, 2}")
CHANNELS = text_model(
    13, 'y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, "", s)',
    "float[4] s = {1, 2, 2, 2}",
)  # fmt: skip
TF_HALF = text_model(
    11, 'y = Resize <coordinate_transformation_mode = "tf_half_pixel_for_nn"> (x, e, s)', f"{S}, float[0] e = {{}}"
)
CEIL = text_model(13, 'y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "ceil"> (x, "", s)')
OUTSIDE = text_model(13, 'y = Resize <mode = "cubic", exclude_outside = 1> (x, "", s)')
SIX_AXES = text_model(
    13, 'h = Unsqueeze (x, q) r = Resize (h, "", s) y = Squeeze (r, q)',
    "int64[2] q = {0, 1}, float[6] s = {1, 1, 1, 1, 2, 2}",
)  # fmt: skip
EMPTY = text_model(13, "y = Resize (x, e, e, z)", "float[0] e = {}, int64[4] z = {1, 3, 16, 16}")
OTHERS: dict[str, onnx.ModelProto] = {
    "this type of coordinate transformation mode is not supported. Choose one of the following modes": SYMMETRIC,
    "All axes values should less than input rank: 4": FROM_THE_END,
    "only supports resize on spatial dimensions(depth, height and width)": CHANNELS,
    "ONNX Resize operation from opset 12 is not supported.": CUBIC,
    "of 'linear_onnx' or 'cubic' mode only support input tensor of 2 or 4 rank": CUBIC,
    'interpolation == "nearest" || interpolation == "opencv_linear" || interpolation == "bilinear"': CUBIC,
    "layer_id.find(node_proto.input(i)) == layer_id.end() in function 'parseResize'": COMPUTED,
    'interp_mode != "tf_half_pixel_for_nn"': TF_HALF,
    "HCHW layout is expected (expected: 'scales.total() == (size_t)4')": FROM_THE_END,
    "!isDynamicShape in function 'parseShape'": COMPUTED,
    "fracpart == 0.0 in function 'get<long int>'": FRACTION,
    "cannot be loaded with the new parser. Trying the older parser.": COMPUTED,
    "ninputs == 1 || ninputs == 2 || ninputs >= 4 in function 'getMemoryShapes'": CUBIC,
    "layer Resize not exists or registered": CEIL,
    "Unsupported Resize scales and sizes are all empty!": COMPUTED,
    "Compute Shape Error for": COMPUTED,
    "Tensorflow's interp's shape should be length two": FROM_THE_END,
    "MNN Interp don't support >= 6 dimension Interp": SIX_AXES,
    "Unimplemented(Upsample) ToTypedTranslator": UPSAMPLE,
    "Neither sizes nor scales makes sense": COMPUTED,
    "for scale is currently unsupported.": COMPUTED,
    "Only one of scales and sizes can be provided in Resize.": EMPTY,
    "Unsupported coordinate_transformation_mode: half_pixel_symmetric": SYMMETRIC,
    "Resize2D expects the given output image size to be a 2-dim shape": FROM_THE_END,
    "need to be constant! It will cause the graph to be a dynamic graph!": COMPUTED,
    "Not support 'tf_half_pixel_for_nn' in 'Resize'(opset-11)!": TF_HALF,
    "The follow op is not support : ['Resize']": CUBIC,
    "QNN EP: Resize doesn't support anti-aliasing.": SHRUNK,
    "QNN EP: Resize does not support coordinate_transformation_mode": SYMMETRIC,
    "QNN EP: Resize may only change the spatial dimensions.": CHANNELS,
    "Resize with 'scales' requires the H and W dimensions to have fixed values": UPSAMPLE,
    "Resize nearest neighbor, unsupported coord_trans_mode,": SYMMETRIC,
    "Input scales of Resize must be known": COMPUTED,
    "PARSE_RESIZE: only nearest and linear modes are supported!": CUBIC,
    "PARSE_RESIZE: dynamic output size is not supported!": COMPUTED,
    "PARSE_RESIZE: exclude_outside 1 is not supported!": OUTSIDE,
}


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
    assert {message.text for message in MESSAGES} == MODELS.keys() | WITHOUT.keys() | OTHERS.keys() | by_size
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
    onnx.save(OTHERS[text], "m.onnx")
    found = next(one for one in resizefix.explain(text, "m.onnx") if one.message == text)
    _, name, source, out, *options = shlex.split(found.command)
    code, _, error = call(name, source, out, *options, "--no-verify")
    assert code == 0, error
    assert Path(out).is_file()


def test_no_other_fix_is_tried_where_the_first_is_accepted(monkeypatch):
    """Each trial is a whole command with its verification."""
    tried = []
    trial = explain._Trials._trial
    monkeypatch.setattr(explain._Trials, "_trial", lambda self, fix: tried.append(fix) or trial(self, fix))
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
         ["freeze-scales", "promote-scales"], "tensorrt-10"),
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
    assert "no command changes this model" in said


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
    assert "TensorRT 8.0 to 8.2 takes scales from an initializer" in said
    assert "read more: docs/how-to/resize-scales-must-be-an-initializer.md" in said
    document = answered("explain", "no such thing")
    assert (document["exit_code"], document["matches"]) == (1, [])
    assert "open an issue with the whole message" in document["error"]
    assert call("explain", "Resize scales must be an initializer!", "no_such_file.onnx")[0] == 2


@pytest.mark.parametrize(("encoding", "end"), [("utf-8", b"caf\xe9"), ("utf-8-sig", b""), ("utf-16", b"")])
def test_a_message_is_read_from_stdin_as_editors_and_shells_write_it(encoding, end, monkeypatch, answered):
    text = "\x1b[31m[E] Resize scales must\nbe an initializer!\x1b[0m\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode(encoding) + end)))
    answer = answered("explain", "-")
    assert answer["exit_code"] == 0
    (match,) = answer["matches"]
    assert {"message", "runtime", "cause", "page", "command"} < set(match)
