"""Measures resizefix beside the tools that people use, and writes docs/performance.md and docs/performance.svg.

    python -m benchmarks.performance                          # everything, from the root of the repository
    python -m benchmarks.performance --only startup growth    # some sections; the others keep their numbers
    python -m benchmarks.performance --inputs conv-1.5GB --runs 5 --folder /tmp/models --keep
    python -m benchmarks.performance --render --folder /tmp/models     # the tables again, from what was measured there

Inputs are made in the folder (7 GB at most at a time, results aside) and removed one by one. A tool that is not
installed has a row that says so; one that takes longer than two minutes or 12 GB of address space is stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.performance import plot, report, results
from benchmarks.performance.growth import growth
from benchmarks.performance.inputs import INPUTS
from benchmarks.performance.kernel_moves import kernel_moves
from benchmarks.performance.passes import passes
from benchmarks.performance.process import ROOT, of_module, run
from benchmarks.performance.reach import LARGE, reach
from benchmarks.performance.side_by_side import side_by_side
from benchmarks.performance.startup import startups


def measured_side_by_side(options: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """The rows of one input after the other: it takes long, and what is done stays done."""
    for given in INPUTS:
        if options.inputs and given.name not in options.inputs:
            continue
        print(f"  {given.name}", file=sys.stderr, flush=True)
        yield results.as_rows(side_by_side(given, options.folder, options.runs, options.jobs))
        if not options.keep:
            for path in options.folder.glob(f"{given.name}.onnx*"):
                path.unlink()


def measured_emitted(options: argparse.Namespace) -> list[dict[str, Any]]:
    said = run(of_module("emitted", str(10 * options.runs)), seconds=900, memory=1 << 40)
    if said.exit_code != 0:
        raise SystemExit(f"emitted: {said.complaint}")
    return [json.loads(line) for line in said.stdout.splitlines()]


def measured_reach(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows = results.as_rows(reach(options.folder, options.runs))
    if not options.keep:
        LARGE.write(options.folder).unlink()
    return rows


SECTIONS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "startup": lambda options: results.as_rows(startups(ROOT, 3 * options.runs)),
    "emitted": measured_emitted,
    "kernel_moves": lambda options: results.as_rows(kernel_moves(options.folder)),
    "reach": measured_reach,
    "growth": lambda options: results.as_rows(growth(options.folder, options.runs)),
    "passes": lambda options: results.as_rows(passes(options.folder, options.runs)),
}


NAMES = [*SECTIONS, "side_by_side"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [given.name for given in INPUTS]
    parser.add_argument("--folder", type=Path, help="where the models are made; its file system is what is measured")
    parser.add_argument("--runs", type=int, default=3, help="of which the medians count")
    parser.add_argument("--only", nargs="*", choices=NAMES, default=[], metavar="SECTION", help=", ".join(NAMES))
    parser.add_argument("--inputs", nargs="*", choices=names, default=[], metavar="INPUT", help=", ".join(names))
    parser.add_argument("--jobs", nargs="*", default=[], metavar="JOB", help="rows of the table, by their names")
    parser.add_argument("--keep", action="store_true", help="the models stay in the folder")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where the page and the plot are written")
    options = parser.parse_args()
    if options.render and options.folder is None:
        parser.error("--render needs the --folder that was measured in")
    return options


def measure(options: argparse.Namespace, stored: Path) -> dict[str, Any]:
    found = results.load(stored)
    found["machine"] = results.machine(options.folder)
    for name, section in SECTIONS.items():
        if options.only and name not in options.only:
            continue
        print(name, file=sys.stderr, flush=True)
        found[name] = section(options)
        results.store(stored, found)
    if not options.only or "side_by_side" in options.only:
        for rows in measured_side_by_side(options):
            anew = {(row["input"], row["job"]) for row in rows}
            before = [row for row in found.get("side_by_side", []) if (row["input"], row["job"]) not in anew]
            found["side_by_side"] = before + rows
            results.store(stored, found)
    return found


def main() -> None:
    options = arguments()
    temporary = None if options.folder else tempfile.mkdtemp(prefix="resizefix-performance-")
    options.folder = (options.folder or Path(str(temporary))).resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("PYTHONPATH", str(ROOT))
    stored = options.folder / "results.json"
    try:
        found = results.load(stored) if options.render else measure(options, stored)
        report.write(options.docs / "performance.md", found)
        if not plot.draw(options.docs / "performance.svg", found):
            print("matplotlib is not installed: no plot", file=sys.stderr)
    finally:
        if temporary:
            shutil.rmtree(temporary)


if __name__ == "__main__":
    main()
