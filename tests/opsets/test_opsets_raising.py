"""Every row of a raised opset computes in onnxruntime what the node did before; what has no row is refused."""

import numpy as np
import onnx
import onnx_text
import onnxruntime as ort
import pytest
from onnx import helper
from opset_pair import run, same_bits

from resizefix.diagnostics import RefusedError
from resizefix.document.document import Document
from resizefix.opsets.newest import NEWEST_RAISED as NEWEST
from resizefix.opsets.raising import BODY_OPSETS, raised_to, why_not_raised
from resizefix.opsets.raising_rows import ROWS, Raised

X = np.random.default_rng(0).standard_normal((2, 3, 4, 6)).astype(np.float32)
IN = "float[2,3,4,6] x"


def model(opset: int, nodes: str, extra: str = "", data: str = IN, out: str = "float[a,b,c,d] y") -> onnx.ModelProto:
    return onnx_text.model(f"({data}) => ({out}) <{extra}> {{ {nodes} }}", opset, ir=4)


def raised(before: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    return raised_to(Document.from_proto(before), opset).proto


# The opset that changed the operator: the model before it, and what it is fed.
CASES = {
    (9, "Upsample"): model(8, "y = Upsample <mode = \"linear\", scales = [1.0, 1.0, 1.5, 2.0]> (x)"),
    (9, "BatchNormalization"): model(
        8, "y = BatchNormalization <spatial = 1> (x, s, s, s, s)", "float[3] s = {1.5, 2, 0.5}"
    ),
    (10, "Upsample"): model(9, "y = Upsample (x, s)", "float[4] s = {1, 1, 1.5, 2}"),
    (10, "Slice"): model(9, "y = Slice <axes = [2, 3], starts = [0, -3], ends = [9223372036854775807, -1]> (x)"),
    (10, "TopK"): model(9, "y, i = TopK <k = 2, axis = 3> (x)"),
    (10, "Dropout"): model(9, "y, unread = Dropout <ratio = 0.25> (x)"),
    (11, "Resize"): model(10, "y = Resize <mode = \"nearest\"> (x, s)", "float[4] s = {1, 1, 0.6, 0.5}"),
    (11, "Clip"): model(10, "y = Clip <min = -0.5, max = 0.25> (x)"),
    (11, "Pad"): model(10, "y = Pad <pads = [0, 0, 1, 2, 0, 0, 0, 1], value = 2.5> (x)"),
    (11, "Scatter"): model(
        10, "y = Scatter <axis = 3> (x, i, u)", "int64[1,1,1,2] i = {1, 0}, float[1,1,1,2] u = {7, 8}"
    ),
    (12, "Dropout"): model(11, "y = Dropout <ratio = 0.25> (x)"),
    (13, "Softmax"): model(12, "y = Softmax <axis = 3> (x)"),
    (13, "LogSoftmax"): model(12, "y = LogSoftmax <axis = -1> (x)"),
    (13, "Hardmax"): model(12, "y = Hardmax <axis = 3> (x)"),
    (13, "Squeeze"): model(12, "z = Unsqueeze <axes = [1]> (x) y = Squeeze <axes = [1]> (z)"),
    (13, "Unsqueeze"): model(12, "y = Unsqueeze <axes = [0, 3]> (x)", out="float[a,b,c,d,e,f] y"),
    (13, "ReduceSum"): model(12, "y = ReduceSum <axes = [1, 2]> (x)"),
    (13, "Split"): model(12, "y, z = Split <axis = 3, split = [2, 4]> (x)"),
    (13, "Resize"): model(12, "y = Resize (x, e, e, z)", "float[0] e = {}, int64[4] z = {2, 3, 8, 9}"),
    (14, "BatchNormalization"): model(13, "y = BatchNormalization (x, s, s, s, s)", "float[3] s = {1.5, 2, 0.5}"),
    (16, "RoiAlign"): model(
        15, "y = RoiAlign <output_height = 2, output_width = 2> (x, r, b)",
        "float[1,4] r = {0.3, 0.4, 3.2, 2.9}, int64[1] b = {1}",
    ),
    **{
        (18, name): model(17, f"y = {name} <axes = [1, 3], keepdims = 1> (x)")
        for name in ROWS[18] if name.startswith("Reduce")
    },
    (18, "Split"): model(17, "y, z = Split <axis = 3> (x)"),
    (20, "GridSample"): model(
        19, "y = GridSample <mode = \"bilinear\"> (x, g)", "float[2,1,1,2] g = {0.1, 0.2, -0.3, 0.4}"
    ),
}  # fmt: skip
RUN = 21  # onnxruntime 1.32 has kernels of every operator here up to this opset
REFUSED = {
    (13, "Erf"): "an Erf of integers",
    **{(28, name): model(27, f"y = {name} <keepdims = 1> (x)") for name in ROWS[28]},
    (9, "Scan"): "Scan",
    (13, "Softmax"): model(12, "y = Softmax <axis = 1> (x)"),
    (14, "BatchNormalization"): "a node that trains",
    (19, "AveragePool"): model(18, "y = AveragePool <kernel_shape = [2, 3]> (x)"),
    (20, "DFT"): "DFT",
    (21, "GroupNormalization"): "GroupNormalization",
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_row_computes_what_the_node_did_before(case):
    opset, _ = case
    before = CASES[case]
    for version in (opset, RUN):
        after = raised(before, version)
        onnx.checker.check_model(after, full_check=True)
        assert after.opset_import[0].version == version
        expected, found = run(before, {"x": X}), run(after, {"x": X})
        assert len(expected) == len(found)
        assert all(map(same_bits, expected, found))


def in_a_function(before: onnx.ModelProto, version: int) -> onnx.ModelProto:
    """The nodes and constants as a local function that imports this opset, called once."""
    graph, made = before.graph, onnx.ModelProto()
    made.CopyFrom(before)
    made.ir_version = 8
    constants = [onnx.helper.make_node("Constant", [], [one.name], value=one) for one in graph.initializer]
    names = [[value.name for value in values] for values in (graph.input[:1], graph.output)]
    opset = onnx.helper.make_opsetid("", version)
    made.functions.append(onnx.helper.make_function("l", "F", *names, [*constants, *graph.node], [opset]))
    del made.graph.node[:], made.graph.initializer[:], made.graph.input[1:]
    made.graph.node.append(onnx.helper.make_node("F", *names, domain="l"))
    made.opset_import.append(onnx.helper.make_opsetid("l", 1))
    return made


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_local_function_is_raised_with_the_model(case):
    opset, name = case
    before = in_a_function(CASES[case], CASES[case].opset_import[0].version)
    if name in ("Softmax", "LogSoftmax", "Hardmax"):  # no rank is known in a function
        with pytest.raises(RefusedError, match="cannot be raised to opset 13"):
            raised(before, opset)
        return
    for version in (opset, RUN):
        after = raised(before, version)
        assert after.functions[0].opset_import[0].version == version
        expected, found = run(before, {"x": X}), run(after, {"x": X})
        assert all(map(same_bits, expected, found))


def test_a_function_of_an_older_opset_than_its_model_is_raised_from_its_own():
    before = in_a_function(model(14, "y = Relu (x)"), 12)
    assert [one.version for one in raised(before, 15).functions[0].opset_import] == [15]


def test_a_model_that_names_no_opset_is_raised_from_1():
    before = model(6, "y = Relu (x)")
    before.ir_version = 2
    del before.opset_import[:]
    after = raised(before, 14)
    onnx.checker.check_model(after)
    assert (after.ir_version, [(one.domain, one.version) for one in after.opset_import]) == (3, [("", 14)])


RESIZED = 'y = Resize (x, "", s)'
IN_BODIES = (
    f"c = Constant <value_int = 1> () d = Cast <to = 9> (c) "
    f"y = If (d) <then_branch = t () => (float[a,b,e,f] y) {{ {RESIZED} }}, "
    f"else_branch = o () => (float[a,b,e,f] y) {{ {RESIZED} }}>"
)


@pytest.mark.parametrize("nodes", [RESIZED, IN_BODIES])
@pytest.mark.parametrize(("own", "after"), [(13, 18), (12, 12)])
def test_a_function_stays_with_an_operator_that_is_left_where_its_opset_is_another_than_the_models(nodes, own, after):
    before = in_a_function(model(13, nodes, "float[4] s = {1, 1, 2, 2}"), own)
    made = raised_to(Document.from_proto(before), 18, frozenset({"Resize"})).proto
    assert (made.opset_import[0].version, made.functions[0].opset_import[0].version) == (18, after)
    assert made.functions[0].node == before.functions[0].node


def test_an_attribute_that_is_an_argument_of_its_function_is_refused():
    before = in_a_function(CASES[10, "Slice"], 9)
    node = before.functions[0].node[0]
    ends = next(attribute for attribute in node.attribute if attribute.name == "ends")
    ends.ClearField("ints")
    ends.ref_attr_name = "ends"
    before.functions[0].attribute.append("ends")
    with pytest.raises(RefusedError, match="an attribute of it is an argument of the function it stands in"):
        raised(before, 10)


def test_every_row_has_a_case_or_is_a_refusal():
    rows = {(opset, name) for opset, found in ROWS.items() for name in found}
    assert rows == {*CASES, *REFUSED}


@pytest.mark.parametrize(("opset", "operator", "why"), [
    (9, "Scan", "runs over a batch"), (14, "BatchNormalization", "in training mode, .* model.eval()"),
    (20, "DFT", "its axis became an input"), (21, "GroupNormalization", "scale and bias are of each group"),
])  # fmt: skip
def test_a_refusal_says_what_the_opset_changed(opset, operator, why):
    row = Raised(helper.make_node(operator, ["x"], ["y", "m", "v"]), *[None] * 4)
    with pytest.raises(RefusedError, match=why):
        ROWS[opset][operator](row)


def test_what_is_not_said_in_the_later_opset_is_refused_with_the_node():
    with pytest.raises(RefusedError, match="Softmax node 'y' cannot be raised to opset 13: it flattens its input"):
        raised(REFUSED[13, "Softmax"], 13)
    assert "adds in another order" in (why_not_raised(Document.from_proto(REFUSED[19, "AveragePool"]), 19) or "")
    assert "opsets up to" in (why_not_raised(Document.from_proto(CASES[9, "Upsample"]), NEWEST + 1) or "")
    for scales, why in (
        (
            "float[4] s = {1, 1, 0.3, 2}",
            "its scales [1.0, 1.0, 0.30000001192092896, 2.0] enlarge one axis and shrink another",
        ),
        ('string[4] s = {"1", "1", "2", "2"}', "its scales are known only at run time"),
    ):
        mixed = model(10, "y = Resize (x, s)", scales)
        assert why in (why_not_raised(Document.from_proto(mixed), 11) or "")


@pytest.mark.parametrize(
    "scales", ["1, 1, 0.5, 2", "1, 1, 0.25, 1.7", "1, 1, 3, 0.125", "1, 1, 0.5, 0.3", "1, 1, 1, 1"]
)
def test_nearest_of_opset_10_is_raised_where_one_rounding_suits_every_axis(scales):
    before = model(10, "y = Resize (x, s)", f"float[4] s = {{{scales}}}")
    after = raised(before, 11)
    np.testing.assert_array_equal(run(before, {"x": X})[0], run(after, {"x": X})[0])


def test_what_no_row_names_stays_byte_for_byte():
    nodes = "a = Relu (x) b = Conv (a, w) y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (b)"
    before = model(8, nodes, "float[1,3,1,1] w = {1, 2, 3}")
    after = raised(before, 9)
    assert list(after.graph.node[:2]) == list(before.graph.node[:2])
    assert after.graph.initializer[0] == before.graph.initializer[0]


@pytest.mark.parametrize(
    ("before", "told"),
    [
        (model(8, "y = Upsample (x, s)", "float[4] s = {1, 1, 2, 2}"), "it has the two inputs of Upsample-9"),
        (model(9, "y = Slice (x, i, i)", "int64[1] i = {0}"), "has 3 inputs, and Slice-1 takes 1"),
        (model(9, "y, i = TopK (x, k)", "int64[1] k = {2}"), "TopK-1"),
        (model(12, "y = Unsqueeze (x, a)", "int64[1] a = {0}"), "Unsqueeze-11"),
    ],
    ids=["Upsample", "Slice", "TopK", "Unsqueeze"],
)
def test_a_node_that_is_of_another_opset_than_its_model_is_refused_not_misread(before, told):
    why = why_not_raised(Document.from_proto(before), 13)
    assert "it is not valid in opset" in why
    assert told in why


# The numbers are the bits of 0.7 and 0.3.
HALF = """(float16[1,1,4,4] x) => (float16[a,b,c,d] z)
    <float16[1,1,1,1] w = {14746}, float16[1] s = {13517}, int64[1] last = {3}>
    { y = Conv (x, w)  NODE  z = Conv (r, w) }"""
NODES = {
    "PRelu": "r = PRelu (y, s)",
    "ReduceL1": "r = ReduceL1 (y, last)",
    **{name: f"r = {name} (y)" for name in BODY_OPSETS if not name.startswith(("PRelu", "Reduce"))},
}


def in_half(name: str, opset: int) -> onnx.ModelProto:
    return onnx_text.model(HALF.replace("NODE", NODES[name]), opset)


def operators_run(before: onnx.ModelProto, path) -> list[str]:
    """The operators that onnxruntime runs without optimisation."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.optimized_model_filepath = str(path)
    ort.InferenceSession(before.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return sorted(node.op_type for node in onnx.load(path).graph.node)


@pytest.mark.parametrize("name", NODES)
def test_in_half_precision_other_operators_are_run_at_the_opsets_of_the_table(name, tmp_path):
    opsets = (18, 19, 21) if name in ("Mish", "ReduceL1") else (15, 16, 17, 18, 19, 21)  # those that have it so
    found = {opset: operators_run(in_half(name, opset), tmp_path / f"{opset}.onnx") for opset in opsets}
    for one in opsets:
        for other in opsets:
            apart = (one in BODY_OPSETS[name]) != (other in BODY_OPSETS[name])
            assert apart == (found[one] != found[other]), (one, other)


@pytest.mark.parametrize(("before", "after"), [(17, 18), (18, 19), (18, 21)])
def test_an_operator_of_half_precision_that_is_run_otherwise_is_refused(before, after):
    with pytest.raises(RefusedError, match=f"Relu node 'r' cannot be raised to opset {after}: onnxruntime computes it"):
        raised(in_half("Relu", before), after)


def test_in_half_precision_a_raise_past_the_opset_that_runs_it_otherwise_keeps_every_bit():
    x = X[:1, :1, :, :4].astype(np.float16)
    before = in_half("Relu", 17)
    (expected,), (found,) = run(before, {"x": x}), run(raised(before, 21), {"x": x})
    assert same_bits(expected, found)


@pytest.mark.parametrize(("before", "after"), [(8, 10), (11, 12)])
def test_a_mask_that_is_read_is_refused_since_its_type_and_its_values_change(before, after):
    """Floats up to opset 9, false up to 11, and true since 12, as onnxruntime gives them."""
    mask = "float[a,b,c,d] m" if before < 10 else "bool[a,b,c,d] m"
    made = model(before, "y, m = Dropout (x)", out=f"float[a,b,c,d] y, {mask}")
    run(made, {"x": X})
    with pytest.raises(RefusedError, match="Dropout"):
        raised(made, after)
