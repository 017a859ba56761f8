"""A small model for each fault: wrong before, right after; and the faults that are refused."""

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper
from ort_runs import opened
from test_repaired_files import BROKEN

import resizefix
from resizefix.document.document import Document
from resizefix.faults.table import FINDERS, faults_in
from resizefix.outcome import Status

SCALES = "float[4] s = {1, 1, 2, 2}"
TEXTS = {
    "Upsample beyond opset 9": (13, "y = Upsample <mode = \"nearest\"> (x, s)", SCALES, "wrong-opset"),
    "Upsample at opset 10": (10, "y = Upsample <mode = \"linear\"> (x, s)", SCALES, "wrong-opset"),
    "attribute scales at opset 9": (9, "y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (x)", "", "wrong-opset"),
    "two inputs at opset 8": (8, "y = Upsample <mode = \"linear\"> (x, s)", SCALES, "wrong-opset"),
    "Upsample-1 at opset 7": (7, "y = Upsample <height_scale = 2.0, width_scale = 2.0> (x)", "", "wrong-opset"),
    "Resize at opset 9": (9, "y = Resize <mode = \"linear\"> (x, s)", SCALES, "wrong-opset"),
    "downscaling Upsample-9": (9, "y = Upsample (x, s)", "float[4] s = {1, 1, 0.5, 0.5}", "wrong-opset"),
    "Resize-11 at opset 10": (
        10, 'y = Resize <coordinate_transformation_mode = "half_pixel"> (x, "", s)', SCALES, "wrong-opset",
    ),
    "scales in roi's place": (13, 'y = Resize <coordinate_transformation_mode = "asymmetric"> (x, s)', SCALES,
                              "operand-spelling"),
    "cubic scales in roi's place, which no opset 10 has": (
        13, 'y = Resize <mode = "cubic"> (x, s)', SCALES, "operand-spelling",
    ),
    "a renamed Upsample": (13, "y = Resize <mode = \"nearest\"> (x, s)", SCALES, "wrong-opset"),
    "sizes in roi's place": (13, "y = Resize (x, s)", "int64[4] s = {1, 3, 16, 16}", "operand-spelling"),
    "computed sizes in the place of scales": (
        11, 'a = Shape (x) b = Mul (a, f) y = Resize (x, "", b)', "int64[4] f = {1, 1, 2, 2}", "operand-spelling",
    ),
    "sizes as real numbers in the place of scales": (
        13, 'y = Resize (x, "", s)', "float[4] s = {1, 3, 16, 16}, float[1,3,16,16] y", "operand-spelling",
    ),
    "scales of shape [4, 1]": (
        13, 'y = Resize (x, "", s)', "float[4,1] s = {1, 1, 2, 2}, float[1,3,16,16] y", "extent-shape",
    ),
    "'' for roi at opset 11": (11, 'y = Resize (x, "", s)', SCALES, "operand-spelling"),
    "mode bilinear": (13, 'y = Resize <mode = "bilinear"> (x, "", s)', SCALES, "attribute-spelling"),
    "a blank in a mode": (
        13, 'y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners "> (x, "", s)', SCALES,
        "attribute-spelling",
    ),
    "align_corners": (13, 'y = Resize <mode = "linear", align_corners = 1> (x, "", s)', SCALES, "unknown-attribute"),
    "stretch before opset 18": (
        13, 'y = Resize <keep_aspect_ratio_policy = "stretch"> (x, "", s)', SCALES, "unknown-attribute",
    ),
    "antialias as FLOAT": (18, 'y = Resize <antialias = 0.0> (x, "", s)', SCALES, "attribute-type"),
    "float16 scales": (13, 'y = Resize (x, "", s)', "float16[4] s = {1, 1, 2, 2}", "float16-extent"),
    "float64 scales": (13, 'y = Resize (x, "", s)', "double[4] s = {1, 1, 2, 2}", "operand-type"),
    "int64 scales": (13, 'y = Resize (x, "", s)', "int64[4] s = {1, 1, 2, 2}", "operand-type"),
    "int32 sizes": (13, 'y = Resize (x, "", "", s)', "int32[4] s = {1, 3, 16, 16}", "operand-type"),
    "computed float16 scales": (
        13, 'a = Shape (x) b = Cast <to = 10> (a) c = Div (b, b) d = Add (c, c) y = Resize (x, "", d)', "",
        "float16-extent",
    ),
    "empty scales behind a Cast": (
        13, 'e = Cast <to = 1> (h) y = Resize (x, "", e, s)', "float16[0] h = {}, int64[4] s = {1, 3, 16, 16}",
        "empty-operand",
    ),
    "scales and sizes": (
        13, 'y = Resize (x, "", s, z)', f"{SCALES}, int64[4] z = {{1, 3, 16, 16}}", "both-extents",
    ),
    "neither scales nor sizes": (13, "y = Resize (x)", "float[1,3,16,16] y", "no-extent"),
    "sizes with -1": (13, 'y = Resize (x, "", "", s)', "int64[4] s = {-1, 3, 16, 16}", "placeholder-size"),
    "a scale of 0": (13, 'y = Resize (x, "", s)', "float[4] s = {1, 1, 0, 0}, float[1,3,16,16] y", "impossible-extent"),
    "two scales for four axes": (
        13, 'y = Resize (x, "", s)', "float[2] s = {2, 2}, float[1,3,16,16] y", "short-extent",
    ),
    "nearly one": (13, 'y = Resize (x, "", s)', "float[4] s = {0.9999999, 0.9999999, 2, 2}", "unit-scale"),
    "a lost pixel": (
        13, 'y = Resize (x, "", s)', "float[4] s = {1, 1, 1.1249, 2}, float[1,3,9,16] y", "lost-pixel",
    ),
    "a lost pixel behind a Transpose": (
        13, 'r = Resize (x, "", s) y = Transpose <perm = [0, 2, 3, 1]> (r)',
        "float[4] s = {1, 1, 1.1249, 2}, float[1,9,16,3] y", "lost-pixel",
    ),
    "a lost pixel that is weighted, at an Add": (
        13, 'w = ConstantOfShape (k) a = Relu (w) r = Resize (x, "", s) b = Mul (v, r) y = Add (a, b)',
        "float[4] s = {1, 1, 1.1249, 2}, int64[4] k = {1, 3, 9, 16}, float[1,1] v = {3}", "lost-pixel",
    ),
    "a lost pixel at a Concat": (
        13, 'w = ConstantOfShape (k) r = Resize (x, "", s) t = Relu (r) y = Concat <axis = 1> (w, t)',
        "float[4] s = {1, 1, 1.1249, 2}, int64[4] k = {1, 5, 9, 16}", "lost-pixel",
    ),
    "a lost asymmetric": (
        11, 'y = Resize <mode = "nearest"> (x, r, s)', f"{SCALES}, float[8] r = {{0, 0, 0, 0, 1, 1, 1, 1}}",
        "lost-asymmetric",
    ),
    "a stale type behind a long chain": (
        13, "y0 = Neg (x) " + " ".join(f"y{n + 1} = Neg (y{n})" for n in range(500))
        + ' y = Resize (y500, "", s) z = Cast <to = 10> (y)', f"{SCALES}, float16[1,3,16,16] y", "stale-type",
    ),
    "a stale type": (
        13, 'y = Resize (x, "", s) z = Cast <to = 10> (y)', f"{SCALES}, float16[1,3,16,16] y", "stale-type",
    ),
}  # fmt: skip


def small(opset: int, nodes: str, rest: str, data: str = "float[1,3,8,8] x") -> Document:
    """`rest`: initializers, and the stored type of y."""
    entries = [entry.strip() for entry in rest.replace("}, ", "}| ").replace("] y", "] y|").split("|") if entry.strip()]
    last = "z" if " z = " in nodes else "y"
    stored = ", ".join(entry.strip(", ") for entry in entries)
    kind = "float16" if last == "z" else "float"
    text = (
        f'<ir_version: 8, opset_import: ["" : {opset}]> g ({data}) => ({kind}[a, b, c, d] {last}) '
        f"{f'<{stored}>' if stored else ''} {{ {nodes} }}"
    )
    model = onnx.parser.parse_model(text)
    if last == "y":  # the parser puts a type of an output beside it, where exporters have one
        known = [value for value in model.graph.value_info if value.name == "y"]
        for value in known:
            model.graph.output[0].type.CopyFrom(value.type)
            model.graph.value_info.remove(value)
    return Document.from_proto(model)


@pytest.mark.parametrize("name", TEXTS)
def test_each_fault_is_named_and_fixed(name):
    opset, nodes, rest, fault = TEXTS[name]
    document = small(opset, nodes, rest)
    result = resizefix.repair(document.to_proto())
    (outcome,) = result.outcomes
    assert outcome.status is Status.CHANGED, outcome.reason
    assert outcome.fault is not None
    assert fault in outcome.fault.split(", ")
    assert result.verification.passed
    opened(result.model, optimized=True)


def test_every_finder_is_covered_by_a_text_or_a_file():
    from resizefix.dialects.model_view import ModelView
    from resizefix.faults.fault import Preferences
    from resizefix.faults.resize_node import ResizeNode, Surroundings

    documents = [small(*row[:3]) for row in TEXTS.values()]
    documents += [Document.open(path) for path in BROKEN.glob("*.onnx")]
    fired = set()
    for document in documents:
        surroundings = Surroundings(ModelView(document))
        for scope in surroundings.view.scopes.all:
            for index, node in enumerate(scope.body.node):
                if node.op_type in ("Resize", "Upsample"):
                    found = ResizeNode(surroundings, scope, index)
                    fired |= {find.__name__ for find in FINDERS if find(found, Preferences(remove_identity=True))}
    in_tests_of_their_own = {"identity", "half_a_cast_pair"}
    assert {find.__name__ for find in FINDERS} <= fired | in_tests_of_their_own


REFUSED = {
    "scales that contradict sizes": (
        13, 'y = Resize (x, "", s, z)', f"{SCALES}, int64[4] z = {{1, 3, 20, 20}}", "--prefer scales or --prefer sizes",
    ),
    "a mode of no version": (13, 'y = Resize <mode = "area"> (x, "", s)', SCALES, "mode is 'area'"),
    "nothing says how far": (13, "y = Resize (x)", "", "no stored shape says how large its output is"),
    "a cubic Upsample": (13, 'y = Upsample <mode = "cubic"> (x, s)', SCALES, "its coordinates are not known"),
    "an attribute of no version": (13, 'y = Resize <height = 3> (x, "", s)', SCALES, "has no attribute height"),
    "an operator that opset 9 changed": (
        8, 'b = BatchNormalization <spatial = 0> (x, x, x, x, x) y = Resize (b, s)', SCALES,
        "BatchNormalization node 'b' cannot be raised to opset 9",
    ),
    "an attribute twice": (
        18, 'y = Resize <antialias = 1, antialias = 0.0> (x, "", s)', SCALES, "another attribute of that name",
    ),
    "a node of opset 10 or of today": (13, 'y = Resize <mode = "linear"> (x, s)', SCALES, "of opset 13 at half_pixel"),
    "whole numbers of two readings": (13, 'y = Resize (x, "", s)', "int64[4] s = {2, 3, 2, 2}", "--prefer scales"),
    "sizes before opset 11": (10, "y = Resize (x, s)", "int64[4] s = {1, 3, 16, 16}", "of opset 10 has none"),
    "sizes where scales are": (8, "y = Upsample (x, s) ", "int32[2] s = {16, 16}", "one scale per axis"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_fault_whose_meaning_is_not_certain_is_refused_with_the_reason(name):
    opset, nodes, rest, reason = REFUSED[name]
    document = small(opset, nodes, rest)
    result = resizefix.repair(document.to_proto())
    assert not result.changed
    (outcome,) = result.outcomes
    assert outcome.status is Status.REFUSED
    assert reason in (outcome.reason or "")
    assert result.model == document.to_proto()


@pytest.mark.parametrize("place", ["s", "z"])
def test_an_operand_of_strings_is_refused_and_no_cast_is_tried(place):
    inputs = {"s": 'x, "", s', "z": 'x, "", "", s'}[place]
    document = small(13, f"y = Resize ({inputs})", SCALES)
    document.proto.graph.initializer[0].CopyFrom(onnx.helper.make_tensor("s", 8, [4], [b"1", b"1", b"2", b"two"]))
    (outcome,) = resizefix.repair(document.to_proto()).outcomes
    assert outcome.status is Status.REFUSED
    assert "string" in outcome.reason


TWO_EXTENTS_TWICE = """<ir_version: 8, opset_import: ["" : 13]> g (float[1,3,8,8] x) => (float[a, b, c, d] y)
  <float[4] s = {1, 1, 2, 2}, int64[4] z = {1, 3, 16, 16}, int64[4] w = {1, 3, 32, 32}> {
    [first] h = Resize (x, "", s, z) [second] y = Resize (h, "", s, w)
  }"""


def test_a_node_whose_sizes_the_repair_of_another_tells_is_repaired_too():
    result = resizefix.repair(onnx.parser.parse_model(TWO_EXTENTS_TWICE))
    assert [outcome.status for outcome in result.outcomes] == [Status.CHANGED] * 2
    (output,) = opened(result.model, optimized=True).run(None, {"x": np.ones((1, 3, 8, 8), np.float32)})
    assert output.shape == (1, 3, 32, 32)


def test_a_file_that_does_not_load_for_a_resize_that_was_not_selected_names_it():
    with pytest.raises(
        resizefix.VerificationFailedError, match=r"second was not repaired: both .*; it was not selected"
    ):
        resizefix.repair(onnx.parser.parse_model(TWO_EXTENTS_TWICE), node="first")


def test_a_file_that_does_not_load_for_a_resize_that_cannot_be_repaired_says_why():
    broken = onnx.parser.parse_model(TWO_EXTENTS_TWICE.replace("32, 32", "20, 20"))
    with pytest.raises(
        resizefix.VerificationFailedError, match=r"second was not repaired: both .*choose with --prefer"
    ):
        resizefix.repair(broken)


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("batch", [1, 2, 3])
def test_sizes_that_freeze_the_batch_follow_it_afterwards(opset, batch):
    roi = "e, e" if opset == 11 else '"", ""'
    rest = "int64[4] z = {1, 3, 16, 20}, float[0] e = {}"
    document = small(opset, f"y = Resize (x, {roi}, z)", rest, data="float[N,3,8,8] x")
    result = resizefix.repair(document.to_proto())
    assert result.outcomes[0].fault == "frozen-batch"
    (output,) = opened(result.model, optimized=True).run(None, {"x": np.ones((batch, 3, 8, 8), np.float32)})
    assert output.shape == (batch, 3, 16, 20)


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_a_stored_shape_that_the_repair_makes_untrue_is_derived_again(opset):
    roi = "e, e" if opset == 11 else '"", ""'
    nodes = f"h = Resize (x, {roi}, z) y = Shape (h)"
    text = (
        f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[N,3,8,8] x) => (int64[4] y) '
        f"<int64[4] z = {{1, 3, 16, 20}}, float[0] e = {{}}, float[1,3,16,20] h> {{ {nodes} }}"
    )
    made = resizefix.repair(onnx.parser.parse_model(text)).model
    for optimized in (False, True):  # optimising folds Shape to what is stored
        (shape,) = opened(made, optimized=optimized).run(None, {"x": np.ones((2, 3, 8, 8), np.float32)})
        assert shape.tolist() == [2, 3, 16, 20]


def test_attributes_at_their_defaults_hide_no_frozen_batch():
    nodes = 'y = Resize <keep_aspect_ratio_policy = "stretch", antialias = 0> (x, "", "", z)'
    document = small(18, nodes, "int64[4] z = {1, 3, 16, 20}", data="float[N,3,8,8] x")
    assert resizefix.repair(document.to_proto()).outcomes[0].fault == "frozen-batch"


ONES = "int64[4] z = {1, 1, 16, 20}"


@pytest.mark.parametrize("opset", [11, 13, 18])
def test_sizes_that_lose_channels_keep_them_afterwards(opset):
    roi = "e, e" if opset == 11 else '"", ""'
    document = small(opset, f"y = Resize (x, {roi}, z)", f"{ONES}, float[0] e = {{}}, float[1,3,16,20] y")
    result = resizefix.repair(document.to_proto())
    assert result.outcomes[0].fault == "lost-channels"
    image = np.random.RandomState(0).rand(1, 3, 8, 8).astype(np.float32)
    (output,) = opened(result.model, optimized=True).run(None, {"x": image})
    right = small(opset, f"y = Resize (x, {roi}, z)", "int64[4] z = {1, 3, 16, 20}, float[0] e = {}")
    assert np.array_equal(output, opened(right.to_proto(), optimized=True).run(None, {"x": image})[0])


def test_channels_that_nothing_says_are_to_stay_are_left_as_they_are():
    document = small(13, 'y = Resize (x, "", "", z)', ONES)
    assert not resizefix.repair(document.to_proto()).changed


def test_a_resize_by_one_is_removed_on_request_alone():
    document = small(13, 'y = Resize (x, "", s)', "float[4] s = {1, 1, 1, 1}")
    assert not resizefix.repair(document.to_proto()).changed
    made = resizefix.repair(document.to_proto(), remove_identity=True).model
    assert [node.op_type for node in made.graph.node] == ["Identity"]


def test_the_cast_that_is_missing_behind_a_node_is_added():
    text = """<ir_version: 8, opset_import: ["" : 13]> g (float16[1,3,8,8] x) => (float16[a, b, c, d] z)
      <float[4] s = {1, 1, 2, 2}, float16[1] one = {1}> {
        c = Cast <to = 1> (x) y = Resize (c, "", s) z = Mul (y, one)
      }"""
    result = resizefix.repair(onnx.parser.parse_model(text))
    assert result.outcomes[0].fault == "cast-pair"
    opened(result.model, optimized=True)


def test_a_scale_that_went_through_float16_is_the_one_that_was_meant():
    for meant in (1.2, 1.7, 0.6, 4 / 3, 2.5, 0.1):
        stored = numpy_helper.from_array(np.array([1, 1, meant, meant], np.float16), "s")
        document = small(13, 'y = Resize (x, "", s)', SCALES)
        document.proto.graph.initializer[0].CopyFrom(stored)
        made = resizefix.repair(document.to_proto(), shape={"x": (1, 3, 8, 8)}).model
        (scales,) = (numpy_helper.to_array(t) for t in made.graph.initializer if t.dims == [4])
        assert scales[2] == np.float32(meant)


def test_a_stored_size_that_is_the_whole_part_of_the_product_does_not_contradict_a_rounded_scale():
    stored = numpy_helper.from_array(np.array([1, 1, 1.8, 1.8], np.float16), "s")
    document = small(13, 'y = Resize (x, "", s)', f"{SCALES}, float[1,3,14,14] y")
    document.proto.graph.initializer[0].CopyFrom(stored)
    made = resizefix.repair(document.to_proto()).model
    (scales,) = (numpy_helper.to_array(t) for t in made.graph.initializer if t.dims == [4])
    assert scales[2] == np.float32(1.8)


@pytest.mark.parametrize("name", ["srcnn_x3_opset11", "bisenet_x8_linear_opset9", "unet_linear_dynamo23"])
def test_a_right_model_has_no_fault_and_comes_back_as_it_was(name, tmp_path):
    path = BROKEN.parent / f"{name}.onnx"
    assert [fault for faults in faults_in_file(path) for fault in faults] == []
    result = resizefix.repair(path)
    assert not result.changed
    result.model.save(tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx").read_bytes() == path.read_bytes()


def faults_in_file(path: Path):
    from resizefix.dialects.model_view import ModelView

    return faults_in(ModelView(Document.open(path)))


@pytest.mark.parametrize("behind", ["Relu", "Sigmoid", "Identity", "Clip"])
@pytest.mark.parametrize(("operands", "rest"), [("h", ""), ('h, "", s', "float[2] s = {2, 2}, ")])
def test_the_stored_shape_may_stand_behind_an_operator_that_keeps_shapes(behind, operands, rest):
    text = f"h = Relu (x) r = Resize ({operands}) q = {behind} (r) y = Relu (q)"
    result = resizefix.repair(small(13, text, f"{rest}float[1,3,16,16] y").to_proto())
    assert result.outcomes[0].status is Status.CHANGED
    (output,) = opened(result.model, optimized=True).run(None, {"x": np.ones((1, 3, 8, 8), np.float32)})
    assert output.shape == (1, 3, 16, 16)


@pytest.mark.parametrize("behind", ["MaxPool <kernel_shape = [2, 2]> (r)", "d.Relu (r)", "Transpose (r)"])
def test_a_shape_behind_another_operator_says_nothing(behind):
    model = small(13, f"r = Resize (x) y = {behind}", "float[1,3,16,16] y").to_proto()
    model.opset_import.append(onnx.helper.make_opsetid("d", 1))
    assert resizefix.repair(model).outcomes[0].status is Status.REFUSED


def test_a_stored_shape_with_a_size_of_0_is_not_what_was_meant():
    scales = "float[4] s = {0.9960785, 0.9960785, 2, 2}, float[0,2,16,16] r"
    broken = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[1,3,8,8] x) => (float[1,3,16,16] y)'
        f' <{scales}> {{ r = Resize (x, "", s) y = Relu (r) }}'
    )
    made = resizefix.repair(broken)
    assert made.outcomes[0].fault == "unit-scale"
    (output,) = opened(made.model, optimized=True).run(None, {"x": np.ones((1, 3, 8, 8), np.float32)})
    assert output.shape == (1, 3, 16, 16)


@pytest.mark.parametrize("kind", ["initializer", "Constant"])
@pytest.mark.parametrize("opset", [11, 13, 18])
def test_values_of_a_data_file_are_put_into_the_model(kind, opset, tmp_path):
    roi = "e" if opset == 11 else '""'
    rest = "float[4] s = {1, 1, 2, 2}, float[0] e = {}"
    model = small(opset, f"y = Resize (x, {roi}, s)", rest).to_proto()
    for tensor in model.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
    if kind == "Constant":
        node = onnx.helper.make_node("Constant", [], ["s"], value=model.graph.initializer[0])
        model.graph.node.insert(0, node)
        del model.graph.initializer[0]
    path = tmp_path / "model.onnx"
    external = {"save_as_external_data": True, "size_threshold": 0, "convert_attribute": True}
    onnx.save_model(model, path, **external)
    with pytest.raises(Exception, match="Cannot parse data from external tensors"):
        opened(onnx.load(path, load_external_data=False), optimized=True)
    result = resizefix.repair(path)
    assert result.outcomes[0].fault == "external-extent"
    result.model.save(tmp_path / "fixed.onnx")
    (output,) = opened(onnx.load(tmp_path / "fixed.onnx"), optimized=True).run(
        None, {"x": np.ones((1, 3, 8, 8), np.float32)}
    )
    assert output.shape == (1, 3, 16, 16)


@pytest.mark.parametrize("opset", [11, 13, 18])  # Cast takes bfloat16 from opset 13 on
def test_bfloat16_scales_are_the_factors_that_were_rounded(opset):
    document = small(opset, f"y = Resize (x, {'e' if opset == 11 else chr(34) * 2}, s)", f"{SCALES}, float[0] e = {{}}")
    stored = onnx.helper.make_tensor("s", onnx.TensorProto.BFLOAT16, [4], [1, 1, 1.2, 2.5])
    document.proto.graph.initializer[0].CopyFrom(stored)
    result = resizefix.repair(document.to_proto())
    assert result.outcomes[0].fault == "float16-extent"
    (scales,) = (numpy_helper.to_array(tensor) for tensor in result.model.graph.initializer if tensor.dims == [4])
    assert scales.tolist() == np.array([1, 1, 1.2, 2.5], np.float32).tolist()
    opened(result.model, optimized=True)
