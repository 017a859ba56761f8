"""A neighbourhood as a mermaid flowchart, which GitHub draws in Markdown."""

from __future__ import annotations

from resizefix.printable import printable
from resizefix.reports.neighbourhood import Box, BoxKind, Mark, Neighbourhood
from resizefix.reports.wording import shortened

_MOST_COLUMNS = 40
# Opening and closing of a node's shape, by what it stands for.
_SHAPES = {
    BoxKind.INPUT: ("([", "])"),
    BoxKind.OUTPUT: ("([", "])"),
    BoxKind.CONSTANT: ("[", "]"),
    BoxKind.OPERATOR: ("(", ")"),
    BoxKind.RESIZE: ("(", ")"),
    BoxKind.MORE: ("(", ")"),
}
# Colours of text and background together, so that they are readable whatever the page's theme is.
_STYLES = {
    "resize": "fill:#ddf4ff,stroke:#0550ae,color:#1b1f24,stroke-width:2px",
    "new": "fill:#dafbe1,stroke:#116329,color:#1b1f24,stroke-width:3px",
    "changed": "fill:#fff8c5,stroke:#7d4e00,color:#1b1f24,stroke-width:3px",
    "removed": "fill:#ffebe9,stroke:#a40e26,color:#1b1f24,stroke-width:2px,stroke-dasharray:6 3",
}


def flowchart(picture: Neighbourhood) -> str:
    """The lines of the diagram, without the fence around them."""
    numbers = {box.key: f"n{number}" for number, box in enumerate(picture.boxes)}
    lines = ["flowchart TD"]
    used: dict[str, list[str]] = {}
    for box in picture.boxes:
        opening, closing = _SHAPES[box.kind]
        lines.append(f'  {numbers[box.key]}{opening}"{_words(box)}"{closing}')
        style = _style(box)
        if style is not None:
            used.setdefault(style, []).append(numbers[box.key])
    for edge in picture.edges:
        text = escaped(" ".join(filter(None, (edge.operand, edge.label))))
        label = f'|"{text}"|' if text else ""
        lines.append(f"  {numbers[edge.source]} -->{label} {numbers[edge.target]}")
    for style, nodes in used.items():
        lines.append(f"  classDef {style} {_STYLES[style]}")
        lines.append(f"  class {','.join(nodes)} {style}")
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Text for a quoted label: all but letters, digits and a few harmless signs as mermaid's entity codes."""
    return "".join(
        character if character.isalnum() or character in " _-./,:×?…" else f"#{ord(character)};"
        for character in printable(text)
    )


def _words(box: Box) -> str:
    mark = f"{box.mark.value}: " if box.mark else ""
    lines = [f"{mark}{box.title}", *([box.name] if box.name else []), *box.lines]
    return "<br/>".join(escaped(shortened(printable(line), _MOST_COLUMNS)) for line in lines)


def _style(box: Box) -> str | None:
    if box.mark in (Mark.NEW, Mark.REMOVED, Mark.CHANGED):
        return box.mark.value
    return "resize" if box.kind is BoxKind.RESIZE else None
