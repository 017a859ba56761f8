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


def test_what_can_be_promoted_is_promoted_next():
    assert step(PLAIN) == "resizefix promote-scales m.onnx m.promoted.onnx"


def test_where_only_some_can_they_are_named():
    assert step(TWO) == "resizefix promote-scales m.onnx m.promoted.onnx -n '#0'"


def test_sites_that_only_change_together_share_one_input():
    both = PLAIN.replace("[out] y = Neg (b)", "[up2] c = Resize (a, , s) y = Add (b, c)")
    assert step(both) == "resizefix promote-scales m.onnx m.promoted.onnx --shared -n '#0' -n '#1'"


def test_a_fed_input_can_be_frozen_at_an_example():
    assert step(FED.replace("<float[4] s = {1, 1, 2, 2}>", "")) == (
        "resizefix freeze-scales m.onnx m.frozen.onnx --set t=1,1,2,2"
    )


def test_what_a_modern_target_refuses_and_a_rewrite_fixes_is_legalized():
    kept = PLAIN.replace('"nearest",', '"nearest", keep_aspect_ratio_policy = "not_larger",').replace(
        '"" : 13', '"" : 18'
    )
    kept = kept.replace("float[4] s = {1, 1, 2, 2}", "int64[4] s = {1, 3, 16, 16}").replace("(a, , s)", "(a, , , s)")
    assert step(kept) == "resizefix legalize m.onnx m.tensorrt-10.onnx --target tensorrt-10 -n '#0'"


def test_where_nothing_is_known_to_succeed_nothing_is_proposed():
    assert step(COMPUTED.replace('"half_pixel"', '"half_pixel_symmetric"').replace('"" : 13', '"" : 19')) is None
    assert step(PLAIN.replace('"nearest",', '"area",')) is None


def test_a_node_that_a_converter_broke_is_repaired_first():
    assert step(PLAIN.replace('"nearest",', '"bilinear",')) == "resizefix repair m.onnx m.repaired.onnx"


def test_scales_in_an_attribute_are_promoted_next():
    assert step(NODE_AT_7) == "resizefix promote-scales m.onnx m.promoted.onnx"


def test_what_a_modern_target_accepts_as_it_is_can_be_checked():
    # spatial=0 keeps the model from opset 9, where the scales could be an input
    kept = NODE_AT_7.replace("[up] y", "b = BatchNormalization <spatial = 0> (x, x, x, x, x) [up] y")
    assert step(kept.replace("2.0]> (x)", "2.0]> (b)")) == "resizefix check m.onnx --target tensorrt-10"


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
    refusing = [verdict.target for verdict in site.verdicts if not verdict.accepted]
    last = [target.name for target in refusing if survey.plans.is_rewritable(site.site, target)][-1]
    assert commands[1:] == [f"resizefix legalize m.onnx m.{last}.onnx --target {last}"]
