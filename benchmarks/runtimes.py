"""What each runtime does with a Resize: measured, as a table, a page and a picture.

    python benchmarks/runtimes.py                     every runtime that is installed, then the page and the picture
    python benchmarks/runtimes.py --runtime openvino  these alone; the other columns stay as they were measured
    python benchmarks/runtimes.py --page              the page and the picture of what was measured
    python benchmarks/runtimes.py --compare OTHER.tsv what another table says otherwise

The cases are `runtime_cases.tsv` beside this file, the measurements `docs/reference/runtimes.tsv`, the page
`docs/reference/runtimes.md`. Runtimes in other environments are named by their variable (RESIZEFIX_OPENCV_4_PYTHON).
Exit code 1 where a runtime does not do what it did before, and what the rows of its target say: either the rows are
wrong for this version, or the measurement is.
"""

from __future__ import annotations

import csv
import datetime
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import numpy as np
import onnx
import onnxruntime as ort

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.runtime_cases import ANSWERS, Arrays, Case, model_of, rows
from benchmarks.runtimes_page import write_page
from benchmarks.targets_agreement import answer as answer_of_rules
from resizefix.interop import opened
from resizefix.runtimes.catalogue import RUNTIMES
from resizefix.runtimes.runtime import Ending, LiveUnavailable, Runtime, RuntimeAnswer
from resizefix.targets.catalogue import TARGETS
from resizefix.targets.collect_facts import facts_of
from resizefix.targets.target import judge

ROOT = Path(__file__).parents[1]
CASES = Path(__file__).with_name("runtime_cases.tsv")
TABLE = ROOT / "docs" / "reference" / "runtimes.tsv"
VERSIONS = ROOT / "docs" / "reference" / "runtimes.json"
MEASURED = ("openvino", "opencv-4", "opencv-5", "opencv-5-new", "opencv-5-classic", "mnn", "ncnn", "tract", "tvm")
CLOSE = 1e-4
TIME_LIMIT = 60.0  # seconds of one case
Table = dict[str, dict[str, str]]  # by the case's id, then by column


def reference(model: onnx.ModelProto, feeds: Arrays) -> np.ndarray | None:
    """What onnxruntime computes without optimisation; None where it does not run the case."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        (found,) = session.run(["Y"], feeds)
    except Exception:  # onnxruntime's exceptions share no base class
        return None
    return np.asarray(found)


def answer_of(answer: RuntimeAnswer, wanted: np.ndarray) -> str:
    """The class of an answer, one of `ANSWERS`."""
    if answer.ending is not Ending.RAN:
        return {"late": "timeout", "crashed-load": "crash-load", "crashed-run": "crash"}.get(
            answer.ending.value, answer.ending.value
        )
    found = answer.results[0]["Y"]
    if found.shape != wanted.shape:
        return "shape"
    difference = np.abs(found.astype(np.float64) - wanted.astype(np.float64)).max(initial=0.0)
    if difference == 0:
        return "equal"
    # As in `verify --runtime`: a part of the largest value, for half precision its own last bits.
    bound = max(CLOSE, 2.0**-10 if wanted.dtype == np.float16 else 0.0)
    return "close" if difference <= bound * np.abs(wanted.astype(np.float64)).max(initial=0.0) else "wrong"


def measure(name: str, cases: Sequence[Case]) -> tuple[str, dict[str, str]] | str:
    """The runtime's version and the class of every case; or why it cannot be asked."""
    found: dict[str, str] = {}
    version = ""
    with Runtime(RUNTIMES[name], time_limit=TIME_LIMIT) as runtime:
        for case in cases:
            model, feeds = model_of(case)
            wanted = reference(model, feeds)
            if wanted is None:
                found[case["id"]] = "not-run"
                continue
            path = runtime.folder / "case.onnx"
            onnx.save(model, path)
            outputs = [output.name for output in model.graph.output]
            answer = runtime.run(path, [feeds], outputs)
            if isinstance(answer, RuntimeAnswer) and answer.ending in (Ending.CRASHED_LOAD, Ending.CRASHED_RUN):
                # Or a case before has written over memory: this time it is the first one of its process.
                answer = runtime.run(path, [feeds], outputs)
            if isinstance(answer, LiveUnavailable):
                return answer.reason
            version = answer.runtime if any(sign.isdigit() for sign in answer.runtime) else version
            found[case["id"]] = answer_of(answer, wanted)
    return version, found


def of_the_rows(cases: Sequence[Case]) -> dict[str, dict[str, str]]:
    """What the rows of each target say of each case: fine, different or refused."""
    facts = {case["id"]: facts_of(opened(model_of(case)[0])) for case in cases}
    targets = [target for target in TARGETS if target.name in MEASURED]
    return {
        target.name: {
            key: answer_of_rules(violation for one in found for violation in judge(target, one))
            for key, found in facts.items()
        }
        for target in targets
    }


def changed(name: str, before: Mapping[str, str], after: Mapping[str, str], said: Mapping[str, str]) -> list[str]:
    """The cells that are not what the rows say, and were so before or were never measured."""
    found = []
    for key, cell in after.items():
        old, new = ANSWERS.get(before.get(key, ""), ""), ANSWERS.get(cell, "")
        if new and new != old and new != said.get(key, new):
            found.append(f"{name}, case {key}: {old or 'not measured'} before, {new} now; the rows say {said[key]}")
    return found


@click.command()
@click.option("--runtime", "names", multiple=True, type=click.Choice(MEASURED), help="These alone (repeatable).")
@click.option("--page", "only_page", is_flag=True, help="Measure nothing.")
@click.option("--compare", type=click.Path(exists=True, path_type=Path), help="Print what this table says otherwise.")
def main(names: tuple[str, ...], only_page: bool, compare: Path | None) -> None:
    """Measure, and write the table, the page and the picture."""
    cases = rows(CASES)
    table = {row["id"]: row for row in (rows(TABLE) if TABLE.exists() else [])}
    versions = json.loads(VERSIONS.read_text()) if VERSIONS.exists() else {}
    if compare is not None:
        print_differences(table, rows(compare))
        return
    said = of_the_rows(cases)
    wrong: list[str] = []
    for name in () if only_page else names or MEASURED:
        measured = measure(name, cases)
        if isinstance(measured, str):
            print(f"{name}: not measured. {measured}")
            continue
        version, cells = measured
        before = {key: row.get(name, "") for key, row in table.items()}
        wrong += changed(name, before, cells, said.get(name, {}))
        versions[name] = {"version": version, "date": datetime.date.today().isoformat()}
        versions = {one: versions[one] for one in MEASURED if one in versions}
        for key, cell in cells.items():
            table.setdefault(key, {})[name] = cell
        print(f"{name}: {version}, {dict(Counter(ANSWERS.get(cell, cell) for cell in cells.values()))}", flush=True)
        write_table(cases, table, versions)
    for line in wrong:  # before the picture, which needs a package more
        print(line, flush=True)
    write_page(cases, table, versions, said)
    sys.exit(1 if wrong else 0)


def write_table(cases: Sequence[Case], table: Table, versions: Mapping[str, Mapping[str, str]]) -> None:
    """The measurements, and of which versions they are."""
    columns = [*cases[0], *(name for name in MEASURED if name in versions)]
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, delimiter="\t", lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        for case in cases:
            writer.writerow({**table.get(case["id"], {}), **case})
    VERSIONS.write_text(json.dumps(versions, indent=2) + "\n")


def print_differences(table: Table, other: Sequence[Mapping[str, str]]) -> None:
    """Cell by cell, by answers and not by classes."""
    names = {"opencv-4": "opencv4", "opencv-5": "opencv5_auto", "opencv-5-new": "opencv5_new"}
    names["opencv-5-classic"] = "opencv5_classic"
    for name in MEASURED:
        column = next((one for one in (name, names.get(name, "")) if other and one in other[0]), None)
        if column is None:
            continue
        pairs = [(row, table.get(row["id"], {}).get(name, "")) for row in other]
        both = [(row, ANSWERS.get(row[column], ""), ANSWERS.get(cell, "")) for row, cell in pairs]
        both = [(row, old, new) for row, old, new in both if old and new]
        moved = [(row, old, new) for row, old, new in both if old != new]
        print(f"{name}: {len(both) - len(moved)} of {len(both)} alike")
        for row, old, new in moved:
            print(
                f"  {row['id']}: {old} there, {new} here; {' '.join(row[key] for key in list(row)[2:18] if row[key])}"
            )


if __name__ == "__main__":
    main()
