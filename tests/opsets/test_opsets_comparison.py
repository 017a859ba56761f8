import numpy as np
import pytest
from opset_pair import AWKWARD, assert_same, blockers_of, model_of, normal, operators, read_versions

EDGES = {
    "int64": [0, 1, -1, 2**62, 2**62 + 1, -(2**62), -(2**62) - 1, 2**63 - 1, -(2**63), 2**53, 2**53 + 1, -(2**53) - 1],
    "int32": [0, 1, -1, 2**31 - 1, -(2**31), 2**24, 2**24 + 1],
}
COMPARISONS = ["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"]


def table(op_type: str, kind: str, count: int, result: str = "bool") -> str:
    return f"g ({kind}[{count}] a, {kind}[{count},1] b) => ({result}[{count},{count}] y) {{ y = {op_type}(a, b) }}"


@pytest.mark.parametrize(("op_type", "version"), read_versions(*COMPARISONS))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_pairs_of_awkward_floats_compare_the_same(op_type, version, dtype):
    values = AWKWARD.astype(dtype)
    kind = "float" if dtype is np.float32 else "double"
    model = model_of(version, table(op_type, kind, values.size))
    after = assert_same(model, {"a": values, "b": values[:, None].copy()})
    if op_type in ("Less", "Greater"):
        assert operators(after) == [op_type]


@pytest.mark.parametrize(("op_type", "version"), read_versions(*COMPARISONS))
@pytest.mark.parametrize("kind", EDGES)
def test_all_pairs_of_integers_at_the_edges_compare_the_same(op_type, version, kind):
    values = np.array(EDGES[kind], kind)
    assert_same(model_of(version, table(op_type, kind, values.size)), {"a": values, "b": values[:, None].copy()})


def test_random_int64_compare_the_same():
    a = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 4000, dtype=np.int64)
    b = a + np.random.default_rng(1).integers(-3, 4, 4000)
    assert_same(model_of(13, "g (int64[4000] a, int64[4000] b) => (bool[4000] y) { y = Less(a, b) }"), {"a": a, "b": b})


@pytest.mark.parametrize(("op_type", "kind"), [("Less", "uint64"), ("Greater", "uint64"), ("Equal", "uint64")])
def test_uint64_has_no_exact_comparison_and_is_refused(op_type, kind):
    (blocker,) = blockers_of(model_of(13, table(op_type, kind, 3)))
    assert "uint64" in blocker.reason


def test_strings_are_refused():
    (blocker,) = blockers_of(model_of(19, table("Equal", "string", 3)))
    assert "Equal-7 does not take tensor(string)" in blocker.reason


@pytest.mark.parametrize(("op_type", "version"), read_versions("IsNaN", "IsInf"))
@pytest.mark.parametrize("sides", ["", "<detect_negative=0>", "<detect_positive=0>"])
def test_what_is_no_ordinary_number_is_found(op_type, version, sides):
    call = op_type if op_type == "IsNaN" else f"{op_type}{sides}"
    assert_same(model_of(version, f"g (float[16] x) => (bool[16] y) {{ y = {call}(x) }}"), {"x": AWKWARD})


@pytest.mark.parametrize(("op_type", "version"), read_versions("Sign"))
def test_the_sign_of_a_nan_is_that_nan(op_type, version):
    assert_same(model_of(version, f"g (float[16] x) => (float[16] y) {{ y = {op_type}(x) }}"), {"x": AWKWARD})


@pytest.mark.parametrize("kind", EDGES)
def test_the_sign_of_integers(kind):
    values = np.array(EDGES[kind], kind)
    graph = f"g ({kind}[{values.size}] x) => ({kind}[{values.size}] y) {{ y = Sign(x) }}"
    assert_same(model_of(13, graph), {"x": values})


@pytest.mark.parametrize(("op_type", "version"), read_versions("Round"))
def test_round_is_equal_as_numbers(op_type, version):
    halves = np.arange(-9, 9).astype(np.float32) / 2
    near = np.nextafter(halves, np.float32(100))
    far = np.array([2**22 + 0.5, 2**23 - 0.5, 2**23 + 1, 2**24 + 2, -(2**22) - 1.5], np.float32)
    values = np.concatenate([AWKWARD, halves, near, far, normal(1000) * 100])
    graph = f"g (float[{values.size}] x) => (float[{values.size}] y) {{ y = {op_type}(x) }}"
    assert_same(model_of(version, graph), {"x": values}, bound=0.0)


@pytest.mark.parametrize(("op_type", "version"), read_versions("Mod"))
@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("kind", ["int64", "int32"])
def test_the_rest_of_integers_has_the_right_sign(op_type, version, fmod, kind):
    a, b = np.arange(-9, 10).astype(kind), np.array([-5, -3, -1, 1, 2, 4, 7], kind)[:, None].copy()
    graph = f"g ({kind}[19] a, {kind}[7,1] b) => ({kind}[7,19] y) {{ y = {op_type}<fmod={fmod}>(a, b) }}"
    assert_same(model_of(version, graph), {"a": a, "b": b})
