"""A change that is exact only to a bound is held to the bound of the sizes that are run, not to that of the largest."""

import numpy as np
import onnx_text
import pytest
from onnx import TensorProto, helper, numpy_helper

import resizefix
from resizefix.library import seam
from resizefix.library.result import VerificationFailedError
from resizefix.outcome import DYNAMIC_SIZE, ErrorBound
from resizefix.verification.compare import narrowed

CUBIC = """(float[1,1,h,w] x) => (float[?,?,?,?] y) <float[4] s = {1, 1, 3, 3}> { r = Resize <mode = "cubic",
coordinate_transformation_mode = "half_pixel"> (x, , s) y = Neg (r) }"""


def through_half(graph):
    graph.node[-1].input[0] = "back"
    graph.node.insert(len(graph.node) - 1, helper.make_node("Cast", ["r"], ["half"], to=TensorProto.FLOAT16))
    graph.node.insert(len(graph.node) - 1, helper.make_node("Cast", ["half"], ["back"], to=TensorProto.FLOAT))


def with_another_weight(graph):
    weights = next(one for one in graph.initializer if len(one.dims) == 4)
    array = numpy_helper.to_array(weights).copy()
    array.flat[array.size // 2] += 1e-3
    weights.CopyFrom(numpy_helper.from_array(array, weights.name))


@pytest.mark.parametrize("edit", [through_half, with_another_weight])
@pytest.mark.parametrize("options", [{}, {"allow_inexact": True}], ids=["exact", "inexact"])
def test_an_error_that_only_a_large_image_would_excuse_is_caught_at_a_small_one(edit, options, monkeypatch):
    call = {"target": "tensorrt-7.0", "live": False, **options}
    made = resizefix.legalize(onnx_text.model(CUBIC, 13), **call)
    assert all(run.bound < made.outcomes[0].bound / 8 for run in made.verification.runs if not run.optimized)
    submitted = seam.submitted

    def edited(before, candidate, plan):
        candidate = candidate.copy()
        edit(candidate.proto.graph)
        return submitted(before, candidate, plan)

    monkeypatch.setattr(seam, "submitted", edited)
    with pytest.raises(VerificationFailedError):
        resizefix.legalize(onnx_text.model(CUBIC, 13), **call)


@pytest.mark.parametrize("samples", [1, 3, 32, 1000, DYNAMIC_SIZE, 1025, 5000])
def test_the_share_that_drifts_halves_with_the_step_of_a_coordinate(samples):
    bound = ErrorBound(False, 5e-4, drift=4e-4)
    step = float(np.spacing(np.float32(samples - 0.5)) / np.spacing(np.float32(DYNAMIC_SIZE - 0.5)))
    assert bound.at(samples) >= (1e-4 + 4e-4 * step) * (1 - 1e-6)
    assert bound.at(samples) <= 5e-4 * max(1, 2 * step)


def test_a_node_alone_may_differ_by_what_is_stated_of_its_input_and_no_more():
    wide, data = ErrorBound(False, 0.5), np.full(4, 8, np.float32)
    assert narrowed(wide, 1e-4, data, {"y": data / 4}).bound == pytest.approx(4e-4)
    assert narrowed(wide, 1e-9, data, {"y": data}).bound == 2e-5  # what sums in another order may move
    assert narrowed(wide, None, data, {"y": data}) is wide
