"""Every hostile file through every command; prints what is not as promised, and how many runs there were.

`python tests/reliability/survey.py [PATTERN…]`, of the names of files or of their groups.
"""

from __future__ import annotations

import fnmatch
import json
import sys
import tempfile
import unicodedata
from pathlib import Path

from hostile_groups import GROUPS
from hostile_models import model
from worker import Report, Run, Worker

COMMANDS = [
    ["inspect", "model.onnx"],
    ["inspect", "model.onnx", "--json"],
    ["promote-scales", "model.onnx", "promoted.onnx", "--no-verify"],
    ["promote-scales", "model.onnx", "proven.onnx", "--json"],
    ["promote-scales", "model.onnx", "--form", "sizes", "--dry-run", "--no-verify"],
    ["trt-legacy", "model.onnx", "legacy.onnx", "--json"],
    ["trt-legacy", "model.onnx", "--dry-run", "--no-verify", "--allow-inexact"],
    ["legalize", "model.onnx", "legal.onnx", "--target", "tensorrt-8.0"],
    ["legalize", "model.onnx", "--dry-run", "--target", "tensorrt-5.0", "--no-verify", "--allow-inexact"],
    ["check", "model.onnx", "--target", "tensorrt-5.0", "--target", "tensorrt-10", "--target", "onnxruntime"],
    ["check", "model.onnx", "--target", "tensorrt-rtx", "--json"],
    ["verify", "model.onnx", "model.onnx", "--json"],
    ["verify", "model.onnx", "other.onnx"],
    ["diff", "other.onnx", "model.onnx"],
    ["diff", "model.onnx", "other.onnx", "--json"],
]  # fmt: skip
HIDDEN = {"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"}


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
        raw = {hex(ord(c)) for c in stream if c not in "\n\t" and unicodedata.category(c) in HIDDEN}
        if raw:
            found.append(f"raw characters {sorted(raw)[:5]}")
    if "Traceback (most recent" in run.stderr:
        found.append("traceback on stderr")
    for bad in ("error in resizefix", "needs more memory"):
        if bad in run.stderr:
            found.append(f"traceback: {run.stderr.strip()[-300:]}")
    if run.error is None and "--json" in run.arguments and run.code is not None:
        try:
            json.loads(run.stdout)
        except ValueError as error:
            found.append(f"JSON: {error}")
    if run.seconds > 10:
        found.append(f"took {run.seconds:.1f} s")
    return found


def judged(report: Report) -> list[str]:
    """What is wrong with a report, each with the command it happened in."""
    found = [f"{' '.join(run.arguments)}: {text}" for run in report.runs for text in complaints(run)]
    if report.signal is not None:
        found.append(
            f"killed by signal {report.signal} in {' '.join(report.last.arguments)}: {report.last.stderr[-500:]}"
        )
    if report.peak_megabytes > 1500:
        found.append(f"{report.peak_megabytes:.0f} MB")
    return found


def main() -> None:
    patterns = sys.argv[1:] or ["*"]
    count = bad = 0
    with Worker() as worker:
        for group, cases in GROUPS.items():
            for name, fill in cases():
                if not any(fnmatch.fnmatchcase(word, pattern) for pattern in patterns for word in (name, group)):
                    continue
                with tempfile.TemporaryDirectory() as place:
                    folder = Path(place) / "home"
                    folder.mkdir()
                    fill(folder)
                    (folder / "other.onnx").write_bytes(model().SerializeToString())
                    for command in COMMANDS:
                        report = worker.run(command, folder=folder)
                        count += 1
                        for text in judged(report):
                            bad += 1
                            print(f"{name}: {text[:200]} ... {text[-500:]}", flush=True)
                    left = [p.name for p in folder.iterdir() if "resizefix" in p.name or p.name == "acted"]
                    if left:
                        print(name, "left", left)
    print(count, "runs", bad, "bad")


if __name__ == "__main__":
    main()
