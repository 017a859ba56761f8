"""A recorded sample of torch's exports with what torch computes: what is said is right, and repair brings it."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import resizefix

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from benchmarks.torch_interpolate.calls import all_calls  # noqa: E402
from benchmarks.torch_interpolate.judging import CLOSE, difference, judge  # noqa: E402

SAMPLE = np.load(ROOT / "fixtures" / "torch_interpolate_sample.npz")
NAMES = sorted(name.removesuffix(".onnx") for name in SAMPLE.files if name.endswith(".onnx"))


def recorded(name: str) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    model = onnx.load_from_string(SAMPLE[f"{name}.onnx"].tobytes())
    return model, {which: SAMPLE[f"{name}.{which}"] for which in ("x0", "y0")}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_said_of_an_export_is_right(name):
    verdict = judge(*recorded(name))
    assert verdict.verdict == ("other" if verdict.operators else "right")
    assert verdict.repaired is None


@pytest.mark.parametrize("name", [name for name in NAMES if "dynamo" in name])
def test_what_dynamo_wrote_without_a_resize_becomes_one(name):
    model, arrays = recorded(name)
    result = resizefix.set_interpolation(model, form="resize")
    assert difference(result.model, arrays) is None
    assert [node.op_type for node in result.model.graph.node][-1] in ("Resize", "Identity")


def test_at_least_500_calls_have_names_of_their_own():
    calls = list(all_calls())
    assert len(calls) == len({call.name for call in calls}) >= 500
    assert set(NAMES) <= {call.name for call in calls}


@pytest.mark.parametrize("name", NAMES)
def test_torch_computes_today_what_was_recorded(name):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed; the recorded outputs stand for it")
    from benchmarks.torch_interpolate.exports import answers

    call = next(call for call in all_calls() if call.name == name)
    np.testing.assert_allclose(answers(call)["y0"], SAMPLE[f"{name}.y0"], rtol=0, atol=CLOSE)
