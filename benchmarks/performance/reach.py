"""What is promised for a model of 1.5 GB, beside `cp`: with the model in the page cache, or on the disk."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.performance.inputs import INPUTS
from benchmarks.performance.process import Taken, median, of_module, resizefix, run

LARGE = next(given for given in INPUTS if given.name == "conv-1.5GB")
SETTLE = 1.0  # seconds for the disk to forget what was removed


@dataclass(frozen=True)
class Reached:
    """A number, and the bound that it is held to, both in `unit`."""

    what: str
    value: float
    bound: float | None
    unit: str


def evict(path: Path) -> None:
    """Has the kernel forget the file's pages."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def reach(folder: Path, runs: int) -> Iterator[Reached]:
    before = LARGE.write(folder)
    after = folder / "reached.onnx"
    commands = {
        "cp": ["cp", str(before), str(after)],
        "cp, then sync": ["sh", "-c", f"cp {before} {after} && sync {after}"],
        # What no Python that reads a model can do without.
        "import onnx, then cp": ["sh", "-c", f"{sys.executable} -c 'import onnx' && cp {before} {after}"],
        "promote-scales --no-verify": resizefix("promote-scales", str(before), str(after), "-q", "--no-verify"),
    }
    for cache in ("cached", "not cached"):
        taken: dict[str, list[Taken]] = defaultdict(list)
        for _ in range(runs):
            for name, command in commands.items():
                after.unlink(missing_ok=True)
                os.sync()
                time.sleep(SETTLE)
                if cache == "not cached":
                    evict(before)
                taken[name].append(run(command))
        after.unlink(missing_ok=True)
        middle = {name: median(several) for name, several in taken.items()}
        ours = middle["promote-scales --no-verify"]
        for name in commands:
            yield Reached(f"{name}, model {cache}", middle[name].wall, None, "s")
        for name, bound in (("cp", 1.2), ("cp, then sync", None)):
            yield Reached(f"promote-scales over {name}, model {cache}", ours.wall / middle[name].wall, bound, "times")
        least = middle["import onnx, then cp"].wall / middle["cp"].wall
        yield Reached(f"import onnx, then cp, over cp, model {cache}", least, None, "times")
        if cache == "cached":
            yield Reached("peak memory of promote-scales --no-verify", ours.peak / 1e6, 120, "MB")
    looked = median([run(resizefix("inspect", str(before))) for _ in range(runs)])
    yield Reached("inspect", looked.wall, 0.5, "s")
    yield Reached("inspect, user time", looked.user, None, "s")
    yield Reached("peak memory of inspect", looked.peak / 1e6, 100, "MB")
    proven = run(resizefix("promote-scales", str(before), str(after), "-q"))
    after.unlink(missing_ok=True)
    yield Reached("promote-scales, verified", proven.wall, None, "s")
    yield Reached("its peak memory in times of the model", proven.peak / before.stat().st_size, None, "times")
    yield Reached("its peak memory in no file", proven.own / 1e6, None, "MB")
    opened = [float(run(of_module("open_session", str(before))).stdout) for _ in range(runs)]
    yield Reached("opening verification's session", statistics.median(opened), 0.5, "s")
