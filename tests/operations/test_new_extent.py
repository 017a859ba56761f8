"""`set scale=`, `set scales=`, `set sizes=`: what a promotion and a freezing give, in one step."""

import numpy as np
import onnxruntime as ort
import pytest
from fixture_models import DYNAMIC, FIXTURES, SRCNN, UNET
from onnx_text import model

import resizefix
from resizefix.diagnostics import RefusedError, ResizefixError, UsageError
from resizefix.outcome import Status

IMAGE = model(
    """(float[1, 4, 6, 8] x) => (float[1, 4, C, D] y) <float[4] s = {1, 1, 3, 3}> {
      y = Resize <mode = "linear"> (x, , s) }"""
)
PARALLEL = """(float[1, 2, 6, 8] x) => (float[1, C, A, B] y) <float[4] s = {1, 1, 2, 2}, float[4] t = {1, 1, 2, 2}> {
  a = Resize <mode = "nearest"> (x, , s) r = Relu(x) b = Resize <mode = "nearest"> (r, , t) y = Add(a, b) }"""


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.onnx")), ids=lambda path: path.stem)
def test_it_is_what_promoting_and_freezing_make(path):
    try:
        made = resizefix.set_interpolation(path, scale=5, verify=False, on_refusal="return")
        nodes = [f"#{one.index}" for one in made.outcomes if one.status is Status.CHANGED]
        if not nodes:
            pytest.skip(f"{path.stem}: no node takes another factor: {made.outcomes[:1]}")
        promoted = resizefix.promote_scales(path, node=nodes, allow_coupled=True, verify=False)
    except ResizefixError as error:
        pytest.skip(f"{path.stem}: {error}")
    values = {
        source.name: [5 if place in driven.scaled else number for place, number in enumerate(driven.base)]
        for source in promoted.inputs
        for driven in source.sites
    }
    frozen = resizefix.freeze_scales(promoted.model, set=values, node=nodes, verify=False)
    assert made.model.light_bytes() == frozen.model.light_bytes()


def opened(shape, scales, nodes='y = Resize <mode = "linear"> (x, , s)'):
    numbers = ", ".join(map(str, scales))
    return model(f"(float[{shape}] x) => (float y) <float[{len(scales)}] s = {{{numbers}}}> {{ {nodes} }}")


@pytest.mark.parametrize(
    ("shape", "scales", "sizes"),
    [
        ("1, 2, L", [1, 1, 2], [9]),
        ("1, 2, H, W", [1, 1, 2, 2], [9, 11]),
        ("1, 2, H, 6", [1, 1, 1.5, 1.5], [9, 9]),
        ("1, 2, H, W", [1, 1, 2, 1], [9, 11]),
        ("1, 2, D, H, W", [1, 1, 2, 2, 2], [3, 9, 11]),
    ],
)
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_sizes_hold_whatever_the_open_input_is(shape, scales, sizes, full, mode):
    """No size computes what the scales do: the request is an extent of its own."""
    before = opened(shape, scales, f'y = Resize <mode = "{mode}"> (x, , s)')
    result = resizefix.set_interpolation(before, sizes=[1, 2, *sizes] if full else sizes)
    assert result.verification.passed
    rank, numbers = len(scales), ", ".join(map(str, [1, 2, *sizes]))
    assert str(result.outcomes[0].reason) == f"scales {', '.join(map(str, scales))} → sizes {numbers}"
    constant = f"z = Constant <value = int64[{rank}] {{{numbers}}}> ()"
    wanted = opened(shape, scales, f'{constant} y = Resize <mode = "{mode}"> (x, , , z)')
    for length in (5, 8):
        x = np.random.default_rng(0).random([1, 2, *[length] * (len(sizes) - 1), 6], np.float32)
        got, expected = (
            ort.InferenceSession(one.SerializeToString()).run(None, {"x": x})[0] for one in (result.model, wanted)
        )
        assert list(got.shape) == [1, 2, *sizes]
        assert np.array_equal(got, expected)


@pytest.mark.parametrize("sizes", [[1, 9, 11, 3], [9, 11]])
def test_height_and_width_before_the_channels_are_open_too(sizes):
    result = resizefix.set_interpolation(opened("1, H, W, 3", [1, 2, 2, 1]), sizes=sizes)
    x = np.random.default_rng(0).random((1, 4, 6, 3), np.float32)
    made = ort.InferenceSession(result.model.SerializeToString()).run(None, {"x": x})[0]
    assert result.verification.passed
    assert made.shape == (1, 9, 11, 3)


@pytest.mark.parametrize(
    ("shape", "scales", "what"),
    [("N, 2, H, W", [1, 1, 2, 2], "batch"), ("1, C, H, W", [1, 1, 2, 2], "channels"), ("N, L, 3", [1, 2, 1], "batch")],
)
def test_constant_sizes_of_an_open_batch_are_refused_for_that_reason(shape, scales, what):
    """Neither is the option of the promotion behind it proposed, which `set` has not."""
    sizes = [1, 9, 3] if len(scales) == 3 else [1, 2, 9, 9]
    result = resizefix.set_interpolation(opened(shape, scales), sizes=sizes, on_refusal="return")
    (outcome,) = result.outcomes
    assert (outcome.status, outcome.retry_args) == (Status.REFUSED, ())
    assert f"would fix its {what}" in outcome.reason


def test_sizes_that_a_skip_connection_does_not_have_are_refused():
    nodes = 't = Resize <mode = "nearest"> (x, , s) y = Add (t, k)'
    skipped = model(
        f"(float[1, 2, H, 4] x, float[1, 2, A, 8] k) => (float y) <float[4] s = {{1, 1, 2, 2}}> {{ {nodes} }}"
    )
    result = resizefix.set_interpolation(skipped, sizes=[1, 2, 8, 9], on_refusal="return")
    (outcome,) = result.outcomes
    assert (outcome.status, outcome.retry_args) == (Status.REFUSED, ())
    assert "must be that of 'k'" in outcome.reason


@pytest.mark.parametrize(
    ("said", "operand"),
    [
        ({"scale": 2}, [1, 1, 2, 2]),
        ({"scale": "2.5"}, [1, 1, 2.5, 2.5]),
        ({"scales": "1,1,2,4"}, [1, 1, 2, 4]),
        ({"scales": [2, 4]}, [1, 1, 2, 4]),
        ({"sizes": "1,4,50,70"}, [1, 4, 50, 70]),
        ({"sizes": (50, 70)}, [1, 4, 50, 70]),
    ],
)
def test_what_was_said_is_what_the_node_has(said, operand):
    result = resizefix.set_interpolation(IMAGE, **said)
    (site,) = resizefix.inspect(result.model)
    assert list(site.extent.values) == operand
    assert site.extent.kind.value == ("sizes" if "sizes" in said else "scales")
    assert result.verification.passed
    made = ort.InferenceSession(result.model.SerializeToString()).run(None, {"x": np.ones((1, 4, 6, 8), np.float32)})[0]
    wanted = operand if "sizes" in said else [size * scale for size, scale in zip((1, 4, 6, 8), operand, strict=True)]
    assert list(made.shape) == wanted


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"sizes": "1,3,50,70"}, r"3 would resize its channels \(axis 1\); give 4 there"),
        ({"sizes": "2,4,50,70"}, r"2 would resize its batch \(axis 0\); give 1 there"),
        ({"scales": "1,2,2,2"}, r"2 would resize its channels \(axis 1\); give 1 there"),
        ({"scales": "1,2,2"}, "3 numbers given, and the node takes 2 or 4"),
    ],
)
def test_channels_and_batch_are_not_resized_by_accident(said, why):
    with pytest.raises(RefusedError, match=why):
        resizefix.set_interpolation(IMAGE, **said)


@pytest.mark.parametrize(
    "said",
    [
        {"scale": 0},
        {"scale": "x"},
        {"scale": "2,3"},
        {"scales": "1,1,-2,2"},
        {"scales": float("nan")},
        {"sizes": "1,3,0.5,2"},
        {"sizes": "any"},
        {"scale": 2, "mode": "nearest"},
        {"scale": 2, "sizes": "partner"},
    ],
)
def test_values_that_there_are_not(said):
    with pytest.raises(UsageError):
        resizefix.set_interpolation(IMAGE, **said)


def test_the_same_extent_is_left_alone():
    result = resizefix.set_interpolation(IMAGE, scale=3)
    assert [one.status for one in result.outcomes] == [Status.UNCHANGED]
    assert not result


def test_nodes_that_only_fit_together_are_changed_together():
    outcomes = resizefix.set_interpolation(model(PARALLEL), scale=3).outcomes
    assert [one.status for one in outcomes] == [Status.CHANGED] * 2
    with pytest.raises(RefusedError, match="with this extent the model breaks at 'Add#3'"):
        resizefix.set_interpolation(model(PARALLEL), scale=3, node=["#0"])


def test_what_would_break_the_rest_is_refused():
    result = resizefix.set_interpolation(UNET, scale=3, on_refusal="return")
    assert [one.status for one in result.outcomes] == [Status.REFUSED] * 2
    assert "where its size must be that of" in result.outcomes[0].reason


def test_a_fed_scale_is_refused_with_the_command_that_helps():
    promoted = resizefix.promote_scales(SRCNN, verify=False)
    with pytest.raises(RefusedError, match="fed as '/Resize_scales'; freeze-scales"):
        resizefix.set_interpolation(promoted.model, scale=2)


def test_the_weights_are_not_read_and_the_input_stays():
    before = DYNAMIC.read_bytes()
    assert resizefix.set_interpolation(DYNAMIC, scale=2).verification.passed
    assert DYNAMIC.read_bytes() == before
