"""The standard's own expected outputs come out of every file that an operation writes."""

from collections import Counter

import pytest
from backend_cases import Through, backend_cases


@pytest.mark.parametrize("case", backend_cases(), ids=lambda case: case.name)
def test_every_operation_keeps_the_expected_output_of_the_standards_case(case, tmp_path):
    book: Counter[str] = Counter()
    through = Through(case, tmp_path, book)
    through.all()
    assert any("same" in text for text in book) or through.original.error is not None
