"""Where a neighbourhood is drawn: rows of boxes from top to bottom, every tensor with its type and shape.

Two boxes side by side fit a phone. All text is set in a fixed-width font, so that its width is known here.
Colours and fonts are the page's (page.css); the classes are those of `BoxKind` and `Mark`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from resizefix.printable import printable
from resizefix.reports.layering import Link, Point, Size, place
from resizefix.reports.neighbourhood import Box, BoxKind, Edge, Neighbourhood
from resizefix.reports.wording import columns, shortened

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


class Text(NamedTuple):
    """A text and where it begins; `kind` is its style class."""

    text: str
    x: str
    y: str
    kind: str | None = None


class Outline(NamedTuple):
    """A rectangle with round corners."""

    x: str
    y: str
    width: str
    height: str
    radius: str


class DrawnBox(NamedTuple):
    """A box with its texts; `words` is what it holds in full, `strip` the path of the lower end where a mark stands."""

    kind: str
    words: str
    outline: Outline
    texts: tuple[Text, ...]
    strip: str | None
    mark: Text | None


class Line(NamedTuple):
    """The paths of an edge and of its arrowhead."""

    path: str
    head: str


class Label(NamedTuple):
    """What stands beside an edge; `words` is that in full."""

    words: str
    text: Text


class Drawing(NamedTuple):
    """A picture: `identity` makes the ids of its title and description unique in the page, `words` is the description,
    `shift` moves all to where the picture begins."""

    identity: str
    words: str
    width: str
    height: str
    shift: str
    lines: tuple[Line, ...]
    boxes: tuple[DrawnBox, ...]
    labels: tuple[Label, ...]


def drawing(picture: Neighbourhood, identity: str) -> Drawing:
    """Where everything of the picture stands."""
    operands = {edge.target for edge in picture.edges if edge.operand}
    sizes = {box.key: Size(_WIDTH, _height(box, with_operands=box.key in operands)) for box in picture.boxes}
    ports = _ports(picture.edges)
    links = [Link(edge.source, edge.target, ports[edge]) for edge in picture.edges]
    rows = _labels(picture.edges)
    most = max((row + 1 for row in rows.values()), default=1)
    placed = place(sizes, links, _COLUMN_GAP, _ROW_GAP + _LABEL_LINE * most)
    spots = _beside(picture.edges, placed.routes, rows)
    left = min(0.0, *(spot.left for spot in spots), 0.0)
    right = max(placed.width, *(spot.right for spot in spots), 0.0)
    return Drawing(
        identity,
        picture.sentences(),
        f"{right - left + 2 * _MARGIN:.0f}",
        f"{placed.height + 2 * _MARGIN:.0f}",
        f"{_MARGIN - left:g} {_MARGIN:g}",
        tuple(map(_line, placed.routes)),
        tuple(_box(box, placed.corners[box.key], sizes[box.key], ports) for box in picture.boxes),
        tuple(map(_label, spots)),
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


def _box(box: Box, corner: Point, size: Size, ports: Mapping[Edge, float]) -> DrawnBox:
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
    outline = Outline(f"{left:.1f}", f"{top:.1f}", f"{size.width:g}", f"{size.height:g}", f"{radius:g}")
    kind = f"box {box.kind.value}{f' {box.mark.value}' if box.mark else ''}"
    return DrawnBox(kind, words, outline, tuple(texts), strip, mark)


def _strip(left: float, bottom: float, width: float, radius: float) -> str:
    """The lower end of a box, where its mark stands."""
    across, down = width - 2 * radius, 17 - radius
    corner = f"q0 {radius:g} {-radius:g} {radius:g}h{-across:g}q{-radius:g} 0 {-radius:g} {-radius:g}"
    return f"M{left:.1f} {bottom - 17:.1f}h{width:g}v{down:g}{corner}z"


def _text(text: str, x: float, y: float, kind: str | None, most: int) -> Text:
    return Text(shortened(printable(text), most), f"{x:.1f}", f"{y:.1f}", kind)


def _line(route: Sequence[Point]) -> Line:
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
    return Line(path, f"M{x:.1f} {y:.1f}l-4 -7h8z")


def _labels(edges: Sequence[Edge]) -> dict[tuple[str, str], int]:
    """Each tensor is labelled once, where it leaves its box; several tensors of one box one under the other."""
    rows: dict[tuple[str, str], int] = {}
    for edge in edges:
        if edge.label and (edge.source, edge.tensor) not in rows:
            rows[edge.source, edge.tensor] = sum(source == edge.source for source, _ in rows)
    return rows


@dataclass(frozen=True)
class _Spot:
    """Where a label stands: beside its edge, from `left` to `right`."""

    edge: Edge
    text: str
    left: float
    y: float

    @property
    def right(self) -> float:
        return self.left + columns(self.text) * _LABEL_COLUMN

    def meets(self, other: _Spot) -> bool:
        return self.y == other.y and self.left < other.right and other.left < self.right


def _beside(
    edges: Sequence[Edge], routes: Sequence[Sequence[Point]], rows: Mapping[tuple[str, str], int]
) -> list[_Spot]:
    """Every label on the side that its edge turns away from, or on the other where a label stands there already."""
    spots: list[_Spot] = []
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
        choices = [
            _Spot(edge, text, left, y + 15 + _LABEL_LINE * rows[key]) for left in (sides[::-1] if to_x > x else sides)
        ]
        spots.append(next((spot for spot in choices if not any(map(spot.meets, spots))), choices[0]))
    return spots


def _label(spot: _Spot) -> Label:
    text = Text(spot.text, f"{spot.left:.1f}", f"{spot.y:.1f}")
    return Label(f"{spot.edge.tensor}: {spot.edge.label}", text)
