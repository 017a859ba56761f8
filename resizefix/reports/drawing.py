"""A neighbourhood as SVG: rows of boxes from top to bottom, every tensor with its type and shape.

Two boxes side by side fit a phone. All text is set in a fixed-width font, so that its width is known here.
Colours and fonts are the page's (page.css); the classes are those of `BoxKind` and `Mark`.
"""

from __future__ import annotations

from collections.abc import Sequence

from resizefix.reports.layering import Gaps, Link, Placement, Point, Size, place
from resizefix.reports.markup import Markup, element, join
from resizefix.reports.neighbourhood import Box, BoxKind, Edge, Neighbourhood
from resizefix.reports.printable import printable
from resizefix.reports.wording import shortened

_WIDTH = 168.0
_MARGIN = 3.0
_COLUMN_GAP = 12.0
_ROW_GAP = 30.0
_LINE = 15.0
_LABEL_LINE = 14.0
_PADDING = 8.0
_TITLE_COLUMNS = 20
_COLUMNS = 23
_LABEL_COLUMNS = 25


def drawing(picture: Neighbourhood, identity: str, title: str) -> Markup:
    """The picture; `identity` makes the ids of its title and description unique in the page."""
    operands = {edge.target for edge in picture.edges if edge.operand}
    sizes = {box.key: Size(_WIDTH, _height(box, with_operands=box.key in operands)) for box in picture.boxes}
    links = [Link(edge.source, edge.target, _port(edge)) for edge in picture.edges]
    labels = _labels(picture.edges)
    most = max((row + 1 for row in labels.values()), default=1)
    placed = place(sizes, links, Gaps(_COLUMN_GAP, _ROW_GAP + _LABEL_LINE * most))
    width, height = placed.width + 2 * _MARGIN, placed.height + 2 * _MARGIN
    return element(
        "svg",
        element("title", title, id=f"{identity}-title"),
        element("desc", picture.sentences(), id=f"{identity}-words"),
        element(
            "g",
            *(_line(route) for route in placed.routes),
            *(_box(box, placed, sizes[box.key], picture.edges) for box in picture.boxes),
            *(_label(edge, route[0], labels) for edge, route in zip(picture.edges, placed.routes, strict=True)),
            transform=f"translate({_MARGIN:g} {_MARGIN:g})",
        ),
        role="img",
        aria_labelledby=f"{identity}-title {identity}-words",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
    )


def _height(box: Box, *, with_operands: bool) -> float:
    lines = 1 + bool(box.name) + len(box.lines) + bool(box.mark) + with_operands
    return 2 * _PADDING + _LINE * lines - 3


def _port(edge: Edge) -> float:
    return (edge.position + 1) / (edge.positions + 1)


def _box(box: Box, placed: Placement, size: Size, edges: Sequence[Edge]) -> Markup:
    left, top = placed.corners[box.key]
    parts: list[Markup] = [_outline(box, left, top, size)]
    baseline = top + _PADDING + 9
    operands = [edge for edge in edges if edge.target == box.key and edge.operand]
    for edge in operands:
        x = left + size.width * _port(edge)
        parts.append(_text(edge.operand, x, baseline, "operand", 8))
    baseline += _LINE * bool(operands)
    x = left + _PADDING
    parts.append(_text(box.title, x, baseline, "title", _TITLE_COLUMNS))
    for number, line in enumerate((*([box.name] if box.name else []), *box.lines), start=1):
        parts.append(_text(line, x, baseline + _LINE * number, "name" if number == 1 else None, _COLUMNS))
    if box.mark is not None:
        bottom = top + size.height
        parts.append(element("path", d=_strip(left, bottom, size.width), class_="strip"))
        parts.append(_text(box.mark.value, x, bottom - 5, "mark", _COLUMNS))
    full = " ".join(filter(None, (box.title, box.name, *box.lines)))
    mark = f" {box.mark.value}" if box.mark else ""
    return element("g", element("title", full), *parts, class_=f"box {box.kind.value}{mark}")


def _outline(box: Box, left: float, top: float, size: Size) -> Markup:
    radius = {BoxKind.INPUT: 14, BoxKind.OUTPUT: 14, BoxKind.CONSTANT: 0}.get(box.kind, 5)
    return element(
        "rect", x=f"{left:.1f}", y=f"{top:.1f}", width=f"{size.width:g}", height=f"{size.height:g}", rx=str(radius)
    )


def _strip(left: float, bottom: float, width: float) -> str:
    """The lower end of a box, where its mark stands; corners as round as the roundest box."""
    edge = 1.0
    return (
        f"M{left + edge:.1f} {bottom - 17:.1f}h{width - 2 * edge:.1f}v6q0 10 -10 10h{-(width - 2 * edge - 20):.1f}"
        f"q-10 0 -10 -10z"
    )


def _text(text: str, x: float, y: float, kind: str | None, most: int) -> Markup:
    return element("text", shortened(printable(text), most), x=f"{x:.1f}", y=f"{y:.1f}", class_=kind)


def _line(route: Sequence[Point]) -> Markup:
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
    head = element("path", d=f"M{x:.1f} {y:.1f}l-4 -7h8z", class_="head")
    return join(element("path", d=path, class_="line"), head)


def _labels(edges: Sequence[Edge]) -> dict[tuple[str, str], int]:
    """Each tensor is labelled once, where it leaves its box; several tensors of one box one under the other."""
    rows: dict[tuple[str, str], int] = {}
    for edge in edges:
        if edge.label and (edge.source, edge.tensor) not in rows:
            rows[edge.source, edge.tensor] = sum(source == edge.source for source, _ in rows)
    return rows


def _label(edge: Edge, start: Point, labels: dict[tuple[str, str], int]) -> Markup | None:
    row = labels.pop((edge.source, edge.tensor), None)
    if row is None:
        return None
    x, y = start[0], start[1] + 15 + _LABEL_LINE * row
    text = _text(edge.label, x, y, None, _LABEL_COLUMNS)
    return element("g", element("title", f"{edge.tensor}: {edge.label}"), text, class_="tensor")
