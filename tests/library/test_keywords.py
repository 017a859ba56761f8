"""A call that is written wrongly is answered in the words of Python: its name, its keywords, no option of a command."""

import importlib
import re
import string
import sys

import pytest
from fixture_models import BISENET, SRCNN

import resizefix
from resizefix.diagnostics import Diagnostic, for_command_line
from resizefix.library.options import OPTIONS
from resizefix.words import in_python, keyword_of

ROOMS = (
    "dialects", "document", "equivalences", "faults", "interop", "library", "lowerings", "operations", "opsets",
    "origins", "runtimes", "targets", "verification",
)  # fmt: skip
WITH_OPTIONS = {
    code: text
    for room in ROOMS
    for code, text in importlib.import_module(f"resizefix.reports.sentences.{room}").SENTENCES.items()
    if "--" in text
}
KEYWORDS = {
    word.removeprefix("--"): row.name
    for row in OPTIONS
    if not row.program
    for spelling in row.spellings
    for word in spelling.split("/")
    if word.startswith("--")
}


@pytest.mark.parametrize(
    ("call", "arguments", "options", "says"),
    [
        ("promote_scales", (SRCNN,), {"frm": "factor"}, "promote_scales() has no keyword 'frm'; did you mean form?"),
        ("promote_scales", (SRCNN,), {"for": "tensorrt"}, "no keyword 'for'; did you mean for_?"),
        ("promote_scales", (SRCNN,), {"no_verify": True}, "no keyword 'no_verify'; did you mean verify?"),
        ("input_size", (SRCNN,), {"follow": "a"}, "no keyword 'follow'; did you mean follow_input?"),
        ("set_interpolation", (SRCNN,), {"mod": "linear"}, "no keyword 'mod'; did you mean mode?"),
        ("inspect", (SRCNN,), {"zzz": 1}, "inspect() has no keyword 'zzz'; it has model"),
        ("promote_scales", (SRCNN, "factor"), {}, "takes model without a keyword; did you mean form='factor'?"),
        ("opset", (SRCNN, 17), {}, "opset() takes model without a keyword; did you mean opset=17?"),
        # Not a name, which may be any text, where a keyword takes just this; in Python's words what is typed.
        ("input_size", (SRCNN, "32x40"), {}, "did you mean size=(32, 40)?"),
        ("input_size", (SRCNN, "any"), {}, "did you mean size='any'?"),
        ("input_size", (SRCNN, 32, 40), {}, "did you mean size=(32, 40)?"),
        ("set_interpolation", (SRCNN, "mode=linear"), {}, "did you mean mode='linear'?"),
        ("check", (SRCNN, "tensorrt-8.0"), {}, "did you mean target='tensorrt-8.0'?"),
        ("check", (SRCNN, "trt7"), {}, "check() takes model without a keyword; give 'trt7' with one of target, live"),
        ("promote_scales", (SRCNN, "out.onnx"), {}, "write the result with result.model.save('out.onnx')"),
        ("verify", (SRCNN, SRCNN, SRCNN), {}, "verify() takes before and after without a keyword"),
        ("diff", (SRCNN,), {}, "diff(): missing a required argument: 'after'"),
        ("promote_scales", (), {}, "promote_scales(): missing a required argument: 'model'"),
    ],
)
def test_an_argument_that_a_call_does_not_have_names_the_call_and_what_was_meant(call, arguments, options, says):
    with pytest.raises(TypeError) as found:
        getattr(resizefix, call)(*arguments, **options)
    assert says in str(found.value)


@pytest.mark.parametrize("code", WITH_OPTIONS)
def test_no_sentence_for_python_names_an_option_and_each_keeps_its_arguments(code):
    text = in_python(WITH_OPTIONS[code])
    assert all("--" not in part for part in text.split("`")[::2])
    assert text.split("`")[1::2] == WITH_OPTIONS[code].split("`")[1::2], "a command stays as it is typed"
    assert fields(text) == fields(WITH_OPTIONS[code])


def test_a_word_that_an_option_takes_is_in_quotes_in_python():
    rows = {row.name: row.kind.choices for row in OPTIONS}
    choices = {word: rows[name] for word, name in KEYWORDS.items()}
    for code, sentence in WITH_OPTIONS.items():
        for typed in sentence.split("`")[::2]:
            for name, word in re.findall(r"--([a-z-]+) ([a-z_0-9]+)", typed):
                if word in choices.get(name, ()):
                    assert f'{keyword_of(name)}="{word}"' in in_python(typed), f"{code}: add {word} to words._VALUE"


def fields(template):
    return sorted({name for _, name, _, _ in string.Formatter().parse(template) if name})


def test_the_keyword_of_an_option_is_that_of_its_row():
    assert {word: keyword_of(word) for word in KEYWORDS if word not in ("no-live",)} == {
        word: name for word, name in KEYWORDS.items() if word not in ("no-live",)
    }


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: resizefix.promote_scales(SRCNN, denominator=4), 'denominator=4 works with for_="tensorrt" only'),
        (lambda: resizefix.verify(SRCNN), 'name the runtime to compare with: runtime="openvino"'),
        (lambda: resizefix.promote_scales(BISENET, at=[0.5]), "at 0.5: "),
        (lambda: resizefix.input_size(SRCNN, size=(48, 64), keep="nope"), "keep nope: no node has such a name"),
    ],
)
def test_an_error_of_a_call_names_keywords(call, says):
    with pytest.raises(resizefix.ResizefixError) as found:
        call()
    assert says in str(found.value)
    assert "--" not in str(found.value)


def test_the_same_sentence_names_options_where_a_command_is_typed(call):
    code, _, err = call("promote-scales", SRCNN, "a.onnx", "--denominator", "4")
    assert (code, "--denominator 4 works with --for tensorrt only" in " ".join(err.split())) == (2, True)
    with for_command_line():
        assert Diagnostic("library.no-verify") == "switched off (--no-verify)"
    assert Diagnostic("library.no-verify") == "switched off (verify=False)"


def test_a_number_alone_is_a_scale_for_all_axes():
    assert resizefix.promote_scales(SRCNN, at=[2, 4]).verification.passed


def test_check_without_a_target_asks_every_target_as_the_command_does(call):
    verdicts = resizefix.check(SRCNN)
    alone = [resizefix.check(SRCNN, target=verdict.target.name) for verdict in verdicts[-3:]]
    assert alone == list(verdicts[-3:])
    assert verdicts.accepted is False
    assert tuple(verdict.target for verdict in verdicts) == sys.modules["resizefix.targets.catalogue"].TARGETS
