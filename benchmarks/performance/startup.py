"""How long the commands take before they work: beside importing nothing but the library that they cannot do without."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.performance.inputs import INPUTS
from benchmarks.performance.process import Taken, median, resizefix, run

FIXTURE = "fixtures/srcnn_x3_opset11.onnx"


@dataclass(frozen=True)
class Startup:
    """A command and what it is measured against; `bound` is how many times that it may take."""

    what: str
    taken: Taken
    against: str
    other: Taken
    bound: float


def startups(root: Path, runs: int) -> Iterator[Startup]:
    def importing(module: str) -> list[str]:
        return [sys.executable, "-c", f"import {module}"]

    pairs = (
        ("resizefix --help", resizefix("--help"), "import click", importing("click"), 1.5),
        ("resizefix inspect (small)", resizefix("inspect", str(root / FIXTURE)), "import onnx", importing("onnx"), 1.3),
    )
    for what, command, against, other, bound in pairs:
        both: tuple[list[Taken], list[Taken]] = ([], [])
        for _ in range(runs + 1):  # the first fills the caches
            for taken, line in zip(both, (command, other), strict=True):
                taken.append(run(line, watch=False))
        yield Startup(what, median(both[0][1:]), against, median(both[1][1:]), bound)


def large_inspect(folder: Path, runs: int) -> Iterator[tuple[str, Taken]]:
    """`inspect` of the 1.5 GB models."""
    for given in INPUTS:
        if given.name.endswith("1.5GB"):
            path = given.write(folder)
            yield given.what, median([run(resizefix("inspect", str(path))) for _ in range(runs)])
