import numpy as np
import onnx
import pytest
from resize_texts import BY_2, ONE, in_another_file, operators, refusal, resizing, statuses

from resizefix.document.document import Document
from resizefix.operations.legalize import legalize
from resizefix.operations.replacement import Allowance
from resizefix.operations.sites import find_sites
from resizefix.outcome import Status
from resizefix.targets.catalogue import target_named
from resizefix.targets.collect_facts import facts_of
from resizefix.targets.target import accepted, judge

LINEAR = 'y = Resize <mode = "linear"> (x, , s)'
CUBIC = 'y = Resize <mode = "cubic"> (x, , s)'
ASYMMETRIC = 'y = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> (x, , s)'
OPEN = "float[1,3,h,w] x"


def legal(given: onnx.ModelProto | Document, target: str, **allowance):
    document = given if isinstance(given, Document) else Document.from_proto(given)
    before = document.light_bytes()
    made = legalize(document, find_sites(document), target_named(target), allowance=Allowance(**allowance))
    assert document.light_bytes() == before, "the original was touched"
    if document is not given:
        onnx.checker.check_model(made.document.proto, full_check=True)
    return made


def assert_accepted(made, target: str) -> None:
    for facts in facts_of(made.document):
        assert accepted(judge(target_named(target), facts))


def test_an_upsample_of_opset_1_is_refused_by_its_rule():
    before = resizing("y = Upsample <height_scale = 2.0, width_scale = 2.0> (x)", opset=1, ir=3)
    assert "upsample-form-of-its-opset" in refusal(legal(before, "tensorrt-8.0"))


def test_what_is_accepted_is_left_alone():
    before = resizing(constants=BY_2)
    made = legal(before, "tensorrt-10")
    assert statuses(made) == [Status.UNCHANGED]
    assert made.document.proto == before


SYMMETRIC = 'y = Resize <coordinate_transformation_mode = "half_pixel_symmetric"> (x, , s)'


@pytest.mark.parametrize(
    ("target", "before"),
    [
        # scales from a folded chain: one FLOAT initializer
        ("tensorrt-8.0", resizing("k = Identity (s) y = Resize (x, , k)", BY_2)),
        # the empty sizes tensor beside scales
        ("tensorrt-rtx", resizing("y = Resize (x, , s, e)", f"{BY_2}, int64[0] e = {{}}")),
        # axes, which older parsers ignore
        ("tensorrt-8.5", resizing("y = Resize <axes = [2, 3]> (x, , s)", "float[2] s = {2, 2}", opset=18)),
        # a mode that the target lacks and that means the same here
        ("tensorrt-rtx", resizing(SYMMETRIC, BY_2, opset=19)),
        # sizes where only scales are known
        ("tensorrt-7.0", resizing("y = Resize (x, , , k)", "int64[4] k = {1, 3, 16, 16}")),
    ],
)
def test_the_smallest_exact_chain_is_taken(target, before):
    made = legal(before, target)
    assert (made.outcomes[0].status, made.outcomes[0].exact) == (Status.CHANGED, True)
    assert operators(made) == ["Resize"]
    assert_accepted(made, target)


def test_antialias_is_lowered_at_fixed_sizes_and_refused_at_dynamic_ones():
    node = 'y = Resize <mode = "linear", antialias = 1> (x, , s)', "float[4] s = {1, 1, 0.5, 0.5}"
    made = legal(resizing(*node, opset=18), "tensorrt-rtx")
    assert (made.outcomes[0].status, made.outcomes[0].exact) == (Status.CHANGED, False)
    assert "antialias" in refusal(legal(resizing(*node, OPEN, opset=18), "tensorrt-rtx"))


@pytest.mark.parametrize(
    ("target", "before", "reason"),
    [
        ("tensorrt-8.0", resizing(CUBIC, BY_2), "not-cubic"),
        ("tensorrt-8.0", resizing(CUBIC, BY_2), "lower=False"),
        (
            "tensorrt-9",
            resizing(ONE, BY_2, "uint8[1,3,8,8] x", "uint8[?,?,?,?] y"),
            "Casts could be put around it, which lower=False forbids",
        ),
    ],
)
def test_no_lower_refuses_with_the_rule_that_is_broken_and_is_blamed_where_it_forbids_what_helps(
    target, before, reason
):
    assert reason in refusal(legal(before, target, lowered=False))
    assert statuses(legal(before, target)) == [Status.CHANGED]


INSIDE = resizing("a = Identity (x) y = Resize (a, , s)", BY_2, "uint8[1,3,8,8] x", "uint8[?,?,?,?] y")


@pytest.mark.parametrize(
    ("target", "before", "words"),
    [
        ("tensorrt-8.0", resizing(CUBIC, "float[4] s = {1, 1, 1.5, 1.5}", OPEN), "lower=False"),
        ("tensorrt-9", INSIDE, "Casts could be put around it"),
    ],
)
def test_no_lower_is_not_blamed_where_it_forbids_nothing_that_helps(target, before, words):
    assert words not in refusal(legal(before, target, lowered=False))
    assert refusal(legal(before, target))


def test_a_rank_that_is_not_known_is_said_so():
    before = resizing(LINEAR, "float[4] s = {2, 2, 2, 2}")
    before.graph.input[0].type.tensor_type.ClearField("shape")
    made = legal(Document.from_proto(before), "tensorrt-rtx")
    assert "None" not in (made.outcomes[0].reason or "None")


def test_a_fed_scale_is_refused_with_the_mend():
    assert "To fix it" in refusal(legal(resizing(x="float[1,3,8,8] x, float[4] s"), "tensorrt-rtx"))


def test_an_approximation_needs_permission_and_is_marked():
    node = 'y = Resize <coordinate_transformation_mode = "tf_half_pixel_for_nn", nearest_mode = "floor"> (x, , s)'
    before = resizing(node, "float[4] s = {1, 1, 0.7, 0.7}", OPEN)
    assert refusal(legal(before, "tensorrt-rtx"))
    made = legal(before, "tensorrt-rtx", inexact=True)
    assert (made.outcomes[0].status, made.outcomes[0].exact) == (Status.CHANGED, False)


@pytest.mark.parametrize(("scale", "size"), [("1e30", 8), ("3.4e38", 8), ("1", 2**40), ("1e5", 8)])
def test_an_axis_too_long_to_look_at_is_refused(scale, size):
    before = resizing(ASYMMETRIC, f"float[4] s = {{1, 1, 2, {scale}}}", f"float[1,3,8,{size}] x")
    assert "samples is more than can be looked at" in refusal(legal(before, "tensorrt-5.0"))


def test_an_axis_too_long_to_look_at_is_refused_also_where_it_is_not_resized():
    nodes, scales = "y = Resize <axes = [2, 3]> (x, , s)", "float[2] s = {2, 2}"
    before = resizing(nodes, scales, "float[1,2147483648,4,4] x", opset=18)
    reason = legal(before, "tensorrt-5.0").outcomes[0].reason
    assert "an axis of 2.15e+09 samples is more than can be looked at" in reason


def test_a_lowering_keeps_no_resize_node_that_the_target_refuses_too():
    made = legal(resizing(LINEAR, BY_2, "float[n,c,h,w] x"), "tensorrt-5.1")
    assert "no other operators can replace it" in refusal(made)
    fixed = legal(resizing(LINEAR, BY_2), "tensorrt-5.1")
    assert statuses(fixed) == [Status.CHANGED]
    assert not {"Resize", "Upsample"} & set(operators(fixed))


def test_a_rewrite_is_judged_with_the_output_size_that_its_constant_tells():
    nodes = f"d = Cast <to = 1> (s) {ASYMMETRIC.replace(', s', ', d')}"
    made = legal(resizing(nodes, "double[4] s = {1, 1, 0.5, 0.25}", "float[3,3,3,5] x"), "tensorrt-7.1")
    # pytorch_half_pixel would say the same, but that parser refuses it for one pixel
    assert "Resize" not in operators(made)


@pytest.mark.measured_on("onnxruntime", "1.24", "the policy was computed otherwise")
def test_a_policy_over_axes_from_the_end_is_no_crash():
    node = 'y = Resize <axes = [-1], keep_aspect_ratio_policy = "not_smaller"> (x, , , k)'
    assert refusal(legal(resizing(node, "int64[1] k = {4}", opset=18), "tensorrt-7.0"))


def test_an_initializer_that_the_parser_would_not_find_is_not_written():
    """TensorRT 5 finds those alone that are listed as inputs; this model has none, and a new one would be the first."""
    nodes = """c = Constant <value: tensor = double[4] v {1, 1, 4, 1}> () s = Cast <to = 1> (c)
        y = Upsample <mode = "nearest"> (x, s)"""
    before = resizing(nodes, x="float[1,2,4,2] x", y="float[1,2,16,2] y", opset=9)
    assert refusal(legal(before, "tensorrt-5.1", lowered=False))


@pytest.mark.parametrize(("ir_version", "initializers"), [(3, 1), (4, 0)])
@pytest.mark.parametrize("target", ["tensorrt-5.0", "tensorrt-5.1"])
def test_a_lowering_brings_no_initializer_that_would_have_the_other_nodes_refused(ir_version, target, initializers):
    """TensorRT 5 finds those alone that are listed as inputs, which from IR 4 on no new one is."""
    nodes = """a = Upsample <scales = [1.0, 1.0, 2.0, 1.0], mode = "nearest"> (x)
        y = Upsample <mode = "linear", scales = [1.0, 1.0, 1.0, 1.5]> (a)"""
    made = legal(resizing(nodes, x="float[1,3,4,4] x", y="float[1,3,8,6] y", opset=8, ir=ir_version), target)
    assert statuses(made) == [Status.UNCHANGED, Status.CHANGED]
    assert len(made.document.proto.graph.initializer) == initializers
    assert_accepted(made, target)


def test_a_second_call_finds_nothing_to_do_where_a_constant_extent_tells_the_next_node_its_size():
    """What is scaled by a chain has unknown sizes for inference until the chain is one constant."""
    nodes = f"""k = Concat <axis = 0> (one, three) {LINEAR.replace(", s", ", k")} t = Abs (y)
        z = Resize <mode = "cubic"> (t, , , last)"""
    held = "float[2] one = {1, 1}, float[2] three = {3, 3}, int64[4] last = {1, 2, 27, 21}"
    made = legal(resizing(nodes, held, "float[1,2,6,4] x", "float[a,b,c,d] z", opset=17), "tensorrt-8.0")
    found = [(outcome.index, outcome.node, outcome.status) for outcome in made.outcomes]
    assert found == [(0, "#0", Status.CHANGED), (1, "#1", Status.CHANGED)]
    again = legal(made.document, "tensorrt-8.0")
    assert set(statuses(again)) == {Status.UNCHANGED}
    assert again.document.light_bytes() == made.document.light_bytes()


# 5 times 1.8 is 9 in float32 and 8 in float64
CAST = "double[4] c = {1, 1, 1, 1.8}"


@pytest.mark.parametrize(
    ("target", "opset", "resize", "how"),
    [
        ("tensorrt-9", 13, LINEAR, "scales give these sizes"),  # by sizes, sampled by the same scale
        # By another scale, of the same size and the same samples.
        ("tensorrt-8.4", 10, "y = Resize (x, s)", "sizes give these scales"),
    ],
)
def test_inference_is_not_reported_of_scales_from_which_it_gets_another_size_than_the_kernel(
    target, opset, resize, how
):
    """With the size of float64 the sum would not fit; a chain hides it."""
    nodes, x = f"s = Cast <to = 1> (c) {resize} z = Add (y, k)", "float[1,1,1,5] x, float[1,1,1,9] k"
    made = legal(resizing(nodes, CAST, x, "float[1,1,1,9] z", opset=opset), target)
    assert (made.outcomes[0].status, made.outcomes[0].exact) == (Status.CHANGED, True)
    assert how in (made.outcomes[0].reason or "")


def test_scales_that_inference_may_not_see_are_refused_where_nothing_else_says_them():
    nodes, y = 's = Cast <to = 1> (c) y = Resize <mode = "linear"> (x, s)', "float[1,1,1,w] y"
    five, four = (resizing(nodes, CAST, f"float[1,1,1,{size}] x", y, opset=10) for size in (5, 4))
    reason = refusal(legal(five, "tensorrt-8.4", lowered=False))
    assert "would make 5 8 for shape inference, 9 when run" in reason
    assert statuses(legal(four, "tensorrt-8.4", lowered=False)) == [Status.CHANGED]  # 7 for everybody


def test_scales_that_inference_reads_already_stay_scales():
    node = "y = Resize <axes = [3]> (x, , s)"
    made = legal(resizing(node, "float[1] s = {1.8}", "float[1,1,1,5] x", "float[1,1,1,w] y", opset=18), "tensorrt-8.5")
    assert statuses(made) == [Status.CHANGED]
    assert len(made.document.proto.graph.node[0].input) == 3


def test_a_rank_is_known_behind_scales_in_another_file(tmp_path):
    nodes = "y = Upsample (x, s) u = Abs (y) z = Upsample (u, s) w = Flatten (z)"
    before = resizing(nodes, "float[3] s = {1, 2, 2}", "float[n,2,3] x", "float[?,?] w", opset=9, ir=4)
    made = legal(in_another_file(before, tmp_path / "m.onnx"), "tensorrt-6.0")
    assert statuses(made) == [Status.CHANGED, Status.CHANGED]
    reason = made.outcomes[1].reason
    assert reason.startswith("replaced by repeated samples (Unsqueeze, Concat, Reshape); for tensorrt-6.0")
    assert "[upsample-rank]" in reason
    again = legal(made.document, "tensorrt-6.0")
    assert again.document.light_bytes() == made.document.light_bytes()


def test_a_rewrite_is_made_again_where_another_tells_a_type_that_the_target_does_not_take(tmp_path):
    """Scales in another file keep inference from the type of `y`; in a new initializer they let it through."""
    nodes = """y = Resize (x, s) c = Constant <value = double[4] {1, 1, 4, 0.5}> () t = Cast <to = 1> (c)
        z = Resize (y, t)"""
    before = resizing(nodes, x="int32[2,2,2,6] x", y="int32[] z", opset=10, ir=5)
    before.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 1, 1, 7 / 3], np.float32), "s"))
    made = legal(in_another_file(before, tmp_path / "m.onnx"), "tensorrt-7.1")
    assert statuses(made) == [Status.CHANGED] * 2
    reason = made.outcomes[1].reason
    assert reason.startswith("replaced by Gather of the same samples; for tensorrt-7.1: the scales come")
    assert "[scales-are-weights]" in reason
    assert "[input-type]" in reason


@pytest.mark.parametrize(
    ("x", "node", "condition"),
    [
        (OPEN, CUBIC, "for finite inputs, where no axis is empty"),
        ("float[n,3,8,8] x", CUBIC, "for finite inputs, where no axis is empty"),
        ("float[1,3,8,8] x", CUBIC, "for finite inputs"),
        (OPEN, 'y = Resize <nearest_mode = "ceil"> (x, , s)', None),
        (OPEN, 'y = Resize <mode = "nearest"> (x, , s)', "for axes up to 4194304"),
        ("float[n,3,8,8] x", 'y = Resize <mode = "nearest"> (x, , s)', None),
    ],
)
def test_what_a_rewrite_needs_is_in_the_outcome(x, node, condition):
    """Cubic becomes a product of matrices or a deconvolution, nearest another spelling of the same node."""
    outcome = legal(resizing(node, BY_2, x), "tensorrt-7.0").outcomes[0]
    assert outcome.condition == condition
    assert all(part in (outcome.reason or "") for part in (condition or "").split(", "))


def test_half_precision_needs_casts_around_arithmetic_and_ncnn_has_none():
    before = resizing(ASYMMETRIC, BY_2, "float16[1,3,8,8] x", "float16[1,3,16,16] y")
    assert "takes no float16 in Cast" in refusal(legal(before, "ncnn"))
