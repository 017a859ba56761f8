import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import pytest

from resizefix.document.document import Document
from resizefix.operations.legalize import legalize
from resizefix.operations.replacement import Allowance
from resizefix.operations.sites import find_sites
from resizefix.outcome import Status
from resizefix.targets.catalogue import target_named
from resizefix.targets.collect_facts import facts_of
from resizefix.targets.target import accepted, judge


def model(nodes: str, extra: str = "", *, opset: int = 13, x: str = "float[1,3,8,8]") -> str:
    return f'<ir_version: 8, opset_import: ["" : {opset}]> g ({x} x) => (float[?,?,?,?] y) {extra} {{ {nodes} }}'


def legal(text: str, target: str, **allowance):
    document = Document.from_proto(onnx.parser.parse_model(text))
    before = document.light_bytes()
    made = legalize(document, find_sites(document), target_named(target), allowance=Allowance(**allowance))
    assert document.light_bytes() == before, "the original was touched"
    onnx.checker.check_model(made.document.proto, full_check=True)
    return made


def test_what_is_accepted_is_left_alone():
    text = model("y = Resize (x, , s)", "<float[4] s = {1, 1, 2, 2}>")
    made = legal(text, "tensorrt-10")
    assert made.outcomes[0].status is Status.UNCHANGED
    assert made.document.proto == onnx.parser.parse_model(text)


@pytest.mark.parametrize(
    ("target", "nodes", "extra", "opset"),
    [
        # scales from a folded chain: one FLOAT initializer
        ("tensorrt-8.0", "k = Identity (s) y = Resize (x, , k)", "<float[4] s = {1, 1, 2, 2}>", 13),
        # the empty sizes tensor beside scales
        ("tensorrt-rtx", "y = Resize (x, , s, e)", "<float[4] s = {1, 1, 2, 2}, int64[0] e = {}>", 13),
        # axes, which older parsers ignore
        ("tensorrt-8.5", "y = Resize <axes = [2, 3]> (x, , s)", "<float[2] s = {2, 2}>", 18),
        # a mode that the target lacks and that means the same here
        ("tensorrt-rtx", 'y = Resize <coordinate_transformation_mode = "half_pixel_symmetric"> (x, , s)',
         "<float[4] s = {1, 1, 2, 2}>", 19),
        # sizes where only scales are known
        ("tensorrt-7.0", "y = Resize (x, , , k)", "<int64[4] k = {1, 3, 16, 16}>", 13),
    ],
)  # fmt: skip
def test_the_smallest_exact_chain_is_taken(target, nodes, extra, opset):
    made = legal(model(nodes, extra, opset=opset), target)
    assert (made.outcomes[0].status, made.outcomes[0].exact) == (Status.CHANGED, True)
    assert [node.op_type for node in made.document.proto.graph.node] == ["Resize"]
    for facts in facts_of(made.document):
        assert accepted(judge(target_named(target), facts))


def test_antialias_is_lowered_at_fixed_sizes_and_refused_at_dynamic_ones():
    nodes, extra = 'y = Resize <mode = "linear", antialias = 1> (x, , s)', "<float[4] s = {1, 1, 0.5, 0.5}>"
    made = legal(model(nodes, extra, opset=18), "tensorrt-rtx")
    assert (made.outcomes[0].status, made.outcomes[0].exact) == (Status.CHANGED, False)
    made = legal(model(nodes, extra, opset=18, x="float[1,3,h,w]"), "tensorrt-rtx")
    assert made.outcomes[0].status is Status.REFUSED
    assert "antialias" in (made.outcomes[0].reason or "")


def test_no_lower_refuses_with_the_rule_that_is_broken():
    nodes = 'y = Resize <mode = "cubic"> (x, , s)'
    made = legal(model(nodes, "<float[4] s = {1, 1, 2, 2}>"), "tensorrt-8.0", lowered=False)
    assert made.outcomes[0].status is Status.REFUSED
    assert "not-cubic" in (made.outcomes[0].reason or "")


def test_no_lower_is_blamed_only_where_other_operators_could_replace_the_node():
    nodes, scales = 'y = Resize <mode = "cubic"> (x, , s)', "<float[4] s = {1, 1, 2, 2}>"
    for x, forbidden in (("float[1,3,8,8]", True), ("float[1,3,h,w]", False)):
        text = model(nodes, scales if forbidden else scales.replace("2, 2", "1.5, 1.5"), x=x)
        (outcome,) = legal(text, "tensorrt-8.0", lowered=False).outcomes
        assert ("--no-lower" in (outcome.reason or "")) is forbidden
        assert (legal(text, "tensorrt-8.0").outcomes[0].status is Status.CHANGED) is forbidden


def test_no_lower_is_blamed_only_where_casts_around_the_node_would_help():
    scales = "<float[4] s = {1, 1, 2, 2}>"
    for nodes, forbidden in (("y = Resize (x, , s)", True), ("a = Identity (x) y = Resize (a, , s)", False)):
        text = model(nodes, scales, x="uint8[1,3,8,8]").replace("(float[?", "(uint8[?")
        (outcome,) = legal(text, "tensorrt-9", lowered=False).outcomes
        assert ("Casts could be put around it, which --no-lower forbids" in (outcome.reason or "")) is forbidden
        assert (legal(text, "tensorrt-9").outcomes[0].status is Status.CHANGED) is forbidden


def test_a_rank_that_is_not_known_is_said_so():
    text = model('y = Resize <mode = "linear"> (x, , s)', "<float[4] s = {2, 2, 2, 2}>")
    document = onnx.parser.parse_model(text)
    document.graph.input[0].type.tensor_type.ClearField("shape")
    made = legalize(
        Document.from_proto(document),
        find_sites(Document.from_proto(document)),
        target_named("tensorrt-rtx"),
        allowance=Allowance(),
    )
    assert "None" not in (made.outcomes[0].reason or "None")


def test_a_fed_scale_is_refused_with_the_mend():
    text = model("y = Resize (x, , s)").replace("float[1,3,8,8] x)", "float[1,3,8,8] x, float[4] s)")
    made = legal(text, "tensorrt-rtx")
    assert made.outcomes[0].status is Status.REFUSED
    assert "To fix it" in (made.outcomes[0].reason or "")


def test_an_approximation_needs_permission_and_is_marked():
    nodes = 'y = Resize <coordinate_transformation_mode = "tf_half_pixel_for_nn", nearest_mode = "floor"> (x, , s)'
    text = model(nodes, "<float[4] s = {1, 1, 0.7, 0.7}>", x="float[1,3,h,w]")
    assert legal(text, "tensorrt-rtx").outcomes[0].status is Status.REFUSED
    made = legal(text, "tensorrt-rtx", inexact=True)
    assert (made.outcomes[0].status, made.outcomes[0].exact) == (Status.CHANGED, False)


@pytest.mark.parametrize(("scale", "size"), [("1e30", 8), ("3.4e38", 8), ("1", 2**40), ("1e5", 8)])
def test_an_axis_too_long_to_look_at_is_refused(scale, size):
    nodes = 'y = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> (x, , s)'
    text = model(nodes, f"<float[4] s = {{1, 1, 2, {scale}}}>", x=f"float[1,3,8,{size}]")
    (outcome,) = legal(text, "tensorrt-5.0").outcomes
    assert outcome.status is Status.REFUSED
    assert "samples is more than can be looked at" in outcome.reason


def test_an_axis_too_long_to_look_at_is_refused_also_where_it_is_not_resized():
    text = model("y = Resize <axes = [2, 3]> (x, , s)", "<float[2] s = {2, 2}>", opset=18, x="float[1,2147483648,4,4]")
    (outcome,) = legal(text, "tensorrt-5.0").outcomes
    assert "an axis of 2.15e+09 samples is more than can be looked at" in outcome.reason


def test_a_lowering_keeps_no_resize_node_that_the_target_refuses_too():
    text = model('y = Resize <mode = "linear"> (x, , s)', "<float[4] s = {1, 1, 2, 2}>", x="float[n,c,h,w]")
    made = legal(text, "tensorrt-5.1")
    assert made.outcomes[0].status is Status.REFUSED
    assert "no other operators can replace it" in (made.outcomes[0].reason or "")
    fixed = legal(text.replace("n,c,h,w", "1,3,8,8"), "tensorrt-5.1")
    assert fixed.outcomes[0].status is Status.CHANGED
    assert not {"Resize", "Upsample"} & {node.op_type for node in fixed.document.proto.graph.node}


def test_a_rewrite_is_judged_with_the_output_size_that_its_constant_tells():
    nodes = 'd = Cast <to = 1> (s) y = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> (x, , d)'
    made = legal(model(nodes, "<double[4] s = {1, 1, 0.5, 0.25}>", x="float[3,3,3,5]"), "tensorrt-7.1")
    # pytorch_half_pixel would say the same, but that parser refuses it for one pixel
    assert "Resize" not in {node.op_type for node in made.document.proto.graph.node}


@pytest.mark.measured_on("onnxruntime", "1.24", "the policy was computed otherwise")
def test_a_policy_over_axes_from_the_end_is_no_crash():
    nodes = 'y = Resize <axes = [-1], keep_aspect_ratio_policy = "not_smaller"> (x, , , k)'
    made = legal(model(nodes, "<int64[1] k = {4}>", opset=18), "tensorrt-7.0")
    assert made.outcomes[0].status is Status.REFUSED


def test_an_initializer_that_the_parser_would_not_find_is_not_written():
    """TensorRT 5 finds those alone that are listed as inputs; this model has none, and a new one would be the first."""
    text = """<ir_version: 8, opset_import: ["" : 9]> g (float[1,2,4,2] x) => (float[1,2,16,2] y)
    { c = Constant <value: tensor = double[4] v {1, 1, 4, 1}> () s = Cast <to = 1> (c)
      y = Upsample <mode = "nearest"> (x, s) }"""
    (outcome,) = legal(text, "tensorrt-5.1", lowered=False).outcomes
    assert outcome.status is Status.REFUSED


@pytest.mark.parametrize(("ir_version", "initializers"), [(3, 1), (4, 0)])
@pytest.mark.parametrize("target", ["tensorrt-5.0", "tensorrt-5.1"])
def test_a_lowering_brings_no_initializer_that_would_have_the_other_nodes_refused(ir_version, target, initializers):
    """TensorRT 5 finds those alone that are listed as inputs, which from IR 4 on no new one is."""
    text = f"""<ir_version: {ir_version}, opset_import: ["" : 8]> g (float[1,3,4,4] x) => (float[1,3,8,6] y)
    {{ a = Upsample <scales = [1.0, 1.0, 2.0, 1.0], mode = "nearest"> (x)
       y = Upsample <mode = "linear", scales = [1.0, 1.0, 1.0, 1.5]> (a) }}"""
    made = legal(text, target)
    assert [outcome.status for outcome in made.outcomes] == [Status.UNCHANGED, Status.CHANGED]
    assert len(made.document.proto.graph.initializer) == initializers
    for facts in facts_of(made.document):
        assert accepted(judge(target_named(target), facts))


def test_a_second_call_finds_nothing_to_do_where_a_constant_extent_tells_the_next_node_its_size():
    """What is scaled by a chain has unknown sizes for inference until the chain is one constant."""
    text = """<ir_version: 8, opset_import: ["" : 17]> g (float[1,2,6,4] x) => (float[a,b,c,d] z)
    <float[2] one = {1, 1}, float[2] three = {3, 3}, int64[4] k = {1, 2, 27, 21}>
    { s = Concat <axis = 0> (one, three) y = Resize <mode = "linear"> (x, , s) t = Abs (y)
      z = Resize <mode = "cubic"> (t, , , k) }"""
    made = legal(text, "tensorrt-8.0")
    assert [(o.index, o.node, o.status) for o in made.outcomes] == [
        (0, "#0", Status.CHANGED),
        (1, "#1", Status.CHANGED),
    ]
    again = legalize(made.document, find_sites(made.document), target_named("tensorrt-8.0"))
    assert all(outcome.status is Status.UNCHANGED for outcome in again.outcomes)
    assert again.document.light_bytes() == made.document.light_bytes()


@pytest.mark.parametrize(
    ("target", "opset", "resize", "how"),
    [
        ("tensorrt-9", 13, 'Resize <mode = "linear"> (x, , s)', "E16"),  # by sizes, sampled by the same scale
        ("tensorrt-8.4", 10, "Resize (x, s)", "E17"),  # by another scale, of the same size and the same samples
    ],
)
def test_inference_is_not_reported_of_scales_from_which_it_gets_another_size_than_the_kernel(
    target, opset, resize, how
):
    """5 times 1.8 is 9 in float32 and 8 in float64, with which the sum would not fit; a chain hides it."""
    text = f"""<ir_version: 8, opset_import: ["" : {opset}]>
    g (float[1,1,1,5] x, float[1,1,1,9] k) => (float[1,1,1,9] z)
    <double[4] c = {{1, 1, 1, 1.8}}> {{ s = Cast <to = 1> (c) y = {resize} z = Add (y, k) }}"""
    made = legal(text, target)
    assert (made.outcomes[0].status, made.outcomes[0].exact) == (Status.CHANGED, True)
    assert how in (made.outcomes[0].reason or "")


def test_scales_that_inference_may_not_see_are_refused_where_nothing_else_says_them():
    text = """<ir_version: 8, opset_import: ["" : 10]> g (float[1,1,1,SIZE] x) => (float[1,1,1,w] y)
    <double[4] c = {1, 1, 1, 1.8}> { s = Cast <to = 1> (c) y = Resize <mode = "linear"> (x, s) }"""
    (outcome,) = legal(text.replace("SIZE", "5"), "tensorrt-8.4", lowered=False).outcomes
    assert outcome.status is Status.REFUSED
    assert "would make 5 8 for shape inference, 9 when run" in outcome.reason
    (outcome,) = legal(text.replace("SIZE", "4"), "tensorrt-8.4", lowered=False).outcomes  # 7 for everybody
    assert outcome.status is Status.CHANGED


def test_scales_that_inference_reads_already_stay_scales():
    text = """<ir_version: 8, opset_import: ["" : 18]> g (float[1,1,1,5] x) => (float[1,1,1,w] y)
    <float[1] s = {1.8}> { y = Resize <axes = [3]> (x, , s) }"""
    made = legal(text, "tensorrt-8.5")
    assert made.outcomes[0].status is Status.CHANGED
    assert len(made.document.proto.graph.node[0].input) == 3


def test_what_a_target_accepts_only_while_its_rank_is_not_known_is_looked_at_again(tmp_path):
    """Shape inference reads no numbers in another file."""
    text = """<ir_version: 4, opset_import: ["" : 9]> g (float[1,2,3] x) => (float[?,?] w)
      <float[3] s = {1, 2, 2}> { y = Upsample (x, s) u = Abs (y) z = Upsample (u, s) w = Flatten (z) }"""
    parsed, path = onnx.parser.parse_model(text), tmp_path / "m.onnx"
    scales = onnx.numpy_helper.from_array(np.array([1, 2, 2], np.float32), "s")
    parsed.graph.initializer[0].CopyFrom(scales)
    onnx.save_model(parsed, path, save_as_external_data=True, size_threshold=0)
    document, target = Document.open(path), target_named("tensorrt-6.0")
    made = legalize(document, find_sites(document), target)
    assert [outcome.status for outcome in made.outcomes] == [Status.CHANGED, Status.CHANGED]
    assert made.outcomes[1].reason.startswith(
        "replaced by repeated samples (Unsqueeze, Concat, Reshape); for tensorrt-6.0"
    )
    assert "[upsample-rank]" in made.outcomes[1].reason
    assert made.outcomes[1].reason.endswith("this shows once the others are rewritten")
    again = legalize(made.document, find_sites(made.document), target)
    assert again.document.light_bytes() == made.document.light_bytes()


def test_a_rewrite_is_made_again_where_another_tells_a_type_that_the_target_does_not_take(tmp_path):
    """Scales in another file keep inference from the type of `y`; in a new initializer they let it through."""
    model = onnx.parser.parse_model(
        """<ir_version: 5, opset_import: ["" : 10]> g (int32[2,2,2,6] x) => (int32[] z)
        { y = Resize (x, s) c = Constant <value = double[4] {1, 1, 4, 0.5}> () t = Cast <to = 1> (c)
          z = Resize (y, t) }"""
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 1, 1, 7 / 3], np.float32), "s"))
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, size_threshold=0, location="m.data")
    document = Document.open(tmp_path / "m.onnx")
    made = legalize(document, find_sites(document), target_named("tensorrt-7.1"))
    assert [outcome.status for outcome in made.outcomes] == [Status.CHANGED] * 2
    assert made.outcomes[1].reason.startswith(
        "replaced by Gather of the same samples; for tensorrt-7.1: the scales come"
    )
    assert "[scales-are-weights]" in made.outcomes[1].reason
    assert "[input-type]" in made.outcomes[1].reason


@pytest.mark.parametrize(
    ("x", "nodes", "condition"),
    [
        ("float[1,3,h,w]", 'y = Resize <mode = "cubic"> (x, , s)', "for finite inputs, where no axis is empty"),
        ("float[n,3,8,8]", 'y = Resize <mode = "cubic"> (x, , s)', "for finite inputs, where no axis is empty"),
        ("float[1,3,8,8]", 'y = Resize <mode = "cubic"> (x, , s)', "for finite inputs"),
        ("float[1,3,h,w]", 'y = Resize <nearest_mode = "ceil"> (x, , s)', None),
        ("float[1,3,h,w]", 'y = Resize <mode = "nearest"> (x, , s)', "for axes up to 4194304"),
        ("float[n,3,8,8]", 'y = Resize <mode = "nearest"> (x, , s)', None),
    ],
)
def test_what_a_rewrite_needs_is_in_the_outcome(x, nodes, condition):
    """Cubic becomes a product of matrices or a deconvolution, nearest another spelling of the same node."""
    outcome = legal(model(nodes, "<float[4] s = {1, 1, 2, 2}>", x=x), "tensorrt-7.0").outcomes[0]
    assert outcome.condition == condition
    assert all(part in (outcome.reason or "") for part in (condition or "").split(", "))


def test_half_precision_needs_casts_around_arithmetic_and_ncnn_has_none():
    text = """<ir_version: 8, opset_import: ["" : 13]> g (float16[1,3,8,8] x) => (float16[1,3,16,16] y)
    <float[4] s = {1.0, 1.0, 2.0, 2.0}>
    { y = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> (x, , s) }"""
    (outcome,) = legal(text, "ncnn").outcomes
    assert outcome.status is Status.REFUSED
    assert "takes no float16 in Cast" in outcome.reason
