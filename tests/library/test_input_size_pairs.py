"""Real exports of one network at two sizes: what `input_size` makes of the one is the other, bit by bit."""

import json
from pathlib import Path

import numpy as np
import onnx
import ort_runs
import pytest

import resizefix
from resizefix.outcome import Status

FOLDER = Path(__file__).parents[2] / "fixtures" / "sizes"
PAIRS = json.loads((FOLDER / "index.json").read_text())["pairs"]
ASKED = {"torch213ts_soft_argmax": {"keep": ["/Mul"]}}  # the stride of the map, 4, is also a share of the image's side


def outputs(model, shape):
    return ort_runs.run(model, {model.graph.input[0].name: np.random.default_rng(11).random(shape, np.float32)})


def loaded(pair, which):
    return onnx.load(FOLDER / f"{pair['name']}_{which}.onnx")


def shape_of(model):
    return [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair["expected"] == "yes"], ids=lambda pair: pair["name"])
@pytest.mark.parametrize("kind", ["fixed", "any"])
def test_the_export_of_another_size_is_reached(pair, kind):
    old, new = loaded(pair, "a"), loaded(pair, "b")
    size = "any" if kind == "any" else tuple(pair["size_b"])
    result = resizefix.input_size(old, size=size, **ASKED.get(pair["name"], {}))
    for truth in [new, old] if kind == "any" else [new]:
        for found, wanted in zip(outputs(result.model, shape_of(truth)), outputs(truth, shape_of(truth)), strict=True):
            if kind == "any" and "avgpool" in pair["name"]:  # a global pool sums in another order
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
            else:
                assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair["expected"] == "no"], ids=lambda pair: pair["name"])
@pytest.mark.parametrize("kind", ["fixed", "any"])
def test_weights_and_rules_that_are_not_in_the_file_are_refused_with_their_node(pair, kind):
    model = loaded(pair, "a")
    result = resizefix.input_size(model, size="any" if kind == "any" else tuple(pair["size_b"]), on_refusal="return")
    (outcome,) = result.outcomes
    assert outcome.status is Status.REFUSED
    assert outcome.node in {node.name for node in model.graph.node}
    assert outcome.reason
