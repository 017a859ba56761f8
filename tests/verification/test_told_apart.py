"""Models that differ are told apart, whatever the seed; models that mean the same are not."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx_text import document, model

import resizefix
from resizefix.verification.signatures import Feeding
from resizefix.verification.verification import Conditions, Verification, VerificationStatus
from resizefix.verification.verify import verify

SEEDS = st.integers(0, 2**31)


def verified(before: str, after: str, seed: int = 0, opset: int = 18) -> Verification:
    return verify(document(before, opset), document(after, opset), Conditions(seed=seed), feeding=Feeding(runs=None))


# ---- the laws: each would have found a pair that was called the same ----

# No two compute the same on every number; each is told from each by its sign, its size or a tie.
UNARY = ("Identity", "Abs", "Neg", "Relu", "Sign", "Floor", "Ceil", "Round", "HardSwish", "HardSigmoid", "Softsign")


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from([*itertools.combinations(UNARY, 2)]), st.integers(0, 9), st.booleans())
def test_operators_are_told_apart_on_vectors_of_any_length(seed, operators, length, beside_an_image):
    shape = f"[{length}]" if length else ""
    image, output = (", float[1,3,8,8] i", ", float[1,3,8,8] o") if beside_an_image else ("", "")
    more = "o = Neg(i)" if beside_an_image else ""
    before, after = (f"(float{shape} x{image}) => (y{output}) {{ y = {one}(x) {more} }}" for one in operators)
    assert not verified(before, after, seed).passed


KINDS = {
    "float": TensorProto.FLOAT,
    "double": TensorProto.DOUBLE,
    "int64": TensorProto.INT64,
    "int32": TensorProto.INT32,
    "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
    "float16": TensorProto.FLOAT16,
    "int8": TensorProto.INT8,
}


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from(sorted(KINDS)), st.lists(st.integers(1, 3), max_size=3), st.integers(0, 2))
def test_an_input_that_is_ignored_is_seen_whatever_constant_stands_in_its_place(seed, kind, shape, usual):
    array = np.full(shape, usual, helper.tensor_dtype_to_np_dtype(KINDS[kind]))

    def reading(name: str) -> ModelProto:
        inputs = [helper.make_tensor_value_info("x", KINDS[kind], shape)]
        outputs = [helper.make_tensor_value_info("y", KINDS[kind], shape)]
        nodes = [helper.make_node("Identity", [name], ["y"])]
        graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(array, "usual")])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)

    assert not resizefix.verify(reading("x"), reading("usual"), seed=seed).passed


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.floats(-1e4, 1e4, width=32), st.floats(0.015625, 1e3, width=32), st.floats(-100, 100, width=32),
       st.sampled_from(["Max", "Min", "Greater", "LessOrEqual"]))  # fmt: skip
def test_a_limit_that_a_node_names_is_seen_behind_a_scale_and_an_offset(seed, limit, scale, offset, operator):
    text = """(float[3] x) => (y) <float k = {%s}, float a = {%s}, float b = {%s}> {
        s = Mul(x, a) t = Add(s, b) y = %s(t, k) }"""
    further = limit + 0.1 * abs(limit) + 1
    before, after = (text % (float(one), float(scale), float(offset), operator) for one in (limit, further))
    assert not verified(before, after, seed).passed


BRANCHES = """(float[2] x, float c) => (y) <float k = {%s}> {
    p = Greater(c, k)
    y = If(p) <then_branch = t () => (float[2] u) { u = %s(x) }, else_branch = e () => (float[2] v) { v = %s(x) }> }"""


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.floats(-1e3, 1e3, width=32), st.booleans(), st.booleans())
def test_both_branches_are_compared_whatever_decides_between_them(seed, limit, other_then, other_else):
    before = BRANCHES % (float(limit), "Neg", "Neg")
    after = BRANCHES % (float(limit), "Abs" if other_then else "Neg", "Abs" if other_else else "Neg")
    found = verified(before, after, seed)
    assert found.passed == (not other_then and not other_else)
    assert found.reason is None or not found.passed


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.floats(-20, 20, width=32))
def test_a_condition_that_is_another_one_is_seen_at_its_border(seed, limit):
    text = """(float[5] x) => (y) <float k = {%s}> {
        sum = ReduceSum<keepdims = 0>(x) p = Less(sum, k)
        y = If(p) <then_branch = t () => (float[5] u) { u = Neg(x) }, else_branch = e () => (float[5] v) { v = Exp(x) }>
    }"""
    assert not verified(text % float(limit), text % float(limit + 0.5), seed).passed


# What cuts or compares an open size: each with one number, at whatever size that matters.
CUTTING = (
    "y = Slice(x, zero, k, zero)",
    "y = Slice(x, k, last, zero) z = Identity(x)",
    "y, i = TopK<axis = 0>(x, k)",
    "y = Gather(x, k)",
    "s = Shape(x) n = Squeeze(s) r = Range(nought, n, unit) m = Less(r, k) y = Where(m, x, half)",
    "s = Shape(x) p = Greater(s, k) q = Squeeze(p) "
    "y = If(q) <then_branch = a () => (u) { u = Neg(x) }, else_branch = b () => (v) { v = Abs(x) }>",
    "y = Pad<mode = 'reflect'>(x, pads)",
    "s = Shape(x) m = Min(s, k) f = Cast<to = 1>(m) y = Mul(x, f)",
)
CUT = """(float[n] x) => (y) <int64[1] k = {%d}, int64[2] pads = {%d, 0}, int64[1] zero = {0}, int64 nought = {0},
    int64 unit = {1}, float half = {0.5}, int64[1] last = {9223372036854775807}> { %s }"""


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(1, 3000), st.integers(1, 40), st.sampled_from(CUTTING))
@example(0, 5, 1, CUTTING[4])
@example(1, 12, 1, CUTTING[4])
def test_a_number_that_cuts_an_open_size_or_is_compared_with_one_is_seen(seed, number, more, nodes):
    before, after = (CUT % (one, one, nodes.replace("'", '"')) for one in (number, number + more))
    assert not verified(before, after, seed).passed


# Both inputs must be beyond a limit at once, or all elements of one.
AT_ONCE = (
    "m = Max(x, k) y = Max(m, w)",
    "m = Max(x, k) o = Max(w, k) y = Add(m, o)",
    "p = Less(x, k) q = Less(w, k) b = And(p, q) y = Where(b, x, k2)",
    "m = Clip(x, k) y = Max(m, w)",
    "m = ReduceMax<keepdims = 0>(x) p = Greater(m, k) "
    "y = If(p) <then_branch = a () => (u) { u = Neg(w) }, else_branch = b () => (v) { v = Mul(w, k2) }>",
)
PASSED_AT_ONCE = "(float[%d] x, float[%d] w) => (y) <float k = {%s}, float k2 = {%s}> { %s }"


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.integers(-1000, -20), st.integers(1, 6), st.sampled_from(AT_ONCE))
def test_a_limit_that_all_numbers_must_pass_at_once_is_seen(seed, limit, length, nodes):
    before = PASSED_AT_ONCE % (length, length, float(limit), float(limit), nodes)
    after = PASSED_AT_ONCE % (length, length, float(limit) * 1.5, float(limit) * 1.5, nodes)
    assert not verified(before, after, seed).passed


ALIKE = (
    *(f"(float[3] x, float[1,3,8,8] i) => (y, o) {{ y = {one}(x) o = Neg(i) }}" for one in UNARY),
    *(CUT % (number, number, nodes.replace("'", '"')) for number, nodes in enumerate(CUTTING, 37)),
    *(PASSED_AT_ONCE % (2, 2, -50.0, -50.0, nodes) for nodes in AT_ONCE),
)


@pytest.mark.parametrize("text", ALIKE)
def test_a_model_of_these_is_no_other_one_than_itself(text):
    found = verified(text, text, seed=len(text))
    assert found.passed, found.reason


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.floats(0.015625, 8, width=32), st.integers(0, 255), st.sampled_from(["scale", "zero", "type"]))
def test_a_quantisation_is_seen_where_it_saturates_and_about_its_zeros(seed, scale, zero, other):
    text = """(float[3] x) => (y) <float s = {%s}, %s z = {%d}> {
        q = QuantizeLinear(x, s, z) f = Cast<to = 1>(q) y = Cast<to = 9>(f) }"""
    before = text % (float(scale), "uint8", zero)
    changed = {"scale": (float(scale) * 1.1, "uint8", zero), "zero": (float(scale), "uint8", (zero + 1) % 256)}
    after = text % changed.get(other, (float(scale), "int8", zero - 128))
    if (zero, other) in ((0, "scale"), (0, "type")):  # both clip at the same number then
        return
    assert not verified(before, after, seed).passed


@settings(max_examples=20, deadline=None)
@given(SEEDS, st.integers(0, 12), st.booleans())
def test_a_model_that_refuses_the_usual_feeds_is_fed_others(seed, position, is_sequence):
    taken = f"(seq(float[2]) x) => (y) <int64 i = {{{position}}}> {{ y = SequenceAt(x, i) }}"
    cut = f"(float[n] x) => (y) <int64 i = {{{50 * position}}}> {{ y = Gather(x, i) }}"
    found = verified(*[taken if is_sequence else cut] * 2, seed=seed)
    assert found.passed, found.reason


UNREACHED = """(float[2] x) => (y) <float k = {%s}> {
    h = Exp(x) g = Neg(h) s = ReduceMax<keepdims = 0>(g) p = Greater(s, k)
    y = If(p) <then_branch = t () => (float[2] u) { u = %s(x) }, else_branch = e () => (float[2] v) { v = Neg(x) }> }"""


def test_a_branch_that_nothing_reaches_is_no_yes_unless_both_models_hold_the_same():
    before, other = (UNREACHED % (5.0, operator) for operator in ("Abs", "Floor"))
    found = verified(before, other)
    assert found.status is VerificationStatus.UNREFUTED
    assert not found.passed
    assert "If_" in found.reason or "y" in found.reason
    assert verified(before, before).status is VerificationStatus.PASSED
    assert verified(before, UNREACHED % (6.0, "Abs")).status is VerificationStatus.UNREFUTED


# ---- what has no number to compare ----


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "(float[2] a) => (seq(float[2]) y, z) { y = SequenceEmpty() z = Abs(a) }",
            "(float[2] a) => (seq(int64[2]) y, z) { y = SequenceEmpty<dtype = 7>() z = Abs(a) }",
            "'y' is a seq(tensor(float)) in BEFORE and a seq(tensor(int64)) in AFTER.",
        ),
        (
            "(float[2] a) => (optional(float[2]) y) { y = Optional(a) }",
            "(float[2] a) => (float[2] y) { y = Identity(a) }",
            "'y' is a optional(tensor(float)) in BEFORE and a tensor(float) in AFTER.",
        ),
    ],
)
def test_declared_types_are_compared_also_where_nothing_is_in_them(before, after, said):
    assert verified(before, after).reason == said


# ---- what only a value that is rare tells apart ----

COMPUTED = "(float[3] x) => (y) <float h = {%s}, float k = {2.0}> { t = Mul(h, k) y = Min(x, t) }"
DELIMITER = "(string[2] x) => (y, n) { y, n = StringSplit<delimiter = %s>(x) }"
GREATER = "(int64[2] x) => (y) <int64 h = {%d}> { y = Greater(x, h) }"
LENGTH = "(seq(float[2]) x) => (y) <int64 k = {%d}> { n = SequenceLength(x) y = Min(n, k) }"
NARROWED = "(int64[2] x) => (y) { t = Cast<to = %d>(x) y = Cast<to = 7>(t) }"
PATTERN = "(string[2] x) => (y) { y = RegexFullMatch<pattern = %s>(x) }"
WEIGHTED = """(float[1,2] x) => (y) <float h = {%s}, float[2,3] w = {0.01, -0.02, 0.01, 0.02, -0.01, 0.03}> {
    t = MatMul(x, w) y = Min(t, h) }"""
SIZES = "(float[1,3,h,w] x, int64[4] s) => (y) { y = Resize<mode = %s, coordinate_transformation_mode = %s>(x, , , s) }"
VAST = "(float[3] x) => (y) <float l = {-%s}, float h = {%s}> { y = Clip(x, l, h) }"
AT_NONE = """(float[n] x) => (y) <int64[1] none = {0}> { %s
    y = If(p) <then_branch = t () => (float[?] u) { u = Constant<value_floats = [%d.0]>() },
               else_branch = e () => (float[?] v) { v = Identity(x) }> }"""
LENGTHS, NUMBERS = "s = Shape(x) p = Equal(s, none)", "s = Size(x) q = Cast<to = 9>(s) p = Not(q)"
RARE = (
    ("(float[3] x) => (y) { y = Abs(x) }", "(float[3] x) => (y) { s = Mul(x, x) y = Sqrt(s) }"),  # beyond 1e19
    (VAST % ("3e30", "3e30"), VAST % ("2e30", "2e30")),
    (SIZES % ('"linear"', '"half_pixel"'), SIZES % ('"linear"', '"pytorch_half_pixel"')),  # at a size of 1
    (NARROWED % TensorProto.INT64, NARROWED % TensorProto.DOUBLE),
    (COMPUTED % 500.0, COMPUTED % 700.0),
    (DELIMITER % '","', DELIMITER % '";"'),
    (DELIMITER % '",", maxsplit = 1', DELIMITER % '",", maxsplit = 2'),
    (GREATER % 10**12, GREATER % (2 * 10**12)),
    (GREATER % (2**62 + 5), GREATER % (2**62 + 6)),
    (GREATER % (2**63 - 2), GREATER % (2**63 - 1)),
    (GREATER.replace("int64", "uint64") % (2**63 + 5), GREATER.replace("int64", "uint64") % (2**63 + 6)),
    (AT_NONE % (LENGTHS, 1), AT_NONE % (LENGTHS, 2)),
    (
        AT_NONE % (NUMBERS, 1),
        AT_NONE % (NUMBERS, 2),
    ),
    (LENGTH % 3, LENGTH % 6),
    (NARROWED % TensorProto.INT64, NARROWED % TensorProto.INT32),
    (NARROWED % TensorProto.INT64, NARROWED % TensorProto.FLOAT),
    (NARROWED % TensorProto.INT32, NARROWED % TensorProto.INT16),
    (PATTERN % '"[a-z]+"', PATTERN % '"[a-y]+"'),
    (WEIGHTED % 10.0, WEIGHTED % 12.0),
)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("before", "after"), RARE)
@pytest.mark.parametrize("seed", range(3))
def test_rare_values_that_the_model_names_are_tried(before, after, seed):
    assert not verified(before, after, seed, 20).passed
    assert verified(before, before, seed, 20).passed


@pytest.mark.parametrize(("threshold", "leaf"), [(123.0, 3.0), (100.0, 2.0)])
def test_thresholds_of_trees_are_tried(threshold, leaf):
    before, after = (_tree(*one) for one in ((123.0, 2.0), (threshold, leaf)))
    assert not resizefix.verify(before, after).passed
    assert resizefix.verify(before, before).passed


def _tree(threshold: float, leaf: float) -> ModelProto:
    names = ("nodes_treeids", "nodes_featureids")
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, nodes_nodeids=[0, 1, 2],
        nodes_values=[threshold, 0.0, 0.0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0],
        target_weights=[1.0, leaf], **{name: [0, 0, 0] for name in names},
    )  # fmt: skip
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size]) for name, size in (("x", 2), ("y", 1)))
    graph = helper.make_graph([node], "g", [x], [y])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


# ---- what did not run is named ----

NEVER = BRANCHES.replace("Greater(c, k)", "n = IsNaN(c)").replace("p = n = IsNaN(c)", "p = IsNaN(c)")


def test_a_branch_that_no_feed_reaches_is_named():
    found = verified(NEVER % (0.0, "Neg", "Abs"), NEVER % (0.0, "Neg", "Abs"))
    assert found.passed
    assert found.reason == "not compared: 'If(y).then_branch', which ran on no feed that was tried"


def test_a_branch_that_only_the_model_after_has_is_looked_for():
    before = "(float[2] x, float c) => (y) { y = Neg(x) }"
    assert not verified(before, BRANCHES % (700.0, "Abs", "Neg")).passed
    assert verified(before, BRANCHES % (700.0, "Neg", "Neg")).passed


# ---- what means the same ----

SAME = (
    ("(float[n,3] x) => (y) { y = Neg(x) }", "(float[n,3] x) => (y) { a = Identity(x) y = Neg(a) }"),
    (
        "(float[2] x, bool c) => (y) { y = Neg(x) }",
        """(float[2] x, bool c) => (y) {
        y = If(c) <then_branch = t () => (float[2] u) { u = Neg(x) }, else_branch = e () => (float[2] v) { v = Neg(x) }>
        }""",
    ),
    (
        "(int64[2] x) => (y) <int64 k = {7}> { y = Mod(x, k) }",
        "(int64[2] x) => (y) { k = Constant<value_int = 7>() y = Mod(x, k) }",
    ),
    ("(string[2] x) => (y) { y = Identity(x) }", "(string[2] x) => (y) { a = Identity(x) y = Identity(a) }"),
)


@pytest.mark.parametrize(("before", "after"), SAME)
@pytest.mark.parametrize("seed", range(3))
def test_models_that_mean_the_same_pass(before, after, seed):
    assert verified(before, after, seed).passed


def test_the_pairs_that_were_called_the_same_are_told_apart_with_the_options_as_they_are():
    gain = "(float[1,3,8,8] x, float[1] gain) => (y) { y = Mul(x, gain) }"
    two = "(float[1,3,8,8] x, float[1] gain) => (y) <float[1] two = {2.0}> { y = Mul(x, two) }"
    for seed in range(4):
        assert not resizefix.verify(model(gain, 19), model(two, 19), seed=seed).passed
