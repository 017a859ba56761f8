"""Points that a proof adds: another batch where nothing else moves, sizes that a file contradicts."""

import onnx_text

import resizefix

SKIP = """(float[N,1,8,8] x) => (float[N,2,8,8] y) <float[4] s = {1, 1, 2, 2}> {
    d = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
    u = Resize <mode = "nearest"> (d, "", s)
    y = Concat <axis = 1> (x, u) }"""
STALE = """(float[N,1,H,W] x) => (float[1,1,64,96] y) <float[4] s = {1, 1, 2, 2}> {
    y = Resize <mode = "linear"> (x, "", s) }"""


def shapes(result: resizefix.Result, name: str) -> set[tuple[int, ...]]:
    return {tuple(run.shapes[name]) for run in result.verification.runs if not run.optimized}


def test_coupled_sites_that_stay_at_their_value_are_run_with_more_images():
    promoted = resizefix.promote_scales(onnx_text.model(SKIP), allow_coupled=True)
    assert {batch for batch, *_ in shapes(promoted, "x")} == {1, 2}


def test_a_size_that_the_stored_shapes_contradict_is_compared_where_no_other_is():
    raised = resizefix.opset(onnx_text.model(STALE), opset=21)
    assert len(shapes(raised, "x")) == 2
