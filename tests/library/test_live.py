"""How questions to TensorRT are put, with another in its place; the real one is asked where it is installed."""

import numpy as np
import onnx
import onnx_text
import pytest
from fixture_models import FIXTURES
from live_parser import needs_tensorrt
from onnx_text import document

import resizefix
from resizefix.document.document import Document
from resizefix.library.live import live_verdict, why_live_refuses
from resizefix.library.promote_scales import promote_scales
from resizefix.library.result import VerificationFailedError
from resizefix.operations.sites import find_sites
from resizefix.runtimes.runtime import LiveUnavailable
from resizefix.runtimes.tensorrt import LiveError, LiveVerdict, NetworkInput

DYNAMIC = "(float[1,3,h,w] x) => (float[a,b,c,d] y) <float[4] s = {1,1,2,2}> { r = Relu (x) y = Resize (r, , s) }"
X = NetworkInput("x", (1, 3, None, None))
PARSED = LiveVerdict("TensorRT-RTX 9.9", True, inputs=(X,))
BUILT = LiveVerdict("TensorRT-RTX 9.9", True, built=True, inputs=(X,))
FAILED = LiveVerdict("TensorRT-RTX 9.9", True, built=False, inputs=(X,))


def profiles(stand):
    return [options.get("profile") for options in stand.asked]


def verdict(text, opset=13, **options):
    return live_verdict(document(text, opset), **options)


# ---- building -------------------------------------------------------------------------------------------------------


def test_an_engine_is_built_for_a_range_around_what_the_model_runs_at(stand_in):
    stand = stand_in(PARSED, BUILT)
    found = verdict(DYNAMIC, build=True)
    wide = {"x": {"min": [1, 3, 32, 48], "opt": [1, 3, 64, 96], "max": [1, 3, 128, 192]}}
    assert profiles(stand) == [None, wide]
    assert (found.built, found.profile, found.chosen) == (True, wide, ("x",))


def test_where_that_range_is_too_much_one_size_is_tried_and_reported(stand_in):
    stand = stand_in(PARSED, FAILED, BUILT)
    found = verdict(DYNAMIC, build=True)
    one = {"x": {bound: [1, 3, 32, 48] for bound in ("min", "opt", "max")}}
    assert profiles(stand)[2] == one
    assert (found.built, found.profile) == (True, one)


def test_a_range_that_the_user_gave_is_not_narrowed(stand_in):
    stand = stand_in(PARSED, FAILED)
    given = {"x": {"min": [1, 3, 8, 8], "opt": [1, 3, 8, 8], "max": [1, 3, 16, 16]}}
    found = verdict(DYNAMIC, build=True, profile=given)
    assert profiles(stand) == [None, given]
    assert (found.built, found.chosen) == (False, ())


def test_nothing_is_built_of_what_does_not_parse(stand_in):
    stand = stand_in(LiveVerdict("TensorRT-RTX 9.9", False, (LiveError("up", "y", 1, "Resize", "no"),)))
    assert verdict(DYNAMIC, build=True).built is None
    assert len(stand.asked) == 1


def test_a_builder_without_an_answer_leaves_that_of_the_parser(stand_in):
    stand_in(PARSED, LiveUnavailable("it gave up"))
    found = verdict(DYNAMIC, build=True)
    assert (found.accepted, found.built, found.unanswered, found.taken) == (True, None, "it gave up", True)


def test_an_error_at_a_node_without_a_name_gets_the_label_of_the_reports(stand_in):
    errors = (LiveError("", "y", 1, "Resize", "no"), LiveError("", "r", 0, "Relu", "no"))
    stand_in(LiveVerdict("TensorRT-RTX 9.9", False, errors))
    assert [error.node for error in verdict(DYNAMIC).errors] == ["#0", "Relu#0"]


# ---- what a rewrite is answerable for -------------------------------------------------------------------------------

BEFORE = """(float[1,3,8,8] x) => (float[a,b,c,d] y) <float[4] s = {1,1,2,2}> {
  r = Relu (x) [up] y = Resize <antialias = 1> (r, , s)
}"""
AFTER = BEFORE.replace("<antialias = 1> ", "")
AT_RESIZE = LiveError("up", "y", 1, "Resize", "I do not like it")
AT_RELU = LiveError("", "r", 0, "Relu", "nor this")


def refusing(*errors):
    return LiveVerdict("TensorRT-RTX 9.9", False, errors)


CRASHED = refusing(LiveError(None, None, None, "", "the parser crashed"))


@pytest.mark.parametrize(
    ("answers", "after", "says"),
    [
        ([refusing(AT_RESIZE)], AFTER, "refuses what was written in the place of up, at node 'up': I do not like it"),
        ([refusing(AT_RELU)], AFTER, None),  # a node that was there before
        ([refusing(AT_RELU, AT_RESIZE)], AFTER, None),
        ([refusing(AT_RESIZE)], BEFORE, None),  # it was left as it is
        ([CRASHED, PARSED], AFTER, "takes the original and refuses the rewritten model: the parser crashed"),
        ([CRASHED, CRASHED], AFTER, None),
        ([LiveUnavailable("not here")], AFTER, None),
    ],
)
def test_a_rewrite_is_answerable_for_what_it_wrote_alone(stand_in, answers, after, says):
    stand_in(*answers)
    before = document(BEFORE, 18)
    found = why_live_refuses(before, document(after, 18), find_sites(before))
    assert found is says is None or str(found) == f"TensorRT-RTX 9.9 {says}"


def test_legalize_refuses_a_result_that_tensorrt_refuses(stand_in, monkeypatch):
    how = 'coordinate_transformation_mode = "tf_half_pixel_for_nn", nearest_mode = "floor"'
    text = "(float[1,3,8,8] x) => (float[1,3,16,16] y) <float[4] s = {1,1,2,2}>"
    model = onnx_text.model(f"{text} {{ [up] y = Resize <{how}> (x, s, s) }}", 11)
    no = LiveVerdict("TensorRT-RTX 9.9", False, (LiveError("up", "y", 0, "Resize", "no"),))
    stand_in(*[no] * 9)
    with pytest.raises(VerificationFailedError, match="refuses what was written in the place of up") as failed:
        resizefix.legalize(model, target="tensorrt-rtx")
    assert failed.value.result.verification.status.value == "failed"
    stand_in(LiveVerdict("TensorRT-RTX 9.9", True))
    first = resizefix.legalize(model, target="tensorrt-10")
    stand_in(no, LiveVerdict("TensorRT-RTX 9.9", True))  # the next form is taken
    assert resizefix.legalize(model, target="tensorrt-10").outcomes[0].after != first.outcomes[0].after
    stand_in()  # nobody is asked
    assert resizefix.legalize(model, target="tensorrt-8.5").changed
    assert resizefix.legalize(model, target="tensorrt-rtx", verify=False).changed


# ---- the real one ---------------------------------------------------------------------------------------------------


@needs_tensorrt
@pytest.mark.parametrize("denominator", [1, 1000])
def test_a_factor_that_is_fed_is_recognized_and_given_a_range_that_builds(denominator):
    text = f"""(float[1,3,h,w] x, int64[1] f) => (float[a,b,c,d] y) <int64[1] d = {{{denominator}}}> {{
      shape = Shape (x) all = Concat <axis = 0> (d, d, f, f) more = Mul (shape, all) z = Div (more, d)
      y = Resize (x, , , z)
    }}"""
    found = verdict(text, build=True)
    assert found.built, found.errors
    assert found.profile["f"] == {"min": [denominator], "opt": [2 * denominator], "max": [4 * denominator]}


@needs_tensorrt
def test_sizes_that_are_fed_get_a_range_of_sizes():
    nodes = "shape = Shape <end = 2> (x) z = Concat <axis = 0> (shape, hw) y = Resize (x, , , z)"
    found = verdict(f"(float[1,3,8,8] x, int64[2] hw) => (float[a,b,c,d] y) {{ {nodes} }}", 15, build=True)
    assert found.built, found.errors
    assert found.profile["hw"] == {"min": [16, 16], "opt": [32, 32], "max": [64, 64]}


@needs_tensorrt
@pytest.mark.parametrize("name", ["srcnn_x3_opset11", "srcnn_x3_opset11_dynamic", "esrgan_x4_opset17"])
def test_a_promotion_for_tensorrt_builds_with_its_own_profile(name):
    result = promote_scales(FIXTURES / f"{name}.onnx", for_="tensorrt", verify=False)
    found = live_verdict(result.model, build=True, profile=result.profile)
    assert (found.built, found.chosen) == (True, ()), found.errors


@needs_tensorrt
def test_large_weights_stay_in_the_file(tmp_path):
    model = onnx_text.model("(float[1,4] x) => (float[1,65536] y) { y = MatMul (x, w) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((4, 65536), np.float32), "w"))
    onnx.save(model, tmp_path / "large.onnx")
    opened = Document.open(tmp_path / "large.onnx")
    assert len(opened.light_bytes()) < 1000
    found = live_verdict(opened, build=True)
    assert found.built
