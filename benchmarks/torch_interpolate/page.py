"""Renders the measured cells as a page, in English and in Chinese, from docs/reference/torch-interpolate.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.torch_interpolate.cells import DYNAMO, EXTENTS, MODES, OPSETS, TORCHSCRIPT, Cell, Found, read
from benchmarks.torch_interpolate.words import ENGLISH, Words

ROOT = Path(__file__).parents[2]
DATA = ROOT / "docs" / "reference" / "torch-interpolate.json"

Table = dict[Cell, Found]


def page(data: dict[str, Any], words: Words = ENGLISH) -> str:
    """The whole page."""
    cells = read(data["cells"])
    notes: list[str] = []
    parts = [words.head.format(**data["versions"])]
    for exporter in (TORCHSCRIPT, DYNAMO):
        parts.append(f"### {words.exporter[exporter]}\n\n{_forms(cells, exporter, words)}")
    parts.append(words.cells)
    for exporter in (TORCHSCRIPT, DYNAMO):
        for open_sizes in (False, True):
            title = f"### {words.exporter[exporter]}{words.sizes[open_sizes]}"
            parts.append(f"{title}\n\n{_verdicts(cells, exporter, open_sizes, words, notes)}")
    said = "\n".join(f"{number}. `{note}`" for number, note in enumerate(notes, start=1))
    parts += [
        f"{words.messages}\n\n{said}",
        _exports(data["exports"], words),
        words.older,
        _older(data["older"], words),
        words.fix,
    ]
    return "\n\n".join(parts) + "\n"


def _columns(cells: Table, exporter: str, key: Any) -> list[list[int]]:
    """The opsets in groups of neighbours whose column holds the same."""
    groups: list[list[int]] = []
    before = None
    for opset in OPSETS[exporter]:
        column = key(cells, exporter, opset)
        if column == before:
            groups[-1].append(opset)
        else:
            groups.append([opset])
        before = column
    return groups


def _heading(group: Sequence[int]) -> str:
    return f"opset {group[0]}" if len(group) == 1 else f"opset {group[0]}–{group[-1]}"


def _rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _form(node: str) -> str:
    """`Resize linear, half_pixel` of `Resize linear, half_pixel, constant scales`; other operators as they are."""
    return node.rpartition(", ")[0] or node


def _forms_of(cells: Table, exporter: str, opset: int, mode: str) -> list[str]:
    found = (
        cells[Cell(mode, extent, exporter, opset, open_sizes)] for extent in EXTENTS for open_sizes in (False, True)
    )
    return sorted({_form(one.node) for one in found if one.node})


def _forms(cells: Table, exporter: str, words: Words) -> str:
    def column(cells: Table, exporter: str, opset: int) -> list[list[str]]:
        return [_forms_of(cells, exporter, opset, mode) for mode in MODES]

    groups = _columns(cells, exporter, column)
    rows = [
        [f"`{mode}`", *("; ".join(_forms_of(cells, exporter, group[0], mode)) or words.refused for group in groups)]
        for mode in MODES
    ]
    return _rows([words.mode, *map(_heading, groups)], rows)


def _verdicts(cells: Table, exporter: str, open_sizes: bool, words: Words, notes: list[str]) -> str:
    def column(cells: Table, exporter: str, opset: int) -> list[str]:
        return [
            _verdict(cells[Cell(mode, extent, exporter, opset, open_sizes)], words, [])
            for mode in MODES
            for extent in EXTENTS
        ]

    groups = _columns(cells, exporter, column)
    rows = []
    for mode in MODES:
        alike: dict[tuple[str, ...], list[str]] = {}
        for extent in EXTENTS:
            found = [cells[Cell(mode, extent, exporter, group[0], open_sizes)] for group in groups]
            alike.setdefault(tuple(_verdict(one, words, notes) for one in found), []).append(extent)
        for verdicts, extents in alike.items():
            named = words.every if len(extents) == len(EXTENTS) else "; ".join(f"`{extent}`" for extent in extents)
            rows.append([f"`{mode}`", named, *verdicts])
    return _rows([words.mode, words.extent, *map(_heading, groups)], rows)


def _verdict(found: Found, words: Words, notes: list[str]) -> str:
    extent = words.extents.get(found.node.rpartition(", ")[2], "")
    if found.verdict == "refused" or found.verdict == "fails":
        if found.detail not in notes:
            notes.append(found.detail)
        said = words.refused if found.verdict == "refused" else words.fails
        return f"{said} ({notes.index(found.detail) + 1}) {extent}".strip()
    said = {
        "same": "=",
        "close": "≈",
        "differs": f"**{words.differs} {found.difference}**",
        "shape": f"**{found.detail.replace(' gives ', words.gives).replace('torch', words.torch)}**",
    }[found.verdict]
    where = "" if found.written_opset is None else f" ({words.written.format(opset=found.written_opset)})"
    return f"{said} {extent}".strip() + where


def _exports(rows: Sequence[dict[str, Any]], words: Words) -> str:
    """How many exports differ, and what repair brings, for the modes and exporters that wrote any."""
    shown = [row for row in rows if row["exports"]]
    counts = ("exports", "differ", "other", "repaired", "left")
    lines = [[f"`{row['mode']}`", row["exporter"], *(str(row[name]) for name in counts)] for row in shown]
    total = {name: sum(row[name] for row in rows) for name in (*counts, "refused", "wrong", "undecided")}
    return f"{words.exports.format(**total)}\n\n{_rows(words.counted, lines)}\n\n{words.why_left}"


def _older(rows: Sequence[dict[str, Any]], words: Words) -> str:
    """A row for each version and form, with the opsets that have it."""
    merged: list[dict[str, Any]] = []
    for entry in rows:
        same = ("torch", "exporter", "node", "computes")
        twin = next((one for one in merged if all(one[name] == entry[name] for name in same)), None)
        if twin is None or bool(twin["nodes_run"]) != bool(entry["nodes_run"]):
            merged.append({**entry, "opsets": [entry["opset"]]})
            continue
        twin["opsets"] = [*twin["opsets"], entry["opset"]]
        twin["extents"] = sorted({*twin["extents"], *entry["extents"]})
        twin["nodes_run"] += entry["nodes_run"]
    rendered = [
        [
            f"{one['torch']}",
            ", ".join(map(str, one["opsets"])),
            one["node"],
            ", ".join(words.extents[extent] for extent in one["extents"]),
            _computes(one, words),
        ]
        for one in merged
    ]
    return _rows(["torch", "opset", words.node, words.extent, words.computes], rendered)


def _computes(entry: dict[str, Any], words: Words) -> str:
    if not entry["nodes_run"]:
        return words.not_run
    return ", ".join(f"`{name}`" for name in entry["computes"]) or f"**{words.nothing}**"


def load() -> dict[str, Any]:
    """The committed measurements."""
    data: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return data
