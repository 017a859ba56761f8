"""Shapes that a candidate stores: wrong where a run has another number, a symbol is two sizes, or the rank differs."""

from pathlib import Path

import onnx
import onnx_text
import pytest

import resizefix
from resizefix.library import seam
from resizefix.library.result import VerificationFailedError
from resizefix.verification.stored_shapes import contradictions

FIXTURES = Path(__file__).parents[2] / "fixtures" / "handmade"
RUN = {"x": (1, 3, 8, 8), "y": (1, 3, 16, 24)}


@pytest.mark.parametrize(
    ("stored", "wrong"),
    [
        ({"x": (1, 3, 8, 8), "y": (1, 3, 16, 24)}, set()),
        ({"x": ("N", 3, "H", "H"), "y": ("N", 3, None, "W")}, set()),
        ({"y": (1, 3, 16, 16)}, {"y"}),
        ({"y": (1, 3, 16)}, {"y"}),
        ({"y": (1, 3, "H", "H")}, {"H"}),
        ({"x": (1, 3, "H", "W"), "y": (1, 3, "H2", "W")}, {"W"}),
        ({"z": (7,)}, set()),
    ],
)
def test_what_a_run_does_not_bear_out_is_wrong(stored, wrong):
    assert {conflict.name for conflict in contradictions(stored.items(), RUN)} == wrong


def with_edit(monkeypatch, edit):
    """Puts an error between the operation and its proof."""
    submitted = seam.submitted

    def edited(before, candidate, plan):
        candidate = candidate.copy()
        edit(candidate.proto)
        return submitted(before, candidate, plan)

    monkeypatch.setattr(seam, "submitted", edited)


@pytest.mark.parametrize("size", [11, 12])
def test_a_wrong_stored_shape_is_seen_where_the_nodes_alone_are_compared(monkeypatch, size):
    def edit(model):
        model.graph.output[0].type.tensor_type.shape.dim[3].dim_value = size

    with_edit(monkeypatch, edit)
    path = FIXTURES.parent / "broken" / "external_extent_onnx.onnx"  # the file does not run, the candidate does
    for change in (resizefix.trt_legacy, lambda path: resizefix.set_interpolation(path, form="matmul")):
        if size == 11:
            assert change(path).verification.passed
        else:
            with pytest.raises(VerificationFailedError, match="12"):
                change(path)


def test_a_wrong_stored_shape_is_not_written(monkeypatch):
    def edit(model):
        dim = next(one for one in model.graph.value_info if one.name == "larger").type.tensor_type.shape.dim[2]
        dim.dim_value = 8

    with_edit(monkeypatch, edit)
    with pytest.raises(VerificationFailedError, match="stores wrong shapes: it says that 'larger' is"):
        resizefix.promote_scales(FIXTURES / "stale_value_info.onnx")


@pytest.mark.parametrize("size", [None, "any"])
def test_a_symbol_is_held_against_a_run_of_another_batch(monkeypatch, size):
    def edit(model):
        model.graph.output[0].type.tensor_type.shape.dim[2].dim_param = "batch"  # it is 1, as the batch was

    pooled = onnx_text.model("(float[1,3,8,8] x) => (float[1,3,1,1] y) { r = Relu (x) y = GlobalAveragePool (r) }", 13)
    assert resizefix.input_size(pooled, size=size, batch="any")
    with_edit(monkeypatch, edit)
    with pytest.raises(VerificationFailedError, match="stores wrong shapes: it says that 'batch' is"):
        resizefix.input_size(pooled, size=size, batch="any")


def test_a_shape_that_the_original_stores_wrongly_is_no_fault_of_the_change(tmp_path):
    model = onnx.load(FIXTURES / "stale_value_info.onnx")
    info = model.graph.value_info.add()
    info.CopyFrom(model.graph.input[0])
    info.name = "ones"  # it has the shape of the output
    path = tmp_path / "wrong.onnx"
    onnx.save(model, path)
    assert resizefix.set_interpolation(path, mode="linear").verification.passed
