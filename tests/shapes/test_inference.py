"""The types of a whole model, worked out node by node: never less than onnx says, and no file can make it costly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper
from onnx_text import model

from resizefix.document.values import dims_of as sizes_of
from resizefix.document.values import known_types
from resizefix.scope_path import MAIN
from resizefix.shapes.stored_shapes import Shapes

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("*.onnx"))


def parsed(nodes: str, functions: str = "") -> ModelProto:
    return model(f"(float[2,3,8,8] x) => (float[?,?,?,?] y) {{ {nodes} }} {functions}", 17, "f")


def dims_of(model: ModelProto, name: str) -> list[int | str | None]:
    dims = Shapes(model).dims((MAIN, name))
    assert dims is not None
    return list(dims)


def doubling(times: int, dtype: str = "int64") -> str:
    first = f"t0 = Constant <value = {dtype}[2] {{1, 2}}> () "
    return first + "".join(f"t{i + 1} = Concat <axis = 0> (t{i}, t{i}) " for i in range(times))


def test_sizes_that_are_computed_from_shapes_are_followed():
    chain = "s = Shape (x) h = Constant <value = int64[1] {3}> () n = Slice (s, z, h) k = Concat <axis = 0> (n, h)"
    made = parsed(f"z = Constant <value = int64[1] {{0}}> () {chain} y = Reshape (x, k)")
    assert dims_of(made, "y") == [2, 3, 8, 3]


@pytest.mark.parametrize("dtype", ["int64", "float"])
def test_values_that_double_without_end_are_not_followed(dtype):
    made = parsed(doubling(60, dtype) + "y = Identity (x)")
    assert dims_of(made, "t20") == [1 << 21]
    assert dims_of(made, "y") == [2, 3, 8, 8]


@pytest.mark.parametrize("path", FIXTURES, ids=[path.stem for path in FIXTURES])
def test_of_models_as_they_are_exported_all_is_said_that_onnx_says_of_the_whole(path):
    made = onnx.load(path, load_external_data=False)
    shapes = Shapes(made)
    names = {dim.dim_param for value in made.graph.input for dim in value.type.tensor_type.shape.dim} - {""}
    for name, value_type in known_types(onnx.shape_inference.infer_shapes(made, data_prop=True).graph).items():
        if value_type.HasField("tensor_type"):
            assert shapes.elem_type((MAIN, name)) == value_type.tensor_type.elem_type
            sizes = shapes.dims((MAIN, name)) if value_type.tensor_type.HasField("shape") else ()
            for size, by_onnx in zip(sizes, sizes_of(value_type), strict=True):
                assert size == by_onnx or isinstance(size, int) or by_onnx not in names, name


# What reads the vector `v` and, where onnx follows values, makes a list of all its elements.
READERS = [
    "w = Add (v, z)",
    "w = Sub (z, v)",
    "w = Mul (v, v)",
    "w = Cast <to = 7> (v)",
    "w = Concat <axis = 0> (z, v)",
    "w = Gather (z, v)",
    "w = Gather (v, z)",
    "w = Size (v)",
    "w = Slice (v, z, h)",
    "w = Squeeze (v)",
    "w = Unsqueeze (v, z)",
    "w = MeanVarianceNormalization <axes = [0]> (v)",
]
LONG = "n = Constant <value = int64[1] {1099511627776}> () "
MAKERS = {
    "constant": "v = ConstantOfShape (n)",
    "product": "m = Mul (n, n) v = ConstantOfShape (m)",
    "expanded": "v = Expand (z, n)",
    "of a shape": "a = ConstantOfShape (n) i = Shape (a) v = ConstantOfShape (i)",
    "flattened": "m = Concat <axis = 0> (h, n) a = ConstantOfShape (m) v = Reshape (a, r)",
}
SMALL = (
    "z = Constant <value = int64[1] {0}> () h = Constant <value = int64[1] {3}> () "
    "r = Constant <value = int64[1] {-1}> () "
)


REST = "s = Shape (x) k = Slice (s, z, h) q = Concat <axis = 0> (k, r) y = Reshape (x, q)"


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("called", [False, True])
def test_a_vector_is_not_followed_where_it_may_be_long(maker, reader, called):
    chain = f"{SMALL}{LONG}{MAKERS[maker]} {reader}"
    rest = f"{SMALL if called else ''} {REST}"
    made = parsed(f"{chain} {rest}")
    if called:
        function = f'<domain: "f", opset_import: ["" : 17]> Made (x) => (w) {{ {chain} }}'
        made = parsed(f"w = f.Made (x) {rest}", function)
    before = made.SerializeToString()
    assert dims_of(made, "y") == [2, 3, 8, 8]
    assert made.SerializeToString() == before


def test_what_is_not_followed_keeps_its_type():
    made = parsed(f"{SMALL}{LONG}{MAKERS['constant']} w = Unsqueeze (v, z) {REST}")
    assert dims_of(made, "w") == [1, 1 << 40]


def test_values_that_double_in_functions_are_not_followed():
    calls = "t0 = Shape (x) " + "".join(f"t{i + 1} = f.Double (t{i}) " for i in range(40))
    double = """<domain: "f", opset_import: ["" : 17]>
        Double (a) => (b) { c = Identity (a) b = Concat <axis = 0> (c, c) }"""
    assert dims_of(parsed(calls + "y = Identity (x)", double), "y") == [2, 3, 8, 8]


def test_feature_maps_that_are_joined_again_and_again_do_not_count():
    """DenseNet: each layer reads all before it, and a Reshape behind it wants the values of its sizes."""
    before = [", ".join(f"t{j}" for j in range(i + 1)) for i in range(20)]
    layers = "t0 = Relu (x) " + "".join(
        f"t{i + 1} = Concat <axis = 1> ({earlier}) " for i, earlier in enumerate(before)
    )
    ones = "z = Constant <value = int64[1] {0}> () h = Constant <value = int64[1] {1}> ()"
    rest = "m = Constant <value = int64[1] {-1}> () k = Concat <axis = 0> (n, m) r = Reshape (x, k) y = Identity (x)"
    made = parsed(f"{layers} {ones} s = Shape (t20) n = Slice (s, z, h) {rest}")
    assert dims_of(made, "k") == [2]
    assert dims_of(made, "r") == [2, 192]


def test_nodes_that_nothing_runs_leave_the_others_as_they_are():
    contradictory = parsed("w = MatMul (x, v) y = Relu (x)")
    contradictory.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((5, 5), np.float32), "v"))
    assert dims_of(contradictory, "y") == [2, 3, 8, 8]
    assert Shapes(contradictory).dims((MAIN, "w")) is None
    recursive = helper.make_function("f", "F", ["a"], ["b"], [helper.make_node("F", ["a"], ["b"], domain="f")], [])
    calling = parsed("w = f.F (x) y = Relu (x)")
    calling.functions.append(recursive)
    assert dims_of(calling, "y") == [2, 3, 8, 8]
    assert Shapes(calling).dims((MAIN, "w")) is None


@pytest.mark.parametrize("bounds", ["(s, a, b)", "(s, b, e)", "(s, z, a)", "(s, z, e, z, a)", "(s, z, e, a)"])
@pytest.mark.parametrize("use", ["g = Gather (t, i) u = Unsqueeze (g, z)", "u = Slice (t, z, o)", "u = Identity (t)"])
def test_no_size_is_inferred_from_a_slice_with_a_bound_that_is_fed(bounds, use):
    text = f"""(float[2,3,4,6] x, int64[1] a, int64[1] b) => (float[] y)
    <int64[1] z = {{0}}, int64[1] o = {{1}}, int64[1] e = {{4}}, int64 i = {{0}}, int64[1] m = {{-1}}, int64[1] t>
    {{ s = Shape (x) t = Slice {bounds} {use} k = Concat <axis = 0> (u, m) y = Reshape (x, k) }}"""
    made = model(text, 17)
    assert not any(isinstance(size, int) for size in Shapes(made).dims((MAIN, "y")) or ())


BOUNDS = "b = Constant <value = int64[1] {0}> () n = Constant <value = int64[1] {2}> ()"
NEGATIVE = {
    "a window larger than the map": "p = MaxPool <kernel_shape = [99, 3]> (x)",
    "a negative scale": "e = Constant <value = float[0] {}> () f = Constant <value = float[4] {1, 1, -2, 2}> () "
    "p = Resize (x, e, f)",
    "negative padding": "f = Constant <value = int64[8] {0, 0, -99, 0, 0, 0, 0, 0}> () p = Pad (x, f)",
}


@pytest.mark.parametrize("made", NEGATIVE)
def test_a_slice_of_a_negative_size_has_its_rank_and_no_size(made):
    """onnx 1.23 ends the process there."""
    cut = parsed(f"{NEGATIVE[made]} {BOUNDS} s = Slice (p, b, n, n) y = Relu (s)")
    assert [type(size) for size in dims_of(cut, "s")] == [str] * 4  # symbols, of which new ones are made


def test_a_size_that_is_written_as_a_negative_one_is_open():
    made = parsed(f"{BOUNDS} y = Slice (x, b, n, n)")
    height = made.graph.input[0].type.tensor_type.shape.dim[2]
    height.dim_value = -1
    assert dims_of(made, "y")[:2] == [2, 3]
    assert height.dim_value == -1
