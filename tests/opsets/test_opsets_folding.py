import numpy as np
from opset_pair import lowered, model_of, normal, operators, run, same_bits


def test_a_default_that_may_be_overridden_is_not_folded():
    graph = """g (float[2] x, int64[2] s) => (float[1,2] y) <int64[2] s = {1,2}>
        { t = Neg(s) u = Neg(t) y = Reshape(x, u) }"""
    model, feeds = model_of(13, graph), {"x": normal(2), "s": np.array([2, 1])}
    after, _ = lowered(model)
    assert operators(after) == ["Neg", "Neg", "Reshape"]
    assert same_bits(run(model, feeds)[0], run(after, feeds)[0])


def test_a_chain_from_a_fixed_shape_is_folded_though_one_shape_waits_for_another():
    graph = """g (float[2,3,4] x) => (float[8,3] y) <int64 two = {2}, int64[1] three = {3}, int64[1] ax = {0}>
        { s = Shape(x) h = Gather(s, two) d = Mul(h, two) u = Unsqueeze(d, ax) t = Concat<axis=0>(u, three)
          r = Reshape(x, t) n = Shape(r) y = Reshape(r, n) }"""
    after, result = lowered(model_of(13, graph))
    assert operators(after) == ["Reshape", "Reshape"]
    assert len(result.steps) == 6
    assert {tensor.name for tensor in after.graph.initializer} == {"t", "n"}
