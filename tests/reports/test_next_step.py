"""What is proposed after a look at a model: commands that were planned, so that they succeed."""

import shlex

import pytest
from report_models import COMPUTED, FED, NODE_AT_7, PLAIN, surveyed

from resizefix.reports.next_step import next_step, steps_of


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def step(text, model="m.onnx"):
    found = next_step(model, surveyed(text))
    return None if found is None else found.command


TWO = PLAIN.replace("[out] y = Neg (b)", '[up2] y = Resize <mode = "linear"> (b, , d)').replace(
    "float[1,3,8,8] x)", "float[1,3,8,8] x, float[4] d)"
)


KEPT = PLAIN.replace('"nearest",', '"nearest", keep_aspect_ratio_policy = "not_larger",').replace('"" : 13', '"" : 18')
KEPT = KEPT.replace("float[4] s = {1, 1, 2, 2}", "int64[4] s = {1, 3, 16, 16}").replace("(a, , s)", "(a, , , s)")
# spatial=0 keeps the model from opset 9, where the scales could be an input
SPATIAL = NODE_AT_7.replace("[up] y", "b = BatchNormalization <spatial = 0> (x, x, x, x, x) [up] y")
PROMOTION = "promote-scales m.onnx m.promoted.onnx"
STEPS = {
    "what can be promoted is promoted": (PLAIN, PROMOTION),
    "where only some can they are named": (TWO, f"{PROMOTION} -n '#0'"),
    "sites that only change together share one input": (
        PLAIN.replace("[out] y = Neg (b)", "[up2] c = Resize (a, , s) y = Add (b, c)"),
        f"{PROMOTION} --shared -n '#0' -n '#1'"),
    "a fed input can be frozen at an example": (
        FED.replace("<float[4] s = {1, 1, 2, 2}>", ""), "freeze-scales m.onnx m.frozen.onnx --set t=1,1,2,2"),
    "what a modern target refuses is legalized": (
        KEPT, "legalize m.onnx m.tensorrt-10.onnx --target tensorrt-10 -n '#0'"),
    "what a converter broke is repaired": (
        PLAIN.replace('"nearest",', '"bilinear",'), "repair m.onnx m.repaired.onnx"),
    "scales in an attribute are promoted": (NODE_AT_7, PROMOTION),
    "what a modern target accepts can be checked": (
        SPATIAL.replace("2.0]> (x)", "2.0]> (b)"), "check m.onnx --target tensorrt-10"),
    "nothing is known to succeed with computed sizes": (
        COMPUTED.replace('"half_pixel"', '"half_pixel_symmetric"').replace('"" : 13', '"" : 19'), None),
    "nothing is known to succeed in no mode": (PLAIN.replace('"nearest",', '"area",'), None),
}  # fmt: skip


@pytest.mark.parametrize("case", STEPS)
def test_the_command_that_is_proposed_next(case):
    text, command = STEPS[case]
    assert step(text) == (command and f"resizefix {command}")


def test_out_is_the_name_of_no_file(tmp_path):
    (tmp_path / "m.promoted.onnx").touch()
    (tmp_path / "m.promoted-2.onnx").symlink_to("nowhere")
    assert step(PLAIN) == "resizefix promote-scales m.onnx m.promoted-3.onnx"


def test_names_are_quoted_for_a_shell_and_out_stands_in_the_working_folder():
    command = step(PLAIN, "/some where/it's.onnx")
    assert shlex.split(command) == ["resizefix", "promote-scales", "/some where/it's.onnx", "it's.promoted.onnx"]


def test_a_site_offers_the_rewrite_for_the_latest_target_for_which_it_can_be_rewritten():
    survey = surveyed(PLAIN)
    (site,) = survey.sites
    commands = [found.command for found in steps_of("m.onnx", site, survey)]
    assert commands[0] == "resizefix promote-scales m.onnx m.promoted.onnx"
    refusing = [one.target for one in site.verdicts if not one.accepted and one.target.runtime == "tensorrt"]
    last = [target.name for target in refusing if survey.plans.is_rewritable(site.site, target)][-1]
    assert commands[1:] == [f"resizefix legalize m.onnx m.{last}.onnx --target {last}"]
