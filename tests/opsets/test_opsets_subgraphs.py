import numpy as np
import pytest
from opset_pair import assert_same, blockers_of, model_of, normal, operators, read_versions

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


def test_branches_of_11():
    graph = """g (bool c, float[2,3] x) => (float[2,3] y) {
        y = If(c) < then_branch = t () => (float[2,3] a) { a = Softmax<axis=-1>(x) },
                    else_branch = e () => (float[2,3] b) { b = Clip(x) } > }"""
    assert_same(model_of(11, graph), {"c": np.array(True), "x": normal(2, 3)})


def test_a_constant_of_one_name_in_two_branches_has_two_values():
    graph = """g (bool c, float[2] x) => (float[2] y) {
        y = If(c) < then_branch = t () => (float[2] a) <float k = {2}> { a = Mul(x, k) },
                    else_branch = e () => (float[2] b) <float k = {3}> { b = Mul(x, k) } > }"""
    for condition in (True, False):
        assert_same(model_of(13, graph), {"c": np.array(condition), "x": normal(2)})


def test_a_branch_that_is_a_constant():
    graph = """g (bool c, float[2] x) => (float[2] y) {
        y = If(c) < then_branch = t () => (float[2] a) { a = Constant<value_floats=[1.0, 2.0]>() },
                    else_branch = e () => (float[2] b) <float[2] b = {3, 4}> { } > }"""
    for condition in (True, False):
        assert_same(model_of(13, graph), {"c": np.array(condition), "x": normal(2)})


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


@pytest.mark.parametrize(("op_type", "version"), [pair for pair in read_versions("Loop") if pair[1] >= 13])
def test_a_loop_carries_on(op_type, version):
    graph = f"""g (int64 n, bool c, float[3] x) => (float[3] y, float[T,1,3] s) {{
        y, s = {op_type}(n, c, x) <body = b (int64 i, bool ci, float[3] v) => (bool co, float[3] w, float[1,3] o)
            <int64[1] ax = {{0}}> {{ co = Identity(ci) w = Add(v, x) o = Unsqueeze(w, ax) }}> }}"""
    assert_same(model_of(version, graph), {"n": np.array(3), "c": np.array(True), "x": normal(3)})


def test_a_loop_of_11():
    graph = """g (int64 n, bool c, float[2,3] x) => (float[2,3] y) {
        y = Loop(n, c, x) <body = b (int64 i, bool ci, float[2,3] v) => (bool co, float[2,3] w)
            { co = Identity(ci) s = Softmax<axis=-1>(v) w = Clip(s) }> }"""
    assert_same(model_of(11, graph), {"n": np.array(3), "c": np.array(True), "x": normal(2, 3)})


@pytest.mark.parametrize(("op_type", "version"), read_versions("Scan"))
@pytest.mark.parametrize("direction", ["", "scan_input_directions=[1], "])
def test_a_scan_becomes_a_batch_of_one(op_type, version, direction):
    graph = f"""g (float[3] h, float[T,3] x) => (float[3] y, float[T,3] s) {{
        y, s = {op_type} <num_scan_inputs=1, {direction}body = b (float[3] v, float[3] e) => (float[3] w, float[3] o)
            {{ w = Add(v, e) o = Identity(w) }}> (h, x) }}"""
    after = assert_same(model_of(version, graph), {"h": normal(3), "x": normal(4, 3)})
    assert operators(after) == ["Unsqueeze", "Unsqueeze", "Scan", "Squeeze", "Squeeze"]


@pytest.mark.parametrize("attribute", ["scan_input_axes=[1]", "scan_output_axes=[1]", "scan_output_directions=[1]"])
def test_a_scan_of_another_axis_or_order_is_refused(attribute):
    graph = f"""g (float[3] h, float[3,3] x) => (float[3] y, float[3,3] s) {{
        y, s = Scan <num_scan_inputs=1, {attribute}, body = b (float[3] v, float[3] e) => (float[3] w, float[3] o)
            {{ w = Add(v, e) o = Identity(w) }}> (h, x) }}"""
    (blocker,) = blockers_of(model_of(11, graph))
    assert blocker.reason == "Scan-8 only scans axis 0 and only appends"
