import numpy as np
import pytest
from onnx import ModelProto
from opset_pair import (
    AWKWARD,
    Feeds,
    assert_same,
    blockers_of,
    lowered,
    model_of,
    normal,
    operators,
    read_versions,
    run,
)

from resizefix.opsets.elementwise import ROWS

BINARY = ["Add", "Div", "Mul", "PRelu", "Pow", "Sub"]
IMAGE = {
    "Conv": ("float[4,3,3,3] w", {"w": normal(4, 3, 3, 3)}, "<pads=[1,1,1,1]>"),
    "GlobalAveragePool": ("", {}, ""),
    "GlobalLpPool": ("", {}, ""),
    "GlobalMaxPool": ("", {}, ""),
    "InstanceNormalization": ("float[3] w, float[3] b", {"w": normal(3), "b": normal(3, seed=1)}, ""),
    "LRN": ("", {}, "<size=3>"),
    "LpNormalization": ("", {}, ""),
    "MatMul": ("float[2,3,5,2] w", {"w": normal(2, 3, 5, 2)}, ""),
    "MaxRoiPool": ("float[1,5] w", {"w": np.array([[0, 0, 0, 3, 3]], np.float32)}, "<pooled_shape=[2,2]>"),
    "Mean": ("float[3,1,5] w", {"w": normal(3, 1, 5)}, ""),
    "Sum": ("float[3,1,5] w", {"w": normal(3, 1, 5)}, ""),
}
RANDOM = {
    "Multinomial": ("float[2,4] x", "int32[2,3]", "<seed=1.0, sample_size=3>(x)"),
    "RandomNormal": ("float[2,4] x", "float[2,3]", "<seed=1.0, shape=[2,3]>()"),
    "RandomNormalLike": ("float[2,4] x", "float[2,4]", "<seed=1.0>(x)"),
    "RandomUniform": ("float[2,4] x", "float[2,3]", "<seed=1.0, shape=[2,3]>()"),
    "RandomUniformLike": ("float[2,4] x", "float[2,4]", "<seed=1.0>(x)"),
}


OF_THEIR_OWN = {"Cast", "CastLike", "Dropout", "LSTM", "GRU", "RNN"}
# Whatever else the family holds is a function of one value, so that no row goes untested.
UNARY = [row.op_type for row in ROWS if row.op_type not in {*BINARY, *IMAGE, *RANDOM, *OF_THEIR_OWN}]
# onnxruntime 1.31 has no kernel for these (operator, version): there the node must simply stay what it was.
NO_KERNEL = {(op_type, 22) for op_type in (*RANDOM, "GlobalLpPool", "MaxRoiPool")}


def assert_same_or_unchanged(op_type: str, version: int, graph: str, feeds: Feeds) -> ModelProto:
    model = model_of(version, graph)
    if (op_type, version) not in NO_KERNEL:
        return assert_same(model, feeds)
    after, result = lowered(model)
    assert not result.steps
    assert list(after.graph.node) == list(model.graph.node)
    run(after, feeds)
    return after


@pytest.mark.parametrize(("op_type", "version"), read_versions(*UNARY))
def test_a_function_of_one_value_keeps_its_bits(op_type, version):
    after = assert_same(model_of(version, f"g (float[16] x) => (float[16] y) {{ y = {op_type}(x) }}"), {"x": AWKWARD})
    assert operators(after) == [op_type]


@pytest.mark.parametrize(("op_type", "version"), read_versions(*BINARY))
def test_a_function_of_two_values_keeps_its_bits(op_type, version):
    result = "float[16]" if op_type == "PRelu" else "float[3,16]"
    slope = "float[1] w" if op_type == "PRelu" else "float[3,1] w"
    w = normal(1) if op_type == "PRelu" else normal(3, 1)
    after = assert_same(
        model_of(version, f"g (float[16] x, {slope}) => ({result} y) {{ y = {op_type}(x, w) }}"), {"x": AWKWARD, "w": w}
    )
    assert operators(after) == [op_type]


@pytest.mark.parametrize(("op_type", "version"), read_versions(*IMAGE))
def test_an_operator_on_images_keeps_its_bits(op_type, version):
    declared, feeds, attributes = IMAGE[op_type]
    operands = ", ".join(["x", *feeds])
    inputs = ", ".join(filter(None, ["float[2,3,4,5] x", declared]))
    graph = f"g ({inputs}) => (float[A,B,C,D] y) {{ y = {op_type}{attributes}({operands}) }}"
    after = assert_same_or_unchanged(op_type, version, graph, {"x": normal(2, 3, 4, 5), **feeds})
    assert operators(after) == [op_type]


@pytest.mark.parametrize(("op_type", "version"), read_versions(*RANDOM))
def test_a_seeded_random_operator_draws_the_same(op_type, version):
    inputs, output, call = RANDOM[op_type]
    graph = f"g ({inputs}) => ({output} y) {{ y = {op_type}{call} }}"
    assert_same_or_unchanged(op_type, version, graph, {"x": normal(2, 4)})


@pytest.mark.parametrize(("op_type", "version"), read_versions("Cast"))
def test_a_cast_loses_the_attributes_for_float8(op_type, version):
    attributes = "to=6" + (", saturate=1" if version >= 19 else "")
    after = assert_same(
        model_of(version, f"g (float[20] x) => (int32[20] y) {{ y = {op_type}<{attributes}>(x) }}"),
        {"x": normal(20) * 50},
    )
    assert [attribute.name for attribute in after.graph.node[0].attribute] == ["to"]


def test_a_cast_to_bfloat16_is_refused_by_its_type():
    (blocker,) = blockers_of(model_of(13, "g (float[2] x) => (bfloat16[2] y) { y = Cast<to=16>(x) }"))
    assert blocker.op_type == "Cast"
    assert "Cast-6 does not take tensor(bfloat16)" in blocker.reason


@pytest.mark.parametrize(("op_type", "version"), read_versions("CastLike"))
def test_cast_like_casts_to_the_type_it_sees(op_type, version):
    after = assert_same(
        model_of(version, f"g (float[20] x, int32[1] w) => (int32[20] y) {{ y = {op_type}(x, w) }}"),
        {"x": normal(20) * 50, "w": np.zeros(1, np.int32)},
    )
    assert operators(after) == ["Cast"]


@pytest.mark.parametrize(("op_type", "version"), read_versions("Pow"))
def test_a_constant_integer_exponent_becomes_a_float(op_type, version):
    graph = f"g (float[16] x) => (float[16] y) <int64 p = {{3}}> {{ y = {op_type}(x, p) }}"
    assert_same(model_of(version, graph), {"x": AWKWARD})


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        ("g (float[2] x, int64 p) => (float[2] y) { y = Pow(x, p) }", "a cast may round the exponent"),
        ("g (float[2] x) => (float[2] y) <int64 p = {16777217}> { y = Pow(x, p) }",
         "float32 cannot hold the exponent exactly"),
        ("g (int64[2] x) => (int64[2] y) <float p = {2}> { y = Pow(x, p) }", "Pow-7 takes no int64"),
        ("g (int64[2] x) => (int64[2] y) <int64 p = {2}> { y = Pow(x, p) }", "Pow-7 does not take tensor(int64)"),
    ],
)  # fmt: skip
def test_other_exponents_are_refused(graph, reason):
    (blocker,) = blockers_of(model_of(13, graph))
    assert reason in blocker.reason


@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div", "Abs", "Relu", "MatMul"])
def test_a_type_that_came_later_is_refused(op_type):
    operands = "(x)" if op_type in ("Abs", "Relu") else "(x, x)"
    kind = "bfloat16" if op_type == "Abs" else "int8" if op_type != "MatMul" else "int64"
    (blocker,) = blockers_of(model_of(14, f"g ({kind}[2,2] x) => ({kind}[2,2] y) {{ y = {op_type}{operands} }}"))
    assert f"does not take tensor({kind})" in blocker.reason
    assert blocker.since_version >= 13


@pytest.mark.parametrize(("op_type", "version"), read_versions("Dropout"))
def test_dropout_at_inference_is_the_identity(op_type, version):
    operands = "(x)" if version < 12 else "(x, r, t)"
    graph = f"g (float[16] x) => (float[16] y) <float r = {{0.5}}, bool t = {{0}}> {{ y = {op_type}{operands} }}"
    assert operators(assert_same(model_of(version, graph), {"x": AWKWARD})) == ["Identity"]


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        ("g (float[2] x) => (float[2] y, bool[2] m) { y, m = Dropout(x) }", "another node uses its mask"),
        ("g (float[2] x) => (float[2] y) <float r={0.5}, bool t={1}> { y = Dropout(x, r, t) }", "not constantly false"),
        ("g (float[2] x, bool t) => (float[2] y) <float r={0.5}> { y = Dropout(x, r, t) }", "not constantly false"),
    ],
)
def test_dropout_that_does_something_is_refused(graph, reason):
    (blocker,) = blockers_of(model_of(13, graph))
    assert reason in blocker.reason
    assert "inference mode" in blocker.fix


@pytest.mark.parametrize(("op_type", "version"), read_versions("LSTM", "GRU", "RNN"))
def test_a_recurrent_net_keeps_its_bits(op_type, version):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op_type]
    graph = f"""g (float[5,2,3] x, float[1,{4 * gates},3] w, float[1,{4 * gates},4] r) => (float[5,1,2,4] y)
        {{ y = {op_type}<hidden_size=4, layout=0>(x, w, r) }}"""
    feeds = {"x": normal(5, 2, 3), "w": normal(1, 4 * gates, 3, seed=1), "r": normal(1, 4 * gates, 4, seed=2)}
    after = assert_same(model_of(version, graph), feeds)
    assert [attribute.name for attribute in after.graph.node[0].attribute] == ["hidden_size"]


def test_a_model_with_float16_says_once_that_it_is_rounded_elsewhere():
    _, result = lowered(model_of(13, "g (float16[2] x) => (float16[2] y) { y = Relu(x) }"))
    assert not result.exact
    assert sum("float16" in step.error.note for step in result.steps) == 1
