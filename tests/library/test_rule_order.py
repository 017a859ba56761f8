"""The rules of a tier decide the same in any order."""

import random

import following_numbers
import following_shapes
import pytest
from size_networks import NEW, OLD, built

import resizefix
from resizefix.input_sizes import decide

BUILT = [
    following_shapes.windows,
    following_shapes.pyramid,
    following_shapes.maps_of_one_size,
    following_shapes.rolled_and_resized,
    following_shapes.padded_to_windows,
    following_shapes.unfold_by_table,
    following_numbers.halves_changed_and_counted,
    following_numbers.box_head,
    following_numbers.strip,
]


def answer(build):
    model = built(build, OLD)
    result = resizefix.input_size(model, size=NEW, on_refusal="return", verify=False)
    return bool(result), result.model.SerializeToString(), sorted(result.resolution.assumed)


@pytest.mark.parametrize("build", BUILT)
def test_shuffled_rules_decide_the_same(monkeypatch, build):
    usual, tiers = answer(build), decide.tiers()
    for seed in range(6):
        draw = random.Random(seed)
        shuffled = tuple(tuple(draw.sample(tier, len(tier))) for tier in tiers)
        monkeypatch.setattr(decide, "tiers", lambda shuffled=shuffled: shuffled)
        assert answer(build) == usual
