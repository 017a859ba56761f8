"""Targets that a file describes: what a file may say, that the schema says so, and where the library takes one."""

import copy
import json
import re
from pathlib import Path

import jsonschema
import pytest
from described_files import HEAD, RULE, rule, written
from nodes import RESIZE_11, changed

import resizefix
from resizefix.diagnostics import UsageError
from resizefix.interpolation import ExtentKind
from resizefix.outcome import Status
from resizefix.targets.catalogue import TARGETS, near_names, target_named
from resizefix.targets.foreign.described import FOLDER, PROPERTIES, shipped, target_in, tomllib
from resizefix.targets.foreign.described_conditions import CONDITIONS
from resizefix.targets.foreign.described_schema import schema, template

ROOT = Path(__file__).parents[2]
VALIDATOR = jsonschema.Draft202012Validator(schema())


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
