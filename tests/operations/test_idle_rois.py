"""A roi of numbers that the coordinate mode does not read, which some importers refuse, is emptied."""

import itertools

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper
from onnx_text import model
from ort_runs import run

import resizefix
from resizefix.interop import opened
from resizefix.operations.sites import find_sites
from resizefix.outcome import Status
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.catalogue import TARGETS
from resizefix.targets.collect_facts import facts_in

FORMS = {
    "scales": ("(x, r, s)", "float[4] s = {1, 1, 2, 2}", ""),
    "sizes": ("(x, r, e, z)", "int64[4] z = {1, 2, 12, 20}", ""),
    "computed": ("(x, r, e, t)", "int64[4] f = {1, 1, 2, 2}", "a = Shape (x) t = Mul (a, f)"),
}
CASES = list(itertools.product((11, 13, 19), FORMS))
NEAREST = 'mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'
X = {"x": np.random.default_rng(0).random((1, 2, 6, 10), np.float32)}


def with_roi(opset: int, form: str, attributes: str = NEAREST) -> ModelProto:
    operands, held, more = FORMS[form]
    held = f"{held}, float[0] e = {{}}, float[8] r = {{0, 0, 0, 0, 1, 1, 1, 1}}"
    text = f"(float[1,2,6,10] x) => (float[?,?,?,?] y) <{held}> {{ {more} y = Resize <{attributes}> {operands} }}"
    return model(text, opset)


def rois(made: ModelProto) -> list[int]:
    """How many numbers each roi has; a name that is left out has none."""
    held = {tensor.name: numpy_helper.to_array(tensor).size for tensor in made.graph.initializer}
    return [held.get(node.input[1], 0) for node in made.graph.node if node.op_type == "Resize"]


def refused_by_rule(made: ModelProto, name: str) -> set[str]:
    return {one.rule for one in resizefix.check(made, target=name).violations}


@pytest.mark.parametrize(("opset", "form"), CASES)
def test_legalize_empties_it_for_every_target_that_refuses_it(opset, form):
    broken = with_roi(opset, form)
    refusing = [target.name for target in TARGETS if "roi-is-empty" in refused_by_rule(broken, target.name)]
    assert "ncnn" in refusing
    for name in refusing:
        result = resizefix.legalize(broken, target=name, live=False)
        assert result.verification.passed
        assert rois(result.model) == [0]
        assert "roi-is-empty" not in refused_by_rule(result.model, name)
        assert np.array_equal(run(result.model, X)[0], run(broken, X)[0])


@pytest.mark.parametrize(
    ("opset", "form", "wanted"), [(*case, wanted) for case in CASES[:] for wanted in ("scales", "sizes")]
)
def test_the_forms_scales_and_sizes_hold_a_roi_that_every_importer_takes(opset, form, wanted):
    broken = with_roi(opset, form)
    result = resizefix.set_interpolation(broken, form=wanted, on_refusal="return")
    if form == "computed":
        assert result.outcomes[0].status is not Status.CHANGED  # its extent stays computed, and so does the node
        return
    assert result.verification.passed
    assert rois(result.model) == [0]
    assert "roi-is-empty" not in refused_by_rule(result.model, "ncnn")
    assert np.array_equal(run(result.model, X)[0], run(broken, X)[0])
    again = resizefix.set_interpolation(result.model, form=wanted, on_refusal="return")
    assert again.outcomes[0].status is Status.UNCHANGED


def test_a_roi_that_is_read_is_none_of_these():
    crop = with_roi(13, "sizes", 'mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"')
    view = ModelView(opened(crop))
    assert not facts_in(view)[find_sites(view.document)[0].index].has_idle_roi
    result = resizefix.set_interpolation(crop, form="sizes", on_refusal="return")
    assert result.outcomes[0].status is Status.UNCHANGED
