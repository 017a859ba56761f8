"""What a message of onnxruntime says was fed, and which options of `input-size` that makes."""

import pytest

from resizefix.library.fix_trials import fed_words
from resizefix.messages.pasted_text import fed_sizes, speaker


def said(*axes):
    lines = "".join(f"\n index: {axis} Got: {got} Expected: {expected}" for axis, got, expected in axes)
    return f"Got invalid dimensions for input: images.1 for the following indices{lines}\n Please fix either the inputs"


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        (((2, 364, 518), (3, 720, 518)), ("364x720",)),
        (((0, 8, 1),), ("--batch", "8")),
        (((0, 8, 1), (2, 32, 64), (3, 48, 64)), ("32x48", "--batch", "8")),
        (((2, 364, 518),), ("any",)),
        (((1, 640, 480), (2, 640, 480)), ("640x640",)),  # channels last
        (((1, 60, 6),), None),  # channels: no other size helps
        (((0, 196320, 1),), None),  # a signal, no batch
        (((0, 45424, 52592),), None),
        ((), None),
    ],
)
def test_the_sizes_that_were_fed_are_the_options(axes, words):
    fed = fed_sizes(said(*axes))
    assert fed.axes == {axis: got for axis, got, _ in axes}
    assert fed.input == "images.1"
    assert fed_words(fed) == words


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("[E] [TRT] something", ("tensorrt", None)),
        ("TensorRT v8.6.1: error", ("tensorrt", "8.6.1")),
        ("onnxruntime.capi: [QNN] backend", ("qnn", None)),
        ("cv2.error: OpenCV(4.5.0)", ("opencv", "4.5.0")),
        ("RuntimeError: Exception from src/inference openvino", ("openvino", None)),
        ("[ONNXRuntimeError] : 1", ("onnxruntime", None)),
        ("ordinary words", None),
    ],
)
def test_the_runtime_that_speaks_and_its_release_are_read_from_its_name(text, spoken):
    assert speaker(text) == spoken
