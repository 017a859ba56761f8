"""Freezes what every command and form answers over folders of models, and compares two versions of resizefix.

    python benchmarks/golden.py run BEFORE.jsonl --source OLD_TREE --folder ../shared/models --folder fixtures --every 8
    python benchmarks/golden.py run AFTER.jsonl --source . --folder ../shared/models --folder fixtures --every 8
    python benchmarks/golden.py compare BEFORE.jsonl AFTER.jsonl

A store holds one line for each run: exit code, the hashes of the files written, and the JSON document without its
sentences (of a sentence it keeps whether there is one). Runs that a store holds already are not repeated, so an
interrupted `run` goes on where it ended. A sample (`--every`) is chosen by the models' names: two stores have the same
one. `compare` prints a table of the differences and exits with 1 if there is any; fields that only AFTER has are
listed, but are no difference.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import tempfile
import threading
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import spawn
from pathlib import Path
from typing import Any

from command_runs import Shared

ENTRY = "resizefix.cli:main"
MODELS_PER_PROCESS = 12
IN, OUT, PROMOTED = "IN", "OUT", "PROMOTED"

PROMOTIONS: dict[str, tuple[str, ...]] = {
    f"{form}{suffix}": ("promote-scales", IN, OUT, "--form", form, *words)
    for form in ("scales", "spatial", "factor", "sizes")
    for suffix, words in {
        "": (),
        " shared": ("--shared",),
        " keep-default": ("--keep-default",),
        " tensorrt": ("--for", "tensorrt"),
    }.items()
}
# The rows that write a file; each is also run verified. PROMOTED is what the row MAKES_PROMOTED wrote.
WRITING: dict[str, tuple[str, ...]] = {
    **{f"promote-scales {name}": words for name, words in PROMOTIONS.items()},
    "freeze-scales": ("freeze-scales", IN, OUT),
    "freeze-scales promoted": ("freeze-scales", PROMOTED, OUT),
    "trt-legacy": ("trt-legacy", IN, OUT),
    **{
        f"legalize {target}": ("legalize", IN, OUT, "--target", target)
        for target in ("tensorrt-7.2", "tensorrt-8.0", "tensorrt-10", "onnxruntime")
    },
    "repair": ("repair", IN, OUT),
    "input-size any": ("input-size", IN, OUT, "any"),
    "input-size 256x320": ("input-size", IN, OUT, "256x320"),
    "opset 18": ("opset", IN, OUT, "18"),
    "opset 9": ("opset", IN, OUT, "9"),
    "set mode": ("set", IN, OUT, "mode=nearest"),
    "set form": ("set", IN, OUT, "form=sizes"),
}
_TARGETS = ["5.0", "5.1", "6.0", "7.0", "7.1", "7.2", "8.0", "8.4", "8.5", "9", "10", "rtx"]
READING: dict[str, tuple[str, ...]] = {
    "inspect": ("inspect", IN),
    "check": ("check", IN, "--target", "onnxruntime", *(w for t in _TARGETS for w in ("--target", f"tensorrt-{t}"))),
    "diff": ("diff", IN, PROMOTED),
}
ROWS: dict[str, tuple[str, ...]] = {
    **{name: (*words, "--no-verify") for name, words in WRITING.items()},
    **READING,
    **{f"{name} verified": (*words, "--memory-limit", "4G") for name, words in WRITING.items()},
}
MAKES_PROMOTED = "promote-scales scales keep-default"

DROPPED = {"resizefix", "model", "output"}
SENTENCES = {"reason", "fix", "because", "error", "next", "mend", "says", "live_reason", "source", "message", "command"}
LONG = 400  # characters; longer texts are stored as hashes


# ---- one run ----


@dataclass(frozen=True)
class Model:
    """A file, and the name it has in a store: the folder's name and the path below it."""

    name: str
    path: Path

    def sampled(self, every: int) -> bool:
        """Whether it is in the sample of one in `every`; 0 is none."""
        return bool(every) and zlib.crc32(self.name.encode()) % every == 0


def stored(value: Any, key: str = "") -> Any:
    """A JSON value without sentences: of these, only whether there is one."""
    if key in SENTENCES:
        return bool(value)
    if isinstance(value, dict):
        return {name: stored(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [stored(inner) for inner in value]
    if isinstance(value, str) and len(value) > LONG:
        return f"sha256 {hashlib.sha256(value.encode()).hexdigest()}"
    return value


def runs_of(runner: Shared, model: Model, rows: Sequence[str], keep: Path | None = None) -> Iterator[dict[str, Any]]:
    """Runs the named rows on one model, every OUT in a folder of its own, which goes to `keep` under OUT's hash."""
    with tempfile.TemporaryDirectory() as folder:
        promoted = Path(folder, "promoted.onnx")
        needs = [row for row in rows if PROMOTED in ROWS[row]]
        if needs and MAKES_PROMOTED not in rows:
            runner.run([*(placed(ROWS[MAKES_PROMOTED], model.path, promoted, promoted)), "--json"])
        for row in rows:
            if row in needs and not promoted.exists():
                continue
            with tempfile.TemporaryDirectory(dir=folder) as place:
                out = Path(place, "out.onnx")
                ended = runner.run([*placed(ROWS[row], model.path, out, promoted), "--json"])
                files = {
                    path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(Path(place).iterdir())
                }
                if keep and out.name in files:
                    shutil.copytree(place, keep / files[out.name], dirs_exist_ok=True)
                if row == MAKES_PROMOTED and out.exists():
                    out.rename(promoted)
            text = ended.stdout
            for path, word in ((out, OUT), (promoted, PROMOTED), (model.path, IN)):
                text = text.replace(str(path), word)
            try:
                document = json.loads(text)
            except ValueError:
                document = {"not JSON": text[:LONG]}
            answer = {name: stored(value, name) for name, value in document.items() if name not in DROPPED}
            yield {
                "model": model.name,
                "row": row,
                "exit": ended.exit_code,
                "seconds": round(ended.seconds, 3),
                "files": files,
                "json": answer,
            }


def placed(words: Sequence[str], model: Path, out: Path, promoted: Path) -> list[str]:
    places = {IN: str(model), OUT: str(out), PROMOTED: str(promoted)}
    return [places.get(word, word) for word in words]


# ---- a store ----


def load(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Every run of a store by model and row; of two lines for one run, the later."""
    if not path.exists():
        return {}
    lines = path.read_text("utf-8").splitlines()
    return {(run["model"], run["row"]): run for run in map(json.loads, lines)}


def fill(options: argparse.Namespace) -> int:
    """Adds to the store what it lacks. Runs past the time limit are tried again."""
    source = options.source.resolve()
    if not (source / "resizefix").is_dir():
        raise SystemExit(f"{source} holds no folder resizefix")
    options.store, options.folder = options.store.resolve(), [folder.resolve() for folder in options.folder]
    options.keep = options.keep and options.keep.resolve()
    os.environ["PYTHONPATH"] = str(source)  # for the processes that a command starts,
    os.chdir(source)  # which look for modules where they are first
    sys.path.insert(0, str(source))  # for the workers, which get this list
    spawn.set_executable(options.python)
    known = {key for key, run in load(options.store).items() if run["exit"] is not None}
    work = [(model, missing) for model in models_of(options) if (missing := rows_of(options, model, known))]
    chunks = [work[start : start + MODELS_PER_PROCESS] for start in range(0, len(work), MODELS_PER_PROCESS)]
    lock, done = threading.Lock(), 0

    def run_chunk(chunk: Sequence[tuple[Model, list[str]]]) -> None:
        nonlocal done
        runner = Shared(ENTRY, options.limit)
        try:
            for model, rows in chunk:
                lines = [json.dumps(run, sort_keys=True) + "\n" for run in runs_of(runner, model, rows, options.keep)]
                with lock, options.store.open("a", encoding="utf-8") as stream:
                    stream.writelines(lines)
                    done += 1
                    print(f"\r{done}/{len(work)} models", end="", file=sys.stderr, flush=True)
        finally:
            runner.close()

    with ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(run_chunk, chunks):
            pass
    print(file=sys.stderr)
    return 0


def models_of(options: argparse.Namespace) -> list[Model]:
    return [
        Model(f"{folder.resolve().name}/{path.relative_to(folder).as_posix()}", path.resolve())
        for folder in options.folder
        for path in sorted(folder.rglob("*.onnx"))
        if options.match in path.as_posix()
    ]


def rows_of(options: argparse.Namespace, model: Model, known: set[tuple[str, str]]) -> list[str]:
    """What is to be run on one model, in the order of the table."""
    return [
        row
        for row in ROWS
        if model.sampled(options.verified_every if row.endswith(" verified") else options.every)
        and (not options.commands or any(row.startswith(command) for command in options.commands))
        and (not options.row or row in options.row)
        and (model.name, row) not in known
    ]


# ---- two stores ----


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with where it stands, positions in lists left out: `outcomes[].status`."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        yield f"{path}[]", len(value)
        for inner in value:
            yield from leaves(inner, f"{path}[]")
    else:
        yield path, value


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """What differs between two runs, and the fields that only the second has."""
    if before["exit"] != after["exit"]:
        return [f"exit {before['exit']} -> {after['exit']}"], []
    fields: list[dict[str, list[Any]]] = []
    for run in (before, after):
        found: dict[str, list[Any]] = defaultdict(list)
        for path, value in leaves(run["json"]):
            found[path].append(value)
        fields.append(found)
    old, new = fields
    changed = [path for path in old if new.get(path) != old[path]]
    if before["files"] != after["files"]:
        changed.insert(0, "OUT")
    return changed, [path for path in new if path not in old]


def compare(options: argparse.Namespace) -> int:
    """Prints the table; 1 if the stores differ in a run that both hold."""
    before, after = load(options.before), load(options.after)
    both = [key for key in before if key in after]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    added: Counter[str] = Counter()
    cases: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key in both:
        model, row = key
        changed, more = differences(before[key], after[key])
        added.update(more)
        counts[row].update(["runs"] + (["differ"] if changed else []) + (["OUT"] if "OUT" in changed else []))
        for what in changed:
            cases[row, what].append(model)
    names = [row for row in ROWS if row in counts]
    width = max(map(len, names), default=3)
    print(f"{'row':<{width}}   runs differ    OUT")
    for row in names:
        print(f"{row:<{width}} {counts[row]['runs']:>6} {counts[row]['differ']:>6} {counts[row]['OUT']:>6}")
    for row, what in sorted(cases, key=lambda case: (names.index(case[0]), case[1])):
        models = cases[row, what]
        shown = ", ".join(models[: options.show]) + (" …" if len(models) > options.show else "")
        print(f"{row}: {what}: {len(models)}: {shown}")
    print("only after:", ", ".join(f"{path} ({n})" for path, n in added.most_common()) or "-")
    seconds = [sum(store[key]["seconds"] for key in both) for store in (before, after)]
    print(
        f"{len(both)} runs compared, {len(before) - len(both)} only before, {len(after) - len(both)} only after;"
        f" {seconds[0]:.0f} s before, {seconds[1]:.0f} s after"
    )
    return 1 if cases else 0


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="fill a store")
    run.set_defaults(function=fill)
    run.add_argument("store", type=Path)
    run.add_argument("--folder", type=Path, action="append", required=True, help="every .onnx below it (repeatable)")
    run.add_argument("--source", type=Path, default=Path(__file__).parents[1], help="the tree that holds resizefix/")
    run.add_argument("--python", default=sys.executable, help="the Python that runs it")
    run.add_argument("--every", type=int, default=1, metavar="K", help="one model in K (default: 1, all)")
    run.add_argument("--verified-every", type=int, default=0, metavar="K", help="verified, one in K (default: none)")
    run.add_argument("--commands", action="append", metavar="PREFIX", help="only rows that begin so (repeatable)")
    run.add_argument("--row", action="append", metavar="NAME", help="only this row (repeatable)")
    run.add_argument("--keep", type=Path, metavar="FOLDER", help="keep every OUT, in a folder below named by its hash")
    run.add_argument("--match", default="", metavar="TEXT", help="only models whose path holds it")
    run.add_argument("--jobs", type=int, default=1, metavar="N")
    run.add_argument("--limit", type=float, default=60.0, metavar="SECONDS", help="for one run (default: 60)")
    both = commands.add_parser("compare", help="compare two stores")
    both.set_defaults(function=compare)
    both.add_argument("before", type=Path)
    both.add_argument("after", type=Path)
    both.add_argument("--show", type=int, default=4, metavar="N", help="models named for each difference (default: 4)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    options = parsed(sys.argv[1:])
    sys.exit(options.function(options))
