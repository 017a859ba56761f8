"""Every message ends with the command to type next; it is there for people, and for nobody else."""

import os
import shlex
import shutil
from pathlib import Path

import onnx
import pytest
from fixture_models import FIXTURES
from forked_commands import Commands, Terminal
from onnx_text import model

AT_ONCE = "from resizefix.cli import streams; streams._QUIET_FOR = 0"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    broken = ("broken/fp16_scales_const_07.onnx", "broken/upsample_from_opset10_03.onnx")
    for name in ("srcnn_x3_opset11.onnx", "unet_nearest_opset11.onnx", *broken):
        shutil.copy(FIXTURES / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def said(call):
    """The exit code and stderr of a line."""
    return lambda typed: call(*shlex.split(typed))[::2]


MISTAKES = [
    ("inspct srcnn_x3_opset11.onnx", "inspect srcnn_x3_opset11.onnx"),
    ("inspect srcnn_x3_opset1.onnx", "inspect srcnn_x3_opset11.onnx"),
    ("promote-scales srcnn_x3_opset11.onnx unet_nearest_opset11.onnx",
     "promote-scales srcnn_x3_opset11.onnx unet_nearest_opset11.onnx --force"),
    ("promote-scales srcnn_x3_opset11.onnx o.onnx -n nosuch", "inspect srcnn_x3_opset11.onnx"),
    ("freeze-scales srcnn_x3_opset11.onnx o.onnx --strict",
     "freeze-scales srcnn_x3_opset11.onnx o.onnx --strict --copy-unchanged"),
    ("check srcnn_x3_opset11.onnx --target tensorrt-99", "check --target list"),
    ("legalize srcnn_x3_opset11.onnx o.onnx", "legalize --target list"),
    ("trt-legacy srcnn_x3_opset11.onnx o.onnx --target tensorrt", "trt-legacy --target list"),
    ("promote-scales unet_nearest_opset11.onnx o.onnx",
     "set unet_nearest_opset11.onnx unet_nearest_opset11.set.onnx sizes=partner"),
    ("version", "--version"),
]  # fmt: skip
# `any.onnx` is the first model, with its scales promoted.
OF_VERIFY = [
    ("verify srcnn_x3_opset11.onnx any.onnx", "verify srcnn_x3_opset11.onnx any.onnx --feed /Resize_scales=1,1,3,3"),
    ("verify any.onnx srcnn_x3_opset11.onnx", "verify any.onnx srcnn_x3_opset11.onnx --feed /Resize_scales=1,1,3,3"),
    ("verify srcnn_x3_opset11.onnx any.onnx --runs 2 --feed input=1",
     "verify srcnn_x3_opset11.onnx any.onnx --runs 2 --feed input=1 --feed /Resize_scales=1,1,3,3"),
    ("verify any.onnx an.onnx", "inspect any.onnx"),
    ("diff any.onnx an.onnx", "inspect any.onnx"),
]  # fmt: skip
# A fault is in the way, which repair fixes: of scales, and one that keeps the whole model from loading.
BROKEN = [
    (f"{command} {name}.onnx o.onnx{more}", f"repair {name}.onnx {name}.repaired.onnx")
    for name in ("fp16_scales_const_07", "upsample_from_opset10_03")
    for command, more in (
        ("promote-scales", ""),
        ("trt-legacy", ""),
        ("legalize", " --target onnxruntime"),
        ("set", " mode=nearest"),
    )
]
IN_GENERAL = [
    ("inspect", "inspect --help"),
    ("inspect srcnn_x3_opset11.onnx --html", "inspect --help"),
    ("promote-scales srcnn_x3_opset11.onnx o.onnx --scale 2", "promote-scales --help"),
    ("promote-scales srcnn_x3_opset11.onnx o.onnx more.onnx", "promote-scales --help"),
    ("--frobnicate", "--help"),
]


@pytest.mark.parametrize(("typed", "next_words"), MISTAKES + BROKEN + IN_GENERAL)
def test_a_message_ends_with_the_command_to_type_next(folder, said, typed, next_words):
    code, text = said(typed)
    assert code in (1, 2)
    *_, purpose, command = text.splitlines()
    assert purpose.startswith("next, ")
    assert command == f"  resizefix {next_words}"
    assert said(next_words)[0] == 0, "what is proposed works"


OF_A_NAME_LIKE_AN_OPTION = [
    ("inspect -- -x.onnx", "promote-scales ./-x.onnx ./-x.promoted.onnx"),
    ("check --target tensorrt-7.0 -- -x.onnx", "legalize ./-x.onnx ./-x.tensorrt-7.0.onnx --target tensorrt-7.0"),
    ("promote-scales -n nosuch -- -x.onnx o.onnx", "inspect ./-x.onnx"),
    ("freeze-scales --strict -- -x.onnx o.onnx", "freeze-scales --strict --copy-unchanged -- -x.onnx o.onnx"),
]


@pytest.mark.parametrize(("typed", "next_words"), OF_A_NAME_LIKE_AN_OPTION)
def test_a_file_whose_name_begins_like_an_option_is_named_so_that_it_is_none(folder, call, typed, next_words):
    shutil.copy(folder / "srcnn_x3_opset11.onnx", folder / "-x.onnx")
    _, out, err = call(*shlex.split(typed))
    assert f"  resizefix {next_words}" in (out + err).splitlines()
    assert call(*shlex.split(next_words))[0] == 0


@pytest.fixture
def promoted(folder, said):
    assert said("promote-scales srcnn_x3_opset11.onnx any.onnx --no-verify")[0] == 0
    return folder


@pytest.mark.parametrize(("typed", "next_words"), OF_VERIFY)
def test_a_message_of_two_models_ends_with_a_whole_command(promoted, said, typed, next_words):
    code, text = said(typed)
    assert code == 2
    assert text.splitlines()[-1] == f"  resizefix {next_words}"
    assert said(next_words)[0] == (2 if "input=1" in typed else 0)


@pytest.mark.parametrize("manner", ["--json", "-q"])
def test_it_is_for_people(folder, said, manner):
    for typed in ("inspect none.onnx", "freeze-scales srcnn_x3_opset11.onnx o.onnx --strict"):
        assert len(said(f"{typed} {manner}")[1].splitlines()) == 1


def test_what_has_no_next_command_has_none(folder, said):
    (folder / "text.onnx").write_text("no model\n")
    assert len(said("inspect text.onnx")[1].splitlines()) == 1
    assert len(said("inspect other.onnx")[1].splitlines()) == 1, "no name is close"
    (folder / "mine.toml").write_text("mode = linear\n")
    wrong = said("check srcnn_x3_opset11.onnx --target mine.toml")[1]
    assert wrong.startswith("resizefix check: mine.toml is not valid TOML")
    assert len(wrong.splitlines()) == 1


def on_a_terminal(commands: Commands, *typed: str, **settings: str) -> str:
    """What a person sees in 80 columns, the line of progress from the first step on."""
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    environment |= {"COLUMNS": "80", "TERM": "xterm-256color", **settings}
    seen = []
    with Terminal() as terminal:
        streams = {"stdout": terminal.theirs, "stderr": os.dup(terminal.theirs)}
        read = {"before": AT_ONCE, "meanwhile": lambda: seen.append(terminal.read())}
        commands.run(typed, Path.cwd(), settings=environment, **read, **streams)
    return seen[0].replace("\r\n", "\n").replace("\x1b[2K", "")


def test_a_terminal_of_80_columns_gets_no_longer_line_and_no_colour_that_it_does_not_want(commands, folder):
    for typed in (
        ("check", "unet_nearest_opset11.onnx", "--target", "tensorrt-7.0"),
        ("check", "unet_nearest_opset11.onnx", "--target", "tensorrt-99"),
        ("check", "unet_nearest_opset11.onnx"),
        ("check", "--target", "list"),
        ("promote-scales", "unet_nearest_opset11.onnx", "o.onnx"),
    ):
        seen = on_a_terminal(commands, *typed, NO_COLOR="1").splitlines()
        assert [
            line for line in seen if len(line) > 80 and not line.startswith(("  resizefix ", "\x1b[1m  resizefix "))
        ] == []
        assert not any("[3" in line for line in seen), "no colour"
    assert "\x1b[3" in on_a_terminal(commands, "check", "unet_nearest_opset11.onnx", "--target", "tensorrt-7.0")


def test_a_size_that_scales_do_not_lead_to_is_reached_where_resizes_take_the_size_that_they_meet(folder, call):
    code, _, err = call("input-size", "unet_nearest_opset11.onnx", "a.onnx", "30x37", "--no-verify")
    assert code == 1
    words = err.rstrip().splitlines()[-1].split()
    assert words[:2] == ["resizefix", "set"], err
    assert words[-1] == "sizes=partner"
    assert call(*words[1:])[0] == 0
    assert call("input-size", words[3], "a.onnx", "30x37", "--no-verify")[0] == 0


def test_where_no_resize_is_in_the_way_of_a_size_none_is_changed(folder, call):
    weights = ", ".join(map(str, range(192)))
    text = "(float[1,1,8,8] x) => (float[1,3] y) <float[64,3] w = {%s}, int64[2] s = {1, 64}>"
    onnx.save(model(text % weights + " { r = Reshape (x, s) y = MatMul (r, w) }"), "fixed.onnx")
    code, _, err = call("input-size", "fixed.onnx", "a.onnx", "30x37", "--no-verify")
    assert code == 1
    assert "partner" not in err


def test_a_proposed_value_takes_the_place_of_the_one_for_the_same_input():
    from resizefix.cli.next_command import with_options

    typed = ("freeze-scales", "m.onnx", "--set", "s=1,1,0,4", "--set", "t=2", "--", "out.onnx")
    fixed = ("freeze-scales", "m.onnx", "--set", "t=2", "--set", "s=1,1,2,2", "--", "out.onnx")
    assert with_options(typed, ("--set", "s=1,1,2,2")) == fixed
    for typed in (("--set", "s=2"), ("--set=s=2",), ("--set=s=2", "--set", "s=3")):
        assert with_options(("freeze-scales", *typed, "m.onnx"), ("--set", "s=2")) == (
            *fixed[:1],
            "m.onnx",
            "--set",
            "s=2",
        )
    assert with_options(("repair", "m.onnx"), ("--prefer", "scales")) == ("repair", "m.onnx", "--prefer", "scales")


@pytest.mark.parametrize("typed", [("repair",), ("set", "form=gather")])
def test_a_type_that_onnxruntime_has_no_kernel_of_is_cast_first_and_then_the_command_works(folder, call, typed):
    text = "(bfloat16[1,3,8,8] x) => (bfloat16[1,3,16,16] y) <float[4] s = {1, 1, 2, 2}>"
    onnx.save(model(text + ' { y = Resize <mode = "nearest"> (x, , s) }', 18), "brain.onnx")
    code, _, err = call(typed[0], "brain.onnx", "out.onnx", *typed[1:])
    assert code == 1
    words = err.rstrip().splitlines()[-1].split()
    assert words[:2] == ["resizefix", "legalize"], err
    assert call(*words[1:])[0] == 0
    assert call(typed[0], words[3], "out.onnx", *typed[1:])[0] == 0


ROUNDED = {"rtol": "y = Mul (x, c)", "atol": "s = Add (x, c) y = Sub (s, one)"}


@pytest.mark.parametrize(("option", "more", "tolerance"), [
    ("rtol", 4e-7, "1e-6"), ("rtol", 4e-6, "1e-5"), ("atol", 4e-6, "1e-5"),
    ("rtol", 1e-4, None), ("atol", 1e-2, None),
])  # fmt: skip
def test_verify_of_models_that_differ_by_rounding_names_the_tolerance_that_passes(
    tmp_path, monkeypatch, said, option, more, tolerance
):
    monkeypatch.chdir(tmp_path)
    for name, number in (("a.onnx", 1.0), ("b.onnx", 1 + more)):
        constants = f"<float[1] c = {{{number}}}, float[1] one = {{1}}>"
        onnx.save(model(f"(float[1,8] x) => (float[1,8] y) {constants} {{ {ROUNDED[option]} }}", 17), name)
    code, text = said("verify a.onnx b.onnx")
    assert code == 1
    if tolerance is None:
        assert "next" not in text
        return
    typed = text.splitlines()[-1].partition("resizefix ")[2]
    assert typed == f"verify a.onnx b.onnx --{option} {tolerance}"
    assert said(typed)[0] == 0


RAISED = "(float[1,3,8,8] x) => (float[1,3,16,16] y) <float[3] w = {1, 1, 1}, float[4] s = {1, 1, 2, 2}{more}>"
TRAINED = "n, m, v, m2, v2 = BatchNormalization (x, w, w, w, w) "
UP = 'y = Resize <mode = "nearest", nearest_mode = "floor", coordinate_transformation_mode = "asymmetric"> '


@pytest.mark.parametrize(("opset", "more", "nodes", "to", "next_words"), [
    (12, ", float[0] roi = {}", f"{TRAINED} {UP} (n, roi, s)", 18, "opset m.onnx o.onnx 13"),
    (13, ", float[0] roi = {}", f"{TRAINED} {UP} (n, roi, s)", 18, None),
    (13, ", int64[4] z = {1, 3, 16, 16}", f'{UP} (x, "", s, z)', 18, "repair m.onnx m.repaired.onnx"),
])  # fmt: skip
def test_a_refused_opset_ends_with_what_works(tmp_path, monkeypatch, said, opset, more, nodes, to, next_words):
    monkeypatch.chdir(tmp_path)
    onnx.save(model(RAISED.replace("{more}", more) + f" {{ {nodes} }}", opset), "m.onnx")
    code, text = said(f"opset m.onnx o.onnx {to}")
    assert (code, "model.eval()" in text) == (1, "Batch" in text)
    assert ("onnxruntime does not load the model" in text) == (next_words is not None and "repair" in next_words)
    assert (text.splitlines()[-1].partition("resizefix ")[2] if "next" in text else None) == next_words
    if next_words is not None:
        assert said(next_words)[0] == 0
