"""Whatever an option is given, a call answers, or raises an error that says what the option takes."""

import inspect
import math
import unicodedata

import numpy as np
import onnx
import pytest
from exhaustive import EXHAUSTIVE
from fixture_models import SRCNN
from hypothesis import given, settings
from hypothesis import strategies as st

import resizefix
from resizefix.library.option_values import FORM
from resizefix.library.options import CHANGING, OPTIONS, call_of, checked_options, checks_of, words_as_options
from resizefix.promotion import Form
from resizefix.targets.catalogue import TARGETS

MODEL = onnx.load(SRCNN)
CALLS = (
    "promote_scales",
    "freeze_scales",
    "trt_legacy",
    "legalize",
    "repair",
    "set_interpolation",
    "input_size",
    "opset",
    "check",
    "verify",
)
CALL_OPTIONS = [
    (call, option)
    for call in CALLS
    for option, parameter in inspect.signature(getattr(resizefix, call)).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
]
NEEDED = {
    "legalize": {"target": "tensorrt-7.0"},
    "check": {"target": "tensorrt-7.0"},
    "set_interpolation": {"mode": "linear"},
    "input_size": {"size": (40, 48)},
    "opset": {"opset": 13},
}
plain = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.builds(object)),
    st.sampled_from(["", "scales", "factor", "tensorrt", "TensorRT-8.6", "#0", "*", "\x1b[31m", "\0", "\ud800"]),
    st.sampled_from([1 << 70, np.float32(2), np.int64(-1), np.bool_(True), np.zeros((2, 2))]),
)
things = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["input", "output", "min", "opt", "max", ""]), inner, max_size=3),
        st.tuples(inner, inner),
    ),
    max_leaves=6,
)


def called(call, **options):
    models = [MODEL, MODEL] if call == "verify" else [MODEL]
    return getattr(resizefix, call)(*models, **{**NEEDED.get(call, {}), **options})


@pytest.mark.parametrize(("call", "option"), CALL_OPTIONS)
@settings(max_examples=50 if EXHAUSTIVE else 6, deadline=None)
@given(value=things)
def test_no_value_of_an_option_raises_anything_but_a_resizefix_error(call, option, value):
    try:
        if call in ("check", "verify") or option in ("verify", "timeout", "memory_limit"):
            checked_options(call, {option: value})
        else:
            called(call, **{"verify": False, option: value})
    except resizefix.ResizefixError as error:
        assert_is_shown(error, option)


def assert_is_shown(error, option):
    """A short sentence, of characters that can be shown."""
    assert 10 < len(str(error)) < 600  # all targets are listed
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in set(str(error)))


@settings(max_examples=40, deadline=None)
@given(value=things)
@pytest.mark.parametrize("call", ["inspect", "promote_scales", "check"])
def test_what_is_no_model_is_a_resizefix_error(call, value):
    with pytest.raises(resizefix.ResizefixError) as found:
        getattr(resizefix, call)(value, **NEEDED.get(call, {}))
    assert_is_shown(found.value, "model")


@settings(max_examples=50, deadline=None)
@given(value=things.filter(lambda value: not isinstance(value, (str, bytes))) | st.sampled_from(["", "\0", "\ud800"]))
def test_what_is_no_path_is_not_written(value):
    document = resizefix.Document.open(SRCNN)
    with pytest.raises(resizefix.ResizefixError):
        document.save(value)


@pytest.mark.parametrize(
    ("call", "options", "says"),
    [
        ("promote_scales", {"at": 4}, "at=4: give a list of scales above 0, as [4, (2, 3)]"),
        ("promote_scales", {"form": "foo"}, "form='foo': give one of scales, spatial, factor, sizes"),
        ("promote_scales", {"form": "factr"}, "form='factr': did you mean 'factor'? Give one of scales, spatial,"),
        ("promote_scales", {"for_": "TensorTR"}, "for_='TensorTR': did you mean 'tensorrt'? Give onnxruntime or"),
        ("set_interpolation", {"mode": "linaer"}, "mode=linaer: did you mean linear? Give nearest, linear, cubic"),
        ("input_size", {"batch": "ayn"}, "batch='ayn': did you mean 'any'? Give a whole number from 1"),
        ("promote_scales", {"node": "foo"}, "no resize node matches 'foo'; there are #0 /Resize"),
        ("promote_scales", {"input_name": ""}, "input_name='': give a name"),
        ("promote_scales", {"input_name": "a\x1b"}, "input_name='a\\x1b': give a name"),
        ("promote_scales", {"for_": "ncnn"}, "for_='ncnn': give onnxruntime or tensorrt"),
        ("promote_scales", {"seed": -1}, "seed=-1: give a whole number from 0"),
        ("promote_scales", {"timeout": math.nan}, "timeout=nan: give a number of seconds above 0"),
        ("promote_scales", {"verify": "no"}, "verify='no': give True or False"),
        ("legalize", {"target": 3}, "there is no target 3; docs/reference/targets.md has all"),
        ("legalize", {"shape": {"input": 3}}, "shape={'input': 3}: give the sizes of inputs"),
        ("check", {"target": 3}, "there is no target 3; "),
        ("verify", {"rtol": "a"}, "rtol='a': give a number from 0"),
    ],
)
def test_the_sentence_names_the_option_and_what_it_takes(call, options, says):
    with pytest.raises(resizefix.UsageError) as found:
        called(call, **options)
    assert str(found.value).startswith(says)


@pytest.mark.parametrize("node", ["/Resize", "#0", ["/Res*"], ("#0", "/Resize")])
def test_one_pattern_need_not_stand_in_a_list(node):
    assert called("promote_scales", node=node, verify=False).changed


@pytest.mark.parametrize("call", CALLS)
def test_every_option_of_a_call_is_checked_and_no_other(call):
    assert {option for of, option in CALL_OPTIONS if of == call} == checks_of(call).keys()


ROWS = [(call_of(command), row) for row in OPTIONS for command in row.on if not row.program]


@pytest.mark.parametrize("call", [*CALLS, "diff"])
def test_the_defaults_of_the_rows_are_those_of_the_signature(call):
    """`check` takes one target, which the command line need not name."""
    rows = {row.name: row for of, row in ROWS if of == call and (of, row.name) != ("check", "target")}
    parameters = inspect.signature(getattr(resizefix, call)).parameters
    differing = {name for name, row in rows.items() if name in parameters and parameters[name].default != row.default}
    assert differing == set()
    # What bounds a command that runs no model is the program's affair.
    assert rows.keys() - parameters.keys() <= ({"timeout", "memory_limit"} if call == "diff" else set())


def test_a_row_stands_for_a_command_and_a_name_once():
    keys = [(command, row.name) for row in OPTIONS for command in row.on]
    assert len(keys) == len({*keys})


def test_the_forms_that_are_typed_are_those_that_there_are():
    assert FORM.choices == tuple(form.value for form in Form)


@pytest.mark.parametrize(
    ("command", "words", "options"),
    [
        ("promote-scales", ("--form", "factor", "--allow-coupled"), {"form": "factor", "allow_coupled": True}),
        ("promote-scales", ("-n", "#0", "-n", "b", "--opset", "11"), {"node": ("#0", "b"), "opset": 11}),
        ("freeze-scales", ("--set", "a=1,2", "--set", "b=3"), {"set": {"a": (1.0, 2.0), "b": (3.0,)}}),
        (
            "legalize",
            ("--size", "224x96", "--no-lower", "--no-live"),
            {"size": (224, 96), "lower": False, "live": False},
        ),
        ("input-size", ("--batch", "any", "--no-verify"), {"batch": "any", "verify": False}),
    ],
)
def test_words_of_a_suggestion_are_options_of_the_call(command, words, options):
    assert words_as_options(command, words) == options


def test_an_option_of_another_command_is_none_of_this_one():
    for command in CHANGING:
        with pytest.raises(KeyError):
            words_as_options(command, ("--atol", "1"))


@pytest.mark.parametrize("call", CALLS)
def test_an_option_that_a_call_does_not_have_is_a_type_error(call):
    with pytest.raises(TypeError, match=r"\(\) has no keyword 'tagret'"):
        called(call, tagret=1)


def test_the_calls_are_listed_and_completed():
    assert {*CALLS, "inspect", "diff", "Document", "ResizefixError"} <= {*dir(resizefix)}
    assert all(getattr(resizefix, name) is not None for name in resizefix.__all__)


def test_diff_is_a_call_too():
    promoted = resizefix.promote_scales(MODEL, verify=False).model
    assert {change.what for change in resizefix.diff(MODEL, promoted)} == {"node", "input", "output"}
    assert resizefix.diff(SRCNN, MODEL) == []


@pytest.mark.parametrize("name", ["srcnn_x3_opset11", "unet_nearest_opset11", "scripted_if_opset11"])
def test_what_comes_back_is_shown_in_ten_short_lines(name):
    path = SRCNN.parent / f"{name}.onnx"
    result = resizefix.promote_scales(path, allow_coupled=True)
    shown = [result, result.verification, result.model, *resizefix.inspect(path), resizefix.verify(path, path)]
    shown += [resizefix.check(path, target=target.name) for target in TARGETS]
    for each in shown:
        lines = repr(each).splitlines()
        assert 1 <= len(lines) <= 10
        assert max(map(len, lines)) <= 100
        assert lines[0].startswith(f"<{type(each).__name__.removeprefix('Read')}: ")


def test_a_name_out_of_a_file_is_shown_without_what_a_terminal_acts_on():
    model = onnx.ModelProto()
    model.CopyFrom(MODEL)
    for node in model.graph.node:
        node.name = "\x1b[31m\n\u202e" * 1000
    (site,) = resizefix.inspect(model)
    result = resizefix.promote_scales(model, verify=False)
    with pytest.raises(resizefix.UsageError) as error:
        resizefix.promote_scales(model, node="other")
    for text in (repr(site), repr(result), str(error.value)):
        assert "\x1b" not in text
        assert "\u202e" not in text
