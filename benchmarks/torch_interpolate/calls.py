"""Calls of F.interpolate in 1-D to 3-D, growing and shrinking, by scale and by size, and the exporters of each.

Nothing here imports torch: recorded answers are read without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

TORCHSCRIPT, DYNAMO = "TorchScript", "dynamo"
EXPORTERS: tuple[tuple[str, int], ...] = (
    *((TORCHSCRIPT, opset) for opset in (9, 10, 11, 13, 17)),
    (DYNAMO, 18),
)
CHANNELS = 2
LENGTHS: dict[int, tuple[int, ...]] = {1: (21,), 2: (21, 14), 3: (5, 21, 14)}
"""The spatial sizes that are exported, by their number. 21 to 24 and 14 to 8 are lengths at which the scale of torch,
float32(in/out), and that of onnxruntime, float32(out/in), pick other pixels."""
OTHER_LENGTHS: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((25,), (10,), (16,)),
    2: ((25, 22), (8, 10), (16, 18)),
    3: ((4, 8, 10), (7, 25, 6)),
}
"""Further sizes at which files with open sizes are run."""

_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def modes(rank: int) -> dict[str, dict[str, Any]]:
    """The options of every mode that torch has for so many spatial axes, by a name."""
    linear = _LINEAR[rank]
    every: dict[str, dict[str, Any]] = {
        "nearest": {"mode": "nearest"},
        "nearest-exact": {"mode": "nearest-exact"},
        "area": {"mode": "area"},
        linear: {"mode": linear, "align_corners": False},
        f"{linear}, align_corners": {"mode": linear, "align_corners": True},
    }
    if rank == 2:
        every |= {
            "bicubic": {"mode": "bicubic", "align_corners": False},
            "bicubic, align_corners": {"mode": "bicubic", "align_corners": True},
            "bilinear, antialias": {"mode": "bilinear", "align_corners": False, "antialias": True},
            "bicubic, antialias": {"mode": "bicubic", "align_corners": False, "antialias": True},
        }
    return every


def extents(rank: int) -> dict[str, dict[str, Any]]:
    """How much is asked for: by scale, by scale with the size computed first, and by size; larger, smaller and both."""
    other = {1: (29,), 2: (24, 8), 3: (7, 12, 16)}[rank]
    sizes = {1: ((24,), (12,)), 2: ((24, 16), (12, 8)), 3: ((6, 24, 16), (3, 12, 8))}[rank]
    scales = {f"scale_factor={scale}": {"scale_factor": scale} for scale in (2, 0.5, 1.8, 0.7)}
    again = {
        f"{name}, recompute": {**options, "recompute_scale_factor": True}
        for name, options in scales.items()
        if options["scale_factor"] in (1.8, 0.7)
    }
    return {**scales, **again, **{f"size={size}": {"size": size} for size in (*sizes, other)}}


@dataclass(frozen=True)
class Call:
    """One export: a call in `rank` spatial axes, the exporter, its opset, and whether the spatial sizes stay open."""

    rank: int
    mode: str
    extent: str
    exporter: str
    opset: int
    open_sizes: bool

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of F.interpolate."""
        return {**modes(self.rank)[self.mode], **extents(self.rank)[self.extent]}

    @property
    def name(self) -> str:
        """A file name without a suffix."""
        words = (f"{self.rank}d", self.mode, self.extent, self.exporter, str(self.opset))
        text = "-".join((*words, "open") if self.open_sizes else words)
        return "".join(letter if letter.isalnum() or letter in ".-_" else "_" for letter in text)


def all_calls() -> Iterator[Call]:
    """Every export: all of fixed sizes, and of open sizes those of the last exporters."""
    for rank in LENGTHS:
        for mode in modes(rank):
            for extent in extents(rank):
                for exporter, opset in EXPORTERS:
                    yield Call(rank, mode, extent, exporter, opset, open_sizes=False)
                    if opset in (10, 17, 18):
                        yield Call(rank, mode, extent, exporter, opset, open_sizes=True)
