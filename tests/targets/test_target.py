import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nodes import NODES, RESIZE_11, changed
from onnx import TensorProto

from resizefix.diagnostics import UsageError
from resizefix.interpolation import ExtentKind
from resizefix.targets.catalogue import TARGETS, target_named
from resizefix.targets.facts import OperandSource, Roi, SiteFacts
from resizefix.targets.target import (
    Effect,
    OperatorLimit,
    Release,
    Rule,
    Target,
    Violation,
    accepted,
    accepts,
    judge,
    targets_of,
)

NEAREST_ALONE = Rule("nearest-alone", lambda f: f.mode == "nearest", "mode is {f.mode}", "here", "take nearest")
NO_HALVES = Rule("no-halves", lambda f: f.mode != "cubic", "cubic", "here", "", Effect.NOTED)
TARGET = Target("some", "", "some parser", (NEAREST_ALONE, NO_HALVES))


def test_a_node_that_breaks_no_rule_has_no_violations_and_is_accepted():
    assert judge(TARGET, RESIZE_11) == ()
    assert accepted(())


def test_a_violation_says_which_node_which_rule_why_by_whom_and_how_to_fix_it():
    found = judge(TARGET, changed(RESIZE_11, node="r", mode="linear"))
    assert found == (Violation("r", "nearest-alone", "mode is linear", "here", "take nearest", Effect.REJECTED),)
    assert not accepted(found)


def test_a_note_alone_leaves_a_node_accepted():
    notes = judge(Target("some", "", "", (NO_HALVES,)), changed(RESIZE_11, mode="cubic"))
    assert [note.effect for note in notes] == [Effect.NOTED]
    assert accepted(notes)


def test_a_node_that_is_computed_otherwise_is_not_accepted():
    assert not accepted((Violation("r", "", "", "", "", Effect.DIFFERENT),))


def test_two_rules_of_one_name_are_a_mistake():
    with pytest.raises(ValueError, match="names a rule twice: \\['nearest-alone'\\]"):
        Target("some", "", "", (NEAREST_ALONE, NEAREST_ALONE))


def test_a_rule_without_a_source_has_that_of_its_table_and_without_either_is_a_mistake():
    rules = (NEAREST_ALONE, Rule("not-cubic", lambda f: f.mode != "cubic", "cubic"))
    (target,) = targets_of("some", (Release("", "some parser"),), rules, source="there")
    assert [rule.source for rule in target.rules] == ["here", "there"]
    with pytest.raises(ValueError, match="some has rules of no source: \\['not-cubic'\\]"):
        targets_of("some", (Release("", "some parser"),), rules)


RELEASES = tuple(Release(version, f"a-parser {version}") for version in ("5.0", "7.1", "7.2", "8.0", "rtx"))


@pytest.mark.parametrize(
    ("since", "until", "having"),
    [
        ("", "", ["5.0", "7.1", "7.2", "8.0", "rtx"]),
        ("7.1", "", ["7.1", "7.2", "8.0", "rtx"]),
        ("", "7.2", ["5.0", "7.1", "7.2"]),
        ("7.2", "7.2", ["7.2"]),
        ("rtx", "", ["rtx"]),
    ],
)
def test_a_row_holds_for_the_releases_from_since_to_until_both_included(since, until, having):
    rule = Rule("nearest-alone", NEAREST_ALONE.holds, "", "here", "", since=since, until=until)
    limit = OperatorLimit(frozenset({"Slice"}), "here", ranks=frozenset({5}), since=since, until=until)
    made = targets_of("some", RELEASES, (rule,), (limit,))
    assert [target.name for target in made] == ["some-5.0", "some-7.1", "some-7.2", "some-8.0", "some-rtx"]
    assert [target.version for target in made if target.rules == (rule,)] == having
    assert [target.version for target in made if target.why_not({"Slice"}, TensorProto.FLOAT, 5)] == having


def test_a_row_for_a_release_that_there_is_not_is_a_mistake():
    with pytest.raises(ValueError, match=r"6\.0"):
        targets_of("some", RELEASES, (Rule("r", NEAREST_ALONE.holds, "", "here", "", since="6.0"),))


def test_a_runtime_of_one_release_is_named_by_itself_alone():
    assert [target.name for target in targets_of("some", (Release("", "some 1.2"),), ())] == ["some"]


def test_the_targets_have_the_names_that_the_command_line_promises():
    names = ["5.0", "5.1", "6.0", "7.0", "7.1", "7.2", "8.0", "8.4", "8.5", "9", "10", "rtx"]
    live = ["openvino", "opencv-4", "opencv-5", "ncnn", "mnn", "tract", "tvm"]
    read = ["coreml", "directml", "edge-tpu", "ethos-u", "horizon", "kneron", "kneron-520", "kneron-720", "migraphx"]
    read += ["nnapi", "qnn", "rknn", "tidl", "webgl"]
    promised = [*(f"tensorrt-{name}" for name in names), "onnxruntime", *live, *read]
    assert [target.name for target in TARGETS] == promised
    assert all(target_named(target.name) is target for target in TARGETS)


def test_an_unknown_target_is_a_usage_error_that_names_near_ones_and_the_page_of_all():
    nearest = r"did you mean tensorrt-10 or tensorrt-8\.4 or tensorrt-9\?"
    said = rf"'tensorrt-4'; {nearest} \S*docs/reference/targets\.md has all$"
    with pytest.raises(UsageError, match=said):
        target_named("tensorrt-4")


NOT_KNOWN = {
    "source": OperandSource.UNKNOWN, "values": None, "length": None, "operand_rank": None, "operand_type": None,
    "rank": None, "input_shape": None, "output_shape": None, "elem_type": None,
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("node", [node for name, node in NODES.items() if name != "Upsample-7"])
def test_a_fact_that_is_not_known_breaks_no_rule(target, node):
    with_all = {violation.rule for violation in judge(target, node)}
    assert {violation.rule for violation in judge(target, changed(node, **NOT_KNOWN))} <= with_all


def test_facts_that_contradict_each_other_are_a_mistake():
    with pytest.raises(ValueError, match="rank 3 with input_shape"):
        changed(RESIZE_11, rank=3, input_shape=(1, 3, 8, 8))


sizes = st.one_of(st.none(), st.integers(0, 5))
shapes = st.one_of(st.none(), st.lists(sizes, max_size=9).map(tuple))
numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, width=32), st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, -1.0])
)
texts = st.sampled_from(
    [
        "nearest", "linear", "cubic", "bilinear", "half_pixel", "asymmetric", "floor", "ceil", "not_larger", "stretch",
        "{x}",
    ]
)  # fmt: skip
any_facts = st.builds(
    SiteFacts, node=st.sampled_from(["n", "{f}"]), op_type=st.sampled_from(["Upsample", "Resize"]),
    opset=st.integers(1, 30), ir_version=st.integers(1, 12),
    attributes=st.frozensets(st.sampled_from(["scales", "mode", "axes", "height_scale", "width_scale"])), mode=texts,
    coordinate_transformation_mode=texts, nearest_mode=texts, keep_aspect_ratio_policy=texts, antialias=st.booleans(),
    axes=st.one_of(st.none(), st.lists(st.integers(-9, 9), min_size=1, max_size=4).map(tuple)),
    n_inputs=st.integers(0, 5), roi=st.sampled_from(Roi), trailing_empty_input=st.booleans(),
    extent=st.one_of(st.none(), st.sampled_from(ExtentKind)), empty_sizes=st.booleans(),
    enclosing=st.frozensets(st.sampled_from(["If", "Loop", "function"])), source=st.sampled_from(OperandSource),
    values=st.one_of(st.none(), st.lists(numbers, max_size=6).map(tuple)),
    length=st.one_of(st.none(), st.integers(0, 9)), operand_rank=st.one_of(st.none(), st.integers(0, 3)),
    operand_type=st.one_of(st.none(), st.sampled_from(TensorProto.DataType.values())), output_shape=shapes,
    elem_type=st.one_of(st.none(), st.sampled_from(TensorProto.DataType.values())),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(any_facts, shapes, st.integers(0, 9))
def test_every_target_judges_whatever_a_file_may_hold(facts, shape, rank):
    facts = changed(facts, input_shape=shape, rank=rank if shape is None else len(shape))
    for target in TARGETS:
        violations = judge(target, facts)
        assert accepts(target, facts) == accepted(violations)
        for violation in violations:
            assert violation.node == facts.node
            assert violation.because


def test_the_names_that_the_command_line_knows_are_those_of_the_catalogue():
    from resizefix.library.option_values import TARGETS as NAMES

    assert [target.name for target in TARGETS] == list(NAMES)
