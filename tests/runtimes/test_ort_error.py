"""onnxruntime's errors, as onnxruntime 1.31.1 words them, in one sentence."""

import time

import pytest

from resizefix.runtimes.ort_error import OrtError, read_ort_error

LOCATION = (
    "/onnxruntime_src/onnxruntime/core/providers/cpu/math/element_wise_ops.h:583 "
    "void onnxruntime::BroadcastIterator::Append(ptrdiff_t, ptrdiff_t) axis == 1 || axis == largest was false. "
)
ADD = f"Non-zero status code returned while running Add node. Name:'/up/Add' Status Message: {LOCATION}"
MISMATCH = "Attempting to broadcast an axis by a dimension other than 1. 2 by 4"

CASES = {
    "a kernel that fails": (f"[ONNXRuntimeError] : 1 : FAIL : {ADD}{MISMATCH}\n", OrtError(MISMATCH, "/up/Add", "Add")),
    "the innermost node of nested bodies": (
        "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running If node. Name:'if0' "
        f"Status Message: {ADD}{MISMATCH}\n",
        OrtError(MISMATCH, "/up/Add", "Add"),
    ),
    "a node without a name": (
        "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Resize node. Name:'' "
        "Status Message: upsamplebase.h:548 ScalesValidation Scale value should be greater than 0.",
        OrtError("Scale value should be greater than 0", None, "Resize"),
    ),
    "a signature with templates and nested parentheses": (
        "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running Mod node. Name:'mod_node' "
        "Status Message: /onnxruntime_src/onnxruntime/core/providers/cpu/math/element_wise_ops.cc:2279 "
        "void onnxruntime::CallModImpl<T, typename std::enable_if<true, void>::type>::operator()"
        "(bool, onnxruntime::OpKernelContext*) const [with T = float] fmod was false. fmod attribute must be true",
        OrtError("fmod attribute must be true", "mod_node", "Mod"),
    ),
    "shape inference": (
        "[ONNXRuntimeError] : 1 : FAIL : Load model from dir/a.onnx failed:Node (r) Op (Resize) "
        "[ShapeInferenceError] Either `sizes` or `scales` must be provided, but not both of them",
        OrtError("Either `sizes` or `scales` must be provided, but not both of them", "r", "Resize"),
    ),
    "the schema check": (
        "[ONNXRuntimeError] : 10 : INVALID_GRAPH : This is an invalid model. In Node, "
        '("up", Upsample, "", -1) : ("h": tensor(float),"s": tensor(float),) -> ("y": tensor(float),) , '
        "Error Unrecognized attribute: scales for operator Upsample",
        OrtError("Unrecognized attribute: scales for operator Upsample", "up", "Upsample"),
    ),
    "the schema check in a body": (
        "[ONNXRuntimeError] : 10 : INVALID_GRAPH : This is an invalid model. In Node, "
        '("cond", If, "", -1) : ("c": tensor(bool),) -> ("y": tensor(float),) , '
        "Error Op registered for Upsample is deprecated in domain_version of 10\n\n"
        "==> Context: Bad node spec for node. Name: up OpType: Upsample\n",
        OrtError("Op registered for Upsample is deprecated in domain_version of 10", "up", "Upsample"),
    ),
    "no kernel": (
        "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for Conv(11) node with name '/c'",
        OrtError("Could not find an implementation for Conv(11) node with name '/c'", "/c", "Conv"),
    ),
    "a type error that mentions the node": (
        "[ONNXRuntimeError] : 10 : INVALID_GRAPH : This is an invalid model. Type Error: Type 'tensor(float16)' of "
        "input parameter (s) of operator (Resize) in node (r1) is invalid.",
        OrtError(
            "Type Error: Type 'tensor(float16)' of input parameter (s) of operator (Resize) in node (r1) is invalid",
            "r1",
            "Resize",
        ),
    ),
    "a type error of two inputs": (
        "[ONNXRuntimeError] : 1 : FAIL : Type Error: Type parameter (T) of Optype (Mul) bound to different types "
        "(tensor(float) and tensor(int64) in node (m).",
        OrtError(
            "Type Error: Type parameter (T) of Optype (Mul) bound to different types "
            "(tensor(float) and tensor(int64) in node (m)",
            "m",
            "Mul",
        ),
    ),
    "a type error of an output": (
        "[ONNXRuntimeError] : 1 : FAIL : Type Error: Type (tensor(float)) of output arg (y) of node (r) "
        "does not match expected type (tensor(float16)).",
        OrtError(
            "Type Error: Type (tensor(float)) of output arg (y) of node (r) "
            "does not match expected type (tensor(float16))",
            "r",
        ),
    ),
    "a kernel's constructor": (
        "[ONNXRuntimeError] : 1 : FAIL : Exception during initialization: "
        "/onnxruntime_src/onnxruntime/core/providers/cpu/tensor/upsamplebase.h:370 onnxruntime::UpsampleMode "
        "onnxruntime::UpsampleBase::StringToUpsampleMode(const std::string&) mode attribute is bilinear. "
        "It can only be nearest(default) or linear or cubic.\n",
        OrtError("mode attribute is bilinear. It can only be nearest(default) or linear or cubic"),
    ),
    "feeds that do not fit": (
        "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Got invalid dimensions for input: x for the following indices\n"
        " index: 1 Got: 4 Expected: 3\n Please fix either the inputs/outputs or the model.",
        OrtError("Got invalid dimensions for input: x for the following indices index: 1 Got: 4 Expected: 3"),
    ),
    "words that are not onnxruntime's": ("something else", OrtError("something else")),
    "no words": ("", OrtError("no reason given")),
}


@pytest.mark.parametrize("case", CASES)
def test_the_sentence_and_the_node_are_found(case):
    text, expected = CASES[case]
    assert read_ort_error(text) == expected


def test_a_long_text_is_read_in_the_blink_of_an_eye():
    words = CASES["feeds that do not fit"][0]
    for filler in ("x" * 200_000, "a.h:1 " * 30_000, "(" * 200_000, "Load model from " * 10_000):
        start = time.monotonic()
        assert read_ort_error(f"{words} {filler}").reason.startswith("Got invalid dimensions for input: x")
        assert time.monotonic() - start < 2
