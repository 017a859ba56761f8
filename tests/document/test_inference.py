from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import ModelProto, helper

from resizefix.document.inference import infer_shapes

HEAD = '<ir_version: 8, opset_import: ["" : 17, "f" : 1]> g (float[2,3,8,8] x) => (float[?,?,?,?] y)'


def parsed(nodes: str, functions: str = "") -> ModelProto:
    return onnx.parser.parse_model(f"{HEAD} {{ {nodes} }} {functions}")


def dims_of(model: ModelProto, name: str) -> list[int | str]:
    (value,) = [value for value in (*model.graph.value_info, *model.graph.output) if value.name == name]
    return [dim.dim_value or dim.dim_param for dim in value.type.tensor_type.shape.dim]


def doubling(times: int, dtype: str = "int64") -> str:
    first = f"t0 = Constant <value = {dtype}[2] {{1, 2}}> () "
    return first + "".join(f"t{i + 1} = Concat <axis = 0> (t{i}, t{i}) " for i in range(times))


def test_sizes_that_are_computed_from_shapes_are_followed():
    chain = "s = Shape (x) h = Constant <value = int64[1] {3}> () n = Slice (s, z, h) k = Concat <axis = 0> (n, h)"
    model = parsed(f"z = Constant <value = int64[1] {{0}}> () {chain} y = Reshape (x, k)")
    assert dims_of(infer_shapes(model), "y") == [2, 3, 8, 3]


@pytest.mark.parametrize("dtype", ["int64", "float"])
def test_values_that_double_without_end_are_not_followed(dtype):
    model = parsed(doubling(60, dtype) + "y = Identity (x)")
    inferred = infer_shapes(model)
    assert dims_of(inferred, "t20") == [1 << 21]
    assert dims_of(inferred, "y") == [2, 3, 8, 8]


def test_values_that_double_in_functions_are_not_followed():
    calls = "t0 = Shape (x) " + "".join(f"t{i + 1} = f.Double (t{i}) " for i in range(40))
    double = (
        '<domain: "f", opset_import: ["" : 17]> Double (a) => (b) { c = Identity (a) b = Concat <axis = 0> (c, c) }'
    )
    assert dims_of(infer_shapes(parsed(calls + "y = Identity (x)", double)), "y") == [2, 3, 8, 8]


def test_feature_maps_that_are_joined_again_and_again_do_not_count():
    """DenseNet: each layer reads all before it, and a Reshape behind it wants the values of its sizes."""
    layers = "t0 = Relu (x) " + "".join(
        f"t{i + 1} = Concat <axis = 1> ({', '.join(f't{j}' for j in range(i + 1))}) " for i in range(20)
    )
    ones = "z = Constant <value = int64[1] {0}> () h = Constant <value = int64[1] {1}> ()"
    rest = "m = Constant <value = int64[1] {-1}> () k = Concat <axis = 0> (n, m) r = Reshape (x, k) y = Identity (x)"
    model = parsed(f"{layers} {ones} s = Shape (t20) n = Slice (s, z, h) {rest}")
    assert dims_of(infer_shapes(model), "k") == [2]
    assert dims_of(infer_shapes(model), "r") == [2, 192]


def test_a_model_that_inference_refuses_is_given_back():
    contradictory = parsed("y = MatMul (x, x)")
    contradictory.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros((5, 5), np.float32), "w"))
    contradictory.graph.node[0].input[1] = "w"
    assert infer_shapes(contradictory) in (contradictory, onnx.shape_inference.infer_shapes(contradictory))
    recursive = helper.make_function("f", "F", ["a"], ["b"], [helper.make_node("F", ["a"], ["b"], domain="f")], [])
    calling = parsed("y = f.F (x)")
    calling.functions.append(recursive)
    assert infer_shapes(calling) is calling
