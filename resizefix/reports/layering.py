"""Where boxes of a small directed graph go: rows from top to bottom, few crossings, short edges. Geometry alone.

The usual steps (Sugiyama, Tagawa, Toda 1981): each box in the row below all that it reads; an edge that passes rows
gets a place in each; rows ordered by the mean of their neighbours; then placed as near to these as the boxes' widths
allow, which is isotonic regression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_SWEEPS = 8
_LANE = 12.0  # width of an edge that passes a row

Point = tuple[float, float]


@dataclass(frozen=True)
class Size:
    """Of a box."""

    width: float
    height: float


@dataclass(frozen=True)
class Link:
    """From the bottom of a box to the top of another; `port` is where it ends there, 0 at the left and 1 at the
    right."""

    source: str
    target: str
    port: float = 0.5


@dataclass(frozen=True)
class Placement:
    """Corners of the boxes (left, top), and for each link the points it passes, in pairs: each pair's first and second
    point are one above the other in a row that it passes, or its two ends."""

    corners: Mapping[str, Point]
    routes: tuple[tuple[Point, ...], ...]
    width: float
    height: float


def place(sizes: Mapping[str, Size], links: Sequence[Link], column_gap: float, row_gap: float) -> Placement:
    """Place every box. Links that close a cycle, which no valid model has, are drawn but do not count."""
    rows = _rows(list(sizes), links)
    widths = {key: size.width for key, size in sizes.items()}
    hops: list[Link] = []
    chains: list[list[str]] = []
    for number, link in enumerate(links):
        passed = [f"lane {number} {row}" for row in range(rows[link.source] + 1, rows[link.target])]
        rows.update({lane: rows[link.source] + 1 + count for count, lane in enumerate(passed)})
        widths.update(dict.fromkeys(passed, _LANE))
        chains.append(passed)
        if rows[link.source] < rows[link.target]:
            stops = [link.source, *passed, link.target]
            ports = [0.5] * len(passed) + [link.port]
            hops.extend(Link(*ends, port) for ends, port in zip(pairwise(stops), ports, strict=True))
    order = _ordered(rows, hops)
    centres = _centres(order, widths, hops, column_gap)
    left = min((centres[key] - widths[key] / 2 for key in widths), default=0.0)
    right = max((centres[key] + widths[key] / 2 for key in widths), default=0.0)
    tops, bottoms = [], []
    edge = 0.0
    for row in order:
        height = max((sizes[key].height for key in row if key in sizes), default=0.0)
        tops.append(edge)
        bottoms.append(edge + height)
        edge += height + row_gap
    corners = {key: (centres[key] - widths[key] / 2 - left, tops[rows[key]]) for key in sizes}
    routes = []
    for link, lanes in zip(links, chains, strict=True):
        x, y = corners[link.source]
        points = [(x + widths[link.source] / 2, y + sizes[link.source].height)]
        for lane in lanes:
            points += [(centres[lane] - left, tops[rows[lane]]), (centres[lane] - left, bottoms[rows[lane]])]
        x, y = corners[link.target]
        routes.append((*points, (x + widths[link.target] * link.port, y)))
    return Placement(corners, tuple(routes), right - left, bottoms[-1] if bottoms else 0.0)


def _rows(keys: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """The row of each box: as far down as those below it allow, which keeps constants beside what reads them."""
    below: dict[str, list[str]] = {key: [] for key in keys}
    for link in links:
        below[link.source].append(link.target)
    heights: dict[str, int] = {}
    opened: set[str] = set()

    def height(key: str) -> int:
        if key not in heights:
            opened.add(key)
            heights[key] = 1 + max((height(other) for other in below[key] if other not in opened), default=-1)
            opened.discard(key)
        return heights[key]

    top = max((height(key) for key in keys), default=0)
    return {key: top - heights[key] for key in keys}


def _ordered(rows: Mapping[str, int], hops: Sequence[Link]) -> list[list[str]]:
    order: list[list[str]] = [[] for _ in range(max(rows.values(), default=-1) + 1)]
    for key, number in rows.items():
        order[number].append(key)
    # Upwards last: what an operator reads stands in the order in which it reads it.
    for upwards in (True, False, True):
        for row in reversed(order[:-1]) if upwards else order[1:]:
            position = {key: index for keys in order for index, key in enumerate(keys)}
            wanted: dict[str, list[float]] = {key: [] for key in row}
            for hop in hops:
                if upwards and hop.source in wanted:
                    wanted[hop.source].append(position[hop.target] + hop.port)
                elif not upwards and hop.target in wanted:
                    wanted[hop.target].append(position[hop.source])
            row.sort(key=lambda key: _mean(wanted[key], position[key]))
    return order


def _centres(
    order: Sequence[Sequence[str]], widths: Mapping[str, float], hops: Sequence[Link], gap: float
) -> dict[str, float]:
    centres: dict[str, float] = {}
    for row in order:
        edge = 0.0
        for key in row:
            centres[key] = edge + widths[key] / 2
            edge += widths[key] + gap
    for _ in range(_SWEEPS):
        for row in (*reversed(order), *order):
            wanted: dict[str, list[float]] = {key: [] for key in row}
            for hop in hops:
                shift = (hop.port - 0.5) * widths[hop.target]
                if hop.source in wanted:
                    wanted[hop.source].append(centres[hop.target] + shift)
                if hop.target in wanted:
                    wanted[hop.target].append(centres[hop.source] - shift)
            near = [_mean(wanted[key], centres[key]) for key in row]
            centres.update(zip(row, _apart(near, [widths[key] for key in row], gap), strict=True))
    return centres


def _apart(wanted: Sequence[float], widths: Sequence[float], gap: float) -> list[float]:
    """Centres nearest to the wanted ones (least squares) that keep boxes of these widths apart, in this order."""
    offsets = [0.0]
    for left, right in pairwise(widths):
        offsets.append(offsets[-1] + (left + right) / 2 + gap)
    blocks: list[tuple[float, int]] = []  # mean and number of neighbours that touch: pool adjacent violators
    for centre, offset in zip(wanted, offsets, strict=False):
        mean, number = centre - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, count = blocks.pop()
            mean, number = (mean * number + other * count) / (number + count), number + count
        blocks.append((mean, number))
    flat = [mean for mean, number in blocks for _ in range(number)]
    return [mean + offset for mean, offset in zip(flat, offsets, strict=False)]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
