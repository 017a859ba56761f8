"""Where a neighbourhood is drawn: rows of boxes from top to bottom, every tensor with its type and shape.

Two boxes side by side fit a phone. All text is set in a fixed-width font, so that its width is known here.
Colours and fonts are the page's (page.css); the classes are those of `BoxKind` and `Mark`.

Where boxes of a small directed graph go: rows from top to bottom, few crossings, short edges. Geometry alone.

The usual steps (Sugiyama, Tagawa, Toda 1981): each box in the row below all that it reads; an edge that passes rows
gets a place in each; rows ordered by the mean of their neighbours; then placed as near to these as the boxes' widths
allow, which is isotonic regression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from resizefix.printable import columns, printable, shortened
from resizefix.reports.surroundings import Box, BoxKind, Edge, Neighbourhood

_WIDTH = 156.0
_MARGIN = 2.0
_COLUMN_GAP = 10.0
_ROW_GAP = 30.0
_LINE = 15.0
_LABEL_LINE = 14.0
_PADDING = 8.0
_TITLE_COLUMNS = 19
_COLUMNS = 21
_LABEL_COLUMNS = 23
_LABEL_COLUMN = 6.7
_LABEL_GAP = 7.0
_RADIUS = 5.0
_RADII = {BoxKind.INPUT: 14.0, BoxKind.OUTPUT: 14.0, BoxKind.CONSTANT: 0.0}


Point = tuple[float, float]


class Text(NamedTuple):
    """A text and where it begins; `kind` is its style class, `words` what it says where it is cut short."""

    text: str
    x: float
    y: float
    kind: str | None = None
    words: str = ""

    def meets(self, other: Text) -> bool:
        """Whether two labels stand on one line and overlap."""
        return self.y == other.y and self.x < _label_end(other) and other.x < _label_end(self)


@dataclass(frozen=True)
class DrawnSize:
    """Of a box."""

    width: float
    height: float


class DrawnBox(NamedTuple):
    """A box with its texts, whose upper left corner is at `x` and `y`, and which has round corners; `words` is what it
    holds in full, `strip` the path of the lower end where a mark stands."""

    kind: str
    words: str
    x: float
    y: float
    size: DrawnSize
    radius: float
    texts: tuple[Text, ...]
    strip: str | None
    mark: Text | None


class DrawnLine(NamedTuple):
    """The paths of an edge and of its arrowhead."""

    path: str
    head: str


class Drawing(NamedTuple):
    """A picture: `identity` makes the ids of its title and description unique in the page, `words` is the description,
    `shift` moves all to where the picture begins."""

    identity: str
    words: str
    width: str
    height: str
    shift: str
    lines: tuple[DrawnLine, ...]
    boxes: tuple[DrawnBox, ...]
    labels: tuple[Text, ...]


def drawing(picture: Neighbourhood, identity: str) -> Drawing:
    """Where everything of the picture stands."""
    operands = {edge.target for edge in picture.edges if edge.operand}
    sizes = {box.key: DrawnSize(_WIDTH, _height(box, with_operands=box.key in operands)) for box in picture.boxes}
    ports = _ports(picture.edges)
    links = [Link(edge.source, edge.target, ports[edge]) for edge in picture.edges]
    rows = _labels(picture.edges)
    most = max((row + 1 for row in rows.values()), default=1)
    placed = place(sizes, links, _COLUMN_GAP, _ROW_GAP + _LABEL_LINE * most)
    labels = _placed_labels(picture.edges, placed.routes, rows)
    left = min(0.0, *(label.x for label in labels), 0.0)
    right = max(placed.width, *map(_label_end, labels), 0.0)
    return Drawing(
        identity,
        picture.sentences(),
        f"{right - left + 2 * _MARGIN:.0f}",
        f"{placed.height + 2 * _MARGIN:.0f}",
        f"{_MARGIN - left:g} {_MARGIN:g}",
        tuple(map(_line, placed.routes)),
        tuple(_box(box, placed.corners[box.key], sizes[box.key], ports) for box in picture.boxes),
        tuple(labels),
    )


def _height(box: Box, *, with_operands: bool) -> float:
    lines = 1 + bool(box.name) + len(box.lines) + bool(box.mark) + with_operands
    return 2 * _PADDING + _LINE * lines - 3


def _ports(edges: Sequence[Edge]) -> dict[Edge, float]:
    """Where edges end at their box: those that are drawn, in the order in which it reads them."""
    ports = {}
    for edge in edges:
        positions = sorted({other.position for other in edges if other.target == edge.target})
        ports[edge] = (positions.index(edge.position) + 1) / (len(positions) + 1)
    return ports


def _box(box: Box, corner: Point, size: DrawnSize, ports: Mapping[Edge, float]) -> DrawnBox:
    left, top = corner
    radius = _RADII.get(box.kind, _RADIUS)
    baseline = top + _PADDING + 9
    operands = [(edge.operand, port) for edge, port in ports.items() if edge.target == box.key and edge.operand]
    texts = [_text(name, left + size.width * port, baseline, "operand", 8) for name, port in operands]
    baseline += _LINE * bool(operands)
    x = left + _PADDING
    texts.append(_text(box.title, x, baseline, "title", _TITLE_COLUMNS))
    for number, line in enumerate((*([box.name] if box.name else []), *box.lines), start=1):
        kind = "name" if number == 1 and box.name else None
        texts.append(_text(line, x, baseline + _LINE * number, kind, _COLUMNS))
    bottom, strip, mark = top + size.height, None, None
    if box.mark is not None:
        strip = _strip(left, bottom, size.width, radius)
        mark = _text(box.mark.value, x + 4, bottom - 5, "mark", _COLUMNS)
    words = " ".join(filter(None, (box.title, box.name, *box.lines)))
    kind = f"box {box.kind.value}{f' {box.mark.value}' if box.mark else ''}"
    return DrawnBox(kind, words, left, top, size, radius, tuple(texts), strip, mark)


def _strip(left: float, bottom: float, width: float, radius: float) -> str:
    """The lower end of a box, where its mark stands."""
    across, down = width - 2 * radius, 17 - radius
    corner = f"q0 {radius:g} {-radius:g} {radius:g}h{-across:g}q{-radius:g} 0 {-radius:g} {-radius:g}"
    return f"M{left:.1f} {bottom - 17:.1f}h{width:g}v{down:g}{corner}z"


def _text(text: str, x: float, y: float, kind: str | None, most: int) -> Text:
    return Text(shortened(printable(text), most), x, y, kind)


def _line(route: Sequence[Point]) -> DrawnLine:
    """Curves between rows, straight through the rows that it passes, and an arrowhead."""
    (x, y), *rest = route
    path = f"M{x:.1f} {y:.1f}"
    for number, (to_x, to_y) in enumerate(rest):
        if number % 2:
            path += f"L{to_x:.1f} {to_y:.1f}"
        else:
            middle = (y + to_y) / 2
            path += (
                f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y - (number + 1 == len(rest)) * 6:.1f}"
            )
        x, y = to_x, to_y
    return DrawnLine(path, f"M{x:.1f} {y:.1f}l-4 -7h8z")


def _labels(edges: Sequence[Edge]) -> dict[tuple[str, str], int]:
    """Each tensor is labelled once, where it leaves its box; several tensors of one box one under the other."""
    rows: dict[tuple[str, str], int] = {}
    for edge in edges:
        if edge.label and (edge.source, edge.tensor) not in rows:
            rows[edge.source, edge.tensor] = sum(source == edge.source for source, _ in rows)
    return rows


def _label_end(label: Text) -> float:
    return label.x + columns(label.text) * _LABEL_COLUMN


def _placed_labels(
    edges: Sequence[Edge], routes: Sequence[Sequence[Point]], rows: Mapping[tuple[str, str], int]
) -> list[Text]:
    """Every label on the side that its edge turns away from, or on the other where a label stands there already."""
    labels: list[Text] = []
    said: set[tuple[str, str]] = set()
    for edge, route in zip(edges, routes, strict=True):
        key = (edge.source, edge.tensor)
        if key not in rows or key in said:
            continue
        said.add(key)
        text = shortened(printable(edge.label), _LABEL_COLUMNS)
        (x, y), (to_x, _) = route[0], route[1]
        wide = columns(text) * _LABEL_COLUMN
        sides = [x + _LABEL_GAP, x - _LABEL_GAP - wide]
        baseline, words = y + 15 + _LABEL_LINE * rows[key], f"{edge.tensor}: {edge.label}"
        choices = [Text(text, left, baseline, words=words) for left in (sides[::-1] if to_x > x else sides)]
        labels.append(next((label for label in choices if not any(map(label.meets, labels))), choices[0]))
    return labels


_SWEEPS = 8
_LANE = 12.0  # width of an edge that passes a row


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


def place(sizes: Mapping[str, DrawnSize], links: Sequence[Link], column_gap: float, row_gap: float) -> Placement:
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
    """The row of each box: as far down as those below it allow, which keeps constants next to what reads them."""
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
