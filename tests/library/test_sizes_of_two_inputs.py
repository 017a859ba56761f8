"""Two inputs whose sizes bear one name need not have one size: a recurrent state, or a smaller frame."""

import numpy as np
import onnx
import onnx.parser
import onnx_text
import onnxruntime
import pytest

import resizefix
from resizefix.cli import main
from resizefix.library.result import VerificationFailedError

# The state is handed on from image to image; before the first one it is a single number.
MATTING = """<ir_version: 7, opset_import: ["" : 12]>
g (float[N, 3, H, W] src, float[N, {channels}, H, W] r1i) => (float[N, 1, H, W] pha, float[N, C, H, W] r1o)
<float[4] half = {{1, 1, 0.5, 0.5}}, float[4] two = {{1, 1, 2, 2}}, float[0] roi = {{}},
 float[1, 3, 1, 1] w = {{1, 2, 3}}>
{{
   small = Resize <mode = "linear"> (src, roi, half)
   e = Conv (small, w)
   shape = Shape (e)
   state = Expand (r1i, shape)
   r1o = Add (e, state)
   up = Resize <mode = "linear"> (r1o, roi, two)
   pha = Sigmoid (up)
}}"""
# The previous frame comes at half the size.
SMALLER = """<ir_version: 8, opset_import: ["" : 13]>
g (float[N, 3, H, W] src, float[N, 3, H, W] previous) => (float[N, 3, H, W] out)
<float[4] half = {1, 1, 0.5, 0.5}, float[4] two = {1, 1, 2, 2}>
{
   small = Resize <mode = "linear"> (src, "", half)
   sum = Add (small, previous)
   big = Resize <mode = "linear"> (sum, "", two)
   out = Add (big, src)
}"""
TEXTS = {"matting": MATTING.format(channels=1), "open channels": MATTING.format(channels="C"), "smaller": SMALLER}


def saved(name, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(TEXTS[name]), path)
    return path


@pytest.mark.parametrize("size", [(32, 32), (64, 96)])
def test_a_state_of_no_picture_stays_open(size, tmp_path):
    result = resizefix.input_size(saved("open channels", tmp_path), size=size)
    dims = {name: dims for name, _, dims in result.resolution.shapes}
    assert dims["src"][2:] == size
    assert "r1i" not in dims
    assert result.verification.passed
    assert any("r1i" in text and "input names" in text for text in result.resolution.inferred)


def test_freezing_at_a_size_leaves_the_state_open(tmp_path):
    promoted = resizefix.promote_scales(saved("open channels", tmp_path), allow_coupled=True)
    feeds = {source.name: source.value for source in promoted.inputs}
    assert resizefix.freeze_scales(promoted.model, set=feeds, size=(64, 96)).verification.passed


def test_the_refusal_says_which_inputs_were_given_one_size_and_what_works(tmp_path):
    path = saved("smaller", tmp_path)
    refused = resizefix.input_size(path, size=(32, 32), on_refusal="return")
    assert "src and previous were given one size, and need not have it" in refused.outcomes[0].reason
    assert refused.outcomes[0].retry_args == ("--input", "src")
    assert resizefix.input_size(path, size=(32, 32), input=["src"]).verification.passed


def test_freezing_at_a_size_that_two_inputs_cannot_have_says_so(tmp_path):
    with pytest.raises(VerificationFailedError, match="src and previous were given one size"):
        resizefix.freeze_scales(saved("smaller", tmp_path), size=(64, 96))


@pytest.mark.parametrize("name", TEXTS)
def test_the_profile_runs_at_its_ends(name, tmp_path):
    result = resizefix.promote_scales(onnx.load(saved(name, tmp_path)), for_="tensorrt", allow_coupled=True)
    session = onnxruntime.InferenceSession(result.model.SerializeToString())
    driving = {source.name for source in result.inputs}
    for end in ("min", "opt", "max"):
        feeds = {}
        for entry in session.get_inputs():
            numbers = getattr(result.profile[entry.name], end)
            is_value = entry.name in driving
            feeds[entry.name] = np.array(numbers, np.int64) if is_value else np.ones(numbers, np.float32)
        assert session.run(None, feeds)
    assert result.profile["src"].min[2:] < result.profile["src"].max[2:]


# The previous frame comes at half the size, with numbers; the thumbnail meets neither.
FIXED = """<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 3, 64, 96] src, float[1, 3, 32, 48] previous, float[1, 3, 20, 20] eye)
=> (float[1, 3, 64, 96] out, float[1, 3, 1, 1] mean)
<float[4] half = {1, 1, 0.5, 0.5}, int64[4] whole = {1, 3, 64, 96}>
{
   small = Resize <mode = "linear"> (src, "", half)
   sum = Add (small, previous)
   big = Resize <mode = "linear"> (sum, "", "", whole)
   out = Add (big, src)
   mean = AveragePool <kernel_shape = [20, 20]> (eye)
}"""
SHAPES = {"src": (1, 3, 96, 160), "previous": (1, 3, 48, 80), "eye": (1, 3, 30, 40)}


def shapes_of(model):
    return {one.name: tuple(dim.dim_value for dim in one.type.tensor_type.shape.dim) for one in model.graph.input}


@pytest.mark.parametrize(
    ("chosen", "size"), [(SHAPES, None), (["src", "previous"], (96, 160)), ({"eye": (1, 3, 30, 40)}, None)]
)
def test_each_input_gets_its_shape_and_named_ones_keep_their_proportion(chosen, size):
    model = onnx.parser.parse_model(FIXED)
    result = resizefix.input_size(model, size=size, input=chosen)
    wanted = {name: SHAPES[name] for name in chosen}
    assert shapes_of(result.model) == {**shapes_of(model), **wanted}
    feeds = {
        name: np.random.default_rng(0).random(shape, np.float32) for name, shape in shapes_of(result.model).items()
    }
    out, mean = onnxruntime.InferenceSession(result.model.SerializeToString()).run(None, feeds)
    assert out.shape == feeds["src"].shape
    assert np.allclose(mean[..., 0, 0], feeds["eye"].mean((2, 3)), atol=1e-6)


def test_a_proportion_that_is_no_whole_number_is_refused():
    model = onnx.parser.parse_model(FIXED)
    result = resizefix.input_size(model, size=(97, 160), input=["src", "previous"], on_refusal="return")
    assert "must be a multiple of 2; the nearest are 96 and 98" in result.outcomes[0].reason


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"input": {"src": (1, 4, 96, 160)}}, "does not fit"),
        ({"input": {"src": (96, 160)}}, "does not fit"),
        ({"input": SHAPES, "size": (96, 160)}, "stand alone"),
        ({"input": [("src", (1, 3, 96, 160)), "eye"]}, "stand alone"),
    ],
)
def test_shapes_that_do_not_fit_are_usage_errors(options, why):
    with pytest.raises(resizefix.UsageError, match=why):
        resizefix.input_size(onnx.parser.parse_model(FIXED), **options)


def test_shapes_are_typed_behind_the_names(tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(FIXED), path)
    out = tmp_path / "out.onnx"
    words = ["--input", "src:1,3,96,160", "--input", "previous:1,3,48,80"]
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["input-size", str(path), str(out), *words])
    assert shapes_of(onnx.load(out))["previous"] == (1, 3, 48, 80)


def test_a_state_of_one_row_is_no_image():
    head = '<ir_version: 8, opset_import: ["" : 13]>'
    text = f"{head} g (float[2, 1, 128] state) => (float[2, 1, 128] y) {{ y = Relu (state) }}"
    with pytest.raises(resizefix.RefusedError, match="no input has a height and a width"):
        resizefix.input_size(onnx.parser.parse_model(text), size=(2, 256))


@pytest.mark.parametrize("batch", [3, "any"])
def test_inputs_whose_batch_stays_are_named(batch):
    """A bias of each channel meets every image of the batch: it need not become more."""
    model = onnx_text.model("""(float[1,3,32,48] x, float[1,3,1,1] gain, float[1,3] bias, float[1] rate) =>
        (float[1,3,32,48] y) <int64[2] axes = {2, 3}> { a = Mul (x, gain) b = Unsqueeze (bias, axes)
          c = Add (a, b) y = Mul (c, rate) }""")
    resolution = resizefix.input_size(model, batch=batch).resolution
    assert resolution.inferred == ("gain and bias: the batch stays as it is; input names the inputs that change",)
    assert resizefix.input_size(model, batch=batch, input="x").resolution.inferred == ()
    assert not any("batch" in text for text in resizefix.input_size(model, size=(64, 48)).resolution.inferred)
