"""The laws over a few models made from recipes; thousands: `python tests/reliability/recipe_laws.py`."""

from collections import Counter

import pytest
from recipe_laws import broken, encoded, require_same, run
from recipes import build, fed, free, recipes

ROWS = list(recipes(7, 40))


@pytest.mark.parametrize("number", range(0, 40, 4))
def test_every_operation_keeps_its_laws_on_models_made_from_recipes(number):
    found = [broken(ROWS[place], place, Counter()) for place in range(number, number + 4)]
    assert found == [[]] * 4


def test_the_judge_sees_other_numbers_and_another_scale():
    row = next(row for row in ROWS if free(row) and row.opset >= 9)
    one, other = (run(build(row, factors), fed(row)) for factors in ((2.0, 2.0), (3.0, 3.0)))
    with pytest.raises(AssertionError, match="is right"):
        require_same(one, other, 0.0, "two scales")
    changed = [value + value.dtype.type(1) for value in one]
    with pytest.raises(AssertionError, match="two models"):
        require_same(one, changed, 1e-5, "two models")


def test_a_recipe_makes_the_same_bytes_each_time():
    for row in ROWS[:10]:
        assert build(row).SerializeToString(deterministic=True) == build(row).SerializeToString(deterministic=True)


def test_a_form_that_cannot_say_two_factors_says_none():
    row = next(row for row in ROWS if len(row.axes) == 2 and 1.0 not in row.factors)
    assert encoded(row, "factor", (2.0, 3.0)) is None
    assert encoded(row, "factor", (2.0, 2.0)).tolist() == [2.0]
