"""Counts what became of the exports, one row for each mode and exporter, as the page shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_COUNTS = ("exports", "refused", "differ", "wrong", "undecided", "other", "repaired", "left")


def tally(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The counts of the rows that judging.py makes (`verdict` beside them), modes of one name in all ranks together.

    `differ`: from torch. `wrong`: what inspect says is not right. `undecided`: the file admits both. `other`: no resize
    node. `repaired`, `left`: of those with a resize that differ, brought within 1e-5 or not.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        mode = row["mode"].replace("trilinear", "linear").replace("bilinear", "linear")
        key = mode, f"{row['exporter']} {row['opset']}"
        counts = found.setdefault(key, {"mode": mode, "exporter": key[1], **dict.fromkeys(_COUNTS, 0)})
        if "refused" in row:
            counts["refused"] += 1
            continue
        counts["exports"] += 1
        counts["differ"] += "differs" in row
        for verdict in ("wrong", "undecided", "other"):
            counts[verdict] += row["verdict"] == verdict
        if "differs" in row and row["verdict"] != "other":
            counts["left" if "repaired" in row else "repaired"] += 1
    return list(found.values())
