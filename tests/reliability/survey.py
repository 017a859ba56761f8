"""Every hostile file through every command: prints what is not as promised, and how many there were.

`python tests/reliability/survey.py [PATTERN…]`, of the names of files or of their groups. Beside the groups there are
`truncated` (a small model cut off at every byte) and `flipped` (each of its bits the other way round).
"""

import argparse
import contextlib
import fnmatch
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from hostile_bytes import every_bit_flipped, truncated
from hostile_groups import GROUPS, SECRET_NAME
from hostile_models import Fill, file_of, model
from hostile_names import raw_characters
from watching import Watch
from worker import Report, Run, Worker

COMMANDS = [
    ["inspect", "model.onnx"],
    ["inspect", "model.onnx", "--json"],
    ["inspect", "model.onnx", "--html", "page.html", "--markdown", "report.md", "-q"],
    ["promote-scales", "model.onnx", "promoted.onnx", "--no-verify"],
    ["promote-scales", "model.onnx", "proven.onnx", "--json"],
    ["promote-scales", "model.onnx", "--form", "sizes", "--dry-run", "--no-verify"],
    ["freeze-scales", "model.onnx", "frozen.onnx"],
    ["freeze-scales", "model.onnx", "--dry-run", "--no-verify", "--json"],
    ["trt-legacy", "model.onnx", "legacy.onnx", "--json"],
    ["trt-legacy", "model.onnx", "--dry-run", "--no-verify", "--allow-inexact"],
    ["legalize", "model.onnx", "legal.onnx", "--target", "tensorrt-8.0"],
    ["legalize", "model.onnx", "--dry-run", "--target", "tensorrt-5.0", "--no-verify", "--allow-inexact"],
    ["check", "model.onnx", "--target", "tensorrt-5.0", "--target", "tensorrt-10", "--target", "onnxruntime"],
    ["check", "model.onnx", "--target", "tensorrt-rtx", "--json"],
    ["repair", "model.onnx", "repaired.onnx", "--json"],
    ["set", "model.onnx", "--dry-run", "--no-verify", "mode=linear"],
    ["input-size", "model.onnx", "any", "--dry-run", "--no-verify"],
    ["input-size", "model.onnx", "sized.onnx", "64x96", "--json"],
    ["verify", "model.onnx", "model.onnx", "--json"],
    ["verify", "model.onnx", "other.onnx"],
    ["diff", "other.onnx", "model.onnx"],
    ["diff", "model.onnx", "other.onnx", "--json"],
]  # fmt: skip
EACH_ONCE = [line for line in COMMANDS if "--json" not in line and line[-1] not in ("other.onnx", "-q")]
"""Of each command one line or two: for files of which there are thousands."""

NAMED = {word for line in COMMANDS for word in line if word.endswith((".onnx", ".html", ".md"))}
WRITTEN = NAMED - {"model.onnx", "other.onnx"}
PAGES = ("page.html", "report.md")
MOST_SECONDS = 10  # of computing


def complaints(run: Run) -> list[str]:
    """What is wrong with how a command ended."""
    found = []
    if run.error is not None:
        found.append("traceback: " + run.error)
    elif run.code is None:
        found.append("died")
    elif run.code not in (0, 1, 2):
        found.append(f"exit code {run.code}")
    elif run.code and not run.stderr.strip() and run.arguments[0] not in ("check", "diff"):
        found.append("no sentence")
    for stream in (run.stdout, run.stderr):
        if raw := raw_characters(stream):
            found.append(f"raw characters {raw[:5]}")
    for bad in ("Traceback (most recent", "error in resizefix", "needs more memory"):
        if bad in " ".join(run.stderr.split()):
            found.append(f"{bad}: {run.stderr.strip()[-300:]}")
    if run.error is None and "--json" in run.arguments and run.code is not None:
        try:
            json.loads(run.stdout)
        except ValueError as error:
            found.append(f"JSON: {error}")
    if run.seconds > MOST_SECONDS:
        found.append(f"took {run.seconds:.1f} s")
    return found


def judged(report: Report) -> list[str]:
    """What is wrong with a report, each with the command it happened in."""
    found = [f"{' '.join(run.arguments)}: {text}" for run in report.runs for text in complaints(run)]
    return [*found, *filter(None, [ending(report)]), *report.touched]


def ending(report: Report) -> str:
    """The signal that ended the process, if one did, and where."""
    last = report.last
    said = f"killed by signal {report.signal} in {' '.join(last.arguments)}: {last.stderr[-500:]}"
    return said if report.signal is not None else ""


Case = tuple[str, Fill, Sequence[list[str]]]
"""The name of a hostile file, how it is made, and the commands it meets."""


def answered(worker: Worker, place: Path, cases: Sequence[Case]) -> tuple[Report, dict[str, list[str]]]:
    """What one process says of hostile files, each in a folder of its own in `place`; and what is wrong, by name."""
    homes, before = [], []
    for number, (_, fill, _) in enumerate(cases):
        home = place / str(number) / "home"
        home.mkdir(parents=True)
        (home.parent / SECRET_NAME).write_bytes(b"")
        fill(home)
        (home / "other.onnx").write_bytes(model().SerializeToString())
        homes.append(home)
        before.append({path.name for path in home.iterdir()})
    lines = [line for _, _, commands in cases for line in commands]
    folders = [home for home, (_, _, commands) in zip(homes, cases, strict=True) for _ in commands]
    with contextlib.ExitStack() as stack:
        watches = [stack.enter_context(Watch(home.parent / SECRET_NAME)) for home in homes if Watch.is_possible()]
        report = worker.run(*lines, folder=place, folders=folders)
        opened = [watch.count() for watch in watches]
    found: dict[str, list[str]] = {name: [] for name, _, _ in cases}
    names = [name for name, _, commands in cases for _ in commands]
    for name, run in zip(names, report.runs, strict=False):
        found[name] += [f"{' '.join(run.arguments)}: {text}" for text in complaints(run)]
    for (name, _, _), home, there in zip(cases, homes, before, strict=True):
        made = {path.name for path in home.iterdir()} - there
        found[name] += [f"left {left}" for left in made - WRITTEN]
        for page in made.intersection(PAGES):
            if raw := raw_characters((home / page).read_text(encoding="utf-8")):
                found[name].append(f"raw characters in {page}: {raw[:5]}")
    for (name, _, _), count in zip(cases, opened, strict=False):
        found[name] += [f"what lies outside of the folder was opened or read {count} times"] if count else []
    if ended := ending(report):
        found[names[len(report.runs) - 1]].append(ended)
    if report.touched:
        found["all"] = list(report.touched)
    return report, {name: texts for name, texts in found.items() if texts}


def cases(patterns: Sequence[str]) -> Iterator[tuple[str, str, Fill, list[list[str]]]]:
    """The group and name of each file that a pattern names, how it is made, and the commands it meets."""
    rows = [(group, name, fill, COMMANDS) for group, made in GROUPS.items() for name, fill in made()]
    for group, contents in (("truncated", truncated()), ("flipped", every_bit_flipped())):
        rows += [(group, f"{group}-{number}", file_of(data), EACH_ONCE) for number, data in enumerate(contents)]
    for row in rows:
        if any(fnmatch.fnmatchcase(word, pattern) for pattern in patterns for word in row[:2]):
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", default=["*"])
    given = parser.parse_args()
    files: Counter[str] = Counter()
    codes: Counter[int | None] = Counter()
    slowest, largest, bad = (0.0, ""), (0.0, ""), 0
    with Worker() as worker:
        for group, name, fill, commands in cases(given.patterns):
            with tempfile.TemporaryDirectory() as place:
                report, wrong = answered(worker, Path(place), [(name, fill, commands)])
            files[group] += 1
            codes.update(run.code for run in report.runs)
            slowest = max(slowest, *((run.seconds, f"{name}: {' '.join(run.arguments)}") for run in report.runs))
            largest = max(largest, (report.peak_megabytes, name))
            for text in (text for texts in wrong.values() for text in texts):
                bad += 1
                print(f"{name}: {text[:200]} … {text[-500:]}", flush=True)
    print(", ".join(f"{count} {group}" for group, count in files.items()))
    print(f"{files.total()} files, {codes.total()} runs; exit codes", dict(sorted(codes.items(), key=str)))
    print(f"the longest {slowest[0]:.1f} s of computing ({slowest[1]}), the largest {largest[0]:.0f} MB ({largest[1]})")
    print(bad, "not as promised")
    raise SystemExit(bad > 0)


if __name__ == "__main__":
    main()
