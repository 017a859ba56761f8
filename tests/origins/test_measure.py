import numpy as np
import pytest
from onnx_text import document

from resizefix.origins.measure import MeasuredChain, extract_subgraph
from resizefix.shapes.axis_sizes import AxisSizes, traced_values
from resizefix.shapes.expression import Size, UntraceableError
from resizefix.shapes.stored_shapes import ModelView


def chain(
    nodes: str, inputs: str = "float[n,3,h,w] x", extra: str = "", more: str = "", opset: int = 13
) -> MeasuredChain:
    view = ModelView(document(f"({inputs}) => (float[] t) {extra} {{ {nodes} }} {more}", opset, "local"))
    return extract_subgraph(view, traced_values(AxisSizes(view)), view.scopes.definition(view.scopes.main, "t"))


def at(*lengths: int):
    return lambda size: lengths[size.axis]


FUNCTION = '<domain: "local", opset_import: ["" : 13]> Twice (a) => (b) { s = Shape (a) b = Add (s, s) }'
IF = """s = Shape (x) t = If (c) <
  then_branch = a () => (int64[4] p) { v = Identity (s) p = Mul (v, v) },
  else_branch = b () => (int64[4] p) { v = Identity (s) p = Mul (v, v) }>"""
# Nodes, what else the model has, and what sizes of 1, 3, 5 and 7 make of them.
RUN = [
    ("s = Shape (x) t = Mul (s, k)", {"extra": "<int64[4] k = {1, 1, 2, 2}>"}, [1, 3, 10, 14]),
    ("s = Shape (x) t = CumSum (s, k)", {"extra": "<int64 k = {0}>"}, [1, 4, 9, 16]),  # which the walk does not know
    ("t = DequantizeLinear (q, s, z)", {"extra": "<int8[2] q = {2, 4}, float s = {0.5}, int8 z = {0}>"}, [1, 2]),
    ("t = Shape <start = 2> (x)", {"opset": 15}, [5, 7]),
    ("t = Size (x)", {}, 105),
    (IF, {"inputs": "float[n,3,h,w] x, bool c"}, [1, 9, 25, 49]),  # names of two branches do not meet
    ("h = Relu (x) t = local.Twice (h)", {"more": FUNCTION}, [2, 6, 10, 14]),
]


@pytest.mark.parametrize(("nodes", "more", "result"), RUN)
def test_a_chain_is_run_with_the_sizes_it_is_given(nodes, more, result):
    np.testing.assert_array_equal(chain(nodes, **more).run(at(1, 3, 5, 7)), result)


@pytest.mark.parametrize(("row", "name", "axes"), [(0, "x", range(4)), (2, "x", ()), (6, "h", range(4))])
def test_a_chain_names_the_sizes_that_it_reads(row, name, axes):
    nodes, more, _ = RUN[row]
    assert chain(nodes, **more).sizes == tuple(Size(((), name), axis) for axis in axes)


@pytest.mark.parametrize(
    ("nodes", "inputs", "extra", "reason"),
    [
        ("t = Mul (f, f)", "float[4] f", "", "the values of the input 'f'"),
        ("t = RandomNormal <shape = [4]> ()", "float[1] x", "", "RandomNormal, which is not run"),
        ("s = Shape (x) t = local.Op (s)", "float[n,3,h,w] x", "", "local::Op, which is not run"),
        ("s = Shape (x) t = ConstantOfShape (s)", "float[n,3,h,w] x", "", "grows with a size"),
        ("s = Shape (x) o = Size (x) t = Range (z, o, d)", "float[n,3,h,w] x", "<int64 z = {0}, int64 d = {1}>",
         "grows"),
        ("s = Shape (x) c = CumSum (s, k) t = Div (s, c)", "float[n,3,h,w] x", "<int64 k = {0}>", "might be zero"),
    ],
)  # fmt: skip
def test_what_is_more_than_a_few_numbers_of_sizes_is_not_run(nodes, inputs, extra, reason):
    with pytest.raises(UntraceableError, match=reason):
        chain(nodes, inputs, extra)


def test_an_integer_divided_by_zero_does_not_end_the_process():
    found = chain("s = Shape (x) m = Sub (s, k) t = Div (s, m)", extra="<int64[4] k = {5, 5, 5, 5}>")
    np.testing.assert_array_equal(found.run(at(10, 10, 10, 10)), [2, 2, 2, 2])
    with pytest.raises(UntraceableError, match="divide by zero"):
        found.run(at(10, 10, 5, 10))


def test_a_chain_that_onnxruntime_refuses_is_not_answered():
    found = chain("s = Shape (x) t = Mul (s, k)", extra="<float[4] k = {1, 1, 2, 2}>")
    with pytest.raises(UntraceableError, match="onnxruntime cannot run the chain"):
        found.run(at(1, 3, 5, 7))


@pytest.mark.parametrize("opset", [0, 13])
def test_a_division_of_one_number_is_not_run_in_any_opset(opset):
    # Of opset 0 onnx has no schema that could say so.
    with pytest.raises(UntraceableError, match=r"its Div has 1 input\b"):
        chain("s = Shape (x) t = Div (s)", opset=opset)


def test_a_short_chain_is_run_for_many_sizes_without_a_thread_for_each_and_a_long_one_with(monkeypatch):
    """A thread takes ten times what such a run does; what runs long is in one, so that Ctrl-C is heard."""
    short = chain("s = Shape (x) t = CumSum (s, k)", extra="<int64 k = {0}>")
    long = chain("s = Shape (x) m = Expand (s, many) t = ReduceMax (m)", extra="<int64[2] many = {10000, 4}>")

    def start(*_: object) -> None:
        raise RuntimeError("a thread is started")

    monkeypatch.setattr("resizefix.runtimes.ort_session._thread.start_new_thread", start)
    for size in (5, 6, 7):
        np.testing.assert_array_equal(short.run(at(1, 3, size, 2)), [1, 4, 4 + size, 6 + size])
    with pytest.raises(UntraceableError, match="a thread is started"):
        long.run(at(1, 3, 5, 7))
