"""What stands around one tensor of a model: the node that makes it, what that reads and who reads the result.

Operands (scales, sizes) are followed a few steps up, data one step, the result one step down: enough to see where an
extent comes from without drawing the model.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from onnx import FunctionProto, NodeProto, TensorProto

from resizefix.document.document import Document
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, DefinitionKind, Reader, Scope, Scopes
from resizefix.document.shapes import Key, Shapes
from resizefix.errors import ResizefixError
from resizefix.reports.wording import tensor as tensor_words

_OPERAND_STEPS = 3
_DATA_STEPS = 1
_MOST_BOXES = 24  # a picture with more explains nothing
_MOST_READERS = 3
_MOST_VALUES = 8


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
    """A tensor from the box that makes it to one that reads it: as `operand` number `position`, of `operands`."""

    source: str
    target: str
    tensor: str
    label: str
    position: int = 0
    operands: int = 1
    operand: str = ""


@dataclass(frozen=True)
class Neighbourhood:
    """Boxes and edges; `focus` is the key of the box that the picture is about."""

    focus: str
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]

    def sentence(self) -> str:
        """The picture in words, for those who do not see it."""
        names = {box.key: f"{box.title} {box.name}".strip() for box in self.boxes}
        parts = []
        for box in self.boxes:
            mark = f" ({box.mark.value})" if box.mark else ""
            reads = [
                f"{edge.operand or 'input'} from {names[edge.source]}" + (f", {edge.label}" if edge.label else "")
                for edge in self.edges
                if edge.target == box.key
            ]
            text = f"{names[box.key]}{mark}" + (f", {', '.join(box.lines)}" if box.lines else "")
            parts.append(f"{text}; reads {'; '.join(reads)}" if reads else text)
        return ". ".join(parts) + "."


MarkOf = Callable[[Definition], "Mark | None"]


class Surroundings:
    """Draws neighbourhoods of one snapshot of a document; `mark_of` says what is new, changed or gone in it."""

    def __init__(self, document: Document, mark_of: MarkOf | None = None) -> None:
        self._document = document
        self._mark_of: MarkOf = mark_of or (lambda definition: None)
        self.scopes = Scopes(document.proto)
        self._shapes = Shapes(document.proto)
        self._by_path = {scope.path: scope for scope in self.scopes.all}

    def definition(self, key: Key) -> Definition | None:
        """What a scope path and a name stand for in this model."""
        scope = self._by_path.get(key[0])
        found = None if scope is None else self.scopes.definition(scope, key[1])
        return found if found is not None and found.scope is scope else None

    def around(self, key: Key) -> Neighbourhood | None:
        """The neighbourhood of the node that makes the tensor; None if no node of this model does."""
        found = self.definition(key)
        if found is None or found.node is None:
            return None
        walk = _Walk(self, found)
        walk.up()
        walk.down()
        return walk.neighbourhood()

    def words(self, definition: Definition) -> str:
        """Type and shape of a tensor."""
        return tensor_words(self._shapes.dims(definition.key), self._shapes.elem_type(definition.key))

    def mark(self, definition: Definition) -> Mark | None:
        """How it differs from the other model."""
        return self._mark_of(definition)

    def value(self, tensor: TensorProto) -> str:
        """The value of a small constant; nothing for a large one, or one that cannot be read."""
        if math.prod(tensor.dims) > _MOST_VALUES:
            return ""
        try:
            values = self._document.array(tensor)
        except ResizefixError:
            return "not readable"
        if values.size == 0:
            return "empty"
        return ", ".join(f"{value:.9g}" if isinstance(value, float) else str(value) for value in values.ravel().tolist())


@dataclass
class _Walk:
    """One walk around `start`, box by box."""

    around: Surroundings
    start: Definition
    boxes: dict[str, Box] = field(default_factory=dict)
    nodes: dict[str, tuple[Scope, NodeProto]] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    def up(self) -> None:
        """What the node reads, and what that is made of. What is new or gone is followed as far as it goes."""
        focus = _key(self.start)
        pending = deque([(self.start, _OPERAND_STEPS + 1, True)])
        while pending:
            definition, steps, is_operand = pending.popleft()
            key = _key(definition)
            if key in self.boxes:
                continue
            if len(self.boxes) >= _MOST_BOXES:
                self._left_out(f"{key} left out")
                continue
            box = self._box(definition, is_focus=key == focus)
            self.boxes[key] = box
            if definition.node is None or box.kind is BoxKind.CONSTANT:
                continue
            self.nodes[key] = definition.scope, definition.node
            free = key != focus and box.mark in (Mark.NEW, Mark.REMOVED)
            left = steps if free else steps - 1
            for position, name in enumerate(definition.node.input):
                operand = self.around.scopes.definition(definition.scope, name) if name else None
                if operand is None:
                    continue
                if key == focus and position == 0:
                    pending.appendleft((operand, _DATA_STEPS, False))
                elif left > 0:
                    pending.append((operand, left, is_operand))
                elif is_operand and _key(operand) not in self.boxes:
                    self._cut(key, definition, position)
        for key, (scope, node) in list(self.nodes.items()):
            self._connect(key, scope, node)

    def down(self) -> None:
        """Who reads the result."""
        readers = self.around.scopes.readers(self.start)
        fresh: dict[str, Reader] = {}
        for reader in readers:
            key = _reader_key(reader)
            if key not in self.boxes:
                fresh.setdefault(key, reader)
        shown = list(fresh.items())[: _MOST_READERS if len(fresh) > _MOST_READERS + 1 else len(fresh)]
        for key, reader in shown:
            self.boxes[key] = self._reader_box(key, reader)
        for reader in readers:
            key = _reader_key(reader)
            if key in dict(shown):
                self._edge(self.start, key, reader.node, reader.position)
        if len(fresh) > len(shown):
            more = f"{_key(self.start)} readers"
            self.boxes[more] = Box(more, BoxKind.MORE, f"and {len(fresh) - len(shown)} more readers")
            self._edge(self.start, more, None, 0)

    def neighbourhood(self) -> Neighbourhood:
        return Neighbourhood(_key(self.start), tuple(self.boxes.values()), tuple(dict.fromkeys(self.edges)))

    def _connect(self, key: str, scope: Scope, node: NodeProto) -> None:
        for position, name in enumerate(node.input):
            definition = self.around.scopes.definition(scope, name) if name else None
            if definition is not None and _key(definition) in self.boxes:
                self._edge(definition, key, node, position)
            elif name and definition is None:
                missing = f"{key} misses {position}"
                self.boxes[missing] = Box(missing, BoxKind.MORE, "nothing makes this", name)
                self.edges.append(Edge(missing, key, name, "", position, len(node.input), _operand(node, position)))

    def _edge(self, definition: Definition, target: str, node: NodeProto | None, position: int) -> None:
        operands = 1 if node is None else len(node.input)
        operand = "" if node is None else _operand(node, position)
        label = self.around.words(definition)
        self.edges.append(Edge(_key(definition), target, definition.name, label, position, operands, operand))

    def _cut(self, key: str, definition: Definition, position: int) -> None:
        more = f"{key} cut"
        self.boxes.setdefault(more, Box(more, BoxKind.MORE, "…"))
        assert definition.node is not None
        self.edges.append(Edge(more, key, "", "", position, len(definition.node.input)))

    def _left_out(self, key: str) -> None:
        self.boxes.setdefault(key, Box(key, BoxKind.MORE, "…"))

    def _box(self, definition: Definition, *, is_focus: bool) -> Box:
        key, mark = _key(definition), self.around.mark(definition)
        node = definition.node
        if definition.kind in (DefinitionKind.INPUT, DefinitionKind.DEFAULTED_INPUT):
            return Box(key, BoxKind.INPUT, _input_title(definition), definition.name, self._default(definition), mark)
        if definition.tensor is not None:
            return Box(key, BoxKind.CONSTANT, "initializer", definition.name, self._value(definition.tensor), mark)
        assert node is not None
        if node.op_type == "Constant" and node.domain in DEFAULT_DOMAINS:
            values = [attribute.t for attribute in node.attribute if attribute.HasField("t")]
            lines = self._value(values[0]) if values else _listed(node)
            return Box(key, BoxKind.CONSTANT, "Constant", definition.name, lines, mark)
        resizes = node.op_type in ("Resize", "Upsample") and node.domain in DEFAULT_DOMAINS
        kind = BoxKind.RESIZE if is_focus or resizes else BoxKind.OPERATOR
        return Box(key, kind, _operator(node), node.name, (), mark)

    def _default(self, definition: Definition) -> tuple[str, ...]:
        value = "" if definition.tensor is None else self.around.value(definition.tensor)
        return (f"default {value}",) if value else ()

    def _value(self, tensor: TensorProto) -> tuple[str, ...]:
        value = self.around.value(tensor)
        return (value,) if value else ()

    def _reader_box(self, key: str, reader: Reader) -> Box:
        node = reader.node
        if node is None:
            body = reader.scope.body
            title = "graph output" if not reader.scope.path else f"output of {reader.scope.path[-1]}"
            value = body.output[reader.position]
            return Box(key, BoxKind.OUTPUT, title, value if isinstance(value, str) else value.name)
        inside = () if reader.scope is self.start.scope else (f"in {reader.scope.path[-1]}",)
        outputs = [name for name in node.output if name]
        made = self.around.definition((reader.scope.path, outputs[0])) if outputs else None
        mark = None if made is None else self.around.mark(made)
        return Box(key, BoxKind.OPERATOR, _operator(node), node.name, inside, mark)


def _key(definition: Definition) -> str:
    if definition.node is not None:
        return _node_key(definition.scope, definition.scope.producers[definition.name])
    return f"{'/'.join(definition.scope.path)} value {definition.name}"


def _node_key(scope: Scope, index: int) -> str:
    return f"{'/'.join(scope.path)} node {index}"


def _reader_key(reader: Reader) -> str:
    if reader.node_index is None:
        return f"{'/'.join(reader.scope.path)} output {reader.position}"
    return _node_key(reader.scope, reader.node_index)


def _operator(node: NodeProto) -> str:
    return node.op_type if node.domain in DEFAULT_DOMAINS else f"{node.domain}::{node.op_type}"


def _operand(node: NodeProto, position: int) -> str:
    """What a resize calls its inputs; Resize-11 put roi before scales and sizes after them."""
    if node.op_type not in ("Resize", "Upsample") or node.domain not in DEFAULT_DOMAINS:
        return ""
    names = ("X", "scales") if len(node.input) == 2 and node.op_type == "Upsample" else ("X", "roi", "scales", "sizes")
    return names[position] if position < len(names) else ""


def _input_title(definition: Definition) -> str:
    if not definition.scope.path:
        return "optional input" if definition.kind is DefinitionKind.DEFAULTED_INPUT else "graph input"
    if isinstance(definition.scope.body, FunctionProto):
        return "function input"
    return f"input of {definition.scope.path[-1]}"


def _listed(node: NodeProto) -> tuple[str, ...]:
    """The value of a Constant node that holds no tensor."""
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            return (f"attribute {attribute.ref_attr_name}",)
        numbers = [*attribute.floats, *attribute.ints] or ([attribute.f] if attribute.type == attribute.FLOAT else [])
        numbers = numbers or ([attribute.i] if attribute.type == attribute.INT else [])
        if numbers:
            dots = ", …" if len(numbers) > _MOST_VALUES else ""
            return (", ".join(f"{number:.9g}" for number in numbers[:_MOST_VALUES]) + dots,)
    return ()
