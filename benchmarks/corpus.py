"""Runs the resizefix command line over a folder of models and checks, per file, what the command line promises.

    python benchmarks/corpus.py FOLDER --command promote-scales --jobs 2 --json report.json
    python benchmarks/corpus.py FOLDER --command check --chunk 50 -- --target tensorrt-8.4

The laws, whatever the model: the exit code is 0, 1 or 2; no traceback; with --json, stdout is one JSON document with
the common fields; nothing is written unless the exit code is 0; the input stays as it was; it ends within the limit.
Prints counts by exit code and by reason, per top-level folder, then every anomaly. Exit code 1 if there is any.

Each file is a run of the installed command; with `--chunk N`, N files share one fresh process, which saves the start.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import statistics
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from command_runs import Installed, Shared
from contract_laws import COMMANDS, IN, OUT, Observed, broken_laws, one_document, reasons_of

ENTRY = "resizefix.cli:main"
WORDS = 9  # of a reason, in the table


@dataclass
class Record:
    """One file, one command: what came of it and which promises were broken."""

    file: str
    command: str
    exit_code: int | None
    seconds: float
    reasons: list[str] = field(default_factory=list)
    anomalies: list[str] = field(default_factory=list)


# ---- one file, all files ----


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def examine(runner: Installed | Shared, command: str, model: Path, root: Path, extra: Sequence[str]) -> Record:
    """Runs one command on one file, OUT in an empty temporary folder, and judges it."""
    before = digest(model)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.onnx")
        places = {IN: str(model), OUT: str(out)}
        ended = runner.run([command, *(places.get(word, word) for word in COMMANDS[command]), "--json", *extra])
        written = sorted(path.name for path in Path(folder).iterdir())
        try:
            document = one_document(ended.stdout)
        except ValueError as error:
            document = error
        unchanged = model.exists() and digest(model) == before
        anomalies = [*broken_laws(Observed(command, model, out, ended, document, written, unchanged))]
    reasons = sorted({shortened(reason, model) for reason in reasons_of(document)})
    file = model.relative_to(root).as_posix()
    return Record(file, command, ended.exit_code, round(ended.seconds, 3), reasons, anomalies)


def shortened(reason: str, model: Path) -> str:
    """The first words of a reason, without what differs from file to file."""
    reason = reason.replace(str(model), "FILE").replace(model.name, "FILE")
    reason = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "…", reason)
    words = re.sub(r"\d+(\.\d+)?", "N", reason).split()
    return " ".join(words[:WORDS]) + (" …" if len(words) > WORDS else "")


def snapshot(root: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file below the folder, to see what a run leaves beside its inputs."""
    stats = {path.relative_to(root).as_posix(): path.stat() for path in root.rglob("*") if path.is_file()}
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


def run_all(options: argparse.Namespace, models: Sequence[Path], extra: Sequence[str]) -> list[Record]:
    """Every command on every model."""
    tasks = [(command, model) for command in options.command for model in models]
    size = options.chunk or 1
    chunks = [tasks[start : start + size] for start in range(0, len(tasks), size)]

    def run_chunk(chunk: list[tuple[str, Path]]) -> list[Record]:
        runner = Shared(options.entry, options.limit) if options.chunk else Installed(options.executable, options.limit)
        try:
            return [examine(runner, command, model, options.folder, extra) for command, model in chunk]
        finally:
            runner.close()

    records: list[Record] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for done in pool.map(run_chunk, chunks):
            records += done
            print(f"\r{len(records)}/{len(tasks)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return records


# ---- the report ----


def table(rows: Iterable[Sequence[object]]) -> str:
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)


def report(command: str, records: list[Record]) -> str:
    """The tables of one command."""
    folders: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        folders[record.file.partition("/")[0] if "/" in record.file else "."].append(record)
    rows: list[Sequence[object]] = [("folder", "files", "0", "1", "2", "other", "anomalies", "median s", "max s")]
    for name, inside in [*sorted(folders.items()), ("all", records)]:
        codes = Counter(record.exit_code if record.exit_code in (0, 1, 2) else "other" for record in inside)
        seconds = [record.seconds for record in inside]
        times = (f"{statistics.median(seconds):.2f}", f"{max(seconds):.2f}")
        broken = sum(bool(record.anomalies) for record in inside)
        rows.append((name, len(inside), codes[0], codes[1], codes[2], codes["other"], broken, *times))
    reasons = Counter((record.exit_code, reason) for record in records for reason in record.reasons)
    why = [("files", "exit", "reason"), *((n, code, reason) for (code, reason), n in reasons.most_common())]
    return f"== {command}\n{table(rows)}\n\n{table(why)}\n"


def parsed(arguments: list[str]) -> argparse.Namespace:
    beside = Path(sys.executable).with_name("resizefix")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="every .onnx below it")
    parser.add_argument("--command", action="append", choices=COMMANDS, help="repeatable (default: promote-scales)")
    parser.add_argument("--match", default="*", metavar="GLOB", help="only files whose path below FOLDER matches")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="files at a time (default: 1)")
    parser.add_argument(
        "--chunk", type=int, default=0, metavar="N", help="files per process (default: run the executable)"
    )
    parser.add_argument("--limit", type=float, default=120.0, metavar="SECONDS", help="per file (default: 120)")
    parser.add_argument("--json", type=Path, metavar="OUT", help="writes every record")
    parser.add_argument("--executable", default=str(beside) if beside.exists() else shutil.which("resizefix"))
    parser.add_argument("--entry", default=ENTRY, metavar="MODULE:FUNCTION", help="what --chunk calls")
    options = parser.parse_args(arguments)
    options.command = options.command or ["promote-scales"]
    options.folder = options.folder.resolve()
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder")
    if not options.chunk and not options.executable:
        parser.error("the command resizefix is not installed; give --executable or --chunk")
    return options


def main(arguments: list[str]) -> int:
    """Runs, prints, returns the exit code. What follows `--` goes to the command as it stands."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    options, extra = parsed(arguments[:cut]), arguments[cut + 1 :]
    models = [path for path in sorted(options.folder.rglob("*.onnx")) if path.is_file()]
    models = [path for path in models if path.relative_to(options.folder).match(options.match)]
    if not models:
        print(f"no .onnx below {options.folder}", file=sys.stderr)
        return 2
    before = snapshot(options.folder)
    records = run_all(options, models, extra)
    after = snapshot(options.folder)
    touched = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    for command in options.command:
        print(report(command, [record for record in records if record.command == command]))
    anomalies = [f"{r.command} {r.file}: {anomaly}" for r in records for anomaly in r.anomalies]
    anomalies += [f"left or changed beside the inputs: {name}" for name in touched]
    print(f"{len(anomalies)} anomalies", *anomalies, sep="\n")
    kinds = Counter(shortened(anomaly, options.folder) for record in records for anomaly in record.anomalies)
    print("", *(f"{n} × {kind}" for kind, n in kinds.most_common()), sep="\n")
    if options.json:
        content = {"records": [asdict(record) for record in records], "anomalies": anomalies}
        options.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 1 if anomalies else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
