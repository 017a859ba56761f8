"""Where the file fixes a size, it is known, whatever chain of nodes the exporter left to compute it."""

import numpy as np
import pytest
from onnx_text import document
from ort_runs import run

from resizefix.scope_path import MAIN
from resizefix.shapes.stored_shapes import ModelView

CHAINS = {
    "pads made by Concat and Split": """p, q = Split <axis = 0> (four)
        z = Concat <axis = 0> (zero, zero, p, zero, zero, q) a = Pad (x, z)""",
    "sizes that went through floats": """n = Shape (x) f = Cast <to = 1> (n) g = Floor (f) h = Cast <to = 7> (g)
        a = Reshape (x, h)""",
    "scales that are quotients of sizes": """n = Shape (x) f = Cast <to = 1> (n) d = Mul (f, twos) r = Div (d, f)
        a = Resize (x, , r)""",
    "a branch that is always taken": """a = If (yes) <then_branch = t () => (float[] u) { u = Squeeze (x, zero) },
        else_branch = e () => (float[] v) { v = Identity (x) }>""",
}
CONSTANTS = """<int64[4] four = {0, 1, 0, 1}, int64[1] zero = {0},
    float[4] twos = {1, 1, 2, 2}, bool yes = {1}>"""


@pytest.mark.parametrize("nodes", CHAINS.values(), ids=CHAINS)
def test_a_size_that_follows_from_fixed_inputs_is_that_of_a_run(nodes):
    text = f"(float[1,3,8,6] x) => (float[] y) {CONSTANTS} {{ {nodes} [up] y = Resize (a, , two) }}"
    rank = 3 if "If" in nodes else 4
    two = f"float[{rank}] two = {{1, {', '.join('2' * (rank - 1))}}}>"
    opened = document(text.replace("yes = {1}>", f"yes = {{1}}, {two}"), 17)
    view = ModelView(opened)
    (made,) = run(opened.proto, {"x": np.zeros((1, 3, 8, 6), np.float32)})
    assert view.shapes.dims((MAIN, "y")) == made.shape


def test_a_size_that_the_file_leaves_open_stays_open():
    view = ModelView(document(
        "(float[n,3,8,6] x) => (float[] y) <float[4] two = {1, 1, 2, 2}> { a = acme.Op (x) y = Resize (a, , two) }",
        17, "acme",
    ))  # fmt: skip
    assert view.shapes.dims((MAIN, "y")) is None


def test_an_input_without_a_shape_has_no_known_rank():
    opened = document("(float x) => (float y) <float[4] s = {1, 1, 2, 2}> { q = Relu (x) y = Resize (q, , s) }", 17)
    for value in (*opened.proto.graph.input, *opened.proto.graph.output):
        value.type.tensor_type.ClearField("shape")
    view = ModelView(opened)
    assert view.shapes.dims((MAIN, "q")) is None
