"""What a graph says it wants to be fed."""

from onnx import ModelProto, TensorProto, TypeProto, helper, parser

from resizefix.runtimes.inputs import InputKind, model_inputs


def model(text: str) -> ModelProto:
    return parser.parse_model(text)


def typed_model(type_: TypeProto) -> ModelProto:
    graph = helper.make_graph([], "g", [helper.make_value_info("a", type_)], [])
    return helper.make_model(graph)


WITH_INITIALIZER = (
    '<ir_version: %d, opset_import: ["":8]> g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1,2}> '
    "{ y = Add(x, w) }"
)
FLOATS = helper.make_tensor_type_proto(TensorProto.FLOAT, [2, "n"])


def test_sizes_symbols_and_unknowns_are_told_apart():
    (x,) = model_inputs(model('<ir_version: 8, opset_import: ["":17]> g (float[1,n,?] x) => (float y) { y = Neg(x) }'))
    assert x.shape == (1, "n", None)
    assert x.elem_type == TensorProto.FLOAT
    assert not x.is_static
    assert x.type_text == "float[1,n,?]"


def test_the_question_mark_that_exporters_write_as_a_name_is_no_symbol():
    proto = model('<ir_version: 8, opset_import: ["":17]> g (float[a,b] x) => (float y) { y = Neg(x) }')
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "?"
    proto.graph.input[0].type.tensor_type.shape.dim[1].dim_value = -1
    assert model_inputs(proto)[0].shape == (None, None)


def test_an_unknown_rank_is_not_rank_zero():
    proto = model('<ir_version: 8, opset_import: ["":17]> g (float x, float[] y) => (float z) { z = Add(x, y) }')
    scalar, unknown = model_inputs(proto)
    assert scalar.shape == ()
    assert scalar.is_static
    assert scalar.type_text == "float"
    assert unknown.shape is None
    assert unknown.type_text == "float[]"
    assert not unknown.is_static


def test_from_ir_4_on_an_initializer_of_an_inputs_name_is_its_default():
    assert [(entry.name, entry.has_default) for entry in model_inputs(model(WITH_INITIALIZER % 4))] == [
        ("x", False),
        ("w", True),
    ]


def test_up_to_ir_3_a_listed_initializer_is_no_input():
    assert [entry.name for entry in model_inputs(model(WITH_INITIALIZER % 3))] == ["x"]


def test_containers_are_named_and_show_the_tensor_inside():
    sequence = helper.make_sequence_type_proto(FLOATS)
    cases = {
        InputKind.TENSOR: FLOATS,
        InputKind.SEQUENCE: sequence,
        InputKind.OPTIONAL: helper.make_optional_type_proto(FLOATS),
        InputKind.OPTIONAL_SEQUENCE: helper.make_optional_type_proto(sequence),
    }
    for kind, type_ in cases.items():
        (entry,) = model_inputs(typed_model(type_))
        assert (entry.kind, entry.elem_type, entry.shape) == (kind, TensorProto.FLOAT, (2, "n"))
    assert model_inputs(typed_model(sequence))[0].type_text == "sequence of float[2,n]"


def test_maps_and_sparse_tensors_are_named_as_such():
    a_map = helper.make_map_type_proto(TensorProto.INT64, FLOATS)
    assert model_inputs(typed_model(a_map))[0].kind is InputKind.MAP
    sparse = helper.make_sparse_tensor_type_proto(TensorProto.DOUBLE, [2])
    (entry,) = model_inputs(typed_model(sparse))
    assert (entry.kind, entry.elem_type) == (InputKind.SPARSE_TENSOR, TensorProto.DOUBLE)
