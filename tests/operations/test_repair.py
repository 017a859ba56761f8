"""A small model for each fault: wrong before, right after; and the faults that are refused."""

import numpy as np
import onnx
import pytest
from onnx import ModelProto, numpy_helper
from onnx_text import model
from ort_runs import opened
from resize_texts import in_another_file, refusal, resizing, statuses
from test_repaired_files import BROKEN

import resizefix
from resizefix.document.document import Document
from resizefix.faults import types
from resizefix.faults.fault import Preferences
from resizefix.faults.table import ROWS, faults_in, resize_nodes
from resizefix.outcome import Status
from resizefix.shapes.stored_shapes import ModelView

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
    "an axis twice, with scales": (
        18, 'y = Resize <axes = [2, 3, 3]> (x, "", s)', "float[3] s = {2, 2, 2}", "repeated-axis",
    ),
    "an axis twice, once from behind, with sizes": (
        19, 'y = Resize <axes = [3, 2, -1]> (x, "", "", s)', "int64[3] s = {16, 24, 16}", "repeated-axis",
    ),
    "an axis twice, with scales and sizes": (
        18, 'y = Resize <axes = [2, 3, 3]> (x, "", s, z)', "float[3] s = {2, 2, 2}, int64[3] z = {16, 16, 16}",
        "repeated-axis",
    ),
    "neither scales nor sizes": (13, "y = Resize (x)", "float[1,3,16,16] y", "no-extent"),
    "sizes with -1": (13, 'y = Resize (x, "", "", s)', "int64[4] s = {-1, 3, 16, 16}", "placeholder-size"),
    "a scale of 0": (13, 'y = Resize (x, "", s)', "float[4] s = {1, 1, 0, 0}, float[1,3,16,16] y", "impossible-extent"),
    "two sizes": (13, 'y = Resize (x, "", "", s)', "int64[2] s = {16, 16}, float[1,3,16,16] y", "short-extent"),
    "two scales for four axes": (
        13, 'y = Resize (x, "", s)', "float[2] s = {2, 2}, float[1,3,16,16] y", "short-extent",
    ),
    "two scales in an attribute": (8, "y = Upsample <scales = [2.0, 2.0]> (x)", "float[1,3,16,16] y", "short-extent"),
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


def small(opset: int, nodes: str, rest: str, x: str = "float[1,3,8,8] x") -> ModelProto:
    """`rest`: initializers, and the stored type of y."""
    last, kind = ("z", "float16") if " z = " in nodes else ("y", "float")
    model = resizing(nodes, rest.strip(", "), x, f"{kind}[a, b, c, d] {last}", opset=opset)
    for value in [value for value in model.graph.value_info if value.name == last]:
        model.graph.output[0].type.CopyFrom(value.type)  # where exporters have it; the parser puts it beside it
        model.graph.value_info.remove(value)
    return model


def shape_of(model: ModelProto, *x: int) -> tuple[int, ...]:
    """The shape of the output for an input of this shape."""
    return opened(model, optimized=True).run(None, {"x": np.ones(x or (1, 3, 8, 8), np.float32)})[0].shape


def scales_in(model: ModelProto) -> np.ndarray:
    (scales,) = (numpy_helper.to_array(tensor) for tensor in model.graph.initializer if tensor.dims == [4])
    return scales


@pytest.mark.parametrize(("opset", "nodes", "rest", "fault"), TEXTS.values(), ids=TEXTS)
def test_each_fault_is_named_and_fixed(opset, nodes, rest, fault):
    result = resizefix.repair(small(opset, nodes, rest))
    (outcome,) = result.outcomes
    assert outcome.status is Status.CHANGED, outcome.reason
    assert fault in (outcome.fault or "").split(", ")
    assert result.verification.passed
    opened(result.model, optimized=True)


def test_every_finder_is_covered_by_a_text_or_a_file_and_names_the_faults_of_its_row():
    documents = [Document.from_proto(small(*row[:3])) for row in TEXTS.values()]
    documents += [Document.open(path) for path in BROKEN.glob("*.onnx")]
    fired = set()
    for document in documents:
        for node in resize_nodes(ModelView(document)):
            for row in ROWS:
                fault = row.find(node, Preferences(remove_identity=True))
                if fault is not None:
                    assert fault.name in row.names
                    fired.add(row.find)
    wanted = {row.find for row in ROWS if not row.on_request} - {types.half_a_cast_pair}  # has a test of its own
    missing = sorted(find.__name__ for find in wanted - fired)
    assert not missing, f"neither a row of TEXTS nor a file of fixtures/broken shows {missing}"


REFUSED = {
    "scales that contradict sizes": (
        13, 'y = Resize (x, "", s, z)', f"{SCALES}, int64[4] z = {{1, 3, 20, 20}}", 'prefer="scales" or prefer="sizes"',
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
    "whole numbers of two readings": (13, 'y = Resize (x, "", s)', "int64[4] s = {2, 3, 2, 2}", 'prefer="scales"'),
    "two sizes of which axes": (13, 'y = Resize (x, "", "", s)', "int64[2] s = {16, 16}", "it has 2 sizes, and"),
    "five scales": (13, 'y = Resize (x, "", s)', "float[5] s = {1, 1, 1, 2, 2}", "one number for each axis"),
    "scales beside other axes": (18, 'y = Resize <axes = [2, 3]> (x, "", s)', SCALES, "its attribute axes names"),
    "two scales for one axis": (
        18, 'y = Resize <axes = [2, 3, 3]> (x, "", s)', "float[3] s = {2, 2, 3}",
        "the numbers of its scales for that axis differ: [2.0, 2.0, 3.0]",
    ),
    "computed sizes for an axis that stands twice": (
        18, 'a = Shape <start = 1> (x) y = Resize <axes = [2, 3, 3]> (x, "", "", a)', "", "computed at run time",
    ),
    "an axis twice, and an output that is scaled twice": (
        18, 'y = Resize <axes = [2, 3, 3]> (x, "", s)', "float[3] s = {2, 2, 2}, float[1,3,16,32] y",
        "its stored output shape [1, 3, 16, 32] is another",
    ),
    "an axis twice, with two scales": (
        18, 'y = Resize <axes = [2, 3, 3]> (x, "", s)', "float[2] s = {2, 2}", "its attribute axes names",
    ),
    "sizes before opset 11": (10, "y = Resize (x, s)", "int64[4] s = {1, 3, 16, 16}", "of opset 10 has none"),
    "sizes where scales are": (8, "y = Upsample (x, s) ", "int32[2] s = {16, 16}", "one scale per axis"),
}  # fmt: skip


@pytest.mark.parametrize(("opset", "nodes", "rest", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_fault_whose_meaning_is_not_certain_is_refused_with_the_reason(opset, nodes, rest, reason):
    broken = small(opset, nodes, rest)
    result = resizefix.repair(broken, on_refusal="return")
    assert not result.changed
    assert reason in refusal(result)
    assert result.model == broken


@pytest.mark.parametrize("operands", ['x, "", s', 'x, "", "", s'])
def test_an_operand_of_strings_is_refused_and_no_cast_is_tried(operands):
    broken = small(13, f"y = Resize ({operands})", 'string[4] s = {"1", "1", "2", "two"}')
    assert "string" in refusal(resizefix.repair(broken, on_refusal="return"))


@pytest.mark.parametrize(("end", "is_certain"), [(0.5, True), (0.75, False)])
def test_an_axis_that_stands_twice_goes_from_the_roi_too_where_its_ends_agree(end, is_certain):
    crop = 'coordinate_transformation_mode = "tf_crop_and_resize", mode = "linear"'
    roi = f"float[6] r = {{0, 0.25, 0.25, 1, 0.5, {end}}}"
    broken = small(18, f"y = Resize <axes = [2, 3, 3], {crop}> (x, r, s)", f"float[3] s = {{2, 2, 2}}, {roi}")
    result = resizefix.repair(broken, on_refusal="return")
    if is_certain:
        wanted = small(18, f"y = Resize <axes = [2, 3], {crop}> (x, r, s)",
                       "float[2] s = {2, 2}, float[4] r = {0, 0.25, 1, 0.5}")  # fmt: skip
        x = {"x": np.arange(192, dtype=np.float32).reshape(1, 3, 8, 8)}
        outputs = [opened(one, optimized=True).run(None, x)[0] for one in (result.model, wanted)]
        assert np.array_equal(*outputs)
    else:
        assert "its roi for that axis differ: [0.0, 0.25, 0.25, 1.0, 0.5, 0.75]" in refusal(result)


TWO_EXTENTS_TWICE = """(float[1,3,8,8] x) => (float[a, b, c, d] y)
  <float[4] s = {1, 1, 2, 2}, int64[4] z = {1, 3, 16, 16}, int64[4] w = {1, 3, 32, 32}> {
    [first] h = Resize (x, "", s, z) [second] y = Resize (h, "", s, w)
  }"""


def test_a_node_whose_sizes_the_repair_of_another_tells_is_repaired_too():
    result = resizefix.repair(model(TWO_EXTENTS_TWICE))
    assert statuses(result) == [Status.CHANGED] * 2
    assert shape_of(result.model) == (1, 3, 32, 32)


@pytest.mark.parametrize(
    ("last", "options", "why"), [(32, {"node": "first"}, "it was not selected"), (20, {}, "choose with prefer=")]
)
def test_a_file_that_does_not_load_for_a_resize_that_was_not_repaired_names_it_and_says_why(last, options, why):
    broken = model(TWO_EXTENTS_TWICE.replace("32, 32", f"{last}, {last}"))
    with pytest.raises(resizefix.VerificationFailedError, match=rf"second was not repaired: both .*{why}"):
        resizefix.repair(broken, **options)


each_form = pytest.mark.parametrize(("opset", "roi"), [(11, "e"), (13, ""), (18, "")])


@each_form
@pytest.mark.parametrize("batch", [1, 2, 3])
def test_sizes_that_freeze_the_batch_follow_it_afterwards(opset, roi, batch):
    rest = "int64[4] z = {1, 3, 16, 20}, float[0] e = {}"
    result = resizefix.repair(small(opset, f"y = Resize (x, {roi}, {roi}, z)", rest, "float[N,3,8,8] x"))
    assert result.outcomes[0].fault == "frozen-batch"
    assert shape_of(result.model, batch, 3, 8, 8) == (batch, 3, 16, 20)


@each_form
def test_a_stored_shape_that_the_repair_makes_untrue_is_derived_again(opset, roi):
    nodes = f"h = Resize (x, {roi}, {roi}, z) y = Shape (h)"
    rest = "int64[4] z = {1, 3, 16, 20}, float[0] e = {}, float[1,3,16,20] h"
    made = resizefix.repair(resizing(nodes, rest, "float[N,3,8,8] x", "int64[4] y", opset=opset)).model
    for optimized in (False, True):  # optimising folds Shape to what is stored
        (shape,) = opened(made, optimized=optimized).run(None, {"x": np.ones((2, 3, 8, 8), np.float32)})
        assert shape.tolist() == [2, 3, 16, 20]


def test_attributes_at_their_defaults_hide_no_frozen_batch():
    nodes = 'y = Resize <keep_aspect_ratio_policy = "stretch", antialias = 0> (x, "", "", z)'
    broken = small(18, nodes, "int64[4] z = {1, 3, 16, 20}", "float[N,3,8,8] x")
    assert resizefix.repair(broken).outcomes[0].fault == "frozen-batch"


ONES = "int64[4] z = {1, 1, 16, 20}"


@each_form
def test_sizes_that_lose_channels_keep_them_afterwards(opset, roi):
    node = f"y = Resize (x, {roi}, {roi}, z)"
    result = resizefix.repair(small(opset, node, f"{ONES}, float[0] e = {{}}, float[1,3,16,20] y"))
    assert result.outcomes[0].fault == "lost-channels"
    image = np.random.RandomState(0).rand(1, 3, 8, 8).astype(np.float32)
    right = small(opset, node, "int64[4] z = {1, 3, 16, 20}, float[0] e = {}")
    found, wanted = (opened(each, optimized=True).run(None, {"x": image})[0] for each in (result.model, right))
    assert np.array_equal(found, wanted)


def test_channels_that_nothing_says_are_to_stay_are_left_as_they_are():
    assert not resizefix.repair(small(13, 'y = Resize (x, "", "", z)', ONES)).changed


def test_a_resize_by_one_is_removed_on_request_alone():
    identity = small(13, 'y = Resize (x, "", s)', "float[4] s = {1, 1, 1, 1}")
    assert not resizefix.repair(identity).changed
    made = resizefix.repair(identity, remove_identity=True).model
    assert [node.op_type for node in made.graph.node] == ["Identity"]


def test_the_cast_that_is_missing_behind_a_node_is_added():
    nodes = 'c = Cast <to = 1> (x) y = Resize (c, "", s) z = Mul (y, one)'
    result = resizefix.repair(small(13, nodes, f"{SCALES}, float16[1] one = {{1}}", "float16[1,3,8,8] x"))
    assert result.outcomes[0].fault == "cast-pair"
    opened(result.model, optimized=True)


@pytest.mark.parametrize("meant", [1.2, 1.7, 0.6, 4 / 3, 2.5, 0.1])
def test_a_scale_that_went_through_float16_is_the_one_that_was_meant(meant):
    broken = small(13, 'y = Resize (x, "", s)', SCALES)
    broken.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([1, 1, meant, meant], np.float16), "s"))
    made = resizefix.repair(broken, shape={"x": (1, 3, 8, 8)}).model
    assert scales_in(made)[2] == np.float32(meant)


def test_a_stored_size_that_is_the_whole_part_of_the_product_does_not_contradict_a_rounded_scale():
    broken = small(13, 'y = Resize (x, "", s)', f"{SCALES}, float[1,3,14,14] y")
    broken.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([1, 1, 1.8, 1.8], np.float16), "s"))
    assert scales_in(resizefix.repair(broken).model)[2] == np.float32(1.8)


@pytest.mark.parametrize("name", ["srcnn_x3_opset11", "bisenet_x8_linear_opset9", "unet_linear_dynamo23"])
def test_a_right_model_has_no_fault_and_comes_back_as_it_was(name, tmp_path):
    path = BROKEN.parent / f"{name}.onnx"
    faults = [fault for found in faults_in(ModelView(Document.open(path))) for fault in found]
    assert all(fault.is_optional for fault in faults)
    result = resizefix.repair(path)
    assert not result.changed
    result.model.save(tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("behind", ["Relu", "Sigmoid", "Identity", "Clip"])
@pytest.mark.parametrize(("operands", "rest"), [("h", ""), ('h, "", s', "float[2] s = {2, 2}, ")])
def test_the_stored_shape_may_stand_behind_an_operator_that_keeps_shapes(behind, operands, rest):
    nodes = f"h = Relu (x) r = Resize ({operands}) q = {behind} (r) y = Relu (q)"
    result = resizefix.repair(small(13, nodes, f"{rest}float[1,3,16,16] y"))
    assert statuses(result) == [Status.CHANGED]
    assert shape_of(result.model) == (1, 3, 16, 16)


@pytest.mark.parametrize("behind", ["MaxPool <kernel_shape = [2, 2]> (r)", "local.Relu (r)", "Transpose (r)"])
def test_a_shape_behind_another_operator_says_nothing(behind):
    assert refusal(
        resizefix.repair(small(13, f"r = Resize (x) y = {behind}", "float[1,3,16,16] y"), on_refusal="return")
    )


def test_a_stored_shape_with_a_size_of_0_is_not_what_was_meant():
    rest = "float[4] s = {0.9960785, 0.9960785, 2, 2}, float[0,2,16,16] r, float[1,3,16,16] y"
    made = resizefix.repair(small(13, 'r = Resize (x, "", s) y = Relu (r)', rest))
    assert made.outcomes[0].fault == "unit-scale"
    assert shape_of(made.model) == (1, 3, 16, 16)


@pytest.mark.parametrize("kind", ["initializer", "Constant"])
@each_form
def test_values_of_a_data_file_are_put_into_the_model(kind, opset, roi, tmp_path):
    model = small(opset, f"y = Resize (x, {roi}, s)", f"{SCALES}, float[0] e = {{}}")
    if kind == "Constant":
        model.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["s"], value=model.graph.initializer[0]))
        del model.graph.initializer[0]
    path = tmp_path / "model.onnx"
    in_another_file(model, path, constants=True)
    with pytest.raises(Exception, match="Cannot parse data from external tensors"):
        opened(onnx.load(path, load_external_data=False), optimized=True)
    result = resizefix.repair(path)
    assert result.outcomes[0].fault == "external-extent"
    result.model.save(tmp_path / "fixed.onnx")
    assert shape_of(onnx.load(tmp_path / "fixed.onnx")) == (1, 3, 16, 16)


@each_form  # Cast takes bfloat16 from opset 13 on
def test_bfloat16_scales_are_the_factors_that_were_rounded(opset, roi):
    broken = small(opset, f"y = Resize (x, {roi}, s)", f"{SCALES}, float[0] e = {{}}")
    stored = onnx.helper.make_tensor("s", onnx.TensorProto.BFLOAT16, [4], [1, 1, 1.2, 2.5])
    broken.graph.initializer[0].CopyFrom(stored)
    result = resizefix.repair(broken)
    assert result.outcomes[0].fault == "float16-extent"
    assert scales_in(result.model).tolist() == np.array([1, 1, 1.2, 2.5], np.float32).tolist()
    opened(result.model, optimized=True)
