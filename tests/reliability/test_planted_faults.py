"""One or two faults in a network of several resizes: it comes back as it was, or the node is refused with a reason."""

import random

import pytest
from planted_faults import FAULTS, resizes
from planted_networks import network
from planted_trial import judge, trial


@pytest.mark.parametrize("seed", range(8))
def test_a_network_with_planted_faults_computes_what_it_did_or_is_refused(seed):
    rng = random.Random(seed)
    found = trial(rng, "", network(rng))
    if found is not None:
        faults, verdict, why, _ = found
        assert verdict in ("right", "refused", "harmless"), f"{faults}: {why}"


def test_every_fault_fits_some_network():
    rng = random.Random(0)
    left = set(FAULTS)
    for _ in range(300):
        for fault in sorted(left):
            model = network(rng)
            if FAULTS[fault](model, rng.choice(resizes(model)), rng):
                left.discard(fault)
    assert not left


def test_the_judge_sees_a_wrong_number_and_a_node_that_was_left_broken():
    rng = random.Random(3)
    valid, other = network(rng), network(rng)
    assert judge(valid, valid)[0] == "harmless"
    assert judge(valid, other)[0] in ("missed", "wrong")
