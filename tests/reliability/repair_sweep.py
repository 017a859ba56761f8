"""Repairs every file of a folder and counts, for each fault that `inspect` names, what became of it.

    python tests/reliability/repair_sweep.py FOLDER [PATTERN …]

Of the faults of each node: `fixed`, `refused` (printed with the reason), or `left`: named by `inspect`, and neither
(exit code 1). `repair` verifies what it writes in onnxruntime.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import resizefix
from resizefix.library.repair import known_faults


def of_nodes(model: object) -> list[tuple[str, str]]:
    """The label of each node that has a fault, with the fault's name."""
    return [(label, fault.name) for label, fault in known_faults(model)]


def sweep(folder: Path, patterns: list[str]) -> int:
    """Prints the counts; 1 if a named fault was neither fixed nor refused."""
    counts: Counter[tuple[str, str]] = Counter()
    files: Counter[str] = Counter()
    for path in sorted({path for pattern in patterns for path in folder.glob(pattern)}):
        name = str(path.relative_to(folder))
        try:
            named = set(of_nodes(path))
        except resizefix.ResizefixError:
            files["unreadable"] += 1
            continue
        files["read"] += 1
        if not named:
            continue
        files["with a fault"] += 1
        try:
            result = resizefix.repair(path, timeout=120)
        except resizefix.VerificationFailedError as error:
            files["verification failed"] += 1
            counts.update((fault, "refused") for _, fault in named)
            print(f"refused  {name}: {str(error)[:200]}")
            continue
        files["repaired"] += result.changed
        refused = {out.node: out.reason for out in result.outcomes if out.status.value == "refused"}
        after = set(of_nodes(result.model))
        for node, fault in sorted(named):
            happened = "refused" if node in refused else "left" if (node, fault) in after else "fixed"
            counts[fault, happened] += 1
            if happened != "fixed":
                print(f"{happened:8} {name}: {node}: {fault}: {(refused.get(node) or '')[:200]}")
    for (fault, happened), count in sorted(counts.items()):
        print(f"{fault:20} {happened:8} {count}")
    print(dict(files))
    return int(any(happened == "left" for _, happened in counts))


if __name__ == "__main__":
    sys.exit(sweep(Path(sys.argv[1]), sys.argv[2:] or ["**/*.onnx"]))
