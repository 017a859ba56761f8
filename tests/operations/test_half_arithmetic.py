"""Sizes and scales that are computed in half precision, against exact arithmetic below and above what it holds."""

from fractions import Fraction
from functools import cache
from math import floor

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from ort_runs import run
from resize_texts import resizing, statuses

import resizefix
from resizefix.document.document import Document
from resizefix.faults.table import faults_in
from resizefix.outcome import Status
from resizefix.shapes.stored_shapes import ModelView

HALF, BRAIN = onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16
TAIL = "kept = Slice (shape, zero, two)"
HEAD = "shape = Shape (x) image = Slice (shape, two, four) real = Cast <to = 10> (image)"
HELD = "int64[1] zero = {0}, int64[1] two = {2}, int64[1] four = {4}"
SIZED = f"{TAIL} sizes = Concat <axis = 0> (kept, last) y = Resize (x, , , sizes)"
OPEN = "float[1,1,1,w] x"

# How the length follows from that of x: the nodes, the constant (ONNX text wants its bits), and the exact length.
FORMS = {
    "doubled": (
        f"{HEAD} t = Mul (real, f) last = Cast <to = 7> (t) {SIZED}", "float16[1] f = {16384}",
        lambda n: 2 * n,
    ),
    "floored": (
        f"{HEAD} t = Mul (real, f) u = Floor (t) last = Cast <to = 7> (u) {SIZED}", "float16[1] f = {16896}",
        lambda n: 3 * n,
    ),
    "one more": (
        f"{HEAD} t = Add (real, f) last = Cast <to = 7> (t) {SIZED}", "float16[1] f = {15360}",
        lambda n: n + 1,
    ),
    "halved": (
        f"{HEAD} t = Div (real, f) u = Ceil (t) last = Cast <to = 7> (u) {SIZED}", "float16[1] f = {16384}",
        lambda n: -(-n // 2),
    ),
    "times 1.5": (
        f"{HEAD} t = Mul (real, f) u = Floor (t) last = Cast <to = 7> (u) {SIZED}", "float16[1] f = {15872}",
        lambda n: floor(Fraction(3, 2) * n),
    ),
    "behind int32": (
        f"{HEAD} t = Mul (real, f) i = Cast <to = 6> (t) last = Cast <to = 7> (i) {SIZED}", "float16[1] f = {16384}",
        lambda n: 2 * n,
    ),
}  # fmt: skip


def arithmetic(name: str, x: str = OPEN) -> ModelProto:
    """The height is 1, and grows as the width does."""
    nodes, constant, _ = FORMS[name]
    return resizing(nodes, f"{HELD}, {constant}", x)


def line(length: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(length).random((1, 1, 1, length), np.float32)}


def made_by(model: ModelProto, length: int) -> np.ndarray:
    return run(model, line(length))[0]


@cache
def repaired(name: str) -> resizefix.Result[ModelProto]:
    return resizefix.repair(arithmetic(name), shape={"x": (1, 1, 1, 20)})


@pytest.mark.parametrize("name", FORMS)
def test_sizes_that_are_computed_in_half_precision_are_named_and_computed_exactly(name):
    result = repaired(name)
    assert statuses(result) == [Status.CHANGED]
    assert result.outcomes[0].fault == "half-arithmetic"
    assert result.verification.passed
    kinds = {tensor.data_type for tensor in result.model.graph.initializer}
    casts = {attribute.i for node in result.model.graph.node if node.op_type == "Cast" for attribute in node.attribute}
    assert HALF not in kinds | casts


def in_half(model: ModelProto, length: int) -> int:
    """The length by true arithmetic in half precision; onnxruntime computes Mul and its like in float32."""
    chain = ModelProto.FromString(model.SerializeToString())
    del chain.graph.node[-1], chain.graph.output[:]
    chain.graph.output.append(onnx.helper.make_tensor_value_info("sizes", onnx.TensorProto.INT64, [4]))
    return int(ReferenceEvaluator(chain).run(None, line(length))[0][3])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(FORMS)), st.integers(1, 2048) | st.integers(2049, 9000))
def test_repaired_sizes_are_exact_at_every_length_and_bitwise_as_before_where_half_precision_is_right(name, length):
    broken, exact = arithmetic(name), FORMS[name][2](length)
    half, after = in_half(broken, length), made_by(repaired(name).model, length)
    assert after.shape[3] == exact
    if half == exact:
        assert np.array_equal(made_by(broken, length), after)
    assert half == exact or max(length, exact) > 1024  # from where on half precision holds no fraction


def test_the_law_meets_lengths_at_which_half_precision_is_wrong():
    wrong = {name for name in FORMS if in_half(arithmetic(name), 4097) != FORMS[name][2](4097)}
    assert wrong == FORMS.keys()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3000), st.integers(1, 4))
def test_scales_that_are_quotients_of_sizes_become_those_of_float32(length, factor):
    nodes = (
        "shape = Shape (x) image = Slice (shape, two, four) more = Mul (image, k) a = Cast <to = 10> (more) "
        "b = Cast <to = 10> (image) q = Div (a, b) r = Cast <to = 1> (q) s = Concat <axis = 0> (ones, r) "
        "y = Resize (x, , s)"
    )
    held = f"{HELD}, int64[1] k = {{{factor}}}, float[2] ones = {{1, 1}}"
    result = resizefix.repair(resizing(nodes, held, OPEN), shape={"x": (1, 1, 1, 20)})
    in_float32 = resizing(nodes.replace("to = 10", "to = 1"), held, OPEN)
    assert np.array_equal(made_by(result.model, length), made_by(in_float32, length))
    assert made_by(result.model, length).shape[3] == factor * length


def test_sizes_that_the_file_fixes_are_a_fault_only_where_half_precision_is_wrong():
    def names(length: int) -> list[str]:
        model = arithmetic("doubled", f"float[1,1,1,{length}] x")
        return [fault.name for fault in faults_in(ModelView(Document.from_proto(model)))[0]]

    assert names(1024) == []
    assert names(2051) == ["half-arithmetic"]


def test_bfloat16_is_wrong_from_257_on_and_computed_in_int64():
    nodes = f"{HEAD} last = Cast <to = 7> (real) {SIZED}".replace("to = 10", "to = 16")
    model = resizing(nodes, HELD, OPEN)
    assert made_by(model, 257).shape[3] == 256
    result = resizefix.repair(model, shape={"x": (1, 1, 1, 20)})
    for length in (20, 256, 257, 5001):
        assert made_by(result.model, length).shape[3] == length
    assert "above 256" in str(result.outcomes[0].reason)


def test_an_operator_that_is_not_rewritten_is_refused_by_name():
    nodes = f"{HEAD} t = Sqrt (real) last = Cast <to = 7> (t) {SIZED}"
    result = resizefix.repair(resizing(nodes, HELD, OPEN), on_refusal="return")
    assert statuses(result) == [Status.REFUSED]
    assert "Sqrt 't'" in str(result.outcomes[0].reason)


@pytest.mark.parametrize("x", ["float[1,1,1,w] x, float16[1] f", "float16[1,1,1,w] x"])
def test_numbers_that_are_fed_or_computed_of_data_are_no_fault(x):
    held = HELD if "float16[1] f" in x else f"{HELD}, float16[1] f = {{16384}}"
    source = "t = Mul (real, f)" if "float16[1] f" in x else "t = ReduceMax <keepdims = 0> (x) real = Reshape (t, one)"
    if "ReduceMax" in source:
        nodes = f"shape = Shape (x) {source} u = Mul (real, f) last2 = Cast <to = 7> (u) {TAIL} "
        nodes += (
            "last = Concat <axis = 0> (one, last2) sizes = Concat <axis = 0> (kept, last) y = Resize (x, , , sizes)"
        )
        held += ", int64[1] one = {1}"
        model = resizing(nodes, held, x, "float16[?,?,?,?] y")
    else:
        model = resizing(f"{HEAD} {source} last = Cast <to = 7> (t) {SIZED}", held, x)
    assert [fault.name for fault in faults_in(ModelView(Document.from_proto(model)))[0]] == []


def test_what_else_reads_the_old_arithmetic_keeps_it():
    nodes, constant, _ = FORMS["doubled"]
    model = resizing(f"{nodes} z = Identity (t)", f"{HELD}, {constant}", OPEN, "float[?,?,?,?] y, float16[2] z")
    repaired = resizefix.repair(model, shape={"x": (1, 1, 1, 20)}).model
    assert repaired.graph.output[1].type.tensor_type.elem_type == HALF
    assert run(repaired, line(30))[1].dtype == np.float16
