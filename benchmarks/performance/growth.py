"""Time and memory against the number of nodes and of sites: what is linear stays as long per node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.performance.inputs import Input
from benchmarks.performance.networks import branches, chain
from benchmarks.performance.process import Taken, median, resizefix, run

COMMANDS = {
    "inspect": ("inspect",),
    "promote-scales --no-verify": ("promote-scales", "--no-verify"),
    "promote-scales": ("promote-scales",),
}
COUNTS = {"nodes": (1_000, 10_000, 100_000), "sites": (10, 100, 1_000)}
BUILDERS = {"nodes": chain, "sites": branches}


@dataclass(frozen=True)
class Point:
    """One command on a model with `count` of `what`."""

    what: str
    count: int
    command: str
    taken: Taken


def growth(folder: Path, runs: int) -> Iterator[Point]:
    for what, counts in COUNTS.items():
        for count in counts:
            name = f"growth-{what}-{count}"
            before = Input(name, name, partial(BUILDERS[what], count)).write(folder)
            after = folder / "grown.onnx"
            for command, words in COMMANDS.items():
                line = [
                    words[0],
                    str(before),
                    *([] if command == "inspect" else [str(after), "--force"]),
                    "-q",
                    *words[1:],
                ]
                taken = []
                while not taken or (len(taken) < runs and taken[0].wall < 5):
                    taken.append(run(resizefix(*line), seconds=300))
                yield Point(what, count, command, median(taken))
            after.unlink(missing_ok=True)
            before.unlink()
