"""Where not all inputs move at once, each is compared while the others stand for their old values."""

import onnx.parser

import resizefix

# The second scale is 1 as long as the first is 4, and no Upsample takes the fraction that a larger first would make of
# it. Both together are more than the third can make 12 by 24 of.
CHAIN = """<ir_version: 4, opset_import: ["" : 9]> g (float[6,3] x) => (float[?,?] z) {
  s = Constant <value = float[2] {1, 4}> () a = Upsample <mode = "linear"> (x, s)
  shape_a = Shape (a) dims_a = Cast <to = 1> (shape_a) out_b = Constant <value = float[2] {6, 12}> ()
  t = Div (out_b, dims_a) b = Upsample <mode = "linear"> (a, t)
  shape_b = Shape (b) dims_b = Cast <to = 1> (shape_b) out_z = Constant <value = float[2] {12, 24}> ()
  u = Div (out_z, dims_b) z = Upsample (b, u)
}"""


def test_a_scale_that_follows_the_size_which_another_input_changes_keeps_its_old_value():
    made = resizefix.promote_scales(onnx.parser.parse_model(CHAIN), node=["#0", "#1"])
    assert made.verification.status.value == "passed"
    moved = [set(run.values) for run in made.verification.runs]
    assert any(len(names) == 1 for names in moved)
