"""What the file that describes a target means: conditions, computations and limits, judged over the facts of nodes."""

import pickle

import pytest
from described_files import HEAD, rule, written
from nodes import RESIZE_10, RESIZE_11, SIZED_11, UPSAMPLE_9, changed
from onnx import TensorProto

from resizefix.diagnostics import UsageError
from resizefix.targets.catalogue import TARGETS, target_named
from resizefix.targets.facts import OperandSource, Roi
from resizefix.targets.foreign.described_conditions import CONDITIONS
from resizefix.targets.foreign.described_schema import template
from resizefix.targets.target import Effect, judge

OPEN = changed(RESIZE_11, input_shape=(None, 3, None, None), output_shape=None)
FED = changed(RESIZE_11, source=OperandSource.INTEGER_INPUT, values=None, output_shape=None)
LINEAR = changed(RESIZE_11, mode="linear", coordinate_transformation_mode="half_pixel")
NOT_KNOWN = changed(RESIZE_11, rank=None, input_shape=None, output_shape=None, values=None, elem_type=None)


def scaled(*values, **others):
    return changed(RESIZE_11, values=values, output_shape=None, **others)


@pytest.mark.parametrize(
    ("needs", "fits", "breaks", "not_known"),
    [
        ('operator = "Resize"', RESIZE_11, UPSAMPLE_9, None),
        ("opset = { min = 11 }", RESIZE_11, RESIZE_10, None),
        ('mode = ["nearest", "cubic"]', RESIZE_11, LINEAR, None),
        ('mode = { not = ["linear"] }', RESIZE_11, LINEAR, None),
        ('mode = { not = "linear" }', RESIZE_11, LINEAR, None),
        ('coordinate_transformation_mode = "asymmetric"', RESIZE_11, LINEAR, RESIZE_10),
        ('nearest_mode = "floor"', RESIZE_11, changed(RESIZE_11, nearest_mode="ceil"), LINEAR),
        (
            "align_corners = false",
            RESIZE_11,
            changed(LINEAR, coordinate_transformation_mode="align_corners"),
            RESIZE_10,
        ),
        (
            "cubic_coeff_a = -0.75",
            changed(LINEAR, mode="cubic"),
            changed(LINEAR, mode="cubic", cubic_coeff_a=-0.5),
            LINEAR,
        ),
        ("exclude_outside = false", RESIZE_11, changed(RESIZE_11, exclude_outside=True), None),
        ("antialias = false", RESIZE_11, changed(RESIZE_11, antialias=True), None),
        (
            'keep_aspect_ratio_policy = "stretch"',
            RESIZE_11,
            changed(SIZED_11, keep_aspect_ratio_policy="not_larger"),
            None,
        ),
        ("roi = false", RESIZE_11, changed(RESIZE_11, roi=Roi.TENSOR), None),
        ('by = "scales"', RESIZE_11, SIZED_11, changed(RESIZE_11, extent=None)),
        ("constant = true", RESIZE_11, FED, None),
        ("fed = false", RESIZE_11, FED, None),
        ('source = "initializer"', RESIZE_11, FED, changed(RESIZE_11, source=OperandSource.UNKNOWN)),
        ('dtype = ["float", "float16"]', RESIZE_11, changed(RESIZE_11, elem_type=TensorProto.INT8), NOT_KNOWN),
        ('dtype = "float32"', RESIZE_11, changed(RESIZE_11, elem_type=TensorProto.DOUBLE), NOT_KNOWN),
        ('dtype = { not = "float64" }', RESIZE_11, changed(RESIZE_11, elem_type=TensorProto.DOUBLE), NOT_KNOWN),
        ("rank = [3, 4]", RESIZE_11, changed(RESIZE_11, rank=5), NOT_KNOWN),
        ("batch = 1", RESIZE_11, changed(RESIZE_11, input_shape=(2, 3, 8, 8)), OPEN),
        ("input_length = { max = 8 }", RESIZE_11, changed(RESIZE_11, input_shape=(1, 3, 8, 9)), OPEN),
        ("output_length = { max = 16 }", RESIZE_11, scaled(1.0, 1.0, 2.0, 3.0), OPEN),
        ('static_lengths = "all"', RESIZE_11, OPEN, NOT_KNOWN),
        ('static_lengths = "image"', changed(OPEN, input_shape=(None, 3, 8, 8)), OPEN, NOT_KNOWN),
        ('static_lengths = "others"', changed(OPEN, input_shape=(1, 3, None, 8)), OPEN, NOT_KNOWN),
        ('axes = "absent"', RESIZE_11, changed(RESIZE_11, axes=(0, 1, 2, 3)), None),
        ('axes = "in-order"', changed(RESIZE_11, axes=(0, 1, 2, 3)), changed(RESIZE_11, axes=(3, 2, 1, 0)), None),
        ('axes = "from-the-front"', RESIZE_11, changed(RESIZE_11, axes=(0, 1, 2, -1)), None),
        ('axes = "image-last"', changed(RESIZE_11, axes=(2, 3)), changed(RESIZE_11, axes=(3, 2)), None),
        ("one_value_per_axis = true", RESIZE_11, changed(RESIZE_11, length=2), changed(RESIZE_11, length=None)),
        ("resized = true", RESIZE_11, scaled(1.0, 1.0, 1.0, 1.0), None),
        ("resized_axes = [-2, -1]", RESIZE_11, scaled(1.0, 2.0, 2.0, 2.0), scaled(1.0, 1.0, 1.0, 1.0)),
        ("resized_axes = { min = 2 }", RESIZE_11, scaled(2.0, 1.0, 1.0, 1.0), scaled(1.0, 1.0, 1.0, 1.0)),
        ("factor = { min = 1 }", RESIZE_11, scaled(1.0, 1.0, 2.0, 0.5), scaled(1.0, 1.0, 1.0, 1.0)),
        ("factor = 2", SIZED_11, scaled(1.0, 1.0, 2.0, 3.0), FED),
        ("corner_factor = 2", scaled(1.0, 1.0, 1.875, 1.875), RESIZE_11, FED),
        ('factors = "whole"', RESIZE_11, scaled(1.0, 1.0, 2.0, 1.5), FED),
        ('factors = ["whole", "part"]', scaled(1.0, 1.0, 0.5, 0.25), scaled(1.0, 1.0, 0.5, 1.5), FED),
        ('factors = "power-of-two"', scaled(1.0, 1.0, 4.0, 0.5), scaled(1.0, 1.0, 3.0, 2.0), FED),
        ('factors = "equal"', RESIZE_11, scaled(1.0, 1.0, 1.0, 2.0), FED),
        ('factors = { not = ["whole"] }', scaled(1.0, 1.0, 1.5, 1.5), RESIZE_11, FED),
        ("inferred_length = true", RESIZE_11, scaled(1.0, 1.0, 1.8, 1.8, input_shape=(1, 3, 5, 5)), None),
        ("inside_body = false", RESIZE_11, changed(RESIZE_11, enclosing=frozenset({"If"})), None),
    ],
)
def test_a_condition_holds_fails_and_where_a_fact_is_not_known_breaks_no_rule(needs, fits, breaks, not_known, tmp_path):
    needed = rule(tmp_path, f"needs = {{ {needs} }}")
    assert needed.holds(fits)
    assert not needed.holds(breaks)
    refused = rule(tmp_path, f"where = {{ {needs} }}", HEAD.replace("a page", "another"))
    assert not refused.holds(fits)
    assert refused.holds(breaks)
    if not_known is not None:
        assert needed.holds(not_known)
        assert refused.holds(not_known)


def test_every_condition_has_a_case_above():
    table = test_a_condition_holds_fails_and_where_a_fact_is_not_known_breaks_no_rule.pytestmark[0].args[1]
    assert {needs.split(" = ")[0] for needs, *_ in table} == {one.name for one in CONDITIONS}


def test_where_narrows_a_rule_and_one_of_several_tables_is_enough(tmp_path):
    one = rule(tmp_path, 'where = { mode = "linear" }\nneeds = [{ rank = 3 }, { rank = 4, factors = "whole" }]')
    assert one.holds(changed(RESIZE_11, rank=5))  # nearest
    assert one.holds(LINEAR)
    assert not one.holds(changed(LINEAR, values=(1.0, 1.0, 1.5, 1.5), output_shape=None))


@pytest.mark.parametrize(
    ("computes", "same", "other"),
    [
        (
            'coordinate_transformation_mode = "half_pixel"',
            LINEAR,
            changed(LINEAR, coordinate_transformation_mode="asymmetric"),
        ),
        ('nearest_mode = "floor"', RESIZE_11, changed(RESIZE_11, nearest_mode="ceil")),
        ("cubic_coeff_a = -0.75", changed(LINEAR, mode="cubic"), changed(LINEAR, mode="cubic", cubic_coeff_a=-0.5)),
        ("exclude_outside = false", LINEAR, changed(LINEAR, mode="cubic", exclude_outside=True)),
        ("antialias = false", LINEAR, changed(scaled(1.0, 1.0, 0.5, 0.5), mode="linear", antialias=True)),
        ('positions = "ratio"', LINEAR, changed(scaled(1.0, 1.0, 1.8, 1.8), mode="linear")),
        ('positions = "float32"', LINEAR, changed(scaled(1.0, 1.0, 1.8, 1.8), mode="linear")),
    ],
)
def test_what_is_computed_otherwise_breaks_the_rule_where_a_sample_differs(computes, same, other, tmp_path):
    one = rule(tmp_path, f"computes = {{ {computes} }}")
    assert one.effect is Effect.DIFFERENT
    assert one.holds(same)
    assert not one.holds(other)


def test_a_computation_comes_after_those_that_stand_before_it(tmp_path):
    text = HEAD + "".join(
        f'[[rule]]\nname = "{name}"\nbecause = "b"\ncomputes = {{ nearest_mode = "floor" }}\n' for name in ("a", "b")
    )
    broken = judge(written(tmp_path, text), changed(RESIZE_11, nearest_mode="ceil"))
    assert [one.rule for one in broken] == ["a"]


def test_a_sentence_quotes_the_node_and_braces_of_the_file_stay(tmp_path):
    text = 'name = "r"\nbecause = "{mode} of {rank}, {{x}}, {values}"\nfix = "raise {opset}"\nneeds = { rank = 5 }\n'
    with pytest.raises(UsageError, match=r"because cannot be '\{x\}'"):
        written(tmp_path, f"{HEAD}[[rule]]\n{text}")
    (broken,) = judge(written(tmp_path, f"{HEAD}[[rule]]\n{text.replace('{{x}}, ', '')}"), RESIZE_11)
    assert (broken.because, broken.fix) == ("nearest of 4, (1.0, 1.0, 2.0, 2.0)", "raise 11")
    assert (broken.source, broken.effect) == ("a page", Effect.REJECTED)


def test_a_limit_without_types_and_ranks_is_an_operator_that_the_device_does_not_have(tmp_path):
    target = written(tmp_path, HEAD + '[[limit]]\noperators = ["Gather"]\n')
    assert target.why_not({"Gather", "MatMul"}, TensorProto.FLOAT, 4) == "mine has no Gather"
    assert target.why_not({"MatMul"}, TensorProto.FLOAT, 4) is None


def test_a_target_of_ones_own_survives_a_pickle(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(template("mine"), encoding="utf-8")
    target = target_named(path)
    assert pickle.loads(pickle.dumps(target)) is target
    assert all(pickle.loads(pickle.dumps(one)) is one for one in TARGETS)
