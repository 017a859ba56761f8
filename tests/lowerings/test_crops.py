"""Crops with constant regions become products with constant matrices, within the bound that is stated."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import onnx_text
import ort_runs
import pytest
from onnx import helper

import resizefix
from resizefix.diagnostics import RefusedError
from resizefix.document.edits import Replacement
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Interpolation, Mode, NearestMode
from resizefix.lowerings.matmul import lower_crop

REGIONS = [(0.25, 0.25, 0.75, 0.75), (0, 0, 1, 1), (0.1, 0.6, 0.9, 0.2), (-0.2, 0, 0.5, 1.3), (0.5, 0.5, 0.5, 0.5)]
SIZES = [((32, 32), (14, 14)), ((7, 9), (3, 1)), ((16, 5), (50, 11)), ((8, 12), (20, 12))]


def lowered(
    mode: str, size: tuple[int, int], out: tuple[int, int], region: tuple[float, ...], value: float = 0.0
) -> Replacement:
    a = -0.75 if mode == "cubic" else None
    crop = CoordinateTransformationMode.TF_CROP_AND_RESIZE
    meaning = Interpolation(Mode(mode), crop, cubic_coeff_a=a, extrapolation_value=value)
    subject = ResizeSpec(meaning, ExtentKind.SIZES, (1, 3, *out), (1, 3, *size), onnx.TensorProto.FLOAT)
    count = itertools.count()
    roi = [0, 0, *region[:2], 1, 1, *region[2:]]
    return lower_crop(subject, roi, x="x", y="y", opset=13, fresh=lambda name: f"{name}_{next(count)}")


def crop(mode: str, size: tuple[int, int], out: tuple[int, int], region: tuple[float, ...]) -> onnx.ModelProto:
    roi = ", ".join(map(str, (0, 0, *region[:2], 1, 1, *region[2:])))
    node = f'<mode = "{mode}", coordinate_transformation_mode = "tf_crop_and_resize">'
    return onnx_text.model(
        f"""(float[1,3,{size[0]},{size[1]}] x) => (float[?,?,?,?] y)
        <float[8] roi = {{{roi}}}, int64[4] s = {{1, 3, {out[0]}, {out[1]}}}>
        {{ [crop] y = Resize {node} (x, roi, , s) }}"""
    )


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize(("size", "out"), SIZES)
def test_a_crop_is_within_the_bound_of_its_matrices(
    mode: str, region: tuple[float, ...], size: tuple[int, int], out: tuple[int, int]
) -> None:
    if out[1] == size[1] and (region[1], region[3]) != (0, 1):
        with pytest.raises(RefusedError, match="keeps its size"):
            lowered(mode, size, out, region)
        return
    made = lowered(mode, size, out, region)
    x = np.random.default_rng(3).standard_normal((1, 3, *size)).astype(np.float32)
    inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, x.shape)]
    outputs = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)]
    graph = helper.make_graph(made.nodes, "g", inputs, outputs, made.initializers)
    after = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    expected, found = (ort_runs.run(model, {"x": x})[0] for model in (crop(mode, size, out, region), after))
    assert expected.shape == found.shape
    assert np.abs(expected - found).max() <= (made.error.bound or 0) * np.abs(x).max()


def test_what_lies_outside_has_its_own_number_which_no_matrix_gives() -> None:
    with pytest.raises(RefusedError, match="outside the image, where it gives 3"):
        lowered("linear", (8, 8), (4, 4), (-0.5, 0, 0.5, 1), 3.0)
    assert lowered("linear", (8, 8), (4, 4), (0.1, 0, 0.5, 1), 3.0).nodes


def test_nearest_is_refused_and_so_is_an_axis_that_keeps_its_size() -> None:
    crop = CoordinateTransformationMode.TF_CROP_AND_RESIZE
    meaning = Interpolation(Mode.NEAREST, crop, NearestMode.FLOOR, extrapolation_value=0.0)
    subject = ResizeSpec(meaning, ExtentKind.SIZES, (1, 1, 4, 4), (1, 1, 8, 8), onnx.TensorProto.FLOAT)
    with pytest.raises(RefusedError, match="mode linear and cubic"):
        lower_crop(subject, [0, 0, 0, 0, 1, 1, 1, 1], x="x", y="y", opset=13, fresh=str)
    with pytest.raises(RefusedError, match="keeps its size"):
        lowered("linear", (8, 8), (8, 4), (0.25, 0, 0.75, 1))


def test_legalize_replaces_the_crop_for_a_target_that_takes_none() -> None:
    result = resizefix.legalize(crop("linear", (32, 32), (14, 14), REGIONS[0]), target="tensorrt-10")
    assert {node.op_type for node in result.model.graph.node} == {"MatMul"}
    assert result.verification.passed
    fed = crop("linear", (32, 32), (14, 14), REGIONS[0])
    fed.graph.initializer.remove(fed.graph.initializer[0])
    fed.graph.input.append(helper.make_tensor_value_info("roi", onnx.TensorProto.FLOAT, [8]))
    refused = resizefix.legalize(fed, target="tensorrt-10", on_refusal="return")
    assert "roi is no constant" in (refused.outcomes[0].reason or "")
