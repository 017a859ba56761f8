"""What the measurements of runtimes (benchmarks/) say of an answer."""

import sys
from pathlib import Path

import numpy as np
import pytest

from resizefix.runtimes.runtime import Ending, RuntimeAnswer

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
WANTED = {"y": np.array([1.0, 2.0], np.float32)}


@pytest.mark.parametrize(("numbers", "said"), [([1, 2], "right"), ([1, 2.1], "wrong"), ([1, 2, 3], "shape")])
def test_an_answer_is_right_within_its_bound_alone(monkeypatch, numbers, said):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    try:
        from legalized_live import judged

        answer = RuntimeAnswer("one", Ending.RAN, results=({"y": np.array(numbers, np.float32)},))
        assert judged(answer, WANTED)[0] == said
    finally:
        for name in set(sys.modules) - before:
            if str(BENCHMARKS) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


def test_disagreements_are_printed_before_the_page_is_drawn():
    source = (BENCHMARKS / "runtimes.py").read_text()
    assert source.index("for line in wrong") < source.index("    write_page(cases, table")
