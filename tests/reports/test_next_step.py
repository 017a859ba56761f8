import shlex

from report_models import COMPUTED, FED, NODE_AT_7, PLAIN, surveyed

from resizefix.reports.next_step import next_step, steps_of


def step(text, model="m.onnx"):
    found = next_step(model, [(site.site, site.verdicts) for site in surveyed(text).sites])
    return None if found is None else found.command


TWO = PLAIN.replace("[out] y = Neg (b)", '[up2] y = Resize <mode = "linear"> (b, , d)').replace(
    "float[1,3,8,8] x)", "float[1,3,8,8] x, float[4] d)"
)


def test_what_can_be_promoted_is_promoted_next():
    assert step(PLAIN) == "resizefix promote-scales m.onnx m.promoted.onnx"


def test_where_only_some_can_they_are_named():
    assert step(TWO) == "resizefix promote-scales m.onnx m.promoted.onnx -n '#0'"


def test_a_fed_input_can_be_frozen():
    assert step(FED.replace("<float[4] s = {1, 1, 2, 2}>", "")) == (
        "resizefix freeze-scales m.onnx m.frozen.onnx --set 't=…' -n '#0'"
    )


def test_what_a_modern_target_refuses_and_a_rewrite_mends_is_legalized():
    bad = COMPUTED.replace('"half_pixel"', '"half_pixel_symmetric"').replace('"" : 13', '"" : 19')
    assert step(bad) == "resizefix legalize m.onnx m.tensorrt-10.onnx --target tensorrt-10 -n '#0'"


def test_otherwise_a_runtime_is_asked():
    assert step(NODE_AT_7) == "resizefix check m.onnx --target tensorrt-10"


def test_a_model_without_a_valid_site_has_no_next_step():
    assert step(PLAIN.replace('"nearest",', '"bicubic",')) is None
    assert next_step("m.onnx", []) is None


def test_names_are_quoted_for_a_shell_and_out_stands_in_the_working_folder():
    command = step(PLAIN, "/some where/it's.onnx")
    assert shlex.split(command) == ["resizefix", "promote-scales", "/some where/it's.onnx", "it's.promoted.onnx"]


def test_a_site_offers_the_rewrite_for_the_latest_target_that_wants_one():
    (site,) = surveyed(PLAIN).sites
    commands = [found.command for found in steps_of("m.onnx", site.site, site.verdicts)]
    assert commands[0] == "resizefix promote-scales m.onnx m.promoted.onnx -n '#0'"
    refusing = [
        verdict.target.name
        for verdict in site.verdicts
        if not verdict.accepted and all("resizefix legalize" in broken.mend for broken in verdict.violations)
    ]
    last = refusing[-1]
    assert commands[1:] == [f"resizefix legalize m.onnx m.{last}.onnx --target {last} -n '#0'"]
