"""The lines of Python that are printed run as they stand."""

import onnx
import onnx_text
import pytest

import resizefix
from resizefix.reports.result_table import python_lines


@pytest.mark.parametrize("sites", [2, 40])
def test_the_lines_run_and_give_every_output_however_many_inputs_there_are(sites, tmp_path):
    nodes = " ".join(f'y{k} = Resize (x, "", s)' for k in range(sites))
    outputs = ", ".join(f"float[a, b, c, d] y{k}" for k in range(sites))
    model = onnx_text.model(f"(float[1,1,4,4] x) => ({outputs}) <float[4] s = {{1, 1, 2, 2}}> {{ {nodes} }}")
    result = resizefix.promote_scales(model)
    path = tmp_path / "promoted.onnx"
    onnx.save(result.model, path)
    lines = python_lines(result, result.model, str(path))
    found: dict = {}
    exec("\n".join(lines), found)
    assert [output.shape for output in found["outputs"]] == [(1, 1, 8, 8)] * sites
    assert len(lines[-1]) < 250


def test_a_node_that_was_run_alone_at_small_sizes_does_not_say_how_large_the_input_is():
    text = '(float[1,4,128,128] x) => (float[a,b,c,d] y) <float[4] s = {1, 1, 8, 8}> { y = Resize (x, "", s) }'
    result = resizefix.promote_scales(onnx_text.model(text), memory_limit=2**22)
    assert "only around each changed node" in result.verification.reason
    assert "np.zeros((1, 4, 128, 128)" in python_lines(result, result.model, "out.onnx")[-1]
