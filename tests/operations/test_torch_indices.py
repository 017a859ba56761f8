"""Nearest by size: PyTorch's pixels, where no scale of a Resize takes them, are gathered."""

import numpy as np
import onnxruntime as ort
import pytest
from onnx_text import model

import resizefix
from resizefix.library.repair import known_faults
from resizefix.library.result import VerificationFailedError
from resizefix.operations import torch_indices
from resizefix.outcome import Status

FLOOR = 'mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'


def export(size, out, opset=17, kind="float", body=""):
    rank = len(size)
    lengths = ", ".join(map(str, out))
    made = model(
        f"""({kind}[{", ".join(map(str, size))}] x) => ({kind}[{lengths}] y) <int64[{rank}] z = {{{lengths}}}> {{
          {body or f"y = Resize <{FLOOR}> (x, , , z)"} }}""",
        opset,
    )
    made.producer_name = "pytorch"
    return made


def torch_of(x, out):
    """aten/src/ATen/native/UpSample.h, by exact products that are rounded once."""
    for axis, length in enumerate(out):
        factor = np.float64(np.float32(x.shape[axis]) / np.float32(length))
        at = np.floor(np.float32(np.arange(length) * factor)).astype(int)
        x = np.take(x, np.minimum(at, x.shape[axis] - 1), axis)
    return x


@pytest.mark.parametrize("kind", ["float", "int8", "uint8", "float16"])
@pytest.mark.parametrize(
    ("size", "out"),
    [
        ((1, 2, 21), (1, 2, 24)),
        ((1, 2, 21), (1, 2, 12)),
        ((1, 2, 21, 14), (1, 2, 24, 8)),
        ((1, 2, 21, 14), (1, 2, 42, 16)),
        ((1, 2, 5, 21, 14), (1, 2, 7, 12, 16)),
    ],
)
def test_the_pixels_are_those_of_torch(size, out, kind):
    x = np.arange(np.prod(size)).reshape(size).astype({"float": np.float32}.get(kind, kind))
    before = export(size, out, kind=kind)
    wrong = ort.InferenceSession(before.SerializeToString()).run(None, {"x": x})[0]
    assert not np.array_equal(wrong, torch_of(x, out))
    result = resizefix.repair(before, prefer="pytorch")
    (outcome,) = result.outcomes
    assert (outcome.status, outcome.exact) == (Status.CHANGED, False)
    assert result.verification.passed
    made = ort.InferenceSession(result.model.SerializeToString()).run(None, {"x": x})[0]
    assert np.array_equal(made, torch_of(x, out))
    assert not known_faults(result.model)


def test_a_wrong_list_is_refuted(monkeypatch):
    """One pixel beside: the formula of torch, run in the node's place, gives another."""
    right = torch_indices.torch_indices
    monkeypatch.setattr(torch_indices, "torch_indices", lambda axis: np.r_[right(axis)[:-1], 0])
    with pytest.raises(VerificationFailedError):
        resizefix.repair(export((1, 2, 21), (1, 2, 24)), prefer="pytorch")


def test_without_the_option_it_is_named_with_it():
    (outcome,) = resizefix.repair(export((1, 2, 21), (1, 2, 24))).outcomes
    assert (outcome.status, outcome.retry_args) == (Status.UNCHANGED, ("--prefer", "pytorch"))


def test_inside_a_body_and_behind_another_repair():
    """Of two exports in one file, one takes scales and one a list; a node that was not selected stays."""
    body = f"""t = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> (x, , s)
               c = Constant <value = int64[3] {{1, 2, 24}}> ()
               k = Constant <value = bool {{1}}> ()
               y = If (k) <then_branch = g () => (float[1, 2, 24] u) {{ u = Resize <{FLOOR}> (t, , , c) }},
                           else_branch = h () => (float[1, 2, 24] v) {{ v = Resize <{FLOOR}> (t, , , c) }}>"""
    made = model(f"(float[1, 2, 7] x) => (float[1, 2, 24] y) <float[3] s = {{1, 1, 3}}> {{ {body} }}", 17)
    made.producer_name = "pytorch"
    result = resizefix.repair(made, prefer="pytorch", node=["#0", "#1"])
    assert [outcome.status for outcome in result.outcomes] == [Status.CHANGED, Status.CHANGED]
    assert len(resizefix.inspect(result.model)) == 2
    x = np.random.default_rng(0).random((1, 2, 7), np.float32)
    linear = 'y = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (x, , s)'
    only = model(f"(float[1, 2, 7] x) => (float[1, 2, 21] y) <float[3] s = {{1, 1, 3}}> {{ {linear} }}", 17)
    grown = ort.InferenceSession(only.SerializeToString()).run(None, {"x": x})[0]
    got = ort.InferenceSession(result.model.SerializeToString()).run(None, {"x": x})[0]
    assert np.array_equal(got, torch_of(grown, (1, 2, 24)))
