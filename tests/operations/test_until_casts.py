"""Pictures of bytes are resized as floats where Casts read the result: bit for bit what onnxruntime makes of bytes."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_text
import ort_runs
import pytest

import resizefix


def model(attributes: str, scales: str, behind: str = "y = Cast <to = 1> (r)", value: str = "") -> onnx.ModelProto:
    found = onnx_text.model(
        f"""(uint8[1,3,20,24] x) => (float[?,?,?,?] y) <float[4] s = {{{scales}}}>
        {{ [shrink] r = Resize <{attributes}> (x, , s) {behind} }}"""
    )
    if value:
        found.graph.value_info.append(onnx.helper.make_tensor_value_info("r", onnx.TensorProto.UINT8, [1, 3, 30, 36]))
    return found


@pytest.mark.parametrize("attributes", [
    'mode = "linear"', 'mode = "linear", coordinate_transformation_mode = "align_corners"',
    'mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"',
])  # fmt: skip
@pytest.mark.parametrize("scales", ["1, 1, 1.5, 1.5", "1, 1, 2, 2", "1, 1, 0.5, 0.75"])
@pytest.mark.parametrize("value", ["", "stored"])
def test_the_result_has_every_bit(attributes: str, scales: str, value: str) -> None:
    before = model(attributes, scales, value=value if scales.startswith("1, 1, 1.5") else "")
    result = resizefix.legalize(before, target="tensorrt-10")
    assert result.outcomes[0].exact
    assert result.model.graph.node[0].op_type == "Cast"
    rng = np.random.default_rng(1)
    for optimized in (False, True):
        x = rng.integers(0, 256, (1, 3, 20, 24)).astype(np.uint8)
        expected, found = (ort_runs.run(one, {"x": x}, optimized=optimized)[0] for one in (before, result.model))
        np.testing.assert_array_equal(expected, found)


@pytest.mark.parametrize(
    "behind",
    [
        "z = Identity (r) y = Cast <to = 1> (z)",
        "w = Cast <to = 1> (r) q = Concat <axis = 0> (r, r) y = Cast <to = 1> (q)",
    ],
)
def test_where_others_read_the_bytes_nothing_is_rewritten(behind: str) -> None:
    result = resizefix.legalize(
        model('mode = "linear"', "1, 1, 2, 2", behind), target="tensorrt-10", on_refusal="return"
    )
    assert not result
    assert result.outcomes[0].status.value == "refused"
