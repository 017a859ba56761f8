"""Repairs every file of a folder and counts what became of each site that `inspect` calls invalid or fragile.

    python benchmarks/repair_sweep.py FOLDER [PATTERN …]

Invalid: `inspect` cannot read what the node computes. Fragile: it names a fault. Each is `fixed`, `refused` (printed
with the reason), or `left`: neither (exit code 1). `repair` verifies what it writes in onnxruntime.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import resizefix
from resizefix.library.repair import known_faults

NOT_VALID = "not valid"


def to_repair(model: object) -> set[tuple[str, str]]:
    """The label of each node that has a fault, with its name; of a node that is invalid and has none, NOT_VALID."""
    named = {(label, fault.name) for label, fault in known_faults(model)}
    invalid = {site.label for site in resizefix.inspect(model) if site.interpolation is None}
    return named | {(label, NOT_VALID) for label in invalid - {label for label, _ in named}}


def sweep(folder: Path, patterns: list[str]) -> int:
    """Prints the counts; 1 if a site was neither fixed nor refused."""
    counts: Counter[tuple[str, str]] = Counter()
    files: Counter[str] = Counter()
    for path in sorted({path for pattern in patterns for path in folder.glob(pattern)}):
        name = str(path.relative_to(folder))
        try:
            found = to_repair(path)
        except resizefix.ResizefixError as error:
            files["unreadable"] += 1
            print(f"unreadable {name}: {str(error)[:100]}")
            continue
        files["read"] += 1
        if not found:
            continue
        files["with such a site"] += 1
        try:
            result = resizefix.repair(path, timeout=120, on_refusal="return")
        except resizefix.VerificationFailedError as error:
            files["verification failed, nothing written"] += 1
            counts.update((fault, "refused") for _, fault in found)
            print(f"refused  {name}: {str(error)[:200]}", flush=True)
            continue
        files["repaired"] += result.changed
        refused = {out.node: out.reason for out in result.outcomes if out.status.value == "refused"}
        after = to_repair(result.model)
        for node, fault in sorted(found):
            happened = "refused" if node in refused else "left" if (node, fault) in after else "fixed"
            counts[fault, happened] += 1
            if happened != "fixed":
                print(f"{happened:8} {name}: {node}: {fault}: {(refused.get(node) or '')[:200]}", flush=True)
    for (fault, happened), count in sorted(counts.items()):
        print(f"{fault:20} {happened:8} {count}")
    print(
        sum(counts.values()), dict(Counter(happened for (_, happened), count in counts.items() for _ in range(count)))
    )
    print(dict(files))
    return int(any(happened == "left" for _, happened in counts))


if __name__ == "__main__":
    sys.exit(sweep(Path(sys.argv[1]), sys.argv[2:] or ["**/*.onnx"]))
