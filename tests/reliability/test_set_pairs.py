"""Random settings on random models, judged from outside: a sample in every run of the tests, the same each time."""

import random

import pytest
from set_cases import drawn
from set_pairs import judged


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_what_is_set_is_what_is_computed(first):
    for seed in range(first, first + 20):
        assert judged(drawn(random.Random(seed)), seed), seed


def test_the_judge_sees_a_wrong_number(monkeypatch):
    """A judge that cannot fail is none: one that is handed another mode than was asked for complains."""
    import resizefix

    kept = resizefix.set_interpolation
    other = {"nearest": "linear", "linear": "nearest", "cubic": "linear"}

    def wrong(model, **settings):
        asked = {key: value for key, value in settings.items() if key not in ("nearest_mode", "cubic_coeff_a")}
        return kept(model, **({**asked, "mode": other[settings["mode"]]} if "mode" in settings else settings))

    monkeypatch.setattr(resizefix, "set_interpolation", wrong)
    complaints = 0
    for seed in range(60):
        case = drawn(random.Random(seed))
        try:
            judged(case, seed)
        except Exception:
            complaints += 1
    assert complaints > 5
