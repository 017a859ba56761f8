"""Sizes fed for a fractional scale: an answer says where they mean it, and measures another size or says none was."""

import onnx
import onnx.parser
import pytest

import resizefix

OPEN = """<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 3, {h}, {w}] x) => (float[1, 3, a, b] z) <float[4] scales = {{1, 1, {scale}, {scale}}}>
{{
   y = Resize <mode = "linear"> (x, "", scales)
   z = Relu (y)
}}"""
# Height and width must be multiples of 64, whatever the file says: the scale makes whole numbers of these alone.
STRICT = """<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 3, H, W] x) => (float[1, 3, a, b] z)
<float[4] scales = {1, 1, 1.5, 1.5}, int64[6] blocks = {1, 3, -1, 64, 1, 64}, int64[4] whole = {1, 3, -1, 64}>
{
   r = Reshape (x, blocks)
   s = Reshape (r, whole)
   y = Resize <mode = "linear"> (s, "", scales)
   z = Relu (y)
}"""


def promoted(text, tmp_path, **options):
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    return resizefix.promote_scales(path, for_="tensorrt", **options)


@pytest.mark.parametrize("scale", [1.5, 2.25, 0.75])
def test_a_size_that_makes_no_whole_number_is_measured(scale, tmp_path):
    result = promoted(OPEN.format(h="H", w="W", scale=scale), tmp_path)
    (outcome,) = result.outcomes
    assert outcome.condition == f"where every size that is resized makes a whole number with its scale ({scale:g})"
    assert outcome.max_abs_diff > 0
    assert any(size * scale % 1 for size in outcome.measured_at["x"][2:])


@pytest.mark.parametrize(("h", "w", "scale"), [("H", "W", 2), (16, 24, 1.5)])
def test_nothing_is_said_where_every_size_is_whole(h, w, scale, tmp_path):
    result = promoted(OPEN.format(h=h, w=w, scale=scale), tmp_path)
    assert result.outcomes[0].exact
    assert result.outcomes[0].condition is None
    assert not any("whole number" in text for text in result.verification.not_tested)


def test_where_the_model_runs_at_no_such_size_the_answer_says_so(tmp_path):
    result = promoted(STRICT, tmp_path)
    assert not result.outcomes[0].exact
    assert result.outcomes[0].condition is not None
    assert [text for text in result.verification.not_tested if "makes no whole number" in text]
