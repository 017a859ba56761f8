"""A part of the image that no longer matters refutes a model, whatever made it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "library"))

from size_networks import OLD, built

from resizefix.input_sizes.experiments.coverage import require_covered
from resizefix.input_sizes.experiments.image_experiments import Original, Picture
from resizefix.input_sizes.refusal import SizeRefusedError
from resizefix.interop import opened
from resizefix.verification.engine import Engine
from resizefix.verification.verification import conditions

LARGE = (64, 96)
PICTURES = {"x": Picture((2, 3), (1, 3, *LARGE))}


def network(rows):
    """A network that picks `rows` of its map, beside a path that reads all of it."""

    def build(n, h, w):
        y = n.conv("x", 3, 2)
        picked = n.ReduceMean(n.Gather(y, rows(h), axis=2), axes=[2])
        return n.Add(y, picked)

    return build


def every(h):
    return list(range(h))


def old_ones(h):
    return list(range(OLD[0]))


def covered(rows, kept=()):
    engine = Engine(conditions(), "the new model")
    before, after = (opened(built(network(rows), size)) for size in (OLD, LARGE))
    return require_covered(
        engine, Original.run(engine, before, after), after, PICTURES, lambda label: label in kept
    ), engine


def test_rows_that_were_picked_for_the_old_size_leave_a_part_out():
    with pytest.raises(SizeRefusedError) as found:
        covered(old_ones)
    assert found.value.node == "Gather_1"
    assert found.value.reason.code == "verification.part-lost"
    assert [reading.name for reading in found.value.readings] == ["keep"]


def test_rows_of_the_whole_map_leave_nothing_out():
    count, engine = covered(every)
    assert count == 4
    assert any("still decide" in sentence for sentence in engine.tested)


def test_what_the_user_decided_is_not_refuted():
    assert covered(old_ones, kept=("Gather_1",))[0] == 4


def test_a_gate_that_the_larger_picture_closes_leaves_nothing_out():
    """The ReLU of a sum is open on the old map and closed on the larger one, whatever one part of it holds."""

    def gated(n, h, w):
        total = n.ReduceSum("x", [1, 2, 3])
        gate = n.Relu(n.Sub(n.floats(6000), total))
        return n.Add(n.conv("x", 3, 2), gate)

    before, after = (opened(built(gated, size)) for size in (OLD, LARGE))
    engine = Engine(conditions(), "the new model")
    original = Original.run(engine, before, after)
    gates = [before.proto.graph.node[place].output[0] for place in range(3)]
    assert (original.made[gates[2]] > 0).all()
    assert require_covered(engine, original, after, PICTURES, lambda label: False) == 5
