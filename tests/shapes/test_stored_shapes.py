import onnx
import pytest
from onnx import helper
from onnx_text import model

from resizefix.document.values import dims_in, dims_of, stored_values, tensor_of
from resizefix.scope_path import BodyName, ScopePath
from resizefix.shapes.stored_shapes import Shapes, rederive


def stored(model):
    return {
        value.name: list(dims_of(value.type))
        for value in (*model.graph.value_info, *model.graph.output)
        if value.type.tensor_type.HasField("shape")
    }


CHAIN = """(float[1,3,8,8] x, float[4] s) => (float[1,3,16,16] y, float[1,3,8,8] z)
    <float[1,3,16,16] up, float[1,3,16,16] r, float[1,3,8,8] q>
    { up = Resize (x, , s) r = Relu (up) q = Relu (x) y = Relu (r) z = Relu (q) }"""


def rederived(text: str) -> onnx.ModelProto:
    """Without the shapes that depend on `up`, of which only the height and the width may be new."""
    made = model(text, 13, "acme")
    rederive(made, {((), "up"): (1, 3, None, None)})
    return made


def test_what_depends_on_the_seed_becomes_symbolic_and_nothing_else_moves():
    shapes = stored(rederived(CHAIN))
    for name in ("up", "r", "y"):
        assert shapes[name][:2] == [1, 3]
        assert all(isinstance(size, str) for size in shapes[name][2:])
    assert shapes["q"] == [1, 3, 8, 8]
    assert shapes["z"] == [1, 3, 8, 8]


def test_equal_sizes_get_equal_symbols_and_new_symbols_are_fresh():
    shapes = stored(rederived(CHAIN.replace("<float", "<float[up_dim_2] w, float")))
    assert shapes["up"][2:] == shapes["y"][2:]
    assert len({*shapes["up"][2:], "up_dim_2"}) == 3


def test_static_sizes_that_do_not_depend_on_the_seed_are_derived_again():
    text = """(float[1,3,8,8] x, float[4] s) => (float[1,48] y) <float[1,3,16,16] up, float[1,3,4,4] p,
    float[1,3,1,1] q, int64[2] to = {1, -1}, int64[4] reps = {1, 1, 4, 4}>
    { up = Resize (x, , s) q = GlobalAveragePool (up) p = Tile (q, reps) y = Reshape (p, to) }"""
    shapes = stored(rederived(text))
    assert (shapes["q"], shapes["p"], shapes["y"]) == ([1, 3, 1, 1], [1, 3, 4, 4], [1, 48])


def test_a_default_is_not_taken_for_a_constant():
    shapes = stored(rederived(CHAIN.replace("<float", "<float[4] s = {1, 1, 2, 2}, float", 1)))
    assert all(isinstance(size, str) for size in shapes["y"][2:])


def test_shapes_inside_a_body_and_behind_it_are_relaxed():
    inside = model("""(float[1,3,8,8] x, bool c, float[4] s) => (float[1,3,16,16] y) {
      y = If (c) <
        then_branch = t () => (float[1,3,16,16] a) <float[1,3,16,16] u> { u = Resize (x, , s) a = Relu (u) },
        else_branch = e () => (float[1,3,16,16] b) { b = Resize (x, , s) }
      >
    }""")
    paths = [ScopePath([BodyName("If(y)", branch)]) for branch in ("then_branch", "else_branch")]
    rederive(inside, {(paths[0], "u"): (1, 3, None, None), (paths[1], "b"): (1, 3, None, None)})
    then_branch = inside.graph.node[0].attribute[0].g
    for value in (*then_branch.value_info, *then_branch.output, *inside.graph.output):
        assert not any(isinstance(size, int) for size in dims_of(value.type)[2:]), value.name


def test_where_inference_knows_nothing_the_rank_is_what_stays():
    text = "(float[1,3,8,8] x, float[4] s) => (float[1,3,16,16] y) { up = Resize (x, , s) y = acme.Op (up) }"
    shapes = stored(rederived(text))
    assert len(shapes["y"]) == 4
    assert all(isinstance(size, str) for size in shapes["y"])


def test_shapes_adds_inference_to_what_is_stored():
    shapes = Shapes(model("(float16[n,3,8,8] x) => (float16[?,?,?,?] y) { a = Relu (x) y = Relu (a) }"))
    assert shapes.dims(((), "a")) == ("n", 3, 8, 8)
    assert shapes.elem_type(((), "a")) == onnx.TensorProto.FLOAT16
    assert shapes.dims(((), "nowhere")) is None


def test_a_negative_size_is_an_unknown_one():
    kind = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [-1, 3, 0, "h"])
    assert dims_of(kind) == (None, 3, 0, "h")


@pytest.mark.parametrize(
    ("given", "returned"), [("float[1, 4]", "float[]"), ("float[]", "float[1, 4]"), ("float[1, 4]", "float[n, 4]")]
)
def test_an_input_that_is_an_output_too_has_the_shape_that_one_of_the_two_places_tells(given, returned):
    passed = model(f"({given} x) => (float[1, 4] y, {returned} x) {{ y = Relu (x) }}")
    for value, told in ((passed.graph.input[0], given), (passed.graph.output[1], returned)):
        if told == "float[]":
            value.type.tensor_type.ClearField("shape")
    assert Shapes(passed).dims(((), "x")) == (1, 4)


UNKNOWN_FIELD = b"\xd2\x02\x04kept"  # number 42, of a later version of ONNX


def test_a_size_that_changes_keeps_its_denotation_and_unknown_fields_and_the_others_stay_as_they_are():
    chain = model(CHAIN)
    chain.graph.value_info.append(helper.make_tensor_sequence_value_info("all", 1, [1, 3, 16, 16]))
    chain.graph.output.append(helper.make_tensor_value_info("shape", onnx.TensorProto.INT64, [4]))
    chain.graph.node.append(helper.make_node("SequenceConstruct", ["r", "r"], ["all"]))
    chain.graph.node.append(helper.make_node("Shape", ["r"], ["shape"]))
    tensors = [tensor_of(value.type) for value in stored_values(chain.graph) if value.name not in ("x", "s")]
    for tensor in tensors:
        tensor.shape.MergeFromString(UNKNOWN_FIELD)
        for axis, dim in enumerate(tensor.shape.dim):
            dim.denotation = f"AXIS_{axis}"
            dim.MergeFromString(UNKNOWN_FIELD)
    before = [tensor.shape.SerializeToString() for tensor in tensors]
    rederive(chain, {((), "up"): (1, 3, None, None)})
    changed = [tensor for tensor, old in zip(tensors, before, strict=True) if tensor.shape.SerializeToString() != old]
    assert [dims_in(tensor.shape)[:2] for tensor in changed] == [(1, 3)] * 4  # up, r, all, y
    for tensor, old in zip(tensors, before, strict=True):
        sizes_aside = onnx.TensorShapeProto.FromString(old)
        for dim in (*tensor.shape.dim, *sizes_aside.dim):
            dim.ClearField("value")
        assert tensor.shape == sizes_aside


@pytest.mark.parametrize("held", [False, True])
def test_no_name_that_inference_invents_is_stored_and_one_of_the_file_is_kept_where_it_holds(held):
    made = model(CHAIN.replace("float[1,3,16,16] y", "float[batch,c,h,w] y"))
    rederive(made, {((), "up"): ("unk__7", "mine", 4, None)}, names_hold=held)
    shapes = stored(made)
    assert not any(str(size).startswith("unk__") for dims in shapes.values() for size in dims)
    assert shapes["y"][1:3] == ["c" if held else "mine", 4]
    assert (shapes["y"] == ["batch", "c", 4, "w"]) == held


def test_a_name_of_the_file_that_looks_invented_is_one_of_the_file():
    made = model(CHAIN.replace("float[1,3,8,8] x", "float[unk__0,3,8,8] x"))
    rederive(made, {((), "up"): ("unk__0", 3, None, None)})
    assert stored(made)["y"][0] == "unk__0"
