"""Which sites are refused as coupled, where the promotion of others decides it."""

import onnx.parser

import resizefix
from resizefix.outcome import Status


def test_a_node_before_fixed_sizes_is_free_though_these_are_coupled():
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 18]> g (float[1,1,4,4] x) => (float[1,1,6,6] y)
        <float[4] s = {1, 1, 0.5, 0.5}, int64[4] k = {1, 1, 6, 6}, int64[4] shape = {1, 1, 6, 6}>
        { [first] a = Resize (x, , s) [second] b = Resize (a, , , k) y = Reshape (b, shape) }"""
    )
    result = resizefix.promote_scales(model)
    assert [outcome.status for outcome in result.outcomes] == [Status.CHANGED, Status.REFUSED]
    assert "breaks the model" in (result.outcomes[1].reason or "")
    assert result.verification.passed
    assert [coupling.node for coupling in result.verification.coupling] == ["first", "second"]
