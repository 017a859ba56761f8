"""The mutation score: programming errors between each operation and its proof, and how many of them the proof catches.

    python benchmarks/mutants.py FOLDER… --json report.json
    python benchmarks/mutants.py FOLDER… --commands repair,set --per-family 2
    python benchmarks/mutants.py --table report.json other.json

Every candidate passes `library/seam.py`; here an error is put into it (`mutations.py`). `mutant_judge.py` decides which
mutants compute something else. One is caught where the command writes nothing. Prints the caught share per command and
family, then every survivor. Exit code 1 below 99 % of a command, or 100 % where nothing was to change.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import sys
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # these files, wherever this one is called from

from candidate_edits import Subject
from mutant_judge import Judge
from mutations import FAMILIES, Family
from onnx import ModelProto

import resizefix
from resizefix.diagnostics import ResizefixError
from resizefix.document.document import Document
from resizefix.library import seam
from resizefix.verification.plan import Plan

LARGEST = 400_000  # bytes of a file
LIMIT = 240.0  # seconds for one file
UNCHANGED = "what the command itself stores wrongly"
LEAST = {"bytes": 1.0, "shapes": 1.0}  # the share that must be caught, by kind of family


@dataclass(frozen=True)
class Command:
    """A row of the table: the call, its options, and which of the candidates is changed."""

    name: str
    call: Callable[..., Any]
    options: dict[str, Any]
    at: Callable[[Plan], bool] = lambda plan: True


def _raises(plan: Plan) -> bool:
    return plan.opset is not None and not plan.is_rebuilt and not plan.nodes


def _frozen_again(path: str, **options: Any) -> Any:
    """The way back from a promotion."""
    promoted = resizefix.promote_scales(path, keep_default=True, allow_coupled=True, verify=False, **options)
    return resizefix.freeze_scales(promoted.model)


def _rows(name: str, call: Callable[..., Any], *options: dict[str, Any]) -> list[Command]:
    return [Command(name, call, one) for one in options]


COMMANDS = (
    *_rows("promote-scales", resizefix.promote_scales, *(
        {**base, **more} for base in ({}, {"allow_coupled": True}) for more in (
            {}, {"form": "spatial"}, {"form": "factor"}, {"form": "sizes"}, {"shared": True}, {"keep_default": True},
            {"for_": "tensorrt"}, {"for_": "tensorrt", "form": "sizes"},
        ))),
    *_rows("freeze-scales", resizefix.freeze_scales, {}),
    *_rows("freeze-scales", _frozen_again, {}, {"form": "sizes"}, {"form": "factor"}),
    *_rows("trt-legacy", resizefix.trt_legacy, {}, {"size": (64, 96)}),
    *_rows("legalize", resizefix.legalize, *(
        {"target": target, "live": False} for target in ("tensorrt-7.0", "tensorrt-8.0", "opencv-4", "ncnn", "openvino")
    ), {"target": "tensorrt-8.0", "live": False, "allow_inexact": True}),
    *_rows("repair", resizefix.repair, {}, {"prefer": ["scales", "half_pixel"]}, {"prefer": ["sizes", "asymmetric"]},
           {"prefer": "pytorch"}),
    *_rows("set", resizefix.set_interpolation,
           {"mode": "linear", "coordinates": "half_pixel"}, {"mode": "nearest", "coordinates": "asymmetric"},
           {"form": "sizes"}, {"form": "scales"}, {"form": "matmul"}, {"form": "gather"}, {"mode": "cubic"},
           {"scale": 2.5}, {"sizes": "partner"}, {"form": "resize"}),
    *_rows("input-size", resizefix.input_size, {"size": "any"}, {"size": (64, 96)}, {"size": (96, 32)}),
    *_rows("input-size --batch", resizefix.input_size, {"size": "any", "batch": "any"}, {"size": (64, 64), "batch": 2}),
    *_rows("opset", resizefix.opset, *({"opset": opset} for opset in (9, 11, 13, 17, 18, 21))),
    *_rows("opset", resizefix.opset, {"opset": 9, "allow_inexact": True}, {"opset": 17, "allow_inexact": True}),
    Command("--opset", resizefix.set_interpolation, {"mode": "cubic", "opset": 18}, _raises),
    Command("--opset", resizefix.legalize, {"target": "tensorrt-8.0", "live": False, "opset": 13}, _raises),
    Command("--opset", resizefix.promote_scales, {"opset": 17, "allow_coupled": True}, _raises),
    Command("--opset", resizefix.repair, {"opset": 18}, _raises),
)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One error and what became of it: "caught" (by the plan or the proof), "survived", "equivalent", "crashed"."""

    file: str
    command: str
    options: str
    family: str
    kind: str
    number: int
    verdict: str
    by: str = ""
    seconds: float = 0.0


Handed = tuple[Document, Document, Plan]


class _Through:
    """Stands at the seam: keeps what passes, and puts an edit into one of the candidates.

    `is_replaced`: another candidate for the same nodes of the same model followed the edited one, which was refuted.
    """

    def __init__(self, at: int | None = None, edit: Callable[[ModelProto], None] | None = None) -> None:
        self.handed: list[Handed] = []
        self.is_replaced = False
        self._at, self._edit = at, edit

    def __enter__(self) -> _Through:
        self._submitted = seam.submitted
        seam.submitted = self._pass
        return self

    def __exit__(self, *_: object) -> None:
        seam.submitted = self._submitted

    def _pass(self, before: Document, candidate: Document, plan: Plan) -> Document:
        at = self._at
        if at is not None and len(self.handed) > at:
            edited = self.handed[at]
            self.is_replaced |= edited[0] is before and edited[2].nodes == plan.nodes
        if len(self.handed) == at and self._edit is not None:
            candidate = candidate.copy()
            self._edit(candidate.proto)
        self.handed.append((before, candidate, plan))
        return self._submitted(before, candidate, plan)


def call(command: Command, path: Path) -> Any | ResizefixError:
    """The result of the command, or the error with which it wrote nothing."""
    try:
        return command.call(str(path), **command.options)
    except ResizefixError as error:
        return error


def _kept(source: Any) -> list[int]:
    """The positions of axes that keep their size."""
    driven = source.sites[0]
    return [at for at, position in enumerate(driven.entries) if position not in driven.scaled]


def _bytes(document: Document) -> bytes:
    return document.to_proto().SerializeToString(deterministic=True)


def subject_of(handed: Handed, judge: Judge, fed: dict[str, tuple[float, ...]]) -> Subject:
    before, candidate, plan = handed
    planned = frozenset(name for _, name in plan.nodes)
    return Subject(before.proto, candidate.proto, judge.values(), candidate.array, fed, planned)


def mutants_of(
    path: Path, command: Command, per_family: int, seed: int, families: Sequence[Family]
) -> Iterable[Mutant]:
    """Every family's errors in what the command makes of the file: `per_family` of each, drawn at random."""
    with _Through() as seen:
        result = call(command, path)
    if isinstance(result, ResizefixError) or not result.changed:
        return
    places = [at for at, (_, _, plan) in enumerate(seen.handed) if command.at(plan)]
    if not places:
        return
    written = _bytes(result.model)  # what a command makes for a suggestion passes the seam, too
    at = ([at for at in places if _bytes(seen.handed[at][1]) == written] or places)[-1]
    inputs = result.inputs if not _raises(seen.handed[at][2]) else ()
    fed = {source.name: tuple(source.value) for source in inputs}
    kept = {source.name: _kept(source) for source in inputs}
    candidate = seen.handed[at][1]
    judge = Judge(seen.handed[at][0].to_proto(), candidate.to_proto(), fed, kept)
    if not judge.feeds:
        return
    subject = subject_of(seen.handed[at], judge, fed)
    about = path.as_posix(), command.name, json.dumps(command.options)
    if judge.said_by_candidate:  # nothing was injected: the operation and its proof let it through
        yield Mutant(*about, UNCHANGED, "shapes", 0, "survived")
    for family in families:
        edits = list(family.edits(subject))
        draw = random.Random(f"{seed} {path.name} {command.name} {command.options} {family.name}")
        for number in sorted(draw.sample(range(len(edits)), min(per_family, len(edits)))):
            # Of a model that is built anew no byte outside the plan is known.
            is_judged = family.kind != "bytes" or seen.handed[at][2].is_rebuilt
            yield _tried(path, command, family, number, edits[number], at, judge if is_judged else None, candidate)


def _tried(
    path: Path,
    command: Command,
    family: Family,
    number: int,
    edit: Callable[[ModelProto], None],
    at: int,
    judge: Judge | None,
    candidate: Document,
) -> Mutant:
    start = time.perf_counter()
    about = path.as_posix(), command.name, json.dumps(command.options), family.name, family.kind, number
    mutant = candidate.copy()
    edit(mutant.proto)
    whole = mutant.to_proto()
    if judge is not None:
        is_error = judge.differs(whole) or (family.kind == "shapes" and judge.is_stored_wrong(whole))
        if not is_error:
            return Mutant(*about, "equivalent", "", time.perf_counter() - start)
    with _Through(at, edit) as through:
        result = call(command, path)
    if isinstance(result, ResizefixError):
        by = "plan" if "no change of it was planned" in str(result) else "proof"
        return Mutant(*about, "caught", by, time.perf_counter() - start)
    if through.is_replaced:
        return Mutant(*about, "caught", "proof", time.perf_counter() - start)
    verdict = "survived" if result.changed else "caught"
    return Mutant(*about, verdict, "" if result.changed else "refused", time.perf_counter() - start)


def _work(out: Connection, path: Path, commands: Sequence[Command], options: argparse.Namespace) -> None:
    for command in commands:
        for mutant in mutants_of(path, command, options.per_family, options.seed, options.families):
            out.send(mutant)
    out.send(None)


def in_a_process(path: Path, commands: Sequence[Command], options: argparse.Namespace) -> list[Mutant]:
    """The mutants of one file. What ends the process, or takes too long, costs the rest of the file."""
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_work, args=(there, path, commands, options))
    process.start()
    there.close()
    found: list[Mutant] = []
    end = time.monotonic() + LIMIT
    try:
        while here.poll(max(end - time.monotonic(), 0)):
            mutant = here.recv()
            if mutant is None:
                return found
            found.append(mutant)
    except EOFError:
        pass
    finally:
        process.kill()
        process.join()
    print(f"{path}: ended after {len(found)} mutants", file=sys.stderr)
    return found


def table(mutants: Sequence[Mutant]) -> str:
    """The caught share as Markdown: a row for each family, a column for each command."""
    names = list(dict.fromkeys(command.name for command in COMMANDS))
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for one in mutants:
        for key in ((one.family, one.command), (one.family, ""), ("", one.command), ("", "")):
            counts[key][one.verdict] += 1
    lines = ["| | " + " | ".join([*names, "all"]) + " |", "|---|" + "---|" * (len(names) + 1)]
    for family in (*(family.name for family in FAMILIES), UNCHANGED, ""):
        cells = [share(counts[family, name]) for name in (*names, "")]
        lines.append(f"| {family or 'all'} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def share(verdicts: Counter[str]) -> str:
    """Caught of those that compute something else."""
    caught, all_errors = verdicts["caught"], verdicts["caught"] + verdicts["survived"]
    return f"{caught}/{all_errors}" if all_errors else ""


def below(mutants: Sequence[Mutant]) -> list[str]:
    """What is caught too seldom."""
    groups: dict[tuple[str, float], Counter[str]] = defaultdict(Counter)
    for one in mutants:
        groups[f"command {one.command}", 0.99][one.verdict] += 1
        if one.kind in LEAST:
            groups[f"family {one.family}", LEAST[one.kind]][one.verdict] += 1
    return [
        f"{name}: {share(verdicts)}"
        for (name, least), verdicts in groups.items()
        if verdicts["caught"] < least * (verdicts["caught"] + verdicts["survived"])
    ]


def models(folders: Iterable[str]) -> list[Path]:
    """The files, small ones first."""
    given = map(Path, folders)
    files = [file for path in given for file in ([path] if path.is_file() else path.rglob("*.onnx"))]
    files = [file for file in files if file.stat().st_size <= LARGEST and "hostile" not in file.parts]
    return sorted(files, key=lambda file: (file.stat().st_size, file.as_posix()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--table", nargs="+", type=Path, default=(), help="reports to count, instead of running")
    parser.add_argument("--commands", default="", help="names, separated by commas; all by default")
    parser.add_argument("--only", default="", help="names of families, separated by semicolons")
    parser.add_argument("--per-family", type=int, default=1, dest="per_family")
    parser.add_argument("--share", type=float, default=1.0, help="of the calls, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    wanted = set(filter(None, options.commands.split(",")))
    only = set(filter(None, options.only.split(";")))
    options.families = [family for family in FAMILIES if not only or family.name in only]
    commands = [command for command in COMMANDS if not wanted or command.name in wanted]
    start = time.perf_counter()
    told = [Mutant(**row) for report in options.table for row in json.loads(report.read_text())]
    found = list({(one.file, one.command, one.options, one.family, one.number): one for one in told}.values())
    with ThreadPoolExecutor(options.jobs) as pool:
        done = [
            pool.submit(in_a_process, path, drawn(commands, path, options.share, options.seed), options)
            for path in models(options.folders)
        ]
        for one in done:
            found += one.result()
            if options.json:
                options.json.write_text(json.dumps([asdict(mutant) for mutant in found], indent=0))
    return told_of(found, time.perf_counter() - start)


def told_of(found: Sequence[Mutant], seconds: float) -> int:
    """Prints the table, the survivors, and what is caught too seldom; the exit code."""
    print(table(found))
    counts = Counter(one.verdict for one in found)
    files = len({one.file for one in found})
    print(f"\n{len(found)} mutants of {files} files, {dict(counts)}; {seconds:.0f} s")
    for one in found:
        if one.verdict == "survived":
            print(f"survived: {one.command} {one.options} {one.file}: {one.family} #{one.number}")
    too_few = below(found)
    print(*too_few, sep="\n")
    return 1 if too_few else 0


def drawn(commands: Sequence[Command], path: Path, part: float, seed: int) -> list[Command]:
    """The calls that are made with one file."""
    draw = random.Random(zlib.crc32(f"{seed} {path.name}".encode()))
    return [command for command in commands if draw.random() < part]


if __name__ == "__main__":
    sys.exit(main())
