import numpy as np
import pytest
from opset_pair import assert_same, lowered, model_of, normal, operators, read_versions, run

BOUND = 2e-6


@pytest.mark.parametrize(("op_type", "version"), read_versions("LayerNormalization"))
@pytest.mark.parametrize("axis", [1, 2, -1, 0])
def test_layer_normalization_within_its_bound(op_type, version, axis):
    shape = (2, 3, 8)[axis:] if axis >= 0 else (8,)
    sizes = ",".join(map(str, shape))
    inputs, statistics = f"float[2,3,8] x, float[{sizes}] s, float[{sizes}] b", "float[A,B,C] m, float[D,E,F] d"
    graph = f"""g ({inputs}) => (float[2,3,8] y, {statistics})
        {{ y, m, d = {op_type}<axis={axis}, epsilon=0.001>(x, s, b) }}"""
    for scale, offset in ((1, 0), (3, 1), (100, -50)):
        x = normal(2, 3, 8) * np.float32(scale) + np.float32(offset)
        feeds = {"x": x, "s": normal(*shape), "b": normal(*shape, seed=3)}
        assert_same(model_of(version, graph), feeds, bound=BOUND)


def test_layer_normalization_of_float16_computes_in_float32():
    graph = "g (float16[2,8] x, float16[8] s) => (float16[2,8] y) { y = LayerNormalization(x, s) }"
    model = model_of(17, graph)
    feeds = {"x": normal(2, 8, dtype=np.float16), "s": normal(8, dtype=np.float16)}
    after, result = lowered(model)
    assert result.steps[-1].error.bound == 2e-3
    expected, found = run(model, feeds)[0].astype(np.float64), run(after, feeds)[0].astype(np.float64)
    assert np.abs(expected - found).max() <= 2e-3 * np.abs(expected).max()


def test_group_normalization_18_scales_each_group():
    # onnx.checker calls version 18 deprecated, and onnxruntime has no kernel: version 21 is the measure.
    graph = """g (float[2,6,4] x, float[{n}] s, float[{n}] b) => (float[2,6,4] y)
        {{ y = GroupNormalization<num_groups=3>(x, s, b) }}"""
    x, s, b = normal(2, 6, 4), normal(3), normal(3, seed=1)
    expected = run(model_of(21, graph.format(n=6)), {"x": x, "s": s.repeat(2), "b": b.repeat(2)})[0]
    after, _ = lowered(model_of(18, graph.format(n=3)))
    assert np.abs(run(after, {"x": x, "s": s, "b": b})[0] - expected).max() <= BOUND * np.abs(expected).max()


@pytest.mark.parametrize(("op_type", "version"), read_versions("MeanVarianceNormalization"))
def test_mean_variance_normalization_within_its_bound(op_type, version):
    for axes in ("", "<axes=[0,1,-1]>"):
        graph = f"g (float[2,3,4,5] x) => (float[2,3,4,5] y) {{ y = {op_type}{axes}(x) }}"
        model, feeds = model_of(version, graph), {"x": normal(2, 3, 4, 5) * 3 + 1}
        after, _ = lowered(model)  # not assert_same: onnx 1.23 rejects the function body of the original
        expected, found = run(model, feeds)[0], run(after, feeds)[0]
        assert np.abs(expected - found).max() <= BOUND * np.abs(expected).max()
        assert "ReduceMean" in operators(after)
