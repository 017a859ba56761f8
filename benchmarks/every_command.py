"""Every command over every model given, in this Python and with the versions that it has: does any process die?

`python benchmarks/every_command.py [MODEL_OR_FOLDER…] [--live RUNTIME] [--jobs N]` prints how many runs of each command
ended with which exit code, and every run that ended by a signal, past its time or with a traceback; the exit code is 1
if there is one. Each model's line comes as its runs end. Without models, all fixtures.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from forked_commands import Commands  # noqa: E402

IN, OUT, PROMOTED = "IN", "OUT", "PROMOTED"
SECONDS = "60"
SUFFIXES = {".onnx", ".hostile"}  # the last: fixtures that other tools must not take for models
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("inspect", IN),
    ("promote-scales", IN, OUT),
    ("promote-scales", IN, PROMOTED, "--keep-default"),  # which verify and freeze-scales take as it is
    ("promote-scales", IN, OUT, "--for", "tensorrt"),
    ("freeze-scales", PROMOTED, OUT),
    ("verify", IN, PROMOTED),
    ("diff", IN, PROMOTED),
    ("trt-legacy", IN, OUT, "--allow-inexact"),
    ("legalize", IN, OUT, "--target", "tensorrt-5.0", "--allow-inexact"),
    ("legalize", IN, OUT, "--target", "onnxruntime"),
    ("check", IN),
    ("repair", IN, OUT),
    ("input-size", IN, OUT, "any"),
    ("opset", IN, OUT, "18"),
    ("opset", IN, OUT, "9", "--allow-inexact"),
    ("set", IN, OUT, "mode=nearest"),
    ("explain", "Attribute not found: height_scale", IN),
    ("target", "new", "my-npu", "-o", OUT),
)


@dataclass(frozen=True)
class Run:
    """How one command ended on one model; `died`: why that is no answer, None for an answer."""

    command: str
    model: Path
    code: int
    died: str | None


def runs_on(model: Path, commands: Commands, live: Sequence[str]) -> list[Run]:
    """Every command that has what it reads."""
    found = []
    with tempfile.TemporaryDirectory(prefix="every-command-") as place:
        files = {IN: str(model), PROMOTED: str(Path(place, "promoted.onnx")), OUT: str(Path(place, "out.onnx"))}
        asked = [("check", IN, "--target", name, "--live") for name in live]
        for command in (*COMMANDS, *asked):
            if PROMOTED in command and command[0] != "promote-scales" and not Path(files[PROMOTED]).exists():
                continue
            timeout = () if command[0] in ("inspect", "diff", "explain", "target") else ("--timeout", SECONDS)
            done = commands.run([files.get(word, word) for word in (*command, *timeout)], Path(place))
            found.append(Run(" ".join(command), model, done.code, why_died(done.code, done.stdout + done.stderr)))
            Path(files[OUT]).unlink(missing_ok=True)
    return found


def why_died(code: int, said: str) -> str | None:
    """What tells of a process that ended without an answer: the command's own, or the one that it watched."""
    if code not in (0, 1, 2):
        return f"exit code {code}"
    signs = ("ended by signal", "ended with status", "time was up", "Traceback (most recent call last)")
    return next((line for line in said.splitlines() if any(sign in line for sign in signs)), None)


def every_command(models: Sequence[Path], live: Sequence[str], jobs: int) -> list[Run]:
    """All runs, on as many models at a time as `jobs` says."""
    with ExitStack() as stack, ThreadPoolExecutor(jobs) as pool:
        idle: SimpleQueue[Commands] = SimpleQueue()
        for _ in range(jobs):
            idle.put(stack.enter_context(Commands()))

        def one(model: Path) -> list[Run]:
            commands = idle.get()
            try:
                found = runs_on(model, commands, live)
            finally:
                idle.put(commands)
            print(_line(model, found), flush=True)
            return found

        return [run for found in pool.map(one, models) for run in found]


def _line(model: Path, runs: Sequence[Run]) -> str:
    """What came of a model: how many runs ended with which exit code, and which died."""
    codes = Counter(run.code for run in runs)
    died = [f"DIED {run.command}: {run.died}" for run in runs if run.died]
    return "; ".join([f"{model.name}: {_counted(codes)}", *died])


def _counted(codes: Counter[int]) -> str:
    return ", ".join(f"exit {code}: {count}" for code, count in sorted(codes.items()))


def models_in(places: Sequence[Path]) -> list[Path]:
    """The ONNX files named, and those of folders, however deep."""
    found = []
    for place in places:
        inside = sorted(path for path in place.rglob("*") if path.suffix in SUFFIXES)
        found += inside if place.is_dir() else [place]
    return found


def main() -> None:
    """Print the tally, then what died."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", type=Path, default=[ROOT / "fixtures"])
    parser.add_argument("--live", action="append", default=[], metavar="RUNTIME")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    models = models_in(options.models)
    runs = every_command([model.resolve() for model in models], options.live, options.jobs)
    for command in dict.fromkeys(run.command for run in runs):
        codes = Counter(run.code for run in runs if run.command == command)
        print(f"{command:<60}", _counted(codes))
    died = [run for run in runs if run.died]
    for run in died:
        print(f"DIED {run.command} on {run.model}: {run.died}")
    print(f"{len(models)} models, {len(runs)} runs, {len(died)} without an answer")
    sys.exit(bool(died))


if __name__ == "__main__":
    main()
