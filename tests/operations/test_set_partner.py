"""`set sizes=partner`: the node takes the size that it meets, at every size; bit for bit what it was, or refused."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from fixture_models import UNET
from onnx_text import model

import resizefix
from resizefix.diagnostics import RefusedError
from resizefix.outcome import Status

GRAPH = """(float[1, 3, H, W] x) => (float[A, B, C, D] y) <float[4] s = {1, 1, %s, %s}> {
  skip = Relu(x)
  down = %s(skip)
  up = Resize <mode = "%s", %s> (down, , s)
  y = Concat <axis = 1> (up, skip)
}"""
POOL = "MaxPool <kernel_shape = [%d, %d], strides = [%d, %d]>"
HALF_PIXEL = 'coordinate_transformation_mode = "half_pixel"'
CORNERS = 'coordinate_transformation_mode = "align_corners"'


def skip_network(scale: float, mode: str = "nearest", attributes: str = HALF_PIXEL, pool: int = 2, opset: int = 13):
    return model(GRAPH % (scale, scale, POOL % ((pool,) * 4), mode, attributes), opset)


def outputs(made, x: np.ndarray) -> np.ndarray:
    proto = made if isinstance(made, onnx.ModelProto) else made.proto
    return ort.InferenceSession(proto.SerializeToString()).run(None, {"x": x})[0]


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("opset", [11, 13, 18])
def test_it_runs_at_every_size_and_is_what_it_was_where_that_ran(mode, opset):
    before = model(
        GRAPH.replace("(down, , s)", "(down, r, s)").replace("<float[4] s", "<float[0] r = {}, float[4] s")
        % (2, 2, POOL % (2, 2, 2, 2), mode, HALF_PIXEL),
        opset,
    )
    result = resizefix.set_interpolation(before, sizes="partner")
    (outcome,) = result.outcomes
    assert (outcome.status, outcome.exact) == (Status.CHANGED, True)
    assert result.verification.passed
    draw = np.random.default_rng(0)
    for height, width in [(33, 70), (34, 35), (47, 51), (36, 40)]:
        x = draw.standard_normal((1, 3, height, width), np.float32)
        found = outputs(result.model, x)
        assert found.shape == (1, 6, height, width)
        if height % 2 == width % 2 == 0:
            assert np.array_equal(found, outputs(before, x))


def test_every_site_of_a_unet_follows_its_skip():
    result = resizefix.set_interpolation(UNET, sizes="partner")
    assert [one.status for one in result.outcomes] == [Status.CHANGED] * 2
    assert all(run.bitwise for run in result.verification.runs)


def test_where_sizes_sample_otherwise_it_is_refused_unless_allowed():
    graph = (
        (GRAPH % (1.5, 1.5, "Identity", "linear", HALF_PIXEL))
        .replace("skip = Relu(x)\n", "")
        .replace("(skip)", "(x)")
        .replace("(up, skip)", "(up, z)")
        .replace("W] x)", "W] x, float[1, 3, I, J] z)")
    )
    before = model(graph)
    with pytest.raises(RefusedError, match="samples otherwise") as refused:
        resizefix.set_interpolation(before, sizes="partner")
    assert refused.value.result.outcomes[0].retry_args == ("--allow-inexact",)
    made = resizefix.set_interpolation(
        before, sizes="partner", allow_inexact=True, shape={"x": (1, 3, 5, 5), "z": (1, 3, 7, 7)}
    )
    assert not made.outcomes[0].exact
    assert made.outcomes[0].max_abs_diff > 0.05


def test_align_corners_samples_by_sizes_at_any_scale():
    (outcome,) = resizefix.set_interpolation(skip_network(3, "linear", CORNERS, 3), sizes="partner").outcomes
    assert outcome.exact


def test_what_takes_the_size_already_is_left_alone():
    once = resizefix.set_interpolation(skip_network(2), sizes="partner")
    again = resizefix.set_interpolation(once.model, sizes="partner")
    assert [one.status for one in again.outcomes] == [Status.UNCHANGED]
    assert not again


def test_an_older_opset_is_refused_with_the_one_that_can():
    before = model(
        """(float[1, 3, H, W] x) => (float[A, B, C, D] y) <float[4] s = {1, 1, 2, 2}> {
          down = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) up = Upsample(down, s) y = Add(up, x) }""",
        9,
    )
    with pytest.raises(RefusedError, match="opset 11 has") as refused:
        resizefix.set_interpolation(before, sizes="partner")
    assert refused.value.result.outcomes[0].retry_args == ("--opset", "11")
    assert resizefix.set_interpolation(before, sizes="partner", opset=11).changed


def test_one_without_a_partner_is_left_alone_and_refused_where_it_is_named():
    graph = (GRAPH % (2, 2, POOL % (2, 2, 2, 2), "nearest", HALF_PIXEL)).replace(
        "y = Concat", 'free = Resize <mode = "nearest"> (skip, , s) gone = Relu(free) y = Concat'
    )
    before = model(graph)
    assert [one.status for one in resizefix.set_interpolation(before, sizes="partner").outcomes] == [
        Status.CHANGED,
        Status.UNCHANGED,
    ]
    with pytest.raises(RefusedError, match="meets no tensor"):
        resizefix.set_interpolation(before, sizes="partner", node=["#1"])


@pytest.mark.parametrize("graph", [
    """(float[1, 3, H, W] x) => (float[A, B, C, D] y) { y = own.block (x) }
    <domain: "own", opset_import: ["" : 13]> block (a) => (b) {
      s = Constant <value = float[4] {1, 1, 2, 2}> () down = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (a)
      up = Resize <mode = "nearest"> (down, , s) b = Add(up, a) }""",
    """(float[1, 3, H, W] x, bool c) => (float[A, B, C, D] y) <float[4] s = {1, 1, 2, 2}> {
      y = If (c) <
        then_branch = t () => (float[1, 3, C, D] b) {
          down = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
          up = Resize <mode = "nearest"> (down, , s) b = Add(up, x) },
        else_branch = e () => (float[1, 3, C, D] d) { d = Relu(x) }
      > }""",
])  # fmt: skip
def test_in_functions_and_bodies(graph):
    before = model(graph, 13, *(["own"] if "own.block" in graph else []))
    result = resizefix.set_interpolation(before, sizes="partner")
    assert result.changed
    feeds = {"x": np.ones((1, 3, 33, 35), np.float32), **({"c": np.array(True)} if "bool c" in graph else {})}
    made = ort.InferenceSession(result.model.SerializeToString()).run(None, feeds)[0]
    assert made.shape == (1, 3, 33, 35)
