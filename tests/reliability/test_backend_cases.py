"""The standard's own expected outputs come out of every file that an operation writes."""

from collections import Counter

import pytest
from backend_cases import backend_cases, through
from exhaustive import EXHAUSTIVE
from random_graphs_called import TARGETS

AT_A_TIME = 1 if EXHAUSTIVE else 16


@pytest.mark.parametrize(("position", "case"), list(enumerate(backend_cases())))
def test_every_operation_keeps_the_expected_output_of_the_standards_case(position, case, tmp_path):
    """Each case meets every sixteenth target, in turn; with RESIZEFIX_EXHAUSTIVE=1 each meets each."""
    book: Counter[str] = Counter()
    original = through(case, tmp_path, TARGETS[position % AT_A_TIME :: AT_A_TIME], book)
    assert any("same" in text for text in book) or original.error is not None
