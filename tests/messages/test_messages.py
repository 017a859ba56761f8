# ruff: noqa: E501
"""Messages as people paste them are found, with a cause in two sentences, a page that is there and a fix."""

import html
import json
import re
import textwrap
from pathlib import Path

import pytest

from resizefix.library.explain import cause_of
from resizefix.messages.table import MESSAGES, messages_in, nearest_to
from resizefix.messages.wording import ANYTHING

ROOT = Path(__file__).parents[2]
each = pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.text[:40])
SYMPTOMS = {
    message: page
    for page in sorted((ROOT / "docs" / "how-to").glob("*.md"))
    if page.stem not in ("a-lost-pixel", "pipelines")  # of which no runtime speaks
    for message in re.findall(r"^## (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
}
# As each runtime printed it, measured: with paths, numbers, prefixes and names of its own.
PRINTED = {
    "TensorRT": (
        "[12/03/2019-10:11:12] [E] [TRT] Attribute not found: height_scale",
        "While parsing node number 77 [Resize]:\nERROR: builtin_op_importers.cpp:2593 In function importResize:\n"
        '[8] Assertion failed: (transformationMode == "asymmetric") && "This version of TensorRT only supports '
        'asymmetric resize!"',
        "ERROR: ModelImporter.cpp:92 In function parseGraph:\n[8] No importer registered for op: Resize",
        "In node 3 with name: R and operator: Upsample (importUpsample): INVALID_NODE: Assertion failed: "
        "(inputs.size() == 2): Operator Upsample requires exactly 2 inputs. Current input size = 1.",
        "[E] [TRT] 4: [network.cpp::validate::3042] Error Code 4: Internal Error (Network has dynamic or shape inputs, "
        "but no optimization profile has been defined)",
        "ITensor::getDimensions: Error Code 4: API Usage Error (Network input any_scales is a shape tensor and must have "
        "type Int32 or Int64. Type is Float. In demandAndResolveInputTensor at /_src/optimizer/x.cpp:1)",
        '(antialias == 0) && "Antialiasing is not supported currently."',
        '(keep_aspect_ratio_policy == "stretch") && "Only `stretch` is supported currently as `keep_aspect_ratio_policy`."',
        "Assertion failed: !axesInterlacingNeeded: Currently, `axes` attribute is supported with `scales` tensor only "
        "when it's trivial i.e. it's an iota vector of same length as input rank.",
        "Assertion failed: canUseNDResize(scaleSize, scalesVec.data(), 3): This version of TensorRT only supports linear "
        "resizing on the outermost 3 dimensions.",
        "Assertion failed: (static_cast<int32_t>(scalesVec.size()) == inputRank): The shape of weights must align with "
        "input data. Length of scales = 2, rank of input = 4.",
        '&& "TensorRT only supports half_pixel, pytorch_half_pixel, tf_half_pixel_for_nn, asymmetric and " "align_corners '
        'transformation modes!"',
        "ITensor::getDimensions: Error Code 4: API Usage Error (up_0: first input has type Int64 but must have type Float, "
        "Half, BFloat16, FP8, E8M0, FP4, Int4, or Int8. In checkType at /_src/optimizer/common/nodeBase.cpp:456)",
        "Assertion failed: status.is_success(): Found unsupported input type of BOOL",
        "[graphShapeAnalyzer.cpp::checkCalculationStatusSanity::2155] Error Code 2: Internal Error (Assertion "
        "!isInFlight(p.second.symbolicRep) failed.  In checkCalculationStatusSanity at /_src/x.cpp:2155)",
    ),
    "onnxruntime": (
        "onnxruntime.capi.onnxruntime_pybind11_state.InvalidGraph: [ONNXRuntimeError] : 10 : INVALID_GRAPH : Load model "
        "from /home/me/m.onnx failed:This is an invalid model. Type Error: Type 'tensor(float16)' of input parameter "
        "(/up/Constant_output_0) of operator (Resize) in node (/up/Resize) is invalid.",
        "Node (up) Op (Resize) [ShapeInferenceError] Either `sizes` or `scales` must be provided, but not both of them",
        "[ONNXRuntimeError] : 1 : FAIL : Node:Resize_7 Output:y [ShapeInferenceError] Node Resize_7's input 1 is marked "
        "single but has an empty string in the graph",
        "Status Message: upsamplebase.h:354 ScalesValidation 'Linear' mode only supports:\n  * 2-D inputs or",
        "'Cubic' mode only support 2-D inputs ('Bicubic') or 4-D inputs with the corresponding outermost 2 scale values "
        "being 1 or the corresponding outermost and innermost scale values being 1.",
        "upsamplebase.h:316 ScalesValidation scale > 0 was false. Scale value should be greater than 0.",
        "Got invalid dimensions for input: pixel_values for the following indices\n index: 2 Got: 364 Expected: 518\n"
        " index: 3 Got: 364 Expected: 518\n Please fix either the inputs/outputs or the model.",
        "Non-zero status code returned while running Concat node. Name:'Concat_12' Status Message: concat.cc:154 Non "
        "concat axis dimensions must match: Axis 2 has mismatched dimensions of 24 and 16",
        "Attempting to broadcast an axis by a dimension other than 1. 31 by 62",
        "Op registered for Upsample is deprecated in domain_version of 13",
        "mode attribute is trilinear. It can only be nearest(default) or linear or cubic.",
        "running Resize node. Name:'/Resize' Status Message: upsample.cc:1418 Compute Only one of scales or sizes must be "
        "provided as input.",
        'In Node, ("up", Resize, "", -1) : ("in": tensor(float),"c": tensor(float),) -> ("out": tensor(float),) , Error '
        "Node(up) with schema(::Resize:11) has input size 2 not in range [min=3, max=4].",
        "Node(up) with schema(::Upsample:9) has input size 1 not in range [min=2, max=2].",
        "Node (r) Op (Resize) [ShapeInferenceError] Number of elements of input 'scales' must be same as rank of input 'X'",
        "upsamplebase.h:411 StringToCoordinateTransformationMode(const std::string&) coordinate_transform_mode:"
        "[align_corners ] is not supported!",
        "Error Mismatched attribute type in 'Resize__4290 : antialias'. Expected: 'INT', actual: 'FLOAT'",
    ),
    "onnx": ("RuntimeError: /src/onnx/version_converter/helper.h:82: No Adapter From Version $13 for Resize",),
    "OpenVINO": (
        "While validating ONNX node '<Node(Resize): y>': Check 'false' failed: this type of coordinate transformation mode "
        "is not supported. Choose one of the following modes: half_pixel, asymmetric",
        "All axes values should less than input rank: 5",
        "[CPU] Interpolate node with name 'y' only supports resize on spatial dimensions(depth, height and width)",
        "ONNX Resize operation from opset 13 is not supported.",
        "of 'linear_onnx' or 'cubic' mode only support input tensor of 2 or 4 rank",
    ),
    "OpenCV": (
        'OpenCV(4.14.0) error: (-215:Assertion failed) interpolation == "nearest" || interpolation == "opencv_linear" '
        "|| interpolation == \"bilinear\" in function 'ResizeLayerImpl'",
        "> 'interpolation' is 'cubic'",
        "(-215:Assertion failed) layer_id.find(node_proto.input(i)) == layer_id.end() in function 'parseResize'",
        "(-215:Assertion failed) interp_mode != \"tf_half_pixel_for_nn\" in function 'parseResize'",
        "HCHW layout is expected (expected: 'scales.total() == (size_t)4'), where",
        "(-215:Assertion failed) !isDynamicShape in function 'parseShape'",
        "(-215:Assertion failed) fracpart == 0.0 in function 'get<long int>'",
        "DNN/ONNX: the model '/tmp/m.onnx' cannot be loaded with the new parser. Trying the older parser.",
    ),
    "ncnn": (
        "layer Resize not exists or registered",
        "layer F.interpolate not exists or registered",
        "pass_ncnn\nignore Resize Resize_0 param coordinate_transformation_mode=half_pixel\nignore Resize Resize_0 param "
        "mode=nearest\nignore Resize Resize_0 param nearest_mode=ceil",
        "Unsupported Resize scales and sizes are all empty!",
        "Unsupported Upsample scales !",
    ),
    "MNN": (
        "Compute Shape Error for up_7",
        "Tensorflow's interp's shape should be length two",
        "MNN Interp don't support >= 6 dimension Interp",
    ),
    "tract": (
        'Translating node #3 "R" Unimplemented(Upsample) ToTypedTranslator',
        "Resize 13: Neither sizes nor scales makes sense: input_shape: [Val(1), Val(3)], scale: None",
        "Can not compute output shape. inputs are [Val(1), Val(3), Sym(d2)] and",
    ),
    "TVM": (
        "ValueError: Type <class 'tvm.ir.expr.Var'> for scale is currently unsupported.",
        "AssertionError: Only one of scales and sizes can be provided in Resize.",
        "TypeError: object of type 'NoneType' has no len()",
        "ValueError: Resize2D expects the given output image size to be a 2-dim shape, while the given one has ndim 0",
    ),
    "RKNN": (
        "E build: The input 'scales' of Resize 'R' need to be constant! It will cause the graph to be a dynamic graph!",
        "Not support 'tf_half_pixel_for_nn' in 'Resize'(opset-11)!",
        "The follow op is not support : ['Resize']",
    ),
    "QNN": (
        "QNN EP: Resize doesn't support anti-aliasing.",
        "QNN EP: Resize does not support coordinate_transformation_mode half_pixel_symmetric",
        "QNN EP: ResizeNearestNeighbor on the NPU does not support the combination of nearest_mode == 'ceil' or "
        "'round_prefer_floor' and transformation_mode == 'asymmetric'.",
        "QNN EP: Resize may only change the spatial dimensions.",
    ),
    "CoreML": ("Resize with 'scales' requires the H and W dimensions to have fixed values",),
    "NNAPI": ("Resize nearest neighbor, unsupported coord_trans_mode, half_pixel",),
    "CoreML and NNAPI": ("Input scales of Resize must be known",),
    "MIGraphX": (
        "parse_resize.cpp:120: PARSE_RESIZE: only nearest and linear modes are supported!",
        "PARSE_RESIZE: dynamic output size is not supported!",
        "PARSE_RESIZE: exclude_outside 1 is not supported!",
    ),
}
EVERY_PRINTED = [(runtime, text) for runtime, texts in PRINTED.items() for text in texts]


FRAMED = 60


def in_lines(text: str, start: str) -> str:
    return "\n".join(start.format(n) + line for n, line in enumerate(textwrap.wrap(text, FRAMED)))


def runtimes(text: str) -> set[str]:
    return {message.runtime for message in messages_in(text)}


@pytest.mark.parametrize(("runtime", "text"), EVERY_PRINTED, ids=[text[-40:] for _, text in EVERY_PRINTED])
def test_what_a_runtime_printed_is_found_however_it_is_pasted(runtime, text):
    pasted = {
        "whole": text,
        "in a log": f"2026-11-22 10:00:00.1 ERROR [worker-3] {text}\n    at main (/srv/app/run.py:12)\n",
        "coloured": f"\x1b[1;31m{text}\x1b[0m\x1b[K",
        "wrapped in the middle of words": "\n".join(textwrap.wrap(text, 37, break_on_hyphens=False)),
        "broken at a column": "\n".join(text[start : start + 41] for start in range(0, len(text), 41)),
        "quoted": textwrap.indent(text, "> "),
        "from pytest": textwrap.indent(text, "E   "),
        "with curly quotes": text.replace('"', "”").replace("'", "’"),
        "in capitals": text.upper(),
        "in JSON": json.dumps({"error": f"\x1b[31m{text}\x1b[0m"}),
        "in JSON in JSON": json.dumps(json.dumps(text)),
        "in HTML": html.escape(text),
        "coloured, without the escape characters": f"[1;31m{text}[0m",
        "in a frame": "\n".join(f"│ {text[start : start + 33]:33} │" for start in range(0, len(text), 33)),
        "with a time before each line": in_lines(text, "[11/22/2026-10:00:{:02}] [E] [TRT] "),
        "from a container": in_lines(text, "web-1  | "),
        "with spaces without a width": text.replace(" ", " \u200b"),
        "quoted twice": f"\"'{text}'\"",
    }
    assert {how for how, words in pasted.items() if runtime not in runtimes(words)} == set()


@pytest.mark.parametrize("message", SYMPTOMS, ids=lambda message: message[:40])
def test_a_message_that_is_a_heading_of_a_page_leads_to_that_page(message):
    best = messages_in(message)[0]
    assert (ROOT / best.page) == SYMPTOMS[message]


@each
def test_other_numbers_and_names_are_the_same_message(message):
    for text in message.texts:
        other = re.sub(r"(?<![\w.«])\d+(?:\.\d+)?(?![\w»])", "4711", text).replace(ANYTHING, "/some/path_7.onnx")
        assert message in messages_in(re.sub("[«»]", "", other))


@each
def test_the_cause_is_two_sentences_and_the_page_is_there(message):
    sentences = re.split(r"(?<=[.!?]) (?=[A-Z`a-z])", cause_of(message))
    assert len(sentences) == 2, sentences
    assert [sentence for sentence in sentences if len(sentence.split()) > 30] == []
    assert (ROOT / message.page).is_file()


@pytest.mark.parametrize(
    "text",
    ["", "Resize", "everything is fine", "Segmentation fault (core dumped)", "CUDA out of memory", "Upsample scales"],
)
def test_what_is_no_message_about_a_resize_is_not_known(text):
    assert messages_in(text) == []


@pytest.mark.parametrize("page", ["lossless.md", "security.md", "performance.md"])
def test_a_page_about_other_things_holds_none(page):
    assert messages_in((ROOT / "docs" / page).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("Node (Resize_5) has input size 4 not in range [min=2, max=2].", "docs/repair.md"),
        ("Node (Clip_5) has input size 5 not in range [min=1, max=3].", None),
        ("Node (Resize_5) has input size 24 not in range [min=2, max=2].", None),
        ("No importer registered for op: ResizeNearest_TRT. Attempting to import as plugin.", "No importer"),
        ("No importer registered for op: ResizeLinearOfMine", None),
        ("No importer registered for op: Reshape", None),
        ("MyOperator Upsample requires exactly 2 inputs of mine", "docs/how-to/old-tensorrt.md"),
    ],
)
def test_numbers_and_names_that_decide_are_literal(text, page):
    found = messages_in(text)
    if page is None:
        assert found == []
    elif page == "No importer":
        assert "plugin" in found[0].cause
    else:
        assert found[0].page == page


PLUGIN = "No importer registered for op: ResizeNearest_TRT. Attempting to import as plugin."


@pytest.mark.parametrize("length", range(31, len(PLUGIN) + 1))
def test_a_name_that_is_cut_off_is_not_taken_for_a_shorter_one(length):
    """`op: Resize` alone is that of Resize; with one letter more, it is not."""
    causes = {message.cause for message in messages_in(PLUGIN[:length])}
    plugin = messages_in(PLUGIN)[0].cause
    assert causes if length <= len("No importer registered for op: Resize") else causes == {plugin}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("resize scale should be an initialiser", "Resize scales must be an initializer!"),
        ("TensorRT: only floor is supported as nearest_mode of this version", "floor nearest_mode"),
        ("inputs have other dimensions than axis of the concat, which must match: non concat axis", "concat"),
    ],
)
def test_the_nearest_rows_are_offered_with_their_distance(text, shown):
    assert messages_in(text) == []
    (first, distance), *rest = nearest_to(text)
    assert shown.lower() in first.text.lower()
    assert 0 < distance < 0.6
    assert [one for _, one in rest] == sorted(one for _, one in rest)


@pytest.mark.parametrize("text", ["", "CUDA out of memory", "Segmentation fault (core dumped)"])
def test_what_is_like_no_row_has_no_nearest(text):
    assert nearest_to(text) == []


@each
def test_a_row_is_nearest_to_its_own_wording(message):
    for text in message.texts:
        if len(re.findall(r"[A-Za-z]{3,}", text)) > 3:
            assert min((distance for _, distance in nearest_to(text)), default=1) < 0.05, text


def test_of_two_messages_the_more_specific_comes_first():
    found = messages_in("importUpsample: Operator Upsample requires exactly 2 inputs. Current input size = 1. TensorRT")
    assert found[0].page.endswith("old-tensorrt.md")


@pytest.mark.parametrize(
    ("pasted", "text"),
    [
        (
            "Node [Resize@ai.onnx]:(onnx_node!Resize__137) parse error: onnx_importer.cpp:2772: error: (-215:Assertion failed) "
            "interp_mode != \"tf_half_pixel_for_nn\" in function 'parseResize'",
            'interp_mode != "tf_half_pixel_for_nn"',
        ),
        (
            "Node [Upsample@ai.onnx]:(onnx_node!Upsample__81) parse error: (-2:Unspecified error) in function 'ResizeLayerImpl' "
            '> \'interpolation == "nearest" || interpolation == "opencv_linear" || interpolation == "bilinear"\' '
            "> where >     'interpolation' is linear",
            "'interpolation' is linear",
        ),
    ],
)
def test_the_words_that_say_why_lead_where_others_name_the_node_alone(pasted, text):
    assert [message.text for message in messages_in(pasted)] == [text]


NOISE = [
    f"2026-11-28 10:{n // 60:02}:{n % 60:02} [I] step {n} of epoch {n // 7} done in {n * 3} ms" for n in range(2000)
]
FIRST = "[E] [TRT] In function importResize: Assertion failed: scales.is_weights()"
SECOND = (
    "onnxruntime: Non-zero status code returned while running Concat node. Non concat axis dimensions must match: 3 4"
)


@pytest.mark.parametrize("place", [0, 1000, 1999])
def test_a_message_is_found_in_a_log_of_two_thousand_lines(place):
    log = [*NOISE[:place], FIRST, *NOISE[place:]]
    assert [one.text for one in messages_in("\n".join(log))] == [one.text for one in messages_in(FIRST)]
    assert messages_in("\n".join(NOISE)) == []


def test_two_messages_in_one_log_are_both_found():
    found = messages_in("\n".join([*NOISE[:9], FIRST, *NOISE[9:30], SECOND, *NOISE[30:40]]))
    assert {one.runtime for one in found} == {"TensorRT", "onnxruntime"}
    assert set(found) == {*messages_in(FIRST), *messages_in(SECOND)}


@pytest.mark.parametrize("name", ["/model.13/upsample/Resize_output_0", "up"])
def test_a_message_that_is_cut_off_inside_of_a_name_is_found(name):
    text = f"Type Error: Type 'tensor(float16)' of input parameter ({name}) of operator (Resize) in node ({name}) is invalid"
    whole = messages_in(text)
    begins = text.index(name)
    for length in (*range(begins, begins + len(name)), text.rindex(name) + 1):
        assert set(messages_in(text[:length])) >= set(whole), text[:length]


def test_words_that_were_left_out_may_be_dots():
    for dots in ("…", "..."):
        text = f"only support round_prefer_floor {dots} in tf_half_pixel_for_nn!"
        assert messages_in(text) == messages_in("only support round_prefer_floor nearest mode in tf_half_pixel_for_nn")
    assert messages_in("Resize ... initializer") == []


@pytest.mark.parametrize("name", ["legalize", "trt-legacy", "promote-scales"])
def test_sentences_of_resizefix_are_told_from_those_of_runtimes(name):
    (own,) = messages_in(f"resizefix {name}: m.onnx: nothing was changed. up: its scales are computed")
    assert own.runtime == "resizefix"
    quoting = f'resizefix {name}: m.onnx: tensorrt-8.0 refuses it ("Resize scales must be an initializer!")'
    assert {one.runtime for one in messages_in(quoting)} == {"TensorRT"}
