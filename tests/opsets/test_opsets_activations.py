import math

import numpy as np
import pytest
from opset_pair import AWKWARD, assert_same, blockers_of, model_of, normal, operators, read_versions, run

from resizefix.opsets.table import DOWN

# Dense over the range in which these functions bend, and over all magnitudes.
WIDE = np.concatenate(
    [np.linspace(-12, 12, 60001), np.logspace(-30, 30, 2001), -np.logspace(-30, 30, 2001), AWKWARD]
).astype(np.float32)


@pytest.mark.parametrize(("op_type", "version"), read_versions("Softmax", "LogSoftmax", "Hardmax"))
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_softmax_along_any_axis(op_type, version, axis):
    graph = f"g (float[2,3,4] x) => (float[2,3,4] y) {{ y = {op_type}<axis={axis}>(x) }}"
    after = assert_same(model_of(version, graph), {"x": normal(2, 3, 4)})
    moved = version >= 13 and axis in (0, 1)
    assert operators(after) == (["Transpose", op_type, "Transpose"] if moved else [op_type])


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
def test_the_default_axis_is_the_last_since_13_and_the_second_before(op_type):
    graph = f"g (float[2,3,4] x) => (float[2,3,4] y) {{ y = {op_type}(x) }}"
    assert assert_same(model_of(13, graph), {"x": normal(2, 3, 4)}).graph.node[0].attribute[0].i == 2
    assert assert_same(model_of(11, graph), {"x": normal(2, 3, 4)}).graph.node[0].attribute[0].i == 1


def test_softmax_along_the_last_of_an_unknown_number_of_axes_is_refused():
    model = model_of(13, "g (float[2] x) => (float[2] y) { y = Softmax(x) }")
    model.graph.input[0].type.tensor_type.ClearField("shape")
    (blocker,) = blockers_of(model)
    assert blocker.reason == "the rank of 'x' is unknown"


@pytest.mark.parametrize(("op_type", "version"), read_versions("HardSwish"))
def test_hard_swish_keeps_its_bits(op_type, version):
    count = WIDE.size
    graph = f"g (float[{count}] x) => (float[{count}] y) {{ y = {op_type}(x) }}"
    assert operators(assert_same(model_of(version, graph), {"x": WIDE})) == ["HardSigmoid", "Mul"]


CURVED = {
    "Mish": ["Mish"],
    "Celu": ["Celu", "Celu<alpha=0.7>", "Celu<alpha=3.0>"],
    "Swish": ["Swish", "Swish<alpha=1.3>"],
    "Erf": ["Erf"],
    "Gelu": ["Gelu", 'Gelu<approximate="tanh">'],
}


@pytest.mark.parametrize(
    ("op_type", "version", "spelling"),
    [(op, version, spelling) for op, version in read_versions(*CURVED) for spelling in CURVED[op]],
)
def test_a_curve_stays_within_its_bound_at_every_magnitude(op_type, version, spelling):
    bound = DOWN[op_type].error.bound
    # Each input on its own row of one: the bound is relative to the largest output, and 1e30 would excuse all others.
    for part in (WIDE[np.abs(WIDE) <= 1], WIDE[(np.abs(WIDE) > 1) & (np.abs(WIDE) <= 12)], WIDE[~(np.abs(WIDE) <= 12)]):
        graph = f"g (float[{part.size}] x) => (float[{part.size}] y) {{ y = {spelling}(x) }}"
        assert_same(model_of(version, graph), {"x": part}, bound=bound)


def test_gelu_far_below_zero_is_zero():
    graph = "g (float[3] x) => (float[3] y) { y = Gelu(x) }"
    after = assert_same(model_of(20, graph), {"x": np.array([-10, -100, -1e30], np.float32)}, bound=1e-9)
    assert not run(after, {"x": np.array([-10, -100, -1e30], np.float32)})[0].any()


def test_erf_is_erf_to_four_units_in_the_last_place_of_1():
    x = np.linspace(-5, 5, 100001).astype(np.float32)
    after = assert_same(
        model_of(13, f"g (float[{x.size}] x) => (float[{x.size}] y) {{ y = Erf(x) }}"), {"x": x}, bound=6e-7
    )
    exact = np.array([math.erf(float(value)) for value in x])
    assert np.abs(run(after, {"x": x})[0] - exact).max() <= 4e-7
