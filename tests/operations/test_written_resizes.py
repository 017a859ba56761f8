"""Interpolation written as other operators is found, named and written as Resize; what is none is left."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_text import model
from ort_runs import opened

import resizefix
from resizefix.diagnostics import RefusedError, UsageError
from resizefix.document.document import Document
from resizefix.equivalences.kernel_arithmetic import nearest_indices
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.interpolation import CoordinateTransformationMode as C
from resizefix.interpolation import ExtentKind, Interpolation, Mode
from resizefix.interpolation import NearestMode as N
from resizefix.lowerings.matmul import matrix
from resizefix.lowerings.recovered import Sampled, nearest_of, weighted_of
from resizefix.lowerings.table import BY_NAME
from resizefix.operations.written_resizes import written_resizes
from resizefix.outcome import Status
from resizefix.shapes.stored_shapes import ModelView

RNG = np.random.default_rng(0)


def places(proto: onnx.ModelProto):
    return written_resizes(ModelView(Document.from_proto(proto)))


def graph(nodes, constants, shape, out, opset=18, producer="", inputs=()) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, out)
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    made = helper.make_graph(nodes, "g", [x, *inputs], [y], tensors)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("plugins", 1)]
    return helper.make_model(made, opset_imports=imports, ir_version=8, producer_name=producer)


def same(before: onnx.ModelProto, after: onnx.ModelProto, shape, *, atol: float = 0.0) -> None:
    x = RNG.standard_normal(shape).astype(np.float32)
    one, other = (opened(each, optimized=False).run(None, {"x": x})[0] for each in (before, after))
    np.testing.assert_allclose(one, other, rtol=0, atol=atol)


def of_grid(rows: np.ndarray, columns: np.ndarray) -> onnx.ModelProto:
    """What torch's dynamo exporter makes of nearest-exact: pixels by pairs of indices."""
    pairs = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).astype(np.int64)
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[2, 3, 0, 1]),
        helper.make_node("GatherND", ["t", "pairs"], ["g"], name="pick"),
        helper.make_node("Transpose", ["g"], ["y"], perm=[2, 3, 0, 1]),
    ]
    return graph(nodes, {"pairs": pairs}, [1, 2, 21, 14], [1, 2, len(rows), len(columns)], producer="pytorch")


def exact(size: int, out: int) -> np.ndarray:
    """torch's nearest-exact."""
    at = np.floor((np.arange(out, dtype=np.float32) + np.float32(0.5)) * (np.float32(size) / np.float32(out)))
    return np.minimum(at.astype(np.int64), size - 1)


@pytest.mark.parametrize("out", [(24, 16), (12, 8), (42, 28), (29, 9)])
def test_pixels_by_pairs_of_indices_become_a_resize_bit_for_bit(out):
    before = of_grid(exact(21, out[0]), exact(14, out[1]))
    result = resizefix.set_interpolation(before, form="resize")
    assert [outcome.status for outcome in result.outcomes] == [Status.CHANGED]
    assert result.verification.passed
    assert [node.op_type for node in result.model.graph.node] == ["Resize"]
    same(before, result.model, (1, 2, 21, 14))
    (site,) = resizefix.inspect(result.model)
    form = site.interpolation.coordinate_transformation_mode, site.interpolation.nearest_mode
    assert form == (C.HALF_PIXEL, N.ROUND_PREFER_CEIL)


def test_one_pixel_elsewhere_is_no_resize():
    rows = exact(21, 24)
    rows[7] += 1
    assert not places(of_grid(rows, exact(14, 16)))


@pytest.mark.parametrize("indices", [range(0, 12, 2), range(3, 9), [3, 2, 1, 0], [0], [5, 5, 0, 1]])
def test_slices_strides_and_orders_are_no_resizes(indices):
    nodes = [helper.make_node("Gather", ["x", "i"], ["y"], axis=3)]
    taken = np.array(list(indices), np.int64)
    assert not places(graph(nodes, {"i": taken}, [1, 2, 4, 12], [1, 2, 4, len(taken)]))


def test_an_axis_that_is_not_spatial_is_left():
    nodes = [helper.make_node("Gather", ["x", "i"], ["y"], axis=1)]
    assert not places(graph(nodes, {"i": np.array([0, 0, 1, 1])}, [1, 2, 4, 12], [1, 4, 4, 12]))


LOWERED = [
    ("gather", Interpolation(Mode.NEAREST, C.ASYMMETRIC, N.FLOOR), (1.0, 1.0, 1.5, 1.25), 0.0),
    ("gather", Interpolation(Mode.NEAREST, C.HALF_PIXEL, N.ROUND_PREFER_FLOOR), (1.0, 1.0, 0.75, 0.7), 0.0),
    ("matmul", Interpolation(Mode.LINEAR, C.HALF_PIXEL), (1.0, 1.0, 1.5, 0.5), 1e-5),
    ("matmul", Interpolation(Mode.LINEAR, C.ALIGN_CORNERS), (1.0, 1.0, 2.0, 2.0), 1e-5),
    ("matmul", Interpolation(Mode.CUBIC, C.HALF_PIXEL, cubic_coeff_a=-0.75), (1.0, 1.0, 2.0, 1.0), 1e-5),
    ("matmul", Interpolation(Mode.LINEAR, C.HALF_PIXEL, antialias=True), (1.0, 1.0, 0.5, 0.5), 1e-5),
    ("transposed-matmul", Interpolation(Mode.LINEAR, C.HALF_PIXEL), (1.0, 1.0, 2.0, 2.0, 2.0), 1e-5),
    ("conv-transpose", Interpolation(Mode.LINEAR, C.HALF_PIXEL), (1.0, 1.0, 2.0, 2.0), 1e-5),
    ("conv-transpose", Interpolation(Mode.CUBIC, C.HALF_PIXEL, cubic_coeff_a=-0.5), (1.0, 1.0, 3.0, 3.0), 1e-5),
    ("depthwise-conv-transpose", Interpolation(Mode.NEAREST, C.ASYMMETRIC, N.FLOOR), (1.0, 1.0, 2.0, 3.0), 0.0),
]


@pytest.mark.parametrize(("name", "meaning", "scales", "atol"), LOWERED)
def test_what_a_lowering_wrote_is_read_back(name, meaning, scales, atol):
    shape = (1, 2, 4, 12, 10)[: len(scales)] if len(scales) == 5 else (1, 2, 12, 10)
    subject = ResizeSpec(meaning, ExtentKind.SCALES, scales, shape, TensorProto.FLOAT)
    built = BY_NAME[name].build(subject, x="x", y="y", opset=18, fresh=lambda wanted: wanted)
    names = iter(range(99))
    built = BY_NAME[name].build(subject, x="x", y="y", opset=18, fresh=lambda wanted: f"{wanted}_{next(names)}")
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in built.initializers}
    before = graph(built.nodes, constants, shape, [axis.out for axis in subject.axes])
    (place,) = places(before)
    assert meaning in [one.interpolation for one in place.alternatives]
    result = resizefix.set_interpolation(before, form="resize")
    assert result.verification.passed
    assert "Resize" in [node.op_type for node in result.model.graph.node]
    same(before, result.model, shape, atol=atol)


def test_the_alternatives_are_named_where_they_differ_at_other_sizes():
    outcome = resizefix.set_interpolation(of_grid(exact(21, 42), exact(14, 28)), form="resize").outcomes[0]
    assert "half_pixel round_prefer_ceil" in outcome.reason
    assert "compute the same at these sizes and not at others" in outcome.reason


@pytest.mark.parametrize("size", [5, 8, 21])
@pytest.mark.parametrize("out", [3, 9, 16, 24])
def test_every_form_is_recovered_from_its_own_indices(size, out):
    for form in ((C.ASYMMETRIC, N.FLOOR), (C.HALF_PIXEL, N.ROUND_PREFER_FLOOR), (C.ALIGN_CORNERS, N.CEIL)):
        indices = nearest_indices(form, float(np.float32(out) / np.float32(size)), size, out)
        found = nearest_of([Sampled(size, indices)])
        meanings = [(one.interpolation.coordinate_transformation_mode, one.interpolation.nearest_mode) for one in found]
        ties = nearest_indices(form, float(np.float32(out) / np.float32(size)), size, out, 0.0)
        assert form in meanings or not np.array_equal(indices, ties)


def test_random_weights_are_no_interpolation():
    assert not weighted_of([RNG.standard_normal((8, 4)).astype(np.float32)])
    weights = matrix(Interpolation(Mode.LINEAR, C.HALF_PIXEL), 4, 8, 2.0)
    weights[3, 1] += np.float32(1e-3)
    assert not weighted_of([weights])


def test_zero_padded_bilinear_deconvolution_is_no_resize():
    taps = np.array([0.25, 0.75, 0.75, 0.25], np.float32)
    weights = np.broadcast_to(np.outer(taps, taps), (2, 1, 4, 4)).copy()
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], group=2, strides=[2, 2], pads=[1, 1, 1, 1])
    assert not places(graph([node], {"w": weights}, [1, 2, 6, 6], [1, 2, 12, 12]))


@pytest.mark.parametrize(
    ("operator", "attributes", "constants", "meaning"),
    [
        ("ResizeNearest_TRT", {"scale": 2.0}, {}, "nearest"),
        ("ResizeNearest", {"height_scale": 2.0, "width_scale": 3.0}, {}, "nearest"),
        ("TRTBicubicInterpolate", {"scale_factor": [2.0, 2.0], "align_corners": 0}, {}, "cubic"),
    ],
)
def test_a_plugin_becomes_a_resize_and_no_run_is_claimed(operator, attributes, constants, meaning):
    node = helper.make_node(operator, ["x"], ["y"], name="plugin", domain="plugins", **attributes)
    result = resizefix.set_interpolation(graph([node], constants, [1, 2, 6, 6], [1, 2, "h", "w"]), form="resize")
    (site,) = resizefix.inspect(result.model)
    assert site.interpolation.mode.value == meaning
    assert "no runtime here runs" in result.verification.reason
    assert opened(result.model, optimized=False).run(None, {"x": np.zeros((1, 2, 6, 6), np.float32)})[0].shape[2] == 12


def test_a_plugin_that_takes_the_size_of_a_tensor_computes_it():
    like = helper.make_tensor_value_info("like", TensorProto.FLOAT, [1, 1, "h", "w"])
    node = helper.make_node("DynamicTRTResize", ["x", "like"], ["y"], domain="plugins")
    before = graph([node], {}, [1, 2, 6, 6], [1, 2, "h", "w"], inputs=[like])
    made = resizefix.set_interpolation(before, form="resize").model
    feeds = {"x": np.zeros((1, 2, 6, 6), np.float32), "like": np.zeros((1, 1, 9, 15), np.float32)}
    assert opened(made, optimized=False).run(None, feeds)[0].shape == (1, 2, 9, 15)


@pytest.mark.parametrize("mode", [C.HALF_PIXEL, C.ALIGN_CORNERS])
def test_samples_that_are_blended_along_an_axis_are_linear(mode):
    meaning = Interpolation(Mode.LINEAR, mode)
    weights = matrix(meaning, 9, 16, float(np.float32(16) / np.float32(9)))
    low = np.array([np.flatnonzero(row)[0] for row in weights])
    high = np.minimum(low + 1, 8)
    part = np.where(low == high, 0, weights[np.arange(16), high]).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["x", "low"], ["a"], axis=2),
        helper.make_node("Gather", ["x", "high"], ["b"], axis=2),
        helper.make_node("Sub", ["b", "a"], ["d"]),
        helper.make_node("Mul", ["d", "part"], ["m"]),
        helper.make_node("Add", ["a", "m"], ["y"]),
    ]
    before = graph(nodes, {"low": low, "high": high, "part": part}, [1, 2, 9], [1, 2, 16])
    (place,) = places(before)
    assert meaning in [one.interpolation for one in place.alternatives]
    result = resizefix.set_interpolation(before, form="resize")
    assert result.verification.passed
    assert [node.op_type for node in result.model.graph.node] == ["Resize"]
    same(before, result.model, (1, 2, 9), atol=1e-5)


def test_a_name_that_selects_nothing_is_a_usage_error():
    with pytest.raises(UsageError, match="no node of that name"):
        resizefix.set_interpolation(of_grid(exact(21, 24), exact(14, 16)), form="resize", node=["other"])


def test_inspect_lists_it_and_names_the_command(answered, call, tmp_path):
    path = tmp_path / "picked.onnx"
    onnx.save(of_grid(exact(21, 24), exact(14, 16)), path)
    (place,) = answered("inspect", path)["written"]
    assert (place["node"], place["operators"]) == ("pick", ["Transpose", "GatherND"])
    assert "resize written as Transpose, GatherND" in call("inspect", path)[1]


def test_an_older_opset_is_refused_with_the_option():
    nodes = [helper.make_node("Gather", ["x", "i"], ["y"], axis=3)]
    before = graph(nodes, {"i": np.array([0, 0, 1, 1, 2, 2])}, [1, 2, 4, 3], [1, 2, 4, 6], opset=9)
    with pytest.raises(resizefix.RefusedError, match="opset=11"):
        resizefix.set_interpolation(before, form="resize")
    assert resizefix.set_interpolation(before, form="resize", opset=11).verification.passed


WITHOUT = "(float[1,2,4,4] x) => (float[1,2,a,b] y) <float[4] s = {1,1,2,2}>"


def test_a_model_without_any_is_refused_for_that_reason():
    before = model(f"{WITHOUT} {{ y = Relu (x) }}", 13)
    with pytest.raises(RefusedError, match="no other operators of this model were recognised as a resize"):
        resizefix.set_interpolation(before, form="resize")


def test_a_model_whose_interpolations_are_resizes_is_right_already():
    before = model(f'{WITHOUT} {{ y = Resize <mode = "nearest"> (x, , s) }}', 13)
    assert resizefix.set_interpolation(before, form="resize").outcome.value == "already"


def slices(first: int, last: int, axis: int, step: int = 1) -> tuple[list[str], dict[str, np.ndarray]]:
    numbers = {"first": first, "last": last, "axis": axis, "step": step}
    return list(numbers), {name: np.array([number], np.int64) for name, number in numbers.items()}


@pytest.mark.parametrize("is_before", [True, False])
@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "shape"),
    [
        ("Gather", (["pick"], {"pick": np.array([0], np.int64)}), {"axis": 1}, [2, 3]),
        ("Gather", (["pick"], {"pick": np.array([0, 1], np.int64)}), {"axis": 1}, [2, 3]),
        ("Gather", (["pick"], {"pick": np.array([2, 0, 1], np.int64)}), {"axis": 1}, [2, 3]),
        ("Gather", (["pick"], {"pick": np.array([0], np.int64)}), {"axis": 0}, ["n", 3]),
        ("Slice", slices(0, 2, 1), {}, [2, 3]),
        ("Slice", slices(-1, -9, 1, -1), {}, [2, 3]),
        ("Slice", slices(-1, -9, 0, -1), {}, ["n", "c"]),
        ("Slice", slices(0, 1, 0), {}, ["n", 3]),
        ("Slice", slices(0, 2, 0), {}, ["n", 3]),
        ("Gather", (["pick"], {"pick": np.array([0, 1], np.int64)}), {"axis": 0}, ["n", 3]),
        ("Transpose", ([], {}), {"perm": [1, 0, 2, 3]}, [3, 3]),
        ("Transpose", ([], {}), {"perm": [1, 0, 2, 3]}, ["n", "c"]),
        ("Reshape", (["one"], {"one": np.array([1, -1, 4, 5], np.int64)}), {}, ["n", 3]),
    ],
)
def test_nodes_that_move_images_or_channels_are_no_part_of_a_resize(operator, operands, attributes, shape, is_before):
    names, constants = operands
    if operator == "Reshape" and not is_before:
        constants = {"one": np.array([1, -1, 8, 5], np.int64)}
    other = ("x", "t") if is_before else ("t", "y")
    own = ("t", "y") if is_before else ("x", "t")
    nodes = [
        helper.make_node(operator, [other[0], *names], [other[1]], **attributes),
        helper.make_node("Gather", [own[0], "rows"], [own[1]], name="twice", axis=2),
    ]
    constants = constants | {"rows": np.repeat(np.arange(4), 2)}
    proto = graph(nodes if is_before else nodes[::-1], constants, [*shape, 4, 5], ["n2", "c2", 8, 5])
    assert [place.operators for place in places(proto)] == [("Gather",)]
    made = resizefix.set_interpolation(proto, form="resize")
    for count in (2, 3):
        same(proto, made.model, [count if size == "n" else 3 if size == "c" else size for size in shape] + [4, 5])


@pytest.mark.parametrize("of", [TensorProto.INT64, TensorProto.DOUBLE, TensorProto.BOOL, TensorProto.INT16])
def test_samples_of_a_type_without_a_kernel_are_refused(of):
    proto = graph([helper.make_node("Gather", ["x", "rows"], ["y"], axis=2)], {"rows": np.repeat(np.arange(4), 2)},
                  [1, 3, 4, 5], [1, 3, 8, 5])  # fmt: skip
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.elem_type = of
    with pytest.raises(RefusedError, match=r"onnxruntime refuses it \(input-type\)"):
        resizefix.set_interpolation(proto, form="resize")


def test_cubic_volumes_are_refused_and_other_places_are_written():
    cubic = Interpolation(Mode.CUBIC, C.HALF_PIXEL, cubic_coeff_a=-0.75)
    constants = {"rows": matrix(cubic, 5, 10, 2.0).T, "twice": np.repeat(np.arange(4), 2)}
    nodes = [
        helper.make_node("MatMul", ["x", "rows"], ["wide"], name="volume"),
        helper.make_node("Relu", ["wide"], ["r"]),
        helper.make_node("Gather", ["r", "twice"], ["y"], name="pick", axis=3),
    ]
    proto = graph(nodes, constants, [1, 2, 3, 4, 5], [1, 2, 3, 8, 10])
    made = resizefix.set_interpolation(proto, form="resize")
    outcomes = {outcome.node: (outcome.status, outcome.reason) for outcome in made.outcomes}
    assert outcomes["pick"][0] is Status.CHANGED
    assert outcomes["volume"][0] is Status.REFUSED
    assert "onnxruntime refuses it" in outcomes["volume"][1]
    same(proto, made.model, [1, 2, 3, 4, 5])


@pytest.mark.parametrize("rows", [[0, 0, 1, 2], [0, 1, 1, 3], [0, 0, 0, 0], [0, 0, 1, 1]])
def test_rows_of_which_there_are_as_many_as_before_are_no_resize(rows):
    one = graph([helper.make_node("Gather", ["x", "rows"], ["y"], axis=2)], {"rows": np.array(rows)},
                [1, 2, 4, 3], [1, 2, 4, 3])  # fmt: skip
    weights = np.eye(4, dtype=np.float32)[rows]
    weights[-1, :2] = 0.5
    other = graph([helper.make_node("MatMul", ["weights", "x"], ["y"])], {"weights": weights},
                  [1, 2, 4, 3], [1, 2, 4, 3])  # fmt: skip
    assert not places(one)
    assert not places(other)


@pytest.mark.parametrize("factor", [1.1, 1.2])
def test_weights_of_a_scale_that_keeps_the_length_are_no_resize(factor):
    weights = matrix(Interpolation(Mode.LINEAR, C.HALF_PIXEL), 4, 4, factor)
    assert not np.array_equal(weights, np.eye(4))
    proto = graph([helper.make_node("MatMul", ["weights", "x"], ["y"])], {"weights": weights},
                  [1, 2, 4, 3], [1, 2, 4, 3])  # fmt: skip
    assert not places(proto)


COMPUTED = """<ir_version: 8, opset_import: ["": 18]> g (float[1,2,WIDTH] x) => (float[1,2,n] y) <int64[1] last = {-1},
  int64 two = {2}, float twice = {2.0}, float start = {0.0}, float one = {1.0}, float half = {0.5}> {
  s = Shape <start = 2, end = 3> (x)  w = Squeeze (s)  longer = Mul (w, two)  wf = Cast <to = 1> (w)
  other = Mul (wf, twice)  step = Div (wf, other)  end = Cast <to = 1> (longer)  r = Range (start, end, one)
  middle = Add (r, half)  at = Mul (middle, step)  index = Cast <to = 7> (at)  pairs = Unsqueeze (index, last)
  t = Transpose <perm = [2, 0, 1]> (x)  picked = GatherND (t, pairs)  y = Transpose <perm = [1, 2, 0]> (picked) }"""


@pytest.mark.parametrize("width", [2, 7, 21])
def test_a_table_that_the_sizes_of_the_file_decide_is_read(width):
    """As dynamo writes nearest-exact of open sizes, once input-size has fixed them."""
    before = onnx.parser.parse_model(COMPUTED.replace("WIDTH", str(width)))
    result = resizefix.set_interpolation(before, form="resize")
    assert [node.op_type for node in result.model.graph.node] == ["Resize"]
    same(before, result.model, (1, 2, width))
