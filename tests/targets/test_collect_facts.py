from functools import partial

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper
from onnx_text import document, model

from resizefix.document.document import Document
from resizefix.interpolation import ExtentKind
from resizefix.targets.collect_facts import facts_of
from resizefix.targets.facts import OperandSource as S
from resizefix.targets.facts import Roi, SiteFacts

RESIZE_18 = partial(SiteFacts, node="r", op_type="Resize", opset=18, ir_version=8)


def facts(graph: str, opset: int = 13, ir: int = 8, functions: str = "", *, domains=()) -> tuple[SiteFacts, ...]:
    return facts_of(document(f"{graph} {functions}", opset, *domains, ir=ir))


def only(graph: str, opset: int = 13, **options: object) -> SiteFacts:
    (found,) = facts(graph, opset, **options)
    return found


def test_an_ordinary_node_has_all_its_facts():
    assert only(
        """(float[1,3,8,"w"] x) => (float[a,b,c,d] y) <float[4] s = {1, 1, 2, 2}> {
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


IN, SCALED = "float[1,3,8,8] x", "float[4] s = {1,1,2,2}"
OUT = "=> (float[a,b,c,d] y)"
SCALES = (1.0, 1.0, 2.0, 2.0)
SOME_FACTS = [
    # attributes that are not written have the default of ONNX
    (f"({IN}) {OUT} <{SCALED}> {{ y = Resize (x, , s) }}", {},
     {"mode": "nearest", "coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_floor",
      "keep_aspect_ratio_policy": "stretch", "attributes": frozenset()}),
    (f"({IN}) {OUT} {{ y = Upsample <height_scale = 2.0, width_scale = 3.0> (x) }}", {"opset": 1},
     {"values": (1.0, 1.0, 2.0, 3.0), "attributes": frozenset({"height_scale", "width_scale"})}),
    # graph inputs are told apart by type and rank
    *((f"({IN}, {declared} z) {OUT} {{ y = Resize (x, , , z) }}", {}, {"source": source})
      for declared, source in (("int64[4]", S.INTEGER_INPUT), ("int64", S.INTEGER_INPUT), ("float[4]", S.OTHER_INPUT),
                               ("float[1,4]", S.DATA))),
    (f"({IN}, int64[k] z) {OUT} {{ y = Resize (x, , , z) }}", {}, {"length": None, "operand_rank": 1}),
    # a default is an initializer and an input, and its value is known
    *((f"({IN}, {SCALED}) {OUT} {{ y = Resize (x, , s) }}", {"ir": ir},
       {"source": S.INITIALIZER_AND_INPUT, "values": SCALES, "ir_version": ir, "initializers_are_inputs": True})
      for ir in (8, 3)),
    # a node in a branch sees the outer constant and knows what holds it
    (f"""({IN}, bool c) {OUT} <{SCALED}> {{
         y = If (c) <then_branch = t () => (float[a,b,c,d] p) {{ p = Resize (x, , s) }},
                     else_branch = e () => (float[a,b,c,d] q) {{ q = Relu (x) }}> }}""", {},
     {"source": S.INITIALIZER, "enclosing": frozenset({"If"})}),
    *((f"({IN}) {OUT} <{SCALED}, float[0] e = {{}}> {{ r = Constant <value = float[0] {{}}> () "
       f"y = Resize (x, {roi}, s) }}", {}, {"empty_constant": roi == "r"}) for roi in "re"),
]  # fmt: skip


@pytest.mark.parametrize(("graph", "options", "expected"), SOME_FACTS)
def test_some_facts_of_a_node(graph, options, expected):
    found = only(graph, **options)
    assert {name: getattr(found, name) for name in expected} == expected


def test_nodes_come_in_the_order_of_the_file_and_nameless_ones_are_counted():
    found = facts(
        """(float[1,3,8,8] x) => (float[a,b,c,d] y) <float[4] s = {1,1,2,2}> {
             a = Resize (x, , s)
             b = Relu (a)
             [second] c = Resize (b, , s)
             y = Resize (c, , s)
           }"""
    )
    assert [node.node for node in found] == ["#0", "second", "#2"]


def test_the_scales_of_upsample_are_the_attribute_below_opset_9_and_the_operand_from_then_on():
    attribute = "(float[1,3,8,8] x) => (float[a,b,c,d] y) { y = Upsample <scales = [1.0,1.0,2.0,3.0]> (x) }"
    found = only(attribute, opset=8)
    assert (found.source, found.values, found.length) == (S.ATTRIBUTE, (1.0, 1.0, 2.0, 3.0), 4)
    assert "hybrid" not in (found.unreadable or "")
    assert only(attribute, opset=9).n_inputs == 1

    both = attribute.replace("(x)", "(x, s)").replace("y) {", "y) <float[4] s = {1,1,5,5}> {")
    assert only(both, opset=8).source is S.ATTRIBUTE
    assert only(both, opset=9).values == (1.0, 1.0, 5.0, 5.0)


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
        f"""(float[1,3,8,8] x) => (float[a,b,c,d] y)
            <{EMPTY}, float[8] r = {{0,0,0,0,1,1,1,1}}, float[4] s = {{1,1,2,2}},
             int64[4] z = {{1,3,16,16}}, int64[0] ez = {{}}> {{ y = Resize {inputs} }}"""
    )
    assert (found.extent, found.roi, found.empty_sizes) == (extent, roi, empty_sizes)
    assert found.both_extents == (inputs == "(x, e, s, z)")
    assert (found.source is S.ABSENT) == (extent is None)


ENDS = {'(x, "", s, "")': (True, 4), '(x, "", s)': (False, 3)}


def test_an_empty_input_at_the_end_is_reported_from_one_before_it():
    ends = {operands: only(f"({IN}) {OUT} <{SCALED}> {{ y = Resize {operands} }}") for operands in ENDS}
    assert {operands: (found.trailing_empty_input, found.n_inputs) for operands, found in ends.items()} == ENDS


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
        f"""(float[1,3,8,8] x, int64[4] i64, int32[4] i32, uint8[4] u8, float[4] f32, int64[2,4] table,
               int64[99,4] many) => (float[a,b,c,d] y)
            <float[4] init = {{1,1,2,2}}, int64[4] four = {{1,1,2,2}}, float thousand = {{1000}},
             float[1] eight = {{8}}, int64[1] one_four = {{4}}, int64 one = {{1}}> {{ {chain} y = Resize (x, , s) }}""",
        domains=["custom"],
    )
    assert found.source is source


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
        f"(float[1,3,8,8] x, float[4] fed) => (float[a,b,c,d] y) <float[4] init = {{1,1,2,2}}> {{ {calls} }}",
        functions=FUNCTION,
        domains=["local"],
    )
    assert (found.source, found.enclosing) == (source, frozenset({"function"}))


def test_operators_of_other_domains_are_no_sites():
    assert facts("(float[1,3,8,8] x) => (float[a,b,c,d] y) { y = custom.Resize (x) }", domains=["custom"]) == ()


def test_a_node_that_is_no_valid_onnx_says_why():
    found = only('(float[1,3,8,8] x) => (float[a,b,c,d] y) { y = Upsample <mode = "nearest"> (x) }', opset=11)
    assert "Upsample was removed at opset 10" in (found.unreadable or "")


def test_values_in_an_external_file_are_read_from_its_folder(tmp_path):
    made = model(f"({IN}) {OUT} {{ y = Resize (x, , s) }}")
    made.graph.initializer.append(numpy_helper.from_array(np.array(SCALES, np.float32), "s"))
    path = f"{tmp_path}/m.onnx"
    onnx.save_model(made, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    (found,) = facts_of(Document.open(path))
    assert found.values == SCALES


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
    def resized(shape, values, axes) -> object:
        rank = None if shape is None else len(shape)
        return RESIZE_18(extent=ExtentKind.SIZES, axes=axes, rank=rank, input_shape=shape, values=values).resized_axes

    assert resized((1, 3, 8, None), (2.0, 3.0, 9.0, 9.0), None) == (0, 2)
    assert resized((1, 3, 8, 8), (9.0, 8.0), (-1, 2)) == (3,)
    assert resized(None, (2.0, 3.0), None) is None
    assert resized((1, 3), (9.0,), (2,)) is None


@pytest.mark.parametrize(("declared", "length"), [("1", 1), ("n", None)])
def test_sizes_computed_from_an_integer_input_have_its_length_where_inference_does_not_see_the_rank(declared, length):
    made = model(
        f"""(float[4] x, int64[{declared}] f) => (float[b,c] ys, float[d] x_again) {{
            ys = Scan <num_scan_inputs = 1, body = rows (float row) => (float[e] y) {{
                shape = Shape (x)
                s = Mul (shape, f)
                y = Resize (x, , , s)
            }}> (x)
        }}""",
        15,
    )
    made.graph.output[1].CopyFrom(made.graph.input[0])
    made.graph.output[1].type.tensor_type.ClearField("shape")  # hides the rank of `x` from the body
    (found,) = facts_of(Document.from_proto(made))
    assert (found.source, found.operand_rank, found.length) == (S.INTEGER_INPUT_COMPUTED, 1, length)


@pytest.mark.parametrize(("second", "mode"), [("linear", "linear"), ("cubic", "nearest")])
def test_an_attribute_of_a_function_is_what_all_its_calls_give_it(second, mode):
    """Unlike calls leave it at its default, as the file is written."""
    (found,) = facts(
        f"""(float[1,1,4,4] x) => (float[1,1,8,8] y) {{
        z = local.up <how = "linear"> (x) w = local.up <how = "{second}"> (x) y = Add (z, w) }}""",
        18,
        functions="""<domain: "local", opset_import: ["" : 18]> up <how> (a) => (b) {
        s = Constant <value = float[4] {1, 1, 2, 2}> () b = Resize <mode: string = @how, antialias = 1> (a, , s) }""",
        domains=["local"],
    )
    assert found.mode == mode
