from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper
from onnx_text import model

from resizefix.shapes.inference import infer_shapes
from resizefix.shapes.vectors import BY_BODY, FOLLOWED

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("*.onnx"))


def parsed(nodes: str, functions: str = "") -> ModelProto:
    return model(f"(float[2,3,8,8] x) => (float[?,?,?,?] y) {{ {nodes} }} {functions}", 17, "f")


def dims_of(model: ModelProto, name: str) -> list[int | str]:
    (value,) = [value for value in (*model.graph.value_info, *model.graph.output) if value.name == name]
    return [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim]


def doubling(times: int, dtype: str = "int64") -> str:
    first = f"t0 = Constant <value = {dtype}[2] {{1, 2}}> () "
    return first + "".join(f"t{i + 1} = Concat <axis = 0> (t{i}, t{i}) " for i in range(times))


def test_sizes_that_are_computed_from_shapes_are_followed():
    chain = "s = Shape (x) h = Constant <value = int64[1] {3}> () n = Slice (s, z, h) k = Concat <axis = 0> (n, h)"
    made = parsed(f"z = Constant <value = int64[1] {{0}}> () {chain} y = Reshape (x, k)")
    assert dims_of(infer_shapes(made), "y") == [2, 3, 8, 3]


@pytest.mark.parametrize("dtype", ["int64", "float"])
def test_values_that_double_without_end_are_not_followed(dtype):
    made = parsed(doubling(60, dtype) + "y = Identity (x)")
    inferred = infer_shapes(made)
    assert dims_of(inferred, "t20") == [1 << 21]
    assert dims_of(inferred, "y") == [2, 3, 8, 8]


def test_onnx_follows_values_through_no_other_operators():
    schemas = onnx.defs.get_all_schemas_with_history()
    assert FOLLOWED | {"Shape"} == {schema.name for schema in schemas if schema.has_data_propagation_function}
    by_body = {s.name for s in schemas if s.has_function and not s.has_type_and_shape_inference_function}
    assert by_body - {"GreaterOrEqual", "LessOrEqual"} == BY_BODY  # of comparisons, which nothing is followed through


@pytest.mark.parametrize("path", FIXTURES, ids=[path.stem for path in FIXTURES])
def test_of_models_as_they_are_exported_onnx_says_the_same_by_itself(path):
    made = onnx.load(path, load_external_data=False)
    assert infer_shapes(made) == onnx.shape_inference.infer_shapes(made, data_prop=True)


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
    inferred = infer_shapes(made)
    assert dims_of(inferred, "y") == [2, 3, 8, 8]
    assert list(inferred.graph.node) == list(made.graph.node)
    assert list(inferred.functions) == list(made.functions)
    assert inferred.opset_import == made.opset_import
    assert made.SerializeToString() == before


def test_what_is_not_followed_keeps_its_type():
    inferred = infer_shapes(parsed(f"{SMALL}{LONG}{MAKERS['constant']} w = Unsqueeze (v, z) {REST}"))
    assert dims_of(inferred, "w") == [1, 1 << 40]


def test_values_that_double_in_functions_are_not_followed():
    calls = "t0 = Shape (x) " + "".join(f"t{i + 1} = f.Double (t{i}) " for i in range(40))
    double = """<domain: "f", opset_import: ["" : 17]>
        Double (a) => (b) { c = Identity (a) b = Concat <axis = 0> (c, c) }"""
    assert dims_of(infer_shapes(parsed(calls + "y = Identity (x)", double)), "y") == [2, 3, 8, 8]


def test_feature_maps_that_are_joined_again_and_again_do_not_count():
    """DenseNet: each layer reads all before it, and a Reshape behind it wants the values of its sizes."""
    before = [", ".join(f"t{j}" for j in range(i + 1)) for i in range(20)]
    layers = "t0 = Relu (x) " + "".join(
        f"t{i + 1} = Concat <axis = 1> ({earlier}) " for i, earlier in enumerate(before)
    )
    ones = "z = Constant <value = int64[1] {0}> () h = Constant <value = int64[1] {1}> ()"
    rest = "m = Constant <value = int64[1] {-1}> () k = Concat <axis = 0> (n, m) r = Reshape (x, k) y = Identity (x)"
    made = parsed(f"{layers} {ones} s = Shape (t20) n = Slice (s, z, h) {rest}")
    assert dims_of(infer_shapes(made), "k") == [2]
    assert dims_of(infer_shapes(made), "r") == [2, 192]


def test_a_model_that_inference_refuses_is_given_back():
    contradictory = parsed("y = MatMul (x, x)")
    contradictory.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((5, 5), np.float32), "w"))
    contradictory.graph.node[0].input[1] = "w"
    assert infer_shapes(contradictory) in (contradictory, onnx.shape_inference.infer_shapes(contradictory))
    recursive = helper.make_function("f", "F", ["a"], ["b"], [helper.make_node("F", ["a"], ["b"], domain="f")], [])
    calling = parsed("y = f.F (x)")
    calling.functions.append(recursive)
    assert infer_shapes(calling) is calling


@pytest.mark.parametrize("bounds", ["(s, a, b)", "(s, b, e)", "(s, z, a)", "(s, z, e, z, a)", "(s, z, e, a)"])
@pytest.mark.parametrize("use", ["g = Gather (t, i) u = Unsqueeze (g, z)", "u = Slice (t, z, o)", "u = Identity (t)"])
def test_no_size_is_inferred_from_a_slice_with_a_bound_that_is_fed(bounds, use):
    text = f"""(float[2,3,4,6] x, int64[1] a, int64[1] b) => (float[] y)
    <int64[1] z = {{0}}, int64[1] o = {{1}}, int64[1] e = {{4}}, int64 i = {{0}}, int64[1] m = {{-1}}, int64[1] t>
    {{ s = Shape (x) t = Slice {bounds} {use} k = Concat <axis = 0> (u, m) y = Reshape (x, k) }}"""
    made = model(text, 17)
    (kind,) = (value.type for value in infer_shapes(made).graph.output)
    assert not any(dim.HasField("dim_value") for dim in kind.tensor_type.shape.dim)


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
    sizes = dims_of(infer_shapes(cut), "s")
    assert [type(size) for size in sizes] == [str] * 4  # symbols, of which onnx makes new ones


def test_a_size_that_is_written_as_a_negative_one_is_open():
    made = parsed(f"{BOUNDS} y = Slice (x, b, n, n)")
    height = made.graph.input[0].type.tensor_type.shape.dim[2]
    height.dim_value = -1
    assert dims_of(infer_shapes(made), "y")[:2] == [2, 3]
    assert height.dim_value == -1
