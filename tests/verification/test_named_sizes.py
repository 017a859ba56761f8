"""Names of dimensions: told apart where runs show two lengths, kept where the model gives them one."""

import numpy as np
import onnx
import pytest
from live_parser import needs_tensorrt
from onnx import ModelProto, numpy_helper
from onnx_text import model

import resizefix
from resizefix.document.document import Document
from resizefix.faults.names import REUSED, known_names
from resizefix.outcome import Status
from resizefix.runtimes.tensorrt import LiveParser

# A network with states: the source is made smaller by a ratio, and each state has the size of its own level.
RECURRENT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[batch,3,height,width] src, float[batch,4,height,width] r1i, float[batch,4,height,width] r2i, float[1] ratio)
=> (float[batch,4,height,width] pha, float[batch,4,height,width] r1o, float[batch,4,height,width] r2o)
<float[2] ones = {1, 1}, float[4] half = {1, 1, 0.5, 0.5}, int64[1] two = {2}, int64[1] four = {4}, int64[1] zero = {0},
 float[4,3,1,1] w = {1, 0, 1, 0, 2, 1, 1, 0, 0, 3, 1, 1}>
{
  scales = Concat <axis = 0> (ones, ratio, ratio)
  small = Resize <mode = "linear"> (src, "", scales)
  f1 = Conv (small, w)
  s1 = Shape (f1)
  e1 = Expand (r1i, s1)
  r1o = Add (f1, e1)
  f2 = Resize <mode = "linear"> (r1o, "", half)
  s2 = Shape (f2)
  e2 = Expand (r2i, s2)
  r2o = Add (f2, e2)
  shape = Shape (src)
  hw = Slice (shape, two, four)
  nc = Shape <start = 0, end = 2> (r2o)
  sizes = Concat <axis = 0> (nc, hw)
  pha = Resize <mode = "linear"> (r2o, "", "", sizes)
}
"""
EQUAL = {
    "two images that are added": "float[b,3,h,w] x, float[b,3,h,w] z) => (float[b,3,h,w] y) { y = Add (x, z) }",
    "two images that are joined": "float[b,3,h,w] x, float[b,1,h,w] z) => (float[b,4,h,w] y) "
    "{ y = Concat <axis = 1> (x, z) }",
    "one image": "float[b,3,h,w] x) => (float[b,3,h,w] y) { y = Relu (x) }",
    "down and up again": "float[b,3,h,w] x) => (float[b,3,h,w] y) <float[4] s = {1, 1, 8, 8}> "
    '{ p = MaxPool <kernel_shape = [8, 8], strides = [8, 8]> (x) y = Resize (p, "", s) }',
    "two batches that are not joined": "float[b,3,8,8] x, float[b,3,8,8] z) => (float[b,3,8,8] y, float[b,3,8,8] v) "
    "{ y = Relu (x) v = Relu (z) }",
    "text": "int64[b,n] ids, int64[b,n] mask) => (int64[b,n] y) { y = Mul (ids, mask) }",
}

DOUBLED = '(float[b,3,h,w] x) => (float[b,3,h,w] y) <float[4] s = {1, 1, 2, 2}> { y = Resize (x, "", s) }'


def names_of(proto: ModelProto) -> dict[str, list[str]]:
    return {
        value.name: [dim.dim_param or str(dim.dim_value) for dim in value.type.tensor_type.shape.dim]
        for value in (*proto.graph.input, *proto.graph.output)
    }


@pytest.fixture(scope="module")
def recurrent() -> ModelProto:
    proto = onnx.parser.parse_model(RECURRENT)
    onnx.checker.check_model(proto)
    return proto


def test_states_get_names_of_their_own_and_the_rest_stays(recurrent: ModelProto):
    result = resizefix.repair(recurrent)
    names = names_of(result.model)
    assert names["src"] == [*names["pha"][:1], "3", *names["pha"][2:]] == ["batch", "3", "height", "width"]
    assert names["r1i"] == ["batch", "4", "r1i_height", "r1i_width"]
    assert names["r2i"] == ["batch", "4", "r2i_height", "r2i_width"]
    for axis in (2, 3):  # of the first frame a state has one element, and what is made of it the size of the level
        assert len({names[name][axis] for name in ("src", "r1i", "r2i", "r1o", "r2o")}) == 5
    changed = [outcome for outcome in result.outcomes if outcome.status is Status.CHANGED]
    assert {outcome.node: outcome.fault for outcome in changed} == {"height": REUSED, "width": REUSED}
    assert result.verification.passed


def test_everything_else_is_byte_for_byte(recurrent: ModelProto):
    made = resizefix.repair(recurrent).model
    for proto in (copies := [ModelProto(), ModelProto()]):
        proto.CopyFrom(recurrent if proto is copies[0] else made)
        for value in (*proto.graph.input, *proto.graph.output):
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param:
                    dim.dim_param = "?"
    assert copies[0].SerializeToString() == copies[1].SerializeToString()


@needs_tensorrt
def test_tensorrt_builds_it_for_states_of_other_sizes_only_when_it_is_repaired(recurrent: ModelProto):
    frozen = resizefix.freeze_scales(recurrent, set={"ratio": [0.5]}).model
    shapes = {"src": [1, 3, 64, 96], "r1i": [1, 4, 32, 48], "r2i": [1, 4, 16, 24]}
    profile = {name: dict.fromkeys(("min", "opt", "max"), shape) for name, shape in shapes.items()}
    with LiveParser(time_limit=120) as parser:
        before = parser.ask(frozen.SerializeToString(), build=True, profile=profile)
        after = parser.ask(resizefix.repair(frozen).model.SerializeToString(), build=True, profile=profile)
    assert not before.built
    assert any("this name have different constant values" in error.message for error in before.errors)
    assert after.built, after.errors


def test_a_repaired_model_is_repaired_no_further(recurrent: ModelProto):
    once = resizefix.repair(recurrent)
    again = resizefix.repair(once.model)
    assert not [outcome for outcome in again.outcomes if outcome.status is Status.CHANGED]
    assert again.model.SerializeToString() == once.model.SerializeToString()


@pytest.mark.parametrize("text", EQUAL.values(), ids=EQUAL)
def test_names_that_are_truly_equal_stay(text: str):
    proto = model(f"({text}", 17)
    assert known_names(Document.from_proto(proto)) == []
    result = resizefix.repair(proto)
    assert result.outcomes == () or all(one.fault is None for one in result.outcomes)
    assert result.model.SerializeToString() == proto.SerializeToString()


def test_an_output_of_another_size_is_seen_without_a_run():
    proto = model(DOUBLED)
    assert [one.name for one in known_names(Document.from_proto(proto))] == ["h", "w"]
    for verify in (True, False):
        made = resizefix.repair(proto, verify=verify).model
        assert names_of(made) == {"x": ["b", "3", "h", "w"], "y": ["b", "3", "y_h", "y_w"]}


def test_a_selected_node_leaves_names_alone():
    proto = model(DOUBLED)
    assert resizefix.repair(proto, node="#0").model.SerializeToString() == proto.SerializeToString()


def test_a_name_that_is_taken_is_not_given_again():
    text = 'float[b,3,h,y_h] x) => (float[b,3,h,y_h] y) <float[4] s = {1, 1, 2, 1}> { y = Resize (x, "", s) }'
    proto = model(f"({text}", 17)
    assert names_of(resizefix.repair(proto).model)["y"] == ["b", "3", "y_h_1", "y_h"]


def test_a_size_that_follows_a_second_image_takes_its_name():
    text = (
        "float[b,1,h,w] depth, float[b,3,h,w] rgb) => (float[b,1,h,w] y) <int64[1] two = {2}, int64[1] four = {4}> "
        "{ s = Shape (rgb) hw = Slice (s, two, four) d = Shape (depth) zero = Constant <value_ints = [0]> () "
        'bc = Slice (d, zero, two) sizes = Concat <axis = 0> (bc, hw) y = Resize (depth, "", "", sizes) }'
    )
    proto = model(f"({text}", 17)
    names = names_of(resizefix.repair(proto).model)
    assert names["depth"] == ["b", "1", "h", "w"]
    assert names["rgb"][2:] == names["y"][2:] == ["rgb_h", "rgb_w"]


def test_weights_do_not_count_as_inputs():
    proto = model("(float[b,3,h,w] x) => (float[b,3,h,w] y) { y = Add (x, k) }", 7, ir=3)
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((1, 3, 1, 1), np.float32), "k"))
    proto.graph.input.append(onnx.helper.make_tensor_value_info("k", 1, ["b", 3, "h", "w"]))
    assert known_names(Document.from_proto(proto)) == []
