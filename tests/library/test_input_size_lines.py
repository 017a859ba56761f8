"""Inputs of batch, channels and one length: `input-size` takes the length alone."""

import numpy as np
import onnxruntime as ort
import pytest
from onnx_text import model

import resizefix
from resizefix.diagnostics import UsageError


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


def half_lines(length, levels=3):
    """Sound as TensorFlow has it, (batch, length, 1): a line is halved again and again, and every level is cut into as
    many frames. It is moved by Reshape nodes alone, which hold the lengths of each level."""
    constants, nodes, line = [], [], "x"
    for level in range(levels):
        size = length >> level
        constants += [
            f"int64[3] a{level} = {{-1, 1, {size}}}",
            f"int64[4] b{level} = {{-1, 1, 1, {size}}}",
            f"int64[3] p{level} = {{-1, {size + 2}, 1}}",
            f"int64[4] q{level} = {{-1, 1, 1, {size + 2}}}",
            f"int64[3] c{level} = {{-1, 1, {size // 2}}}",
            f"int64[3] d{level} = {{-1, {length // 8}, 2}}",
        ]
        frame = 8 >> level
        weights = ", ".join(map(str, range(1, 2 * frame + 5)))
        constants.append(f"float[2, 1, 1, {frame + 2}] w{level} = {{{weights}}}")
        nodes.append(
            f"""l{level} = Reshape({line}, a{level}) e{level} = Pad <mode = "reflect"> (l{level}, ends)
            t{level} = Reshape(e{level}, p{level}) u{level} = Unsqueeze(t{level}, first)
            i{level} = Reshape(u{level}, q{level}) f{level} = Conv <strides = [1, {frame}]> (i{level}, w{level})
            n{level} = Transpose <perm = [0, 2, 3, 1]> (f{level}) z{level} = Reshape(n{level}, d{level})
            k{level} = Reshape(l{level}, b{level}) h{level} = Conv <strides = [1, 2]> (k{level}, half)
            s{level} = Reshape(h{level}, c{level})"""
        )
        line = f"s{level}"
    listed, joined = ", ".join(constants), ", ".join(f"z{level}" for level in range(levels))
    return model(
        f"""(float[N, {length}, 1] x) => (float[M, F, C] y)
          <float[1, 1, 1, 2] half = {{1, 2}}, int64[1] first = {{1}},
           int64[6] ends = {{0, 0, 1, 0, 0, 1}}, {listed}> {{
          {" ".join(nodes)} y = Concat <axis = 2> ({joined}) }}"""
    )


@pytest.mark.parametrize("size", ["any", (2400,), (3200,)])
@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_line_with_its_channel_last_is_moved_through_reshapes_that_hold_its_lengths(size, levels):
    """A Reshape that makes an axis of one in front of a length may have become one with that of another level."""
    after = resizefix.input_size(half_lines(1600, levels), size=size).model
    for length in (1600, 2400, 4000) if size == "any" else size:
        x = np.random.default_rng(0).random((2, length, 1), np.float32)
        (y,) = ort.InferenceSession(after.SerializeToString()).run(None, {"x": x})
        (wanted,) = ort.InferenceSession(half_lines(length, levels).SerializeToString()).run(None, {"x": x})
        assert np.array_equal(y, wanted)
