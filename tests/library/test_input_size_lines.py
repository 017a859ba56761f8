"""Inputs of batch, channels and one length: `input-size` takes the length alone."""

import numpy as np
import onnxruntime as ort
import pytest
from onnx_text import model

import resizefix
from resizefix.errors import UsageError


def line(length, node="Conv <kernel_shape = [3], pads = [1, 1]> (x, w)"):
    return model(
        f"""(float[1, 2, {length}] x) => (float[1, 2, M] y)
          <float[2, 2, 3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}, float[3] s = {{1, 1, 2}}> {{
          t = {node} y = Resize <mode = "linear"> (t, , s) }}"""
    )


@pytest.mark.parametrize(
    "node", ["Conv <kernel_shape = [3], pads = [1, 1]> (x, w)", "MaxPool <kernel_shape = [1]> (x)"]
)
@pytest.mark.parametrize("length", ["L", "100"])
@pytest.mark.parametrize("size", [(160,), (2, 160)])
def test_the_length_of_a_line_changes_alone(length, node, size):
    before = line(length, node)
    after = resizefix.input_size(before, size=size).model
    x = np.random.default_rng(0).random((1, 2, 160), np.float32)
    (y,) = ort.InferenceSession(after.SerializeToString()).run(None, {"x": x})
    (wanted,) = ort.InferenceSession(line("L", node).SerializeToString()).run(None, {"x": x})
    assert [dim.dim_value for dim in after.graph.input[0].type.tensor_type.shape.dim] == [1, 2, 160]
    assert np.array_equal(y, wanted)


def test_two_numbers_of_which_one_is_no_side_are_refused():
    with pytest.raises(UsageError, match="has one side: write 160"):
        resizefix.input_size(line("L"), size=(5, 160))


def test_a_picture_without_a_batch_keeps_its_height():
    """Only an operator whose first axes are batch and channels says that three axes are a line."""
    picture = model(
        """(float[1, 20, 30] x) => (float[1, A, B] y) <float[3] s = {1, 2, 2}> {
          y = Resize <mode = "linear"> (x, , s) }"""
    )
    after = resizefix.input_size(picture, size=(40, 50)).model
    assert [dim.dim_value for dim in after.graph.input[0].type.tensor_type.shape.dim] == [1, 40, 50]


def test_a_picture_whose_mean_adds_the_batch_keeps_its_height():
    picture = model(
        """(float[3, 20, 30] x) => (float[1, 3, A, B] y)
          <float[1, 3, 1, 1] m = {1, 2, 3}, float[4] s = {1, 1, 2, 2}> {
          d = Div(x, m) p = MaxPool <kernel_shape = [1, 1]> (d) y = Resize <mode = "linear"> (p, , s) }"""
    )
    after = resizefix.input_size(picture, size=(40, 50)).model
    assert [dim.dim_value for dim in after.graph.input[0].type.tensor_type.shape.dim] == [3, 40, 50]
