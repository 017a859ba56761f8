"""Finds the neighbourhood of a tensor: the node that makes it, what that reads, and who reads the result.

Operands (scales, sizes) are followed a few steps up, data one step, the result one step down: enough to see where an
extent comes from without drawing the model.

What stands around one tensor of a model, as boxes and edges: the one thing that every picture is drawn from.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

import onnx
from onnx import FunctionProto, NodeProto, TensorProto

from resizefix.diagnostics import RefusedError, ResizefixError
from resizefix.dialects.dialect import dialect_of, is_resize
from resizefix.dialects.read import read
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, DefinitionKind, Reader, Scope
from resizefix.document.text import counted
from resizefix.reports.wording import meaning, numbers, tensor, times
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView

_OPERAND_STEPS = 3
_DATA_STEPS = 1
_MOST_BOXES = 24  # a picture with more explains nothing
_MOST_READERS = 3
_MOST_VALUES = 8

MarkOf = Callable[[Definition], "Mark | None"]


class Surroundings:
    """Draws neighbourhoods in one state of a document; `mark_of` says what differs from another model."""

    def __init__(self, view: ModelView, mark_of: MarkOf | None = None) -> None:
        self.scopes = view.scopes
        self.mark_of: MarkOf = mark_of or (lambda definition: None)
        self._document = view.document
        self._shapes = view.shapes

    def definition(self, key: Key) -> Definition | None:
        """What a scope path and a name stand for in this model."""
        scope = self.scopes.by_path.get(key[0])
        return self.scopes.definition(scope, key[1]) if scope is not None and scope.defines(key[1]) else None

    def around(self, key: Key) -> Neighbourhood | None:
        """The neighbourhood of the node that makes the tensor; None if no node of this model does."""
        definition = self.definition(key)
        if definition is None or definition.node is None:
            return None
        walk = _DrawnWalk(self, definition)
        walk.up()
        walk.connect()
        walk.down()
        return Neighbourhood(_key(definition), tuple(walk.boxes.values()), tuple(dict.fromkeys(walk.edges)))

    def words(self, definition: Definition) -> str:
        """Type and shape of a tensor."""
        return tensor(self._shapes.dims(definition.key), self._shapes.elem_type(definition.key))

    def value(self, constant: TensorProto) -> tuple[str, ...]:
        """The value of a small constant as a line of its box; no line for a large one."""
        if math.prod(constant.dims) > _MOST_VALUES:
            return ()
        try:
            values = self._document.array(constant)
        except ResizefixError:
            return ("not readable",)
        return (numbers(values.ravel().tolist()) or "empty",)


@dataclass
class _DrawnWalk:
    """One walk around `start`, box by box."""

    around: Surroundings
    start: Definition
    boxes: dict[str, Box] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    _drawn: dict[str, Definition] = field(default_factory=dict)  # those of the boxes whose inputs count
    _open: set[str] = field(default_factory=set)  # boxes that show what they leave out
    _shown: set[tuple[str, int]] = field(default_factory=set)  # operands that are a line of the box that reads them

    def up(self) -> None:
        """What the node reads, and what that is made of. What is new or gone is followed as far as it goes."""
        focus = _key(self.start)
        resizes = is_resize(self.start.node)
        pending = deque([(self.start, 1 + (_OPERAND_STEPS if resizes else _DATA_STEPS), resizes)])
        while pending and len(self.boxes) < _MOST_BOXES:
            definition, steps, is_operand = pending.popleft()
            key = _key(definition)
            if key in self.boxes:
                continue
            box = self.boxes[key] = self._box(definition)
            if definition.node is None or box.kind is BoxKind.CONSTANT:
                continue
            self._drawn[key] = definition
            if is_operand:
                self._open.add(key)
            is_own = box.mark in (Mark.NEW, Mark.REMOVED)  # the other model has no such thing
            left = steps if is_own and key != focus else steps - 1
            for position, operand in self._operands(definition):
                if operand is None or ((is_operand or is_own) and self._tell(key, definition, position, operand)):
                    continue
                if key == focus and position == 0:
                    pending.appendleft((operand, _DATA_STEPS, False))
                elif left > 0:
                    pending.append((operand, left, is_operand))

    def connect(self) -> None:
        """Every tensor between two boxes that were drawn, and a stub for what was not."""
        for key, definition in self._drawn.items():
            assert definition.node is not None
            for position, operand in self._operands(definition):
                if (key, position) in self._shown:
                    continue
                if operand is not None and _key(operand) in self.boxes:
                    self._edge(operand, key, definition.node, definition.scope, position)
                elif operand is None or key in self._open:
                    missing = definition.node.input[position] if operand is None else ""
                    self._stub(key, position, missing)

    def down(self) -> None:
        """Who reads the result."""
        readers = [(_reader_key(reader), reader) for reader in self.around.scopes.readers(self.start)]
        fresh = list(dict.fromkeys(key for key, _ in readers if key not in self.boxes))
        shown = fresh if len(fresh) <= _MOST_READERS + 1 else fresh[:_MOST_READERS]
        for key, reader in readers:
            if key in shown:
                self.boxes.setdefault(key, self._reader_box(key, reader))
                self._edge(self.start, key, reader.node, reader.scope, reader.position)
        if len(fresh) > len(shown):
            rest = f"{_key(self.start)} readers"
            self.boxes[rest] = Box(rest, BoxKind.MORE, f"{counted(len(fresh) - len(shown), 'more reader')}")
            self._edge(self.start, rest, None, self.start.scope, 0)

    def _operands(self, definition: Definition) -> list[tuple[int, Definition | None]]:
        assert definition.node is not None
        named = [(position, name) for position, name in enumerate(definition.node.input) if name]
        return [(position, self.around.scopes.definition(definition.scope, name)) for position, name in named]

    def _tell(self, key: str, definition: Definition, position: int, operand: Definition) -> bool:
        """Write a small constant into the box that reads it, unless it is what the picture is about."""
        box, reader = self._box(operand), definition.node
        assert reader is not None
        if box.kind is not BoxKind.CONSTANT or not box.lines:
            return False
        if box.lines != ("empty",) and (is_resize(reader) or box.mark not in (None, self.boxes[key].mark)):
            return False
        name = _operand(reader, definition.scope.opset, position) or "operand"
        self.boxes[key] = replace(self.boxes[key], lines=(*self.boxes[key].lines, f"{name} {box.lines[0]}"))
        self._shown.add((key, position))
        return True

    def _edge(self, definition: Definition, target: str, node: NodeProto | None, scope: Scope, position: int) -> None:
        operand = _operand(node, scope.opset, position) if node is not None and is_resize(node) else ""
        edge = Edge(_key(definition), target, definition.name, self.around.words(definition), position, operand)
        self.edges.append(edge)

    def _stub(self, key: str, position: int, missing: str) -> None:
        stub = f"{key} reads {missing}"
        title = "nothing makes this" if missing else "…"
        self.boxes.setdefault(stub, Box(stub, BoxKind.MORE, title, missing))
        self.edges.append(Edge(stub, key, "", "", position))

    def _box(self, definition: Definition) -> Box:
        key, mark, node = _key(definition), self.around.mark_of(definition), definition.node
        if definition.kind in (DefinitionKind.INPUT, DefinitionKind.DEFAULTED_INPUT):
            value = () if definition.tensor is None else self.around.value(definition.tensor)
            default = tuple(f"default {text}" for text in value)
            return Box(key, BoxKind.INPUT, _input_title(definition), definition.name, default, mark)
        if definition.tensor is not None:
            value = self.around.value(definition.tensor)
            return Box(key, BoxKind.CONSTANT, "initializer", definition.name, value, mark)
        assert node is not None
        if node.op_type == "Constant" and node.domain in DEFAULT_DOMAINS:
            return Box(key, BoxKind.CONSTANT, "Constant", definition.name, self._constant(node), mark)
        if not is_resize(node):
            kind = BoxKind.RESIZE if definition is self.start else BoxKind.OPERATOR
            return Box(key, kind, _operator(node), node.name, (), mark)
        title, lines = _resize(node, definition.scope.opset)
        return Box(key, BoxKind.RESIZE, title, node.name, lines, mark)

    def _constant(self, node: NodeProto) -> tuple[str, ...]:
        """The value of a Constant node, in any of its spellings."""
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                return (f"the function's attribute {attribute.ref_attr_name}",)
            if attribute.name == "value":
                return self.around.value(attribute.t)
            values = [*attribute.floats, *attribute.ints]
            if attribute.name in ("value_float", "value_int"):
                values = [attribute.f if attribute.name == "value_float" else attribute.i]
            if values:
                return (numbers(values[:_MOST_VALUES]) + (", …" if len(values) > _MOST_VALUES else ""),)
        return ()

    def _reader_box(self, key: str, reader: Reader) -> Box:
        node = reader.node
        if node is None:
            value = reader.scope.body.output[reader.position]
            title = "graph output" if not reader.scope.path else f"output of {reader.scope.path.steps[-1]}"
            return Box(key, BoxKind.OUTPUT, title, value if isinstance(value, str) else value.name)
        inside = () if reader.scope is self.start.scope else (f"in {reader.scope.path.steps[-1]}",)
        definition = next((self.around.definition((reader.scope.path, name)) for name in node.output if name), None)
        mark = None if definition is None else self.around.mark_of(definition)
        kind = BoxKind.RESIZE if is_resize(node) else BoxKind.OPERATOR
        return Box(key, kind, _operator(node), node.name, inside, mark)


def _key(definition: Definition) -> str:
    if definition.node is not None:
        return _node_key(definition.scope, definition.node, definition.name)
    return f"{definition.scope.path} value {definition.name}"


def _reader_key(reader: Reader) -> str:
    if reader.node is None:
        return f"{reader.scope.path} output {reader.position}"
    return _node_key(reader.scope, reader.node, f"#{reader.node_index}")


def _node_key(scope: Scope, node: NodeProto, otherwise: str) -> str:
    """By what the node writes, which tells the same node in two models."""
    return f"{scope.path} node {next(filter(None, node.output), otherwise)}"


def _resize(node: NodeProto, opset: int) -> tuple[str, tuple[str, ...]]:
    """`Resize-11` and what it computes."""
    try:
        dialect = dialect_of(node.op_type, opset)
        reading = read(node, dialect)
    except RefusedError:
        return node.op_type, ("not valid",)
    scales = reading.operands.scales_attribute
    lines = () if scales is None else (f"scales {times(scales)}",)
    return f"{node.op_type}-{dialect.since_version}", (*meaning(reading.interpolation).split(), *lines)


def _operator(node: NodeProto) -> str:
    return node.op_type if node.domain in DEFAULT_DOMAINS else f"{node.domain}::{node.op_type}"


def _operand(node: NodeProto, opset: int, position: int) -> str:
    """What the specification calls that input of the operator; empty where it does not know the operator."""
    try:
        inputs = onnx.defs.get_schema(node.op_type, opset, node.domain if node.domain != "ai.onnx" else "").inputs
    except onnx.defs.SchemaError:
        return ""
    if not inputs:
        return ""
    return str(inputs[min(position, len(inputs) - 1)].name)  # the last may stand for any number of inputs


def _input_title(definition: Definition) -> str:
    if not definition.scope.path:
        return "optional input" if definition.kind is DefinitionKind.DEFAULTED_INPUT else "graph input"
    if isinstance(definition.scope.body, FunctionProto):
        return "function input"
    return f"input of {definition.scope.path.steps[-1]}"


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
