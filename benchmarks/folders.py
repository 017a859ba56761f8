"""What a folder costs on the command line and in a loop in Python: `python benchmarks/folders.py FOLDER...`

Both work on copies of the same small models, in turns, with compiled modules as an installed package has them. Measured
is processor time, user and system, of all processes together: the lesser of two. Exit code 0: the outcomes are the
same, and no command takes more than 1.5 times the loop.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

MOST = 1.5
TARGET = "tensorrt-10"


class Task(NamedTuple):
    """A command, its call and the options that both get."""

    command: str
    verify: bool = True

    @property
    def words(self) -> list[str]:
        """What is typed behind the folder."""
        if self.command == "check":
            return ["--target", TARGET]
        return ["--output-dir", "results", *([] if self.verify else ["--no-verify"])]


TASKS = (
    Task("repair"),
    Task("repair", verify=False),
    Task("promote-scales"),
    Task("promote-scales", verify=False),
    Task("check"),
)


def loop(command: str, verify: str) -> None:
    """The loop that a Python user writes, in the folder that holds the folder `models`; prints the outcomes."""
    import resizefix
    from resizefix.library.result import VerificationFailedError

    call = getattr(resizefix, command.replace("-", "_"))
    outcomes: Counter[str] = Counter()
    Path("results").mkdir()
    for path in sorted(Path("models").iterdir()):
        try:
            if command == "check":
                outcomes["already" if call(path, target=TARGET).accepted else "refused"] += 1
                continue
            result = call(path, verify=verify == "True", on_refusal="return")
            outcomes[result.outcome.value] += 1
            if result.outcome.value in ("changed", "already"):
                result.model.save(Path("results", path.name))
        except resizefix.ResizefixError as error:
            outcomes["failed" if isinstance(error, VerificationFailedError) else "unusable"] += 1
    print(json.dumps(outcomes))


def measured(arguments: list[str], place: Path) -> tuple[float, str]:
    """The processor time of a command and of all that it started, and what it printed: the lesser of two."""
    return min(_measured(arguments, place) for _ in range(2))


def _measured(arguments: list[str], place: Path) -> tuple[float, str]:
    import resource  # Windows has none

    shutil.rmtree(place / "results", ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": str(place / "compiled")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, *arguments], cwd=place, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout.decode()


def taken(folders: list[Path], count: int, most: int, place: Path) -> int:
    """Copies so many models of at most so many bytes, evenly chosen; returns how many there are."""
    files = [path for folder in folders for path in sorted(folder.rglob("*.onnx")) if path.stat().st_size <= most]
    count = min(count, len(files))
    place.mkdir()
    for number in range(count):
        path = files[number * len(files) // count]
        shutil.copy(path, place / f"{number:04}-{path.name}")
    return count


def main() -> int:
    """Copy, measure in turns, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--most-bytes", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    is_good = True
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        count = taken(arguments.folders, arguments.models, arguments.most_bytes, place / "models")
        print(f"{count} models\n| | loop, s | command, s | ratio | outcomes |\n|---|---|---|---|---|")
        for task in TASKS:
            by_loop, said = measured([str(Path(__file__).resolve()), "--loop", task.command, str(task.verify)], place)
            words = ["-m", "resizefix", task.command, "models", *task.words, "--json", "--jobs", str(arguments.jobs)]
            by_command, document = measured(words, place)
            summary = json.loads(document)["summary"]
            same = Counter(json.loads(said)) == Counter(
                {word: number for word, number in summary.items() if word not in ("models", "not_run")}
            )
            is_good = is_good and same and by_command <= MOST * by_loop
            name = task.command if task.verify else f"{task.command} --no-verify"
            counts = ", ".join(f"{number} {word}" for word, number in summary.items() if number and word != "models")
            print(
                f"| {name} | {by_loop:.2f} | {by_command:.2f} | {by_command / by_loop:.2f} | {counts} |"
                f"{'' if same else f' the loop: {said}'}",
                flush=True,
            )
    return 0 if is_good else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--loop"]:
        loop(*sys.argv[2:])
    else:
        sys.exit(main())
