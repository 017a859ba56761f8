"""The laws over a few drawn models; thousands: `python tests/reliability/random_graphs.py`."""

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from random_graphs import broken
from random_graphs_case import Case, Tally
from random_graphs_claims import HALF
from random_graphs_model import draw
from random_graphs_runs import Ran, difference

quick = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@quick
@given(rng=st.randoms(use_true_random=False), seed=st.integers(0, 2**20))
def test_every_operation_keeps_its_laws_on_random_graphs(rng, seed, tmp_path_factory):
    case = Case(draw(rng), tmp_path_factory.mktemp("drawn"), seed)
    assert broken(case, Tally(), random.Random(seed)) == []


@pytest.mark.parametrize("seed", range(20))
def test_a_drawn_model_is_the_same_on_every_machine_and_in_every_run(seed):
    models = [draw(random.Random(seed)).model.SerializeToString(deterministic=True) for _ in range(2)]
    assert models[0] == models[1]


def test_most_drawn_models_run_in_onnxruntime(tmp_path):
    runs = []
    for seed in range(40):
        folder = tmp_path / str(seed)
        folder.mkdir()
        runs.append(Case(draw(random.Random(seed)), folder, seed).runs)
    assert sum(runs) >= 30


def test_last_bits_are_those_of_what_is_resized_where_that_is_larger():
    one, other = (Ran({"y": np.array([value], np.float16)}) for value in (0.032, 0.0323))
    assert difference(one, other) > HALF
    assert difference(one, other, least=2.0) < HALF
    assert difference(one, one, least=2.0) == 0
