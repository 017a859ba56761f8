"""Targets that a file describes: what a file may say, what it means, and that the schema says the same."""

import copy
import json
import pickle
import re
from pathlib import Path

import jsonschema
import pytest
from nodes import RESIZE_10, RESIZE_11, SIZED_11, UPSAMPLE_9, changed
from onnx import TensorProto

import resizefix
from resizefix.errors import UsageError
from resizefix.interpolation import ExtentKind
from resizefix.outcome import Status
from resizefix.targets.catalogue import TARGETS, near_names, target_named
from resizefix.targets.described import FOLDER, PROPERTIES, shipped, target_in, tomllib
from resizefix.targets.described_conditions import CONDITIONS
from resizefix.targets.described_schema import schema, template
from resizefix.targets.facts import OperandSource, Roi
from resizefix.targets.target import Effect, judge

ROOT = Path(__file__).parents[2]
HEAD = 'name = "mine"\ntitle = "Mine"\nsource = "a page"\n'
RULE = f'{HEAD}[[rule]]\nname = "r"\nbecause = "b"\n'
VALIDATOR = jsonschema.Draft202012Validator(schema())


def written(folder, text, name="mine.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return target_in(path)


def rule(folder, text, head=HEAD):
    (only,) = written(folder, f'{head}[[rule]]\nname = "r"\nbecause = "b"\n{text}\n').rules
    return only


def test_the_schema_is_one_and_the_file_of_the_package_is_up_to_date():
    jsonschema.Draft202012Validator.check_schema(schema())
    stored = json.loads((FOLDER / "target.schema.json").read_text(encoding="utf-8"))
    assert stored == schema(), "run: python docs/reference/make_reference.py"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_a_file_of_the_package_fits_the_schema_and_says_that_it_was_not_run_here(path):
    VALIDATOR.validate(tomllib.loads(path.read_text(encoding="utf-8")))
    target = target_in(path)
    assert target.name == path.stem
    assert "not run here" in target.parser
    assert all("not run here" in one.source for one in (*target.rules, *target.limits))
    assert target is next(one for one in TARGETS if one.name == path.stem)


@pytest.mark.parametrize("page", ["docs/targets-of-your-own.md", "docs/zh/targets-of-your-own.md"])
def test_every_file_of_the_page_is_valid(page, tmp_path):
    blocks = re.findall(r"```toml\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    for block in blocks:
        text = block if "title" in block else HEAD + block
        VALIDATOR.validate(tomllib.loads(text))
        written(tmp_path, text)


@pytest.mark.parametrize("page", ["docs/targets-of-your-own.md", "docs/zh/targets-of-your-own.md"])
def test_every_condition_that_the_page_writes_is_valid(page, tmp_path):
    text = (ROOT / page).read_text(encoding="utf-8")
    tables = re.findall(r"`((?:needs|where) = .*?)`", text)
    assert len(tables) >= 12
    for conditions in tables:
        rule(tmp_path, conditions)
    for condition in re.findall(r"`((?:factor|mode) = .*?)`", text):
        rule(tmp_path, f"needs = {{ {condition} }}")


def test_a_new_file_is_valid_as_written_and_names_everything_that_can_be_stated(tmp_path):
    text = template("my-npu")
    VALIDATOR.validate(tomllib.loads(text))
    target = written(tmp_path, text)
    assert (target.name, len(target.rules)) == ("my-npu", 4)
    assert [one.name for one in (*CONDITIONS, *PROPERTIES) if f"#   {one.name}\n" not in text] == []
    assert max(map(len, text.splitlines())) <= 120
    # Its commented examples are valid, too.
    examples = [
        line[2:] for line in text.splitlines() if line.startswith(("# [[", "# name", "# because", "# comp", "# oper"))
    ]
    assert len(written(tmp_path, HEAD + "\n".join(examples)).rules) == 1


# ---- the schema and the reader --------------------------------------------------------------------------------------

FULL = {
    "name": "mine",
    "title": "Mine",
    "source": "a page",
    "rule": [
        {"name": "one", "because": "b {mode}", "fix": "f", "where": {"mode": "nearest"}, "needs": [{"rank": 4}]},
        {"name": "two", "because": "b", "effect": "noted", "source": "s", "where": [{"rank": {"min": 3}}]},
        {"name": "three", "because": "b", "computes": [{"where": {"opset": 10}, "antialias": False}]},
    ],
    "limit": [{"operators": ["Gather"], "types": ["float16"], "ranks": [5], "source": "s"}],
}
WRONG = (
    None,
    7,
    -1.5,
    True,
    "",
    " ",
    "x",
    [],
    [[]],
    ["x"],
    [True],
    {},
    {"x": 1},
    {"not": "x"},
    {"not": []},
    {"min": "a"},
)


def toml(value):
    """The value as TOML writes it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(one)}" for key, one in value.items()) + " }"
    return f"[{', '.join(map(toml, value))}]" if isinstance(value, list) else json.dumps(value)


def reads(folder, document):
    said = ""
    try:
        written(folder, "\n".join(f"{json.dumps(key)} = {toml(value)}" for key, value in document.items()))
    except UsageError as error:
        said = str(error)
    assert "mine.toml" in said or not said
    return not said


def places(value, path=()):
    yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*path, key))


def put(document, path, value):
    changed_one = copy.deepcopy(document)
    inner = changed_one
    for key in path[:-1]:
        inner = inner[key]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return changed_one


def test_what_the_schema_refuses_the_reader_refuses_and_nothing_else(tmp_path):
    assert reads(tmp_path, FULL)
    seen = set()
    for path in places(FULL):
        for value in WRONG if path else ():
            document = put(FULL, path, value)
            fits = VALIDATOR.is_valid(document)
            seen.add(fits)
            assert reads(tmp_path, document) == fits, (path, value)
    assert seen == {True, False}


GOOD = (True, 4, 2.5, [2, 3], [0.5, 2], {"min": 1}, {"max": 2.5}, {"min": 1, "max": 3})


@pytest.mark.parametrize("condition", CONDITIONS, ids=lambda one: one.name)
def test_a_condition_takes_what_the_schema_says_of_it(condition, tmp_path):
    words = (
        [condition.kind.choices[0], list(condition.kind.choices), {"not": [condition.kind.choices[-1]]}]
        if (condition.kind.choices)
        else []
    )
    taken = []
    for value in (*WRONG[1:], *GOOD, *words):
        document = put(FULL, ("rule", 0, "needs"), {condition.name: value})
        assert reads(tmp_path, document) == VALIDATOR.is_valid(document), value
        taken.append(VALIDATOR.is_valid(document))
    assert True in taken
    assert False in taken


@pytest.mark.parametrize("property_", PROPERTIES, ids=lambda one: one.name)
def test_a_property_takes_what_the_schema_says_of_it(property_, tmp_path):
    for value in (*WRONG[1:], *GOOD, False, *property_.kind.choices[:1]):
        document = put(FULL, ("rule", 2, "computes"), {property_.name: value})
        assert reads(tmp_path, document) == VALIDATOR.is_valid(document), value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "is not valid TOML: Invalid value"),
        ("x = " + "[" * 5000, "is not valid TOML"),
        ('name = "mine"', "the file needs the key 'title'"),
        (HEAD + "[[rules]]", "the file has no key 'rules'; did you mean rule?"),
        (
            HEAD + '[[rule]]\nname = "r"\nbecause = "b"',
            "rule r states no condition; give it `where`, `needs` or `computes`",
        ),
        (HEAD + '[[rule]]\nname = "r"\nneeds = { rank = 4 }', "rule r needs the key 'because'"),
        (HEAD + '[rule]\nname = "r"', "rule cannot be { name = 'r' }; it takes tables, each under its own [[rule]]"),
        (RULE + "needs = { rank = 4 }\ncomputes = { ties = 'exact' }", "with `computes`, write `where`"),
        (RULE + "needs = { factor = { min = 4, max = 1 } }", "factor cannot be { min = 4, max = 1 }"),
        (RULE + 'needs = { mode = "linaer" }', "mode cannot be 'linaer'; did you mean linear? It takes"),
        (
            RULE + 'effect = "reject"\nneeds = { rank = 4 }',
            "did you mean rejected? It takes one of rejected, different, noted",
        ),
        (RULE + 'fix = "{modes}"\nneeds = { rank = 4 }', "did you mean {mode}? It takes one of {operator}"),
        (RULE + "needs = { mode = linear }", "needs = { mode = linear }; write words in quotes"),
        (RULE + "needs = {\nrank = 4 }", "needs = {; write a table in braces on one line"),
        (HEAD + '[[limit]]\noperators = ["Gathr"]', "operators cannot be 'Gathr'; did you mean Gather?"),
        (
            HEAD + '[[rule]]\nname = "r"\nbecause = "{f.node}"\nneeds = { rank = 4 }',
            "because cannot be '{f.node}'; ",
        ),
        (
            HEAD + '[[rule]]\nname = "r"\nbecause = "b"\nneeds = { rnk = 4 }',
            "rule r has no key 'rnk'; did you mean rank?",
        ),
        (
            HEAD + '[[rule]]\nname = "r"\nbecause = "b"\nneeds = { rank = "4" }',
            "rank cannot be '4'; it takes a whole number",
        ),
        (HEAD + '[[rule]]\nname = "r"\nbecause = "b"\nneeds = { rank = 4 }\n' * 2, "two rules have the name 'r'"),
        (HEAD.replace("mine", "My NPU"), "name cannot be 'My NPU'; it takes lower-case letters"),
    ],
)
def test_an_error_names_the_file_the_place_and_what_belongs_there(text, said, tmp_path):
    with pytest.raises(UsageError) as raised:
        written(tmp_path, text)
    assert "mine.toml" in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1
    assert said in str(raised.value)


def test_a_file_that_is_not_there_and_one_with_a_name_of_this_package_are_usage_errors(tmp_path):
    with pytest.raises(UsageError, match="cannot be opened: No such file"):
        target_named(tmp_path / "none.toml")
    for name in ("qnn", "tensorrt", "tensorrt-8.6"):
        written(tmp_path, HEAD.replace("mine", name))
        with pytest.raises(UsageError, match=f"the name '{name}' is that of a target of this package"):
            target_named(tmp_path / "mine.toml")


def test_a_name_without_the_ending_of_a_file_that_is_there_proposes_the_file(tmp_path):
    written(tmp_path, HEAD)
    with pytest.raises(UsageError, match=r"did you mean \S*mine\.toml\?"):
        target_named(tmp_path / "mine")


# ---- what a file means ----------------------------------------------------------------------------------------------

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


# ---- in the library -------------------------------------------------------------------------------------------------

MODEL = ROOT / "fixtures" / "bisenet_x8_linear_opset10.onnx"


def test_check_and_legalize_take_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(HEAD + '[[rule]]\nname = "nearest-alone"\nbecause = "b"\nneeds = { mode = "nearest" }\n')
    verdict = resizefix.check(MODEL, target=path)
    assert (verdict.target.name, verdict.word) == ("mine", "rejected")
    result = resizefix.legalize(MODEL, target=str(path))
    assert resizefix.check(result.model, target=path).accepted
    assert f"checked with the rules of {path} only" in str(result.verification.reason)


def test_an_operator_that_the_device_does_not_have_takes_no_nodes_place(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        HEAD + '[[rule]]\nname = "nearest-alone"\nbecause = "b"\nneeds = { mode = "nearest" }\n'
        '[[limit]]\noperators = ["MatMul", "Gather", "ConvTranspose", "Conv"]\n'
    )
    with pytest.raises(resizefix.RefusedError, match="mine has no"):
        resizefix.legalize(MODEL, target=path)


@pytest.mark.parametrize("target", shipped(), ids=lambda target: target.name)
def test_legalize_writes_what_the_target_accepts_or_says_why_not(target):
    result = resizefix.legalize(MODEL, target=target.name, verify=False, on_refusal="return")
    refused = [one for one in result.outcomes if one.status is Status.REFUSED]
    assert resizefix.check(result.model, target=target.name).accepted or refused
    assert all(one.reason for one in refused)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("trt7", ["tensorrt-7.0", "tensorrt-7.1", "tensorrt-7.2"]),
        ("trt-8.6", ["tensorrt-8.5"]),
        ("tensorrt8.6", ["tensorrt-8.5"]),
        ("open-cv", ["opencv-5", "opencv-4"]),
        ("vela", ["ethos-u"]),
        ("edgetpu", ["edge-tpu"]),
        ("qn", ["qnn"]),
        ("kneron-630", ["kneron", "kneron-720"]),
        ("onnx-runtime", ["onnxruntime"]),
        ("foo", []),
        ("", []),
    ],
)
def test_near_names_are_names_of_the_list_and_none_is_far(typed, meant):
    near = near_names(typed)
    assert near[: len(meant)] == meant
    assert set(near) <= {target.name for target in TARGETS}
    assert len(set(near)) == len(near) <= 3
    assert "tract" not in near


@pytest.mark.parametrize(
    "target", [target for target in TARGETS if target.version[:1].isdigit()], ids=lambda target: target.name
)
def test_a_version_with_and_without_its_zeros_is_one_version(target):
    for zeros in (".0", ".0.0"):
        assert len(f"{target.version}{zeros}".split(".")) > 4 or target_named(f"{target.name}{zeros}") is target
    shorter = target.name.removesuffix(".0")
    assert target_named(shorter) is target


def test_an_extent_that_is_neither_breaks_no_rule(tmp_path):
    assert rule(tmp_path, 'needs = { by = "sizes" }').holds(changed(RESIZE_11, extent=None))
    assert ExtentKind.SIZES.value == "sizes"
