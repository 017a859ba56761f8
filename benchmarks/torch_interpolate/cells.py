"""The cells of the table: one call of F.interpolate, exported by one exporter at one opset, at fixed or at open sizes.

Nothing here imports torch: the committed table is read and rendered without it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

SIZE = (29, 5)  # height and width of every export; 29 to 30 and 5 to 9 are the classic lost pixels
OTHER_SIZES = ((8, 10), (5, 29))  # at which a file with open height and width is run as well

MODES: dict[str, dict[str, Any]] = {
    "nearest": {"mode": "nearest"},
    "nearest-exact": {"mode": "nearest-exact"},
    "bilinear": {"mode": "bilinear", "align_corners": False},
    "bilinear, align_corners": {"mode": "bilinear", "align_corners": True},
    "bicubic": {"mode": "bicubic", "align_corners": False},
    "bicubic, align_corners": {"mode": "bicubic", "align_corners": True},
    "bilinear, antialias": {"mode": "bilinear", "align_corners": False, "antialias": True},
}
EXTENTS: dict[str, dict[str, Any]] = {
    "scale_factor=2": {"scale_factor": 2},
    "scale_factor=0.5": {"scale_factor": 0.5},
    "scale_factor=1.8": {"scale_factor": 1.8},
    "scale_factor=1.8, recompute_scale_factor=True": {"scale_factor": 1.8, "recompute_scale_factor": True},
    "size=(30, 9)": {"size": (30, 9)},
}
TORCHSCRIPT, DYNAMO = "TorchScript", "dynamo"
OPSETS = {
    TORCHSCRIPT: (7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23),
    DYNAMO: (11, 17, 18, 21, 25, 26),
}


@dataclass(frozen=True)
class Cell:
    """One export: which call, which exporter, which opset, and whether height and width stay open."""

    mode: str
    extent: str
    exporter: str
    opset: int
    open_sizes: bool


@dataclass(frozen=True)
class Found:
    """What became of a cell.

    `verdict`: `same` (bitwise what torch computes, at every size), `close` (within `difference`, from rounding),
    `differs` (by `difference`), `shape` (another output size), `refused` (by the exporter), `fails` (in onnxruntime).
    `detail` says which message, or which size. `node` is what the file holds, and `written_opset` the opset that it
    imports where that is another one.
    """

    verdict: str
    node: str = ""
    difference: float | None = None
    detail: str = ""
    written_opset: int | None = None


CLOSE = 1e-5  # of inputs between 0 and 1; the measured differences leave a gap from 4e-6 to 4e-3


def all_cells() -> Iterator[Cell]:
    """Every cell of the table."""
    for mode in MODES:
        for extent in EXTENTS:
            for exporter, opsets in OPSETS.items():
                for opset in opsets:
                    for open_sizes in (False, True):
                        yield Cell(mode, extent, exporter, opset, open_sizes)


def rows(table: Mapping[Cell, Found]) -> list[dict[str, Any]]:
    """The cells as the JSON file holds them: those that differ in the opset alone are one row."""
    merged: dict[str, dict[str, Any]] = {}
    for cell in all_cells():
        entry = asdict(cell) | {name: value for name, value in asdict(table[cell]).items() if value not in (None, "")}
        opset = entry.pop("opset")
        merged.setdefault(json.dumps(entry), entry | {"opsets": []})["opsets"].append(opset)
    return list(merged.values())


def read(entries: Iterable[dict[str, Any]]) -> dict[Cell, Found]:
    """Every cell and what became of it, from the rows of the JSON file."""
    table = {}
    for entry in entries:
        place = {name: entry[name] for name in Cell.__dataclass_fields__ if name != "opset"}
        found = {name: entry[name] for name in Found.__dataclass_fields__ if name in entry}
        table |= {Cell(**place, opset=opset): Found(**found) for opset in entry["opsets"]}
    return table
