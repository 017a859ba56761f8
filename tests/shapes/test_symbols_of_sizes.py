"""Sizes that are told anew get symbols that the file has for no other size."""

from __future__ import annotations

import onnx.parser

from resizefix.shapes.stored_shapes import Shapes, rederive

# The roi of a crop is beyond inference: what it says of `c` is hidden from it, and with that the symbol of `c`.
MODEL = """<ir_version: 10, opset_import: ["" : 11, "local" : 1]> g (float[n] x) => (float[?] z)
    <float[1] s = {2.3333333}, float[1] t = {2}, float[0] e = {}, float[unk__0] c, float[unk__1] y> {
        c = local.Crop (x, s) y = Resize <mode = "nearest"> (c, e, t) z = Abs (y)
    }
    <domain: "local", opset_import: ["" : 11]> Crop (b, f) => (d) {
        r = Constant <value = float[2] {0.4, 0.6}> ()
        d = Resize <mode = "nearest", coordinate_transformation_mode = "tf_crop_and_resize"> (b, r, f)
    }"""


def test_a_size_that_is_inferred_again_gets_no_symbol_of_another_one():
    model = onnx.parser.parse_model(MODEL)
    shapes = Shapes(model)
    assert shapes.dims(((), "y")) != ("unk__0",)
    rederive(model, {((), "y"): shapes.dims(((), "y"))})
    told = {value.name: [dim.dim_param for dim in value.type.tensor_type.shape.dim] for value in model.graph.value_info}
    assert told["c"] == ["unk__0"]
    assert told["y"] != ["unk__0"]
