"""What a graph says it wants to be fed."""

import pytest
from onnx import TensorProto
from onnx_text import model

from resizefix.runtimes.inputs import InputKind, model_inputs


def test_sizes_symbols_and_unknowns_are_told_apart():
    (x,) = model_inputs(model("(float[1,n,?] x) => (float y) { y = Neg(x) }"))
    assert x.shape == (1, "n", None)
    assert x.elem_type == TensorProto.FLOAT
    assert not x.is_static
    assert x.type_text == "float[1,n,?]"


def test_the_question_mark_that_exporters_write_as_a_name_is_no_symbol():
    proto = model("(float[a,b] x) => (float y) { y = Neg(x) }")
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "?"
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value = -1
    assert model_inputs(proto)[0].shape == (None, None)


def test_an_unknown_rank_is_not_rank_zero():
    proto = model("(float x, float[] y) => (float z) { z = Add(x, y) }")
    scalar, unknown = model_inputs(proto)
    assert scalar.shape == ()
    assert scalar.is_static
    assert scalar.type_text == "float"
    assert unknown.shape is None
    assert unknown.type_text == "float[]"
    assert not unknown.is_static


def test_from_ir_4_on_an_initializer_of_an_inputs_name_is_its_default_and_before_it_is_no_input():
    graph = "(float[2] x, float[2] w) => (float[2] y) <float[2] w = {1,2}> { y = Add(x, w) }"
    for ir, defaults in ((4, {"x": False, "w": True}), (3, {"x": False})):
        assert {entry.name: entry.has_default for entry in model_inputs(model(graph, 8, ir=ir))} == defaults


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("float[2,n]", InputKind.TENSOR),
        ("seq(float[2,n])", InputKind.SEQUENCE),
        ("optional(float[2,n])", InputKind.OPTIONAL),
        ("optional(seq(float[2,n]))", InputKind.OPTIONAL_SEQUENCE),
    ],
)
def test_containers_are_named_and_show_the_tensor_inside(declared, kind):
    (entry,) = model_inputs(model(f"({declared} a) => (a) {{ }}"))
    assert (entry.kind, entry.elem_type, entry.shape) == (kind, TensorProto.FLOAT, (2, "n"))
    assert kind is not InputKind.SEQUENCE or entry.type_text == "sequence of float[2,n]"


def test_maps_and_sparse_tensors_are_named_as_such():
    a_map, sparse = model_inputs(model("(map(int64, float[2,n]) a, sparse_tensor(double[2]) b) => (a) { }"))
    assert a_map.kind is InputKind.MAP
    assert (sparse.kind, sparse.elem_type) == (InputKind.SPARSE_TENSOR, TensorProto.DOUBLE)
