"""The order of the lowerings, the choice among them, for each target too, and what every row keeps to."""

import pytest
from lowering_cases import ROW, by_scales, by_sizes, cubic, linear, nearest
from lowering_runs import Batch
from onnx import TensorProto

from resizefix.diagnostics import RefusedError
from resizefix.lowerings import LOWERINGS, lower
from resizefix.lowerings.table import BY_NAME, BY_TARGET, in_words, lowerings_for
from resizefix.targets.catalogue import TARGETS, target_named

SUBJECTS = [
    by_scales(nearest(), (1, 3, 4, 5), 2, 3),
    by_scales(nearest(), (1, 3, None, None), 2, 2),
    by_scales(nearest(), (1, 3, 9, 8), 1 / 3, 1 / 2),
    by_scales(nearest(), (1, 3, 4, 5), 1.2, 1.3),
    by_scales(nearest(), (1, 3, 4, 5), 1, 1.1),
    by_scales(linear(), (1, 3, None, None), 2, 3),
    by_scales(linear(), (1, 3, 4, 5), 2, 2, elem_type=TensorProto.FLOAT16),
    by_scales(linear(), (1, 3, None, None), 1 / 2, 1 / 2),
    by_scales(cubic(), (1, 3, 4, 5), 2, 1.5),
    by_scales(linear(), (1, 3, 4, 5, 6), 2, 2, 2),
]


def chosen(subject, opset=13, **more):
    return next(lower(subject, x="x", y="y", opset=opset, fresh=Batch(opset).fresh, **more)).how


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        (by_scales(nearest(), (1, 3, 4, 5), 1, 1.1), "identity"),
        (by_scales(nearest(), (1, 3, 4, 5), 2, 2), "repeat"),
        (by_scales(nearest(), (1, 3, 4, 4), 1 / 2, 1 / 2), "strided_slice"),
        (by_scales(nearest(), (1, 3, 4, 4), 2, 1 / 2), "gather"),
        (by_scales(linear(), (1, 3, 4, 4), 1 / 2, 1 / 2), "average_pool"),
        (by_scales(linear(), (1, 3, 4, 4), 2, 2), "small_matmul"),
        (by_scales(linear(), (1, 3, 256, 256), 2, 2), "conv_transpose"),
        (by_scales(linear(), (1, 3, None, None), 2, 2), "conv_transpose"),
        (by_scales(linear(), (1, None, None, None), 2, 2), "pad_upsample_slice"),
        (by_scales(cubic(), (1, 3, 256, 256), 2, 2), "small_matmul"),
        (by_scales(cubic(), (1, 3, 512, 512), 2, 2), "conv_transpose"),
        (by_scales(linear("align_corners"), (1, 3, 256, 256), 2, 2), "matmul"),
    ],
)
def test_the_first_that_applies_is_taken(subject, name):
    assert chosen(subject) == name


def test_exact_ones_come_before_those_within_a_bound():
    for subject in SUBJECTS:
        if any(low.applies(subject, 13) is None for low in (ROW["repeat"], ROW["strided_slice"], ROW["gather"])):
            assert next(lower(subject, x="x", y="y", opset=13, fresh=Batch(13).fresh)).error.exact


def test_below_opset_10_a_stride_is_gathered():
    assert chosen(by_scales(nearest(), (1, 3, 4, 4), 1 / 2, 1 / 2), opset=9) == "gather"


def test_a_target_without_an_operator_gets_another_lowering():
    subject = by_scales(nearest(), (1, 3, 4, 5), 2, 2)
    without = [low for low in LOWERINGS if not low.operators & {"Unsqueeze", "Gather"}]
    assert chosen(subject, among=without) == "depthwise_conv_transpose"


def test_a_refusal_names_every_lowering_with_its_reason():
    with pytest.raises(RefusedError) as refusal:
        chosen(by_scales(linear(), (1, 3, None, None), 1.5, 1.5), opset=8)
    message = str(refusal.value)
    assert "Slice with steps: it needs opset 10, the model has 8" in message
    assert "MatMul with constant matrices: the size of axis 2 is not static" in message
    assert "ConvTranspose behind repeated edges: axis 2 is not scaled by a whole number" in message
    assert [low.name for low in LOWERINGS if f"{in_words(low.name)}: " not in message] == []


def test_what_onnxruntime_cannot_answer_is_refused_once():
    said = r"^other operators cannot replace it: neither scales nor sizes are constant"
    with pytest.raises(RefusedError, match=said):
        chosen(by_sizes(linear(), (1, 3, 4, 4), (None,) * 4))


def test_building_what_does_not_apply_is_a_mistake_of_the_caller():
    with pytest.raises(ValueError, match="repeat: the mode is linear, not nearest"):
        ROW["repeat"].build(SUBJECTS[5], x="x", y="y", opset=13, fresh=str)


@pytest.mark.parametrize("opset", [7, 8, 10, 11, 13, 18, 23])
def test_every_row_keeps_to_its_operators_and_to_fresh_names(opset):
    for lowering in LOWERINGS:
        for subject in SUBJECTS:
            if lowering.applies(subject, opset) is not None:
                continue
            suggested = []
            fresh = lambda name, seen=suggested: seen.append(name) or f"fresh{len(seen)}"  # noqa: E731
            lowered = lowering.build(subject, x="x", y="y", opset=opset, fresh=fresh)
            assert lowered.how == lowering.name
            assert {node.op_type for node in lowered.nodes} - {"Cast"} <= lowering.operators
            is_half = subject.element_type == TensorProto.FLOAT16
            assert any(node.op_type == "Cast" for node in lowered.nodes) == (lowering.computes and is_half)
            held = [each.name for each in lowered.initializers]
            made = [name for node in lowered.nodes for name in node.output] + held
            assert len(set(made)) == len(made)
            assert lowered.nodes[-1].output[0] == "y"
            assert all(name.startswith("fresh") for name in made if name != "y")
            read = {name for node in lowered.nodes for name in node.input} - {""}
            assert read - {"x"} <= set(made)
            assert set(held) <= read
            assert all(name.startswith("y_") for name in suggested)
            assert lowered.error.bound >= 0
            assert lowered.error.bound == 0 or not lowered.error.exact


def test_names_are_those_of_the_rows():
    assert len({low.name for low in LOWERINGS}) == len(LOWERINGS)
    assert [low.name for low in LOWERINGS][-1] == "pad_upsample_slice"  # the only one that keeps an interpolation node


def test_every_order_is_of_a_target_and_of_lowerings():
    assert BY_TARGET.keys() <= {target.name for target in TARGETS}
    for order in BY_TARGET.values():
        assert set(order) <= set(BY_NAME.values())
        assert len(set(order)) == len(order)
    assert lowerings_for(None) == lowerings_for("openvino") == LOWERINGS


def chosen_for(target: str, subject) -> str:
    """What a target computes wrong is not in its order, and what it does not take is left out."""
    takes = target_named(target)
    why_not = lambda lowering: takes.why_not(lowering.operators, subject.element_type, len(subject.shape))  # noqa: E731
    return chosen(subject, among=lowerings_for(target), why_not=why_not)


IMAGE = by_scales(nearest(), (1, 2, 5, 7), 2, 2)
VOLUME = by_scales(linear(), (1, 2, 8, 8, 8), 0.5, 0.5, 0.5)


@pytest.mark.parametrize(
    ("target", "subject", "name"),
    [
        ("openvino", IMAGE, "repeat"),
        ("opencv-4", IMAGE, "gather"),
        ("ncnn", IMAGE, "depthwise_conv_transpose"),
        ("ncnn", by_scales(nearest(), (1, 2, 5, 7), 1.5, 1.5), "small_matmul"),
        ("ncnn", by_scales(linear(), (1, 2, 20, 20), 200, 200), "matmul"),
        ("opencv-4", by_scales(linear(), (1, 2, 20, 20), 200, 200), "matmul"),
        ("openvino", by_scales(linear(), (1, 2, 40, 40), 20, 20), "conv_transpose"),
        ("opencv-4", by_scales(linear(), (1, 2, 40, 40), 20, 20), "matmul"),
        ("mnn", VOLUME, "small_matmul"),
        ("openvino", VOLUME, "average_pool"),
        # a volume has a form without reshapes in ncnn
        ("ncnn", by_scales(linear(), (1, 2, 8, 8, 8), 1.5, 1.5, 1.5), "transposed_matmul"),
        # integers are copied sample by sample in ncnn
        ("ncnn", by_scales(nearest(), (1, 2, 5, 7), 2, 2, elem_type=TensorProto.UINT8), "split_concat"),
    ],
)
def test_what_takes_the_place_of_a_node_for_a_target(target, subject, name):
    assert chosen_for(target, subject) == name


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (by_scales(linear(), (1, 2, None, 8, 8), 1.5, 1.5, 1.5), "not static"),
        (by_scales(nearest(), (1, 2, 5, 7, 7), 2, 2, 2, elem_type=TensorProto.UINT8), "Split"),
    ],
)
def test_what_nothing_replaces_for_a_target_is_refused(subject, reason):
    with pytest.raises(RefusedError, match=reason):
        chosen_for("ncnn", subject)
