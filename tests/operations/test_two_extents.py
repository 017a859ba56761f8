"""Scales and sizes given together: kept where either samples alike, named where they do not."""

import itertools

import numpy as np
import pytest
from onnx import ModelProto
from onnx_text import model
from ort_runs import run
from resize_texts import refusal, statuses

import resizefix
from resizefix.outcome import Status
from resizefix.shapes.output_size import kernel_length, sampled_scale

LENGTHS = (3, 5, 8, 10)
SCALES = (0.3, 1 / 3, 0.5, 0.7, 1.0, 1.25, 1.4, 1.5, 2.0, 2.3, 3.0)
MODES = ('mode = "linear"', 'mode = "linear", coordinate_transformation_mode = "align_corners"')


def given(length: int, operands: str, scale: float = 1.0, out: int = 1, mode: str = MODES[0]) -> ModelProto:
    held = f"float[4] s = {{1, 1, 1, {scale!r}}}, int64[4] z = {{1, 1, 1, {out}}}"
    return model(
        f"(float[1,1,1,{length}] x) => (float[?,?,?,?] y) <{held}> {{ [up] y = Resize <{mode}> ({operands}) }}", 13
    )


RATIOS = [
    (length, scale, out)
    for length, scale in itertools.product(LENGTHS, SCALES)
    for out in {kernel_length(scale, length), kernel_length(scale, length) + 1, 2 * length}
    if out > 0 and kernel_length(scale, length) > 0
]


def samples(length: int, operands: str, scale: float, out: int, mode: str) -> np.ndarray:
    ramp = np.random.default_rng(3).random((1, 1, 1, length), np.float32)
    return run(given(length, operands, scale, out, mode), {"x": ramp})[0]


@pytest.mark.parametrize("mode", MODES)
def test_over_ratios_no_reading_is_taken_that_samples_otherwise_unless_it_is_said(mode):
    refused = 0
    for length, scale, out in RATIOS:
        by_scales = samples(length, "x, , s", scale, out, mode)
        by_sizes = samples(length, "x, , , z", scale, out, mode)
        is_alike = by_scales.shape == by_sizes.shape and np.array_equal(by_scales, by_sizes)
        result = resizefix.repair(given(length, "x, , s, z", scale, out, mode), verify=False, on_refusal="return")
        reason = str(result.outcomes[0].reason)
        if statuses(result) == [Status.REFUSED]:
            refused += 1
            assert "prefer" in reason
        elif "both sample alike" in reason:
            assert is_alike, (length, scale, out)
        else:
            assert "these, rounded" in reason, (length, scale, out)
            assert abs(sampled_scale(length, out) - scale) <= 1e-5 * scale
    assert 0 < refused < len(RATIOS)


@pytest.mark.parametrize("prefer", ["scales", "sizes"])
def test_prefer_takes_the_reading_that_is_asked_for(prefer):
    both = given(5, "x, , s, z", 1.5, 7)
    result = resizefix.repair(both, prefer=prefer)
    assert result.verification.passed
    ramp = np.random.default_rng(3).random((1, 1, 1, 5), np.float32)
    wanted = samples(5, "x, , s" if prefer == "scales" else "x, , , z", 1.5, 7, MODES[0])
    assert np.array_equal(run(result.model, {"x": ramp})[0], wanted)


def test_the_refusal_names_both_samplings():
    words = refusal(resizefix.repair(given(5, "x, , s, z", 1.5, 7), on_refusal="return"))
    assert "sample differently" in words
    assert "[1.0, 1.0, 1.0, 1.5]" in words
    assert "[1.0, 1.0, 1.0, 1.4]" in words


@pytest.mark.parametrize(("stored", "kept"), [(20, "scales"), (21, "sizes")])
def test_of_other_lengths_the_stored_shape_decides_and_that_is_said(stored, kept):
    both = given(10, "x, , s, z", 2.0, 21)
    for dim, size in zip(both.graph.output[0].type.tensor_type.shape.dim, (1, 1, 1, stored), strict=True):
        dim.dim_value = size
    (outcome,) = resizefix.repair(both).outcomes
    assert f"the {kept} stay, as the stored output shape says" in str(outcome.reason)
