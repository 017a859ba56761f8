"""A node that is run alone is fed the sizes that only the rewrite of a node before it tells."""

import onnx.parser

import resizefix

# Inference reads the first scales once they are part of other operators. The operator at the end is registered nowhere.
COMPUTED = """<ir_version: 6, opset_import: ["" : 11, "vendor" : 1]> g (float[1,2,2,4] x) => (float w)
  <float[4] c = {1, 1, 2, 4}, float[4] s = {1, 1, 2.5, 2.5}, float[0] roi = {}> {
    shape = Shape (x) dims = Cast <to = 1> (shape) scales = Div (c, dims)
    y = Resize <mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"> (x, roi, scales)
    z = Resize <coordinate_transformation_mode = "align_corners", nearest_mode = "round_prefer_floor"> (y, roi, s)
    w = vendor.Op (z)
  }"""


def test_a_node_behind_a_rewritten_one_is_compared_at_the_sizes_that_became_known():
    made = resizefix.legalize(onnx.parser.parse_model(COMPUTED), target="tensorrt-5.1")
    assert [outcome.status.value for outcome in made.outcomes] == ["changed", "changed"]
    assert made.verification.reason.startswith("only around each changed node")
    assert (1, 1, 2, 4) in [tuple(run.shapes.get("y", ())) for run in made.verification.runs]
