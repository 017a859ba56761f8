"""The table itself: numbers, words, and a proof in the tests for every row."""

import re
from pathlib import Path

from resizefix.equivalences.table import EQUIVALENCES


def test_the_rows_are_numbered_from_one_without_a_gap():
    assert [equivalence.number for equivalence in EQUIVALENCES] == list(range(1, len(EQUIVALENCES) + 1))
    assert EQUIVALENCES[4].label == "E5"


def test_every_row_says_its_condition_and_its_reason():
    assert len({equivalence.name for equivalence in EQUIVALENCES}) == len(EQUIVALENCES)
    assert all(len(equivalence.name.split()) > 2 for equivalence in EQUIVALENCES)
    assert all(equivalence.condition and equivalence.because for equivalence in EQUIVALENCES)


def test_four_rows_are_not_exact():
    assert {equivalence.number for equivalence in EQUIVALENCES if not equivalence.exact} == {19, 20, 21, 22}


def test_every_row_is_named_by_a_test():
    texts = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*_equivalences.py")]
    proven = {int(number) for text in texts for number in re.findall(r"(?:\b|_)e(\d+)(?=_)", text)}
    swept = {int(number) for text in texts for number in re.findall(r"^    (\d+): ", text, re.MULTILINE)}
    assert {equivalence.number for equivalence in EQUIVALENCES} <= proven | swept
