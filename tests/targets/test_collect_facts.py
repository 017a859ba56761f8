from functools import partial

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper, parser

from resizefix.document.document import Document
from resizefix.interpolation import ExtentKind
from resizefix.targets.collect_facts import facts_of
from resizefix.targets.facts import OperandSource as S
from resizefix.targets.facts import Roi, SiteFacts

RESIZE_18 = partial(SiteFacts, node="r", op_type="Resize", opset=18, ir_version=8)


def facts(graph: str, opset: int = 13, ir: int = 8, functions: str = "", *, imports: str = "") -> tuple[SiteFacts, ...]:
    text = f'<ir_version: {ir}, opset_import: ["" : {opset}{imports}]>\n{graph}\n{functions}'
    return facts_of(Document.from_proto(parser.parse_model(text)))


def only(graph: str, opset: int = 13, **options: object) -> SiteFacts:
    (found,) = facts(graph, opset, **options)
    return found


def test_an_ordinary_node_has_all_its_facts():
    assert only(
        """g (float[1,3,8,"w"] x) => (float[a,b,c,d] y) <float[4] s = {1, 1, 2, 2}> {
             [up] y = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric", antialias = 1,
                             cubic_coeff_a = -0.5> (x, "", s)
           }""",
        opset=18,
    ) == SiteFacts(
        node="up", op_type="Resize", opset=18, ir_version=8,
        attributes=frozenset({"mode", "coordinate_transformation_mode", "antialias", "cubic_coeff_a"}), mode="linear",
        coordinate_transformation_mode="asymmetric", antialias=True, cubic_coeff_a=-0.5, n_inputs=3, roi=Roi.UNNAMED,
        extent=ExtentKind.SCALES, initializers_are_inputs=False, source=S.INITIALIZER, values=(1.0, 1.0, 2.0, 2.0),
        length=4, operand_rank=1, operand_type=TensorProto.FLOAT, is_at_the_edges=True, rank=4,
        input_shape=(1, 3, 8, None), output_shape=(1, 3, 16, None), elem_type=TensorProto.FLOAT,
    )  # fmt: skip


def test_attributes_that_are_not_written_have_the_onnx_default():
    found = only("g (float[1,3,8,8] x) => (float[a,b,c,d] y) <float[4] s = {1,1,2,2}> { y = Resize (x, , s) }")
    assert (found.mode, found.coordinate_transformation_mode) == ("nearest", "half_pixel")
    assert (found.nearest_mode, found.keep_aspect_ratio_policy) == ("round_prefer_floor", "stretch")
    assert found.attributes == frozenset()


def test_nodes_come_in_the_order_of_the_file_and_nameless_ones_are_counted():
    found = facts(
        """g (float[1,3,8,8] x) => (float[a,b,c,d] y) <float[4] s = {1,1,2,2}> {
             a = Resize (x, , s)
             b = Relu (a)
             [second] c = Resize (b, , s)
             y = Resize (c, , s)
           }"""
    )
    assert [node.node for node in found] == ["#0", "second", "#2"]


def test_the_scales_of_upsample_are_the_attribute_below_opset_9_and_the_operand_from_then_on():
    attribute = "g (float[1,3,8,8] x) => (float[a,b,c,d] y) { y = Upsample <scales = [1.0,1.0,2.0,3.0]> (x) }"
    found = only(attribute, opset=8)
    assert (found.source, found.values, found.length) == (S.ATTRIBUTE, (1.0, 1.0, 2.0, 3.0), 4)
    assert "hybrid" not in (found.unreadable or "")
    assert only(attribute, opset=9).n_inputs == 1

    both = attribute.replace("(x)", "(x, s)").replace("y) {", "y) <float[4] s = {1,1,5,5}> {")
    assert only(both, opset=8).source is S.ATTRIBUTE
    assert only(both, opset=9).values == (1.0, 1.0, 5.0, 5.0)


def test_height_scale_and_width_scale_count_as_scales_of_nchw():
    found = only(
        "g (float[1,3,8,8] x) => (float[a,b,c,d] y) { y = Upsample <height_scale = 2.0, width_scale = 3.0> (x) }",
        opset=1,
    )
    assert (found.values, found.attributes) == ((1.0, 1.0, 2.0, 3.0), frozenset({"height_scale", "width_scale"}))


EMPTY = "float[0] e = {}"


@pytest.mark.parametrize(
    ("inputs", "extent", "roi", "empty_sizes"),
    [
        ("(x, e, s)", ExtentKind.SCALES, Roi.EMPTY, False),
        ("(x, r, s)", ExtentKind.SCALES, Roi.TENSOR, False),
        ("(x, , s)", ExtentKind.SCALES, Roi.UNNAMED, False),
        ("(x, e, e, z)", ExtentKind.SIZES, Roi.EMPTY, False),
        ("(x, e, s, ez)", ExtentKind.SCALES, Roi.EMPTY, True),
        ("(x, e, s, z)", ExtentKind.SIZES, Roi.EMPTY, False),
        ("(x, e, e)", None, Roi.EMPTY, False),
        ("(x)", None, Roi.ABSENT, False),
    ],
)
def test_empty_tensors_and_missing_inputs_decide_what_gives_the_extent(inputs, extent, roi, empty_sizes):
    found = only(
        f"""g (float[1,3,8,8] x) => (float[a,b,c,d] y)
            <{EMPTY}, float[8] r = {{0,0,0,0,1,1,1,1}}, float[4] s = {{1,1,2,2}},
             int64[4] z = {{1,3,16,16}}, int64[0] ez = {{}}> {{ y = Resize {inputs} }}"""
    )
    assert (found.extent, found.roi, found.empty_sizes) == (extent, roi, empty_sizes)
    assert found.both_extents == (inputs == "(x, e, s, z)")
    assert (found.source is S.ABSENT) == (extent is None)


def test_an_empty_input_at_the_end_is_reported_from_one_before_it():
    last = "g (float[1,3,8,8] x) => (float[a,b,c,d] y) <float[4] s = {1,1,2,2}> { y = Resize (x, , s, ) }"
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 13]> {last}')
    model.graph.node[0].input[:] = ["x", "", "s", ""]
    (found,) = facts_of(Document.from_proto(model))
    assert found.trailing_empty_input
    assert found.n_inputs == 4
    assert not only(last.replace("s, )", "s)")).trailing_empty_input


SOURCES = {
    # operand `s`: float scales
    "s = Identity (init)": S.FOLDED,
    "s = Constant <value = float[4] {1,1,2,2}> ()": S.CONSTANT,
    "s = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> ()": S.CONSTANT_LIST,
    "a = Cast <to = 1> (four) s = Mul (a, init)": S.FOLDED,
    "a = Shape (x) b = Cast <to = 1> (a) s = Div (b, init)": S.SHAPE,
    "s = Cast <to = 1> (i64)": S.INTEGER_INPUT_COMPUTED,
    "s = Cast <to = 1> (i32)": S.INTEGER_INPUT_COMPUTED,
    "a = Cast <to = 1> (i64) s = Div (a, thousand)": S.INTEGER_INPUT_DIVIDED,
    "a = Cast <to = 1> (i64) s = Div (a, eight)": S.INTEGER_INPUT_COMPUTED,
    "a = Cast <to = 1> (i64) b = Cast <to = 1> (i32) s = Div (a, b)": S.INTEGER_INPUT_COMPUTED,
    "s = Cast <to = 1> (u8)": S.OTHER_INPUT,
    "s = Identity (f32)": S.OTHER_INPUT,
    "a = Cast <to = 1> (i64) s = Mul (a, f32)": S.OTHER_INPUT,
    "a = ReduceMax <keepdims = 0> (x) s = Expand (a, one_four)": S.DATA,
    "a = Gather (table, one) s = Cast <to = 1> (a)": S.INTEGER_INPUT_COMPUTED,
    "a = Gather (many, one) s = Cast <to = 1> (a)": S.DATA,
    "s = custom.Scales (x)": S.DATA,
}


@pytest.mark.parametrize(("chain", "source"), SOURCES.items())
def test_the_source_of_a_computed_operand_is_the_most_fleeting_of_all_it_is_made_of(chain, source):
    found = only(
        f"""g (float[1,3,8,8] x, int64[4] i64, int32[4] i32, uint8[4] u8, float[4] f32, int64[2,4] table,
               int64[99,4] many) => (float[a,b,c,d] y)
            <float[4] init = {{1,1,2,2}}, int64[4] four = {{1,1,2,2}}, float thousand = {{1000}},
             float[1] eight = {{8}}, int64[1] one_four = {{4}}, int64 one = {{1}}> {{ {chain} y = Resize (x, , s) }}""",
        imports=', "custom" : 1',
    )
    assert found.source is source


def test_graph_inputs_that_feed_the_node_are_told_apart_by_type_and_rank():
    def source(declared: str) -> S:
        return only(f"g (float[1,3,8,8] x, {declared}) => (float[a,b,c,d] y) {{ y = Resize (x, , , z) }}").source

    assert source("int64[4] z") is S.INTEGER_INPUT
    assert source("int64 z") is S.INTEGER_INPUT
    assert source("float[4] z") is S.OTHER_INPUT
    assert source("float[1,4] z") is S.DATA


def test_a_default_is_an_initializer_and_an_input_and_its_value_is_known():
    graph = "g (float[1,3,8,8] x, float[4] s = {1,1,2,2}) => (float[a,b,c,d] y) { y = Resize (x, , s) }"
    found = only(graph)
    assert (found.source, found.values, found.ir_version) == (S.INITIALIZER_AND_INPUT, (1.0, 1.0, 2.0, 2.0), 8)
    assert found.initializers_are_inputs
    assert only(graph, ir=3).source is S.INITIALIZER_AND_INPUT


def test_an_input_without_a_fixed_length_has_none():
    found = only("""g (float[1,3,8,8] x, int64["k"] z) => (float[a,b,c,d] y) { y = Resize (x, , , z) }""")
    assert (found.length, found.operand_rank) == (None, 1)


def test_a_node_in_a_branch_sees_the_outer_constant_and_knows_what_holds_it():
    (found,) = facts(
        """g (float[1,3,8,8] x, bool c) => (float[a,b,c,d] y) <float[4] s = {1,1,2,2}> {
             y = If (c) <then_branch = t () => (float[a,b,c,d] p) { p = Resize (x, , s) },
                         else_branch = e () => (float[a,b,c,d] q) { q = Relu (x) }>
           }"""
    )
    assert (found.source, found.enclosing) == (S.INITIALIZER, frozenset({"If"}))


FUNCTION = """<domain: "local", opset_import: ["" : 13]> up (a, s) => (b) { b = Resize (a, , s) }"""


@pytest.mark.parametrize(
    ("calls", "source"),
    [
        ("y = local.up (x, init)", S.INITIALIZER),
        ("y = local.up (x, fed)", S.OTHER_INPUT),
        ("p = local.up (x, init) y = local.up (p, fed)", S.OTHER_INPUT),
        ("c = Identity (init) p = local.up (x, init) y = local.up (p, c)", S.UNKNOWN),
    ],
)
def test_an_input_of_a_function_is_what_its_calls_give_it(calls, source):
    (found,) = facts(
        f"g (float[1,3,8,8] x, float[4] fed) => (float[a,b,c,d] y) <float[4] init = {{1,1,2,2}}> {{ {calls} }}",
        functions=FUNCTION,
        imports=', "local" : 1',
    )
    assert (found.source, found.enclosing) == (source, frozenset({"function"}))


def test_an_attribute_that_a_function_takes_from_its_caller_is_left_at_its_default():
    (found,) = facts(
        'g (float[1,3,8,8] x) => (float[a,b,c,d] y) { y = local.up <how = "linear"> (x) }',
        functions="""<domain: "local", opset_import: ["" : 13]> up <how> (a) => (b) {
            s = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () b = Resize <mode: string = @how> (a, , s) }""",
        imports=', "local" : 1',
    )
    assert found.mode == "nearest"
    assert "mode" in found.attributes


def test_operators_of_other_domains_are_no_sites():
    assert facts("g (float[1,3,8,8] x) => (float[a,b,c,d] y) { y = custom.Resize (x) }", imports=', "custom" : 1') == ()


def test_a_node_that_is_no_valid_onnx_says_why():
    found = only('g (float[1,3,8,8] x) => (float[a,b,c,d] y) { y = Upsample <mode = "nearest"> (x) }', opset=11)
    assert "Upsample was removed at opset 10" in (found.unreadable or "")


def test_an_empty_constant_node_among_the_inputs_is_seen():
    graph = """g (float[1,3,8,8] x) => (float[a,b,c,d] y) <float[4] s = {1,1,2,2}, float[0] e = {}> {
                 r = Constant <value = float[0] {}> () y = Resize (x, r, s) }"""
    assert only(graph).empty_constant
    assert not only(graph.replace("(x, r, s)", "(x, e, s)")).empty_constant


def test_values_in_an_external_file_are_read_from_its_folder(tmp_path):
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[1,3,8,8] x) => (float[a,b,c,d] y) { y = Resize (x, , s) }'
    )
    model.graph.initializer.append(numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "s"))
    path = f"{tmp_path}/m.onnx"
    onnx.save_model(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    (found,) = facts_of(Document.open(path))
    assert found.values == (1.0, 1.0, 2.0, 2.0)


@pytest.mark.parametrize(
    ("axes", "rank", "values", "full", "resized"),
    [
        (None, 4, (1.0, 1.0, 2.0, 2.0), (1.0, 1.0, 2.0, 2.0), (2, 3)),
        ((3, 1), 4, (2.0, 3.0), (1.0, 3.0, 1.0, 2.0), (1, 3)),
        ((-1,), 4, (2.0,), (1.0, 1.0, 1.0, 2.0), (3,)),
        ((4,), 4, (2.0,), None, None),
        ((2, 3), 4, (2.0,), None, None),
        ((2,), None, (2.0,), None, None),
    ],
)
def test_scales_of_listed_axes_are_spread_over_all(axes, rank, values, full, resized):
    found = RESIZE_18(extent=ExtentKind.SCALES, axes=axes, rank=rank, values=values)
    assert (found.full_scales, found.resized_axes) == (full, resized)


def test_sizes_resize_the_axes_whose_static_size_differs():
    def resized(
        shape: tuple[int | None, ...] | None, values: tuple[float, ...], axes: tuple[int, ...] | None
    ) -> object:
        rank = None if shape is None else len(shape)
        return RESIZE_18(extent=ExtentKind.SIZES, axes=axes, rank=rank, input_shape=shape, values=values).resized_axes

    assert resized((1, 3, 8, None), (2.0, 3.0, 9.0, 9.0), None) == (0, 2)
    assert resized((1, 3, 8, 8), (9.0, 8.0), (-1, 2)) == (3,)
    assert resized(None, (2.0, 3.0), None) is None
    assert resized((1, 3), (9.0,), (2,)) is None


@pytest.mark.parametrize(("declared", "length"), [("1", 1), ("n", None)])
def test_sizes_computed_from_an_integer_input_have_its_length_where_inference_does_not_see_the_rank(declared, length):
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 15]>
        g (float[4] x, int64[{declared}] f) => (float[b,c] ys, float[d] x_again) {{
            ys = Scan <num_scan_inputs = 1, body = rows (float row) => (float[e] y) {{
                shape = Shape (x)
                s = Mul (shape, f)
                y = Resize (x, , , s)
            }}> (x)
        }}"""
    )
    model.graph.output[1].CopyFrom(model.graph.input[0])
    model.graph.output[1].type.tensor_type.ClearField("shape")  # hides the rank of `x` from the body
    (found,) = facts_of(Document.from_proto(model))
    assert (found.source, found.operand_rank, found.length) == (S.INTEGER_INPUT_COMPUTED, 1, length)
