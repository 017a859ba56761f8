"""Every row against onnxruntime: the same node, fed the same numbers."""

import numpy as np
import onnx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import NodeProto, helper

from resizefix.document.document import Document
from resizefix.origins.expression import UntraceableError
from resizefix.origins.operators import ROWS, Call, Traced, apply
from resizefix.runtimes.ort_session import open_session

V = np.array([1, 3, 20, 24], np.int64)
M = np.arange(6, dtype=np.int64).reshape(2, 3) + 10
F = np.array([2.5, -1.5, 0.4, 7.0], np.float32)
B = np.array([True, False, True, False])


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def node(text: str, **attributes: object) -> NodeProto:
    """`Op a b -> y`; an operand `.` is left out."""
    call, outputs = text.split("->")
    op_type, *inputs = call.split()
    return helper.make_node(op_type, ["" if name == "." else name for name in inputs], outputs.split(), **attributes)


def run(operator: NodeProto, operands: dict[str, np.ndarray], opset: int) -> list[np.ndarray]:
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in operands.items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in operator.output]
    graph = helper.make_graph([operator], "g", inputs, outputs)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])
    results = open_session(Document.from_proto(model), optimized=False).run(operands)
    return [np.asarray(results[name]) for name in operator.output]


def traced(operator: NodeProto, operands: dict[str, np.ndarray], opset: int) -> list[np.ndarray]:
    known = {name: Traced.constant(value) for name, value in operands.items()}
    outputs = apply(Call(operator, [known.get(name) for name in operator.input], opset))
    values = [output.value for output in outputs]
    return [np.asarray(value) for value in values if value is not None]


def since(version: str, *case: object) -> object:
    """A case whose kernel older versions of onnxruntime have not, or round otherwise."""
    return pytest.param(*case, marks=pytest.mark.measured_on("onnxruntime", version, "the kernel computes otherwise"))


CASES = [
    (node("Identity a -> y"), {"a": V}, 13),
    (node("Concat a b -> y", axis=0), {"a": V, "b": ints(7)}, 13),
    (node("Concat a b -> y", axis=-1), {"a": M, "b": M}, 13),
    (node("Gather a i -> y", axis=0), {"a": V, "i": np.array(2)}, 11),
    (node("Gather a i -> y"), {"a": V, "i": ints(-1, 0)}, 11),
    (node("Gather a i -> y", axis=1), {"a": M, "i": np.array([[0, 2]])}, 13),
    (node("Slice a -> y", axes=[0], starts=[2], ends=[2**63 - 1]), {"a": V}, 9),
    (node("Slice a -> y", starts=[-2], ends=[4]), {"a": V}, 9),
    (node("Slice a s e x t -> y"), {"a": V, "s": ints(-1), "e": ints(-100), "x": ints(0), "t": ints(-1)}, 13),
    (node("Slice a s e x -> y"), {"a": M, "s": ints(0, 1), "e": ints(1, 3), "x": ints(0, -1)}, 13),
    (node("Squeeze a -> y", axes=[0]), {"a": V[:1]}, 11),
    (node("Squeeze a x -> y"), {"a": V[:1], "x": ints(0)}, 13),
    (node("Squeeze a -> y"), {"a": M[:1]}, 13),
    (node("Unsqueeze a -> y", axes=[0]), {"a": np.array(5)}, 11),
    (node("Unsqueeze a x -> y"), {"a": V, "x": ints(0, 2)}, 13),
    (node("Reshape a s -> y"), {"a": V, "s": ints(-1, 2)}, 13),
    (node("Reshape a s -> y"), {"a": M, "s": ints(0, 3, 1)}, 13),
    (node("Flatten a -> y", axis=0), {"a": M}, 13),
    (node("Transpose a -> y"), {"a": M}, 13),
    (node("Transpose a -> y", perm=[0, 1]), {"a": M}, 13),
    (node("Split a -> y z", axis=0, split=[1, 3]), {"a": V}, 11),
    (node("Split a s -> y z"), {"a": V, "s": ints(3, 1)}, 13),
    (node("Split a -> y z", axis=1, num_outputs=2), {"a": M}, 18),
    (node("Expand a s -> y"), {"a": V[:1], "s": ints(3)}, 13),
    (node("Expand a s -> y"), {"a": M, "s": ints(2, 1, 1)}, 13),
    (node("Add a b -> y"), {"a": V, "b": ints(1)}, 13),
    (node("Sub a b -> y"), {"a": V, "b": V[::-1].copy()}, 13),
    (node("Mul a b -> y"), {"a": F, "b": np.array([1.8], np.float32)}, 13),
    (node("Div a b -> y"), {"a": ints(7, -7, 8), "b": ints(2, 2, -3)}, 13),
    (node("Div a b -> y"), {"a": F, "b": np.array(3, np.float32)}, 13),
    (node("Mod a b -> y"), {"a": ints(7, -7, 8), "b": ints(4, 4, -3)}, 13),
    since("1.24", node("Pow a b -> y"), {"a": F[[0, 2]], "b": np.array(2, np.float32)}, 13),
    (node("Min a b c -> y"), {"a": F, "b": -F, "c": np.zeros(4, np.float32)}, 13),
    (node("Max a b -> y"), {"a": V, "b": ints(10)}, 13),
    *((node(f"{name} a -> y"), {"a": F}, 13) for name in ("Neg", "Abs", "Floor", "Ceil", "Round")),
    (node("Sqrt a -> y"), {"a": np.abs(F)}, 13),
    (node("Reciprocal a -> y"), {"a": np.array([4, 0.5], np.float32)}, 13),
    *((node(f"{name} a b -> y"), {"a": V, "b": ints(3, 3, 20, 1)}, 16)
      for name in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")),
    (node("Not a -> y"), {"a": B}, 13),
    (node("And a b -> y"), {"a": B, "b": ~B}, 13),
    (node("Or a b -> y"), {"a": B, "b": B}, 13),
    (node("Where c a b -> y"), {"c": B, "a": V, "b": ints(9)}, 13),
    (node("Clip a -> y", min=0.0, max=3.0), {"a": F}, 10),
    (node("Clip a . h -> y"), {"a": V, "h": np.array(10)}, 13),
    (node("Cast a -> y", to=7), {"a": F}, 13),
    (node("Cast a -> y", to=1), {"a": V}, 13),
    (node("Cast a -> y", to=9), {"a": V - 1}, 13),
    (node("CastLike a b -> y"), {"a": F, "b": V}, 15),
    *((node(f"{name} a -> y", axes=[0], keepdims=0), {"a": M}, 11)
      for name in ("ReduceMax", "ReduceMin", "ReduceProd")),
    (node("ReduceSum a x -> y"), {"a": M, "x": ints(-1)}, 13),
    since("1.24", node("ReduceSum a -> y", noop_with_empty_axes=1), {"a": M}, 13),
    (node("ReduceMax a -> y"), {"a": F}, 13),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "operands", "opset"), CASES, ids=lambda value: getattr(value, "op_type", ""))
def test_a_row_computes_what_onnxruntime_computes(operator, operands, opset):
    expected, found = run(operator, operands, opset), traced(operator, operands, opset)
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs, strict=True)


def test_every_row_is_tried():
    assert {getattr(case, "values", case)[0].op_type for case in CASES} == set(ROWS)


@settings(max_examples=60, deadline=None)
@given(st.integers(-7, 7), st.one_of(st.integers(-8, 8), st.just(2**31 - 1)), st.sampled_from([1, 2, -1, -3]))
def test_a_slice_takes_what_onnxruntime_takes(start, end, step):
    assume(step > 0 or end < 2**31 - 1)
    operands = {"a": V, "s": ints(start), "e": ints(end), "x": ints(0), "t": ints(step)}
    operator = node("Slice a s e x t -> y")
    np.testing.assert_array_equal(traced(operator, operands, 13)[0], run(operator, operands, 13)[0])


@pytest.mark.parametrize(
    ("operator", "operands", "opset", "reason"),
    [
        (node("CumSum a x -> y"), {"a": V, "x": np.array(0)}, 13, "CumSum is not followed"),
        (node("Mod a b -> y", fmod=1), {"a": F, "b": F}, 13, "Mod of the C kind"),
        (node("Add a b -> y", broadcast=1), {"a": V, "b": ints(1)}, 6, "before opset 7"),
        (node("Mul a -> y"), {"a": V}, 13, "Mul has 1 operand"),
        (node("Cast a -> y"), {"a": V}, 13, "does not fit"),
        (node("Where a a -> y"), {"a": B}, 13, "Where has 2 operands"),
        (node("Concat a b -> y", axis=0), {"a": V, "b": M}, 13, "does not fit"),
        (node("Gather a i -> y"), {"a": V, "i": ints(9)}, 13, "does not fit"),
        (node("Expand a s -> y"), {"a": V[:1], "s": ints(5000)}, 13, "no part of a size"),
        (
            node("Slice a s e x t -> y"),
            {"a": V, "s": ints(0), "e": ints(2**31 - 1), "x": ints(0), "t": ints(-1)},
            13,
            "backwards",
        ),
        (node("Reshape a . -> y"), {"a": V}, 13, "lacks its shape"),
    ],
    ids=lambda value: getattr(value, "op_type", ""),
)
def test_what_a_row_does_not_cover_ends_the_walk(operator, operands, opset, reason):
    with pytest.raises(UntraceableError, match=reason):
        traced(operator, operands, opset)


def test_a_large_tensor_is_data_and_no_part_of_a_size():
    with pytest.raises(UntraceableError, match="2000 elements"):
        Traced.constant(np.zeros(2000, np.int64))


def test_a_type_whose_arithmetic_numpy_lacks_ends_the_walk():
    with pytest.raises(UntraceableError, match="object"):
        Traced.constant(np.array(["a"], object))
