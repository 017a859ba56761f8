"""What freeze-scales writes unverified of a keep_aspect_ratio_policy computes what the fed model did."""

import itertools

import numpy as np
import onnx
import pytest
from onnx_text import model
from ort_runs import run

import resizefix

BEHIND = (
    "h = Shape(r) y = Expand(one, h)",
    "q = Relu(r) h = Shape(q) y = ConstantOfShape(h)",
    'h = Shape(r) y = Resize<mode = "nearest">(x, , , h)',
    "h = Size(r) f = Cast<to = 1>(h) y = Mul(r, f)",
    "y = Relu(r)",
)
AXES = (("[2, 3]", [30, 20]), ("[-2, -1]", [30, 20]), ("[-1]", [25]), ("[1, -1]", [6, 20]), ("[3, -2]", [20, 30]))
POLICIES = ("not_larger", "not_smaller", "stretch")


@pytest.mark.parametrize(("axes", "sizes"), AXES)
@pytest.mark.parametrize("stored", [False, True])
def test_a_frozen_policy_is_right_or_refused_whatever_its_axes_are(axes, sizes, stored):
    for policy, behind in itertools.product(POLICIES, BEHIND):
        text = f"""(float[1,3,8,10] x, int64[{len(sizes)}] s) => (y) <float[1] one = {{1}}> {{
            r = Resize<mode = "nearest", keep_aspect_ratio_policy = "{policy}", axes = {axes}>(x, , , s) {behind} }}"""
        fed = model(text, 18)
        fed = onnx.shape_inference.infer_shapes(fed) if stored else fed
        x = np.random.default_rng(0).standard_normal((1, 3, 8, 10)).astype(np.float32)
        frozen = resizefix.freeze_scales(fed, set={"s": sizes}, verify=False, on_refusal="return")
        if not frozen:
            assert policy != "stretch"
            assert "-" in axes
            assert "h =" in behind
            assert "Write `axes` counted from 0" in frozen.outcomes[0].reason
            continue
        for optimized in (False, True):
            expected = run(fed, {"x": x, "s": np.array(sizes, np.int64)}, optimized=optimized)[0]
            made = run(frozen.model, {"x": x}, optimized=optimized)[0]
            assert made.shape == expected.shape, (policy, behind, optimized)
            assert np.array_equal(made, expected), (policy, behind, optimized)
