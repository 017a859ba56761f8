"""Open axes whose constants are of one size; a batch alone; volumes and lengths; constants listed as inputs."""

import numpy as np
import ort_runs
import pytest
from onnx import helper
from size_networks import NEW, OLD, Net, built, run

import resizefix
from resizefix.interop import opened
from resizefix.library.resolution import SizeFreedom, resolution_of
from resizefix.reports.terminal import resolution_line
from resizefix.shapes.stored_shapes import ModelView


def shuffled(n, h, w):
    """Sub-pixels: 3 x 3 of them for each sample."""
    y = n.Reshape(n.conv("x", 3, 9), [1, 1, 3, 3, h, w])
    return n.Reshape(n.Transpose(y, perm=[0, 1, 4, 2, 5, 3]), [1, 1, 3 * h, 3 * w])


def skipped(n, h, w):
    y = n.conv("x", 3, 4)
    small = n.conv(y, 4, 4, 2)
    return n.Concat(y, n.Resize(small, "", "", [1, 4, h, w], mode="linear"), axis=1)


def opened_axes(model, **names):
    dims = model.graph.input[0].type.tensor_type.shape.dim
    for axis, name in zip((0, 2, 3), ("batch", "height", "width"), strict=True):
        if name in names:
            dims[axis].dim_param = names[name]
    return model


@pytest.mark.parametrize("build", [shuffled, skipped])
@pytest.mark.parametrize("size", [NEW, "any"])
def test_a_file_that_declares_its_axes_open_is_converted_from_the_size_of_its_constants(build, size):
    model = opened_axes(built(build, OLD), height="rows", width="columns")
    result = resizefix.input_size(model, size=size)
    assert "declared open, fixed at height 32, width 48" in result.resolution.inferred[0]
    assert run(result.model, NEW).tobytes() == run(built(build, NEW), NEW).tobytes()
    dims = [dim.dim_param for dim in result.model.graph.input[0].type.tensor_type.shape.dim]
    assert dims == (["", "", "rows", "columns"] if size == "any" else [""] * 4)


def test_the_old_size_can_be_given():
    model = opened_axes(built(skipped, OLD), height="h", width="w")
    result = resizefix.input_size(model, size=NEW, was=OLD)
    assert run(result.model, NEW).tobytes() == run(built(skipped, NEW), NEW).tobytes()


def test_the_size_that_is_given_holds_also_where_the_file_runs_at_any():
    """A mean by the number of samples of one size fails nowhere; that it is of that size, the user says."""

    def averaged(n, h, w):
        y = n.conv("x", 3, 2)
        return n.Sub(y, n.Div(n.ReduceSum(y, [2, 3]), n.floats(h * w)))

    model = opened_axes(built(averaged, OLD), height="h", width="w")
    for size in (NEW, "any"):
        made = resizefix.input_size(model, size=size, was=OLD).model
        assert run(made, NEW).tobytes() == run(built(averaged, NEW), NEW).tobytes()


def test_inspect_says_at_what_size_and_by_which_node():
    found = resolution_of(ModelView(opened(opened_axes(built(shuffled, OLD), height="h", width="w"))))
    assert found.freedom is SizeFreedom.DECLARED
    assert resolution_line(found) == (
        "resolution: declared open, fixed at 32x48 by Reshape_1; resizefix input-size changes it"
    )


@pytest.mark.parametrize("batch", [3, "any"])
@pytest.mark.parametrize("build", [shuffled, skipped])
def test_a_batch_alone_asks_nothing_about_height_and_width(build, batch):
    single = built(build, OLD)
    for model in (single, opened_axes(built(build, OLD), batch="n")):
        result = resizefix.input_size(model, size=None, batch=batch)
        assert result.resolution.choices == ()
        images = np.random.default_rng(2).random((3, 3, *OLD), np.float32)
        (made,) = ort_runs.run(result.model, {"x": images})
        each = [ort_runs.run(single, {"x": images[place : place + 1]})[0] for place in range(3)]
        np.testing.assert_allclose(made, np.concatenate(each), rtol=1e-6, atol=1e-6)


def test_a_class_token_is_expanded_for_another_batch():
    def tokens(n, h, w):
        y = n.Transpose(n.Reshape(n.conv("x", 3, 4), [1, 4, h * w]), perm=[0, 2, 1])
        return n.Concat(n.weight(1, 1, 4), y, axis=1)

    single = built(tokens, OLD)
    for batch in (2, "any"):
        made = resizefix.input_size(single, size=None, batch=batch).model
        images = np.random.default_rng(2).random((2, 3, *OLD), np.float32)
        (found,) = ort_runs.run(made, {"x": images})
        each = [ort_runs.run(single, {"x": images[place : place + 1]})[0] for place in range(2)]
        np.testing.assert_allclose(found, np.concatenate(each), rtol=1e-6, atol=1e-6)


def volume(depth, height, width):
    n = Net(depth, height)
    y = n.Conv("x", n.weight(2, 1, 3, 3, 3), pads=[1] * 6, strides=[2] * 3)
    y = n.Concat("x", n.Resize(y, "", "", [1, 2, depth, height, width], mode="linear"), axis=1)
    model = n.model(y)
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", 1, [1, 1, depth, height, width]))
    model.opset_import[0].version, model.ir_version = 13, 8
    return model


@pytest.mark.parametrize("size", [(12, 20, 24), "any"])
def test_a_volume_gets_a_depth(size):
    made = resizefix.input_size(volume(8, 12, 16), size=size).model
    feeds = {"x": np.random.default_rng(3).random((1, 1, 12, 20, 24), np.float32)}
    assert ort_runs.run(made, feeds)[0].tobytes() == ort_runs.run(volume(12, 20, 24), feeds)[0].tobytes()


def line(length):
    n = Net(1, length)
    y = n.Conv("x", n.weight(4, 1, 3), pads=[1, 1], strides=[2])
    y = n.Concat("x", n.Resize(y, "", "", [1, 4, length], mode="linear"), axis=1)
    model = n.model(y)
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", 1, [1, 1, length]))
    model.opset_import[0].version, model.ir_version = 13, 8
    return model


def test_a_line_gets_a_length():
    made = resizefix.input_size(line(2000), size=3000).model
    feeds = {"x": np.random.default_rng(3).random((1, 1, 3000), np.float32)}
    assert ort_runs.run(made, feeds)[0].tobytes() == ort_runs.run(line(3000), feeds)[0].tobytes()


def test_constants_that_are_listed_as_inputs_count_as_constants_unless_they_are_kept():
    model = built(skipped, OLD)
    sizes = next(one for one in model.graph.initializer if list(one.dims) == [4] and one.data_type == 7)
    model.graph.input.append(helper.make_tensor_value_info(sizes.name, 7, [4]))
    result = resizefix.input_size(model, size=NEW)
    assert run(result.model, NEW).tobytes() == run(built(skipped, NEW), NEW).tobytes()
    assert f"constants listed as inputs count as constants: {sizes.name}" in result.resolution.inferred[0]
    kept = resizefix.input_size(model, size=NEW, keep_overridable=True, on_refusal="return")
    assert not bool(kept)
