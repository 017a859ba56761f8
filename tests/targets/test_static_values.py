"""What is computed from fixed sizes is known to the rules of runtimes that compile for a shape."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks.runtime_cases import model_of
from resizefix.interop import opened
from resizefix.targets.collect_facts import facts_of
from resizefix.targets.facts import OperandSource
from resizefix.targets.sampling import resized


@pytest.mark.parametrize(
    ("columns", "values", "axes"),
    [
        ({"form": "sizes_shape", "values": "1,2,9,12"}, (1.0, 2.0, 9.0, 12.0), {2: 9, 3: 12}),
        ({"form": "sizes_shape", "values": "1,2,10,14"}, (1.0, 2.0, 10.0, 14.0), {2: 10, 3: 14}),
        ({"form": "sizes_shape", "values": "1,2,9,12", "dyn": "1"}, None, None),
        ({"form": "sizes_in", "values": "1,2,9,12"}, None, None),
    ],
)
def test_sizes_of_fixed_shapes(columns, values, axes):
    case = {"op": "Resize", "opset": "13", "mode": "linear", "shape": "1x2x5x7", **columns}
    (facts,) = facts_of(opened(model_of(case)[0]))
    assert facts.values is None
    assert facts.static_values == values
    if axes is not None:
        assert facts.source is OperandSource.SHAPE
        assert {axis: out for axis, _, out, _ in resized(facts)} == axes
