import numpy as np
import pytest
from opset_pair import assert_same, blockers_of, model_of, normal, read_versions

BRANCHES = """g (bool c, float[N] x) => (float[M] y) {{
    y = {op}(c) <
        then_branch = t () => (float[K] a) <int64[1] ax = {{0}}> {{ u = Unsqueeze(x, ax) a = Squeeze(u, ax) }},
        else_branch = e () => (float[K] b) {{ ax = Constant<value_ints=[0]>() b = ReduceSum<keepdims=1>(x, ax) }}
    >
}}"""


@pytest.mark.parametrize(("op_type", "version"), [pair for pair in read_versions("If") if pair[1] >= 13])
@pytest.mark.parametrize("condition", [True, False])
def test_branches_are_rewritten_with_constants_of_their_own(op_type, version, condition):
    model = model_of(version, BRANCHES.format(op=op_type))
    after = assert_same(model, {"c": np.array(condition), "x": normal(3)})
    assert [len(branch.g.node) for branch in after.graph.node[0].attribute] == [2, 1]


def test_every_blocker_of_every_body_is_reported_outer_first():
    graph = """g (bool c, float[3] x) => (float[3] y, float[3] z) {
        y = If(c) < then_branch = t () => (float[3] a) { a = Sinh(x) },
                    else_branch = e () => (float[3] b) { d = Cosh(x) b = Asinh(d) } >
        z = Atanh(x) }"""
    assert [(b.node, b.op_type) for b in blockers_of(model_of(13, graph))] == [
        ("Atanh#1", "Atanh"),
        ("If(y).then_branch/Sinh#0", "Sinh"),
        ("If(y).else_branch/Cosh#0", "Cosh"),
        ("If(y).else_branch/Asinh#1", "Asinh"),
    ]
