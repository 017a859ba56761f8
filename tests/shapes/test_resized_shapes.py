"""The pixel that inference loses (5 scaled by 1.8 is 9 in onnxruntime, 8 in onnx) is lost nowhere in what is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper, shape_inference
from onnx_text import model

import resizefix
from resizefix.document.values import dims_of
from resizefix.scope_path import BodyName, ScopePath
from resizefix.shapes.output_size import _is_finite, corrected, inference_length, kernel_length
from resizefix.shapes.stored_shapes import Shapes, rederive


def parsed(graph: str, opset: int = 13):
    return model(graph, opset, "l", "foreign")


def dims(graph, *names, path=()):
    shapes = Shapes(parsed(graph) if isinstance(graph, str) else graph)
    found = [shapes.dims((path, name)) for name in names]
    return found[0] if len(found) == 1 else found


def sizes(shape):
    return None if shape is None else tuple(size if isinstance(size, int) else None for size in shape)


def test_the_output_has_the_size_that_the_kernel_makes():
    graph = '(float[1,5] x) => (float[n,m] z) <float[2] s = {1, 1.8}> { y = Resize (x, "", s) z = Relu (y) }'
    onnxs = {value.name: value for value in shape_inference.infer_shapes(parsed(graph)).graph.value_info}
    assert dims_of(onnxs["y"].type) == (1, 8)
    assert dims(graph, "y", "z") == [(1, 9), (1, 9)]


@pytest.mark.parametrize(
    ("opset", "node"),
    [
        (7, "y = Upsample <scales = [1.0, 1.8]> (x)"),
        (9, "y = Upsample (x, s)"),
        (10, "y = Resize (x, s)"),
        (18, 'y = Resize <axes = [1, 0]> (x, "", t)'),
        (19, 'y = Resize <axes = [-1]> (x, "", u)'),
    ],
)
def test_every_dialect_is_read(opset, node):
    graph = f"""(float[1,5] x) => (float[a,b] z)
    <float[2] s = {{1, 1.8}}, float[2] t = {{1.8, 1}}, float[1] u = {{1.8}}> {{ {node} z = Relu (y) }}"""
    assert dims(parsed(graph, opset), "y") == (1, 9)


def test_what_follows_is_inferred_from_the_true_size_through_a_chain_of_lost_pixels():
    nodes = " ".join(f'y{k + 1} = Resize (y{k}, "", s) ' for k in range(1, 4))
    graph = f"(float[1,5] y1) => (float[a,b] z) <float[2] s = {{1, 1.8}}> {{ {nodes} z = Relu (y4) }}"
    truth = [5]
    for _ in range(3):
        truth.append(kernel_length(1.8, truth[-1]))
    assert dims(graph, "y2", "y3", "y4", "z") == [(1, size) for size in (*truth[1:], truth[-1])]


def test_a_chain_of_lost_pixels_is_followed_however_long_it_is():
    chain = parsed("(float[1,5] cut0) => (float[a,b] cut12) { cut12 = Relu (cut0) }")
    del chain.graph.node[:]
    for k in range(12):
        chain.graph.node.append(helper.make_node("Resize", [f"cut{k}", "", "s"], [f"up{k}"]))
        chain.graph.node.append(helper.make_node("Slice", [f"up{k}", "from", "to", "axis"], [f"cut{k + 1}"]))
    for name, value in (("s", np.float32([1, 1.8])), ("from", [4]), ("to", [100]), ("axis", [1])):
        chain.graph.initializer.append(numpy_helper.from_array(np.array(value), name))
    assert set(dims(chain, *(f"cut{k}" for k in range(13)))) == {(1, 5)}  # 5 → 9 → 5, over and over


def test_a_stored_size_that_inference_once_wrote_is_not_believed():
    graph = """(float[1,5] x) => (float[1,8] z) <float[2] s = {1, 1.8}, float[1,8] y, float[1,8] other>
        { y = Resize (x, "", s) other = foreign.Unknown (y) z = Relu (y) }"""
    assert dims(graph, "y", "z") == [(1, 9), (1, 9)]
    assert sizes(dims(graph, "other")) == (None, None)


def test_a_size_that_inference_once_made_of_a_default_is_not_believed():
    graph = """(float[1,5] x, float[2] s) => (float[n,m] z) <float[2] s = {1, 1.8}STORED>
        { y = Resize (x, "", s) z = Relu (y) }"""
    assert sizes(dims(graph.replace("STORED", ""), "y")) == (None, None)
    assert dims(graph.replace("STORED", ", float[1,8] y"), "y", "z") == [(1, 9), (1, 9)]


def test_a_size_that_no_rule_disputes_stays_as_stored():
    graph = '(float[1,n] x) => (float[1,8] z) <float[2] s = {1, 2}> { y = Resize (x, "", s) z = Relu (y) }'
    assert dims(graph, "z") == (1, 8)


def test_in_a_branch_the_size_is_the_kernels_and_so_is_what_the_if_makes():
    graph = """(float[1,5] x, bool c) => (float[a,b] z) {
      y = If (c) <then_branch = t () => (float[p,q] u) <float[2] s = {1, 1.8}> { u = Resize (x, "", s) },
                  else_branch = e () => (float[p,q] v) <float[2] r = {1, 1.8}> { v = Resize (x, "", r) }>
      z = Relu (y) }"""
    assert dims(graph, "u", path=ScopePath([BodyName("If(y)", "then_branch")])) == (1, 9)
    assert sizes(dims(graph, "z")) in ((1, 9), (None, None), None)


FUNCTION = """(float[1,5] x) => (float[a,b] z) {{
    s = Constant <value = float[2] {{1, {scale}}}> () y = l.up (x, s) z = Relu (y) }}
    <domain : "l", opset_import: ["" : 13]> up (a, s) => (b) {{ b = Resize (a, "", s) }}"""


@pytest.mark.parametrize(("scale", "size"), [(1.5, 7), (1.8, 9)])
def test_through_a_function_the_size_is_the_kernels(scale, size):
    assert dims(FUNCTION.format(scale=scale), "z") == (1, size)


def test_what_is_stored_behind_a_call_is_not_believed_where_the_function_makes_another_size():
    text = FUNCTION.format(scale=1.8).replace("(float[a,b] z)", "(float[1,8] z) <float[1,8] y>")
    assert dims(text, "y", "z") == [(1, 9), (1, 9)]


def test_a_size_that_goes_around_a_loop_is_not_believed_where_the_loop_makes_another():
    graph = """(float[1,5] x, bool c) => (float[1,8] z) <int64 n = {2}> {
      y = Loop (n, c, x) <body = b (int64 i, bool g, float[1,5] v) => (bool h, float[1,5] u) <float[2] s = {1, 1.8}>
        { h = Identity (g) w = Relu (v) u = Resize (w, "", s) }>
      z = Relu (y) }"""
    path = ScopePath([BodyName("Loop(y)", "body")])
    assert [sizes(shape) for shape in dims(graph, "w", "u", path=path)] == [(None, None)] * 2
    assert sizes(dims(graph, "z")) == (None, None)


@pytest.mark.parametrize(("scale", "size"), [(1.5, 7), (1.8, 9)])
def test_scales_that_calls_give_as_attributes_are_read_each(scale, size):
    graph = f"""(float[1,5] x) => (float[a,b] z) {{ y = l.up <to = [1.0, {scale}]> (x) z = l.up <to = [2.0, 1.0]> (y) }}
        <domain : "l", opset_import: ["" : 13]> up <to> (a) => (b)
        {{ s = Constant <value_floats : floats = @to> () b = Resize (a, "", s) }}"""
    assert sizes(dims(graph, "y"))[1] == sizes(dims(graph, "z"))[1] == size


def test_shapes_that_are_written_after_an_edit_are_the_kernels():
    edited = parsed("""(float[1,5] x, float[2] t) => (float[1,9] z) <float[2] s = {1, 1.8}, float[1,5] a, float[1,9] y>
        { a = Relu (x) y = Resize (a, "", s) z = Relu (y) }""")
    rederive(edited, {((), "a"): (1, 5)})
    stored = {value.name: dims_of(value.type) for value in (*edited.graph.value_info, *edited.graph.output)}
    assert stored["y"] == stored["z"] == (1, 9)


def test_inspect_tells_the_size_that_the_next_resize_really_reads():
    graph = """(float[1,1,5,5] x) => (float[a,b,c,d] z) <float[4] s = {1, 1, 1.8, 1.8}, int64[4] to = {1, 1, 18, 18}>
        { y = Resize (x, "", s) z = Resize (y, "", "", to) }"""
    first, second = resizefix.inspect(parsed(graph))
    assert first.output_dims == second.input_dims == (1, 1, 9, 9)
    promoted = resizefix.promote_scales(parsed(graph), verify=False, form="factor")
    assert [value for source in promoted.inputs for value in source.value][-1] == 2  # 18/9, not 18/8


@settings(max_examples=200)
@given(scale=st.floats(0.0625, 9, width=32), size=st.integers(1, 2000))
def test_a_size_is_corrected_exactly_where_the_two_products_differ(scale, size):
    node = helper.make_node("Resize", ["x", "", "s"], ["y"])
    claimed = (inference_length(scale, size),)
    found = corrected(node, 13, (size,), claimed, lambda name: np.array([scale], np.float32))
    truth = (int(np.float32(scale) * np.float32(size)),)
    assert (found or claimed) == truth


def test_a_policy_over_axes_counted_from_the_end_is_not_known():
    node = helper.make_node(
        "Resize", ["x", "", "", "sizes"], ["y"], axes=[-1, -2], keep_aspect_ratio_policy="not_larger"
    )
    assert corrected(node, 18, (4, 6), (8, 12), lambda name: None) == (None, None)
    node.attribute[0].ints[:] = [1, 0]
    assert corrected(node, 18, (4, 6), (8, 12), lambda name: None) is None


@pytest.mark.parametrize("scale", [1.8, 0.0, 1e-45, 1e30, 3.4e38, 1e39, float("inf"), float("nan"), -2.0])
@pytest.mark.parametrize("size", [0, 5, 10**9, 10**38, 10**39])
def test_a_length_is_agreed_only_where_its_product_is_a_finite_float32(scale, size):
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(np.float32(scale) * np.float32(size))
    assert _is_finite(scale, size) == finite
