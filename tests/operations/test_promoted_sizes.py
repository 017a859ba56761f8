"""Stored shapes behind two promoted sites in a row: an axis follows the site before it to wherever it is moved."""

import onnx.parser
import pytest

import resizefix

TWO = """<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 3, 8, 10] x) => (float[{out}] z)
<float[4] s = {{1, 1, 2, 2}}, float[4] t = {{1, 1, 2, 1}}, int64[4] h = {{1, 20, 3, 16}}>
{{
   a = Resize <mode = "nearest"> (x, "", s)
   {between}
   b = Resize <mode = "nearest"> (c, "", t)
   z = Relu (b)
}}"""
N = None  # a size that an input moves
BETWEEN = {
    "nothing": ("c = Relu (a)", "1, 3, 32, 20", (1, 3, N, N)),
    "to channels last": ("c = Transpose <perm = [0, 2, 3, 1]> (a)", "1, 16, 40, 3", (1, N, N, 3)),
    "turned and back": (
        "r = Transpose <perm = [0, 3, 1, 2]> (a)\n q = Relu (r)\n c = Transpose <perm = [0, 2, 3, 1]> (q)",
        "1, 3, 32, 20",
        (1, 3, N, N),
    ),
    "width becomes channels": ("c = Transpose <perm = [0, 3, 1, 2]> (a)", "1, 20, 6, 16", (1, N, N, N)),
    "reversed": ("c = Transpose (a)", "20, 16, 6, 1", (N, N, N, 1)),
    "folded": ("c = Reshape (a, h)", "1, 20, 6, 16", (N, N, N, N)),
}


@pytest.mark.parametrize("name", BETWEEN)
@pytest.mark.parametrize("form", [None, "spatial"])
def test_what_stands_between_two_sites_carries_the_moved_axes(name, form):
    between, out, kept = BETWEEN[name]
    text = TWO.format(out=out, between=between)
    result = resizefix.promote_scales(onnx.parser.parse_model(text), allow_coupled=True, form=form)
    assert result.verification.passed
    assert len(result.inputs) == 2
    dims = result.model.graph.output[0].type.tensor_type.shape.dim
    stored = tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in dims)
    # Where every scale is fed, axes behind the second may be moved at either site.
    assert stored == kept if form else stored[:2] == kept[:2]
