"""Inputs that decide a size that the file fixes are fed what it says."""

import onnx
import pytest
from onnx_text import model

from resizefix.document.document import Document
from resizefix.library.legalize import legalize
from resizefix.library.promote_scales import promote_scales
from resizefix.verification.stored_shapes import feeds_from_declared_shapes


def made_of(inputs: str, node: str, opset: int = 18, shape: str = "1,3,6,2") -> onnx.ModelProto:
    nodes = f"y = {node} [up] z = Resize (y, , , two)"
    outputs = f"float[{shape}] y, float[?,?,?,?] z"
    return model(f"({inputs}) => ({outputs}) <int64[4] two = {{1, 3, 12, 4}}> {{ {nodes} }}", opset)


def fed(made: onnx.ModelProto, shapes: dict[str, list[int]] | None = None) -> dict[str, list[float]]:
    found = feeds_from_declared_shapes(Document.from_proto(made), shapes or {})
    return {name: value.tolist() for name, value in found.items()}


@pytest.mark.parametrize(
    ("inputs", "node", "expected"),
    [
        ("float[1,3,4,4] x, float[4] s", "Resize (x, , s)", {"s": [1, 1, 1.5, 0.5]}),
        ("float[1,3,h,w] x, int64[4] k", "Resize (x, , , k)", {}),
        ("float[1,3,4,4] x, int64[4] k", "Resize (x, , , k)", {"k": [1, 3, 6, 2]}),
        ("float[1,3,4,4] x, int64[2] k", "Resize <axes = [3, -2]> (x, , , k)", {"k": [2, 6]}),
        ("float[1,3,4,4] x, float[8] r", "Resize (x, r, , two)", {}),
        ("float[1,3,4,4] x", "Relu (x)", {}),
    ],
)
def test_what_the_sizes_before_and_behind_say_is_fed(inputs, node, expected):
    assert fed(made_of(inputs, node)) == expected


def test_sizes_that_the_user_gives_are_sizes_of_the_file():
    made = made_of("float[n,3,h,w] x, float[4] s", "Resize (x, , s)")
    assert fed(made) == {}
    assert fed(made, {"x": [1, 3, 4, 4]}) == {"s": [1, 1, 1.5, 0.5]}


def test_a_node_that_is_not_valid_tells_nothing():
    assert fed(made_of("float[1,3,4,4] x, float[4] s", "Upsample (x, s)", opset=11)) == {}


def test_a_promotion_behind_such_a_node_is_proven_at_the_sizes_of_the_file():
    made = made_of("float[1,3,1,1] x, int64[4] k", "Resize (x, , , k)", shape="1,3,6,2")
    verification = promote_scales(made, form="scales").verification
    assert verification.passed
    assert verification.runs[0].values == {"up_scales": (1.0, 1.0, 2.0, 2.0)}


def test_without_a_run_at_what_is_reported_other_values_are_fed():
    made = made_of("float[1,3,4,4] x, float[4] s", "Resize (x, , s)", shape="2,3,6,2")
    made.graph.node[0].attribute.append(onnx.helper.make_attribute("mode", "cubic"))  # takes no batch that changes
    assert fed(made) == {"s": [2, 1, 1.5, 0.5]}
    assert [outcome.status.value for outcome in promote_scales(made, form="sizes").outcomes][-1] == "changed"


def test_a_rewrite_behind_such_a_node_is_compared_at_the_sizes_of_the_file():
    made = made_of("float[1,3,1,1] x, int64[4] k", "Resize (x, , , k)")
    verification = legalize(made, target="tensorrt-6.0", node=["up"]).verification
    assert verification.passed
    assert verification.runs[0].values == {"k": [1, 3, 6, 2]}


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        ("a = Abs (r) y = Add (x, a)", {"s": [1, 1, 1.5, 0.5]}),
        ("y = Clip (r)", {"s": [1, 1, 1.5, 0.5]}),
        ("a = Shape (r) y = Expand (x, a)", {}),
        ("y = PRelu (x, r)", {}),  # `r` may have any size that is broadcast to that of `x`
        ("y = MaxPool <kernel_shape = [2, 2]> (r)", {}),
    ],
)
def test_sizes_behind_elementwise_nodes_are_those_of_what_they_read(between, expected):
    graph = f"(float[1,3,4,4] x, float[4] s) => (float[1,3,6,2] y) {{ r = Resize (x, , s) {between} }}"
    assert fed(model(graph, 18)) == expected


def test_a_promotion_that_reads_the_stored_size_of_a_fed_tensor_is_proven_at_that_size():
    made = made_of("float[1,3,4,4] x, float[4] s", "Abs (r)")
    made.graph.node.insert(0, onnx.helper.make_node("Resize", ["x", "", "s"], ["r"]))
    verification = promote_scales(made, form="scales").verification
    assert verification.passed
    assert verification.runs[0].values == {"up_scales": (1.0, 1.0, 2.0, 2.0)}
