"""Every command that is suggested succeeds: benchmarks/suggestions.py, over a few models of each kind."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))
from suggestions import examine  # noqa: E402

MODELS = (
    "srcnn_x3_opset11",
    "computed_sizes_opset13",
    "handmade/scales_graph_input",
    "handmade/scales_graph_input_default",
    "sizes_of_skip_opset11",
)


@pytest.mark.parametrize("name", MODELS)
def test_every_command_that_is_suggested_succeeds(name):
    _, done = examine(str(ROOT / "fixtures" / f"{name}.onnx"))
    assert done
    failed = [(suggestion, ended) for suggestion, ended in done if ended.code != 0]
    assert failed == []
