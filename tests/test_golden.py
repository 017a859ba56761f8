"""benchmarks/golden.py freezes what commands answer, and finds what differs between two versions."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from child_python import ended

ROOT = Path(__file__).parents[1]
ROWS = ("inspect", "promote-scales scales keep-default", "diff")


def golden(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return ended(ROOT / "benchmarks" / "golden.py", *words, timeout=120)


def fill(store: Path) -> list[dict[str, object]]:
    rows = [word for row in ROWS for word in ("--row", row)]
    models = ("--folder", ROOT / "fixtures", "--match", "srcnn_x3_opset11.onnx")
    done = golden("run", store, *models, *rows, "--keep", store.with_suffix(".files"))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in store.read_text().splitlines()]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    store = tmp_path_factory.mktemp("golden") / "store.jsonl"
    first = fill(store)
    outs = [path.relative_to(store.with_suffix(".files")) for path in store.with_suffix(".files").rglob("*.onnx")]
    assert outs == [Path(files["out.onnx"], "out.onnx") for run in first if (files := run["files"])]
    assert fill(store) == first  # what is there is not run again
    return first


def test_a_store_holds_every_row_with_its_files_and_no_sentence(runs):
    assert {run["row"]: (run["exit"], [*run["files"]]) for run in runs} == {
        "inspect": (0, []),
        "promote-scales scales keep-default": (0, ["out.onnx"]),
        "diff": (1, []),
    }
    assert not any("not JSON" in run["json"] for run in runs)
    sites = next(run["json"]["sites"] for run in runs if run["row"] == "inspect")
    assert sites[0]["reason"] is False
    assert sites[0]["extent"] == {"kind": "scales", "values": [1, 1, 3, 3]}


def edited(runs, row, **changes):
    return [{**run, **changes} if run["row"] == row else run for run in runs]


DIFFERENCES = {
    "nothing": ("diff", {}, None),
    "another exit code": ("diff", {"exit": 0}, "diff: exit 1 -> 0: 1"),
    "another file": (ROWS[1], {"files": {"out.onnx": "other"}}, f"{ROWS[1]}: OUT: 1"),
    "another field": ("inspect", {"json": {"sites": [{"opset": 3}]}}, "inspect: sites[].op: 1"),
}


@pytest.mark.parametrize(("row", "changes", "line"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_the_comparison_names_what_differs(runs, tmp_path, row, changes, line):
    for name, lines in (("before", runs), ("after", edited(runs, row, **changes))):
        (tmp_path / name).write_text("".join(json.dumps(run) + "\n" for run in lines))
    done = golden("compare", tmp_path / "before", tmp_path / "after")
    assert done.returncode == (line is not None), done.stderr
    assert "3 runs compared" in done.stdout
    assert line is None or line in done.stdout
