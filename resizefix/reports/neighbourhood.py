"""What stands around one tensor of a model, as boxes and edges: the one thing that every picture is drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class BoxKind(str, Enum):
    """What a box stands for; the values are class names in the drawings."""

    RESIZE = "resize"
    OPERATOR = "operator"
    CONSTANT = "constant"
    INPUT = "input"
    OUTPUT = "output"
    MORE = "more"  # what was left out


class Mark(str, Enum):
    """How something differs from the model it is compared with."""

    NEW = "new"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True)
class Box:
    """One operator, constant, input or output. `name` is empty where the file gives none."""

    key: str
    kind: BoxKind
    title: str
    name: str = ""
    lines: tuple[str, ...] = ()
    mark: Mark | None = None


@dataclass(frozen=True)
class Edge:
    """A tensor from the box that makes it to one that reads it as its input number `position`.

    `operand` is what the reader calls it (`scales`); empty where nothing is to be said.
    """

    source: str
    target: str
    tensor: str
    label: str
    position: int = 0
    operand: str = ""


@dataclass(frozen=True)
class Neighbourhood:
    """Boxes and edges; `focus` is the key of the box that the picture is about."""

    focus: str
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]

    @property
    def is_marked(self) -> bool:
        """Whether anything in it differs from the other model."""
        return any(box.mark is not None for box in self.boxes)

    def sentences(self) -> str:
        """The picture in words, for those who do not see it."""
        names = {box.key: f"{box.title} {box.name}".strip() for box in self.boxes}
        sentences = []
        for box in self.boxes:
            if box.kind is BoxKind.MORE:
                continue
            text = names[box.key] + (f" ({box.mark.value})" if box.mark else "")
            text += f", {', '.join(box.lines)}" if box.lines else ""
            reads = [_read(edge, names[edge.source]) for edge in self.edges if edge.target == box.key and edge.tensor]
            sentences.append(f"{text}, reads {' and '.join(reads)}." if reads else f"{text}.")
        return " ".join(sentences)


def _read(edge: Edge, source: str) -> str:
    shape = f" ({edge.label})" if edge.label else ""
    return f"{edge.operand} from {source}{shape}" if edge.operand else f"from {source}{shape}"
