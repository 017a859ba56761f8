"""Writes the tables into docs/performance.md, each between its two markers; the text around them stays."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.performance.inputs import INPUTS

Rows = list[dict[str, Any]]
OURS = "resizefix promote-scales"  # whose memory apart from files is said, too
LEFT_OUT = {"transformer-10MB", "transformer-200MB"}  # no columns: near the convolutional models of that size
SHORT = 70  # of a complaint, in a table
LARGE = 100  # megabytes


def write(page: Path, results: dict[str, Any]) -> None:
    """Replaces what stands between the markers of every section that `results` has."""
    text = page.read_text()
    for name, table in TABLES.items():
        if results.get(name):
            begin, end = (f"<!-- {word} {name} -->" for word in ("begin", "end"))
            if begin not in text:
                raise SystemExit(f"{page}: has no marker {begin}")
            inside = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
            written = f"{begin}\n{table(results[name])}\n{end}"
            text = inside.sub(lambda _, written=written: written, text)
    page.write_text(text)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def seconds(number: float) -> str:
    return f"{number:.2f}" if number < 10 else f"{number:.0f}"


def megabytes(number: float) -> str:
    return f"{number / 1e6:.0f}"


def machine(found: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number or 'not installed'}" for name, number in found["versions"].items())
    return (
        f"{found['date']}; {found['processor']}, {found['cores']} cores, {found['memory']} GB of memory, "
        f"{found['system']}, {found['file system']}; Python {found['python']}; {versions}. "
        f"Load of the machine at the start: {found['load']}."
    )


def side_by_side(rows: Rows) -> str:
    """Two tables of numbers, one column an input, and what was wrong."""
    used = {row["input"] for row in rows} - LEFT_OUT
    columns = [given for given in INPUTS if given.name in used]
    jobs = list(dict.fromkeys(row["job"] for row in rows))
    by_place = {(row["job"], row["input"]): row for row in rows}

    def memory(job: str, taken: dict[str, Any]) -> str:
        own = f" ({megabytes(taken['own'])})" if job.startswith(OURS) else ""
        return f"{megabytes(taken['peak'])}{own}"

    numbers: tuple[tuple[str, Callable[[str, dict[str, Any]], str]], ...] = (
        ("Wall time, seconds", lambda _, taken: seconds(taken["wall"])),
        ("Peak memory, MB (of it, in no file)", memory),
    )

    def cell(job: str, given: str, say: Callable[[str, dict[str, Any]], str]) -> str:
        row = by_place.get((job, given))
        if row is None or row["taken"] is None:
            return ""
        return say(job, row["taken"]) if row["taken"]["exit_code"] == 0 else "failed"

    counts = sorted({row["runs"] for row in rows if row["taken"]})
    parts = [f"Runs per cell: {' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))}."] if counts else []
    for title, say in numbers:
        head = [title, *(given.what for given in columns)]
        parts.append(table(head, [[job, *(cell(job, given.name, say) for given in columns)] for job in jobs]))
    parts.append(table(["Result", "right", "not right, and where"], [[job, *verdict(job, rows)] for job in jobs]))
    return "\n\n".join(parts)


def verdict(job: str, rows: Rows) -> tuple[str, str]:
    mine = [row for row in rows if row["job"] == job]
    tried = [row for row in mine if row["taken"] is not None]
    if not tried:
        return "", "not installed"
    where = Counter(wrong for row in tried for wrong in dict.fromkeys(map(shortened, row["wrong"])))
    said = "; ".join(f"{wrong} ({count if count < len(tried) else 'all'})" for wrong, count in where.items())
    return f"{sum(not row['wrong'] for row in tried)} of {len(tried)}", said


def shortened(text: str) -> str:
    """One complaint of several models, without the numbers in which they differ."""
    text = re.sub(r"\s+", " ", text).replace("|", "\\|")
    text = re.sub(r", relative \S+$", " by rounding", re.sub(r"^[1-9]\d* of \d+ ", "some ", text))
    return text if len(text) <= SHORT else f"{text[:SHORT]}…"


def startup(rows: Rows) -> str:
    def ratio(row: dict[str, Any]) -> str:
        return f"{row['taken']['wall'] / row['other']['wall']:.2f}"

    return table(
        ["command", "wall s", "beside", "wall s", "times wall", "bound"],
        [
            [
                row["what"], seconds(row["taken"]["wall"]), row["against"], seconds(row["other"]["wall"]),
                ratio(row), f"{row['bound'] or ''}",
            ]
            for row in rows
        ],
    )  # fmt: skip


def reach(rows: Rows) -> str:
    return table(
        ["on the convolutional model of 1.5 GB", "measured", "bound"],
        [[row["what"], f"{row['value']:.2f} {row['unit']}", bound(row)] for row in rows],
    )


def bound(row: dict[str, Any]) -> str:
    if row["bound"] is None:
        return ""
    return f"{row['bound']:g} {row['unit']}: {'holds' if row['value'] <= row['bound'] else 'does not hold'}"


def growth(rows: Rows) -> str:
    return table(
        ["command", "on a model with", "wall s", "peak MB", "µs per node or site beyond the first row"],
        [
            [
                row["command"], f"{row['count']:,} {row['what']}", seconds(row["taken"]["wall"]),
                megabytes(row["taken"]["peak"]), marginal(row, rows),
            ]
            for row in sorted(rows, key=lambda row: (row["what"], row["command"], row["count"]))
        ],
    )  # fmt: skip


def marginal(row: dict[str, Any], rows: Rows) -> str:
    alike = [one for one in rows if (one["what"], one["command"]) == (row["what"], row["command"])]
    first = min(alike, key=lambda one: one["count"])
    if row is first or row["taken"]["exit_code"] != 0:
        return "" if row is first else "failed"
    return f"{1e6 * (row['taken']['user'] - first['taken']['user']) / (row['count'] - first['count']):.0f}"


def emitted(rows: Rows) -> str:
    """One line a model and size, both levels side by side."""
    by_case: dict[tuple[str, str], dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in rows:
        by_case[row["model"], row["size"]][row["level"]] = row
    levels = list(dict.fromkeys(row["level"] for row in rows))
    head = ["model", "image", "scales as inputs"]
    for level in levels:
        head += [f"{level}: static ms", "promoted ms", "difference"]
    lines = []
    for (model, size), found in by_case.items():
        line = [model, size, str(found[levels[0]]["sites"])]
        for level in levels:
            row = found[level]
            line += [f"{row['static']:.3g}", f"{row['promoted']:.3g}", f"{100 * (row['times'] - 1):+.1f} %"]
        lines.append(line)
    return table(head, lines)


def kernel_moves(rows: Rows) -> str:
    return table(
        ["promote-scales to", "bytes of the model", "moved by the kernel", "read by Python", "written by Python"],
        [[row["case"], *(f"{row[key]:,}" for key in ("size", "kernel", "read", "written"))] for row in rows],
    )


def passes(rows: Rows) -> str:
    """A small network's copy takes no time that could be compared."""
    return table(
        ["network", "a forward pass, s", "verified, passes", "stated", "`--no-verify`, times cp and sync"],
        [
            [
                row["what"], f"{row['forward']:.3g}", f"{row['measured']:.1f}", f"{row['stated']:.1f}",
                f"{row['times_cp']:.2f}" if row["megabytes"] > LARGE else "",
            ]
            for row in rows
        ],
    )  # fmt: skip


TABLES: dict[str, Callable[[Any], str]] = {
    "machine": machine,
    "side_by_side": side_by_side,
    "startup": startup,
    "reach": reach,
    "growth": growth,
    "passes": passes,
    "emitted": emitted,
    "kernel_moves": kernel_moves,
}
