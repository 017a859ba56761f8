"""Every job on every input: alternating, so that a slow minute of the machine meets all of them, and medians."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.performance.inputs import Input
from benchmarks.performance.jobs import BESIDE, JOBS, Job
from benchmarks.performance.process import Taken, median, of_module, run

SETTLE = 0.5  # for the disk to forget what was removed
ONCE = 20.0  # seconds; what takes longer is not repeated


@dataclass(frozen=True)
class Row:
    """What came of one job on one input. `wrong` says why the result is not right; `taken` is None if it never ran."""

    input: str
    job: str
    taken: Taken | None
    runs: int
    wrong: tuple[str, ...] = ()
    largest: int = 0  # bytes of the input


def side_by_side(given: Input, folder: Path, runs: int, only: Sequence[str]) -> Iterator[Row]:
    """The rows of one input; the input is made before and stays."""
    before = given.write(folder)
    size = sum(path.stat().st_size for path in folder.glob(f"{before.name}*") if path.suffix in (".onnx", ".data"))
    jobs = [job for job in (*JOBS, *([BESIDE] if given.external else [])) if not only or job.name in only]
    taken: dict[str, list[Taken]] = defaultdict(list)
    wrong: dict[str, tuple[str, ...]] = {}
    for _ in range(runs):
        for job in jobs:
            if job.installed() is None or (taken[job.name] and not worth_another(taken[job.name][0])):
                continue
            first = not taken[job.name]
            result, found = once(job, before, folder, judged=first)
            taken[job.name].append(result)
            if first:
                wrong[job.name] = found
    for job in jobs:
        if not taken[job.name]:
            yield Row(given.name, job.name, None, 0, ("not installed",), size)
        else:
            yield Row(given.name, job.name, median(taken[job.name]), len(taken[job.name]), wrong[job.name], size)


def worth_another(first: Taken) -> bool:
    return first.exit_code == 0 and first.wall < ONCE


def once(job: Job, before: Path, folder: Path, *, judged: bool) -> tuple[Taken, tuple[str, ...]]:
    """One run, from a settled disk, and what is wrong with its result."""
    results = folder / "results"
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir()
    after = before.with_name(f"{before.stem}.promoted.onnx") if job.beside else results / before.name
    if job.in_place:
        for path in (before, before.with_name(f"{before.name}.data")):
            with suppress(FileNotFoundError):
                shutil.copyfile(path, results / path.name)
    os.sync()
    time.sleep(SETTLE)
    try:
        taken = run(job.command(before, after))
        if taken.exit_code != 0:
            return taken, (taken.complaint,)
        if not (job.writes and judged):
            return taken, ()
        said = run(
            of_module("judge", str(before), str(after), str(folder), *(["--promoted"] if job.promotes else [])),
            seconds=600,
            memory=1 << 40,
        )
        return taken, tuple(json.loads(said.stdout)) if said.exit_code == 0 else (f"no verdict: {said.complaint}",)
    finally:
        shutil.rmtree(results, ignore_errors=True)
        if job.beside:
            after.unlink(missing_ok=True)
