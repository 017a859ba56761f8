"""One command in a process of its own: time, memory, how it ended."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

LAUNCHER = Path(__file__).with_name("launcher.py")
ROOT = Path(__file__).parents[2]
SECONDS = 120.0
MEMORY = 12 << 30  # of address space, which is more than what is in use


@dataclass(frozen=True)
class Taken:
    """What one run took. `exit_code` is None past the time limit, negative for a signal; `own` is memory in no file."""

    wall: float
    user: float
    system: float
    peak: int
    own: int
    exit_code: int | None
    stdout: str = ""
    stderr: str = ""

    @property
    def complaint(self) -> str:
        """Why it failed, in one line: the last one that the command wrote."""
        if self.exit_code is None:
            return f"not done after {self.wall:.0f} s"
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        said = lines[-1] if lines else ""
        return said or f"exit code {self.exit_code}"


def run(command: Sequence[str], *, seconds: float = SECONDS, memory: int = MEMORY, watch: bool = True) -> Taken:
    """Runs `command` once, on one thread where a library lets itself be told. Without `watch`, `own` stays 0."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: str(Path(folder, name)) for name in ("stdout", "stderr")}
        limits = json.dumps({"seconds": seconds, "memory": memory, "watch": watch, **paths})
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
        said = subprocess.run(
            [sys.executable, "-S", "-E", str(LAUNCHER), limits, *command],
            capture_output=True,
            env=environment,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        out, err = (Path(path).read_text("utf-8", "replace") for path in paths.values())
    return Taken(**json.loads(said.stdout), stdout=out, stderr=err)


def median(runs: Sequence[Taken]) -> Taken:
    """Number by number; the streams and the exit code are those of the first run."""
    numbers = ("wall", "user", "system", "peak", "own")
    return Taken(
        **{**asdict(runs[0]), **{name: statistics.median(getattr(run, name) for run in runs) for name in numbers}}
    )


def of_module(name: str, *arguments: str) -> list[str]:
    """The command that runs a module of this package."""
    return [sys.executable, "-m", f"benchmarks.performance.{name}", *arguments]


def resizefix(*arguments: str) -> list[str]:
    """The installed command, or the module where it is not installed beside the interpreter."""
    installed = Path(sys.executable).with_name("resizefix")
    return [str(installed), *arguments] if installed.exists() else [sys.executable, "-m", "resizefix", *arguments]
