"""docs/reference/runtimes.md is what the table of measurements and the rules say; the table is what runtimes do."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from exhaustive import EXHAUSTIVE

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT), str(ROOT / "tests" / "runtimes")]

from live_runtimes import require  # noqa: E402

from benchmarks.runtime_cases import ANSWERS, model_of, rows  # noqa: E402
from benchmarks.runtimes import CASES, MEASURED, TABLE, VERSIONS, answer_of, changed, of_the_rows, reference  # noqa: E402
from benchmarks.runtimes_page import CAUSES, page_of  # noqa: E402
from resizefix.runtimes.catalogue import RUNTIMES  # noqa: E402
from resizefix.runtimes.runtime import Ending, Runtime, RuntimeAnswer  # noqa: E402

PAGE = TABLE.with_suffix(".md")


@pytest.fixture(scope="module")
def cases():
    return rows(CASES)


@pytest.fixture(scope="module")
def table():
    return {row["id"]: row for row in rows(TABLE)}


@pytest.fixture(scope="module")
def said(cases):
    return of_the_rows(cases)


def test_the_page_is_up_to_date(cases, table, said):
    made = page_of(cases, table, json.loads(VERSIONS.read_text()), said)
    assert PAGE.read_text() == made, "run: python benchmarks/runtimes.py --page"


def test_the_rules_agree_with_what_was_measured_and_accept_nothing_that_is_computed_otherwise(cases, table, said):
    for name, answers in said.items():
        did = {key: ANSWERS[row[name]] for key, row in table.items() if row.get(name) and row[name] != "not-run"}
        odd = [key for key in did if did[key] != answers[key]]
        assert len(odd) <= 0.02 * len(did), (name, odd)
        assert set(odd) <= CAUSES.keys(), name
        assert [key for key in odd if answers[key] == "fine"] == [], name


def test_a_cell_that_a_new_version_changes_against_the_rules_is_reported(table, said):
    before = {key: row["openvino"] for key, row in table.items()}
    right = next(key for key in before if before[key] == "equal" and said["openvino"][key] == "fine")
    assert changed("openvino", before, before, said["openvino"]) == []
    (line,) = changed("openvino", before, {**before, right: "wrong"}, said["openvino"])
    assert line == f"openvino, case {right}: fine before, different now; the rows say fine"
    assert changed("openvino", {**before, right: "wrong"}, before, said["openvino"]) == []


def test_an_answer_is_called_what_it_is():
    wanted = np.array([1.0, 100.0], np.float32)

    def ran(*numbers: float) -> str:
        return answer_of(RuntimeAnswer("it", Ending.RAN, "", ({"Y": np.array(numbers, np.float32)},)), wanted)

    assert (ran(1, 100), ran(1.005, 100), ran(1.02, 100), ran(1)) == ("equal", "close", "wrong", "shape")
    assert answer_of(RuntimeAnswer("it", Ending.REFUSED_LOAD, "no"), wanted) == "refused-load"
    assert answer_of(RuntimeAnswer("it", Ending.CRASHED_RUN, "no"), wanted) == "crash"
    assert answer_of(RuntimeAnswer("it", Ending.LATE, "no"), wanted) == "timeout"
    assert {"equal", "close", "wrong", "shape", "refused-load", "crash", "timeout"} <= ANSWERS.keys()


@pytest.mark.parametrize("name", MEASURED)
def test_an_installed_runtime_does_what_the_table_says(name, cases, table):
    require(name)
    step = 41 if name in ("ncnn", "tvm") else 11
    some = cases[7 :: step if EXHAUSTIVE else 3 * step]
    with Runtime(RUNTIMES[name], time_limit=60) as runtime:
        for case in some:
            model, feeds = model_of(case)
            wanted = reference(model, feeds)
            if wanted is None:
                continue
            path = runtime.folder / "case.onnx"
            onnx.save(model, path)
            answer = runtime.run(path, [feeds], ["Y"])
            version = json.loads(VERSIONS.read_text()).get(name, {}).get("version")
            if answer.runtime != version:
                pytest.skip(f"measured on {version}, installed is {answer.runtime}")
            assert ANSWERS[answer_of(answer, wanted)] == ANSWERS[table[case["id"]][name]], case
