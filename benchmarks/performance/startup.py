"""How long the commands take before they work: beside importing nothing but the library that they cannot do without."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.performance.process import Taken, median, resizefix, run

FIXTURE = "fixtures/srcnn_x3_opset11.onnx"


@dataclass(frozen=True)
class Startup:
    """A command and what it is measured against; `bound` is how many times that it may take, if it is ours."""

    what: str
    taken: Taken
    against: str
    other: Taken
    bound: float | None


def startups(root: Path, runs: int) -> Iterator[Startup]:
    def importing(module: str) -> list[str]:
        return [sys.executable, "-c", f"import {module}"]

    model = str(root / FIXTURE)
    # What `inspect` cannot do without: its command line, and the shapes.
    least = [sys.executable, "-c", f"import click, onnx; onnx.shape_inference.infer_shapes(onnx.load({model!r}))"]
    pairs = (
        ("resizefix --help", resizefix("--help"), "import click", importing("click"), 1.5),
        ("resizefix inspect (small)", resizefix("inspect", model), "import onnx", importing("onnx"), 1.3),
        (
            "resizefix inspect --json (small)",
            resizefix("inspect", "--json", model),
            "import onnx",
            importing("onnx"),
            1.3,
        ),
        ("click, onnx, shape inference (small)", least, "import onnx", importing("onnx"), None),
    )
    for what, command, against, other, bound in pairs:
        both: tuple[list[Taken], list[Taken]] = ([], [])
        for _ in range(runs + 1):  # the first fills the caches
            for taken, line in zip(both, (command, other), strict=True):
                taken.append(run(line, watch=False))
        yield Startup(what, median(both[0][1:]), against, median(both[1][1:]), bound)
